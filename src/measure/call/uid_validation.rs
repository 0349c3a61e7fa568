//! `uid_validation`: see [`crate::measure::uid_validation`].

use serde::Deserialize;
use serde_json::{Value, json};

use super::super::series_summary::cell_number;
use super::super::uid_validation::{InventoryEntry, TableRow, distinct_faults, table_faults};
use super::cell::Cell;
use super::input::Fields;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    uid4: String,
    mention: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    uid4: String,
    mention: String,
    time: Cell,
    /// Null for none; not to be left out.
    #[serde(deserialize_with = "Option::deserialize")]
    bounds: Option<(Cell, Cell)>,
    known: Cell,
    context: Vec<String>,
}

impl Row {
    fn as_table_row(&self) -> TableRow<'_> {
        let bounds = self.bounds.as_ref();
        TableRow {
            uid: &self.uid4,
            mention: &self.mention,
            time: &self.time.0,
            bounds: bounds.map_or((None, None), |(lo, hi)| (cell_number(&lo.0), cell_number(&hi.0))),
            known: &self.known.0,
            context: self.context.iter().map(String::as_str).collect(),
        }
    }
}

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["inventory", "rows"])?;
    let inventory: Vec<Entry> = fields.list("inventory")?;
    let inventory: Vec<_> = inventory.iter().map(|entry| InventoryEntry { uid: &entry.uid4, mention: &entry.mention }).collect();
    let rows: Vec<Row> = fields.list("rows")?;
    let rows: Vec<_> = rows.iter().map(Row::as_table_row).collect();
    let found = table_faults(&inventory, &rows).map_err(|e| format!("field \"inventory\": {e}"))?;
    let errors = distinct_faults(&found);
    Ok(json!({ "valid": errors.is_empty(), "errors": errors }))
}

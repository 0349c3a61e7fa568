//! What was read, as a table: nothing is dropped uncounted.

use crate::data::{ReadCounts, Study};
use crate::report::{Column, ReportError, Table};

/// The intake of a study: its reports and its sources.
///
/// # Errors
/// Never in practice: columns and cells are built together.
pub fn intake(study: &Study) -> Result<Table, ReportError> {
    let mut rows: Vec<(String, &ReadCounts)> = vec![("(reports)".to_string(), &study.report_counts)];
    rows.extend(study.sources.iter().map(|source| (source.name.to_string(), &source.counts)));
    intake_table(&rows)
}

/// One row a source, one column a counter that is not zero everywhere.
///
/// # Errors
/// Never in practice: columns and cells are built together.
pub fn intake_table(rows: &[(String, &ReadCounts)]) -> Result<Table, ReportError> {
    let mut names: Vec<String> = Vec::new();
    for (_, counts) in rows {
        for (name, n) in counts.entries() {
            if n > 0 && !names.contains(&name) {
                names.push(name);
            }
        }
    }
    let order: Vec<String> = ReadCounts::default().entries().into_iter().map(|(name, _)| name).collect();
    names.sort_by_key(|name| order.iter().position(|known| known == name).unwrap_or(usize::MAX));
    let mut columns = vec![Column::text("source", "Source")];
    columns.extend(names.iter().map(|name| Column::number(name.clone(), name.replace('_', " "))));
    let mut table = Table::new("input", "What was read", columns)?;
    for (source, counts) in rows {
        let entries = counts.entries();
        let count = |name: &String| entries.iter().find(|(known, _)| known == name).map_or(0, |(_, n)| *n);
        let mut cells = vec![source.as_str().into()];
        cells.extend(names.iter().map(|name| crate::report::Cell::count(count(name))));
        table.push(cells)?;
    }
    Ok(table)
}

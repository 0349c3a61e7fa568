//! Whether a timeline table still holds every occurrence that it was given, unchanged and well formed.
//!
//! It reports every fault with its place; what follows from a fault is the pipeline's business.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::MeasureError;
use super::finding::vocabulary;
use super::series_summary::cell_number;

vocabulary! {
    /// What is wrong with a table, in the order of names.
    TableFault, "a table fault",
    "bad_known, bad_time, bounds_exclude_time, bounds_reversed, changed_mention, duplicate_uid, missing_uid, too_many_context, \
     unknown_context, unknown_uid", {
        /// The explicitness flag is neither 0 nor 1.
        BadKnown = "bad_known",
        /// The time is neither a finite number nor N/A.
        BadTime = "bad_time",
        /// The time lies outside its bounds, which belong to them.
        BoundsExcludeTime = "bounds_exclude_time",
        /// The lower bound is above the upper; containment is then not checked.
        BoundsReversed = "bounds_reversed",
        /// The mention is not byte for byte that of the inventory.
        ChangedMention = "changed_mention",
        /// An identifier in more than one row.
        DuplicateUid = "duplicate_uid",
        /// An occurrence of the inventory without a row.
        MissingUid = "missing_uid",
        /// More supporting identifiers than allowed.
        TooManyContext = "too_many_context",
        /// A supporting identifier that is not in the inventory.
        UnknownContext = "unknown_context",
        /// A row whose identifier is not in the inventory.
        UnknownUid = "unknown_uid",
    }
}

/// Most supporting identifiers of a row.
pub const MAX_CONTEXT: usize = 5;
/// How a table writes that an occurrence has no time.
pub const NO_TIME: &str = "N/A";

/// An occurrence that must be in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InventoryEntry<'a> {
    /// Its identifier.
    pub uid: &'a str,
    /// Its text.
    pub mention: &'a str,
}

/// A row as the table has it.
#[derive(Debug, Clone, PartialEq)]
pub struct TableRow<'a> {
    /// Identifier.
    pub uid: &'a str,
    /// Text.
    pub mention: &'a str,
    /// Time as written.
    pub time: &'a str,
    /// Lower and upper bound in hours; None for one that is not a number.
    pub bounds: (Option<f64>, Option<f64>),
    /// Explicitness flag as written.
    pub known: &'a str,
    /// Supporting identifiers.
    pub context: Vec<&'a str>,
}

/// A fault and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FoundFault<'a> {
    /// What is wrong.
    pub fault: TableFault,
    /// Position of the row; None for an occurrence without one.
    pub row: Option<usize>,
    /// The identifier concerned.
    pub uid: &'a str,
}

/// Checks a table; an empty list is a valid one. Row order is free.
///
/// # Units
/// Hours.
///
/// # Errors
/// An inventory that names an identifier twice.
///
/// # Source
/// uid.txt, Table C.2 and section C.3.
pub fn table_faults<'a>(inventory: &[InventoryEntry<'a>], rows: &[TableRow<'a>]) -> Result<Vec<FoundFault<'a>>, MeasureError> {
    let mut mentions = HashMap::new();
    for entry in inventory {
        if mentions.insert(entry.uid, entry.mention).is_some() {
            return Err(MeasureError::UnknownName {
                what: "an identifier of the inventory",
                expected: "identifiers that differ",
                got: entry.uid.to_owned(),
            });
        }
    }
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    for (at, row) in rows.iter().enumerate() {
        let mut add = |fault, uid| found.push(FoundFault { fault, row: Some(at), uid });
        if !seen.insert(row.uid) {
            add(TableFault::DuplicateUid, row.uid);
        }
        match mentions.get(row.uid) {
            None => add(TableFault::UnknownUid, row.uid),
            Some(&mention) if mention != row.mention => add(TableFault::ChangedMention, row.uid),
            Some(_) => {}
        }
        let time = cell_number(row.time);
        if time.is_none() && row.time != NO_TIME {
            add(TableFault::BadTime, row.uid);
        }
        if let (Some(lo), Some(hi)) = row.bounds {
            if lo > hi {
                add(TableFault::BoundsReversed, row.uid);
            } else if time.is_some_and(|time| !(lo..=hi).contains(&time)) {
                add(TableFault::BoundsExcludeTime, row.uid);
            }
        }
        if !matches!(row.known, "0" | "1") {
            add(TableFault::BadKnown, row.uid);
        }
        if row.context.len() > MAX_CONTEXT {
            add(TableFault::TooManyContext, row.uid);
        }
        for &uid in row.context.iter().filter(|uid| !mentions.contains_key(*uid)) {
            add(TableFault::UnknownContext, uid);
        }
    }
    let missing = inventory.iter().filter(|entry| !seen.contains(entry.uid));
    found.extend(missing.map(|entry| FoundFault { fault: TableFault::MissingUid, row: None, uid: entry.uid }));
    Ok(found)
}

/// The different faults, in the order of their names.
pub fn distinct_faults(found: &[FoundFault<'_>]) -> BTreeSet<TableFault> {
    found.iter().map(|found| found.fault).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INVENTORY: [InventoryEntry<'static>; 2] =
        [InventoryEntry { uid: "A1B2", mention: "fi\u{e8}vre" }, InventoryEntry { uid: "C3D4", mention: "pain" }];

    fn rows() -> Vec<TableRow<'static>> {
        let row = |entry: InventoryEntry<'static>| TableRow {
            uid: entry.uid,
            mention: entry.mention,
            time: "-1.5",
            bounds: (Some(-2.0), Some(-1.0)),
            known: "0",
            context: vec!["C3D4"],
        };
        INVENTORY.map(row).to_vec()
    }

    fn faults(change: impl FnOnce(&mut Vec<TableRow<'static>>)) -> Vec<&'static str> {
        let mut rows = rows();
        change(&mut rows);
        let found = table_faults(&INVENTORY, &rows).unwrap();
        distinct_faults(&found).into_iter().map(TableFault::as_str).collect()
    }

    #[test]
    fn faults_sort_by_name() {
        let mut names = TableFault::ALL.map(TableFault::as_str);
        names.sort_unstable();
        assert_eq!(names, TableFault::ALL.map(TableFault::as_str));
    }

    #[test]
    fn a_good_table_has_none() {
        assert!(faults(|_| {}).is_empty());
        assert!(faults(|rows| rows.reverse()).is_empty());
        assert!(faults(|rows| rows[0].bounds = (Some(-1.5), Some(-1.5))).is_empty());
        assert!(faults(|rows| rows[0].context = vec!["A1B2"; 5]).is_empty());
        assert!(table_faults(&[], &[]).unwrap().is_empty());
    }

    #[test]
    fn times_are_finite_numbers_or_the_exact_label() {
        for time in ["n/a", "NA", "", "nan", "inf", "1e999", "2 h"] {
            assert_eq!(faults(|rows| rows[0].time = time), ["bad_time"], "{time}");
        }
        assert!(faults(|rows| rows[0].time = "N/A").is_empty());
        assert_eq!(faults(|rows| rows[0].time = "8766000000"), ["bounds_exclude_time"]);
    }

    #[test]
    fn containment_needs_three_numbers() {
        assert!(faults(|rows| rows[0].bounds = (Some(5.0), None)).is_empty());
        assert!(faults(|rows| rows[0].bounds = (None, Some(-5.0))).is_empty());
        assert_eq!(faults(|rows| (rows[0].time, rows[0].bounds) = ("N/A", (Some(2.0), Some(1.0)))), ["bounds_reversed"]);
    }

    #[test]
    fn composed_letters_keep_their_difference() {
        assert_eq!(faults(|rows| rows[0].mention = "fie\u{300}vre"), ["changed_mention"]);
    }

    #[test]
    fn faults_of_one_table_come_together_with_their_places() {
        let mut rows = rows();
        rows[1].uid = "A1B2";
        rows[1].known = "1.0";
        rows[1].context = vec!["C3D4", "zzzz", "A1B2", "A1B2", "A1B2", "A1B2"];
        let found = table_faults(&INVENTORY, &rows).unwrap();
        let places: Vec<_> = found.iter().map(|found| (found.fault.as_str(), found.row, found.uid)).collect();
        let expected = [
            ("duplicate_uid", Some(1), "A1B2"),
            ("changed_mention", Some(1), "A1B2"),
            ("bad_known", Some(1), "A1B2"),
            ("too_many_context", Some(1), "A1B2"),
            ("unknown_context", Some(1), "zzzz"),
            ("missing_uid", None, "C3D4"),
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn an_ambiguous_inventory_is_refused() {
        assert!(table_faults(&[INVENTORY[0], INVENTORY[0]], &[]).unwrap_err().to_string().contains("A1B2"));
    }
}

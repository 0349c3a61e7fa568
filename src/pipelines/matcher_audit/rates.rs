//! Reading a filled sheet and the share of true matches in each band.

use super::{BAND_EDGES, band_name};
use crate::measure::wilson::wilson;
use crate::pipelines::sheet::{Sheet, SheetFault, StatisticsError};
use crate::report::{Cell, Column, Table};
use std::collections::HashMap;

/// A reviewer's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    /// Both texts are the same clinical event.
    Same,
    /// They are not.
    Different,
    /// The reviewer cannot say.
    Unsure,
}

impl Label {
    /// The label of a field, in any case.
    fn read(text: &str) -> Option<Self> {
        let known = [("same", Self::Same), ("different", Self::Different), ("unsure", Self::Unsure)];
        known.into_iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, label)| label)
    }
}

/// One row of a key that the rates need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// Name on the sheet.
    pub id: String,
    /// Band of its distance, counted from zero.
    pub band: usize,
    /// Pooled pairs in that band.
    pub n_in_band: usize,
}

/// Reads a key.
///
/// # Errors
/// Missing columns, bands that there are not, numbers that are none, an id twice.
pub fn read_key(text: &str) -> Result<Vec<KeyRow>, Vec<SheetFault>> {
    let sheet = Sheet::read(text)?;
    let [id, band, n_in_band] = sheet.require(["id", "band", "n_in_band"])?;
    let n_bands = BAND_EDGES.len() - 1;
    let (mut key, mut faults, mut seen) = (Vec::new(), Vec::new(), HashMap::new());
    for row in &sheet.rows {
        let (name, given, size) = (row.field(Some(id)), row.field(Some(band)), row.field(Some(n_in_band)));
        if let Some(line) = seen.insert(name, row.line) {
            faults.push(SheetFault::field(row.line, "id", format!("an id that line {line} does not have"), name));
        }
        let place = given.parse().ok().filter(|place| (1..=n_bands).contains(place));
        if place.is_none() {
            faults.push(SheetFault::field(row.line, "band", format!("a band from 1 to {n_bands}"), given));
        }
        let Ok(n_in_band) = size.parse() else {
            faults.push(SheetFault::field(row.line, "n_in_band", "a count", size));
            continue;
        };
        key.extend(place.map(|place| KeyRow { id: name.to_owned(), band: place - 1, n_in_band }));
    }
    if faults.is_empty() { Ok(key) } else { Err(faults) }
}

/// What a filled sheet says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Labels {
    /// The answer to each row of the key; `None` without one.
    pub labels: Vec<Option<Label>>,
    /// Lines with an id that the key does not have.
    pub unknown: Vec<usize>,
    /// Lines that repeat the id of an earlier line.
    pub repeated: Vec<usize>,
}

impl Labels {
    /// Rows of the key without an answer.
    pub fn n_unlabelled(&self) -> usize {
        self.labels.iter().filter(|label| label.is_none()).count()
    }
}

/// Reads a filled sheet, or what the page saved: columns id and label.
///
/// # Errors
/// Every label that is none of the three, and every id that has two different ones.
pub fn read_labels(text: &str, key: &[KeyRow]) -> Result<Labels, Vec<SheetFault>> {
    let sheet = Sheet::read(text)?;
    let [id, label] = sheet.require(["id", "label"])?;
    let places: HashMap<&str, usize> = key.iter().enumerate().map(|(place, row)| (row.id.as_str(), place)).collect();
    let mut read = Labels { labels: vec![None; key.len()], ..Labels::default() };
    let mut lines: Vec<Option<usize>> = vec![None; key.len()];
    let mut faults = Vec::new();
    for row in &sheet.rows {
        let given = row.field(Some(label));
        let answer = Label::read(given);
        if answer.is_none() && !given.is_empty() {
            faults.push(SheetFault::field(row.line, "label", "same, different, unsure or nothing", given));
        }
        let Some(&place) = places.get(row.field(Some(id))) else {
            read.unknown.push(row.line);
            continue;
        };
        let earlier = lines[place];
        if earlier.is_some() {
            read.repeated.push(row.line);
        }
        if read.labels[place].is_none() {
            lines[place] = Some(row.line);
        }
        match (read.labels[place], answer, earlier) {
            (Some(known), Some(answer), Some(line)) if known != answer => {
                faults.push(SheetFault::field(row.line, "label", format!("the answer that line {line} gives to this id"), given));
            }
            (None, Some(answer), _) => read.labels[place] = Some(answer),
            _ => {}
        }
    }
    if faults.is_empty() { Ok(read) } else { Err(faults) }
}

/// The share of true matches in each band with its Wilson interval, over the pairs labelled same or different.
///
/// # Errors
/// A level outside (0, 1).
///
/// # Source
/// gavel.txt, matcher audit. Differs from source: a reviewer may be unsure; such pairs are counted beside the rate.
pub fn band_rates(key: &[KeyRow], labels: &Labels, level: f64) -> Result<Table, StatisticsError> {
    let percent = format!("{}%", 100.0 * level);
    let columns = vec![
        Column::text("band", "Distance"),
        Column::number("n_in_band", "Pairs"),
        Column::number("n_drawn", "Drawn"),
        Column::number("n", "Judged"),
        Column::number("n_same", "Same"),
        Column::number("rate", "True matches").with_unit("%"),
        Column::number("rate_lo", format!("{percent} low")).with_unit("%"),
        Column::number("rate_hi", format!("{percent} high")).with_unit("%"),
        Column::number("n_unsure", "Unsure"),
        Column::number("n_unlabelled", "Unlabelled"),
    ];
    let mut table = Table::new("matcher_bands", "True matches by distance", columns)?;
    for band in 0..BAND_EDGES.len() - 1 {
        let members: Vec<(&KeyRow, Option<Label>)> =
            key.iter().zip(labels.labels.iter().copied()).filter(|(row, _)| row.band == band).collect();
        let count = |wanted: Option<Label>| members.iter().filter(|(_, label)| *label == wanted).count();
        let (n_same, n_different) = (count(Some(Label::Same)), count(Some(Label::Different)));
        let n = n_same + n_different;
        let rate = wilson(n_same as u64, n as u64, level)?;
        table.push(vec![
            band_name(band).into(),
            members.first().map_or(Cell::Missing, |(row, _)| Cell::count(row.n_in_band)),
            Cell::count(members.len()),
            Cell::count(n),
            Cell::count(n_same),
            Cell::maybe(rate.map(|rate| 100.0 * rate.share), 1),
            Cell::maybe(rate.map(|rate| 100.0 * rate.interval.lo), 1),
            Cell::maybe(rate.map(|rate| 100.0 * rate.interval.hi), 1),
            Cell::count(count(Some(Label::Unsure))),
            Cell::count(count(None)),
        ])?;
    }
    Ok(table.with_note(format!(
        "Wilson {percent} intervals; pairs without an answer or with `unsure` are outside the rate. \
         Rows of the sheet left out: {} of another draw, {} repeated.",
        labels.unknown.len(),
        labels.repeated.len()
    )))
}

#[cfg(test)]
mod tests {
    use super::super::sample::tests::pairs;
    use super::super::{AuditSettings, audit_key, draw, review_sheet};
    use super::*;

    /// A key and a sheet filled with so many `same` a band, the rest `different`.
    fn filled(n_same: [usize; 4]) -> (Vec<KeyRow>, String) {
        let pairs = pairs(30);
        let sample = draw(&pairs, AuditSettings { n_per_band: 25, seed: 3 });
        let key = read_key(&audit_key(&pairs, &sample)).unwrap();
        let sheet = review_sheet(&pairs, &sample);
        let mut left = n_same;
        let mut lines: Vec<String> = vec![sheet.lines().next().unwrap().to_owned()];
        for (line, row) in sheet.lines().skip(1).zip(&key) {
            let label = if left[row.band] > 0 { " Same" } else { "different" };
            left[row.band] = left[row.band].saturating_sub(1);
            lines.push(format!("{}{label},", line.strip_suffix(',').unwrap()));
        }
        (key, lines.join("\r\n"))
    }

    fn shown(table: &Table, columns: &[&str]) -> Vec<String> {
        let places: Vec<usize> =
            columns.iter().map(|name| table.columns().iter().position(|column| column.key == *name).unwrap()).collect();
        table.rows().iter().map(|row| places.iter().map(|&i| row[i].display()).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn the_published_rates_come_back() {
        let (key, sheet) = filled([23, 15, 12, 1]);
        let labels = read_labels(&sheet, &key).unwrap();
        assert_eq!((labels.n_unlabelled(), labels.unknown.len(), labels.repeated.len()), (0, 0, 0));
        let table = band_rates(&key, &labels, 0.95).unwrap();
        assert_eq!(
            shown(&table, &["band", "n", "n_same", "rate", "rate_lo", "rate_hi", "n_in_band"]),
            [
                "[0.00, 0.08) 25 23 92.0 75.0 97.8 30",
                "[0.08, 0.10) 25 15 60.0 40.7 76.6 30",
                "[0.10, 0.12) 25 12 48.0 30.0 66.5 30",
                "[0.12, 0.30) 25 1 4.0 0.7 19.5 30"
            ]
        );
    }

    #[test]
    fn gaps_repeats_and_strangers_are_counted() {
        let (key, sheet) = filled([23, 15, 12, 1]);
        let mut lines: Vec<String> = sheet.lines().map(str::to_owned).collect();
        let unsure = lines[1].replace("different", "UNSURE").replace(" Same", "unsure");
        lines[1] = unsure;
        lines[2] = lines[2].replace("different", "").replace(" Same", "");
        lines.push(lines[3].clone());
        lines.push("zzzzzz-001,c,a,b,same,".to_owned());
        let labels = read_labels(&lines.join("\n"), &key).unwrap();
        assert_eq!((labels.n_unlabelled(), labels.unknown.len(), labels.repeated.len()), (1, 1, 1));
        let table = band_rates(&key, &labels, 0.95).unwrap();
        let n: usize = shown(&table, &["n"]).iter().map(|n| n.parse::<usize>().unwrap()).sum();
        assert_eq!(n, 98);
        assert!(table.note().unwrap().contains("1 of another draw, 1 repeated"));
    }

    #[test]
    fn wrong_labels_are_named_by_line_and_column() {
        let (key, sheet) = filled([25, 25, 25, 25]);
        let mut lines: Vec<String> = sheet.lines().map(str::to_owned).collect();
        lines[4] = lines[4].replace(" Same", "maybe");
        lines.push(lines[5].replace(" Same", "different"));
        let faults = read_labels(&lines.join("\n"), &key).unwrap_err();
        let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(
            faults,
            [
                "line 5, column `label`: expected same, different, unsure or nothing, got `maybe`",
                "line 102, column `label`: expected the answer that line 6 gives to this id, got `different`"
            ]
        );
        assert!(read_labels("id,comment\n", &key).is_err());
        assert!(read_key("id,band,n_in_band\nx,5,3\nx,1,many\n").unwrap_err().len() == 3);
    }

    #[test]
    fn an_empty_band_is_undefined() {
        let key = [KeyRow { id: "a".to_owned(), band: 0, n_in_band: 1 }];
        let labels = read_labels("id,label\n", &key).unwrap();
        let table = band_rates(&key, &labels, 0.95).unwrap();
        assert_eq!(shown(&table, &["n_drawn", "n", "rate", "rate_lo", "n_unlabelled"])[..2], ["1 0 – – 1", "0 0 – – 0"]);
    }
}

//! The statistics of a review as tables.

use super::sheet::{Filled, KeyRow, StratumSize};
use super::taxonomy::ErrorType;
use crate::measure::agreement::Agreement;
use crate::measure::resample::GENERATOR;
use crate::measure::standardised_rate::{StandardisedRate, Stratum, standardised_interval};
use crate::measure::wilson::{Proportion, wilson};
use crate::pipelines::sheet::StatisticsError;
use crate::report::{Cell, Column, Table};
use std::collections::{BTreeMap, BTreeSet};

/// All judges or all findings, in tables.
const ALL: &str = "(all)";

/// How to compute intervals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StatsSettings {
    /// Confidence level.
    pub level: f64,
    /// Resamples of the standardised rate.
    pub n_resamples: usize,
    /// Their seed.
    pub seed: u64,
}

/// Which findings a row of a table is about.
#[derive(Debug, Clone)]
struct Group {
    judge: Option<String>,
    by: &'static str,
    name: Option<String>,
}

impl Group {
    fn holds(&self, row: &KeyRow) -> bool {
        let name = match self.by {
            "stratum" => &row.stratum,
            _ => &row.pairing,
        };
        self.judge.as_ref().is_none_or(|judge| *judge == row.judge) && self.name.as_ref().is_none_or(|wanted| wanted == name)
    }

    fn cells(&self) -> [Cell; 3] {
        let shown = |name: &Option<String>| Cell::text(name.as_deref().unwrap_or(ALL));
        [shown(&self.judge), self.by.into(), shown(&self.name)]
    }
}

fn judges(key: &[KeyRow]) -> BTreeSet<&str> {
    key.iter().map(|row| row.judge.as_str()).collect()
}

/// Overall, by stratum and by pairing, of all judges together (when there are several) and of each.
fn groups(key: &[KeyRow], by_stratum: bool) -> Vec<Group> {
    let judges = judges(key);
    let each = judges.iter().map(|judge| Some((*judge).to_owned()));
    let all = (judges.len() > 1).then_some(None);
    let mut groups = Vec::new();
    for judge in all.into_iter().chain(each) {
        let rows = || key.iter().filter(|row| judge.as_ref().is_none_or(|judge| *judge == row.judge));
        groups.push(Group { judge: judge.clone(), by: "overall", name: None });
        let strata: BTreeSet<&String> = rows().map(|row| &row.stratum).collect();
        let pairings: BTreeSet<&String> = rows().map(|row| &row.pairing).collect();
        let named = |by: &'static str, names: BTreeSet<&String>| {
            let judge = judge.clone();
            names.into_iter().map(move |name| Group { judge: judge.clone(), by, name: Some(name.clone()) }).collect::<Vec<_>>()
        };
        if by_stratum {
            groups.extend(named("stratum", strata));
        }
        groups.extend(named("pairing", pairings));
    }
    groups
}

fn percents(proportion: Option<Proportion>) -> [Cell; 3] {
    [
        Cell::maybe(proportion.map(|p| 100.0 * p.share), 1),
        Cell::maybe(proportion.map(|p| 100.0 * p.interval.lo), 1),
        Cell::maybe(proportion.map(|p| 100.0 * p.interval.hi), 1),
    ]
}

fn interval_columns(level: f64) -> [Column; 2] {
    let percent = format!("{}%", 100.0 * level);
    [("lo", "low"), ("hi", "high")]
        .map(|(key, label)| Column::number(format!("rate_{key}"), format!("{percent} {label}")).with_unit("%"))
}

/// Confirmation rates, error types, standardised rates and, with two reviewers, their agreement.
///
/// # Errors
/// A level outside (0, 1).
pub fn tables(
    key: &[KeyRow],
    strata: &[StratumSize],
    first: &Filled,
    second: Option<&Filled>,
    settings: StatsSettings,
) -> Result<Vec<Table>, StatisticsError> {
    let mut tables = vec![
        confirmation(key, first, second, settings.level)?,
        error_types(key, first)?,
        standardised(key, strata, first, settings)?,
    ];
    if let Some(second) = second {
        tables.push(agreement(key, first, second, settings.level)?);
    }
    Ok(tables)
}

fn confirmation(key: &[KeyRow], first: &Filled, second: Option<&Filled>, level: f64) -> Result<Table, StatisticsError> {
    let mut columns = vec![
        Column::number("reviewer", "Reviewer"),
        Column::text("judge", "Judge"),
        Column::text("by", "By"),
        Column::text("group", "Group"),
        Column::number("n_asked", "Asked"),
        Column::number("n", "Reviewed"),
        Column::number("n_confirmed", "Confirmed"),
        Column::number("rate", "Confirmation rate").with_unit("%"),
    ];
    columns.extend(interval_columns(level));
    let mut table = Table::new("confirmation", "Findings confirmed", columns)?;
    let mut left_out = Vec::new();
    for (number, filled) in [Some(first), second].into_iter().flatten().enumerate() {
        left_out.push(format!("reviewer {}: {} unknown, {} repeated", number + 1, filled.unknown.len(), filled.repeated.len()));
        for group in groups(key, true) {
            let asked = |row: &&KeyRow| group.holds(row) && (number == 0 || row.in_second);
            let members = key.iter().zip(&filled.answers).filter(|(row, _)| asked(row));
            let answers: Vec<_> = members.map(|(_, answer)| *answer).collect();
            let n = answers.iter().flatten().count();
            let n_confirmed = answers.iter().flatten().filter(|answer| answer.confirmed).count();
            let mut row = vec![Cell::count(number + 1)];
            row.extend(group.cells());
            row.extend([Cell::count(answers.len()), Cell::count(n), Cell::count(n_confirmed)]);
            row.extend(percents(wilson(n_confirmed as u64, n as u64, level)?));
            table.push(row)?;
        }
    }
    Ok(table.with_note(format!(
        "Wilson {}% intervals, over the findings with an answer. Rows of the sheets left out: {}.",
        100.0 * level,
        left_out.join("; ")
    )))
}

/// The first reviewer's error types, laid out as gavel.txt, Table 2.
fn error_types(key: &[KeyRow], first: &Filled) -> Result<Table, StatisticsError> {
    let judges: Vec<&str> = judges(key).into_iter().collect();
    let mut columns = vec![Column::text("error_type", "Error type")];
    columns.extend(judges.iter().map(|judge| Column::number(format!("n {judge}"), *judge)));
    columns.extend([Column::number("total", "Total"), Column::number("share", "Share of the errors").with_unit("%")]);
    let mut table = Table::new("error_types", "Errors by type", columns)?;
    let answers: Vec<_> =
        key.iter().zip(&first.answers).filter_map(|(row, answer)| answer.map(|answer| (row.judge.as_str(), answer))).collect();
    let n_errors = answers.iter().filter(|(_, answer)| !answer.confirmed).count();
    let mut push = |name: &str, wanted: &dyn Fn(bool, Option<ErrorType>) -> bool, with_share: bool| {
        let chosen: Vec<&str> =
            answers.iter().filter(|(_, answer)| wanted(answer.confirmed, answer.error)).map(|(judge, _)| *judge).collect();
        let mut row = vec![Cell::text(name)];
        row.extend(judges.iter().map(|judge| Cell::count(chosen.iter().filter(|name| *name == judge).count())));
        row.push(Cell::count(chosen.len()));
        row.push(Cell::maybe((with_share && n_errors > 0).then(|| 100.0 * chosen.len() as f64 / n_errors as f64), 1));
        table.push(row)
    };
    for kind in ErrorType::ALL.into_iter().filter(|kind| !kind.is_other()) {
        push(kind.as_str(), &|_, error| error == Some(kind), true)?;
    }
    push("other", &|_, error| error.is_some_and(ErrorType::is_other), true)?;
    for kind in ErrorType::ALL.into_iter().filter(|kind| kind.is_other()) {
        push(&format!("other: {kind}"), &|_, error| error == Some(kind), true)?;
    }
    push("not classified", &|confirmed, error| !confirmed && error.is_none(), true)?;
    push("total errors", &|confirmed, _| !confirmed, true)?;
    push("findings reviewed", &|_, _| true, false)?;
    Ok(table.with_note("First reviewer. The row `other` is the sum of the five below it."))
}

/// Confirmation rates weighted to the whole table of findings, over strata and over strata within pairings.
fn standardised(
    key: &[KeyRow],
    strata: &[StratumSize],
    first: &Filled,
    settings: StatsSettings,
) -> Result<Table, StatisticsError> {
    let mut columns = vec![
        Column::text("judge", "Judge"),
        Column::text("by", "Strata"),
        Column::number("n_strata", "Number"),
        Column::number("n_not_reviewed", "Without a review"),
        Column::number("n", "Reviewed"),
        Column::number("raw", "Raw rate").with_unit("%"),
        Column::number("rate", "Standardised rate").with_unit("%"),
    ];
    columns.extend(interval_columns(settings.level));
    let mut table = Table::new("standardised_rate", "Confirmation rate of the whole table", columns)?;
    for judge in judges(key) {
        for (by, with_pairing) in [("stratum", false), ("stratum and pairing", true)] {
            let name = |stratum: &str, pairing: &str| {
                (stratum.to_owned(), if with_pairing { pairing.to_owned() } else { String::new() })
            };
            let mut sizes: BTreeMap<(String, String), Stratum> = BTreeMap::new();
            let empty = Stratum { n: 0, n_upheld: 0, corpus_share: 0.0 };
            for size in strata.iter().filter(|size| size.judge == judge) {
                sizes.entry(name(&size.stratum, &size.pairing)).or_insert(empty).corpus_share += size.n_findings as f64;
            }
            for (row, answer) in key.iter().zip(&first.answers).filter(|(row, _)| row.judge == judge) {
                let stratum = sizes.entry(name(&row.stratum, &row.pairing)).or_insert(empty);
                if let Some(answer) = answer {
                    stratum.n += 1;
                    stratum.n_upheld += usize::from(answer.confirmed);
                }
            }
            let sizes: Vec<Stratum> = sizes.into_values().collect();
            let rate = StandardisedRate::from_strata(&sizes)?;
            let interval = standardised_interval(&sizes, settings.n_resamples, settings.seed, settings.level)?;
            let n_not_reviewed = sizes.iter().filter(|stratum| stratum.n == 0).count();
            table.push(vec![
                judge.into(),
                by.into(),
                Cell::count(sizes.len()),
                Cell::count(n_not_reviewed),
                Cell::count(sizes.iter().map(|stratum| stratum.n).sum()),
                Cell::maybe(rate.raw.map(|rate| 100.0 * rate), 1),
                Cell::maybe(rate.standardised.map(|rate| 100.0 * rate), 1),
                Cell::maybe(interval.map(|interval| 100.0 * interval.lo), 1),
                Cell::maybe(interval.map(|interval| 100.0 * interval.hi), 1),
            ])?;
        }
    }
    Ok(table.with_note(format!(
        "First reviewer; weights are the strata's shares of the whole table of findings; {} resamples of each stratum at its own size, \
         seed {}, {GENERATOR}. Packets are drawn by stratum and pairing, so that row follows the \
         draw; the other is the papers'. Undefined while a stratum has findings and no review.",
        settings.n_resamples, settings.seed
    )))
}

fn agreement(key: &[KeyRow], first: &Filled, second: &Filled, level: f64) -> Result<Table, StatisticsError> {
    let mut columns = vec![
        Column::text("judge", "Judge"),
        Column::text("by", "By"),
        Column::text("group", "Group"),
        Column::number("n", "Findings"),
        Column::number("n_both", "Both confirm"),
        Column::number("n_first_only", "First only"),
        Column::number("n_second_only", "Second only"),
        Column::number("n_neither", "Neither"),
        Column::number("raw", "Agreement").with_unit("%"),
    ];
    columns.extend(interval_columns(level));
    columns.extend([("kappa", "Kappa"), ("ac1", "AC1"), ("pabak", "PABAK")].map(|(key, label)| Column::number(key, label)));
    let mut table = Table::new("agreement", "Agreement of the two reviewers", columns)?;
    for group in groups(key, false) {
        let answers = key.iter().zip(first.answers.iter().zip(&second.answers)).filter(|(row, _)| group.holds(row));
        let ratings: Vec<(usize, usize)> = answers
            .filter_map(|(_, (first, second))| first.zip(*second))
            .map(|(first, second)| (usize::from(first.confirmed), usize::from(second.confirmed)))
            .collect();
        let agreement = Agreement::from_ratings(2, &ratings, level)?;
        let count = |wanted: (usize, usize)| Cell::count(ratings.iter().filter(|rating| **rating == wanted).count());
        let interval = agreement.raw_interval;
        let mut row = group.cells().to_vec();
        row.extend([Cell::count(ratings.len()), count((1, 1)), count((1, 0)), count((0, 1)), count((0, 0))]);
        row.extend([
            Cell::maybe(agreement.raw.map(|raw| 100.0 * raw), 1),
            Cell::maybe(interval.map(|interval| 100.0 * interval.lo), 1),
            Cell::maybe(interval.map(|interval| 100.0 * interval.hi), 1),
        ]);
        row.extend([agreement.kappa, agreement.ac1, agreement.pabak].map(|value| Cell::maybe(value, 3)));
        table.push(row)?;
    }
    Ok(table.with_note("Over the findings that both answered; confirmed or not, two categories."))
}

#[cfg(test)]
mod tests {
    use super::super::packet::Reviewer;
    use super::super::sheet::tests::key_row;
    use super::super::sheet::{Answer, read_filled};
    use super::*;
    use crate::measure::finding::Verdict;

    const SETTINGS: StatsSettings = StatsSettings { level: 0.95, n_resamples: 4_000, seed: 20_260_904 };

    fn shown(table: &Table, columns: &[&str]) -> Vec<String> {
        let places: Vec<usize> =
            columns.iter().map(|name| table.columns().iter().position(|column| column.key == *name).unwrap()).collect();
        table.rows().iter().map(|row| places.iter().map(|&i| row[i].display()).collect::<Vec<_>>().join(" ")).collect()
    }

    /// Packets of two reviewers with these many findings confirmed by both, the first, the second and neither.
    fn two_reviewers(judge: &str, cells: [usize; 4], pairing: &str, key: &mut Vec<KeyRow>) -> [String; 2] {
        let mut sheets = [String::new(), String::new()];
        for (n, answers) in cells.into_iter().zip([["yes", "yes"], ["yes", "no"], ["no", "yes"], ["no", "no"]]) {
            for _ in 0..n {
                let row = key_row(key.len() + 1, judge, "s", pairing, Verdict::A, false);
                for (sheet, answer) in sheets.iter_mut().zip(answers) {
                    sheet.push_str(&format!("{},{answer}\n", row.id));
                }
                key.push(row);
            }
        }
        sheets
    }

    fn filled(rows: &[String], key: &[KeyRow]) -> Filled {
        read_filled(&format!("id,confirmed\n{}", rows.concat()), key, Reviewer::First).unwrap()
    }

    #[test]
    fn the_published_agreement_comes_back() {
        let mut key = Vec::new();
        // 21 and 16 of 128 rejected, 7 and 8 of 84.
        let [a, b] = two_reviewers("gpt", [103, 4, 9, 12], "p", &mut key);
        let [c, d] = two_reviewers("deepseek", [75, 2, 1, 6], "q", &mut key);
        let (first, second) = (filled(&[a, c], &key), filled(&[b, d], &key));
        let tables = tables(&key, &[], &first, Some(&second), SETTINGS).unwrap();
        let agreement = &tables[3];
        let rows = shown(agreement, &["judge", "by", "n", "n_both", "n_first_only", "n_second_only", "n_neither", "raw"]);
        assert_eq!(rows[0], "(all) overall 212 178 6 10 18 92.5");
        assert_eq!(rows[3], "deepseek overall 84 75 2 1 6 96.4");
        assert_eq!(rows[5], "gpt overall 128 103 4 9 12 89.8");
        let values = shown(agreement, &["kappa", "ac1", "pabak"]);
        assert_eq!(values[5], "0.591 0.865 0.797");
        assert!(values[3].starts_with("0.780 0.957 "), "{}", values[3]);
        // One pairing a judge: the same numbers again.
        assert_eq!(values[4], values[3]);
        let confirmation = shown(&tables[0], &["reviewer", "judge", "by", "n_asked", "n", "n_confirmed"]);
        assert!(confirmation.contains(&"1 gpt overall 128 128 107".to_owned()));
        assert!(confirmation.contains(&"2 gpt overall 128 128 112".to_owned()));
    }

    #[test]
    fn the_published_standardised_rate_comes_back() {
        let strata = [
            ("TIMING decisive", 45, 34, 512),
            ("TIMING UNCLEAR", 15, 9, 148),
            ("ONE_SIDED", 54, 50, 272),
            ("DUPLICATE", 21, 17, 46),
            ("VALUE", 15, 12, 22),
        ];
        let (mut key, mut answers, mut sizes) = (Vec::new(), Vec::new(), Vec::new());
        for (stratum, n, n_upheld, n_findings) in strata {
            for i in 0..n {
                key.push(key_row(key.len(), "j", stratum, "p", Verdict::A, false));
                answers.push(Some(Answer { confirmed: i < n_upheld, error: None }));
            }
            let [judge, stratum, pairing] = ["j", stratum, "p"].map(str::to_owned);
            sizes.push(StratumSize { judge, stratum, pairing, n_findings });
        }
        let first = Filled { answers, ..Filled::default() };
        let tables = tables(&key, &sizes, &first, None, SETTINGS).unwrap();
        assert_eq!(tables.len(), 3);
        assert_eq!(
            shown(&tables[2], &["by", "n_strata", "n", "raw", "rate"]),
            ["stratum 5 150 81.3 78.2", "stratum and pairing 5 150 81.3 78.2"]
        );
        let ends: Vec<f64> = shown(&tables[2], &["rate_lo", "rate_hi"])[0].split(' ').map(|end| end.parse().unwrap()).collect();
        assert!((ends[0] - 70.3).abs() < 0.5 && (ends[1] - 85.8).abs() < 0.5, "{ends:?}");
        let overall = shown(&tables[0], &["by", "rate", "rate_lo", "rate_hi"]);
        assert_eq!(overall[0], "overall 81.3 74.3 86.8");
        // A stratum of the whole table that nobody reviewed leaves the rate undefined.
        let [judge, stratum, pairing] = ["j", "SHARED_UNSUPPORTED", "p"].map(str::to_owned);
        sizes.push(StratumSize { judge, stratum, pairing, n_findings: 3 });
        let table = standardised(&key, &sizes, &first, SETTINGS).unwrap();
        assert_eq!(shown(&table, &["n_not_reviewed", "raw", "rate", "rate_lo"])[0], "1 81.3 – –");
    }

    #[test]
    fn the_published_taxonomy_comes_back() {
        let counts =
            [("gpt", [59, 64, 21, 1, 7, 6, 4, 2, 0, 0, 0, 0], 1_540), ("v3", [67, 9, 14, 13, 7, 8, 6, 3, 3, 3, 2, 2], 1_198)];
        let (mut key, mut answers) = (Vec::new(), Vec::new());
        for (judge, errors, n) in counts {
            let kinds = ErrorType::ALL.into_iter().zip(errors).flat_map(|(kind, n)| std::iter::repeat_n(kind, n));
            let mut kinds = kinds.collect::<Vec<_>>().into_iter();
            for _ in 0..n {
                key.push(key_row(key.len(), judge, "s", "p", Verdict::A, false));
                let error = kinds.next();
                answers.push(Some(Answer { confirmed: error.is_none(), error }));
            }
        }
        // One error that was not classified, one finding that was not reviewed.
        let first = Filled { answers, ..Filled::default() };
        let table = error_types(&key, &first).unwrap();
        let rows = shown(&table, &["error_type", "n gpt", "n v3", "total", "share"]);
        assert_eq!(rows[0], "timing_ruled_unclear 59 67 126 41.9");
        assert_eq!(rows[1], "undercalled_over_extraction 64 9 73 24.3");
        assert_eq!(rows[7], "other 2 13 15 5.0");
        assert_eq!(rows[8], "other: malformed_finding 2 3 5 1.7");
        assert_eq!(
            rows[13..],
            ["not classified 0 0 0 0.0", "total errors 164 137 301 100.0", "findings reviewed 1540 1198 2738 –"]
        );
        let rates = shown(&confirmation(&key, &first, None, 0.95).unwrap(), &["judge", "by", "rate"]);
        assert_eq!([&rates[0], &rates[3], &rates[6]], ["(all) overall 89.0", "gpt overall 89.4", "v3 overall 88.6"]);
    }

    #[test]
    fn gaps_are_no_answers() {
        let key = [key_row(1, "j", "s", "p", Verdict::A, false), key_row(2, "j", "s", "p", Verdict::A, false)];
        let first = read_filled("id,confirmed\nx-1,no\n", &key, Reviewer::First).unwrap();
        let second = read_filled("id,confirmed\nx-2,yes\n", &key, Reviewer::Second).unwrap();
        let tables = tables(&key, &[], &first, Some(&second), SETTINGS).unwrap();
        assert_eq!(shown(&tables[0], &["n_asked", "n", "rate"])[0], "2 1 0.0");
        assert_eq!(shown(&tables[3], &["n", "raw", "kappa"])[0], "0 – –");
        let not_classified = shown(&tables[1], &["error_type", "total"]);
        assert!(not_classified.contains(&"not classified 1".to_owned()));
    }
}

//! What the reviewers get, and the key to it. A packet names no source, and in the blinded protocol nothing that the judge decided.

use super::sample::{JudgedFinding, ReviewItem, ReviewSample, StratumBy};
use super::taxonomy::ErrorType;
use crate::measure::finding::FindingType;
use crate::measure::quotes::{QuoteIndex, has_quote};
use crate::pipelines::passage::{densest, excerpt, marks};
use crate::pipelines::sheet::{Reader, write};
use crate::report::spreadsheet_text;
use std::collections::HashMap;
use std::fmt::Write;

/// Bytes of the report shown before and after a passage.
const MARGIN: usize = 300;

/// Longest stretch of a report in which an event's words are looked for together.
const STRETCH: usize = 400;

/// What the reviewers are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Nothing of the verdict: the reviewer gives an own one.
    Blinded,
    /// The verdict with its reason: the reviewer confirms or rejects it.
    VerdictShown,
}

/// Whose packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reviewer {
    /// Every finding.
    First,
    /// The findings of the second packet, in its own order.
    Second,
}

/// A packet as CSV. `reports` gives the text of each case: the part around the judge's passage, or around the events' words where it is
/// not found, is shown; without a report the passage alone.
pub fn packet(
    findings: &[JudgedFinding],
    sample: &ReviewSample,
    reports: &HashMap<String, String>,
    protocol: Protocol,
    reviewer: Reviewer,
) -> String {
    let items: Vec<&ReviewItem> = match reviewer {
        Reviewer::First => sample.items.iter().collect(),
        Reviewer::Second => sample.second.iter().map(|&place| &sample.items[place]).collect(),
    };
    let mut columns = match protocol {
        Protocol::Blinded => vec!["id", "case", "difference", "event_1", "time_1", "event_2", "time_2", "passage", "question"],
        Protocol::VerdictShown => {
            vec!["id", "case", "difference", "event_a", "time_a", "event_b", "time_b", "passage", "question"]
        }
    };
    match protocol {
        Protocol::Blinded => columns.push("verdict"),
        Protocol::VerdictShown => columns.extend(["judge_verdict", "judge_reason", "confirmed"]),
    }
    columns.extend(["error_type", "comment"]);
    let rows = items.into_iter().map(|item| {
        let finding = &findings[item.finding];
        let order = if item.swapped { [1, 0] } else { [0, 1] };
        let [first, second] = order.map(|side| &finding.events[side]);
        let [first_time, second_time] = order.map(|side| &finding.times[side]);
        let mut row = vec![
            item.id.clone(),
            finding.case.clone(),
            difference(finding.kind).to_owned(),
            spreadsheet_text(first),
            first_time.clone(),
            spreadsheet_text(second),
            second_time.clone(),
            spreadsheet_text(&passage(finding, reports.get(&finding.case))),
        ];
        match protocol {
            Protocol::Blinded => row.extend([question(finding.kind).to_owned(), String::new()]),
            Protocol::VerdictShown => row.extend([
                "Is the verdict right?".to_owned(),
                format!("{} {}", finding.kind, finding.verdict),
                spreadsheet_text(&finding.rationale),
                String::new(),
            ]),
        }
        row.extend([String::new(), String::new()]);
        row
    });
    write(&columns, rows, Reader::Person)
}

/// The kind of discrepancy without a hint at the side.
const fn difference(kind: FindingType) -> &'static str {
    match kind {
        FindingType::Value => "value",
        FindingType::Timing => "time",
        FindingType::AOnly | FindingType::BOnly => "one timeline only",
        FindingType::SharedUnsupported => "in both timelines",
        FindingType::Duplicate => "number of occurrences",
    }
}

const fn question(kind: FindingType) -> &'static str {
    match kind {
        FindingType::Value => "Whose value does the report support?",
        FindingType::Timing => "Whose time does the report support?",
        FindingType::AOnly | FindingType::BOnly => "Is the timeline with the event right, or the one without it?",
        FindingType::SharedUnsupported => "Does the report support the event that both timelines have?",
        FindingType::Duplicate => "Whose number of occurrences does the report support?",
    }
}

/// The part of the report to show.
fn passage(finding: &JudgedFinding, report: Option<&String>) -> String {
    let evidence = finding.evidence.as_str();
    let quoted = has_quote(Some(evidence));
    let Some(report) = report else {
        return if quoted { evidence.to_owned() } else { String::new() };
    };
    let located = QuoteIndex::new(report).locate(Some(evidence)).range();
    let stretch = located.or_else(|| densest(&marks(report, &finding.events[0], &finding.events[1]), STRETCH));
    stretch.map_or_else(String::new, |stretch| excerpt(report, stretch, MARGIN))
}

/// What the packets hide: for each id the judge, its verdict, the sources behind the sides, stratum and pairing.
pub fn review_key(findings: &[JudgedFinding], sample: &ReviewSample, by: StratumBy) -> String {
    let mut in_second = vec![false; sample.items.len()];
    sample.second.iter().for_each(|&place| in_second[place] = true);
    let yes_no = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let columns = [
        "id",
        "judge",
        "case",
        "a",
        "b",
        "type",
        "verdict",
        "category",
        "stratum",
        "pairing",
        "swapped",
        "second_packet",
        "line",
    ];
    let rows = sample.items.iter().zip(in_second).map(|(item, in_second)| {
        let finding = &findings[item.finding];
        let [a, b] = finding.sources.clone();
        vec![
            item.id.clone(),
            finding.judge.clone(),
            finding.case.clone(),
            a,
            b,
            finding.kind.to_string(),
            finding.verdict.to_string(),
            finding.category.clone(),
            finding.stratum(by),
            finding.pairing(),
            yes_no(item.swapped),
            yes_no(in_second),
            finding.line.to_string(),
        ]
    });
    write(&columns, rows, Reader::Program)
}

/// How many findings each judge, stratum and pairing has in the whole table and in the sample.
pub fn strata_table(sample: &ReviewSample) -> String {
    let rows = sample.cells.iter().map(|cell| {
        let [n_findings, n_drawn] = [cell.n_findings, cell.n_drawn].map(|n| n.to_string());
        vec![cell.judge.clone(), cell.stratum.clone(), cell.pairing.clone(), n_findings, n_drawn]
    });
    write(&["judge", "stratum", "pairing", "n_findings", "n_drawn"], rows, Reader::Program)
}

/// What to tell the reviewers.
pub fn instructions(protocol: Protocol) -> String {
    let mut text = String::from(
        "Each row of the packet is one difference between two timelines of one case report. Read the report, not the passage alone: the\n\
         passage only says where to begin. Times are hours from admission (or the first visit); N/A is no time. Please do not talk about the\n\
         rows with the other reviewer, and leave id as it is. An apostrophe before a text only keeps a spreadsheet from calculating.\n\n",
    );
    text.push_str(match protocol {
        Protocol::Blinded => {
            "verdict: what the report supports.\n\
             \x20 1               the first timeline (for an event of one timeline only: the side that is right, also when it is the empty one)\n\
             \x20 2               the second timeline\n\
             \x20 BOTH            both; they differ in words alone\n\
             \x20 NEITHER         neither\n\
             \x20 UNCLEAR         the report does not settle it\n\
             \x20 NOT_A_FINDING   there is no such difference, or it should not have been listed\n\n\
             error_type: leave it empty until the packet comes back with a column judge_verdict (1 and 2 are the sides of the row); then,\n\
             for every row with a judge_verdict, one of\n"
        }
        Protocol::VerdictShown => {
            "confirmed: yes when the judge's verdict is right, no when it is not. A and B in the reason are the A and B of the row.\n\n\
             error_type: for every no, one of\n"
        }
    });
    for kind in ErrorType::ALL {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {:<32} {}", kind.as_str(), kind.meaning());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::sample::draw;
    use super::super::sample::tests::{SETTINGS, findings};
    use super::*;
    use crate::pipelines::sheet::Sheet;

    fn column<'s>(sheet: &'s Sheet, name: &str) -> Vec<&'s str> {
        sheet.rows.iter().map(|row| row.field(sheet.find(name))).collect()
    }

    #[test]
    fn a_blinded_packet_hides_verdict_and_provenance() {
        let findings = findings("secret-judge", 60);
        let sample = draw(&findings, SETTINGS);
        let reports = HashMap::new();
        let [first, second] =
            [Reviewer::First, Reviewer::Second].map(|who| packet(&findings, &sample, &reports, Protocol::Blinded, who));
        for text in [&first, &second] {
            for hidden in ["source-", "secret-judge", "UNCLEAR", "NEITHER", "A_ONLY", "B_ONLY", "is right 1", "wrong_time"] {
                assert!(!text.contains(hidden), "{hidden}");
            }
        }
        let (first, second) = (Sheet::read(&first).unwrap(), Sheet::read(&second).unwrap());
        let (mut ids, mut other) = (column(&first, "id"), column(&second, "id"));
        assert_ne!(ids, other);
        ids.sort_unstable();
        other.sort_unstable();
        assert_eq!(ids, other);
        // The same finding has the same sides in both packets.
        for row in &first.rows {
            let twin = second.rows.iter().find(|twin| twin.field(second.find("id")) == row.field(first.find("id"))).unwrap();
            assert_eq!(row.field(first.find("event_1")), twin.field(second.find("event_1")));
        }
        let swapped = column(&first, "event_1").iter().filter(|event| event.ends_with('b')).count();
        assert!(swapped > 3 && swapped < 20, "{swapped}");
    }

    #[test]
    fn times_move_with_their_events() {
        let findings = findings("j", 60);
        let sample = draw(&findings, SETTINGS);
        let sheet = packet(&findings, &sample, &HashMap::new(), Protocol::Blinded, Reviewer::First);
        let sheet = Sheet::read(&sheet).unwrap();
        for row in &sheet.rows {
            for side in ["1", "2"] {
                let event = row.field(sheet.find(&format!("event_{side}")));
                let time = row.field(sheet.find(&format!("time_{side}")));
                if let Some(number) = event.strip_prefix("rash ") {
                    let expected =
                        number.strip_suffix('a').map_or_else(|| format!("-{}", &number[..number.len() - 1]), str::to_owned);
                    assert_eq!(time, expected);
                }
            }
        }
    }

    #[test]
    fn the_passage_comes_from_the_report() {
        let mut finding = findings("j", 1).remove(0);
        let report = format!("{} A rash, red 0 appeared. {}", "Before it. ".repeat(60), "After it. ".repeat(60));
        let shown = passage(&finding, Some(&report));
        assert!(shown.starts_with("… ") && shown.ends_with(" …") && shown.contains("rash, red 0 appeared"));
        assert!(shown.len() < 2 * MARGIN + 40);
        finding.evidence = "none found".to_owned();
        assert!(passage(&finding, Some(&report)).contains("A rash, red 0"));
        assert_eq!(passage(&finding, None), "");
        assert_eq!(passage(&finding, Some(&"nothing".to_owned())), "");
    }

    #[test]
    fn with_the_verdict_shown_sides_keep_their_letters() {
        let findings = findings("secret-judge", 60);
        let sample = draw(&findings, super::super::ReviewSettings { swap_sides: false, ..SETTINGS });
        let text = packet(&findings, &sample, &HashMap::new(), Protocol::VerdictShown, Reviewer::First);
        assert!(!text.contains("source-") && !text.contains("secret-judge"));
        let sheet = Sheet::read(&text).unwrap();
        assert!(column(&sheet, "judge_verdict").contains(&"TIMING UNCLEAR"));
        assert!(column(&sheet, "event_a").iter().all(|event| !event.ends_with('b')));
        assert!(instructions(Protocol::VerdictShown).contains("indeterminate_timing"));
        assert!(instructions(Protocol::Blinded).contains("NOT_A_FINDING"));
    }
}

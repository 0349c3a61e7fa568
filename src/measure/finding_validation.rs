//! Whether a judge's finding keeps to its schema, its timelines and its evidence.
//!
//! It sees the finding's fields as texts; reading a reply is its caller's task.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::error::MeasureError;
use super::finding::{FindingType, Polarity, Verdict, vocabulary};
use super::quotes::has_quote;
use super::series_summary::cell_number;

vocabulary! {
    /// What is wrong with a finding, in the order of names.
    FindingFault, "a finding fault",
    "bad_polarity, bad_relation, bad_type, bad_verdict, empty_reason, grounding_mismatch, missing_field, quote_not_found, \
     row_not_in_timeline, side_missing, side_not_null, table_not_found", {
        /// The polarity is no polarity, or null where the finding is one-sided.
        BadPolarity = "bad_polarity",
        /// The relation is none of its names, or not null where the finding has two sides.
        BadRelation = "bad_relation",
        /// The type is none of the six.
        BadType = "bad_type",
        /// The verdict is none of the five.
        BadVerdict = "bad_verdict",
        /// The reason is blank or null.
        EmptyReason = "empty_reason",
        /// The grounding is none of the four, or not what the evidence given amounts to.
        GroundingMismatch = "grounding_mismatch",
        /// A field is absent.
        MissingField = "missing_field",
        /// The note does not hold the quoted bytes.
        QuoteNotFound = "quote_not_found",
        /// A side's event and time are no row of its timeline.
        RowNotInTimeline = "row_not_in_timeline",
        /// A side that the type needs is null.
        SideMissing = "side_missing",
        /// The side that a one-sided finding lacks is not null.
        SideNotNull = "side_not_null",
        /// No supplied summary has the event and time of the table evidence.
        TableNotFound = "table_not_found",
    }
}

vocabulary! {
    /// What the evidence of a finding consists of.
    Grounding, "a grounding", "NOTE, TABLE, BOTH, NONE", {
        /// A quote.
        Note = "NOTE",
        /// A structured row.
        Table = "TABLE",
        /// Both.
        Both = "BOTH",
        /// Neither.
        None = "NONE",
    }
}

vocabulary! {
    /// How a one-sided event relates to the other timeline.
    Relation, "a relation", "novel_event, added_detail", {
        /// An event of its own.
        NovelEvent = "novel_event",
        /// A detail of an event that both have.
        AddedDetail = "added_detail",
    }
}

/// A field of a reply.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Field {
    /// Not in the reply.
    #[default]
    Absent,
    /// Null.
    Null,
    /// A value, as text.
    Text(String),
}

impl Field {
    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Absent | Self::Null => None,
        }
    }

    fn is_absent(&self) -> bool {
        *self == Self::Absent
    }
}

/// A finding as replied.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[expect(missing_docs, reason = "the names are the schema's own")]
pub struct RepliedFinding {
    pub kind: Field,
    pub verdict: Field,
    pub a_event: Field,
    pub a_time: Field,
    pub b_event: Field,
    pub b_time: Field,
    pub note_evidence: Field,
    pub table_evidence: Field,
    pub grounding: Field,
    pub polarity: Field,
    pub relation: Field,
    pub reason: Field,
}

/// A row of a timeline that the judge was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SuppliedRow<'a> {
    /// Event text.
    pub mention: &'a str,
    /// Time as written.
    pub time: &'a str,
}

/// A summary of a structured series that the judge was given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SuppliedSeries<'a> {
    /// Name of the series.
    pub event: &'a str,
    /// Time of its earliest row in hours.
    pub t_min: f64,
    /// Time of its latest row in hours.
    pub t_max: f64,
}

/// What the judge was given.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgedMaterial<'a> {
    /// The note.
    pub note: &'a str,
    /// Timeline A.
    pub a: &'a [SuppliedRow<'a>],
    /// Timeline B.
    pub b: &'a [SuppliedRow<'a>],
    /// Summaries of the structured record; None leaves the content of table evidence unchecked.
    pub series: Option<&'a [SuppliedSeries<'a>]>,
}

/// Every fault of a finding; none is a valid one. An absent field is that fault alone, and where the type is
/// none of the six, what depends on it is not checked.
///
/// A time equals a row's as text or as a number. DUPLICATE needs one side, the other kinds with two sides
/// need both. Null, blank and "none found" are no evidence.
///
/// # Units
/// Hours.
///
/// # Source
/// uid.txt, Table D.4. That an event and its time must be one row, and that the grounding must be exactly
/// what the evidence given amounts to, are this program's reading.
pub fn finding_faults(finding: &RepliedFinding, material: &JudgedMaterial<'_>) -> BTreeSet<FindingFault> {
    let mut faults = BTreeSet::new();
    let mut require = |holds: bool, fault| {
        if !holds {
            faults.insert(fault);
        }
    };
    for field in finding.fields() {
        require(!field.is_absent(), FindingFault::MissingField);
    }
    let kind = parsed::<FindingType>(&finding.kind);
    require(finding.kind.is_absent() || kind.is_some(), FindingFault::BadType);
    require(finding.verdict.is_absent() || parsed::<Verdict>(&finding.verdict).is_some(), FindingFault::BadVerdict);

    let sides = [(&finding.a_event, &finding.a_time, material.a), (&finding.b_event, &finding.b_time, material.b)];
    let given = sides.map(|(event, time, _)| Given::of(event, time));
    for (event, time, rows) in sides {
        if let (Some(event), false) = (event.text(), time.is_absent()) {
            require(time.text().is_some_and(|time| holds_row(rows, event, time)), FindingFault::RowNotInTimeline);
        }
    }
    if let Some(kind) = kind {
        let [a, b] = given;
        let (needed, excluded) = match kind {
            FindingType::AOnly => (a.event, b.nothing),
            FindingType::BOnly => (b.event, a.nothing),
            FindingType::Duplicate => (a.event || b.event, true),
            FindingType::Value | FindingType::Timing | FindingType::SharedUnsupported => (a.event && b.event, true),
        };
        require(needed, FindingFault::SideMissing);
        require(excluded, FindingFault::SideNotNull);
    }

    let quote = finding.note_evidence.text().filter(|&quote| has_quote(Some(quote)));
    let table = finding.table_evidence.text().filter(|&table| has_quote(Some(table)));
    require(quote.is_none_or(|quote| material.note.contains(quote)), FindingFault::QuoteNotFound);
    if let (Some(table), Some(series)) = (table, material.series) {
        require(series.iter().any(|series| series.holds(table)), FindingFault::TableNotFound);
    }
    if ![&finding.grounding, &finding.note_evidence, &finding.table_evidence].into_iter().any(Field::is_absent) {
        let evidence = match (quote.is_some(), table.is_some()) {
            (true, true) => Grounding::Both,
            (true, false) => Grounding::Note,
            (false, true) => Grounding::Table,
            (false, false) => Grounding::None,
        };
        require(parsed(&finding.grounding) == Some(evidence), FindingFault::GroundingMismatch);
    }

    let one_sided = kind.map(|kind| matches!(kind, FindingType::AOnly | FindingType::BOnly));
    // A null is refused where the finding has one side.
    let polarity = parsed::<Polarity>(&finding.polarity).is_some();
    require(polarity || finding.polarity.is_absent() || nulled(&finding.polarity, one_sided), FindingFault::BadPolarity);
    let relation = parsed::<Relation>(&finding.relation).is_some() && one_sided != Some(false);
    require(relation || finding.relation.is_absent() || nulled(&finding.relation, one_sided), FindingFault::BadRelation);
    let reasoned = finding.reason.text().is_some_and(|reason| !reason.trim().is_empty());
    require(reasoned || finding.reason.is_absent(), FindingFault::EmptyReason);
    faults
}

/// What a side of the finding holds; an absent field counts as whatever is not a fault.
#[derive(Clone, Copy)]
struct Given {
    event: bool,
    nothing: bool,
}

impl Given {
    fn of(event: &Field, time: &Field) -> Self {
        Self { event: *event != Field::Null, nothing: event.text().is_none() && time.text().is_none() }
    }
}

fn nulled(field: &Field, one_sided: Option<bool>) -> bool {
    *field == Field::Null && one_sided != Some(true)
}

fn parsed<T: FromStr>(field: &Field) -> Option<T> {
    field.text().and_then(|text| text.parse().ok())
}

fn holds_row(rows: &[SuppliedRow<'_>], event: &str, time: &str) -> bool {
    let same_time = |given: &str| given == time || cell_number(time).is_some_and(|time| cell_number(given) == Some(time));
    rows.iter().any(|row| row.mention == event && same_time(row.time))
}

impl RepliedFinding {
    fn fields(&self) -> [&Field; 12] {
        [
            &self.kind,
            &self.verdict,
            &self.a_event,
            &self.a_time,
            &self.b_event,
            &self.b_time,
            &self.note_evidence,
            &self.table_evidence,
            &self.grounding,
            &self.polarity,
            &self.relation,
            &self.reason,
        ]
    }
}

impl SuppliedSeries<'_> {
    /// Whether evidence names this series, and a time within its range: the last number of the text outside
    /// the name, since the schema writes event, value, time.
    fn holds(&self, evidence: &str) -> bool {
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        evidence.match_indices(self.event).any(|(at, name)| {
            let (before, after) = (&evidence[..at], &evidence[at + name.len()..]);
            if name.is_empty() || is_letter(before.chars().next_back()) || is_letter(after.chars().next()) {
                return false;
            }
            let time = last_number(after).or_else(|| last_number(before));
            time.is_some_and(|time| (self.t_min..=self.t_max).contains(&time))
        })
    }
}

/// The last number that a text holds, with its sign unless a letter or digit stands before that.
fn last_number(text: &str) -> Option<f64> {
    let end = text.rfind(|c: char| c.is_ascii_digit())? + 1;
    let start = text[..end]
        .rfind(|c: char| !c.is_ascii_digit() && c != '.')
        .map_or(0, |at| at + text[at..].chars().next().map_or(0, char::len_utf8));
    let number: f64 = text[start..end].trim_start_matches('.').parse().ok()?;
    let before = &text[..start];
    let signed = before.ends_with(['-', '\u{2212}']) && {
        let mut earlier = before.chars().rev().skip(1);
        !earlier.next().is_some_and(char::is_alphanumeric)
    };
    Some(if signed { -number } else { number })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: [SuppliedRow<'static>; 2] =
        [SuppliedRow { mention: "fever", time: "1" }, SuppliedRow { mention: "pain", time: "N/A" }];
    const B: [SuppliedRow<'static>; 1] = [SuppliedRow { mention: "fever", time: "9.0" }];
    const SERIES: [SuppliedSeries<'static>; 2] = [
        SuppliedSeries { event: "Lab 1", t_min: -3.0, t_max: 4.0 },
        SuppliedSeries { event: "Lab 12", t_min: 50.0, t_max: 60.0 },
    ];

    fn text(text: &str) -> Field {
        Field::Text(text.to_owned())
    }

    fn timing() -> RepliedFinding {
        RepliedFinding {
            kind: text("TIMING"),
            verdict: text("A"),
            a_event: text("fever"),
            a_time: text("1"),
            b_event: text("fever"),
            b_time: text("9"),
            note_evidence: text("CT \u{201c}clear\u{201d}"),
            table_evidence: Field::Null,
            grounding: text("NOTE"),
            polarity: Field::Null,
            relation: Field::Null,
            reason: text("stated"),
        }
    }

    fn faults(change: impl FnOnce(&mut RepliedFinding)) -> Vec<&'static str> {
        let mut finding = timing();
        change(&mut finding);
        let material = JudgedMaterial { note: "CT \u{201c}clear\u{201d}.", a: &A, b: &B, series: Some(&SERIES) };
        finding_faults(&finding, &material).into_iter().map(FindingFault::as_str).collect()
    }

    fn a_only(finding: &mut RepliedFinding) {
        finding.kind = text("A_ONLY");
        (finding.a_event, finding.a_time) = (text("pain"), text("N/A"));
        (finding.b_event, finding.b_time) = (Field::Null, Field::Null);
        (finding.polarity, finding.relation) = (text("absent"), text("added_detail"));
    }

    #[test]
    fn faults_sort_by_name() {
        let mut names = FindingFault::ALL.map(FindingFault::as_str);
        names.sort_unstable();
        assert_eq!(names, FindingFault::ALL.map(FindingFault::as_str));
    }

    #[test]
    fn good_findings_have_none() {
        assert!(faults(|_| {}).is_empty());
        assert!(faults(a_only).is_empty());
        assert!(faults(|f| (f.a_time, f.b_time) = (text("1.00"), text("9e0"))).is_empty());
        let duplicate = |f: &mut RepliedFinding| {
            f.kind = text("DUPLICATE");
            (f.b_event, f.b_time) = (Field::Null, Field::Null);
        };
        assert!(faults(duplicate).is_empty());
    }

    #[test]
    fn sides_follow_the_type() {
        let b_null = |f: &mut RepliedFinding| (f.b_event, f.b_time) = (Field::Null, Field::Null);
        for kind in ["TIMING", "VALUE", "SHARED_UNSUPPORTED"] {
            assert_eq!(faults(|f| (f.kind = text(kind), b_null(f)).1), ["side_missing"], "{kind}");
        }
        assert_eq!(faults(|f| (a_only(f), f.b_time = text("9")).1), ["side_not_null"]);
        assert_eq!(faults(|f| (a_only(f), f.kind = text("B_ONLY")).1), ["side_missing", "side_not_null"]);
        assert_eq!(faults(|f| f.a_time = Field::Null), ["row_not_in_timeline"]);
        assert_eq!(faults(|f| f.a_event = text("Fever")), ["row_not_in_timeline"]);
        assert_eq!(faults(|f| (a_only(f), f.a_time = text("n/a")).1), ["row_not_in_timeline"]);
    }

    #[test]
    fn every_absent_field_is_one_fault_and_no_other() {
        let absent: [fn(&mut RepliedFinding) -> &mut Field; 12] = [
            |f| &mut f.kind,
            |f| &mut f.verdict,
            |f| &mut f.a_event,
            |f| &mut f.a_time,
            |f| &mut f.b_event,
            |f| &mut f.b_time,
            |f| &mut f.note_evidence,
            |f| &mut f.table_evidence,
            |f| &mut f.grounding,
            |f| &mut f.polarity,
            |f| &mut f.relation,
            |f| &mut f.reason,
        ];
        for (i, field) in absent.iter().enumerate() {
            assert_eq!(faults(|f| *field(f) = Field::Absent), ["missing_field"], "{i}");
            assert_eq!(faults(|f| (a_only(f), *field(f) = Field::Absent).1), ["missing_field"], "{i}");
        }
    }

    #[test]
    fn quotes_are_byte_exact_and_blank_is_none() {
        assert_eq!(faults(|f| f.note_evidence = text("CT \"clear\"")), ["quote_not_found"]);
        assert!(faults(|f| (f.note_evidence, f.grounding) = (text(" "), text("NONE"))).is_empty());
        assert_eq!(faults(|f| f.note_evidence = text("none found")), ["grounding_mismatch"]);
        assert_eq!(faults(|f| f.grounding = text("note")), ["grounding_mismatch"]);
        assert_eq!(faults(|f| f.grounding = Field::Null), ["grounding_mismatch"]);
    }

    #[test]
    fn table_evidence_names_a_series_and_a_time_in_its_range() {
        let with = |evidence: &str| faults(|f| (f.table_evidence, f.grounding) = (text(evidence), text("BOTH")));
        for evidence in
            ["Lab 1 at 2h", "Lab 1 | 88 | -3", "Lab 12 5.5 at 50.0 hours", "3 h: Lab 1", r#"{"event":"Lab 1","time":4}"#]
        {
            assert!(with(evidence).is_empty(), "{evidence}");
        }
        for evidence in ["Lab 1 at 5h", "Lab 12 at 2h", "lab 1 at 2h", "Lab 1", "Lab 1 2 at -3.1", "Lab 3 at 2"] {
            assert_eq!(with(evidence), ["table_not_found"], "{evidence}");
        }
        assert_eq!(last_number("day-3, t=-4.5 h"), Some(-4.5));
        assert_eq!(last_number("10-20."), Some(20.0));
        assert_eq!(last_number("\u{2212}7\u{b0}"), Some(-7.0));
        assert_eq!(last_number("none"), None);
    }

    #[test]
    fn labels_follow_the_type() {
        assert_eq!(faults(|f| f.relation = text("novel_event")), ["bad_relation"]);
        assert_eq!(faults(|f| f.polarity = text("Present")), ["bad_polarity"]);
        assert_eq!(faults(|f| (a_only(f), f.polarity = Field::Null).1), ["bad_polarity"]);
        assert_eq!(faults(|f| (a_only(f), f.relation = text("other")).1), ["bad_relation"]);
        assert_eq!(faults(|f| (a_only(f), f.kind = text("a_only")).1), ["bad_type"]);
        assert_eq!(faults(|f| (f.kind, f.verdict) = (Field::Null, text("TIE"))), ["bad_type", "bad_verdict"]);
        assert_eq!(faults(|f| f.reason = Field::Null), ["empty_reason"]);
    }
}

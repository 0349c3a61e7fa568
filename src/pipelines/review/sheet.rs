//! Reading keys and filled packets.

use super::packet::Reviewer;
use super::taxonomy::ErrorType;
use crate::measure::finding::Verdict;
use crate::pipelines::sheet::{Sheet, SheetFault};
use std::collections::HashMap;

/// One row of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRow {
    /// Name in the packets.
    pub id: String,
    /// Name of the judge.
    pub judge: String,
    /// The stratum.
    pub stratum: String,
    /// The two sources.
    pub pairing: String,
    /// What the judge decided.
    pub verdict: Verdict,
    /// Whether B was shown first.
    pub swapped: bool,
    /// Whether the second reviewer has it.
    pub in_second: bool,
}

/// Findings of one judge, stratum and pairing in the whole table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StratumSize {
    /// Name of the judge.
    pub judge: String,
    /// The stratum.
    pub stratum: String,
    /// The two sources.
    pub pairing: String,
    /// How many there are.
    pub n_findings: usize,
}

/// Reads a key.
///
/// # Errors
/// Missing columns, verdicts and answers that there are not, an id twice.
pub fn read_key(text: &str) -> Result<Vec<KeyRow>, Vec<SheetFault>> {
    let sheet = Sheet::read(text)?;
    let [id, judge, stratum, pairing, verdict, swapped, second] =
        sheet.require(["id", "judge", "stratum", "pairing", "verdict", "swapped", "second_packet"])?;
    let (mut key, mut faults, mut seen) = (Vec::new(), Vec::new(), HashMap::new());
    for row in &sheet.rows {
        let name = row.field(Some(id));
        if let Some(line) = seen.insert(name, row.line) {
            faults.push(SheetFault::field(row.line, "id", format!("an id that line {line} does not have"), name));
        }
        let decided = row.field(Some(verdict)).parse::<Verdict>();
        if decided.is_err() {
            faults.push(SheetFault::field(row.line, "verdict", "a verdict", row.field(Some(verdict))));
        }
        let mut flag = |name: &str, column: usize| {
            let answer = yes_no(row.field(Some(column)));
            if answer.is_none() {
                faults.push(SheetFault::field(row.line, name, "yes or no", row.field(Some(column))));
            }
            answer
        };
        let (swapped, in_second) = (flag("swapped", swapped), flag("second_packet", second));
        if let (Ok(verdict), Some(swapped), Some(in_second)) = (decided, swapped, in_second) {
            let [id, judge, stratum, pairing] = [id, judge, stratum, pairing].map(|column| row.field(Some(column)).to_owned());
            key.push(KeyRow { id, judge, stratum, pairing, verdict, swapped, in_second });
        }
    }
    if faults.is_empty() { Ok(key) } else { Err(faults) }
}

/// Reads the sizes of the strata.
///
/// # Errors
/// Missing columns, numbers that are none.
pub fn read_strata(text: &str) -> Result<Vec<StratumSize>, Vec<SheetFault>> {
    let sheet = Sheet::read(text)?;
    let [judge, stratum, pairing, size] = sheet.require(["judge", "stratum", "pairing", "n_findings"])?;
    let (mut strata, mut faults) = (Vec::new(), Vec::new());
    for row in &sheet.rows {
        let Ok(n_findings) = row.field(Some(size)).parse() else {
            faults.push(SheetFault::field(row.line, "n_findings", "a count", row.field(Some(size))));
            continue;
        };
        let [judge, stratum, pairing] = [judge, stratum, pairing].map(|column| row.field(Some(column)).to_owned());
        strata.push(StratumSize { judge, stratum, pairing, n_findings });
    }
    if faults.is_empty() { Ok(strata) } else { Err(faults) }
}

/// A reviewer's own verdict, in terms of the sides shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OwnVerdict {
    /// The first timeline.
    First,
    /// The second timeline.
    Second,
    /// Both.
    Both,
    /// Neither.
    Neither,
    /// The report does not settle it.
    Unclear,
    /// There is no such difference, or it should not have been listed.
    NotAFinding,
}

impl OwnVerdict {
    const KNOWN: [(&str, Self); 6] = [
        ("1", Self::First),
        ("2", Self::Second),
        ("BOTH", Self::Both),
        ("NEITHER", Self::Neither),
        ("UNCLEAR", Self::Unclear),
        ("NOT_A_FINDING", Self::NotAFinding),
    ];

    fn read(text: &str) -> Option<Self> {
        let name = text.replace([' ', '-'], "_");
        Self::KNOWN.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(&name)).map(|(_, verdict)| verdict)
    }

    /// A judge's verdict in terms of the sides shown.
    pub const fn of_judge(verdict: Verdict, swapped: bool) -> Self {
        match (verdict, swapped) {
            (Verdict::A, false) | (Verdict::B, true) => Self::First,
            (Verdict::A, true) | (Verdict::B, false) => Self::Second,
            (Verdict::Both, _) => Self::Both,
            (Verdict::Neither, _) => Self::Neither,
            (Verdict::Unclear, _) => Self::Unclear,
        }
    }

    /// The name on sheets.
    pub fn name(self) -> &'static str {
        Self::KNOWN.into_iter().find(|(_, verdict)| *verdict == self).map_or("", |(name, _)| name)
    }
}

/// What a reviewer said of one finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Whether the judge was right.
    pub confirmed: bool,
    /// Why it was not, when that was said.
    pub error: Option<ErrorType>,
}

/// What a filled packet says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Filled {
    /// The answer to each row of the key; `None` without one.
    pub answers: Vec<Option<Answer>>,
    /// Lines with an id that this packet does not have.
    pub unknown: Vec<usize>,
    /// Lines that repeat the id of an earlier line.
    pub repeated: Vec<usize>,
}

/// Reads a filled packet: columns id and verdict (1, 2, BOTH, NEITHER, UNCLEAR, NOT_A_FINDING) or confirmed (yes, no), and error_type.
/// A finding with an own verdict is confirmed when it is the judge's. Ids that only the other reviewer's packet has are unknown.
///
/// # Errors
/// Answers that there are not, an answer that contradicts another, an error type for a confirmed finding.
pub fn read_filled(text: &str, key: &[KeyRow], reviewer: Reviewer) -> Result<Filled, Vec<SheetFault>> {
    let sheet = Sheet::read(text)?;
    let [id] = sheet.require(["id"])?;
    let [verdict, confirmed, error] = ["verdict", "confirmed", "error_type"].map(|name| sheet.find(name));
    if verdict.is_none() && confirmed.is_none() {
        return Err(vec![SheetFault {
            line: 1,
            column: None,
            expected: "a column `verdict` or `confirmed` in the header".to_owned(),
            got: format!("the columns {}", sheet.columns().join(", ")),
        }]);
    }
    let asked = key.iter().enumerate().filter(|(_, row)| reviewer == Reviewer::First || row.in_second);
    let places: HashMap<&str, usize> = asked.map(|(place, row)| (row.id.as_str(), place)).collect();
    let mut filled = Filled { answers: vec![None; key.len()], ..Filled::default() };
    // The line of each answer and the verdict given there: two verdicts that are both not the judge's are not the same answer.
    let mut lines: Vec<Option<(usize, Option<OwnVerdict>)>> = vec![None; key.len()];
    let mut faults = Vec::new();
    for row in &sheet.rows {
        let [own, said, reason] = [verdict, confirmed, error].map(|column| row.field(column));
        let mut fault =
            |column: &str, expected: String, got: &str| faults.push(SheetFault::field(row.line, column, expected, got));
        let own_verdict = OwnVerdict::read(own);
        if own_verdict.is_none() && !own.is_empty() {
            let known = OwnVerdict::KNOWN.map(|(name, _)| name).join(", ");
            fault("verdict", format!("one of {known} or nothing"), own);
        }
        let confirmation = yes_no(said);
        if confirmation.is_none() && !said.is_empty() {
            fault("confirmed", "yes, no or nothing".to_owned(), said);
        }
        let error = ErrorType::read(reason);
        if error.is_none() && !reason.is_empty() {
            fault("error_type", format!("one of {} or nothing", ErrorType::list()), reason);
        }
        let Some(&place) = places.get(row.field(Some(id))) else {
            filled.unknown.push(row.line);
            continue;
        };
        let KeyRow { verdict: judged, swapped, .. } = key[place];
        let derived = own_verdict.map(|own| own == OwnVerdict::of_judge(judged, swapped));
        if let (Some(derived), Some(confirmation)) = (derived, confirmation)
            && derived != confirmation
        {
            fault("confirmed", format!("{}, as the verdict has it", if derived { "yes" } else { "no" }), said);
        }
        let answer = derived.or(confirmation);
        match (answer, error) {
            (Some(true), Some(_)) => fault("error_type", "nothing for a confirmed finding".to_owned(), reason),
            (None, Some(_)) => fault("error_type", "an answer beside it".to_owned(), reason),
            _ => {}
        }
        let answer = answer.map(|confirmed| Answer { confirmed, error });
        let earlier = lines[place];
        if earlier.is_some() {
            filled.repeated.push(row.line);
        }
        if filled.answers[place].is_none() {
            lines[place] = Some((row.line, own_verdict));
        }
        match (filled.answers[place], answer, earlier) {
            (Some(known), Some(answer), Some((line, before)))
                if known != answer || before.zip(own_verdict).is_some_and(|(before, now)| before != now) =>
            {
                fault("id", format!("the answer that line {line} gives to this id"), "another one");
            }
            (None, Some(_), _) => filled.answers[place] = answer,
            _ => {}
        }
    }
    if faults.is_empty() { Ok(filled) } else { Err(faults) }
}

fn yes_no(text: &str) -> Option<bool> {
    [("yes", true), ("no", false)].into_iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, yes)| yes)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A key row that is in both packets.
    pub fn key_row(number: usize, judge: &str, stratum: &str, pairing: &str, verdict: Verdict, swapped: bool) -> KeyRow {
        let [judge, stratum, pairing] = [judge, stratum, pairing].map(str::to_owned);
        KeyRow { id: format!("x-{number}"), judge, stratum, pairing, verdict, swapped, in_second: true }
    }

    fn key() -> Vec<KeyRow> {
        vec![
            key_row(1, "j", "s", "p", Verdict::A, false),
            key_row(2, "j", "s", "p", Verdict::A, true),
            key_row(3, "j", "s", "p", Verdict::Unclear, true),
            key_row(4, "j", "s", "p", Verdict::B, false),
        ]
    }

    fn confirmed(text: &str) -> Vec<Option<bool>> {
        read_filled(text, &key(), Reviewer::First)
            .unwrap()
            .answers
            .iter()
            .map(|answer| answer.map(|answer| answer.confirmed))
            .collect()
    }

    #[test]
    fn own_verdicts_are_compared_with_the_judge() {
        let all = |own: &str| confirmed(&format!("id,verdict\nx-1,{own}\nx-2,{own}\nx-3,{own}\nx-4,{own}\n"));
        assert_eq!(all("1"), [Some(true), Some(false), Some(false), Some(false)]);
        assert_eq!(all("2"), [Some(false), Some(true), Some(false), Some(true)]);
        assert_eq!(all("unclear"), [Some(false), Some(false), Some(true), Some(false)]);
        assert_eq!(all("not a finding"), [Some(false); 4]);
        assert_eq!(all(""), [None; 4]);
        assert_eq!(confirmed("id,confirmed\nx-1,Yes\nx-4,no\n"), [Some(true), None, None, Some(false)]);
    }

    #[test]
    fn answers_that_do_not_fit_are_named() {
        let text = "id,verdict,confirmed,error_type\n\
                    x-1,A,,\n\
                    x-2,,maybe,\n\
                    x-3,,no,Other\n\
                    x-4,2,no,\n\
                    x-4,2,,matching error\n\
                    zz,,no,matching error\n";
        let faults: Vec<String> =
            read_filled(text, &key(), Reviewer::First).unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(faults.len(), 6, "{faults:?}");
        assert!(faults[0].starts_with("line 2, column `verdict`: expected one of 1, 2, BOTH, "));
        assert_eq!(faults[1], "line 3, column `confirmed`: expected yes, no or nothing, got `maybe`");
        assert!(faults[2].contains("timing_ruled_unclear, ") && faults[2].contains("indeterminate_timing"));
        assert!(faults[2].ends_with("got `Other`"));
        assert_eq!(faults[3], "line 5, column `confirmed`: expected yes, as the verdict has it, got `no`");
        assert!(faults[4].contains("line 6, column `error_type`: expected nothing for a confirmed finding"));
        assert!(faults[5].starts_with("line 6, column `id`: "));
        assert!(read_filled("id,comment\n", &key(), Reviewer::First).is_err());
    }

    #[test]
    fn repeats_and_strangers_are_counted_and_contradictions_refused() {
        let read = |text: &str| read_filled(text, &key(), Reviewer::First);
        let filled = read("id,confirmed\nx-1,yes\nx-1,\nx-1,yes\nzz,no\n").unwrap();
        assert_eq!((filled.repeated, filled.unknown), (vec![3, 4], vec![5]));
        let faults = read("id,confirmed\nx-1,yes\nx-1,\nx-1,no\n").unwrap_err();
        assert_eq!(
            faults[0].to_string(),
            "line 4, column `id`: expected the answer that line 2 gives to this id, got `another one`"
        );
    }

    #[test]
    fn two_verdicts_that_are_both_not_the_judges_are_two_answers() {
        let read = |text: &str| read_filled(text, &key(), Reviewer::First);
        let faults = read("id,verdict\nx-1,NEITHER\nx-1,UNCLEAR\n").unwrap_err();
        assert_eq!(
            faults[0].to_string(),
            "line 3, column `id`: expected the answer that line 2 gives to this id, got `another one`"
        );
        assert_eq!(read("id,verdict\nx-1,NEITHER\nx-1,NEITHER\n").unwrap().repeated, [3]);
        assert_eq!(
            read("id,verdict,confirmed\nx-1,NEITHER,\nx-1,,no\n").unwrap().repeated,
            [3],
            "the same answer in other words"
        );
    }
}

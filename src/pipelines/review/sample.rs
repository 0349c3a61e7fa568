//! Findings as a run writes them, their strata, and the draw of a sample. It writes no packet.

use crate::measure::finding::{FindingType, Verdict};
use crate::pipelines::draw::{Draw, draw_code};
use crate::pipelines::sheet::{Sheet, SheetFault};
use std::collections::BTreeMap;

/// One finding of one judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedFinding {
    /// Name of the judge.
    pub judge: String,
    /// The case.
    pub case: String,
    /// Sources of timeline A and timeline B.
    pub sources: [String; 2],
    /// Kind of discrepancy.
    pub kind: FindingType,
    /// What the judge decided.
    pub verdict: Verdict,
    /// Scored category; empty when nobody is charged.
    pub category: String,
    /// Events of A and B; empty for a side without one.
    pub events: [String; 2],
    /// Times of A and B as written.
    pub times: [String; 2],
    /// Passage that the judge quoted.
    pub evidence: String,
    /// The judge's reason.
    pub rationale: String,
    /// Line of the file, counted from one.
    pub line: usize,
}

impl JudgedFinding {
    /// The two sources, whichever was A.
    pub fn pairing(&self) -> String {
        let [a, b] = &self.sources;
        if a <= b { format!("{a} / {b}") } else { format!("{b} / {a}") }
    }

    /// The stratum it belongs to.
    pub fn stratum(&self, by: StratumBy) -> String {
        let kind = match self.kind {
            FindingType::AOnly | FindingType::BOnly => "ONE_SIDED",
            kind => kind.as_str(),
        };
        match by {
            StratumBy::Type => kind.to_owned(),
            StratumBy::TypeAndVerdict if self.kind == FindingType::Timing => match self.verdict {
                Verdict::A | Verdict::B => "TIMING decisive".to_owned(),
                other => format!("TIMING {other}"),
            },
            StratumBy::TypeAndVerdict => kind.to_owned(),
            StratumBy::Category if self.category.is_empty() => "not charged".to_owned(),
            StratumBy::Category => self.category.clone(),
        }
    }
}

/// Reads the findings table of a run; columns in any order, further ones ignored.
///
/// # Errors
/// Missing columns (a table written without text has none for events), types and verdicts that there are not.
pub fn read_findings(judge: &str, text: &str) -> Result<Vec<JudgedFinding>, Vec<SheetFault>> {
    let sheet = Sheet::read(text)?;
    let [case, a, b, kind, verdict, a_time, b_time, category, a_event, b_event, evidence, rationale] = sheet.require([
        "case",
        "a",
        "b",
        "type",
        "verdict",
        "a_time",
        "b_time",
        "category",
        "a_event",
        "b_event",
        "evidence",
        "rationale",
    ])?;
    let (mut findings, mut faults) = (Vec::with_capacity(sheet.rows.len()), Vec::new());
    for row in &sheet.rows {
        let field = |column: usize| row.field(Some(column));
        let owned = |column: usize| row.exact(column).to_owned();
        let read_kind = field(kind).parse::<FindingType>();
        let read_verdict = field(verdict).parse::<Verdict>();
        if read_kind.is_err() {
            let expected = FindingType::ALL.map(FindingType::as_str).join(", ");
            faults.push(SheetFault::field(row.line, "type", format!("one of {expected}"), field(kind)));
        }
        if read_verdict.is_err() {
            let expected = Verdict::ALL.map(Verdict::as_str).join(", ");
            faults.push(SheetFault::field(row.line, "verdict", format!("one of {expected}"), field(verdict)));
        }
        let (Ok(kind), Ok(verdict)) = (read_kind, read_verdict) else { continue };
        findings.push(JudgedFinding {
            judge: judge.to_owned(),
            case: field(case).to_owned(),
            sources: [field(a), field(b)].map(str::to_owned),
            kind,
            verdict,
            category: field(category).to_owned(),
            events: [a_event, b_event].map(owned),
            times: [a_time, b_time].map(|column| field(column).to_owned()),
            evidence: owned(evidence),
            rationale: owned(rationale),
            line: row.line,
        });
    }
    if faults.is_empty() { Ok(findings) } else { Err(faults) }
}

/// What makes a stratum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StratumBy {
    /// Kind of discrepancy; A_ONLY and B_ONLY are one, because the letters are arbitrary.
    Type,
    /// The same, TIMING by whether a side was preferred.
    ///
    /// # Source
    /// uid.txt, Table G.1(b).
    TypeAndVerdict,
    /// Scored category.
    Category,
}

/// How many findings to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// So many of each judge, stratum and pairing.
    PerStratum(usize),
    /// So many in all, each judge, stratum and pairing in proportion (largest remainders).
    Total(usize),
}

/// How to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReviewSettings {
    /// What makes a stratum.
    pub by: StratumBy,
    /// Size of the sample.
    pub quota: Quota,
    /// Findings that the second reviewer gets, in proportion; `None` for all.
    pub n_second: Option<usize>,
    /// Whether the two sides of a finding change places at random.
    pub swap_sides: bool,
    /// Seed of the draw, the orders and the sides.
    pub seed: u64,
}

/// One finding to review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewItem {
    /// Name in packets and key.
    pub id: String,
    /// Position in the list of findings.
    pub finding: usize,
    /// Whether B is shown first.
    pub swapped: bool,
}

/// Findings of one judge, stratum and pairing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// Name of the judge.
    pub judge: String,
    /// The stratum.
    pub stratum: String,
    /// The two sources.
    pub pairing: String,
    /// Findings in the whole table.
    pub n_findings: usize,
    /// Of these, in the sample.
    pub n_drawn: usize,
}

/// A sample, in the order of the first packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewSample {
    /// Findings to review.
    pub items: Vec<ReviewItem>,
    /// Positions among the items of those in the second packet, in its order.
    pub second: Vec<usize>,
    /// Every judge, stratum and pairing with its numbers.
    pub cells: Vec<Cell>,
    /// First part of every id.
    pub code: String,
}

impl ReviewSample {
    /// Strata with fewer findings than were asked for, as sentences.
    pub fn shortfalls(&self, quota: Quota) -> Vec<String> {
        let sentence = |cell: &Cell, n: usize| {
            format!(
                "{}, {}, {}: {n} findings asked for, {} there are; all of them are in the sample",
                cell.judge, cell.stratum, cell.pairing, cell.n_findings
            )
        };
        match quota {
            Quota::PerStratum(n) => self.cells.iter().filter(|cell| cell.n_drawn < n).map(|cell| sentence(cell, n)).collect(),
            Quota::Total(n) => {
                let all: usize = self.cells.iter().map(|cell| cell.n_findings).sum();
                let said = format!("{n} findings asked for, {all} there are; all of them are in the sample");
                if all < n { vec![said] } else { Vec::new() }
            }
        }
    }
}

/// Draws findings of each judge, stratum and pairing without replacement.
///
/// # Source
/// gavel.txt (a random sample within each pairing), uid.txt (strata with rare types drawn more often).
pub fn draw(findings: &[JudgedFinding], settings: ReviewSettings) -> ReviewSample {
    let seed = settings.seed;
    let mut members: BTreeMap<(&str, String, String), Vec<usize>> = BTreeMap::new();
    for (place, finding) in findings.iter().enumerate() {
        members.entry((&finding.judge, finding.stratum(settings.by), finding.pairing())).or_default().push(place);
    }
    let sizes: Vec<usize> = members.values().map(Vec::len).collect();
    let quotas = match settings.quota {
        Quota::PerStratum(n) => vec![n; sizes.len()],
        Quota::Total(n) => proportional(&sizes, n),
    };
    let (mut chosen, mut cells) = (Vec::new(), Vec::new());
    for (number, (((judge, stratum, pairing), places), n)) in members.into_iter().zip(quotas).enumerate() {
        let drawn = Draw::new(seed, "review/stratum", number as u64).sample(places.len(), n);
        let (judge, n_findings, n_drawn) = (judge.to_owned(), places.len(), drawn.len());
        chosen.extend(drawn.into_iter().map(|place| (places[place], number)));
        cells.push(Cell { judge, stratum, pairing, n_findings, n_drawn });
    }
    Draw::new(seed, "review/order", 0).shuffle(&mut chosen);
    let texts = chosen.iter().flat_map(|&(place, _)| {
        let finding = &findings[place];
        [finding.judge.as_str(), &finding.case, &finding.events[0], &finding.events[1]]
    });
    let code = draw_code(seed, texts);
    let mut coins = Draw::new(seed, "review/side", 0);
    let items = chosen.iter().enumerate().map(|(i, &(finding, _))| ReviewItem {
        id: format!("{code}-{:04}", i + 1),
        finding,
        swapped: coins.coin() && settings.swap_sides,
    });
    let items = items.collect();
    let second = second_packet(&chosen.iter().map(|&(_, cell)| cell).collect::<Vec<_>>(), cells.len(), settings);
    ReviewSample { items, second, cells, code }
}

/// Items of the second packet, given the cell of each item, in an order of their own.
fn second_packet(cell_of: &[usize], n_cells: usize, settings: ReviewSettings) -> Vec<usize> {
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); n_cells];
    for (item, &cell) in cell_of.iter().enumerate() {
        members[cell].push(item);
    }
    let sizes: Vec<usize> = members.iter().map(Vec::len).collect();
    let quotas = proportional(&sizes, settings.n_second.unwrap_or(cell_of.len()));
    let mut second: Vec<usize> = Vec::new();
    for (cell, (members, n)) in members.iter().zip(quotas).enumerate() {
        let places = Draw::new(settings.seed, "review/second", cell as u64).sample(members.len(), n);
        second.extend(places.into_iter().map(|place| members[place]));
    }
    Draw::new(settings.seed, "review/order", 1).shuffle(&mut second);
    second
}

/// `total` split in proportion to the sizes by largest remainders, the earlier first among equals; never more than there are.
fn proportional(sizes: &[usize], total: usize) -> Vec<usize> {
    let all: u128 = sizes.iter().map(|&size| size as u128).sum();
    let total = (total as u128).min(all);
    if all == 0 {
        return vec![0; sizes.len()];
    }
    let mut shares: Vec<usize> = sizes.iter().map(|&size| (size as u128 * total / all) as usize).collect();
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&place| std::cmp::Reverse(sizes[place] as u128 * total % all));
    let left = total as usize - shares.iter().sum::<usize>();
    // The remainders sum to fewer whole ones than there are cells with a remainder, so no share passes its size.
    for place in order.into_iter().take(left) {
        shares[place] += 1;
    }
    shares
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub const HEADER: &str = "case,a,b,number,type,verdict,polarity,a_row,a_time,b_row,b_time,category,charged,points,\
        evidence_location,within_tolerance,a_event,b_event,evidence,rationale\n";

    /// `n` TIMING findings and a third as many one-sided ones of a judge, on two pairings.
    pub fn findings(judge: &str, n: usize) -> Vec<JudgedFinding> {
        let mut text = HEADER.to_owned();
        for i in 0..n {
            let (a, b) = if i % 2 == 0 { ("source-x", "source-y") } else { ("source-z", "source-x") };
            let verdict = ["A", "B", "UNCLEAR"][i % 3];
            let charged = if verdict == "UNCLEAR" { "" } else { "wrong_time" };
            text.push_str(&format!(
                "case-{},{a},{b},1,TIMING,{verdict},present,1,{i},1,-{i},{charged},,2,byte_exact,no,rash {i}a,rash {i}b,\"rash, red {i}\",A is right {i}\n",
                i % 4
            ));
            if i % 3 == 0 {
                text.push_str(&format!(
                    "case-{},{b},{a},2,B_ONLY,NEITHER,absent,,,1,24,,,0,none,no,,fever {i},none found,no support\n",
                    i % 4
                ));
            }
        }
        read_findings(judge, &text).unwrap()
    }

    pub const SETTINGS: ReviewSettings =
        ReviewSettings { by: StratumBy::TypeAndVerdict, quota: Quota::PerStratum(5), n_second: None, swap_sides: true, seed: 11 };

    #[test]
    fn findings_of_a_run_have_strata_and_pairings() {
        let findings = findings("judge", 6);
        assert_eq!(findings.len(), 8);
        assert_eq!((findings[0].pairing(), findings[2].pairing()), ("source-x / source-y".into(), "source-x / source-z".into()));
        let strata = |by| findings.iter().map(|finding| finding.stratum(by)).collect::<Vec<_>>();
        assert_eq!(strata(StratumBy::Type)[..2], ["TIMING", "ONE_SIDED"]);
        assert_eq!(strata(StratumBy::TypeAndVerdict)[..4], ["TIMING decisive", "ONE_SIDED", "TIMING decisive", "TIMING UNCLEAR"]);
        assert_eq!(strata(StratumBy::Category)[..2], ["wrong_time", "not charged"]);
    }

    #[test]
    fn a_table_without_text_and_unknown_words_are_refused() {
        let faults = read_findings("j", "case,a,b,number,type,verdict,a_time,b_time,category\n").unwrap_err();
        assert_eq!(faults.len(), 4);
        assert!(faults[0].to_string().contains("a_event"));
        let row = "c,x,y,1,WRONG,MAYBE,present,1,0,1,0,,,0,none,no,e,f,g,h\n";
        let faults = read_findings("j", &format!("{HEADER}{row}")).unwrap_err();
        assert_eq!(faults.iter().map(|fault| fault.line).collect::<Vec<_>>(), [2, 2]);
        assert!(faults[1].to_string().contains("one of A, B, BOTH, NEITHER, UNCLEAR, got `MAYBE`"));
    }

    #[test]
    fn every_stratum_and_pairing_gives_its_share() {
        let findings = findings("judge", 60);
        let sample = draw(&findings, SETTINGS);
        // TIMING decisive, TIMING UNCLEAR and ONE_SIDED on two pairings.
        assert_eq!(sample.cells.len(), 6);
        assert!(sample.cells.iter().all(|cell| cell.n_drawn == 5));
        assert_eq!(sample.cells.iter().map(|cell| cell.n_findings).sum::<usize>(), findings.len());
        let mut chosen: Vec<usize> = sample.items.iter().map(|item| item.finding).collect();
        chosen.sort_unstable();
        chosen.dedup();
        assert_eq!(chosen.len(), 30);
        assert!(sample.items.iter().any(|item| item.swapped) && sample.items.iter().any(|item| !item.swapped));
        let mut second = sample.second.clone();
        assert_ne!(second, (0..30).collect::<Vec<_>>());
        second.sort_unstable();
        assert_eq!(second, (0..30).collect::<Vec<_>>());
        assert_eq!(draw(&findings, SETTINGS), sample);
        let said = draw(&findings, ReviewSettings { quota: Quota::PerStratum(11), ..SETTINGS }).shortfalls(Quota::PerStratum(11));
        assert_eq!(said.len(), 4);
        assert!(said[0].contains("ONE_SIDED") && said[0].contains("11 findings asked for, 10 there are"));
    }

    #[test]
    fn a_total_is_split_in_proportion() {
        assert_eq!(proportional(&[512, 148, 272, 46, 22], 100), [51, 15, 27, 5, 2]);
        assert_eq!(proportional(&[3, 3, 3], 4), [2, 1, 1]);
        assert_eq!(proportional(&[3, 0, 1], 99), [3, 0, 1]);
        assert_eq!(proportional(&[0], 5), [0]);
        for total in 0..40 {
            let sizes = [1, 13, 7, 0, 9, 2, 2];
            let shares = proportional(&sizes, total);
            assert_eq!(shares.iter().sum::<usize>(), total.min(34));
            assert!(shares.iter().zip(sizes).all(|(share, size)| *share <= size));
        }
        let findings = findings("judge", 60);
        let settings = ReviewSettings { quota: Quota::Total(40), n_second: Some(12), swap_sides: false, ..SETTINGS };
        let sample = draw(&findings, settings);
        assert_eq!((sample.items.len(), sample.second.len()), (40, 12));
        assert!(sample.items.iter().all(|item| !item.swapped));
        assert!(draw(&[], settings).items.is_empty());
    }
}

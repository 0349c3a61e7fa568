//! Between the two steps of a blinded review: the filled packet with the judge's verdict beside every answer that differs from it, so
//! that the reviewer can say what kind of error it is.

use super::sheet::{Filled, KeyRow, OwnVerdict};
use crate::pipelines::sheet::{Reader, Sheet, SheetFault, write};
use std::collections::HashMap;

/// The packet as it was filled, with a column `judge_verdict` (1 and 2 are the sides shown) for the findings that were not confirmed.
/// With `error_type` filled in it takes the packet's place.
///
/// # Errors
/// A packet that cannot be read.
pub fn reveal(text: &str, key: &[KeyRow], filled: &Filled) -> Result<String, Vec<SheetFault>> {
    let sheet = Sheet::read(text)?;
    let [id] = sheet.require(["id"])?;
    let verdicts: HashMap<&str, &str> = key
        .iter()
        .zip(&filled.answers)
        .filter(|(_, answer)| answer.is_some_and(|answer| !answer.confirmed))
        .map(|(row, _)| (row.id.as_str(), OwnVerdict::of_judge(row.verdict, row.swapped).name()))
        .collect();
    const ADDED: &str = "judge_verdict";
    let kept: Vec<usize> = (0..sheet.columns().len()).filter(|&column| sheet.columns()[column] != ADDED).collect();
    let at = kept.iter().position(|&column| sheet.columns()[column] == "error_type").unwrap_or(kept.len());
    let mut columns: Vec<&str> = kept.iter().map(|&column| sheet.columns()[column].as_str()).collect();
    columns.insert(at, ADDED);
    let has_error_type = columns.contains(&"error_type");
    if !has_error_type {
        columns.push("error_type");
    }
    let rows = sheet.rows.iter().map(|row| {
        let mut fields: Vec<String> = kept.iter().map(|&column| row.exact(column).to_owned()).collect();
        fields.insert(at, verdicts.get(row.field(Some(id))).copied().unwrap_or_default().to_owned());
        if !has_error_type {
            fields.push(String::new());
        }
        fields
    });
    Ok(write(&columns, rows, Reader::Person))
}

#[cfg(test)]
mod tests {
    use super::super::packet::Reviewer;
    use super::super::sheet::read_filled;
    use super::super::sheet::tests::key_row;
    use super::super::taxonomy::ErrorType;
    use super::*;
    use crate::measure::finding::Verdict;

    #[test]
    fn only_what_was_not_confirmed_is_revealed_and_it_reads_back() {
        let key = [
            key_row(1, "j", "s", "p", Verdict::A, true),
            key_row(2, "j", "s", "p", Verdict::A, true),
            key_row(3, "j", "s", "p", Verdict::Unclear, false),
        ];
        let text = "id,event_1,verdict,error_type,comment\nx-1,\"a, b\",1,,why\nx-2,c,2,,\nx-3,d,,,\n";
        let filled = read_filled(text, &key, Reviewer::First).unwrap();
        let shown = reveal(text, &key, &filled).unwrap();
        assert_eq!(
            shown.trim_start_matches('\u{feff}'),
            "id,event_1,verdict,judge_verdict,error_type,comment\nx-1,\"a, b\",1,2,,why\nx-2,c,2,,,\nx-3,d,,,,\n"
        );
        let again = shown.replace(",1,2,,why", ",1,2,perception timing,why");
        let filled = read_filled(&again, &key, Reviewer::First).unwrap();
        assert_eq!(filled.answers[0].unwrap().error, Some(ErrorType::PerceptionTiming));
        assert_eq!(reveal(&again, &key, &filled).unwrap(), again);
    }
}

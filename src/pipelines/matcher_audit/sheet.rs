//! The reviewer's sheet and its key. The sheet holds no distance, no band and no source; the key holds no text.

use super::sample::{AuditSample, Pair};
use crate::pipelines::sheet::{Reader, write};
use crate::report::spreadsheet_text;

/// The sheet to fill: `label` takes same, different or unsure.
pub fn review_sheet(pairs: &[Pair], sample: &AuditSample) -> String {
    let rows = sample.items.iter().map(|item| {
        let [first, second] = item.events(pairs).map(spreadsheet_text);
        vec![item.id.clone(), pairs[item.pair].case.clone(), first, second, String::new(), String::new()]
    });
    write(&["id", "case", "event_1", "event_2", "label", "comment"], rows, Reader::Person)
}

/// What the sheet hides: band, distance, source, line of the file of pairs, which event came first, and how many pairs the band has.
pub fn audit_key(pairs: &[Pair], sample: &AuditSample) -> String {
    let rows = sample.items.iter().map(|item| {
        let pair = &pairs[item.pair];
        vec![
            item.id.clone(),
            (item.band + 1).to_string(),
            pair.distance.to_string(),
            pair.source.clone(),
            pair.line.to_string(),
            if item.reference_first { "reference" } else { "prediction" }.to_owned(),
            sample.bands[item.band].n_pooled.to_string(),
        ]
    });
    write(&["id", "band", "distance", "source", "line", "event_1_from", "n_in_band"], rows, Reader::Program)
}

#[cfg(test)]
mod tests {
    use super::super::sample::tests::pairs;
    use super::super::{AuditSettings, draw};
    use super::*;

    #[test]
    fn the_sheet_hides_what_the_key_holds() {
        let mut pairs = pairs(30);
        pairs.iter_mut().for_each(|pair| pair.distance += 0.000_123);
        let sample = draw(&pairs, AuditSettings { n_per_band: 25, seed: 5 });
        let (sheet, key) = (review_sheet(&pairs, &sample), audit_key(&pairs, &sample));
        assert_eq!((sheet.lines().count(), key.lines().count()), (101, 101));
        for hidden in ["secret-model", "0123", "band", "distance", "reference", "prediction"] {
            assert!(!sheet.contains(hidden) && key.contains(hidden), "{hidden}");
        }
        assert!(!key.contains("fever") && !key.contains("pyrexia"));
        assert!(sheet.starts_with("\u{feff}id,case,event_1,event_2,label,comment\n"));
    }
}

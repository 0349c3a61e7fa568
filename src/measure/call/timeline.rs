//! `timeline_lev` and `timeline_minilm`: two timelines from their texts and times to the temporal measures, see
//! [`crate::measure::matching`], [`crate::measure::concordance`] and [`crate::measure::aultc`].

use serde::Deserialize;
use serde_json::{Map, Number, Value, json};

use super::super::aultc::LogErrors;
use super::super::concordance::ConcordanceRule;
use super::super::levenshtein::LevenshteinPattern;
use super::super::matching::{DistanceMatrix, Matcher, Pair, greedy, kept_below, match_rate};
use super::super::timed_pair::TimedPair;
use super::input::{Fields, refused};
use super::matching::{as_f64, read_distances, row};

pub(super) const OUTPUT: &str = "pairs[[ref, pred, d]], by_threshold{T: {n_matched, match_rate, n_timed, c_paper, c_harrell, \
     c_author_na1e8, aultc_own, max_err, sum_log1p_err, author_rounds_match_rate}}";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    event: String,
    time: String,
}

pub(super) fn call_levenshtein(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["ref", "pred", "thresholds", "distance"])?;
    if fields.has("distance") {
        return call_given(input);
    }
    let (reference, predicted): (Vec<Event>, Vec<Event>) = (fields.list("ref")?, fields.list("pred")?);
    let mut distances = Vec::with_capacity(reference.len() * predicted.len());
    for event in &reference {
        let pattern = LevenshteinPattern::new(trimmed(&event.event));
        distances.extend(predicted.iter().map(|other| pattern.normalised(trimmed(&other.event))));
    }
    evaluate(&fields, &reference, &predicted, &distances)
}

pub(super) fn call_given(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["ref", "pred", "thresholds", "distance"])?;
    let (reference, predicted): (Vec<Event>, Vec<Event>) = (fields.list("ref")?, fields.list("pred")?);
    let distances = read_distances(&fields, reference.len(), predicted.len())?;
    evaluate(&fields, &reference, &predicted, &distances)
}

fn evaluate(fields: &Fields<'_>, reference: &[Event], predicted: &[Event], distances: &[f64]) -> Result<Value, String> {
    let thresholds: Vec<Number> = fields.list("thresholds")?;
    let matrix = DistanceMatrix::new(reference.len(), predicted.len(), distances).map_err(refused)?;
    let pairs = greedy(matrix);
    let by_rounds = Matcher::Rounds.pairs(matrix);
    let hours = |events: &[Event]| events.iter().map(|event| decimal_hours(&event.time)).collect::<Vec<_>>();
    let (t_ref, t_pred) = (hours(reference), hours(predicted));
    let timed = |pair: &Pair| TimedPair::new(pair.distance, t_ref[pair.reference as usize], t_pred[pair.prediction as usize]);
    let n_ref = reference.len() as u64;
    let mut by_threshold = Map::new();
    for threshold in &thresholds {
        let limit = as_f64(threshold)?;
        let kept = kept_below(&pairs, limit).map(timed).collect::<Result<Vec<_>, _>>().map_err(refused)?;
        let errors = LogErrors::from_hours(kept.iter().map(TimedPair::error_hours)).map_err(refused)?;
        let half_ties =
            ConcordanceRule { missing_times: ConcordanceRule::PAPER.missing_times, ..ConcordanceRule::PUBLISHED_SCRIPT };
        let entry = json!({
            "n_matched": kept.len(),
            "match_rate": match_rate(kept.len() as u64, n_ref),
            "n_timed": errors.n(),
            "c_paper": ConcordanceRule::PAPER.concordance(&kept),
            "c_harrell": half_ties.concordance(&kept),
            "c_author_na1e8": ConcordanceRule::PUBLISHED_SCRIPT.concordance(&kept),
            "aultc_own": errors.aultc(None).map_err(refused)?,
            "max_err": errors.max_hours(),
            "sum_log1p_err": errors.sum_log(),
            "author_rounds_match_rate": match_rate(kept_below(&by_rounds, limit).count() as u64, n_ref),
        });
        by_threshold.insert(threshold.to_string(), entry);
    }
    Ok(json!({ "pairs": pairs.iter().map(row).collect::<Vec<_>>(), "by_threshold": by_threshold }))
}

/// Without white space at the ends, as Python's `strip` has it.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}'))
}

/// A time field as a plain decimal number, backslashes removed; anything else, exponents and thousands commas
/// included, is N/A.
fn decimal_hours(field: &str) -> Option<f64> {
    let text = field.replace('\\', "");
    let text = trimmed(&text);
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let plain = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') && digits.bytes().any(|b| b.is_ascii_digit());
    text.parse().ok().filter(|hours: &f64| plain && hours.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_plain_decimals_or_not_available() {
        for (field, hours) in [
            ("0", Some(0.0)),
            (" -336 ", Some(-336.0)),
            ("\\-24", Some(-24.0)),
            ("+2.5", Some(2.5)),
            (".5", Some(0.5)),
            ("5.", Some(5.0)),
            ("-2191.5", Some(-2191.5)),
            ("", None),
            ("-", None),
            (".", None),
            ("N/A", None),
            ("nan", None),
            ("inf", None),
            ("1e2", None),
            ("26,280", None),
            ("1.2.3", None),
            ("--1", None),
            ("- 1", None),
            ("6 months", None),
            ("\u{2212}12", None),
            ("\u{663}", None),
        ] {
            assert_eq!(decimal_hours(field), hours, "{field:?}");
        }
        assert_eq!(decimal_hours(&"9".repeat(400)), None);
    }

    #[test]
    fn missing_times_are_matched_and_left_out_of_the_temporal_measures() {
        let event = |event: &str, time: &str| json!({"event": event, "time": time});
        let input = json!({
            "ref": [event("a", "0"), event("b", "24"), event("c ", "N/A")],
            "pred": [event(" c", "5"), event("b", "30"), event("a", "0"), event("x", "1")],
            "thresholds": [0.1, 1, 1e-9],
        });
        let output = call_levenshtein(&input).unwrap();
        assert_eq!(output["pairs"], json!([[0, 2, 0.0], [1, 1, 0.0], [2, 0, 0.0]]));
        let at = &output["by_threshold"]["0.1"];
        assert_eq!((&at["n_matched"], &at["n_timed"]), (&json!(3), &json!(2)));
        assert_eq!((&at["c_paper"], &at["max_err"]), (&json!(1.0), &json!(6.0)));
        assert_eq!(at["c_author_na1e8"], json!(2.0 / 3.0));
        assert_eq!(output["by_threshold"]["1"], *at);
    }
}

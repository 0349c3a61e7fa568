//! `standardised_rate`: see [`crate::measure::standardised_rate`].

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::super::standardised_rate::{StandardisedRate, Stratum, standardised_interval};
use super::input::{Fields, ends, refused};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedStratum {
    #[serde(rename = "name")]
    _name: IgnoredAny,
    n: usize,
    upheld: usize,
    corpus_share: f64,
}

/// About ten seconds of one core.
const MOST_DRAWS: usize = 2_000_000_000;

pub(super) fn call(input: &Value) -> Result<Value, String> {
    let fields = Fields::new(input, &["strata", "B", "seed"])?;
    let strata: Vec<NamedStratum> = fields.list("strata")?;
    let stratum = |s: &NamedStratum| Stratum { n: s.n, n_upheld: s.upheld, corpus_share: s.corpus_share };
    let strata: Vec<_> = strata.iter().map(stratum).collect();
    let rate = StandardisedRate::from_strata(&strata).map_err(|e| format!("field \"strata\": {e}"))?;
    let n_resamples: usize = fields.get("B")?;
    let n_draws = strata.iter().fold(0_usize, |sum, stratum| sum.saturating_add(stratum.n)).saturating_mul(n_resamples);
    if n_draws > MOST_DRAWS {
        return Err(format!("field \"B\": expected at most {MOST_DRAWS} draws (n of all strata times B), got {n_draws}"));
    }
    let interval = standardised_interval(&strata, n_resamples, fields.get("seed")?, 0.95).map_err(refused)?;
    Ok(json!({
        "rates": rate.rates,
        "raw": rate.raw,
        "standardised": rate.standardised,
        "ci95": ends(interval),
    }))
}

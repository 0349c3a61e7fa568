//! Every measure by name, from JSON to JSON, so that any language can call it.
//!
//! An input is refused with the field that does not fit; an undefined result is null. This module must not know
//! files or the command line.

mod agreement;
mod aultc;
mod bootstrap;
mod bradley_terry;
mod bt_bootstrap;
mod cell;
mod concordance;
mod craft_descriptives;
mod craft_loop;
mod craft_metrics;
mod error_profile;
mod error_strata;
mod finding_validation;
mod format_tool;
mod games;
mod gavel_scoring;
mod gavel_tolerance;
mod input;
mod levenshtein;
mod matched_cases;
mod matcher_bands;
mod matching;
mod mm_share;
mod quotes;
mod row_filter;
mod series_summary;
mod stages;
mod standardised_rate;
mod threshold_sweep;
mod timeline;
mod uid_validation;
mod vaers_filter;
mod wilson;

use serde_json::Value;

/// A measure that can be called by name.
#[derive(Debug, Clone, Copy)]
pub struct Computation {
    /// The name it is called by.
    pub name: &'static str,
    /// What it computes, in one line.
    pub about: &'static str,
    /// The fields of an input; several shapes are separated by " or ".
    pub input: &'static str,
    /// The fields of an output, null where undefined.
    pub output: &'static str,
    /// Computes one output, or says which field of the input does not fit and why.
    pub call: fn(&Value) -> Result<Value, String>,
}

/// Every computation, in order of name.
pub static CATALOGUE: &[Computation] = &[
    Computation {
        name: "agreement",
        about: "agreement of two raters: raw, Cohen's kappa, Gwet's AC1, PABAK, with the 95% Wilson interval of raw",
        input: "rater1[], rater2[], categories[]",
        output: "n, raw, kappa, ac1, pabak, wilson[lo, hi]",
        call: agreement::call,
    },
    Computation {
        name: "aultc",
        about: "area under the cumulative distribution of log time errors, three ways; s_max null takes the own maximum",
        input: "abs_errors[] in hours, s_max or null",
        output: "k, s_max, aultc_paper, aultc_exact_step, author_ecdf_auc2",
        call: aultc::call,
    },
    Computation {
        name: "bootstrap",
        about: "case bootstrap of a matched system with given resamples, S_max held; or percentiles (type 7) of values",
        input: "cases[{case, n_ref, matches[[distance, t_ref or null, t_pred or null]]}], indices[][], s_max or null, \
                threshold; or values[], probs[] in percent",
        output: "match_rate, concordance_mean, concordance_median, aultc: {point, ci95[lo, hi], mean, n_undefined}; or quantiles[]",
        call: bootstrap::call,
    },
    Computation {
        name: "bradley_terry",
        about: "Bradley-Terry ratings by maximum likelihood on fractional shares, or why there are none",
        input: "entrants[], games[{case, a, b, share_a}]; or entrants[], mean_share[], schedule[[a, b, n_games]]",
        output: "mle_exists, reason, components[][], beta[], ratings[]; or mle_exists, ratings[]",
        call: bradley_terry::call,
    },
    Computation {
        name: "bt_bootstrap",
        about: "Bradley-Terry ratings with 95% intervals from given resamples of the cases",
        input: "entrants[], cases[], games[{case, a, b, share_a}], indices[][]",
        output: "ratings[], n_failed, ci95[][lo, hi]",
        call: bt_bootstrap::call,
    },
    Computation {
        name: "concordance",
        about: "order agreement of reference and predicted times, ties not comparable (c_paper) or one half (c_harrell)",
        input: "t_ref[] and t_pred[] in hours, null for N/A",
        output: "n_pairs, concordant, discordant, tied_ref_only, tied_pred_only, tied_both, c_paper, c_harrell",
        call: concordance::call,
    },
    Computation {
        name: "craft_descriptives",
        about: "stages of timelines, and which symptoms follow which, a pair counted once a timeline",
        input: "timelines[][][], each a list of buckets of names",
        output: "stage_pct{1..5, 6+}, first_to_later[[earlier, later, n]], all_earlier_later, top_first[], top_later[], matrix[][]",
        call: craft_descriptives::call,
    },
    Computation {
        name: "craft_loop",
        about: "where refinement loops stop, and the scores of what they return under every budget",
        input: "records[{gold, trace[{score or null, pred}]}], theta, t_max",
        output: "theta, t_max, iterations[], accepted[], avg_iters, at_<t>{em_pct, lccs_pct, tau_pct}",
        call: craft_loop::call,
    },
    Computation {
        name: "craft_metrics",
        about: "agreement of a stage timeline with the gold one: exact match, longest common run of buckets, tau-b",
        input: "gold[][], pred[][]; or records[{gold, pred}]",
        output: "em, lccs, lccs_over_gold, lccs_over_max, n_common, concordant, discordant, tied_gold_only, tied_pred_only, \
                 tied_both, tau_b, tau_b_for_mean; or em_pct, lccs_pct, lccs_over_max_pct, tau_pct, tau_pct_skip_undefined",
        call: craft_metrics::call,
    },
    Computation {
        name: "error_profile",
        about: "scored errors of each entrant by category, a report and a matchup",
        input: "entrants[], reports[], games[{case, a, b, findings[]}]",
        output: "counts, games, per_matchup, per_report by entrant; total_raw, share_pct, average_pooled_per_matchup, \
                 mean_of_entrants_per_report by category; n_findings, n_decisive",
        call: error_profile::call,
    },
    Computation {
        name: "error_strata",
        about: "time errors within fixed edges, and by distance of the reference time from presentation",
        input: "t_ref[] and t_pred[] in hours, null for N/A",
        output: "cumulative{le_0h, le_1h, le_1d, le_1w, le_1y}, by_reference_distance{bin: {n, median_err, frac_exact, frac_le_1d}}",
        call: error_strata::call,
    },
    Computation {
        name: "finding_validation",
        about: "faults of a judge's finding against its schema, timelines, note and, where given, structured series",
        input: "note, a[] and b[{uid4, mention, time}], finding{}, optional series[{event, t_min, t_max}]",
        output: "valid, errors[]",
        call: finding_validation::call,
    },
    Computation {
        name: "format_tool",
        about: "a raw reply as buckets of listed names, each once",
        input: "symptoms[], raw",
        output: "buckets[][], valid_json, missing[], invented[]",
        call: format_tool::call,
    },
    Computation {
        name: "gavel_scoring",
        about: "what each finding of a game charges and whom, and the game's points under every weighting",
        input: "findings[{type, verdict, polarity, extra_side, a_event, b_event}]",
        output: "category[], charged[], schemes{name: {charged, counts, total_points, share_a, n_decisive, empty, draw}}",
        call: gavel_scoring::call,
    },
    Computation {
        name: "gavel_tolerance",
        about: "whether two times differ by the tolerance of a tenth of the distance, at least floor_h",
        input: "floor_h, t_a and t_b in hours, null for N/A",
        output: "differs, differs_min_abs",
        call: gavel_tolerance::call,
    },
    Computation {
        name: "levenshtein",
        about: "edit distance in Unicode scalar values, and over the longer length",
        input: "a, b",
        output: "distance, normalised",
        call: levenshtein::call,
    },
    Computation {
        name: "matcher_bands",
        about: "distinct matched text pairs by half-open distance band",
        input: "pairs[[reference, prediction, distance or null]], edges[]",
        output: "n_unique, band_counts[], out_of_range",
        call: matcher_bands::call,
    },
    Computation {
        name: "matching",
        about: "one-to-one matching by distance, greedy and in rounds, with what is kept strictly below each threshold; \
                author_rounds needs events on both sides and no null",
        input: "distance[n_ref][n_pred], null for none; n_ref, n_pred, thresholds[]",
        output: "pairs[[ref, pred, d]], for each threshold kept_lt_<T>[[ref, pred]] and match_rate_lt_<T>, \
                 author_rounds[[ref, pred or null, d or null]]",
        call: matching::call,
    },
    Computation {
        name: "mm_share",
        about: "pooled share of the weighted points of one source against one other",
        input: "games[{case, points_mm, points_um, n_decisive}], optional indices[][]",
        output: "cases, empty, points, mm_share, wins, losses, ties, mean_case_share; ci95[lo, hi] with indices",
        call: mm_share::call,
    },
    Computation {
        name: "quotes",
        about: "whether a quote is found in a report byte for byte, or after normalising white space and quotation marks",
        input: "report, quote or null; or report, quotes[]",
        output: "has_quote, byte_exact, normalised; or n_quoted, byte_exact_rate, normalised_rate",
        call: quotes::call,
    },
    Computation {
        name: "row_filter",
        about: "retrieved rows left by the limits on time, score, summaries a query and rows a case",
        input: "discharge_h, candidates[{uid, query, summary, row, t, rho, optional t_text}], times in hours",
        output: "kept_rows[], ranked_rows[], n_after_time, n_after_rho",
        call: row_filter::call,
    },
    Computation {
        name: "series_summary",
        about: "one summary for each series of a structured record",
        input: "rows[[t, event, value]], t in hours",
        output: "series[{event, count, t_min, t_max, rows, kind, all_observations, and for numeric n_numeric, mean, std_sample, \
                 std_pop, min, max, first, last, min_obs, max_obs, for categorical top, n_other_unique}]",
        call: series_summary::call,
    },
    Computation {
        name: "standardised_rate",
        about: "rate of a stratified sample weighted to the corpus, with a seeded stratified bootstrap interval",
        input: "strata[{name, n, upheld, corpus_share}], B, seed",
        output: "rates[], raw, standardised, ci95[lo, hi]",
        call: standardised_rate::call,
    },
    Computation {
        name: "threshold_sweep",
        about: "match rate, concordance and AULTC of several matched systems at every threshold",
        input: "systems{name: [{case, n_ref, matches[[distance, t_ref or null, t_pred or null]]}]}, thresholds[]",
        output: "curves{name: [{threshold, match_rate, n_matched, concordance_mean, concordance_median, n_cases_c, aultc, \
                 aultc_own}]}, s_max_shared[]",
        call: threshold_sweep::call,
    },
    Computation {
        name: "timeline_lev",
        about: "two timelines matched by normalised Levenshtein distance, or by one given, and their temporal measures",
        input: "ref[] and pred[] of {event, time}, thresholds[], optional distance[][]",
        output: timeline::OUTPUT,
        call: timeline::call_levenshtein,
    },
    Computation {
        name: "timeline_minilm",
        about: "two timelines matched by given embedding distances, and their temporal measures",
        input: "ref[] and pred[] of {event, time}, thresholds[], distance[][]",
        output: timeline::OUTPUT,
        call: timeline::call_given,
    },
    Computation {
        name: "uid_validation",
        about: "faults of a timeline table against the inventory of occurrences",
        input: "inventory[{uid4, mention}], rows[{uid4, mention, time, bounds[lo, hi] or null, known, context[]}]",
        output: "valid, errors[]",
        call: uid_validation::call,
    },
    Computation {
        name: "vaers_filter",
        about: "whether an adverse-event report says enough to order its symptoms, or why not",
        input: "symptoms[], text, excluded[]",
        output: "keep, reason or null",
        call: vaers_filter::call,
    },
    Computation {
        name: "wilson",
        about: "Wilson score interval of a proportion, no continuity correction",
        input: "k, n, conf",
        output: "p, lo, hi",
        call: wilson::call,
    },
];

/// The computation of this name.
pub fn find(name: &str) -> Option<&'static Computation> {
    CATALOGUE.iter().find(|computation| computation.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_catalogue_is_sorted_and_found_by_name() {
        assert!(CATALOGUE.is_sorted_by(|x, y| x.name < y.name));
        assert!(CATALOGUE.iter().all(|c| find(c.name).is_some_and(|found| found.name == c.name)));
        assert!(find("Wilson").is_none());
    }

    #[test]
    fn every_computation_refuses_what_is_no_input() {
        for computation in CATALOGUE {
            for input in [json!(null), json!([]), json!("x"), json!(1)] {
                let error = (computation.call)(&input).unwrap_err();
                assert!(error.contains("expected an object"), "{}: {error}", computation.name);
            }
            let error = (computation.call)(&json!({})).unwrap_err();
            assert!(error.contains("expected field"), "{}: {error}", computation.name);
            let error = (computation.call)(&json!({"surplus": 1})).unwrap_err();
            assert!(error.contains("surplus"), "{}: {error}", computation.name);
        }
    }

    #[test]
    fn a_refusal_names_the_field_what_was_expected_and_what_came() {
        for (name, input, parts) in [
            ("wilson", json!({"k": 1, "n": "2", "conf": 0.95}), ["\"n\"", "\"2\"", "expected"]),
            ("wilson", json!({"k": 3, "n": 2, "conf": 0.95}), ["hits", "trials", "3"]),
            ("wilson", json!({"k": 1, "n": 2}), ["\"conf\"", "expected", "nothing"]),
            ("aultc", json!({"abs_errors": [1, null], "s_max": null}), ["\"abs_errors\"[1]", "null", "expected"]),
            ("aultc", json!({"abs_errors": [1, 5], "s_max": 2}), ["S_max", "largest error", "2"]),
            ("matching", json!({"distance": [[0.1]], "n_ref": 1, "n_pred": 2, "thresholds": []}), ["distance\"[0]", "2", "1"]),
            ("concordance", json!({"t_ref": [1], "t_pred": []}), ["t_pred", "1", "0"]),
            (
                "agreement",
                json!({"rater1": ["x"], "rater2": ["y"], "categories": ["x"]}),
                ["\"rater2\"[0]", "categories", "\"y\""],
            ),
            ("levenshtein", json!({"a": "x", "b": "y", "c": 1}), ["c", "a, b", "unknown"]),
        ] {
            let error = (find(name).unwrap().call)(&input).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{name}: {error}");
        }
    }
}

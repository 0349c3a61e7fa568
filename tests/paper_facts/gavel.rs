//! The facts of gavel.txt, whose ids begin with p0.

use std::collections::BTreeMap;

use assize::measure::agreement::Agreement;
use assize::measure::error_profile::ErrorProfile;
use assize::measure::rubric::{Category, PerCategory};
use assize::measure::standardised_rate::{Stratum, standardised_interval};
use assize::measure::wilson::wilson;
use serde_json::{Value, json};

use super::ledger::{ARITHMETIC, Ledger};
use super::ratings::refit;
use super::study::{Study, row_total};
use super::table::{column, count, counts, half_unit, number, numbers, percent, prints_as, row_names, table};

const PER_REPORT: &str = "error_profile::ErrorProfile::per_report";
const PER_MATCHUP: &str = "error_profile::ErrorProfile::per_matchup";
const MEAN_PER_MATCHUP: &str = "error_profile::ErrorProfile::mean_per_matchup";
const RATINGS: &str = "bradley_terry::fit";

/// Checks them all.
pub fn check(ledger: &mut Ledger) {
    let text: Value = table!("gavel_text");
    matcher_audit(ledger, &text["matcher_audit"]);
    judge_validation(ledger, &text);
    merging(ledger, &text["stage4"]);
    leaderboards(ledger, &text["stage3"]["ratings"]);
    round_robin_errors(ledger, &text);
    corpus_errors(ledger, &text["stage3"]);
    base_and_merged_errors(ledger, &text["stage4"]);
    second_review(ledger, &text["second_review"]);
}

fn matcher_audit(ledger: &mut Ledger, audit: &Value) {
    let n = count(&audit["sampled_per_band"]);
    for k in counts(&audit["true_matches"]) {
        check_wilson(ledger, &format!("p0.wilson.{k}/{n}"), k, n);
    }
}

/// A Wilson interval in percent, printed to one decimal.
pub fn check_wilson(ledger: &mut Ledger, id: &str, k: u32, n: u32) {
    let interval = wilson(k.into(), n.into(), 0.95).unwrap().unwrap().interval;
    ledger.inputs(id, &json!([k, n]));
    ledger.check(id, "wilson::wilson", &json!([100.0 * interval.lo, 100.0 * interval.hi]), half_unit(1));
}

fn check_percent(ledger: &mut Ledger, part: u32, whole: u32) {
    let id = format!("p0.pct.{part}/{whole}");
    ledger.inputs(&id, &json!([part, whole]));
    ledger.check(&id, ARITHMETIC, &json!(percent(part, whole)), half_unit(1));
}

fn check_sum(ledger: &mut Ledger, name: &str, parts: &[u32]) {
    let id = format!("p0.sum.{name}");
    ledger.inputs(&id, &json!(parts));
    ledger.check(&id, ARITHMETIC, &json!(parts.iter().sum::<u32>()), 0.0);
}

fn judge_validation(ledger: &mut Ledger, text: &Value) {
    let table2: Value = table!("gavel_table2");
    let errors = |judge| column(&table2["errors"], judge).into_iter().map(|n| n as u32).collect::<Vec<_>>();
    let (gpt, deepseek, both) = (errors(0), errors(1), errors(2));
    let reviewed = counts(&table2["findings_reviewed"]);
    check_sum(ledger, "errors GPT", &gpt);
    check_sum(ledger, "errors DS", &deepseek);
    check_sum(ledger, "error row totals", &both);
    check_sum(ledger, "reviewed", &reviewed[..2]);
    for (judge, errors) in [&gpt, &deepseek, &both].into_iter().enumerate() {
        let (n_errors, n) = (errors.iter().sum::<u32>(), reviewed[judge]);
        check_percent(ledger, n - n_errors, n);
        ledger.printed_in(&format!("p0.pct.{}/{n}", n - n_errors), &table2["confirmation_rate_percent"][judge]);
    }
    let n_errors = both.iter().sum();
    for n in &both[..3] {
        check_percent(ledger, *n, n_errors);
    }
    check_percent(ledger, both[..3].iter().sum(), n_errors);

    let (stage2, stage3, quotes) = (&text["stage2"], &text["stage3"], &text["quotes"]);
    for stage in [stage2, stage3] {
        check_percent(ledger, count(&stage["n_conforming"]), count(&stage["n_calls"]));
    }
    let n_quotes = count(&quotes["n_with_evidence"]);
    check_percent(ledger, n_quotes - count(&quotes["n_unlocated"]), n_quotes);
    let (decisive, undecided) = (count(&stage3["n_decisive_findings"]), count(&stage3["n_undecided_findings"]));
    check_sum(ledger, "stage3 findings", &[decisive, undecided]);
    check_percent(ledger, undecided, decisive + undecided);
}

fn merging(ledger: &mut Ledger, stage4: &Value) {
    let (applied, declined) = (count(&stage4["n_applied"]), count(&stage4["n_declined"]));
    let comparisons = counts(&stage4["comparisons"]);
    let n_reports: u32 = comparisons.iter().sum();
    let decisive = counts(&stage4["decisive_findings"]);
    check_sum(ledger, "suggestions", &counts(&stage4["suggestions_by_source"]));
    check_sum(ledger, "applied+declined", &[applied, declined]);
    check_sum(ledger, "reports w/ suggestions", &counts(&stage4["reports_by_sources"]));
    check_sum(ledger, "W/L/T", &comparisons);
    check_sum(ledger, "decisive merge", &decisive);
    check_percent(ledger, applied, applied + declined);
    for &n in &comparisons {
        check_percent(ledger, n, n_reports);
    }
    check_percent(ledger, decisive[0], decisive.iter().sum());
    ledger.printed_in("p0.merge.ci", &stage4["merged_percent_interval"]);
    merged_interval(ledger, comparisons[0], n_reports, count(&stage4["n_resamples"]));
}

/// The paper's interval depends on its unknown seed: the lower end falls between two counts of reports. The printed
/// pair must be the one that comes most often, and nine in ten must be among the three that the list saw most often.
fn merged_interval(ledger: &mut Ledger, merged: u32, n_reports: u32, n_resamples: u32) {
    const N_SEEDS: u64 = 50;
    let id = "p0.merge.ci";
    ledger.inputs(id, &json!([merged, n_reports]));
    let listed = ledger.fact(id).computed;
    let strata = [Stratum { n: n_reports as usize, n_upheld: merged as usize, corpus_share: 1.0 }];
    let mut seen = BTreeMap::<_, u64>::new();
    for seed in 20_260_904..20_260_904 + N_SEEDS {
        let interval = standardised_interval(&strata, n_resamples as usize, seed, 0.95).unwrap().unwrap();
        let ends = [interval.lo, interval.hi].map(|end| (1000.0 * end).round() as u32);
        *seen.entry(ends).or_insert(0) += 1;
    }
    let as_percent = |ends: &[u32; 2]| json!(ends.map(|end| f64::from(end) / 10.0));
    let listed: Vec<_> = listed.as_array().unwrap().iter().map(|entry| entry[0].clone()).collect();
    let n_listed: u64 = seen.iter().filter(|(ends, _)| listed.contains(&as_percent(ends))).map(|(_, times)| times).sum();
    ledger.require(id, 10 * n_listed >= 9 * N_SEEDS, || format!("{n_listed} of {N_SEEDS} intervals are among {listed:?}"));
    let most_frequent = seen.iter().max_by_key(|&(_, &times)| times).unwrap().0;
    let shown: Vec<_> = seen.iter().map(|(ends, times)| json!([as_percent(ends), times])).collect();
    ledger.check_printed(id, "standardised_rate::standardised_interval", &json!(shown), &as_percent(most_frequent), half_unit(1));
}

fn leaderboards(ledger: &mut Ledger, stage3: &Value) {
    let table3: Value = table!("gavel_table3");
    let fits: Vec<_> = (0..3).map(|rubric| refit(&column(&table3["rows"], rubric))).collect();
    for (rubric, name) in ["default", "timing", "events"].into_iter().enumerate() {
        ledger.check(&format!("p0.center.{name}"), RATINGS, &json!(fits[rubric].mean), half_unit(0));
    }
    let stage3: Vec<_> = counts(stage3).into_iter().map(f64::from).collect();
    ledger.check("p0.center.stage3", RATINGS, &json!(refit(&stage3).mean), half_unit(0));

    let stable = fits.iter().all(|fit| fit.order() == fits[0].order());
    ledger.check("p0.rank_stable", RATINGS, &json!(stable), 0.0);
    let names = row_names(&table3["rows"]);
    let shifts = fits[1..].iter().flat_map(|fit| {
        fit.ratings.iter().zip(&fits[0].ratings).zip(&names).map(|((rating, default), name)| ((rating - default).abs(), *name))
    });
    let (shift, name) = shifts.max_by(|x, y| x.0.total_cmp(&y.0)).unwrap();
    ledger.check("p0.max_shift", RATINGS, &json!([shift, name]), half_unit(0));
}

/// The order of Table 4's columns.
const TABLE_4: [Category; 7] = [
    Category::WrongTime,
    Category::MissedPositive,
    Category::MissedNegative,
    Category::MissedRecurrence,
    Category::WrongValue,
    Category::FalseDuplicate,
    Category::OverAnnotation,
];

fn from_table_4(row: &Value) -> PerCategory<f64> {
    let mut rates = PerCategory::default();
    for (category, rate) in TABLE_4.into_iter().zip(numbers(row)) {
        rates[category] = rate;
    }
    rates
}

fn rows_of(panel: &Value) -> Vec<PerCategory<f64>> {
    panel.as_object().unwrap().values().map(from_table_4).collect()
}

/// Totals and mean row of a panel, from whole numbers of errors in a round robin over `n_reports`. `names` are those
/// of the ids.
fn check_panel(ledger: &mut Ledger, panel: &str, names: &[&str], n_reports: u32) -> ErrorProfile {
    let table4: Value = table!("gavel_table4");
    let rates = rows_of(&table4[panel]);
    let n_matchups = n_reports * (rates.len() as u32 - 1);
    let play = |rates: &[PerCategory<f64>]| {
        let mut study = Study::round_robin(rates.len(), n_reports);
        study.charge_rates(rates, |_| n_matchups);
        study.profile(n_reports)
    };
    let profile = play(&rates);
    let totals = column(&table4[panel], TABLE_4.len());
    for (entrant, name) in names.iter().enumerate() {
        let id = format!("p0.T4{panel}.row.{name}");
        ledger.printed_in(&id, &json!(totals[entrant]));
        // The printed total was rounded by itself and may lie one unit off the sum of rounded cells.
        let row = profile.per_matchup(entrant).unwrap();
        ledger.check(&id, PER_MATCHUP, &json!(row_total(&row)), 2.0 * half_unit(1));
    }
    // The mean total is that of the printed totals, which may lie off that of the cells.
    let with_totals: Vec<_> = totals.iter().map(|&total| of_one_category(total)).collect();
    let mean_total = row_total(&play(&with_totals).mean_per_matchup().unwrap());
    let mean = profile.mean_per_matchup().unwrap();
    let mean: Vec<_> = TABLE_4.into_iter().map(|category| mean[category]).chain([mean_total]).collect();
    let id = format!("p0.T4{panel}.mean");
    ledger.printed_in(&id, &table4[format!("{panel}_mean_entrant")]);
    // Both the cells and their mean were rounded.
    ledger.check(&id, MEAN_PER_MATCHUP, &json!(mean), 2.0 * half_unit(1));
    profile
}

fn of_one_category<T: Default + Copy>(errors: T) -> PerCategory<T> {
    let mut all = PerCategory([T::default(); TABLE_4.len()]);
    all[Category::WrongTime] = errors;
    all
}

/// Table 4A, which the text says to be a rate a report; only as a rate a game does it hold as many errors as there were.
fn round_robin_errors(ledger: &mut Ledger, text: &Value) {
    let table4: Value = table!("gavel_table4");
    let rates = rows_of(&table4["A"]);
    let (n_entrants, n_reports) = (rates.len(), count(&text["stage2"]["n_reports"]));
    let decisive_games = number(&text["stage2"]["n_decisive_games"]);

    let names = ["GPT-5", "Opus", "o4", "A1", "GLM", "Gemma", "A2", "Llama"];
    let by_matchup = check_panel(ledger, "A", &names, n_reports);

    let mut by_report = Study::round_robin(n_entrants, n_reports);
    by_report.charge_rates(&rates, |_| n_reports);
    let by_report = by_report.profile(n_reports);
    for (entrant, rates) in rates.iter().enumerate() {
        let row = by_report.per_report(entrant).unwrap();
        let same = row.iter().all(|(category, rate)| (rate - rates[category]).abs() < 1e-9);
        ledger.require("p0.T4A.normaliser", same, || format!("entrant {entrant} has the rates {row:?} a report"));
    }

    let stage3 = &text["stage3"];
    let as_text = f64::from(by_report.n_decisive) / decisive_games;
    let per_matchup = f64::from(by_matchup.n_decisive) / decisive_games;
    let computed = json!({"as_text(x10 reports/278)": as_text, "if_per_matchup(x70/278)": per_matchup});
    let (n_findings, n_games) = (count(&stage3["n_decisive_findings"]), count(&stage3["n_conforming"]));
    let sentence = |density: f64| json!(format!("{density:.1} in stage 3 ({n_findings}/{n_games})"));
    let id = "p0.T4A.normaliser";
    let published = ledger.fact(id).published;
    let stage3_density = sentence(f64::from(n_findings) / f64::from(n_games));
    ledger.require(id, published == stage3_density, || format!("stage 3 gives {stage3_density}, the list says {published}"));
    ledger.check_as(id, PER_REPORT, &computed, &sentence(as_text), 0.0);
}

/// Table 4B, a rate a game over 126 reports.
fn corpus_errors(ledger: &mut Ledger, stage3: &Value) {
    // Five corpora, for a tenth of an error a game to be a whole number of errors.
    let n_reports = count(&stage3["n_reports"]);
    let names = ["GPT-5", "GLM", "A1"];
    check_panel(ledger, "B", &names, 5 * n_reports);

    // The mean of all errors a matchup, over the games attempted, conforming, and with a decision.
    let pooled = |games: &Value| {
        let n_games = count(games);
        let n_each = n_games / 3;
        let mut study = Study::round_robin(names.len(), n_each);
        // Games that three do not divide go to the first pair.
        study.add_games(0, 1, n_games - 3 * n_each);
        assert_eq!(study.n_games(), n_games as usize);
        study.charge(0, &of_one_category(count(&stage3["n_decisive_findings"])));
        study.add_undecided(count(&stage3["n_undecided_findings"]));
        row_total(&study.profile(n_reports).pooled_per_matchup().unwrap())
    };
    let (attempted, conforming, decisive) =
        (pooled(&stage3["n_calls"]), pooled(&stage3["n_conforming"]), pooled(&stage3["n_decisive_games"]));
    let id = "p0.T4B.denominator";
    let computed = json!({"/(2*378)": attempted, "/(2*376)": conforming, "/(2*372)": decisive});
    ledger.check_as(id, "error_profile::ErrorProfile::pooled_per_matchup", &computed, &json!(attempted), half_unit(1));
    for other in [conforming, decisive] {
        let printed = number(&ledger.fact(id).published);
        ledger.require(id, !prints_as(other, printed, 1), || format!("{other} prints as {printed} too"));
    }
}

/// Table 4C: whole numbers of errors over 126 reports that print every cell also add up to the findings of the text.
fn base_and_merged_errors(ledger: &mut Ledger, stage4: &Value) {
    let table4: Value = table!("gavel_table4");
    let n_reports = count(&stage4["n_reports"]);
    let mut study = Study::round_robin(2, n_reports);
    let (rates, totals) = (rows_of(&table4["C"]), column(&table4["C"], TABLE_4.len()));
    for (entrant, rates) in rates.iter().enumerate() {
        study.charge(entrant, &rates.map(|rate| (rate * f64::from(n_reports)).round() as u32));
    }
    let profile = study.profile(n_reports);
    let (merged_wins, base_wins) = (count(&stage4["decisive_findings"]["merged"]), count(&stage4["decisive_findings"]["GPT-5"]));
    let facts = [("base", "p0.merge.base_rate", merged_wins), ("merged", "p0.merge.merged_rate", base_wins)];
    for (entrant, (row_name, rate_id, n_errors)) in facts.into_iter().enumerate() {
        let id = format!("p0.T4C.row.{row_name}");
        let row = profile.per_report(entrant).unwrap();
        ledger.printed_in(&id, &json!(totals[entrant]));
        for (category, &rate) in row.iter() {
            let printed = rates[entrant][category];
            ledger.require(&id, prints_as(rate, printed, 2), || format!("{category} is {rate}, the paper prints {printed}"));
        }
        let counted: u32 = profile.counts[entrant].0.iter().sum();
        ledger.require(&id, counted == n_errors, || format!("the row holds {counted} errors, the text says {n_errors}"));
        ledger.check(&id, PER_REPORT, &json!(row_total(&row)), half_unit(2));
        ledger.inputs(rate_id, &json!([counted, n_reports]));
        ledger.check(rate_id, PER_REPORT, &json!(row_total(&row)), half_unit(2));
    }
}

fn second_review(ledger: &mut Ledger, review: &Value) {
    let (mut n_findings, mut n_agreed) = (0, 0);
    for (judge, figures) in review["judges"].as_object().unwrap() {
        let id = format!("p0.irr.{judge}");
        let (n, first, second) =
            (count(&figures["n_findings"]), count(&figures["incorrect_primary"]), count(&figures["incorrect_second"]));
        let raw = number(&figures["raw_percent"]);
        // The margins and the raw agreement leave one number of findings that both reviewers reject.
        let fits = |&both: &u32| prints_as(percent(n + 2 * both - first - second, n), raw, 1);
        let both: Vec<_> = (0..=first.min(second)).filter(fits).collect();
        ledger.require(&id, both.len() == 1, || format!("the margins allow {both:?} findings that both reject"));
        let cells = [both[0], first - both[0], second - both[0], n + both[0] - first - second];
        ledger.inputs(&id, &json!(cells));
        let agreement = agreement(cells);
        let value = json!([100.0 * agreement.raw.unwrap(), agreement.kappa.unwrap(), agreement.ac1.unwrap()]);
        // The percentage has one decimal, kappa and AC1 have two.
        ledger.require(&id, prints_as(100.0 * agreement.raw.unwrap(), raw, 1), || format!("raw agreement is not {raw}"));
        for (name, got, printed) in [("kappa", agreement.kappa, &figures["kappa"]), ("AC1", agreement.ac1, &figures["ac1"])] {
            let (got, printed) = (got.unwrap(), number(printed));
            ledger.require(&id, prints_as(got, printed, 2), || format!("{name} is {got}, the paper prints {printed}"));
        }
        ledger.check(&id, "agreement::Agreement::from_ratings", &value, half_unit(1));
        n_findings += n;
        n_agreed += cells[0] + cells[3];
    }
    sample_size(ledger, review, n_findings, n_agreed);
}

/// The text speaks of 150 findings; the judges' own numbers add up to more, and only those allow the printed agreement by pairing.
fn sample_size(ledger: &mut Ledger, review: &Value, n_findings: u32, n_agreed: u32) {
    let id = "p0.irr.n";
    let close = number(&review["raw_percent_GPT-5_v_o4-mini"]);
    let llama = number(&review["raw_percent_Llama_pairings"]);
    let sample = counts(&review["sample"]);
    let published = count(&ledger.fact(id).published);
    ledger.require(id, sample.iter().sum::<u32>() == published, || format!("the sample of the text is {sample:?}"));
    let n_llama = sample[1] + sample[2];
    let possible = (0..=n_llama).any(|agreed| prints_as(percent(agreed, n_llama), llama, 1));
    ledger.require(id, !possible, || format!("{llama}% of {n_llama} findings is possible"));
    let mut splits = Vec::new();
    for n in 1..n_findings {
        for agreed in 0..=n.min(n_agreed) {
            let (other_agreed, other) = (n_agreed - agreed, n_findings - n);
            let fits = prints_as(percent(agreed, n), close, 1) && prints_as(percent(other_agreed, other), llama, 1);
            if other_agreed <= other && fits {
                splits.push([agreed, n, other_agreed, other]);
            }
        }
    }
    ledger.require(id, splits == [[131, 144, 65, 68]], || format!("{n_findings} findings split as {splits:?}"));
    ledger.check(id, ARITHMETIC, &json!(n_findings), 0.0);
}

/// Agreement of two reviewers from a two by two table: both the first category, first reviewer only, second only, neither.
pub fn agreement(cells: [u32; 4]) -> Agreement {
    let ratings: Vec<_> = [(0, 0), (0, 1), (1, 0), (1, 1)]
        .into_iter()
        .zip(cells)
        .flat_map(|(pair, n)| std::iter::repeat_n(pair, n as usize))
        .collect();
    Agreement::from_ratings(2, &ratings, 0.95).unwrap()
}

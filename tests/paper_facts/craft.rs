//! The facts of craft.txt, whose ids begin with p2. Its tables print results of runs that are not published, so
//! nothing here goes through the library.

use serde_json::{Map, Value, json};

use super::ledger::{ARITHMETIC, Ledger};
use super::table::{count, counts, half_unit, numbers, percent, prints_as, table};

/// The strata of Table 5.1, in its order.
const STRATA: [&str; 4] = ["Janssen", "Moderna", "Pfizer", "Total"];
/// The metrics of each stratum.
const METRICS: [&str; 3] = ["EM", "LCCS", "tau"];
/// Reports with a score in each stratum: the only numbers near the stated ones of which the printed rates are shares.
const SCORED: [u32; 4] = [1159, 981, 1016, 3156];

/// One model's row of a table under one setting.
struct Row {
    model: String,
    setting: String,
    cells: Vec<f64>,
}

impl Row {
    /// A cell of Table 5.1.
    fn cell(&self, stratum: usize, metric: usize) -> f64 {
        self.cells[METRICS.len() * stratum + metric]
    }

    fn name(&self) -> Value {
        json!([self.model, self.setting])
    }
}

fn rows(table: &Value) -> Vec<Row> {
    let mut rows = Vec::new();
    for (model, settings) in table.as_object().unwrap() {
        for (setting, cells) in settings.as_object().unwrap() {
            rows.push(Row { model: model.clone(), setting: setting.clone(), cells: numbers(cells) });
        }
    }
    rows
}

fn row<'a>(rows: &'a [Row], model: &str, setting: &str) -> &'a Row {
    rows.iter().find(|row| row.model == model && row.setting == setting).unwrap()
}

/// Checks them all.
pub fn check(ledger: &mut Ledger) {
    let (final_table, iteration_table): (Value, Value) = (table!("craft_table5_1"), table!("craft_table6_1"));
    let (finals, iterations) = (rows(&final_table["rows"]), rows(&iteration_table["rows"]));
    let n_reports: [u32; 3] = counts(&final_table["n_reports"]).try_into().unwrap();
    data_set(ledger, n_reports);
    totals(ledger, &finals, n_reports);
    exact_match_counts(ledger, &finals, n_reports);
    iteration_counts(ledger, &finals, &iterations, n_reports.iter().sum());
    first_passes(ledger, &finals, &iterations);
    claimed_orders(ledger, &finals);
    differences(ledger, &finals, &iterations);
    appendix(ledger);
}

fn data_set(ledger: &mut Ledger, n_scored_by_table: [u32; 3]) {
    let table: Value = table!("craft_table2_1");
    let by_vaccine: Vec<_> = table["n_reports"].as_object().unwrap().values().map(counts).collect();
    let total = |column: usize| by_vaccine.iter().map(|row| row[column]).sum::<u32>();
    ledger.printed_in("p2.counts", &table["text"]["totals"]);
    ledger.printed_in("p2.excluded", &table["text"]["excluded_percent"]);
    ledger.check("p2.counts", ARITHMETIC, &json!([total(0), total(1), total(2)]), 0.0);
    let temporal = ["Janssen", "Moderna", "Pfizer"].map(|vaccine| count(&table["n_reports"][vaccine][1]));
    assert_eq!(temporal, n_scored_by_table);
    let n_drawn = count(&table["text"]["n_drawn_per_vaccine"]) * by_vaccine.len() as u32;
    let n_excluded = n_drawn - total(0);
    ledger.inputs("p2.excluded", &json!([n_excluded, n_drawn]));
    ledger.check("p2.excluded", ARITHMETIC, &json!(percent(n_excluded, n_drawn)), half_unit(0));
}

/// Whether a total is the mean of its strata, weighted by their reports.
fn totals(ledger: &mut Ledger, rows: &[Row], n_reports: [u32; 3]) {
    let id = "p2.totals";
    let (mut n_right, mut wrong) = (0, Vec::new());
    for row in rows {
        for (metric, name) in METRICS.into_iter().enumerate() {
            let sum: f64 = (0..3).map(|stratum| f64::from(n_reports[stratum]) * row.cell(stratum, metric)).sum();
            let mean = sum / f64::from(n_reports.iter().sum::<u32>());
            // The strata and the total are rounded.
            if (mean - row.cell(3, metric)).abs() <= 2.0 * half_unit(2) + 1e-9 {
                n_right += 1;
            } else {
                wrong.push((row.name(), name, row.cell(3, metric), (100.0 * mean).round() / 100.0));
            }
        }
    }
    let expected = json!([[["MedGemma", "CRAFT w/o V"], "LCCS", 44.36, 34.77]]);
    ledger.require(id, json!(wrong) == expected, || format!("the totals that are none are {wrong:?}"));
    ledger.check(id, ARITHMETIC, &json!(n_right), 0.0);
}

/// The whole number that makes this percentage of `n` print as it does.
fn whole_count(printed: f64, n: u32) -> Option<u32> {
    let nearest = (printed / 100.0 * f64::from(n)).round() as u32;
    prints_as(percent(nearest, n), printed, 2).then_some(nearest)
}

fn exact_match_counts(ledger: &mut Ledger, rows: &[Row], n_reports: [u32; 3]) {
    let stated = [n_reports[0], n_reports[1], n_reports[2], n_reports.iter().sum()];
    let (mut n_stated, mut n_scored, mut failing, mut n_totals) = (0, 0, Vec::new(), 0);
    for row in rows {
        for stratum in 0..STRATA.len() {
            let printed = row.cell(stratum, 0);
            n_stated += u32::from(whole_count(printed, stated[stratum]).is_some());
            match whole_count(printed, SCORED[stratum]) {
                Some(_) => n_scored += 1,
                None => failing.push(json!([row.name(), stratum, printed])),
            }
        }
        let nearest = |stratum: usize| (row.cell(stratum, 0) / 100.0 * f64::from(SCORED[stratum])).round() as u32;
        n_totals += u32::from(prints_as(percent((0..3).map(nearest).sum(), SCORED[3]), row.cell(3, 0), 2));
    }
    let computed =
        json!({"stated_n": n_stated, "n=1159/981/1016/3156": n_scored, "failing": failing, "totals_from_counts_ok": n_totals});
    ledger.check_as("p2.em_integrality", ARITHMETIC, &computed, &json!(n_stated), 0.0);
}

fn iteration_counts(ledger: &mut Ledger, finals: &[Row], iterations: &[Row], n_stated: u32) {
    let n_scored = SCORED[3];
    let whole = iterations.iter().flat_map(|row| &row.cells[1..5]).filter(|&&em| whole_count(em, n_scored).is_some()).count();
    ledger.check("p2.em_at_t", ARITHMETIC, &json!(whole), 0.0);

    // A mean number of iterations is a whole number of iterations over the reports; it is printed to four decimals.
    let fitting = |n: u32| {
        let fits = |row: &&Row| prints_as((row.cells[0] * f64::from(n)).round() / f64::from(n), row.cells[0], 4);
        iterations.iter().filter(fits).count()
    };
    let mut best: Vec<_> = (n_stated - 66..n_stated + 34).map(|n| (fitting(n), n)).collect();
    best.sort_unstable_by(|x, y| y.cmp(x));
    let computed = json!({"3166": fitting(n_stated), "3156": fitting(n_scored), "best": best[..5]});
    ledger.check_as("p2.avgiters", ARITHMETIC, &computed, &json!(fitting(n_scored)), 0.0);

    let same = iterations.iter().filter(|at| at.cells[4] == row(finals, &at.model, &at.setting).cell(3, 0)).count();
    ledger.check("p2.em4=total", ARITHMETIC, &json!(same), 0.0);
}

/// Settings that share their first generation should agree after it.
fn first_passes(ledger: &mut Ledger, finals: &[Row], iterations: &[Row]) {
    let first = |model: &str, setting: &str| row(iterations, model, setting).cells[1];
    let (mut full, mut edit) = (Map::new(), Map::new());
    let models =
        [("GPT-4.1", "GPT", "GPT"), ("Llama-70B", "Llama", "Llama"), ("MedGemma", "Med", "Med"), ("Claude-4.5", "Claude", "Cl")];
    for (model, full_name, edit_name) in models {
        let without = row(finals, model, "CRAFT w/o V").cell(3, 0);
        full.insert(full_name.to_owned(), json!([without, first(model, "CRAFT-Full"), first(model, "PIVOT")]));
        edit.insert(edit_name.to_owned(), json!([first(model, "GUIDE"), first(model, "CRAFT G")]));
    }
    for (id, values) in [("p2.first_pass", full), ("p2.first_pass_edit", edit)] {
        let equal = values.values().all(|row| numbers(row).windows(2).all(|pair| pair[0] == pair[1]));
        ledger.check_as(id, ARITHMETIC, &json!(values), &json!(equal), 0.0);
    }
}

/// Orders that the text claims to hold everywhere, and where they do not.
fn claimed_orders(ledger: &mut Ledger, finals: &[Row]) {
    let mut broken = Vec::new();
    for row in finals {
        let [janssen, moderna, pfizer] = [0, 1, 2].map(|stratum| row.cell(stratum, 0));
        if !(moderna > janssen && janssen > pfizer) {
            broken.push(json!([row.name(), janssen, moderna, pfizer]));
        }
    }
    ledger.check_as("p2.vaccine_order", ARITHMETIC, &json!(broken), &json!(broken.len()), 0.0);

    let mut broken = Vec::new();
    for (metric, metric_name) in METRICS.into_iter().enumerate() {
        for (stratum, stratum_name) in STRATA.into_iter().enumerate() {
            let cells = ["Claude-4.5", "GPT-4.1", "Llama-70B", "MedGemma"]
                .map(|model| row(finals, model, "CRAFT-Full").cell(stratum, metric));
            if !cells.windows(2).all(|pair| pair[0] > pair[1]) {
                broken.push(json!([metric_name, stratum_name, cells]));
            }
        }
    }
    ledger.check_as("p2.capability_order", ARITHMETIC, &json!(broken), &json!(broken.len()), 0.0);
}

/// Differences of exact match in the text, printed to one decimal.
fn differences(ledger: &mut Ledger, finals: &[Row], iterations: &[Row]) {
    let mut check = |name: String, difference: f64| {
        ledger.check(&format!("p2.diff.{name}"), ARITHMETIC, &json!(difference), half_unit(1));
    };
    let total = |model: &str, setting: &str| row(finals, model, setting).cell(3, 0);
    let models = [("GPT-4.1", "GPT"), ("Llama-70B", "Llama"), ("Claude-4.5", "Claude"), ("MedGemma", "Med")];
    for (model, name) in models {
        let full = row(finals, model, "CRAFT-Full");
        for (setting, setting_name) in [("PIVOT", "PIVOT"), ("GUIDE", "GUIDE"), ("CRAFT w/o V", "woV")] {
            // For Claude the text gives no gain over the setting without verifier.
            if (name, setting_name) != ("Claude", "woV") {
                check(format!("{name}-{setting_name}"), total(model, "CRAFT-Full") - total(model, setting));
            }
        }
        check(format!("M-P {name}"), full.cell(1, 0) - full.cell(2, 0));
    }
    for (setting, name) in [("CRAFT-Full", "GPT 1->4"), ("CRAFT G", "GPT G 1->4")] {
        let at = &row(iterations, "GPT-4.1", setting).cells;
        check(name.to_owned(), at[4] - at[1]);
    }
}

fn appendix(ledger: &mut Ledger) {
    let table: Value = table!("craft_appendix");
    let sweep = &table["A2"];
    let n = count(&sweep["n_reports"]);
    let em = numbers(&sweep["em_percent"]);
    let is_whole = |percent: f64, n: u32| (percent / 100.0 * f64::from(n)).fract() == 0.0;
    let first = em[0];
    let sentence =
        if is_whole(first, n) { format!("{first}/{n} is a count") } else { format!("{first}/{n} is not an integer count") };
    // The nearest rate that a whole number of reports gives.
    let nearest = 100.0 * (first / 100.0 * f64::from(n)).round() / f64::from(n);
    ledger.check_as("p2.tableA2", ARITHMETIC, &json!(sentence), &json!(nearest), half_unit(1));
    let id = "p2.tableA2";
    ledger.require(id, em.iter().all(|&rate| is_whole(rate, 200)), || "not all rates are counts of 200".to_owned());

    let figure = &table["figure_A1a_headache"];
    let sum = |later: &str| ["Pfizer", "Moderna", "Janssen"].map(|vaccine| count(&figure[vaccine][later])).iter().sum::<u32>();
    let sums: Map<_, _> = ["Fatigue", "Pyrexia", "Pain"].into_iter().map(|later| (later.to_owned(), json!(sum(later)))).collect();
    for (later, sum) in &sums {
        let overall = &figure["Overall"][later];
        ledger.require("p2.heatmap_add", sum == overall, || format!("{later} adds up to {sum}, the figure says {overall}"));
    }
    ledger.check("p2.heatmap_add", ARITHMETIC, &json!(sums), 0.0);

    let n_words = |example: &str| numbers(&table["A1"][example]).len();
    let short = n_words("less_than_10_words_example_3");
    let verdict = if short < 10 { "<10".to_owned() } else { short.to_string() };
    ledger.check_as("p2.words", ARITHMETIC, &json!(short), &json!(verdict), 0.0);
    let no_cue = n_words("no_temporal_cues_example_1");
    let verdict = if (11..=29).contains(&no_cue) { "11..29".to_owned() } else { no_cue.to_string() };
    ledger.check_as("p2.nocue_example", ARITHMETIC, &json!(no_cue), &json!(verdict), 0.0);
}

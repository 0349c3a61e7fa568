//! The facts of uid.txt, whose ids begin with p1.

use assize::measure::bradley_terry::{Meeting, fit_totals};
use assize::measure::error_profile::ErrorProfile;
use assize::measure::pooled_share::{CasePoints, PooledShare, is_separated};
use assize::measure::resample::Interval;
use assize::measure::rubric::{PerCategory, Rubric, Scheme};
use assize::measure::standardised_rate::{StandardisedRate, Stratum, standardised_interval};
use serde_json::{Map, Value, json};

use super::gavel::{agreement, check_wilson};
use super::ledger::{ARITHMETIC, Ledger};
use super::ratings::refit;
use super::study::{Study, row_total};
use super::table::{column, count, counts, half_unit, number, numbers, percent, prints_as, row_names, table};

const RATINGS: &str = "bradley_terry::fit";
const FROM_GAMES: &str = "error_profile::ErrorProfile::from_games";
const POOLED_SHARE: &str = "pooled_share::PooledShare::from_cases";

/// The sources in the order of all tables here.
const SOURCES: [&str; 5] = ["Clinician", "GLM MM", "GLM UM", "DS MM", "DS UM"];
/// The same as the ids have them.
const SHORT: [&str; 5] = ["C", "GM", "GU", "DSM", "DSU"];

/// Checks them all.
pub fn check(ledger: &mut Ledger) {
    let g1: Value = table!("uid_tableG1");
    let g2: Value = table!("uid_tableG2");
    for rows in [&g1["c"]["rows"], &g2["a"]["rows"], &g2["c"]["rows"]] {
        assert_eq!(row_names(rows), SOURCES);
    }
    let schedule = schedule();
    reviews(ledger, &g1);
    strata(ledger, &g1);
    error_counts(ledger, &g1["c_scope"], &g2["a"], &schedule);
    error_rates(ledger, &g2, &schedule);
    rating_from_totals(ledger, &g1["c"]["rows"], &schedule);
    rating_tables(ledger, &g2);
    controlled_comparisons(ledger, &g1["d"]["rows"]);
    let table1: Value = table!("uid_table1");
    let rates = &table1["event_match_rate"];
    let gain = 100.0 * (number(&rates["GLM-5.2 multimodal"]) / number(&rates["LLM-Timeline (GLM-5.2)"]) - 1.0);
    ledger.printed_in("p1.recovery", &table1["text"]["abstract_percent"]);
    ledger.check("p1.recovery", ARITHMETIC, &json!(gain), half_unit(0));
    let other = number(&table1["text"]["contributions_percent"]);
    ledger.require("p1.recovery", !prints_as(gain, other, 0), || format!("{gain} prints as {other} too"));
}

fn schedule() -> Vec<Meeting> {
    let d5: Value = table!("uid_tableD5");
    let place = |name: &Value| SOURCES.iter().position(|source| name == source).unwrap();
    let rows = d5["rows"].as_array().unwrap();
    rows.iter().map(|row| Meeting { a: place(&row[0]), b: place(&row[1]), n_games: count(&row[2]) }).collect()
}

/// One entry a source, under the names of the ids.
fn by_source(value: impl Fn(usize) -> Value) -> Value {
    Value::Object(SHORT.into_iter().enumerate().map(|(i, name)| (name.to_owned(), value(i))).collect::<Map<_, _>>())
}

fn reviews(ledger: &mut Ledger, g1: &Value) {
    let cells: [u32; 4] = counts(&g1["a"]).try_into().unwrap();
    let n: u32 = cells.iter().sum();
    let agreed = cells[0] + cells[3];
    check_wilson(ledger, &format!("p1.wilson.{agreed}/{n}"), agreed, n);
    let second = (count(&g1["b_text"]["reviewer2_upheld"]), count(&g1["b_text"]["reviewer2_n"]));
    assert_eq!(second, (cells[0] + cells[2], n));
    check_wilson(ledger, &format!("p1.wilson.{}/{n}", second.0), second.0, n);
    let rows = &g1["b"]["rows"];
    let (reviewed, upheld) = (column(rows, 0).iter().sum::<f64>() as u32, column(rows, 1).iter().sum::<f64>() as u32);
    check_wilson(ledger, &format!("p1.wilson.{upheld}/{reviewed}"), upheld, reviewed);

    let agreement = agreement(cells);
    let (raw, kappa) = (100.0 * agreement.raw.unwrap(), agreement.kappa.unwrap());
    let printed_kappa = number(&ledger.fact("p1.kappa").published[1]);
    ledger.require("p1.kappa", prints_as(kappa, printed_kappa, 3), || {
        format!("kappa is {kappa}, the paper prints {printed_kappa}")
    });
    ledger.inputs("p1.kappa", &json!(cells));
    ledger.check("p1.kappa", "agreement::Agreement::from_ratings", &json!([raw, kappa]), half_unit(1));
    ledger.inputs("p1.pabak", &json!([agreed, n]));
    ledger.check("p1.pabak", "agreement::Agreement::from_ratings", &json!(agreement.pabak.unwrap()), half_unit(3));
}

fn strata(ledger: &mut Ledger, g1: &Value) {
    let rows: Vec<_> = g1["b"]["rows"].as_object().unwrap().values().map(numbers).collect();
    let strata: Vec<_> =
        rows.iter().map(|row| Stratum { n: row[0] as usize, n_upheld: row[1] as usize, corpus_share: row[3] }).collect();
    let result = StandardisedRate::from_strata(&strata).unwrap();
    let function = "standardised_rate::StandardisedRate::from_strata";
    for ((stratum, row), rate) in strata.iter().zip(&rows).zip(&result.rates) {
        let id = format!("p1.stratum.{}/{}", stratum.n_upheld, stratum.n);
        let rate = 100.0 * rate.unwrap();
        ledger.inputs(&id, &json!([stratum.n_upheld, stratum.n]));
        ledger.require(&id, prints_as(rate, row[2], 1), || format!("{rate} is not {}", row[2]));
        ledger.check(&id, function, &json!(rate), half_unit(1));
    }
    let inputs: Vec<_> = rows.iter().map(|row| json!([row[0], row[1], row[3], row[2]])).collect();
    ledger.inputs("p1.standardised", &json!(inputs));
    ledger.check("p1.standardised", function, &json!(100.0 * result.standardised.unwrap()), half_unit(1));

    let id = "p1.standardised_ci";
    let n_resamples = count(&g1["b_text"]["n_resamples"]) as usize;
    let interval = standardised_interval(&strata, n_resamples, 20_260_904, 0.95).unwrap().unwrap();
    let ends = [100.0 * interval.lo, 100.0 * interval.hi];
    // Drawn at random: each end may lie three tenths outside what other seeds gave, and off what the paper prints.
    let listed = ledger.fact(id).computed;
    for (end, range) in ends.into_iter().zip([&listed["lo_range"], &listed["hi_range"]]) {
        let inside = (number(&range[0]) - 0.3..=number(&range[1]) + 0.3).contains(&end);
        ledger.require(id, inside, || format!("{end} lies outside {range}"));
    }
    ledger.check_printed(id, "standardised_rate::standardised_interval", &json!(ends), &json!(ends), 0.3);
}

/// Whole numbers of errors for every source and category that print every cell and every total of Table G.2(a) and add
/// up to its raw numbers.
fn whole_counts(table: &Value) -> Option<Vec<PerCategory<u32>>> {
    struct Search {
        rates: Vec<Vec<f64>>,
        raw: Vec<u32>,
        counts: Vec<[u32; 7]>,
    }
    impl Search {
        fn n_games(&self, source: usize) -> f64 {
            self.rates[source][8]
        }

        fn fill(&mut self, category: usize, source: usize) -> bool {
            if category == 7 {
                let total = |source: usize| f64::from(self.counts[source].iter().sum::<u32>()) / self.n_games(source);
                return (0..self.counts.len()).all(|source| prints_as(total(source), self.rates[source][7], 2));
            }
            if source == self.counts.len() {
                let sum: u32 = self.counts.iter().map(|row| row[category]).sum();
                return sum == self.raw[category] && self.fill(category + 1, 0);
            }
            let (rate, n_games) = (self.rates[source][category], self.n_games(source));
            let lowest = ((rate - half_unit(2)) * n_games).max(0.0).ceil() as u32;
            let highest = ((rate + half_unit(2)) * n_games).floor() as u32;
            (lowest..=highest).any(|n| {
                self.counts[source][category] = n;
                self.fill(category, source + 1)
            })
        }
    }
    let rates: Vec<_> = table["rows"].as_object().unwrap().values().map(numbers).collect();
    let counts = vec![[0; 7]; rates.len()];
    let mut search = Search { rates, raw: counts_of(&table["raw_n"]), counts };
    search.fill(0, 0).then(|| search.counts.into_iter().map(PerCategory).collect())
}

fn counts_of(row: &Value) -> Vec<u32> {
    counts(row)[..7].to_vec()
}

/// What Table G.2(a) and the scope of the study say of whole numbers of errors.
fn error_counts(ledger: &mut Ledger, scope: &Value, table: &Value, schedule: &[Meeting]) {
    let whole = whole_counts(table).expect("some whole numbers of errors print Table G.2(a)");
    let mut study = Study::new(SOURCES.len(), schedule);
    for (source, errors) in whole.iter().enumerate() {
        study.charge(source, errors);
    }
    study.add_undecided(count(&scope["n_non_scoring"]));
    let profile = study.profile(count(&scope["n_cases"]));

    let (raw, listed_total) = (counts_of(&table["raw_n"]), counts(&table["raw_n"])[7]);
    let decisive = profile.n_decisive;
    ledger.inputs("p1.G2a.sum", &json!(raw));
    ledger.check("p1.G2a.sum", FROM_GAMES, &json!(profile.total().0.iter().sum::<u32>()), 0.0);
    assert_eq!((decisive, profile.n_findings), (listed_total, count(&scope["n_findings"])));
    let shares = profile.share_percent().unwrap();
    for (place, (&share, name)) in shares.0.iter().zip(["over", "fd", "wt", "wv", "mp", "mn", "mr"]).enumerate() {
        let id = format!("p1.G2a.{name}");
        ledger.inputs(&id, &json!([raw[place], decisive]));
        ledger.printed_in(&id, &table["share_percent"][place]);
        ledger.check(&id, "error_profile::ErrorProfile::share_percent", &json!(share), half_unit(1));
    }
    ledger.inputs("p1.wt+mp", &json!([raw[2] + raw[4], decisive]));
    ledger.check("p1.wt+mp", "error_profile::ErrorProfile::share_percent", &json!(shares.0[2] + shares.0[4]), half_unit(1));
    let undecided = profile.n_findings - decisive;
    for (id, part) in [("p1.decisive", decisive), ("p1.nonscoring", undecided)] {
        ledger.inputs(id, &json!([part, profile.n_findings]));
        ledger.check(id, FROM_GAMES, &json!(percent(part, profile.n_findings)), half_unit(1));
    }

    ledger.check("p1.games", FROM_GAMES, &by_source(|source| json!(profile.n_games[source])), 0.0);
    let n_games: u32 = profile.n_games.iter().sum();
    assert_eq!((n_games as usize, study.n_games()), (2 * study.n_games(), count(&scope["n_games"]) as usize));
    ledger.check("p1.games_total", FROM_GAMES, &json!(n_games / 2), 0.0);
    let pooled = profile.pooled_per_matchup().unwrap();
    let average: Vec<_> = pooled.0.iter().copied().chain([row_total(&pooled)]).collect();
    let average_source = table["average_source"].as_array().unwrap();
    ledger.printed_in("p1.G2a.average", &json!(average_source[..8]));
    ledger.printed_in("p1.G2a.avg_games", &average_source[8]);
    ledger.check("p1.G2a.average", "error_profile::ErrorProfile::pooled_per_matchup", &json!(average), half_unit(2));
    let average_games = f64::from(n_games) / profile.n_games.len() as f64;
    ledger.check("p1.G2a.avg_games", FROM_GAMES, &json!(average_games), half_unit(1));

    // The whole numbers print every cell and total of the table, so no printed total contradicts its cells.
    for (source, row) in table["rows"].as_object().unwrap().values().map(numbers).enumerate() {
        let rates = profile.per_matchup(source).unwrap();
        let with_total = rates.0.iter().copied().chain([row_total(&rates)]);
        for (place, (rate, printed)) in with_total.zip(&row).enumerate() {
            let id = format!("p1.G2a.row.{}", SHORT[source]);
            ledger.require(&id, prints_as(rate, *printed, 2), || format!("{rate} at {place}, the paper prints {printed}"));
        }
    }
}

/// What follows from the printed rates of Table G.2(a) alone. A hundred studies make each a whole number of errors.
fn error_rates(ledger: &mut Ledger, g2: &Value, schedule: &[Meeting]) {
    const N_STUDIES: u32 = 100;
    let rows: Vec<_> = g2["a"]["rows"].as_object().unwrap().values().map(numbers).collect();
    let rates: Vec<_> = rows.iter().map(|row| PerCategory(std::array::from_fn(|category| row[category]))).collect();
    let many: Vec<_> = schedule.iter().map(|meeting| Meeting { n_games: N_STUDIES * meeting.n_games, ..*meeting }).collect();
    let mut study = Study::new(SOURCES.len(), &many);
    study.charge_rates(&rates, |source| N_STUDIES * rows[source][8] as u32);
    let profile = study.profile(0);

    for (source, name) in SHORT.into_iter().enumerate() {
        let total = row_total(&profile.per_matchup(source).unwrap());
        // The printed total was rounded by itself and may lie one unit off the sum of rounded cells.
        let id = format!("p1.G2a.row.{name}");
        ledger.printed_in(&id, &json!(rows[source][7]));
        ledger.check(&id, "error_profile::ErrorProfile::per_matchup", &json!(total), 2.0 * half_unit(2));
    }
    // Each rate may be off by half a unit, in every game.
    let open = half_unit(2) * rows.iter().map(|row| row[8]).sum::<f64>();
    let names = ["over", "fd", "wt", "wv", "mp", "mn", "mr"];
    for ((&total, name), raw) in profile.total().0.iter().zip(names).zip(counts_of(&g2["a"]["raw_n"])) {
        let id = format!("p1.G2a.col.{name}");
        let errors = f64::from(total) / f64::from(N_STUDIES);
        ledger.printed_in(&id, &json!(raw));
        ledger.check(&id, "error_profile::ErrorProfile::total", &json!(errors), open);
    }
    penalties(ledger, g2, &profile);
}

/// Every source's penalty over all games lies between those of the two strata and says how many games each had.
fn penalties(ledger: &mut Ledger, g2: &Value, profile: &ErrorProfile) {
    let id = "p1.G2c.penalty";
    let rubric = Rubric::from(Scheme::Prespecified);
    let strata: Vec<_> = g2["c"]["rows"].as_object().unwrap().values().map(numbers).collect();
    let games = column(&g2["a"]["rows"], 8);
    let unaided: Vec<_> = (0..SOURCES.len())
        .map(|source| {
            let penalty = rubric.points(&profile.counts[source]) / f64::from(profile.n_games[source]);
            games[source] * (penalty - strata[source][2]) / (strata[source][0] - strata[source][2])
        })
        .collect();
    let most = |cases: &str| number(&g2["c_text"][cases]) * (SOURCES.len() - 1) as f64;
    let feasible = unaided.iter().zip(&games).all(|(unaided, games)| {
        (0.0..=most("n_unaided_cases")).contains(unaided) && (0.0..=most("n_assisted_cases")).contains(&(games - unaided))
    });
    assert_eq!(most("n_unaided_cases"), 80.0);
    ledger.check_as(
        id,
        "rubric::Rubric::points",
        &by_source(|source| json!(unaided[source])),
        &json!({"feasible<=80": feasible}),
        0.0,
    );
}

/// Ratings from mean shares and schedule. Shares are printed to a tenth of a percent, which leaves the ratings open by
/// a few tenths: some shares that print as the paper's must give all of its ratings.
fn rating_from_totals(ledger: &mut Ledger, table: &Value, schedule: &[Meeting]) {
    let id = "p1.BT";
    let shares: Vec<_> = column(table, 1).into_iter().map(|share| share / 100.0).collect();
    let ratings = |shares: &[f64]| fit_totals(shares, schedule).unwrap().fit.unwrap().ratings;
    let point = ratings(&shares);
    let printed = column(table, 0);

    let n = shares.len();
    let (mut lowest, mut highest) = (point.clone(), point.clone());
    let mut printing = None;
    for corner in 0..3usize.pow(n as u32) {
        let moved = |source: usize| (corner / 3usize.pow(source as u32) % 3) as f64 - 1.0;
        let near: Vec<_> = (0..n).map(|source| shares[source] + 0.000_5 * moved(source)).collect();
        let ratings = ratings(&near);
        for source in 0..n {
            lowest[source] = lowest[source].min(ratings[source]);
            highest[source] = highest[source].max(ratings[source]);
        }
        if ratings.iter().zip(&printed).all(|(rating, printed)| prints_as(*rating, *printed, 0)) {
            printing = Some(ratings);
        }
    }
    let (listed, whole_ratings) = (ledger.fact(id).computed, printed.iter().map(|&rating| rating as u32).collect::<Vec<_>>());
    ledger.printed_in(id, &json!(whole_ratings));
    for source in 0..n {
        let name = SOURCES[source];
        let near = prints_as(point[source], number(&listed["point"][source]), 1);
        ledger.require(id, near, || format!("{name}: {}, the list says {}", point[source], listed["point"][source]));
        let range =
            [&listed["range_over_share_rounding"][0][source], &listed["range_over_share_rounding"][1][source]].map(number);
        let covers = lowest[source] <= range[0] + 0.01 && range[1] <= highest[source] + 0.01;
        ledger.require(id, covers, || format!("{name}: {} to {}, the list says {range:?}", lowest[source], highest[source]));
    }
    let shown = json!({"point": point, "lowest": lowest, "highest": highest});
    let printing = printing.unwrap_or(point);
    ledger.check_printed(id, "bradley_terry::fit_totals", &shown, &json!(printing), half_unit(0));
}

fn rating_tables(ledger: &mut Ledger, g2: &Value) {
    let rows = &g2["b"]["rows"];
    let scheme = |name: &str| refit(&numbers(&rows[name]));
    for name in row_names(rows) {
        ledger.check(&format!("p1.center.{name}"), RATINGS, &json!(scheme(name).mean), half_unit(0));
    }
    for (name, place) in [("unaided", 1), ("assisted", 3)] {
        let mean = refit(&column(&g2["c"]["rows"], place)).mean;
        ledger.check(&format!("p1.center.{name}"), RATINGS, &json!(mean), half_unit(0));
    }
    let order = scheme("prespecified").order();
    let unchanged = ["equal", "timing"].into_iter().all(|name| scheme(name).order() == order);
    ledger.check("p1.order_equal_timing", RATINGS, &json!(unchanged), 0.0);
    ledger.check("p1.order_recall", RATINGS, &json!(scheme("recall").order() != order), 0.0);
}

/// Table G.1(d): cases whose points give its wins, losses, ties, points and share.
fn controlled_comparisons(ledger: &mut Ledger, rows: &Value) {
    let (mut games, mut played, mut points, mut shares) = (Map::new(), Map::new(), Map::new(), Vec::new());
    for (backbone, row) in rows.as_object().unwrap() {
        let [n_cases, n_empty, total, wins, losses, ties] = [0, 1, 2, 6, 7, 8].map(|place| count(&row[place]));
        let printed = number(&row[3]);
        // Points come in halves; those that print as the paper's share.
        let one_case = |own: f64| [CasePoints { own, other: f64::from(total) - own, empty: false }];
        let share = |own: f64| 100.0 * PooledShare::from_cases(&one_case(own)).unwrap().share.unwrap();
        let fitting: Vec<_> =
            (0..=2 * total).map(|halves| f64::from(halves) / 2.0).filter(|&own| prints_as(share(own), printed, 1)).collect();

        let own = fitting[0];
        let cases = cases(own, f64::from(total) - own, [wins, losses, ties], n_empty);
        let result = PooledShare::from_cases(&cases).unwrap();
        assert_eq!((result.n_cases, result.points), (n_cases as usize, f64::from(total)), "{backbone}");
        let interval = Interval { lo: number(&row[4]) / 100.0, hi: number(&row[5]) / 100.0 };
        assert_eq!(is_separated(&interval), row[9].as_bool().unwrap(), "{backbone}");
        let (not_empty, all) = (result.n_cases - result.n_empty, result.wins + result.losses + result.ties);
        assert_eq!([result.wins, result.losses, result.ties], [wins, losses, ties].map(|n| n as usize), "{backbone}");
        games.insert(backbone.clone(), json!([not_empty, all]));
        played.insert(backbone.clone(), json!(all));
        shares.push(100.0 * result.share.unwrap());
        points.insert(backbone.clone(), json!(fitting));
    }
    ledger.check_as("p1.WLT", POOLED_SHARE, &json!(games), &json!(played), 0.0);
    ledger.printed_in("p1.points", &json!(column(rows, 3)));
    ledger.check_as("p1.points", POOLED_SHARE, &json!(points), &json!(shares), half_unit(1));
}

/// Cases that add up to these points, won, lost and tied this often.
fn cases(own: f64, other: f64, [wins, losses, ties]: [u32; 3], n_empty: u32) -> Vec<CasePoints> {
    let case = |own, other| CasePoints { own, other, empty: false };
    let mut cases = vec![case(1.0, 1.0); ties as usize];
    cases.extend(vec![case(0.5, 0.0); wins as usize - 1]);
    cases.extend(vec![case(0.0, 0.5); losses as usize - 1]);
    // One case is won and one lost by all that is left.
    let own_left = own - cases.iter().map(|case| case.own).sum::<f64>();
    let other_left = other - cases.iter().map(|case| case.other).sum::<f64>();
    cases.extend([case(own_left, 0.0), case(0.0, other_left)]);
    cases.extend(vec![CasePoints { own: 0.0, other: 0.0, empty: true }; n_empty as usize]);
    cases
}

//! Assize beside what people run today, on the same inputs in one run: the Bradley-Terry bootstrap through choix, and the published
//! comparison procedure in Python. Both must give the same numbers, or the bench fails.
//!
//! Assize is timed on one thread, as Python is. `benches/peers/setup.sh .peers/python` makes the Python side; `make bench` does all.

mod workload;

use assize::data::{Event, EventTime, Hours};
use assize::measure::bootstrap::{CaseShares, bootstrap};
use assize::measure::levenshtein::LevenshteinPattern;
use assize::measure::matching::Matcher;
use assize::measure::resample::CaseResampler;
use assize::pipelines::evaluate::{Compat, EvaluationSettings, MatchedCase, SourceMatches, evaluate};
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use workload::{Random, composed, event_texts, games, hours, threads};

const SEED: u64 = 20_260_904;
const N_RESAMPLES: usize = 2_000;

fn main() {
    // `cargo test --benches` and `cargo bench -- --list` ask for other things.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join(".peers/python/bin/python");
    if !python.exists() {
        println!("skipped: no Python peers; `sh benches/peers/setup.sh .peers/python` installs them");
        return;
    }
    let peers = Peers { python, scripts: root.join("benches/peers") };
    ratings(&peers);
    procedure(&peers, "200 cases of 50 x 50", 200, 50);
    procedure(&peers, "10 cases of 200 x 200", 10, 200);
    procedure(&peers, "1 case of 1000 x 1000", 1, 1_000);
}

struct Peers {
    python: PathBuf,
    scripts: PathBuf,
}

impl Peers {
    /// What the script prints for `input`.
    fn run(&self, script: &str, input: &Value, more: &[&str]) -> Value {
        let file = std::env::temp_dir().join(format!("assize-{}.json", std::process::id()));
        fs::write(&file, input.to_string()).expect("a temporary file");
        let output =
            Command::new(&self.python).arg(self.scripts.join(script)).arg(&file).args(more).output().expect("the peer starts");
        fs::remove_file(&file).expect("the file just written");
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("the peer prints JSON")
    }
}

/// The best of seven runs, in seconds, and the result.
fn time<T>(mut work: impl FnMut() -> T) -> (f64, T) {
    let mut best = f64::INFINITY;
    let mut result = None;
    for _ in 0..7 {
        let started = Instant::now();
        result = Some(work());
        best = best.min(started.elapsed().as_secs_f64());
    }
    (best, result.expect("seven results"))
}

fn say(name: &str, form: &str, seconds: f64, peer: &Value, worst: f64) {
    let theirs = peer["seconds"].as_f64().expect("seconds");
    println!(
        "{name}: assize {:.3} ms, {form} {theirs:.3} s, ratio {:.0}; largest difference {worst:.1e}",
        seconds * 1e3,
        theirs / seconds
    );
}

/// The largest absolute difference; a value that only one side defines fails.
fn worst_difference(ours: &[Option<f64>], theirs: &[Option<f64>]) -> f64 {
    assert_eq!(ours.len(), theirs.len());
    let difference = |(x, y): (&Option<f64>, &Option<f64>)| match (x, y) {
        (Some(x), Some(y)) => (x - y).abs(),
        (None, None) => 0.0,
        _ => panic!("{x:?} here, {y:?} there"),
    };
    ours.iter().zip(theirs).map(difference).fold(0.0, f64::max)
}

fn ratings(peers: &Peers) {
    let (n_entrants, n_cases, games) = games();
    let sampler = CaseResampler { seed: SEED, n_cases };
    let resamples: Vec<Vec<usize>> = (0..N_RESAMPLES as u64).map(|r| sampler.indices(r).collect()).collect();
    let listed: Vec<Value> = games.iter().map(|game| json!([game.case, game.a, game.b, game.share_a])).collect();
    let input = json!({"n_entrants": n_entrants, "n_cases": n_cases, "games": listed, "resamples": resamples});
    let work = || bootstrap(&CaseShares::from_games(n_entrants, n_cases, &games).expect("valid games"), N_RESAMPLES, SEED);
    let (seconds, ours) = threads(1).install(|| time(work));
    for n_threads in [2, 8] {
        assert_eq!(threads(n_threads).install(work), ours, "equal for any number of threads");
    }
    let peer = peers.run("bt_choix.py", &input, &[]);
    let theirs: Vec<Option<f64>> = peer["ratings"].as_array().expect("ratings").iter().flat_map(numbers).collect();
    let by_resample = (0..N_RESAMPLES).flat_map(|r| ours.ratings.values.iter().map(move |values| Some(values[r])));
    let worst = worst_difference(&by_resample.collect::<Vec<_>>(), &theirs);
    assert!(worst < 1e-3, "ratings differ by {worst}");
    say("Bradley-Terry, 8 entrants, 280 games, 2,000 resamples", "choix", seconds, &peer, worst);
}

/// A JSON list of numbers and nulls.
fn numbers(list: &Value) -> Vec<Option<f64>> {
    list.as_array().expect("a list").iter().map(Value::as_f64).collect()
}

struct Case {
    reference: Vec<Event>,
    prediction: Vec<Event>,
    /// `[N_ref, N_pred]`, given: neither side is timed on making them.
    distances: Vec<f64>,
}

impl Case {
    fn new(texts: &[String], n: usize, random: &mut Random) -> Self {
        let event = |text, hours: Option<f64>| {
            let time = hours.map_or(EventTime::NotAvailable, |hours| EventTime::At(Hours::new(hours).expect("finite hours")));
            Event { text, time, line: 1, uid: None }
        };
        let reference: Vec<Event> = composed(texts, n, random).into_iter().map(|text| event(text, hours(random))).collect();
        // Three of five predictions are the reference with another ending, the others are something else.
        let predicted = |own: &Event| match random.below(5) {
            0 | 1 => event(composed(texts, 1, random).remove(0), hours(random)),
            _ => {
                let end = composed(texts, 1, random).remove(0);
                let kept: String = own.text.chars().chain(end.chars().take(random.below(12))).collect();
                let late = random.below(9) as f64 * 12.0;
                event(kept, own.time.hours().map(|hours| hours.get() + late))
            }
        };
        let prediction: Vec<Event> = reference.iter().map(predicted).collect();
        let mut distances = Vec::with_capacity(n * n);
        for event in &reference {
            let pattern = LevenshteinPattern::new(&event.text);
            distances.extend(prediction.iter().map(|other| pattern.normalised(&other.text)));
        }
        Self { reference, prediction, distances }
    }

    fn to_json(&self) -> Value {
        let times = |events: &[Event]| events.iter().map(|event| event.time.hours().map(Hours::get)).collect::<Vec<_>>();
        json!({
            "n_ref": self.reference.len(),
            "n_pred": self.prediction.len(),
            "distances": self.distances,
            "t_ref": times(&self.reference),
            "t_pred": times(&self.prediction),
        })
    }
}

fn procedure(peers: &Peers, name: &str, n_cases: usize, n: usize) {
    let texts = event_texts();
    let mut random = Random::new(5);
    let cases: Vec<Case> = (0..n_cases).map(|_| Case::new(&texts, n, &mut random)).collect();
    let (seconds, ours) = threads(1).install(|| time(|| published_measures(&cases)));
    let input = json!({"cases": cases.iter().map(Case::to_json).collect::<Vec<_>>()});
    for form in ["loops", "numpy"] {
        let peer = peers.run("published_procedure.py", &input, &[form]);
        let theirs: Vec<Option<f64>> = peer["table"].as_array().expect("a table").iter().flat_map(numbers).collect();
        let worst = worst_difference(&ours, &theirs);
        assert!(worst < 1e-9, "{name}, {form}: {worst}");
        say(&format!("published procedure, {name}"), &format!("Python {form}"), seconds, &peer, worst);
    }
}

/// Match rate, mean and median concordance and area at each threshold, one after another.
fn published_measures(cases: &[Case]) -> Vec<Option<f64>> {
    let mut source = SourceMatches::new("source");
    for case in cases {
        let matched = MatchedCase::from_distances(&case.reference, &case.prediction, &case.distances, Matcher::Rounds);
        source.push(matched.expect("a full matrix"));
    }
    let settings = EvaluationSettings { threshold: 0.1, compat: Compat::Authors, n_resamples: 0, seed: SEED };
    let evaluation = evaluate(&[source], &settings).expect("a finite threshold");
    let points = evaluation.sweep.curves[0].iter();
    points.flat_map(|point| [point.match_rate, point.concordance_mean, point.concordance_median, point.aultc]).collect()
}

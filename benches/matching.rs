//! One case matched and measured at all fifty thresholds, given the distances, on one thread.

mod workload;

use assize::measure::matching::{DistanceMatrix, Matcher, Pair};
use assize::measure::sweep::{CaseMatches, Sweep, TimeRules, thresholds};
use assize::measure::timed_pair::TimedPair;
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;
use workload::{SHAPES, distances, hours, threads};

/// Times of every event, by index.
fn times(n: usize) -> Vec<(Option<f64>, Option<f64>)> {
    let mut random = workload::Random::new(4);
    (0..n).map(|_| (hours(&mut random), hours(&mut random))).collect()
}

/// Matching and the sweep of match rate, concordance and AULTC over .01 to .50.
fn all_thresholds(matcher: Matcher, matrix: DistanceMatrix<'_, f64>, times: &[(Option<f64>, Option<f64>)]) -> Sweep {
    let mut pairs: Vec<Pair> = matcher.pairs(matrix);
    pairs.sort_by(|x, y| x.distance.total_cmp(&y.distance));
    let timed = |pair: &Pair| {
        TimedPair::new(pair.distance, times[pair.reference as usize].0, times[pair.prediction as usize].1)
            .expect("finite numbers")
    };
    let timed: Vec<TimedPair> = pairs.iter().map(timed).collect();
    let case = CaseMatches::new(matrix.n_ref() as u64, &timed).expect("ascending pairs");
    Sweep::new(&[vec![case]], &thresholds(), TimeRules::PAPER).expect("finite thresholds")
}

fn square(criterion: &mut Criterion, n: usize, n_samples: usize) {
    let mut group = criterion.benchmark_group(format!("matching_all_thresholds_{n}x{n}"));
    group.sample_size(n_samples).warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(5));
    let times = times(n);
    let pool = threads(1);
    for shape in SHAPES {
        let values = distances(shape, n);
        let matrix = DistanceMatrix::new(n, n, &values).expect("a square matrix");
        for matcher in Matcher::ALL {
            group.bench_function(format!("{shape}/{matcher}"), |bencher| {
                pool.install(|| bencher.iter(|| all_thresholds(matcher, black_box(matrix), &times)));
            });
        }
    }
    group.finish();
}

fn matching(criterion: &mut Criterion) {
    for (n, n_samples) in [(250, 50), (500, 50), (1_000, 30), (2_000, 10), (5_000, 10)] {
        square(criterion, n, n_samples);
    }
}

criterion_group!(benches, matching);
criterion_main!(benches);

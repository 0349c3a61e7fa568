//! Case bootstrap of a Bradley-Terry fit: 2,000 resamples of 8 entrants and 280 games.

mod workload;

use assize::measure::bootstrap::{CaseShares, bootstrap};
use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use workload::{games, threads};

fn ratings(criterion: &mut Criterion) {
    let (n_entrants, n_cases, games) = games();
    let mut group = criterion.benchmark_group("bradley_terry_bootstrap_8x280x2000");
    for n_threads in [1, 2] {
        let pool = threads(n_threads);
        group.bench_function(format!("{n_threads}_threads"), |bencher| {
            pool.install(|| {
                bencher.iter(|| {
                    let cases = CaseShares::from_games(n_entrants, n_cases, black_box(&games)).expect("valid games");
                    bootstrap(&cases, 2_000, 20_260_904)
                });
            });
        });
    }
    group.finish();
}

criterion_group!(benches, ratings);
criterion_main!(benches);

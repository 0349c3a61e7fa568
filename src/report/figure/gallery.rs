//! Test only: every figure filled with made-up numbers, for tests and to be looked at.

use super::overlap::assert_all_apart;
use super::*;
use crate::report::table::Table;

/// Names as long as sources have them: 45 characters.
const NAMES: [&str; 8] = [
    "annotator-01 (double read, adjudicated draft)",
    "gpt-oss-120b-mxfp4 / prompt v3 / temp 0 / 8k ",
    "llama-3.3-70b-instruct-q4_k_m.gguf seed 20260",
    "qwen3-32b-awq thinking, two passes and merged",
    "MedGemma 27B text-only, structured decoding B",
    "Mistral-Small-3.2-24B-Instruct-2506 Q6_K_L v1",
    "rule-based HeidelTime + UMLS dictionary match",
    "WWWWWWWWMMMMMMMM upper case is the widest one",
];
const SYMPTOMS: [&str; 8] = [
    "Pyrexia",
    "Headache",
    "Injection site pain",
    "Fatigue",
    "Chills",
    "Myalgia",
    "Nausea",
    "Disseminated intravascular coagulation, acute",
];

/// A number from 0 to 1 that looks random and depends on its arguments alone.
fn noise(i: usize, k: usize) -> f64 {
    let mut h = (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (k as u64 + 7).wrapping_mul(0xc2b2_ae3d_27d4_eb4f);
    h ^= h >> 29;
    h = h.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    h ^= h >> 32;
    (h >> 11) as f64 / (1u64 << 53) as f64
}

pub(super) fn leaderboard(n: usize) -> LeaderboardFigure {
    let mark = |i: usize| {
        let value = 1640.0 - 38.0 * i as f64 + 20.0 * noise(i, 0);
        LeaderboardMark { source: NAMES[i].to_owned(), value, interval: Some((value - 31.0 - 9.0 * noise(i, 1), value + 38.0)) }
    };
    LeaderboardFigure { scale: LeaderboardScale::Rating, marks: (0..n).map(mark).collect() }
}

pub(super) fn error_profile(n: usize) -> ErrorProfileFigure {
    let categories = [
        "Over-annotation",
        "False duplicate",
        "Wrong time",
        "Wrong value",
        "Missed positive",
        "Missed negative",
        "Missed recurrence",
    ];
    let bars =
        (0..n).map(|i| ProfileBar { source: NAMES[i].to_owned(), values: (0..7).map(|k| 3.0 * noise(i, k).powi(2)).collect() });
    ErrorProfileFigure {
        axis: "discrepancies a game".to_owned(),
        categories: categories.map(str::to_owned).to_vec(),
        bars: bars.collect(),
    }
}

pub(super) fn sweep(n: usize, form: SweepForm) -> SweepFigure {
    let series = (0..n).map(|i| {
        let points = (1..=50u32).map(|k| {
            let t = f64::from(k) / 100.0;
            let grown = 1.0 - (-t * (7.0 - 0.4 * i as f64)).exp();
            SweepPoint {
                threshold: t,
                match_rate: Some((0.12 + 0.75 * grown - 0.035 * i as f64).max(0.0)),
                concordance: Some(0.985 - 0.006 * i as f64 - (0.05 + 0.004 * i as f64) * grown + 0.003 * noise(i, k as usize)),
                aultc: Some(0.93 - 0.012 * i as f64 - 0.12 * grown),
            }
        });
        SweepSeries { source: NAMES[i].to_owned(), points: points.collect() }
    });
    SweepFigure { form, distance: "cosine distance of event embeddings".to_owned(), series: series.collect() }
}

pub(super) fn error_cdf(n: usize) -> ErrorCdfFigure {
    let series = (0..n).map(|i| {
        let errors = (0..400 + 37 * i).map(|k| match noise(i, k) {
            u if u < 0.42 - 0.03 * i as f64 => 0.0,
            _ => (11.0 * noise(i, k + 5000).powf(1.3)).exp_m1().floor(),
        });
        ErrorCdfSeries::new(NAMES[i], errors.collect()).expect("finite errors")
    });
    ErrorCdfFigure { series: series.collect() }
}

pub(super) fn stage_histogram(n: usize, unit: StageUnit) -> StageHistogramFigure {
    let series = (0..n).map(|i| {
        let count = |k: usize| (1000.0 * (-(k as f64 - 1.6).powi(2) / (2.5 + 0.4 * i as f64)).exp() + 60.0 * noise(i, k)) as u64;
        StageSeries { name: NAMES[i].to_owned(), counts: [0, 1, 2, 3, 4, 5].map(count) }
    });
    StageHistogramFigure { unit, series: series.collect() }
}

pub(super) fn transition_map(n: usize, shares: bool) -> TransitionMapFigure {
    let label = |k: usize| {
        SYMPTOMS.get(k).map_or_else(|| format!("Symptom number {k} of the coding dictionary in use"), |&s| s.to_owned())
    };
    let labels: Vec<String> = (0..n).map(label).collect();
    let value = |r: usize, c: usize| if r == c { 0.0 } else { noise(r, c).powi(3) };
    let cells = match shares {
        true => MapCells::Shares((0..n).map(|r| (0..n).map(|c| Some(value(r, c))).collect()).collect()),
        false => MapCells::Counts((0..n).map(|r| (0..n).map(|c| (1400.0 * value(r, c)) as u64).collect()).collect()),
    };
    TransitionMapFigure {
        row_axis: "first symptom".to_owned(),
        column_axis: "later symptom".to_owned(),
        value_axis: if shares { "share of the reports with this first symptom" } else { "reports" }.to_owned(),
        rows: labels.clone(),
        columns: labels,
        cells,
    }
}

/// Two maps whose labels differ between rows and columns, as full names and as short ones.
fn uneven_maps() -> [TransitionMapFigure; 2] {
    let mut long = transition_map(8, false);
    long.columns = NAMES.map(str::to_owned).to_vec();
    let mut short = transition_map(6, true);
    short.columns = ["Rash", "Pain", "Chills", "Cough", "Injection site pain", "Nausea"].map(str::to_owned).to_vec();
    [long, short]
}

/// Every kind of figure with `n` series.
fn all(n: usize) -> Vec<(&'static str, Svg, Table)> {
    let forms = [
        ("sweep-rate-concordance", SweepForm::RateConcordance),
        ("sweep-rate-aultc", SweepForm::RateAultc),
        ("sweep-threshold-rate", SweepForm::ThresholdRate),
        ("sweep-threshold-concordance", SweepForm::ThresholdConcordance),
        ("sweep-threshold-aultc", SweepForm::ThresholdAultc),
    ];
    let mut figures: Vec<_> = forms
        .into_iter()
        .map(|(name, form)| {
            let figure = sweep(n, form);
            (name, figure.draw().unwrap(), figure.data().unwrap())
        })
        .collect();
    let (board, profile, cdf) = (leaderboard(n), error_profile(n), error_cdf(n));
    figures.push(("leaderboard", board.draw().unwrap(), board.data().unwrap()));
    figures.push(("error-profile", profile.draw().unwrap(), profile.data().unwrap()));
    figures.push(("error-cdf", cdf.draw().unwrap(), cdf.data().unwrap()));
    for (name, unit) in [("stages-share", StageUnit::Share), ("stages-timelines", StageUnit::Timelines)] {
        let figure = stage_histogram(n, unit);
        figures.push((name, figure.draw().unwrap(), figure.data().unwrap()));
    }
    let [long, short] = uneven_maps();
    let maps = [
        ("transitions-shares", transition_map(n, true)),
        ("transitions-counts", transition_map(n, false)),
        ("transitions-key", long),
        ("transitions-short", short),
    ];
    for (name, figure) in maps {
        figures.push((name, figure.draw().unwrap(), figure.data().unwrap()));
    }
    figures
}

#[test]
fn no_labels_overlap() {
    for n in [1, 2, 5, 8] {
        for (name, svg, _) in all(n) {
            println!("{name} with {n}");
            assert_all_apart(&svg);
        }
    }
    for n in [12, 16, 20] {
        assert_all_apart(&transition_map(n, true).draw().unwrap());
        assert_all_apart(&transition_map(n, false).draw().unwrap());
    }
}

#[test]
fn no_labels_overlap_in_odd_cases() {
    // Lines that coincide, lines of one point, more lines than colours, names in wide letters, values at the ends.
    for form in [SweepForm::RateConcordance, SweepForm::ThresholdAultc] {
        let mut same = sweep(8, form);
        let points = same.series[0].points.clone();
        same.series.iter_mut().for_each(|line| line.points = points.clone());
        assert_all_apart(&same.draw().unwrap());
        for value in [0.0, 1.0] {
            let mut single = sweep(8, form);
            for line in &mut single.series {
                line.points.truncate(1);
                line.points[0] =
                    SweepPoint { match_rate: Some(value), concordance: Some(value), aultc: Some(value), ..line.points[0] };
            }
            assert_all_apart(&single.draw().unwrap());
        }
        let mut many = sweep(1, form);
        let line = many.series[0].clone();
        many.series =
            (0..24).map(|i| SweepSeries { source: format!("日本語の長い名前 {i}"), points: line.points.clone() }).collect();
        let svg = many.draw().unwrap();
        // The bundled typeface has no such letters, so only the estimate is checked.
        super::overlap::assert_apart(svg.as_str());
        assert!(svg.to_png(1.0).is_ok());
    }
    for errors in [vec![0.0], vec![1e12], vec![0.0, f64::MAX]] {
        let figure = ErrorCdfFigure { series: vec![ErrorCdfSeries::new(NAMES[7], errors).unwrap()] };
        assert_all_apart(&figure.draw().unwrap());
    }
    for counts in [[1, 0, 0, 0, 0, 0], [1_000_000_000; 6], [0, 0, 0, 0, 0, u64::MAX]] {
        for unit in [StageUnit::Share, StageUnit::Timelines] {
            let series = vec![StageSeries { name: NAMES[7].to_owned(), counts }];
            assert_all_apart(&StageHistogramFigure { unit, series }.draw().unwrap());
        }
    }
    for value in [0, 1, 9999, 1_234_567, u64::MAX] {
        for n in [1, 8, 20] {
            let mut figure = transition_map(n, false);
            figure.cells = MapCells::Counts(vec![vec![value; n]; n]);
            assert_all_apart(&figure.draw().unwrap());
        }
    }
}

#[test]
fn equal_views_give_equal_bytes_and_complete_tables() {
    for ((name, svg, table), (_, again, table_again)) in all(4).into_iter().zip(all(4)) {
        assert_eq!(svg, again, "{name}");
        assert_eq!(table.to_csv().unwrap(), table_again.to_csv().unwrap());
        assert!(!table.rows().is_empty() && !svg.as_str().contains("NaN") && !svg.as_str().contains("inf"), "{name}");
    }
}

#[test]
fn drawings_stand_alone() {
    for (name, svg, _) in all(8) {
        let svg = svg.as_str();
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\"") && svg.ends_with("</svg>\n"), "{name}");
        assert!(svg.contains("prefers-color-scheme:dark") && svg.contains("<rect class=\"az-back\""), "{name}");
        assert!(!svg.contains(" id=") && !svg.contains("url("), "{name}: two in one page would share names");
    }
}

#[test]
fn hostile_names_are_escaped_everywhere() {
    let hostile = "</text><script>alert(1)</script>";
    let mut drawn = Vec::new();
    let mut figure = sweep(2, SweepForm::RateAultc);
    (figure.series[0].source, figure.distance) = (hostile.to_owned(), hostile.to_owned());
    drawn.push(figure.draw().unwrap());
    let mut figure = error_cdf(2);
    figure.series[1].source = hostile.to_owned();
    drawn.push(figure.draw().unwrap());
    let mut figure = stage_histogram(1, StageUnit::Share);
    figure.series[0].name = hostile.to_owned();
    drawn.push(figure.draw().unwrap());
    let mut figure = transition_map(2, false);
    (figure.rows[0], figure.columns[1]) = (hostile.to_owned(), hostile.to_owned());
    (figure.row_axis, figure.column_axis, figure.value_axis) = (hostile.to_owned(), hostile.to_owned(), hostile.to_owned());
    drawn.push(figure.draw().unwrap());
    for svg in drawn {
        assert!(!svg.as_str().contains("<script") && svg.as_str().contains("&lt;"));
        assert!(svg.tree().is_ok());
    }
}

//! `evaluate`: distances of texts, rules of the temporal measures, thresholds, and what is written.

use crate::program::{Folder, Ran, assert_same_tree};
use crate::sheet::{BOM, Sheet};
use crate::study::{assert_near, row};
use serde_json::{Value, json};
use std::fs;

/// Evaluates `pred` against `manual`.
fn evaluate(folder: &Folder, more: &[&str]) -> Ran {
    folder.assize(&[&["evaluate", "--reference", "manual", "--prediction", "pred", "--resamples", "50"], more].concat())
}

/// The only source's row of the main table.
fn only(ran: &Ran) -> Value {
    ran.json()["evaluation"][0].clone()
}

/// A NumPy file of a matrix, `descr` being `<f4` or `<f8`.
fn npy(descr: &str, rows: &[[f64; 2]]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({}, 2), }}", rows.len());
    // Magic, version and length are 10 bytes; the data start at a multiple of 64.
    header += &" ".repeat(63 - (10 + header.len()) % 64);
    header.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.bytes());
    for x in rows.iter().flatten() {
        match descr {
            "<f4" => bytes.extend((*x as f32).to_le_bytes()),
            _ => bytes.extend(x.to_le_bytes()),
        }
    }
    bytes
}

fn safetensors(rows: &[[f64; 2]]) -> Vec<u8> {
    let data: Vec<u8> = rows.iter().flatten().flat_map(|x| (*x as f32).to_le_bytes()).collect();
    let header = json!({"embeddings": {"dtype": "F32", "shape": [rows.len(), 2], "data_offsets": [0, data.len()]}}).to_string();
    [&(header.len() as u64).to_le_bytes()[..], header.as_bytes(), &data].concat()
}

/// Embeddings of the six texts of [`embedded`]; none but the fourth has length 1.
const VECTORS: [[f64; 2]; 6] = [[2.0, 0.0], [0.0, 3.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.5], [30.0, 40.0]];

/// Three reference events and three others, with embeddings.
fn embedded() -> Folder {
    let folder = Folder::new();
    folder
        .write("manual/one.csv", "event,time\nfever,-24\ncough,0\nrash,24\n")
        .write("pred/one.csv", "event,time\nhot,-20\ncoughing,0\n\"rash, itchy\",48\n")
        .write("texts.txt", "fever\ncough\nrash\nhot\ncoughing\nrash, itchy\n")
        .write("v.npy", npy("<f4", &VECTORS));
    folder
}

fn by_vectors(folder: &Folder, vectors: &str, more: &[&str]) -> Ran {
    evaluate(folder, &[&["--distance", "embedding", "--vectors", vectors, "--texts", "texts.txt"], more].concat())
}

#[test]
fn the_distance_of_embeddings_is_one_minus_the_cosine() {
    let folder = embedded();
    let ran = by_vectors(&folder, "v.npy", &["--pairs", "pairs.csv", "--out", "npy", "--json"]).exits(0);
    // fever and hot, cough and coughing have one direction. (1, 1) and (3, 4) meet at the cosine 7 / (5 √2) = 0.989949.
    let pairs = Sheet::read(&folder, "pairs.csv");
    let distances = [("fever", "hot", 0.0), ("cough", "coughing", 0.0), ("rash", "rash, itchy", 0.010_050_5)];
    for (at, (reference, prediction, distance)) in distances.into_iter().enumerate() {
        assert_eq!((pairs.get(at, "reference"), pairs.get(at, "prediction")), (reference, prediction));
        assert!((pairs.get(at, "distance").parse::<f64>().unwrap() - distance).abs() < 1e-6, "{pairs:?}");
    }
    assert_eq!(pairs.rows.len(), 3);
    // Errors of 4, 0 and 24 hours: ln(1 + error) is 0, ln 5 and 2 ln 5, so ((1 · 0 + 2 · ln 5 + 3 · ln 5) / 3) / (2 ln 5).
    let row = only(&ran);
    assert_eq!((&row["match_rate"], &row["concordance_mean"]), (&json!(1.0), &json!(1.0)));
    assert_near(&row["aultc"], 5.0 / 6.0, 1e-9);
    let below = only(&by_vectors(&folder, "v.npy", &["--threshold", "0.01", "--out", "below", "--json"]).exits(0));
    assert_near(&below["match_rate"], 2.0 / 3.0, 1e-9);
    folder.write("v.safetensors", safetensors(&VECTORS)).write("double.npy", npy("<f8", &VECTORS));
    for vectors in ["v.safetensors", "double.npy"] {
        by_vectors(&folder, vectors, &["--out", vectors.split('.').next().unwrap()]).exits(0);
    }
    // The settings name each file by its hash.
    let hashes: Vec<String> = ["npy", "v", "double"].map(|out| folder.read(&format!("{out}/settings.json"))).to_vec();
    assert!(hashes.iter().all(|settings| settings.contains("vectors sha256")) && hashes[0] != hashes[1]);
    for out in ["npy", "v", "double"] {
        std::fs::remove_file(folder.join(out).join("settings.json")).unwrap();
    }
    assert_same_tree(&folder.join("npy"), &folder.join("v"));
    assert_same_tree(&folder.join("npy"), &folder.join("double"));
}

#[test]
fn texts_of_embeddings_may_repeat_but_not_contradict() {
    let folder = embedded();
    let texts = folder.read("texts.txt").replace('\n', "\r\n");
    folder.write("texts.txt", format!("{BOM}{texts}fever\r\n"));
    folder.write("v.npy", npy("<f4", &[&VECTORS[..], &[[4.0, 0.0]]].concat()));
    let row = only(&by_vectors(&folder, "v.npy", &["--json"]).exits(0));
    assert_eq!(row["match_rate"], 1.0);
    folder.write("v.npy", npy("<f4", &[&VECTORS[..], &[[0.0, 4.0]]].concat()));
    by_vectors(&folder, "v.npy", &[]).exits(2).says("texts.txt: lines 1 and 7 are the same text").hides("fever");
}

#[test]
fn an_equal_text_is_never_at_a_distance_below_zero() {
    let folder = Folder::new();
    let texts: Vec<String> = (1..=200).map(|i| format!("event {i}")).collect();
    let timeline = format!("event,time\n{}", texts.iter().map(|text| format!("{text},0\n")).collect::<String>());
    let vector = |i: i32| [f64::from(i) * (f64::from(i) / 128.0).cos(), f64::from(i) * (f64::from(i) / 128.0).sin()];
    let vectors: Vec<[f64; 2]> = (1..=200).map(vector).collect();
    folder
        .write("manual/one.csv", &timeline)
        .write("pred/one.csv", &timeline)
        .write("texts.txt", texts.join("\n"))
        .write("v.npy", npy("<f4", &vectors));
    by_vectors(&folder, "v.npy", &["--pairs", "pairs.csv"]).exits(0);
    let pairs = Sheet::read(&folder, "pairs.csv");
    assert_eq!(pairs.rows.len(), 200);
    for distance in pairs.column("distance") {
        let distance: f64 = distance.parse().unwrap();
        assert!((0.0..1e-6).contains(&distance), "{distance}");
    }
    let ran = folder.assize(&["audit", "matcher", "sample", "--pairs", "pairs.csv", "--out", "audit", "--json"]).exits(0);
    assert_eq!(ran.json()[0]["n_in_band"], 200, "pairs fall out of the first band");
}

#[test]
fn embeddings_that_do_not_fit_are_refused() {
    let folder = embedded();
    folder.write("pred/one.csv", "event,time\nsomething else,-20\n");
    by_vectors(&folder, "v.npy", &[]).exits(2).says("case one: no embedding for an event text").hides("something else");
    let folder = embedded();
    folder
        .write("short.npy", npy("<f4", &VECTORS[..5]))
        .write("zero.npy", npy("<f4", &[&VECTORS[..5], &[[0.0, 0.0]]].concat()))
        .write("nan.npy", npy("<f4", &[&VECTORS[..5], &[[f64::NAN, 0.0]]].concat()))
        .write("v.csv", "1,2\n")
        .write("cut.npy", &npy("<f4", &VECTORS)[..100])
        .write("cut.safetensors", &safetensors(&VECTORS)[..50]);
    let mut flat = npy("<f4", &[]);
    let shape = flat.windows(6).position(|bytes| bytes == b"(0, 2)").unwrap();
    flat[shape..shape + 6].copy_from_slice(b"(6, 0)");
    folder.write("flat.npy", flat);
    by_vectors(&folder, "short.npy", &[]).exits(2).says("short.npy has 5 rows and texts.txt has 6 lines");
    by_vectors(&folder, "zero.npy", &[]).exits(2).says("zero.npy: row 6");
    by_vectors(&folder, "nan.npy", &[]).exits(2).says("nan.npy: row 6");
    for vectors in ["v.csv", "cut.npy", "cut.safetensors", "flat.npy", "absent.npy"] {
        by_vectors(&folder, vectors, &[]).exits(2).says(vectors);
    }
    evaluate(&folder, &["--distance", "embedding", "--vectors", "v.npy"]).exits(2).says("--texts");
    evaluate(&folder, &["--vectors", "v.npy", "--texts", "texts.txt"]).exits(2).says("--distance embedding");
    assert!(!folder.join("evaluation").exists());
}

#[test]
fn compat_authors_changes_ties_missing_times_and_the_area_alone() {
    let folder = Folder::new();
    folder
        .write("manual/one.csv", "event,time\na,0\nb,10\nc,20\nd,N/A\n")
        .write("pred/one.csv", "event,time\na,5\nb,5\nc,26\nd,3\n");
    let run = |compat: &str| {
        let pairs = format!("{compat}.csv");
        let args = ["--distance", "exact", "--compat", compat, "--out", compat, "--pairs", &pairs, "--json"];
        only(&evaluate(&folder, &args).exits(0))
    };
    let (paper, authors) = (run("paper"), run("authors"));
    // a and b are tied where predicted, so a-c and b-c alone are comparable.
    assert_near(&paper["concordance_mean"], 1.0, 1e-9);
    // The tie is half a pair; d happens at 1e8 h in the reference and first of all in the prediction, against a, b and c.
    assert_near(&authors["concordance_mean"], 2.5 / 6.0, 1e-9);
    assert_near(&authors["concordance_median"], 2.5 / 6.0, 1e-9);
    // Errors 5, 5, 6: the steps 0, ln 6, ln 7 hold 0, 2/3 and 3/3, and the first error's third below ln 6 by the printed sum:
    // (ln 6 / 3 + ln 7 - ln 6) / ln 7.
    let [ln6, ln7, ln8] = [6.0_f64, 7.0, 8.0].map(f64::ln);
    assert_near(&paper["aultc"], (ln6 / 3.0 + ln7 - ln6) / ln7, 1e-9);
    assert_near(&paper["aultc"], 0.386_145, 1e-6);
    // d has the largest error and an hour, 7: (ln 6 / 4 + 3/4 (ln 7 - ln 6) + ln 8 - ln 7) / (ln 8 - ln 6).
    assert_near(&authors["aultc"], (ln6 / 4.0 + 0.75 * (ln7 - ln6) + ln8 - ln7) / (ln8 - ln6), 1e-9);
    assert_near(&authors["aultc"], 2.423_11, 1e-5);
    // One case: every resample is the sample.
    assert_eq!((&authors["aultc_lo"], &authors["aultc_hi"]), (&authors["aultc"], &authors["aultc"]));
    for column in ["cases", "reference_events", "predicted_events", "match_rate", "match_rate_lo", "match_rate_hi"] {
        assert_eq!(paper[column], authors[column], "{column}");
    }
    assert_eq!(folder.read("paper.csv"), folder.read("authors.csv"), "the pairs");
    for file in ["errors_within.csv", "errors_by_reference_time.csv", "input.csv", "sweep_match_rate.csv", "error_cdf.csv"] {
        assert_eq!(folder.read(&format!("paper/{file}")), folder.read(&format!("authors/{file}")), "{file}");
    }
}

#[test]
fn eight_sources_are_tabled_drawn_and_compared() {
    let folder = Folder::new();
    let names: Vec<String> = (1..=8).map(|n| format!("source-{n}")).collect();
    for case in 0..4 {
        folder.write(&format!("manual/{case}.csv"), "event,time\nfever,-48\ncough,-24\nrash,0\nwent home,96\n");
        for (i, name) in names.iter().enumerate() {
            let late = 24 * (i as i64 + case);
            let timeline = format!("event,time\nfever,{}\ncough,{late}\nrashes,{}\nwent home,{}\n", -48, 1 + late, 90 - late);
            folder.write(&format!("{name}/{case}.csv"), timeline);
        }
    }
    let mut args = vec!["evaluate", "--reference", "manual", "--resamples", "50", "--out", "out", "--json"];
    args.extend(names.iter().flat_map(|name| ["--prediction", name]));
    let result = folder.assize(&args).exits(0).json();
    let sources: Vec<&Value> = result["evaluation"].as_array().unwrap().iter().map(|row| &row["source"]).collect();
    assert_eq!(sources, names.iter().collect::<Vec<_>>(), "in the order given");
    assert_eq!(result["comparisons"].as_array().unwrap().len(), 4 * 8 * 7 / 2, "each measure of each two sources");
    assert_eq!(Sheet::read(&folder, "out/sweep.csv").rows.len(), 8 * 50);
    for figure in
        ["sweep_rate_concordance", "sweep_rate_aultc", "sweep_match_rate", "sweep_concordance", "sweep_aultc", "error_cdf"]
    {
        let svg = folder.read(&format!("out/{figure}.svg"));
        let data = folder.read(&format!("out/{figure}.csv"));
        for name in &names {
            assert!(svg.contains(name.as_str()) && data.contains(name.as_str()), "{name} is not in {figure}");
        }
        assert_eq!(fs::read(folder.join(&format!("out/{figure}.png"))).unwrap()[..4], *b"\x89PNG", "{figure}");
    }
}

#[test]
fn one_source_is_compared_with_none() {
    let folder = Folder::new();
    folder.write("manual/one.csv", "event,time\nfever,0\n").write("pred/one.csv", "event,time\nfever,1\n");
    let ran = evaluate(&folder, &["--json"]).exits(0);
    assert_eq!(ran.json()["comparisons"], json!([]));
    assert_eq!(folder.read_json("evaluation/comparisons.json"), json!([]));
    assert_eq!(folder.read("evaluation/comparisons.csv").lines().count(), 1);
}

#[test]
fn a_pair_at_the_threshold_is_not_kept() {
    let folder = Folder::new();
    // One of ten characters differs: distance 0.1.
    folder.write("manual/one.csv", "event,time\nabcdefghij,0\n").write("pred/one.csv", "event,time\nabcdefghix,0\n");
    let rate = |threshold: &str| only(&evaluate(&folder, &["--threshold", threshold, "--json"]).exits(0))["match_rate"].clone();
    assert_eq!((rate("0.1"), rate("0.1000001"), rate("7")), (json!(0.0), json!(1.0), json!(1.0)));
    let sweep = folder.read_json("evaluation/sweep.json");
    let matched =
        |threshold: f64| sweep.as_array().unwrap().iter().find(|row| row["threshold"] == threshold).unwrap()["matched"].clone();
    assert_eq!((matched(0.10), matched(0.11)), (json!(0), json!(1)));
    for wrong in ["0", "-0.1", "inf", "NaN", "a tenth"] {
        evaluate(&folder, &[&format!("--threshold={wrong}"), "--out", "no"]).exits(2).says("--threshold");
    }
    assert!(!folder.join("no").exists());
}

#[test]
fn a_missing_timeline_counts_as_empty_when_allowed() {
    let folder = Folder::new();
    for case in ["one", "two"] {
        folder.write(&format!("manual/{case}.csv"), "event,time\nfever,0\nrash,24\n");
    }
    folder.write("pred/one.csv", "event,time\nfever,0\nrash,24\n").write("pred/three.csv", "event,time\nfever,0\n");
    evaluate(&folder, &[]).exits(2).says("pred: no timeline of case two");
    let ran = evaluate(&folder, &["--allow-missing", "--json"]).exits(0);
    ran.says("1 missing timelines count as empty").says("1 timelines of pred have no reference and are left out");
    let row = only(&ran);
    assert_eq!((&row["cases"], &row["reference_events"], &row["predicted_events"]), (&json!(2), &json!(4), &json!(2)));
    assert_eq!(row["match_rate"], 0.5);
}

#[test]
fn what_is_odd_about_the_files_is_said() {
    let folder = Folder::new();
    folder
        .write("manual/one.csv", b"event,time\nfi\xe8vre,0\n")
        .write("manual/two.CSV", "event,time\nfever,0\n")
        .write("pred/one.csv", "event,time\n");
    let ran = evaluate(&folder, &["--json"]).exits(0);
    ran.says("warning: 1 entries of manual are not *.csv and are not read");
    ran.says("warning: manual/one.csv:2: expected UTF-8").says("warning: pred/one.csv: expected events, got none");
    assert_eq!((&only(&ran)["reference_events"], &only(&ran)["predicted_events"]), (&json!(1), &json!(0)));
    evaluate(&folder, &["--json", "--quiet"]).exits(0).is_silent();
}

#[test]
fn two_files_of_one_case_are_refused() {
    let folder = Folder::new();
    for name in ["manual/one.json", "pred/one.json", "pred/one.jsonl"] {
        folder.write(name, "[]");
    }
    let ran = evaluate(&folder, &["--format", "uid"]).exits(2);
    ran.says("pred: expected one file of the case \"one\", got \"one.json\" and \"one.jsonl\"").says("suffix");
}

#[test]
fn texts_are_compared_by_character_and_come_back_whole() {
    let folder = Folder::new();
    let quoted = "\"37,5 °C, „Fieber“ \"\"hoch\"\"\"";
    folder
        .write("manual/fällt.csv", format!("event,time\r\n{quoted},0\r\nüber,24\r\n咳嗽,48\r\n"))
        .write("pred/fällt.csv", format!("{BOM}event,time\r\n{quoted},0\r\nuber,24\r\n咳血,48\r\n"));
    evaluate(&folder, &["--pairs", "pairs.csv"]).exits(0);
    let pairs = Sheet::read(&folder, "pairs.csv");
    let mut rows: Vec<Vec<&str>> = pairs.rows.iter().map(|row| row.iter().map(String::as_str).collect()).collect();
    rows.sort_by_key(|row| row[3].to_owned());
    let fever = "37,5 °C, „Fieber“ \"hoch\"";
    // One character of four, one of two.
    assert_eq!(
        rows,
        [
            ["fällt", fever, fever, "0", "pred"],
            ["fällt", "über", "uber", "0.25", "pred"],
            ["fällt", "咳嗽", "咳血", "0.5", "pred"]
        ]
    );
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let folder = Folder::new();
    // More cases than are in memory at one time.
    for case in 0..300 {
        let rows = |shift: usize| {
            let event =
                |i: usize| format!("event {}{},{}\n", "x".repeat((i * case + shift) % 4), i, (i * 37 + case * shift) % 96);
            (0..5).map(event).collect::<String>()
        };
        folder.write(&format!("manual/{case}.csv"), format!("event,time\n{}", rows(0)));
        folder.write(&format!("pred/{case}.csv"), format!("event,time\n{}", rows(1)));
        folder.write(&format!("more/{case}.csv"), format!("event,time\n{}", rows(3)));
    }
    for threads in ["1", "2"] {
        let script = format!("RAYON_NUM_THREADS={threads} exec \"$@\"");
        let (out, pairs) = (format!("out-{threads}"), format!("pairs-{threads}.csv"));
        let args = ["evaluate", "--reference", "manual", "--prediction", "pred", "--prediction", "more", "--threshold", "0.3"];
        folder.assize_under(&script, &[&args[..], &["--out", &out, "--pairs", &pairs]].concat()).exits(0);
    }
    assert_same_tree(&folder.join("out-1"), &folder.join("out-2"));
    assert_eq!(folder.read("pairs-1.csv"), folder.read("pairs-2.csv"));
    let table = folder.read_json("out-1/evaluation.json");
    let rate = row(&table, "source", "pred")["match_rate"].as_f64().unwrap();
    assert!(rate > 0.1 && rate < 1.0, "nothing to tell apart: {rate}");
}

#[test]
fn a_folder_holds_the_figures_of_its_last_evaluation_alone() {
    let folder = Folder::new();
    folder
        .write("manual/one.csv", "event,time\nfever,0\nrash,24\n")
        .write("near/one.csv", "event,time\nfever,1\nrash,24\n")
        .write("far/one.csv", "event,time\nxyz,1\n");
    let run = |source: &str, out: &str| {
        let args = ["evaluate", "--reference", "manual", "--prediction", source, "--distance", "exact", "--out", out];
        folder.assize(&args).exits(0);
    };
    run("near", "out");
    assert!(folder.join("out/error_cdf.svg").exists() && folder.join("out/sweep_concordance.csv").exists());
    run("far", "out");
    run("far", "fresh");
    assert_same_tree(&folder.join("fresh"), &folder.join("out"));
}

//! `audit matcher`: pairs of events drawn from bands of distances, and the share of true matches in each. `audit determinism`: what it
//! refuses; what it finds is in `tests/judge.rs`.

use crate::program::{Folder, Ran, assert_same_tree, mode};
use crate::sheet::{Sheet, utf_16};
use crate::study::{assert_near, two_sources};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const HEADER: &str = "case,reference,prediction,distance,source\n";

/// Pairs at these distances in the file `pairs.csv`; the texts of pair N are `left N` and `right N`, N counted from one.
fn pairs(distances: &[&str]) -> Folder {
    let folder = Folder::new();
    let row = |(i, distance): (usize, &&str)| format!("c{n},left {n},right {n},{distance},secretive\n", n = i + 1);
    folder.write("pairs.csv", HEADER.to_owned() + &distances.iter().enumerate().map(row).collect::<String>());
    folder
}

fn sample(folder: &Folder, more: &[&str]) -> Ran {
    folder.assize(&[&["audit", "matcher", "sample", "--pairs", "pairs.csv"], more].concat())
}

fn rates(folder: &Folder, sheet: &str, more: &[&str]) -> Ran {
    folder.assize(&[&["audit", "matcher", "rates", "--key", "audit/key.csv", "--sheet", sheet], more].concat())
}

/// The number of the pair in a row of a sheet.
fn number(sheet: &Sheet, row: usize) -> usize {
    sheet.get(row, "event_1").split(' ').nth(1).unwrap().parse().unwrap()
}

/// A column of a table of bands.
fn column(table: &Value, name: &str) -> Vec<Value> {
    table.as_array().unwrap().iter().map(|row| row[name].clone()).collect()
}

#[test]
fn a_draw_takes_25_of_each_band_by_seed() {
    let distances: Vec<String> =
        ["0.01", "0.09", "0.11", "0.2"].into_iter().zip([40, 30, 25, 24]).flat_map(|(d, n)| vec![d.to_owned(); n]).collect();
    let folder = pairs(&distances.iter().map(String::as_str).collect::<Vec<_>>());
    let ran = sample(&folder, &["--out", "one", "--json"]).exits(0);
    assert_eq!(column(&ran.json(), "n_in_band"), [40, 30, 25, 24]);
    assert_eq!(column(&ran.json(), "n_drawn"), [25, 25, 25, 24]);
    ran.says("band [0.12, 0.30): 25 pairs asked for, 24 there are; all of them are in the sample");
    let shown = |name: &str| {
        let sheet = Sheet::read(&folder, &format!("{name}/sheet.csv"));
        (0..sheet.rows.len()).map(|at| number(&sheet, at)).collect::<Vec<_>>()
    };
    let drawn: BTreeSet<usize> = shown("one").into_iter().collect();
    for (band, n) in [(1..=40, 25), (41..=70, 25), (71..=95, 25), (96..=119, 24)] {
        assert_eq!(drawn.range(band.clone()).count(), n, "pairs {band:?}");
    }
    sample(&folder, &["--out", "again"]).exits(0);
    assert_same_tree(&folder.join("one"), &folder.join("again"));
    sample(&folder, &["--out", "other", "--seed", "5"]).exits(0);
    assert_ne!(shown("other").into_iter().collect::<BTreeSet<_>>(), drawn, "another seed drew the same pairs");
    assert!(!shown("one").is_sorted(), "the order tells the band");
    let sheet = Sheet::read(&folder, "one/sheet.csv");
    let left_first = sheet.column("event_1").iter().filter(|event| event.starts_with("left")).count();
    assert!((20..80).contains(&left_first), "the reference is first in {left_first} of 99 rows");
}

#[test]
fn bands_hold_their_lower_edge_and_not_their_upper() {
    let folder = pairs(&["0", "0.0799", "0.08", "0.0999", "0.1", "0.12", "0.2999", "0.3", "-0.001"]);
    let ran = sample(&folder, &["--out", "audit", "--json"]).exits(0);
    assert_eq!(column(&ran.json(), "n_in_band"), [2, 2, 1, 2]);
    ran.says("note: 0 pairs without a finite distance, 0 repeated and 2 outside the bands are left out");
    let sheet = Sheet::read(&folder, "audit/sheet.csv");
    assert_eq!((0..7).map(|at| number(&sheet, at)).collect::<BTreeSet<_>>(), (1..=7).collect());
    let folder = pairs(&["0.3", "-1"]);
    sample(&folder, &["--out", "audit"]).exits(2).says("pairs.csv: no pair lies in any band");
    assert!(!folder.join("audit").exists());
}

#[test]
fn undefined_distances_and_repeated_texts_are_left_out_and_counted() {
    let folder = Folder::new();
    let rows = "c,fever,hot,NaN,x\nc,fever,hot,0.05,x\nc2,fever,hot,0.2,y\nc,hot,fever,0.11,x\n\
                c,cough,wheeze,inf,x\nc,cough,wheezes,-inf,x\nc,cough,wheezed,,x\n";
    folder.write("pairs.csv", format!("{HEADER}{rows}"));
    let ran = sample(&folder, &["--out", "audit", "--json"]).exits(0);
    ran.says("note: 4 pairs without a finite distance, 1 repeated and 0 outside the bands are left out");
    assert_eq!(column(&ran.json(), "n_in_band"), [1, 0, 1, 0]);
    let key = Sheet::read(&folder, "audit/key.csv");
    let mut lines = key.column("line");
    lines.sort_unstable();
    assert_eq!(lines, ["3", "5"], "of equal texts the first with a distance counts");
    folder.write("pairs.csv", format!("{HEADER}c,a,b,near,x\nc,,b,0.1,x\n"));
    let ran = sample(&folder, &["--out", "no"]).exits(2);
    ran.says("pairs.csv: line 2, column `distance`").says("pairs.csv: line 3, column `reference`");
    assert!(!folder.join("no").exists());
}

#[test]
fn sheet_and_page_hide_what_the_matcher_said() {
    let folder = pairs(&["0.0123", "0.0812", "0.1049"]);
    folder.write("reports/c1.txt", "The patient stood on the left. <b>Nobody</b> was right.");
    folder.write("pairs.csv", folder.read("pairs.csv") + "c9,=SUM(A1),<script>alert(1)</script>,0.2345,secretive\n");
    let ran = sample(&folder, &["--out", "audit", "--reports", "reports"]).exits(0);
    ran.says("3 of 4 cases have no report in reports");
    let (sheet, page) = (folder.read("audit/sheet.csv"), folder.read("audit/review.html"));
    for text in [&sheet, &page] {
        for hidden in ["0.0123", "0.0812", "0.1049", "0.2345", "secretive"] {
            assert!(!text.contains(hidden), "{hidden} is shown");
        }
        for event in ["left 1", "right 1", "left 3", "right 3"] {
            assert!(text.contains(event), "{event} is not shown");
        }
    }
    assert!(sheet.contains("'=SUM(A1)"), "a spreadsheet would calculate an event");
    assert_eq!(Sheet::read(&folder, "audit/sheet.csv").columns, ["id", "case", "event_1", "event_2", "label", "comment"]);
    // The words of the events are marked, the rest of the report is there as text.
    assert!(page.contains("The patient stood on the <mark") && page.contains(">left</mark>"), "{page}");
    assert!(page.contains("Nobody") && !page.contains("<b>Nobody") && !page.contains("<script>alert"), "a text is markup");
    assert!(!page.contains("http://") && !page.contains("https://"), "the page names a place on the network");
    for id in Sheet::read(&folder, "audit/sheet.csv").column("id") {
        assert!(page.contains(id), "{id} is not on the page");
    }
    for name in ["sheet.csv", "review.html", "key.csv"] {
        assert_eq!(mode(&folder.join(&format!("audit/{name}"))), 0o600, "{name}");
    }
    sample(&folder, &["--out", "audit"]).exits(2).says("sheet.csv exists already");
}

/// Ten pairs with their sheet: 1 to 4 in the first band, 5 to 7 in the second, 8 and 9 in the third, 10 in the fourth.
fn ten() -> (Folder, Sheet) {
    let folder = pairs(&["0.01", "0.02", "0.03", "0.04", "0.08", "0.085", "0.09", "0.1", "0.11", "0.2"]);
    sample(&folder, &["--out", "audit"]).exits(0);
    let sheet = Sheet::read(&folder, "audit/sheet.csv");
    (folder, sheet)
}

/// The first band all the same, the second all different, the third half and half, the fourth unsure.
fn ten_filled() -> (Folder, Sheet) {
    let (folder, mut sheet) = ten();
    for at in 0..10 {
        let label = match number(&sheet, at) {
            1..=4 => "same",
            5..=7 => "Different",
            8 => " SAME ",
            9 => "different",
            _ => "unsure",
        };
        sheet.set(at, "label", label);
    }
    sheet.write(&folder, "filled.csv");
    (folder, sheet)
}

#[test]
fn rates_of_a_filled_sheet_have_wilson_intervals() {
    let (folder, _) = ten_filled();
    let ran = rates(&folder, "filled.csv", &["--json", "--out", "results"]).exits(0);
    ran.is_silent();
    let table = ran.json()["matcher_bands"].clone();
    assert_eq!(column(&table, "n_in_band"), [4, 3, 2, 1]);
    assert_eq!(column(&table, "n"), [4, 3, 2, 0]);
    assert_eq!(column(&table, "n_same"), [4, 0, 1, 0]);
    assert_eq!(column(&table, "n_unsure"), [0, 0, 0, 1]);
    // With z² = 3.841459: 4 of 4 from 4 / (4 + z²), 0 of 3 to z² / (3 + z²), and 1 of 2 is
    // 0.5 ± 1.959964 / (1 + z² / 2) · √(0.125 + z² / 16) = 0.5 ± 0.671054 · 0.604230.
    let expected = [(100.0, 51.011, 100.0), (0.0, 0.0, 56.150), (50.0, 9.453, 90.547)];
    for (band, (rate, lo, hi)) in expected.into_iter().enumerate() {
        assert_near(&table[band]["rate"], rate, 1e-9);
        assert_near(&table[band]["rate_lo"], lo, 0.002);
        assert_near(&table[band]["rate_hi"], hi, 0.002);
    }
    assert_eq!((&table[3]["rate"], &table[3]["rate_lo"]), (&Value::Null, &Value::Null));
    assert_eq!(folder.read_json("results/matcher_bands.json"), table);
}

#[test]
fn a_sheet_counts_the_same_however_it_was_saved() {
    let (folder, sheet) = ten_filled();
    let plain = rates(&folder, "filled.csv", &[]).exits(0).stdout;
    let page = sheet.column("id").into_iter().zip(sheet.column("label")).map(|(id, label)| format!("{id},{label}\n"));
    let page = format!("id,label\n{}", page.rev().collect::<String>());
    for bytes in [sheet.text(b';', "\r\n").into_bytes(), utf_16(&sheet.text(b'\t', "\r\n")), page.into_bytes()] {
        folder.write("saved.csv", bytes);
        assert_eq!(rates(&folder, "saved.csv", &[]).exits(0).stdout, plain);
    }
}

#[test]
fn labels_that_are_missing_are_open_and_wrong_ones_refused() {
    let (folder, filled) = ten_filled();
    let mut sheet = filled.clone();
    let gone = (0..10).find(|&at| number(&sheet, at) == 2).unwrap();
    sheet.rows.remove(gone);
    sheet.write(&folder, "short.csv");
    let ran = rates(&folder, "short.csv", &["--json"]).exits(4);
    ran.says("1 of 10 pairs have no label yet");
    let table = ran.json()["matcher_bands"].clone();
    assert_eq!((&table[0]["n"], &table[0]["n_unlabelled"]), (&json!(3), &json!(1)));

    folder.write("header.csv", "id,label\n");
    rates(&folder, "header.csv", &[]).exits(4).says("10 of 10 pairs have no label yet");
    folder.write("empty.csv", "");
    rates(&folder, "empty.csv", &[]).exits(2).says("empty.csv: line 1").says("an empty file");
    folder.write("columns.csv", "id,verdict\nx,same\n");
    rates(&folder, "columns.csv", &[]).exits(2).says("columns.csv: line 1, column `label`");

    let mut sheet = filled.clone();
    sheet.set(3, "label", "maybe");
    sheet.rows.push(sheet.rows[0].clone());
    sheet.rows.push(sheet.rows[0].clone());
    let other = if sheet.get(0, "label").trim().eq_ignore_ascii_case("same") { "different" } else { "same" };
    sheet.set(11, "label", other);
    sheet.write(&folder, "wrong.csv");
    let ran = rates(&folder, "wrong.csv", &["--out", "results"]).exits(2);
    ran.says("wrong.csv: line 5, column `label`: expected same, different, unsure or nothing, got `maybe`");
    ran.says("wrong.csv: line 13, column `label`: expected the answer that line 2 gives to this id");
    assert!(ran.stdout.is_empty() && !folder.join("results").exists());
}

#[test]
fn rows_left_out_are_named() {
    let (folder, mut sheet) = ten_filled();
    sheet.rows.push(sheet.rows[2].clone());
    let mut stranger = sheet.rows[0].clone();
    stranger[0] = "000000-001".into();
    sheet.rows.push(stranger);
    sheet.write(&folder, "filled.csv");
    let ran = rates(&folder, "filled.csv", &["--json"]).exits(4);
    ran.says("warning: filled.csv: 1 rows left out").says("line 13").says("note: filled.csv: 1 rows left out").says("line 12");
    assert_eq!(column(&ran.json()["matcher_bands"], "n"), [4, 3, 2, 0]);
}

#[test]
fn an_audit_of_determinism_refuses_what_it_cannot_judge_and_folders_of_the_study() {
    let folder = two_sources(&["c1", "c2"]);
    let audit = |more: &[&str]| folder.assize(&[&["audit", "determinism", "."], more].concat());
    audit(&[]).exits(2).says("model card `written-replies` is served elsewhere");
    for (out, said) in [(".", "belongs to the study"), ("store", "belongs to the study"), ("reports", "is a folder of reports")] {
        audit(&["--out", out]).exits(2).says(said);
    }
    folder.write("study.toml", folder.read("study.toml").replace("written-replies", "smollm2-135m-instruct"));
    audit(&["--games", "0"]).exits(2).says("no game to judge");
    audit(&["--widths", "2,0"]).exits(2).says("1..=255");
    audit(&["--model-dir", "nowhere"]).exits(3).says("SmolLM2-135M-Instruct.Q4_1.gguf");
}

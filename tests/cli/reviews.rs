//! `review`: packets for two reviewers of findings, and the statistics of the filled ones.

use crate::program::{Folder, Ran, assert_same_tree, assert_unchanged, mode, tree};
use crate::sheet::{BOM, Sheet, utf_16};
use crate::study::{WRITTEN, assert_near, judged_sample, row};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const HEADER: &str = "case,a,b,type,verdict,a_time,b_time,category,a_event,b_event,evidence,rationale";

/// A findings table of `alpha` and `beta`: of each type and verdict so many. The event of A is `left N` and that of B `right N`,
/// N counted from one over the whole table, so that a reviewer can tell the sides and the finding.
fn findings(folder: &Folder, name: &str, groups: &[(usize, &str, &str)]) {
    let mut text = format!("{HEADER}\n");
    let mut number = 0;
    for &(n, kind, verdict) in groups {
        for _ in 0..n {
            number += 1;
            text += &format!("c{number},alpha,beta,{kind},{verdict},0,24,,left {number},right {number},none found,because\n");
        }
    }
    folder.write(name, text);
}

/// The number of the finding in a row.
fn number(sheet: &Sheet, row: usize) -> usize {
    let text = [sheet.get(row, "event_1"), sheet.get(row, "event_2")].join(" ");
    text.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Fills a blinded packet of findings whose verdict is A, confirming those that `confirms` names.
fn fill(folder: &Folder, packet: &str, filled: &str, confirms: impl Fn(usize) -> bool) {
    let mut sheet = Sheet::read(folder, packet);
    for at in 0..sheet.rows.len() {
        let a_is_first = sheet.get(at, "event_1").starts_with("left");
        let own = if a_is_first == confirms(number(&sheet, at)) { "1" } else { "2" };
        sheet.set(at, "verdict", own);
    }
    sheet.write(folder, filled);
}

/// Ten findings of one stratum, drawn whole into packets below `review`.
fn ten() -> Folder {
    let folder = Folder::new();
    findings(&folder, "findings.csv", &[(10, "TIMING", "A")]);
    folder.assize(&["review", "sample", "--findings", "findings.csv", "--per-stratum", "10", "--out", "review"]).exits(0);
    folder
}

/// Ten findings with the first packet filled: all but finding 10 confirmed.
fn ten_filled() -> (Folder, Sheet) {
    let folder = ten();
    fill(&folder, "review/reviewer-1.csv", "filled.csv", |n| n != 10);
    let sheet = Sheet::read(&folder, "filled.csv");
    (folder, sheet)
}

fn stats(folder: &Folder, sheet: &str, more: &[&str]) -> Ran {
    folder.assize(&[&["review", "stats", "review", "--sheet", sheet, "--resamples", "200"], more].concat())
}

/// The row of all findings of a table that has one for each group.
fn overall(table: &Value) -> &Value {
    row(table, "by", "overall")
}

#[test]
fn a_draw_is_by_stratum_and_pairing_and_by_seed() {
    let folder = Folder::new();
    let mut text = format!("{HEADER}\n");
    // A_ONLY and B_ONLY are one stratum, and a pairing is the same whichever source was A.
    for n in 0..6 {
        text += &format!("c{n},alpha,beta,A_ONLY,A,0,,,left,,none found,because\n");
        text += &format!("c{n},beta,alpha,B_ONLY,B,,0,,,right,none found,because\n");
        text += &format!("c{n},alpha,gamma,TIMING,A,0,24,,left,right,none found,because\n");
    }
    text += "c9,gamma,alpha,TIMING,UNCLEAR,0,24,,left,right,none found,because\n";
    folder.write("findings.csv", text);
    let draw = |seed: &str, out: &str| {
        let args = ["review", "sample", "--findings", "findings.csv", "--per-stratum", "3", "--seed", seed, "--out", out];
        folder.assize(&[&args[..], &["--json"]].concat()).exits(0)
    };
    let ran = draw("7", "one");
    ran.says("TIMING UNCLEAR, alpha / gamma: 3 findings asked for, 1 there are");
    let table = ran.json();
    let cells: Vec<_> = table.as_array().unwrap().iter().map(|r| (&r["stratum"], &r["pairing"], &r["n_findings"])).collect();
    assert_eq!(
        serde_json::to_value(cells).unwrap(),
        serde_json::json!([
            ["ONE_SIDED", "alpha / beta", 12],
            ["TIMING UNCLEAR", "alpha / gamma", 1],
            ["TIMING decisive", "alpha / gamma", 6],
        ])
    );
    let drawn: Vec<u64> = table.as_array().unwrap().iter().map(|row| row["n_drawn"].as_u64().unwrap()).collect();
    assert_eq!(drawn, [3, 1, 3]);
    let key = Sheet::read(&folder, "one/key.csv");
    let mut counts = BTreeMap::new();
    key.column("stratum").into_iter().for_each(|stratum| *counts.entry(stratum).or_insert(0) += 1);
    assert_eq!(counts, BTreeMap::from([("ONE_SIDED", 3), ("TIMING UNCLEAR", 1), ("TIMING decisive", 3)]));
    draw("7", "again");
    assert_same_tree(&folder.join("one"), &folder.join("again"));
    let lines = |key: &Sheet| key.column("line").into_iter().map(String::from).collect::<BTreeSet<_>>();
    let others: Vec<_> = ["8", "9", "10"]
        .map(|seed| {
            draw(seed, seed);
            lines(&Sheet::read(&folder, &format!("{seed}/key.csv")))
        })
        .into_iter()
        .filter(|drawn| *drawn != lines(&key))
        .collect();
    assert!(!others.is_empty(), "four seeds drew the same findings");
}

#[test]
fn packets_of_the_sample_study_are_blinded() {
    let folder = judged_sample();
    folder.assize(&["run", WRITTEN]).exits(0);
    let table = "results-written/findings.csv";
    folder
        .assize(&["review", "sample", "--findings", table, "--reports", "reports", "--per-stratum", "2", "--out", "review"])
        .exits(0);
    let all = Sheet::read(&folder, table);
    let hidden: BTreeSet<&str> = ["charged", "category", "rationale"].iter().flat_map(|column| all.column(column)).collect();
    let key = Sheet::read(&folder, "review/key.csv");
    let ids = |sheet: &Sheet| sheet.column("id").into_iter().map(String::from).collect::<Vec<_>>();
    let packets = ["review/reviewer-1.csv", "review/reviewer-2.csv"].map(|name| Sheet::read(&folder, name));
    for (packet, name) in packets.iter().zip(["review/reviewer-1.csv", "review/reviewer-2.csv"]) {
        let text = folder.read(name);
        for word in ["careful", "hasty", "terse", "eager"].iter().chain(&hidden).filter(|word| !word.is_empty()) {
            assert!(!text.contains(word), "{name} shows {word:?}");
        }
        let open = ["verdict", "error_type", "comment"];
        for column in open {
            assert!(packet.column(column).iter().all(|field| field.is_empty()), "{name}: {column} is filled");
        }
        let seen: Vec<&str> = packet.columns.iter().map(String::as_str).filter(|column| !open.contains(column)).collect();
        assert_eq!(seen, ["id", "case", "difference", "event_1", "time_1", "event_2", "time_2", "passage", "question"]);
        assert_eq!(ids(packet).into_iter().collect::<BTreeSet<_>>(), ids(&key).into_iter().collect::<BTreeSet<_>>());
        // Where one timeline lacks the event, its side and the judge's verdict must not show in the order.
        let one_sided = (0..packet.rows.len()).filter(|&at| packet.get(at, "difference") == "one timeline only");
        let sides: BTreeSet<bool> = one_sided.map(|at| packet.get(at, "event_1").is_empty()).collect();
        assert_eq!(sides.len(), 2, "{name}: the side without the event is always the same");
        let passages = packet.column("passage");
        assert!(passages.iter().filter(|passage| !passage.is_empty()).count() * 2 > passages.len(), "{name} shows no passages");
        assert_eq!(mode(&folder.join(name)), 0o600);
    }
    assert_ne!(ids(&packets[0]), ids(&packets[1]), "both reviewers have the findings in the same order");
}

#[test]
fn a_packet_may_show_the_verdict_to_be_confirmed() {
    let folder = Folder::new();
    findings(&folder, "findings.csv", &[(3, "TIMING", "A")]);
    let args = ["review", "sample", "--findings", "findings.csv", "--total", "3", "--show-verdict", "--out", "review"];
    folder.assize(&args).exits(0);
    let packet = Sheet::read(&folder, "review/reviewer-1.csv");
    assert_eq!(packet.column("judge_verdict"), ["TIMING A"; 3]);
    assert_eq!(packet.column("judge_reason"), ["because"; 3]);
    assert!(packet.column("event_a").iter().all(|event| event.starts_with("left")), "A is not A: {packet:?}");
    assert!(!folder.read("review/reviewer-1.csv").contains("alpha"));
}

#[test]
fn packets_are_not_written_over() {
    let folder = ten();
    folder.write("review/reviewer-1.csv", "filled by hand");
    let before = tree(folder.path());
    let args = ["review", "sample", "--findings", "findings.csv", "--per-stratum", "10", "--out", "review"];
    folder.assize(&args).exits(2).says("reviewer-1.csv exists already");
    assert_unchanged(&before, folder.path());
}

#[test]
fn two_reviewers_give_rates_and_agreement() {
    let folder = ten();
    // Both confirm 1 to 6, the first alone 7, the second alone 8, neither 9 and 10.
    fill(&folder, "review/reviewer-1.csv", "first.csv", |n| n <= 7);
    fill(&folder, "review/reviewer-2.csv", "second.csv", |n| n <= 6 || n == 8);
    let tables = stats(&folder, "first.csv", &["--second", "second.csv", "--json"]).exits(0).json();
    // Wilson at z = 1.959964, z² = 3.841459, for 7 of 10: (0.7 + 0.192073) / 1.384146 = 0.644493, and
    // 1.959964 / 1.384146 · √(0.021 + 0.009604) = 0.247715.
    let confirmed = tables["confirmation"].as_array().unwrap();
    for reviewer in [1, 2] {
        let row = confirmed.iter().find(|row| row["reviewer"] == reviewer && row["by"] == "overall").unwrap();
        assert_eq!((&row["n_asked"], &row["n"], &row["n_confirmed"]), (&10.into(), &10.into(), &7.into()));
        for (column, expected) in [("rate", 70.0), ("rate_lo", 39.678), ("rate_hi", 89.221)] {
            assert_near(&row[column], expected, 0.002);
        }
    }
    let agreement = overall(&tables["agreement"]);
    for (column, expected) in [("n", 10), ("n_both", 6), ("n_first_only", 1), ("n_second_only", 1), ("n_neither", 2)] {
        assert_eq!(agreement[column], expected, "{column}");
    }
    // Agreement 8 of 10: (0.8 + 0.192073) / 1.384146 ± 1.416010 · √(0.016 + 0.009604) = 0.716740 ± 0.226579.
    // Kappa: by chance 0.7 · 0.7 + 0.3 · 0.3 = 0.58, (0.8 - 0.58) / 0.42. AC1: 2 · 0.7 · 0.3 = 0.42, (0.8 - 0.42) / 0.58.
    // PABAK: 2 · 0.8 - 1.
    for (column, expected) in
        [("raw", 80.0), ("rate_lo", 49.016), ("rate_hi", 94.332), ("kappa", 0.52381), ("ac1", 0.65517), ("pabak", 0.6)]
    {
        assert_near(&agreement[column], expected, 0.002);
    }
    let kappa = agreement["kappa"].as_f64().unwrap();
    assert!((kappa - 0.22 / 0.42).abs() < 1e-9, "{kappa}");
}

#[test]
fn kappa_is_undefined_where_both_confirm_everything() {
    let folder = ten();
    for reviewer in ["1", "2"] {
        fill(&folder, &format!("review/reviewer-{reviewer}.csv"), &format!("{reviewer}.csv"), |_| true);
    }
    let tables = stats(&folder, "1.csv", &["--second", "2.csv", "--json"]).exits(0).json();
    let agreement = overall(&tables["agreement"]);
    assert_eq!((&agreement["kappa"], &agreement["ac1"], &agreement["pabak"]), (&Value::Null, &1.0.into(), &1.0.into()));
}

#[test]
fn the_standardised_rate_weighs_strata_by_the_whole_table() {
    let folder = Folder::new();
    // 30 findings of time and 10 of value; 4 of each are reviewed.
    findings(&folder, "findings.csv", &[(30, "TIMING", "A"), (10, "VALUE", "A")]);
    folder.assize(&["review", "sample", "--findings", "findings.csv", "--per-stratum", "4", "--out", "review"]).exits(0);
    let packet = Sheet::read(&folder, "review/reviewer-1.csv");
    let numbers: BTreeSet<usize> = (0..packet.rows.len()).map(|at| number(&packet, at)).collect();
    let rejected = [*numbers.range(..=30).next().unwrap(), *numbers.range(31..).next().unwrap()];
    let rate = |confirms: &dyn Fn(usize) -> bool| {
        fill(&folder, "review/reviewer-1.csv", "filled.csv", confirms);
        let tables = stats(&folder, "filled.csv", &["--json"]).exits(0).json();
        row(&tables["standardised_rate"], "by", "stratum").clone()
    };
    // Confirmed 3 of 4 and 1 of 4: (30 · 0.75 + 10 · 0.25) / 40.
    let kept_value = *numbers.last().unwrap();
    let some = rate(&|n| if n <= 30 { n != rejected[0] } else { n == kept_value });
    assert_near(&some["raw"], 50.0, 1e-9);
    assert_near(&some["rate"], 62.5, 1e-9);
    let [lo, hi] = ["rate_lo", "rate_hi"].map(|end| some[end].as_f64().unwrap());
    assert!(lo < 62.5 && 62.5 < hi, "{lo} {hi}");
    // All of one stratum and none of the other: nothing varies between resamples.
    let sure = rate(&|n| n <= 30);
    for column in ["rate", "rate_lo", "rate_hi"] {
        assert_near(&sure[column], 75.0, 1e-9);
    }
}

#[test]
fn errors_are_counted_by_type_and_the_last_five_together() {
    let folder = Folder::new();
    findings(&folder, "findings.csv", &[(8, "VALUE", "B")]);
    let args = ["review", "sample", "--findings", "findings.csv", "--total", "8", "--show-verdict", "--out", "review"];
    folder.assize(&args).exits(0);
    let mut packet = Sheet::read(&folder, "review/reviewer-1.csv");
    let errors = [
        "malformed_finding",
        "false_one_sided_finding",
        "wrong_placement_credited",
        "matching_error",
        "indeterminate_timing",
        "Timing ruled unclear",
        "",
    ];
    for (at, error) in errors.into_iter().enumerate() {
        packet.set(at, "confirmed", "no");
        packet.set(at, "error_type", error);
    }
    packet.set(7, "confirmed", "YES");
    packet.write(&folder, "filled.csv");
    let tables = stats(&folder, "filled.csv", &["--json", "--out", "results"]).exits(0).json();
    let types = &tables["error_types"];
    let counted =
        |name: &str| (row(types, "error_type", name)["total"].as_u64().unwrap(), &row(types, "error_type", name)["share"]);
    for other in &errors[..5] {
        assert_eq!(counted(&format!("other: {other}")).0, 1, "{other}");
    }
    assert_eq!(counted("other").0, 5);
    assert_near(counted("other").1, 500.0 / 7.0, 1e-9);
    assert_eq!(counted("timing_ruled_unclear").0, 1);
    assert_eq!(counted("not classified").0, 1);
    assert_eq!((counted("total errors").0, counted("findings reviewed").0), (7, 8));
    assert_eq!(folder.read_json("results/error_types.json"), *types);
    packet.set(2, "error_type", "other");
    packet.write(&folder, "filled.csv");
    stats(&folder, "filled.csv", &[])
        .exits(2)
        .says("filled.csv: line 4, column `error_type`: expected one of")
        .says("matching_error");
}

#[test]
fn a_sheet_counts_the_same_however_a_spreadsheet_saved_it() {
    let (folder, mut sheet) = ten_filled();
    sheet.set(0, "comment", "siehe Brief; \"später\", sagt er");
    sheet.write(&folder, "filled.csv");
    let plain = stats(&folder, "filled.csv", &[]).exits(0);
    plain.is_silent();
    assert!(plain.stdout.contains("90.0"), "{}", plain.stdout);
    let semicolons = format!("{BOM}{}\r\n;;\r\n", sheet.text(b';', "\r\n"));
    let windows = sheet.text(b';', "\r\n").chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect::<Vec<u8>>();
    let tabs = utf_16(&sheet.text(b'\t', "\r\n"));
    let mut other_order = sheet.clone();
    other_order.rows.reverse();
    other_order.columns.reverse();
    other_order.rows.iter_mut().for_each(|row| row.reverse());
    let other_order = other_order.text(b',', "\n").replace("comment", "Comment").into_bytes();
    for (what, bytes) in
        [("semicolons", semicolons.into_bytes()), ("Windows-1252", windows), ("UTF-16", tabs), ("another order", other_order)]
    {
        folder.write("saved.csv", bytes);
        let ran = stats(&folder, "saved.csv", &[]).exits(0);
        assert_eq!(ran.stdout, plain.stdout, "{what}");
        ran.is_silent();
    }
}

#[test]
fn a_row_that_is_missing_or_empty_is_open() {
    let (folder, mut sheet) = ten_filled();
    let gone = (0..10).find(|&at| number(&sheet, at) == 3).unwrap();
    sheet.rows.remove(gone);
    let empty = (0..9).find(|&at| number(&sheet, at) == 4).unwrap();
    sheet.set(empty, "verdict", "");
    sheet.write(&folder, "filled.csv");
    let ran = stats(&folder, "filled.csv", &["--json"]).exits(4);
    ran.says("without an answer yet: 2 of the first reviewer");
    let tables = ran.json();
    let row = overall(&tables["confirmation"]);
    assert_eq!((&row["n_asked"], &row["n"], &row["n_confirmed"]), (&10.into(), &8.into(), &7.into()));
}

#[test]
fn answers_that_do_not_fit_are_named_by_file_and_line() {
    let (folder, good) = ten_filled();
    let id = good.get(0, "id").to_owned();
    let refused = |edit: &dyn Fn(&mut Sheet)| {
        let mut sheet = good.clone();
        edit(&mut sheet);
        sheet.write(&folder, "bad.csv");
        let ran = stats(&folder, "bad.csv", &["--out", "results"]).exits(2);
        assert!(ran.stdout.is_empty() && !folder.join("results").exists(), "results of a sheet with errors");
        ran.stderr
    };
    let label = refused(&|sheet| sheet.set(1, "verdict", "A"));
    assert!(label.contains("bad.csv: line 3, column `verdict`: expected one of 1, 2, BOTH") && label.contains("`A`"), "{label}");
    let twice = refused(&|sheet| {
        let mut row = sheet.rows[0].clone();
        sheet.rows.push(row.clone());
        row[9] = "UNCLEAR".into();
        sheet.rows.push(row);
    });
    assert!(twice.contains("bad.csv: line 13, column `id`: expected the answer that line 2 gives"), "{twice}");
    assert_eq!(twice.lines().count(), 1, "the row that says the same is no error: {twice}");
    let both = refused(&|sheet| {
        for at in 0..10 {
            sheet.set(at, "error_type", "matching error");
        }
    });
    assert_eq!(both.lines().count(), 9, "an error type fits the one finding that was not confirmed: {both}");
    let columns = refused(&|sheet| sheet.columns[9] = "my verdict".into());
    assert!(columns.contains("bad.csv: line 1: expected a column `verdict` or `confirmed`"), "{columns}");
    folder.write("bad.csv", format!("id,verdict\n{id},1,stray\n"));
    stats(&folder, "bad.csv", &[]).exits(2).says("bad.csv: line 2: expected 2 fields, got 3");
    folder.write("bad.csv", format!("id,verdict,Verdict\n{id},1,2\n"));
    stats(&folder, "bad.csv", &[]).exits(2).says("bad.csv: line 1, column `verdict`: expected this column once");
    folder.write("bad.csv", "");
    stats(&folder, "bad.csv", &[]).exits(2).says("bad.csv: line 1").says("an empty file");
    stats(&folder, "absent.csv", &[]).exits(2).says("absent.csv");
}

#[test]
fn rows_left_out_are_named() {
    let (folder, mut sheet) = ten_filled();
    sheet.rows.push(sheet.rows[4].clone());
    let mut stranger = sheet.rows[0].clone();
    stranger[0] = "000000-0001".into();
    sheet.rows.push(stranger);
    sheet.write(&folder, "filled.csv");
    let ran = stats(&folder, "filled.csv", &["--json"]).exits(4);
    ran.says("warning: filled.csv: 1 rows left out: an id that was not asked for in this packet: line 13");
    ran.says("note: filled.csv: 1 rows left out: the id of an earlier row and the same answer or none: line 12");
    assert_eq!(overall(&ran.json()["confirmation"])["n"], 10);
}

#[test]
fn the_second_reviewer_counts_for_the_second_packet_alone() {
    let folder = Folder::new();
    findings(&folder, "findings.csv", &[(10, "TIMING", "A")]);
    let args = ["review", "sample", "--findings", "findings.csv", "--total", "10", "--second", "4", "--out", "review"];
    folder.assize(&args).exits(0);
    assert_eq!(Sheet::read(&folder, "review/reviewer-2.csv").rows.len(), 4);
    fill(&folder, "review/reviewer-1.csv", "first.csv", |_| true);
    fill(&folder, "review/reviewer-2.csv", "second.csv", |_| true);
    let numbers = |ran: Ran| {
        let tables = ran.json();
        let asked = tables["confirmation"].as_array().unwrap().iter().find(|row| row["reviewer"] == 2).unwrap()["n"].clone();
        (asked, overall(&tables["agreement"])["n"].clone())
    };
    let ran = stats(&folder, "first.csv", &["--second", "second.csv", "--json"]).exits(0);
    ran.is_silent();
    assert_eq!(numbers(ran), (4.into(), 4.into()));
    // The first packet in the place of the second: six rows were never asked of that reviewer.
    let ran = stats(&folder, "first.csv", &["--second", "first.csv", "--json"]).exits(4);
    ran.says("first.csv: 6 rows left out: an id that was not asked for in this packet");
    assert_eq!(numbers(ran), (4.into(), 4.into()));
}

#[test]
fn the_verdicts_not_confirmed_are_shown_for_the_second_step() {
    let (folder, _) = ten_filled();
    stats(&folder, "filled.csv", &["--reveal", "errors.csv"]).exits(0);
    let mut shown = Sheet::read(&folder, "errors.csv");
    let at = (0..10).find(|&at| number(&shown, at) == 10).unwrap();
    let judged = if shown.get(at, "event_1").starts_with("left") { "1" } else { "2" };
    assert_eq!(shown.get(at, "judge_verdict"), judged);
    assert_eq!(shown.column("judge_verdict").iter().filter(|verdict| !verdict.is_empty()).count(), 1);
    shown.set(at, "error_type", "anchor_forced_on_two_sided_case");
    shown.write(&folder, "errors-filled.csv");
    let tables = stats(&folder, "errors-filled.csv", &["--json"]).exits(0).json();
    assert_eq!(row(&tables["error_types"], "error_type", "anchor_forced_on_two_sided_case")["total"], 1);
    stats(&folder, "filled.csv", &["--reveal", "errors.csv"]).exits(2).says("errors.csv exists already");
}

#[test]
fn several_judges_are_drawn_and_counted_apart() {
    let folder = Folder::new();
    findings(&folder, "one.csv", &[(3, "TIMING", "A")]);
    findings(&folder, "two.csv", &[(5, "TIMING", "A")]);
    let sample = |more: &[&str]| folder.assize(&[&["review", "sample", "--per-stratum", "2", "--out", "review"], more].concat());
    sample(&["--findings", "one.csv", "--findings", "two.csv"]).exits(2).says("JUDGE=FILE");
    sample(&["--findings", "x=one.csv", "--findings", "x=two.csv"]).exits(2).says("x twice");
    assert!(!folder.join("review").exists());
    sample(&["--findings", "x=one.csv", "--findings", "y=two.csv"]).exits(0);
    fill(&folder, "review/reviewer-1.csv", "filled.csv", |_| true);
    let tables = stats(&folder, "filled.csv", &["--json"]).exits(0).json();
    let overall = |judge: &str| {
        let rows = tables["confirmation"].as_array().unwrap();
        rows.iter().find(|row| row["judge"] == judge && row["by"] == "overall").unwrap()["n"].clone()
    };
    assert_eq!((overall("x"), overall("y"), overall("(all)")), (2.into(), 2.into(), 4.into()));
}

#[test]
fn findings_that_cannot_be_reviewed_are_refused() {
    let folder = Folder::new();
    let sample = || folder.assize(&["review", "sample", "--findings", "f.csv", "--total", "5", "--out", "review"]);
    folder.write("f.csv", "case,a,b,type,verdict,a_time,b_time,category\nc1,alpha,beta,TIMING,A,0,1,\n");
    sample().exits(2).says("f.csv: line 1, column `a_event`");
    folder.write("f.csv", format!("{HEADER}\nc1,alpha,beta,TIMING,A,0,1,,l,r,,\nc1,alpha,beta,TIMIMG,C,0,1,,l,r,,\n"));
    sample().exits(2).says("f.csv: line 3, column `type`").says("f.csv: line 3, column `verdict`");
    folder.write("f.csv", format!("{HEADER}\n"));
    sample().exits(2).says("no findings");
    assert!(!folder.join("review").exists());
    folder.assize(&["review", "sample", "--findings", "f.csv", "--out", "review"]).exits(2).says("--per-stratum");
}

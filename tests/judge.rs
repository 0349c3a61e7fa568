//! The whole program with a real judge. Skipped, and said so, where the default model has not been fetched (`make models`).

use assize::store::{ItemKey, Record, Store};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

const MODEL: &str = "SmolLM2-135M-Instruct.Q4_1.gguf";

/// The cores are few: one judge at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(".models")
}

/// A turn at the cores, or `None` (said on stderr) where the model is not there.
fn turn(test: &str) -> Option<MutexGuard<'static, ()>> {
    if !models().join(MODEL).exists() {
        // Past the harness, which keeps what a passing test prints.
        let _ =
            std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("skipped: {test} needs {MODEL}; run `make models`\n"));
        return None;
    }
    Some(ONE_AT_A_TIME.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
}

/// A study with short texts and a short prompt, so that a game takes about a second.
struct Study {
    folder: PathBuf,
}

impl Study {
    fn new(name: &str, n_cases: usize) -> Self {
        let folder = std::env::temp_dir().join(format!("assize-judge-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let study = Self { folder };
        let reports = [
            "Fever began two days before admission. Sodium was 128 mmol/L. She went home on day 3.",
            "He fell the evening before admission and broke his left wrist. There was no head injury. A cast was applied on arrival.",
        ];
        let prompt = "Compare timelines A and B with the report. Write findings as JSON.\nREPORT\n{{ report }}\nTIMELINE A\n{{ timeline_a }}\nTIMELINE B\n{{ timeline_b }}\n";
        study.write("short.v1.txt", prompt);
        for (i, report) in reports.iter().take(n_cases).enumerate() {
            study.write(&format!("reports/case-{i}.txt"), report);
            for (source, rows) in [
                ("x", "first event,-48\nsodium low,0\n"),
                ("y", "first event,-24\ncast applied,0\n"),
                ("z", "event,0\ngoing home,72\n"),
            ] {
                study.write(&format!("{source}/case-{i}.csv"), &format!("event,time\n{rows}"));
            }
        }
        study.manifest("max_reply_tokens = 48\n");
        study
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }

    fn manifest(&self, judge: &str) {
        let sources: String = ["x", "y", "z"]
            .iter()
            .map(|name| format!("[[source]]\nname = \"{name}\"\ndir = \"{name}\"\nformat = \"csv\"\n"))
            .collect();
        self.write(
            "study.toml",
            &format!(
                "[study]\nname = \"t\"\n[reports]\ndir = \"reports\"\n{sources}[judge]\ncard = \"smollm2-135m-instruct\"\n\
                 prompt = \"short.v1.txt\"\nmax_findings = 1\nmax_attempts = 1\nslots = 3\n{judge}"
            ),
        );
    }

    fn command(&self, store: &str, arguments: &[&str]) -> Command {
        self.command_of("run", store, arguments)
    }

    fn command_of(&self, name: &str, store: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assize"));
        command.arg(name).arg(&self.folder).arg("--model-dir").arg(models());
        command.arg("--store").arg(self.folder.join(store)).arg("--results").arg(self.folder.join(format!("results-{store}")));
        command.args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn run(&self, store: &str, arguments: &[&str]) -> Output {
        self.command(store, arguments).output().expect("the program runs")
    }

    /// Runs to the end. Replies this short are often cut, which is an outcome like any other here.
    fn judged(&self, store: &str, arguments: &[&str]) -> BTreeMap<ItemKey, Record> {
        let output = self.run(store, arguments);
        assert!(matches!(output.status.code(), Some(0 | 4)), "{}", String::from_utf8_lossy(&output.stderr));
        self.records(store)
    }

    /// What `plan` says, as rows by name and explanations.
    fn plan(&self, store: &str, arguments: &[&str]) -> (BTreeMap<String, serde_json::Value>, String) {
        let output = self.command_of("plan", store, &[&["--json"], arguments].concat()).output().expect("the program runs");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let plan: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let rows = plan["plan"].as_array().expect("rows").iter();
        let rows = rows.map(|row| (row["what"].as_str().expect("a name").to_string(), row["value"].clone())).collect();
        (rows, plan["explanations"].to_string())
    }

    /// The counters of the only run into `store`.
    fn stats(&self, store: &str) -> serde_json::Value {
        let mut runs = fs::read_dir(self.folder.join(store).join("runs")).expect("run records");
        let path = runs.next().expect("a run").expect("an entry").path();
        let record: serde_json::Value = serde_json::from_slice(&fs::read(path).expect("a record")).expect("JSON");
        record["stats"].clone()
    }

    fn records(&self, store: &str) -> BTreeMap<ItemKey, Record> {
        let store = Store::open_read_only(&self.folder.join(store)).expect("a store");
        store.records().map(|record| record.expect("a record")).map(|record| (record.key, record)).collect()
    }

    /// Stored lines, answered or not, in every segment.
    fn n_lines(&self, store: &str) -> usize {
        let segments = fs::read_dir(self.folder.join(store).join("segments")).expect("segments");
        segments.map(|entry| fs::read_to_string(entry.expect("an entry").path()).expect("a segment").lines().count()).sum()
    }

    fn results(&self, store: &str) -> BTreeMap<String, Vec<u8>> {
        let folder = self.folder.join(format!("results-{store}"));
        fs::read_dir(&folder)
            .expect("results")
            .map(|entry| entry.expect("an entry").path())
            .map(|path| (path.file_name().expect("a name").to_string_lossy().into_owned(), fs::read(&path).expect("a file")))
            .collect()
    }
}

impl Drop for Study {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// What a reply is, without what depends on the machine's day.
fn essence(records: &BTreeMap<ItemKey, Record>) -> Vec<(ItemKey, String, Option<f32>)> {
    records.values().map(|record| (record.key, record.reply.clone(), record.min_margin)).collect()
}

#[test]
fn an_exact_run_killed_ten_times_ends_as_an_uninterrupted_one() {
    let Some(_turn) = turn("killed and resumed") else { return };
    let study = Study::new("killed", 2);
    let whole = study.judged("whole", &["--numerics", "exact"]);
    assert_eq!(whole.len(), 6);
    // Moments spread over loading, prompts and replies of a game.
    let mut kills = 0;
    for delay_ms in [150, 900, 420, 1300, 650, 1600, 310, 1150, 780, 530] {
        let mut child = study.command("killed", &["--numerics", "exact", "--quiet"]).spawn().expect("started");
        std::thread::sleep(Duration::from_millis(delay_ms));
        kills += usize::from(child.try_wait().expect("waited").is_none());
        child.kill().expect("SIGKILL");
        child.wait().expect("gone");
    }
    assert!(kills >= 5, "only {kills} of 10 kills met a running process");
    let resumed = study.judged("killed", &["--numerics", "exact"]);
    assert_eq!(essence(&resumed), essence(&whole));
    assert_eq!(study.results("killed"), study.results("whole"), "results byte for byte");
    assert_eq!(study.n_lines("killed"), 6, "no finished item was computed again");
}

#[test]
fn an_exact_reply_depends_on_its_own_prompt_alone() {
    let Some(_turn) = turn("independent of the queue") else { return };
    let study = Study::new("queue", 2);
    let all = study.judged("all", &["--numerics", "exact"]);
    let one_case =
        fs::read_to_string(study.folder.join("study.toml")).expect("a manifest") + "\n[cases]\ninclude = [\"case-1\"]\n";
    study.write("study.toml", &one_case);
    let some = study.judged("some", &["--numerics", "exact", "--slots", "7"]);
    assert_eq!(some.len(), 3);
    for (key, record) in &some {
        assert_eq!((&record.reply, record.min_margin), (&all[key].reply, all[key].min_margin));
    }
}

/// The thread count is no part of the item key: this is why.
#[test]
fn one_two_and_eight_threads_give_equal_logits() {
    let Some(_turn) = turn("threads") else { return };
    let study = Study::new("threads", 1);
    let [one, two, eight] = ["1", "2", "8"].map(|n| essence(&study.judged(n, &["--numerics", "exact", "--threads", n])));
    assert_eq!(one, two);
    assert_eq!(one, eight);
}

#[test]
fn fast_mode_shares_prompts_and_alone_it_computes_what_exact_does() {
    let Some(_turn) = turn("fast mode") else { return };
    let study = Study::new("fast", 2);
    let fast = study.judged("fast", &["--numerics", "fast"]);
    let (prompt, reused) =
        fast.values().fold((0, 0), |(p, r), record| (p + record.usage.prompt_tokens, r + record.usage.reused_tokens));
    assert!(reused * 4 > prompt, "{reused} of {prompt} prompt tokens shared");
    assert!(fast.values().any(|record| record.batch_width > 1));
    let exact = study.judged("exact", &["--numerics", "exact"]);
    assert!(fast.keys().all(|key| !exact.contains_key(key)), "numerics is part of the item key");
    // A game with nothing to share and nobody beside it is the same computation in both modes.
    let lone = fs::read_to_string(study.folder.join("study.toml")).expect("a manifest") + "\n[cases]\ninclude = [\"case-0\"]\n";
    let at = lone.find("[[source]]\nname = \"z\"").expect("the third source");
    let end = at + lone[at..].find("[judge]").expect("the judge");
    study.write("study.toml", &format!("{}{}", &lone[..at], &lone[end..]));
    let lone_fast = study.judged("lone-fast", &["--numerics", "fast"]);
    let lone_exact = study.judged("lone-exact", &["--numerics", "exact"]);
    let reply =
        |records: &BTreeMap<ItemKey, Record>| records.values().map(|r| (r.reply.clone(), r.min_margin)).collect::<Vec<_>>();
    assert_eq!(reply(&lone_fast).len(), 1);
    assert_eq!(reply(&lone_fast), reply(&lone_exact));
}

#[test]
fn replies_keep_the_schema_and_the_report_shows_them() {
    let Some(_turn) = turn("schema") else { return };
    let study = Study::new("schema", 1);
    // Enough for the longest evidence and rationale that the schema allows, at a token a character.
    study.manifest("max_reply_tokens = 900\n");
    for record in study.judged("schema", &["--numerics", "fast"]).values() {
        let reply: serde_json::Value = serde_json::from_str(&record.reply).expect("a complete JSON reply");
        assert!(reply["findings"].as_array().is_some_and(|findings| findings.len() <= 1), "{reply}");
        assert!(!record.reply.contains("\": "), "compact JSON: {}", record.reply);
    }
    let page = String::from_utf8(study.results("schema")["report.html"].clone()).expect("text");
    assert!(page.contains("Sodium was 128 mmol/L"));
}

#[test]
fn a_prompt_that_does_not_fit_is_refused_with_the_sizes() {
    let Some(_turn) = turn("too long") else { return };
    let study = Study::new("long", 1);
    study.manifest("context_tokens = 640\nmax_reply_tokens = 600\n");
    for numerics in ["exact", "fast"] {
        let output = study.run(numerics, &["--numerics", numerics]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(4), "{stderr}");
        assert!(stderr.contains("the reply may have 600") && stderr.contains("the context holds 640"), "{stderr}");
        assert_eq!(study.records(numerics).len(), 3, "each refusal is on record");
    }
}

#[test]
fn sigterm_drains_and_the_same_command_goes_on() {
    let Some(_turn) = turn("SIGTERM") else { return };
    let study = Study::new("sigterm", 2);
    let child = study.command("drained", &["--numerics", "fast"]).spawn().expect("started");
    std::thread::sleep(Duration::from_millis(1500));
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    let output = child.wait_with_output().expect("it ends");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(5), "{stderr}");
    assert!(stderr.contains("run the same command again"), "{stderr}");
    let before = study.records("drained");
    assert!(before.len() < 6, "it was stopped early");
    let after = study.judged("drained", &["--numerics", "fast"]);
    assert_eq!(after.len(), 6);
    for (key, record) in &before {
        assert_eq!(record, &after[key], "what was drained is not computed again");
    }
}

#[test]
fn weights_that_are_not_the_cards_are_refused() {
    let Some(_turn) = turn("verification") else { return };
    let study = Study::new("verify", 1);
    let card =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("models/smollm2-135m-instruct.toml")).expect("the card");
    let template = card.split("[template]\nsha256 = \"").nth(1).expect("a template hash").split('"').next().expect("64 digits");
    for (what, changed) in [
        ("chat template", card.replace(template, &"0".repeat(64))),
        ("sha256", card.replace("b179c9", "b179c0")),
        ("bytes", card.replace("bytes = 98362432", "bytes = 98362433")),
        ("context", card.replace("context_tokens = 8192", "context_tokens = 9000")),
    ] {
        study.write("card.toml", &changed);
        let card = study.folder.join("card.toml");
        let output = study.run("verify", &["--card", card.to_str().expect("a path")]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{what}: {stderr}");
        assert!(stderr.contains(what) && stderr.contains(MODEL), "{what}: {stderr}");
    }
}

/// A refusal says nothing of the judge: with a longer context the same command judges the game.
#[test]
fn a_refused_prompt_is_judged_once_the_context_is_long_enough() {
    let Some(_turn) = turn("refused and judged") else { return };
    let study = Study::new("longer", 1);
    study.manifest("context_tokens = 100\nmax_reply_tokens = 48\n");
    assert_eq!(study.run("longer", &[]).status.code(), Some(4));
    study.manifest("max_reply_tokens = 48\n");
    let judged = study.judged("longer", &[]);
    assert!(judged.len() == 3 && judged.values().all(|record| record.usage.reply_tokens > 0));
}

#[test]
fn a_plan_says_what_the_run_then_computes() {
    let Some(_turn) = turn("plan") else { return };
    let study = Study::new("plan", 2);
    let (before, said) = study.plan("planned", &["--numerics", "fast", "--memory", "1GB"]);
    let number = |plan: &BTreeMap<String, serde_json::Value>, what: &str| plan[what].as_u64().unwrap_or_else(|| panic!("{what}"));
    assert!(!study.folder.join("planned").exists(), "a plan makes no store");
    assert_eq!((number(&before, "games"), number(&before, "pending_first_tries")), (6, 6));
    assert_eq!(number(&before, "kv_a_token"), 23_040, "30 layers, 3 heads, 64 numbers each for key and value, 2 bytes");
    assert_eq!(number(&before, "kv_cache"), 23_040 * 2 * 8_192);
    assert_eq!(number(&before, "kv_a_sequence"), 23_040 * (number(&before, "longest_prompt") + 48));
    assert_eq!(number(&before, "slots_that_fit"), (1_000_000_000 - number(&before, "model")) / number(&before, "kv_a_sequence"));
    assert!(before["hours"].is_null() && said.contains("no estimate"), "{said}");
    let (exact, _) = study.plan("planned", &["--numerics", "exact", "--kv-type", "q8_0"]);
    assert_eq!(number(&exact, "prompt_tokens_expected"), number(&exact, "prompt_tokens_submitted"));
    assert_eq!(number(&exact, "kv_a_token"), 12_240);

    let (measured, said) = study.plan("planned", &["--numerics", "fast", "--measure"]);
    assert!(measured["hours"].as_f64().is_some_and(|hours| hours > 0.0) && said.contains("at most: measured"), "{said}");
    assert!(!study.folder.join("planned").exists(), "measuring keeps no reply");

    let judged = study.judged("planned", &["--numerics", "fast"]);
    let submitted: u64 = judged.values().map(|record| u64::from(record.usage.prompt_tokens)).sum();
    let computed = submitted - judged.values().map(|record| u64::from(record.usage.reused_tokens)).sum::<u64>();
    assert_eq!(number(&before, "prompt_tokens_submitted"), submitted);
    assert!(number(&before, "prompt_tokens_least") <= computed, "{computed}");
    let expected = number(&before, "prompt_tokens_expected");
    assert!(expected.abs_diff(computed) * 10 <= computed, "{expected} expected, {computed} computed");

    let (after, _) = study.plan("planned", &["--numerics", "fast"]);
    assert_eq!((number(&after, "items_on_record"), number(&after, "pending_first_tries")), (6, 0));
    assert_eq!(after["hours"], 0.0);
    // Half of the study anew: its hours rest on the run before.
    study.write("reports/case-1.txt", "He fell on the stairs and broke his right wrist.");
    let (again, said) = study.plan("planned", &["--numerics", "fast"]);
    assert_eq!((number(&again, "items_on_record"), number(&again, "pending_first_tries")), (3, 3));
    assert!(again["hours"].as_f64().is_some_and(|hours| hours > 0.0) && said.contains("as in the newest run"), "{said}");
}

#[test]
fn every_cache_type_judges_and_keeps_replies_of_its_own() {
    let Some(_turn) = turn("cache types") else { return };
    let study = Study::new("types", 1);
    study.manifest("max_reply_tokens = 8\n");
    let mut keys = std::collections::BTreeSet::new();
    for arguments in [
        &["--kv-type", "f16"][..],
        &["--kv-type", "bf16"],
        &["--kv-type", "f32"],
        &["--kv-type", "q8_0"],
        &["--kv-type", "q4_0"],
        &["--flash-attention", "false"],
        &["--moe-on-cpu", "true"],
    ] {
        let judged = study.judged(&arguments.join(""), &[arguments, &["--threads", "1"]].concat());
        assert!(judged.len() == 3 && judged.values().all(|record| record.usage.reply_tokens > 0), "{arguments:?}");
        keys.extend(judged.into_keys());
    }
    assert_eq!(keys.len(), 7 * 3);
}

#[test]
fn drafts_and_sharing_can_be_switched_off() {
    let Some(_turn) = turn("drafts and sharing") else { return };
    let study = Study::new("switches", 1);
    let without =
        study.judged("without", &["--numerics", "fast", "--drafts", "false", "--sharing", "false", "--kv-cells", "8192"]);
    assert!(without.values().all(|record| record.usage.reused_tokens == 0));
    let stats = study.stats("without");
    assert!(stats["reply_passes"].as_u64() >= stats["reply_tokens"].as_u64(), "each reply token takes a pass: {stats}");
    let with = study.judged("with", &["--numerics", "fast"]);
    assert!(with.keys().all(|key| !without.contains_key(key)));
    assert!(with.values().any(|record| record.usage.reused_tokens > 0));
}

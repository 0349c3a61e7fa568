//! The whole program with a real judge. Skipped, and said so, where the default model has not been fetched (`make models`).

use assize::store::{ItemKey, Record, Store};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

#[cfg(test)]
#[path = "judge/worker.rs"]
mod worker;

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

    /// The audit of one case's three games, its replies and tables in `audit`.
    fn audit(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assize"));
        command.args(["audit", "determinism", "--json", "--games", "3", "--widths", "2"]).arg(&self.folder);
        command.arg("--model-dir").arg(models()).arg("--out").arg(self.folder.join("audit"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
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
fn an_audit_finds_exact_mode_repeating_itself_and_goes_on_where_it_was_stopped() {
    let Some(_turn) = turn("the audit of determinism") else { return };
    let study = Study::new("audit", 1);
    let child = study.audit().spawn().expect("started");
    std::thread::sleep(Duration::from_millis(2500));
    let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(5), "{}", String::from_utf8_lossy(&output.stderr));
    let settings = [
        "exact",
        "exact-again",
        "exact-reversed",
        "fast-2",
        "fast-2-no-drafts",
        "fast-2-no-sharing",
        "fast-2-no-drafts-no-sharing",
    ];
    let n_stored = || -> usize {
        let stores = settings.iter().map(|setting| format!("audit/store/{setting}"));
        stores.filter(|store| study.folder.join(store).join("segments").exists()).map(|store| study.n_lines(&store)).sum()
    };
    assert!(n_stored() < 21, "it was stopped early");
    let output = study.audit().output().expect("the program runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(n_stored(), 21, "three games in seven settings, none of them twice");
    let shown: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = shown["replies"].as_array().expect("rows");
    assert_eq!(rows.iter().map(|row| row["setting"].as_str().expect("a name")).collect::<Vec<_>>(), settings[1..]);
    for row in rows {
        assert_eq!((&row["replies"], &row["unanswered"]), (&3.into(), &0.into()), "{row}");
        if row["setting"].as_str().is_some_and(|name| name.starts_with("exact")) {
            assert_eq!((&row["differ"], &row["margin_alone_differs"]), (&0.into(), &0.into()), "{row}");
        }
    }
    let n_differing: u64 = rows.iter().map(|row| row["differ"].as_u64().expect("a count")).sum();
    assert_eq!(shown["differences"].as_array().map(Vec::len), usize::try_from(n_differing).ok());
    // Drafts and shared prompts are what the settings say they are.
    let reused = |setting: &str| -> u32 {
        study.records(&format!("audit/store/{setting}")).values().map(|record| record.usage.reused_tokens).sum()
    };
    assert!(reused("fast-2") > 0 && reused("fast-2-no-drafts") > 0);
    assert_eq!((reused("exact"), reused("fast-2-no-sharing"), reused("fast-2-no-drafts-no-sharing")), (0, 0, 0));
    assert!(!study.folder.join("store").exists() && !study.folder.join("results").exists(), "the study's own are left alone");
    // Again from what is on record, without the judge.
    let again = study.audit().arg("--quiet").output().expect("the program runs");
    assert_eq!((again.status.code(), again.stdout), (Some(0), output.stdout));
    assert_eq!(n_stored(), 21);
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
    assert_eq!(number(&before, "kv_cache"), 23_040 * 3 * 8_192, "three slots of a short context");
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
    let with = study.judged("with", &["--numerics", "fast"]);
    let [passes, passes_without] = ["with", "without"].map(|store| {
        let count = |name: &str| study.stats(store)[name].as_f64().expect("a count");
        count("reply_passes") / count("reply_tokens")
    });
    // The scaffolding of the JSON is forced in both.
    assert!(passes < passes_without && passes_without < 1.0, "{passes} passes a reply token, {passes_without} without drafts");
    assert!(with.keys().all(|key| !without.contains_key(key)));
    assert!(with.values().any(|record| record.usage.reused_tokens > 0));
}

/// A judge that thinks aloud, played by the default one: its template's last word stands for an opening mark.
#[test]
fn reasoning_is_kept_apart_and_cut_at_its_limit() {
    let Some(_turn) = turn("reasoning") else { return };
    let study = Study::new("reasoning", 1);
    let card =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("models/smollm2-135m-instruct.toml")).expect("the card");
    let judged = |reasoning: &str, store: &str, numerics: &str| {
        study.write("card.toml", &format!("{card}\n[reasoning]\n{reasoning}"));
        let path = study.folder.join("card.toml");
        let records = study.judged(store, &["--card", path.to_str().expect("a path"), "--numerics", numerics]);
        for record in records.values() {
            assert!(record.reasoning_cut, "{store}: the limit came first");
            assert!(record.reply.starts_with("{\"findings\":["), "the constraint holds after the mark: {}", record.reply);
        }
        records
    };
    let tags = "style = \"tags\"\nopen = \"assistant\"\nclose = \"</think>\"\nbudget = 24\n";
    for numerics in ["exact", "fast"] {
        for record in judged(tags, numerics, numerics).values() {
            let thoughts = record.reasoning.as_deref().expect("reasoning");
            assert!(!thoughts.is_empty() && !thoughts.contains("</think>"), "{thoughts}");
            assert!(record.usage.reply_tokens > 24);
        }
    }
    // This judge knows no channels: what it writes is taken for a header until the limit, and a header is no thought.
    let harmony = judged("style = \"harmony\"\nbudget = 24\n", "harmony", "exact");
    assert!(harmony.values().all(|record| record.reasoning.as_deref() == Some("")));
    study.manifest("max_reply_tokens = 48\nmax_reasoning_tokens = 12\n");
    assert_eq!(judged(tags, "exact", "exact").len(), 6, "the limit is part of the item key");
    let refused = study.run("plain", &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("has no [reasoning]"));
}

/// The default judge's own file, pinned by a card that left it open, is judged with.
#[test]
fn a_pinned_card_can_be_run() {
    let Some(_turn) = turn("pinning") else { return };
    let study = Study::new("pin", 1);
    let open = "name = \"mine\"\nkind = \"judge\"\narchitecture = \"gemma3\"\nlicence = \"-\"\nsource = \"here\"\npinned = false\n\
                [template.switches]\nenable_thinking = false\n";
    study.write("open.toml", open);
    let path = |name: &str| study.folder.join(name).to_str().expect("a path").to_string();
    let pinned = Command::new(env!("CARGO_BIN_EXE_assize"))
        .args(["models", "pin", &path("open.toml"), "--file", MODEL, "--out", &path("card.toml"), "--model-dir"])
        .arg(models())
        .output()
        .expect("the program runs");
    let stderr = String::from_utf8_lossy(&pinned.stderr);
    assert_eq!(pinned.status.code(), Some(0), "{stderr}");
    assert!(stderr.contains("the card says architecture gemma3, the file says llama"), "{stderr}");
    let card = fs::read_to_string(path("card.toml")).expect("a card");
    for words in ["bytes = 98362432", "b179c9523d", "872be49dbb", "enable_thinking = false", "context_tokens = 8192"] {
        assert!(card.contains(words), "{words} is not in {card}");
    }
    assert_eq!(study.judged("pinned", &["--card", &path("card.toml")]).len(), 3);
}

/// What a weight file is instead of a whole GGUF is said before anything is read from it, and a template that lays nothing out is one error
/// at the start.
#[test]
fn a_file_that_is_no_whole_judge_is_one_error_at_the_start() {
    let Some(_turn) = turn("broken weight files") else { return };
    let study = Study::new("broken", 1);
    let open =
        "name = \"mine\"\nkind = \"judge\"\narchitecture = \"llama\"\nlicence = \"-\"\nsource = \"here\"\npinned = false\n";
    study.write("open.toml", open);
    let weights = study.folder.join("weights");
    fs::create_dir_all(&weights).expect("a folder");
    let path = |name: &str| study.folder.join(name).to_str().expect("a path").to_string();
    let pin = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_assize"));
        let _ = fs::remove_file(path("card.toml"));
        command.args(["models", "pin", &path("open.toml"), "--file", "judge.gguf", "--out", &path("card.toml"), "--model-dir"]);
        let output = command.arg(&weights).output().expect("the program runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let whole = fs::read(models().join(MODEL)).expect("weights");
    for (bytes, words) in [
        (&whole[..90_000_000], "its tensors need 98362432 bytes, the file has 90000000; the download is not complete"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "got a Git LFS pointer"),
        (b"<!DOCTYPE html><html></html>", "got an HTML page"),
        (b"GGUF\0\0\0\x03\0\0\0\0", "got a GGUF of the other endianness"),
    ] {
        fs::write(weights.join("judge.gguf"), bytes).expect("written");
        let (code, said) = pin();
        assert_eq!(code, Some(3), "{said}");
        assert!(said.contains(words), "{said}");
    }
    // The template's text becomes white space; all else stays.
    let mut blank = whole;
    let key = b"tokenizer.chat_template";
    let at = blank.windows(key.len()).position(|window| window == key).expect("a template") + key.len() + 4;
    let length = u64::from_le_bytes(blank[at..at + 8].try_into().expect("eight bytes")) as usize;
    blank[at + 8..at + 8 + length].fill(b' ');
    fs::write(weights.join("judge.gguf"), blank).expect("written");
    assert_eq!(pin().0, Some(0));
    let output = Command::new(env!("CARGO_BIN_EXE_assize"))
        .arg("run")
        .arg(&study.folder)
        .args(["--card", &path("card.toml"), "--model-dir"])
        .arg(&weights)
        .output()
        .expect("the program runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("the chat template leaves out what the user says") && !said.contains("panicked"), "{said}");
}

/// Requests as other tools write them are answered; one that cannot be is its own error and keeps no other from its answer.
#[test]
fn a_request_that_cannot_be_answered_is_its_own_error() {
    let Some(_turn) = turn("a request that cannot be answered") else { return };
    let study = Study::new("refused", 1);
    let line = |id: &str, body: serde_json::Value| {
        serde_json::json!({"custom_id": id, "method": "POST", "url": "/v1/chat/completions", "body": body}).to_string() + "\n"
    };
    let question = serde_json::json!([
        {"role": "developer", "content": [{"type": "text", "text": "Be brief."}]},
        {"role": "user", "content": "Name a fruit."},
    ]);
    let object = serde_json::json!({"messages": question, "max_tokens": 40, "max_completion_tokens": 40, "temperature": 0, "n": 1,
        "stop": null, "response_format": {"type": "json_object"}});
    let mut lost = object.clone();
    lost["response_format"] =
        serde_json::json!({"type": "json_schema", "json_schema": {"name": "lost", "schema": {"$ref": "#/nowhere"}}});
    study.write("batch.jsonl", &format!("\u{feff}{}{}", line("lost", lost), line("object", object)));
    let out = study.folder.join("out.jsonl");
    let output = Command::new(env!("CARGO_BIN_EXE_assize"))
        .args(["answer", "--json", "--quiet", "--card", "smollm2-135m-instruct", "--model-dir"])
        .arg(models())
        .arg(study.folder.join("batch.jsonl"))
        .arg("--out")
        .arg(&out)
        .output()
        .expect("the program runs");
    assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
    let results = fs::read_to_string(&out).expect("results");
    let lines: Vec<serde_json::Value> = results.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let error = &lines[0]["error"];
    assert_eq!((&lines[0]["response"], &error["code"]), (&serde_json::Value::Null, &serde_json::json!("request_invalid")));
    assert!(error["message"].as_str().expect("a message").starts_with("response_format: constraint lost: "), "{error}");
    let reply = lines[1]["response"]["body"]["choices"][0]["message"]["content"].as_str().expect("a reply");
    assert!(reply.starts_with('{'), "{reply}");
    // Replies may quote a case.
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(fs::metadata(&out).expect("results").permissions().mode() & 0o777, 0o600);
}

/// A batch is answered in its order and form, and again from what is on record.
#[test]
fn a_batch_is_answered_in_order_and_again_from_the_store() {
    let Some(_turn) = turn("answering a batch") else { return };
    let study = Study::new("answer", 1);
    let schema =
        r#"{"type":"object","properties":{"answer":{"enum":["yes","no"]}},"required":["answer"],"additionalProperties":false}"#;
    let line = |id: &str, field: &str| {
        format!(
            "{{\"custom_id\":\"{id}\",\"method\":\"POST\",\"url\":\"/v1/chat/completions\",\"body\":{{\"messages\":[{{\"role\":\"user\",\
             \"content\":\"Is {id} a fruit?\"}}],\"max_tokens\":12,\"temperature\":0{field}}}}}\n"
        )
    };
    let form =
        format!(",\"response_format\":{{\"type\":\"json_schema\",\"json_schema\":{{\"name\":\"a\",\"schema\":{schema}}}}}");
    study.write("batch.jsonl", &[line("pear", &form), line("apple", &form), line("stone", "")].concat());
    let answer = |out: &str| {
        let path = |name: &str| study.folder.join(name);
        let output = Command::new(env!("CARGO_BIN_EXE_assize"))
            .args(["answer", "--json", "--quiet", "--card", "smollm2-135m-instruct", "--numerics", "fast", "--model-dir"])
            .arg(models())
            .arg(path("batch.jsonl"))
            .arg("--out")
            .arg(path(out))
            .arg("--store")
            .arg(path("answers"))
            .output()
            .expect("the program runs");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        fs::read_to_string(path(out)).expect("results")
    };
    let results = answer("first.jsonl");
    let lines: Vec<serde_json::Value> = results.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(
        lines.iter().map(|line| line["custom_id"].as_str().expect("an id")).collect::<Vec<_>>(),
        ["pear", "apple", "stone"]
    );
    for line in &lines[..2] {
        let reply = line["response"]["body"]["choices"][0]["message"]["content"].as_str().expect("a reply");
        assert!([r#"{"answer":"yes"}"#, r#"{"answer":"no"}"#].contains(&reply), "{reply}");
    }
    assert_eq!(study.n_lines("answers"), 3);
    assert_eq!(answer("again.jsonl"), results);
    assert_eq!(study.n_lines("answers"), 3, "nothing was computed again");
}

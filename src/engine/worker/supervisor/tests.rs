use super::*;
use crate::engine::generate::{Finished, Message, ReplyLimit};
use crate::store::{FinishReason, Origin};
use futures::channel::oneshot;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

/// Items that a fake worker has at work together.
const SLOTS: usize = 4;

/// What a fake worker does when it would be ready.
#[derive(Clone, Copy, PartialEq)]
enum Load {
    Works,
    Dies,
    Refuses,
}

/// Answers with the prompt's own text, four at a time; `dies` in the prompt ends it once it has begun, `hangs` stops it there, `late`
/// is answered when it is killed, `unreadable` ends it before it begins anything.
struct Fake {
    lines: Sender<Option<ToWorker>>,
}

impl Worker for Fake {
    fn tell(&mut self, message: &ToWorker) -> Result<(), String> {
        // Through a line, as to a real one.
        let line = super::super::protocol::line_of(message).map_err(|error| error.to_string())?;
        let _ = self.lines.send(super::super::protocol::message_of(&line));
        Ok(())
    }

    fn kill(&mut self) {
        let _ = self.lines.send(None);
    }

    fn wait(&mut self) -> String {
        "signal 6, SIGABRT".into()
    }
}

impl Fake {
    fn start(number: u64, load: Load, events: Sender<Event>) -> Self {
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let say = |said| drop(events.send(Event::Said { number, said }));
            live(load, &lines, &say);
            drop(events.send(Event::Gone { number, garbled: false }));
        });
        Self { lines: sender }
    }
}

fn live(load: Load, lines: &Receiver<Option<ToWorker>>, say: &dyn Fn(FromWorker)) {
    match load {
        Load::Dies => return,
        Load::Refuses => return say(FromWorker::Failed { message: "no chat template".into() }),
        Load::Works => say(FromWorker::Ready),
    }
    let (mut queue, mut stop, mut passed) = (VecDeque::new(), false, 0);
    loop {
        match lines.recv_timeout(Duration::from_millis(60)) {
            Ok(Some(ToWorker::Job(question))) => queue.push_back(question),
            Ok(Some(ToWorker::Stop)) => stop = true,
            Ok(Some(ToWorker::Start(_))) => {}
            Ok(None) | Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                let text = |question: &Question| question.messages[0].content.clone();
                if queue.iter().any(|question| text(question).contains("unreadable")) {
                    return;
                }
                let batch: Vec<Question> = queue.drain(..queue.len().min(SLOTS)).collect();
                for question in batch.iter().filter(|_| !stop) {
                    say(FromWorker::Began { id: question.id });
                }
                if batch.iter().any(|question| text(question).contains("dies")) {
                    return;
                }
                if batch.iter().any(|question| text(question).contains("hangs")) {
                    while lines.recv().is_ok_and(|line| line.is_some()) {}
                    return;
                }
                let is_late = batch.iter().any(|question| text(question).contains("late"));
                while is_late && lines.recv().is_ok_and(|line| line.is_some()) {}
                for question in &batch {
                    passed += 10;
                    say(FromWorker::Stats(Computed { tokens_passed: passed, reply_passes: passed / 10 }));
                    let finished = Finished::of_text(text(question), FinishReason::Stop, Origin::Engine);
                    let generated = if stop { Generated::Interrupted } else { Generated::Finished(finished) };
                    say(FromWorker::Done { id: question.id, generated });
                }
                if is_late {
                    return;
                }
            }
        }
    }
}

/// A supervisor over fake workers, the first of which loads as `loads[0]` says and so on; later ones work.
struct Bench {
    events: Sender<Event>,
    stats: Arc<EngineStats>,
    stop: Arc<AtomicBool>,
    said: Arc<Mutex<Vec<String>>>,
    n_started: Arc<Mutex<usize>>,
}

impl Bench {
    fn start(loads: &[Load]) -> Result<Self, WorkerError> {
        let (events, receiver) = channel();
        let bench = Self {
            events: events.clone(),
            stats: Arc::default(),
            stop: Arc::default(),
            said: Arc::default(),
            n_started: Arc::default(),
        };
        let card = crate::models::ModelCard::find("written-replies", std::path::Path::new("")).expect("a built-in card");
        let settings = crate::engine::generate::llama::LlamaSettings::new(
            crate::data::Numerics::Exact,
            1,
            1,
            1,
            &crate::data::study::EngineSection::default(),
            &[],
        )
        .expect("settings");
        let (loads, n_started, said) = (loads.to_vec(), Arc::clone(&bench.n_started), Arc::clone(&bench.said));
        let run = Run {
            launch: Box::new(move |number| {
                let mut n_started = n_started.lock().expect("a count");
                let load = loads.get(*n_started).copied().unwrap_or(Load::Works);
                *n_started += 1;
                Ok(Box::new(Fake::start(number, load, events.clone())) as _)
            }),
            start: Start { card, files: crate::models::LocalModel { files: Vec::new() }, settings },
            hang_timeout: Duration::from_millis(400),
            stats: Arc::clone(&bench.stats),
            stop: Arc::clone(&bench.stop),
            say: Box::new(move |line| said.lock().expect("lines").push(line.to_string())),
        };
        let supervisor = Supervisor::start(run, receiver)?;
        std::thread::spawn(move || supervisor.run());
        Ok(bench)
    }

    fn submit(&self, texts: &[&str]) -> Vec<oneshot::Receiver<Generated>> {
        let submit = |text: &&str| {
            let (done, answer) = oneshot::channel();
            let messages = vec![Message::user(*text)];
            let job = Job {
                messages,
                constraint: None,
                reply_limit: ReplyLimit::Fixed(9),
                max_reasoning_tokens: None,
                began: Box::new(|| ()),
                done,
            };
            assert!(self.events.send(Event::Submitted(job)).is_ok(), "the supervisor lives");
            answer
        };
        texts.iter().map(submit).collect()
    }

    /// What becomes of jobs with these texts, in short.
    fn ask(&self, texts: &[&str]) -> Vec<String> {
        told(self.submit(texts))
    }

    fn said(&self) -> Vec<String> {
        self.said.lock().expect("lines").clone()
    }

    fn n_started(&self) -> usize {
        *self.n_started.lock().expect("a count")
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.events.send(Event::Closed);
    }
}

fn told(answers: Vec<oneshot::Receiver<Generated>>) -> Vec<String> {
    futures::executor::block_on(futures::future::join_all(answers))
        .into_iter()
        .map(|generated| match generated.expect("every job is answered") {
            Generated::Finished(finished) => finished.reply,
            Generated::Crashed { reason } => format!("crashed: {reason}"),
            Generated::Lost { reason } => format!("lost: {reason}"),
            Generated::TooLong { reason } => format!("too long: {reason}"),
            Generated::Refused { reason } => format!("refused: {reason}"),
            Generated::Interrupted => "interrupted".into(),
        })
        .collect()
}

#[test]
fn an_item_that_ends_the_process_costs_itself_alone() {
    let bench = Bench::start(&[]).expect("started");
    let told = bench.ask(&["a", "b", "dies of case 7", "d", "e", "f"]);
    assert!(told[2].starts_with("crashed: ") && told[2].contains("retry") && told[2].contains("SIGABRT"), "{}", told[2]);
    assert_eq!([&told[..2], &told[3..]].concat(), ["a", "b", "d", "e", "f"]);
    assert_eq!(bench.n_started(), 3, "one restart for the retry, one after it");
    let said = bench.said();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].contains("item(s) at work") && said.iter().all(|line| !line.contains("case 7")), "{said:?}");
}

#[test]
fn a_hang_ends_as_a_crash_does() {
    let bench = Bench::start(&[]).expect("started");
    let told = bench.ask(&["a", "hangs", "c", "d", "e"]);
    assert!(told[1].starts_with("crashed: ") && told[1].contains("no token for 400ms"), "{}", told[1]);
    assert_eq!([&told[..1], &told[2..]].concat(), ["a", "c", "d", "e"]);
}

#[test]
fn an_item_that_cannot_even_be_begun_is_found() {
    let bench = Bench::start(&[]).expect("started");
    let told = bench.ask(&["a", "unreadable", "c"]);
    assert!(told[1].starts_with("crashed: "), "{}", told[1]);
    assert_eq!([&told[..1], &told[2..]].concat(), ["a", "c"]);
}

#[test]
fn two_bad_items_far_apart_are_two_failures() {
    let bench = Bench::start(&[]).expect("started");
    let told = bench.ask(&["dies", "b", "c", "d", "e", "f", "g", "h", "dies", "j"]);
    assert_eq!(told.iter().filter(|told| told.starts_with("crashed")).count(), 2, "{told:?}");
    assert_eq!(told.iter().filter(|told| told.len() == 1).count(), 8, "{told:?}");
}

#[test]
fn where_every_item_ends_the_process_the_run_stops() {
    let bench = Bench::start(&[]).expect("started");
    let told = bench.ask(&["dies 1", "dies 2", "dies 3", "dies 4", "dies 5", "f"]);
    assert_eq!(told.iter().filter(|told| told.starts_with("crashed")).count(), 3, "{told:?}");
    assert!(told[3..].iter().all(|told| told.contains("lost: ") && told.contains("3 items in a row")), "{told:?}");
    assert!(bench.ask(&["later"])[0].starts_with("lost: "), "later jobs are told too");
    assert!(bench.n_started() <= 8, "it is not started for ever");
}

#[test]
fn a_model_that_cannot_be_loaded_is_an_error_of_the_start() {
    let refused = Bench::start(&[Load::Refuses]).err().expect("no judge");
    assert_eq!(refused.to_string(), "no chat template", "the judge's own words");
    let died = Bench::start(&[Load::Dies]).err().expect("no judge");
    assert!(died.to_string().contains("while it loaded the model (signal 6, SIGABRT)"), "{died}");
}

#[test]
fn a_model_that_cannot_be_loaded_again_stops_the_run() {
    for (load, why) in [(Load::Refuses, "no chat template"), (Load::Dies, "while it loaded the model again")] {
        let bench = Bench::start(&[Load::Works, load]).expect("started");
        let told = bench.ask(&["dies", "b", "c", "d", "e"]);
        assert!(told.iter().all(|told| told.starts_with("lost: ") && told.contains(why)), "{told:?}");
        assert_eq!(bench.n_started(), 2);
    }
}

#[test]
fn a_wish_to_stop_lets_what_has_begun_finish() {
    let bench = Bench::start(&[]).expect("started");
    let running = bench.submit(&["hangs", "b"]);
    std::thread::sleep(Duration::from_millis(150));
    bench.stop.store(true, Ordering::Relaxed);
    // Nothing is tried again: the same command will.
    assert_eq!(told(running), ["interrupted", "interrupted"]);
    assert_eq!(bench.ask(&["later"]), ["interrupted"]);
    assert_eq!(bench.n_started(), 1);

    let bench = Bench::start(&[]).expect("started");
    let first = bench.submit(&["a", "b", "c", "d"]);
    std::thread::sleep(Duration::from_millis(20));
    bench.stop.store(true, Ordering::Relaxed);
    let told = told(first);
    assert!(told.iter().all(|told| told.len() == 1 || told == "interrupted"), "{told:?}");
}

#[test]
fn counters_add_up_over_restarts() {
    let bench = Bench::start(&[]).expect("started");
    bench.ask(&["a", "b"]);
    bench.ask(&["c", "dies"]);
    let snapshot = bench.stats.snapshot();
    // Three answers in two processes, each counted from zero.
    assert_eq!((snapshot.tokens_passed, snapshot.reply_passes), (30, 3));
}

/// An answer that comes while a silent worker is being killed is an answer.
#[test]
fn what_a_killed_worker_still_says_counts() {
    let bench = Bench::start(&[]).expect("started");
    assert_eq!(bench.ask(&["late"]), ["late"]);
    assert_eq!(bench.ask(&["b"]), ["b"]);
    assert_eq!(bench.n_started(), 2);
    assert_eq!(bench.stats.snapshot().tokens_passed, 20);
}

//! The loop over a model of its own: the next token is a function of the tokens in the cells, so a wrong cell, position or draft
//! changes a reply.

use super::*;
use crate::engine::generate::{Message, ReplyLimit};
use futures::channel::oneshot;
use std::cell::{Cell, RefCell};
use std::sync::mpsc::channel;

const PASS_TOKENS: usize = 64;

/// A token that forces three more, and one that forces more than a pass holds.
const FORCES_FEW: Token = 5;
const FORCES_MANY: Token = 6;

fn forced_after(token: Token) -> impl Iterator<Item = Token> {
    let n = match token {
        FORCES_FEW => 3,
        FORCES_MANY => 2 * PASS_TOKENS as Token,
        _ => 0,
    };
    (0..n).map(|i| 100 + i)
}

/// What the model writes after `tokens`: decided by the last two and by the first 64.
fn next_token(tokens: &[Token]) -> Token {
    let start = tokens.iter().take(64).fold(17_i32, |hash, token| hash.wrapping_mul(31).wrapping_add(*token));
    let last = tokens.iter().rev().take(2).fold(start, |hash, token| hash.wrapping_mul(7).wrapping_add(*token));
    last.rem_euclid(23)
}

/// The reply to `prompt` of at most `max` tokens, one token after the other.
fn expected(prompt: &[Token], max: usize) -> Vec<Token> {
    let mut all = prompt.to_vec();
    // A reply to an even start begins with forced tokens.
    all.extend(if prompt[0] % 2 == 0 { &[90, 91][..] } else { &[] });
    while all.len() - prompt.len() < max {
        let token = next_token(&all);
        all.push(token);
        all.extend(forced_after(token));
    }
    all.truncate(prompt.len() + max);
    all.split_off(prompt.len())
}

struct Writing {
    tokens: Vec<Token>,
    begins_forced: bool,
    max: usize,
}

impl Writing {
    fn feed(&mut self, mut fed: Vec<Token>) -> Step {
        fed.truncate(self.max - self.tokens.len());
        self.tokens.extend(&fed);
        if self.tokens.len() == self.max { Step::Done(FinishReason::Length) } else { Step::Feed(fed) }
    }
}

impl Growing for Writing {
    fn begin(&mut self) -> Step {
        let forced = if self.begins_forced { vec![90, 91] } else { Vec::new() };
        self.feed(forced)
    }

    fn acceptable(&mut self, draft: &[Token]) -> usize {
        draft.len().min(self.max - self.tokens.len() - 1)
    }

    fn choose(&mut self, logits: &[f32]) -> Step {
        let token = logits[0] as Token;
        self.feed(std::iter::once(token).chain(forced_after(token)).collect())
    }

    fn n_tokens(&self) -> u32 {
        u32::try_from(self.tokens.len()).expect("short")
    }

    fn into_parts(self) -> (String, Option<Thoughts>, Option<f32>) {
        (format!("{:?}", self.tokens), None, None)
    }
}

#[derive(Default)]
struct Model<'a> {
    cells: HashMap<SequenceId, Vec<Token>>,
    logits: Vec<Option<f32>>,
    n_passes: Option<&'a Cell<usize>>,
    most_tokens: Option<&'a Cell<usize>>,
    /// The passes that fail.
    failing: &'a [usize],
    /// Which sequences each pass holds.
    seen: Option<&'a RefCell<Vec<Vec<SequenceId>>>>,
}

impl Backend for Model<'_> {
    type Reply = Writing;

    fn tokenize(&self, job: &Job) -> Result<Vec<Token>, String> {
        let words = job.messages[0].content.split(' ').map(str::parse);
        words.collect::<Result<_, _>>().map_err(|error| format!("no number: {error}"))
    }

    fn reply(&self, job: &Job) -> Result<Writing, String> {
        let first = self.tokenize(job)?[0];
        Ok(Writing { tokens: Vec::new(), begins_forced: first % 2 == 0, max: job.reply_limit.most() as usize })
    }

    fn change_cache(&mut self, change: CacheChange) {
        match change {
            CacheChange::Copy { from, to, n_tokens } => {
                let copied = self.cells[&from][..n_tokens].to_vec();
                assert!(self.cells.insert(to, copied).is_none_or(|old| old.is_empty()), "a copy onto cells in use");
            }
            CacheChange::Cut { sequence, keep } => self.cells.entry(sequence).or_default().truncate(keep),
        }
    }

    fn clear_cache(&mut self) {
        self.cells.clear();
    }

    fn pass(&mut self, inputs: &[Input]) -> Result<(), String> {
        assert!((1..=PASS_TOKENS).contains(&inputs.len()), "a pass of {} tokens", inputs.len());
        let number = self.n_passes.map_or(0, |n| n.replace(n.get() + 1));
        if let Some(most) = self.most_tokens {
            most.set(most.get().max(inputs.len()));
        }
        if let Some(seen) = self.seen {
            let mut sequences: Vec<SequenceId> = inputs.iter().map(|input| input.sequence).collect();
            sequences.dedup();
            seen.borrow_mut().push(sequences);
        }
        if self.failing.contains(&number) {
            return Err("the machine is on fire".into());
        }
        self.logits.clear();
        for input in inputs {
            let cells = self.cells.entry(input.sequence).or_default();
            assert_eq!(cells.len(), input.position, "a token at its place");
            cells.push(input.token);
            self.logits.push(input.logits.then(|| next_token(cells) as f32));
        }
        Ok(())
    }

    fn logits(&mut self, place: usize) -> &[f32] {
        std::slice::from_ref(self.logits[place].as_ref().expect("logits that were asked for"))
    }
}

fn settings(slots: usize, share: bool, drafts: bool) -> Batching {
    let limits = Limits { slots, sequences: slots + if share { 3 } else { 0 }, cells: 6_000, idle_cells: 500, share };
    Batching { limits, context_tokens: 3_000, pass_tokens: PASS_TOKENS, drafts }
}

/// Prompts of blocks that many have in common.
fn prompts(n: usize) -> Vec<Vec<Token>> {
    (0..n)
        .map(|i| {
            let blocks = [i % 2, 2 + i % 3, 5 + i % 5, 10 + i];
            blocks.into_iter().flat_map(|block| (0..40).map(move |k| (block * 13 + k * (3 + block % 4)) as Token % 60)).collect()
        })
        .collect()
}

fn job(prompt: &[Token], max: usize) -> (Job, oneshot::Receiver<Generated>) {
    let (done, reply) = oneshot::channel();
    let text: Vec<String> = prompt.iter().map(ToString::to_string).collect();
    let job = Job {
        messages: vec![Message::user(text.join(" "))],
        constraint: None,
        reply_limit: ReplyLimit::Fixed(u32::try_from(max).expect("short")),
        max_reasoning_tokens: None,
        began: Box::new(|| ()),
        done,
    };
    (job, reply)
}

/// Everything that became of `jobs`, in their order.
fn answers(model: Model<'_>, settings: Batching, jobs: Vec<(Job, oneshot::Receiver<Generated>)>, stop: bool) -> Vec<Generated> {
    let (sender, receiver) = channel();
    let mut replies = Vec::new();
    for (job, reply) in jobs {
        sender.send(job).expect("open");
        replies.push(reply);
    }
    drop(sender);
    let trace = Trace::start(None).expect("no file");
    run(model, settings, &receiver, &EngineStats::default(), &AtomicBool::new(stop), trace);
    replies.into_iter().map(|reply| futures::executor::block_on(reply).expect("every job is answered")).collect()
}

fn text(generated: &Generated) -> &str {
    match generated {
        Generated::Finished(finished) => &finished.reply,
        other => panic!("not finished: {other:?}"),
    }
}

#[test]
fn every_reply_is_that_of_its_own_prompt() {
    let prompts = prompts(40);
    let length = |i: usize| 1 + i * 37 % 300;
    let expected: Vec<String> = prompts.iter().enumerate().map(|(i, p)| format!("{:?}", expected(p, length(i)))).collect();
    assert!(expected.iter().any(|reply| reply.contains("100, 101, 102, 103")), "some replies have long forced runs");
    let mut passes = HashMap::new();
    for slots in [1, 2, 5] {
        for (share, drafts) in [(false, false), (false, true), (true, false), (true, true)] {
            let n_passes = Cell::new(0);
            let model = Model { n_passes: Some(&n_passes), ..Model::default() };
            let jobs = prompts.iter().enumerate().map(|(i, prompt)| job(prompt, length(i))).collect();
            let answers = answers(model, settings(slots, share, drafts), jobs, false);
            for (i, (answer, expected)) in answers.iter().zip(&expected).enumerate() {
                assert_eq!(text(answer), expected, "prompt {i}, {slots} slots, sharing {share}, drafts {drafts}");
            }
            passes.insert((slots, share, drafts), n_passes.get());
        }
    }
    assert!(passes[&(1, false, true)] < passes[&(1, false, false)], "drafts save passes: {passes:?}");
    assert!(passes[&(5, true, false)] < passes[&(1, true, false)], "so do slots: {passes:?}");
}

#[test]
fn a_long_forced_run_is_fed_in_parts_beside_the_other_replies() {
    let seen = RefCell::new(Vec::new());
    let most_tokens = Cell::new(0);
    let model = Model { seen: Some(&seen), most_tokens: Some(&most_tokens), ..Model::default() };
    let jobs: Vec<_> = prompts(4).iter().map(|prompt| job(prompt, 400)).collect();
    let answers = answers(model, settings(4, false, false), jobs, false);
    assert!(answers.iter().all(|answer| matches!(answer, Generated::Finished(_))));
    assert!(seen.borrow().iter().any(|sequences| sequences.len() == 4), "four replies in a pass");
    assert!(most_tokens.get() > 4);
}

#[test]
fn a_failed_pass_costs_the_jobs_at_work_and_no_other() {
    let n_passes = Cell::new(0);
    let model = Model { n_passes: Some(&n_passes), failing: &[8], ..Model::default() };
    let prompts = prompts(9);
    let jobs = prompts.iter().map(|prompt| job(prompt, 30)).collect();
    let answers = answers(model, settings(2, true, true), jobs, false);
    let n_crashed = answers.iter().filter(|answer| matches!(answer, Generated::Crashed { .. })).count();
    assert!((1..=2).contains(&n_crashed), "{n_crashed} crashed");
    for (answer, prompt) in answers.iter().zip(&prompts) {
        match answer {
            Generated::Crashed { reason } => assert!(reason.contains("on fire")),
            answer => assert_eq!(text(answer), format!("{:?}", expected(prompt, 30))),
        }
    }
}

#[test]
fn a_prompt_that_cannot_be_read_or_does_not_fit_is_answered_and_the_rest_goes_on() {
    let prompts = prompts(1);
    let mut jobs = vec![job(&[1; 2_990], 11), job(&[3], 5), job(&prompts[0], 10)];
    jobs[1].0.messages[0].content = "not a number".into();
    let answers = answers(Model::default(), settings(2, true, true), jobs, false);
    match &answers[0] {
        Generated::TooLong { reason } => assert!(reason.contains("2990") && reason.contains("3001") && reason.contains("3000")),
        other => panic!("{other:?}"),
    }
    assert!(matches!(&answers[1], Generated::Refused { reason } if reason.contains("no number")));
    assert_eq!(text(&answers[2]), format!("{:?}", expected(&prompts[0], 10)));
}

#[test]
fn nothing_is_begun_once_a_stop_is_wanted() {
    let jobs = prompts(3).iter().map(|prompt| job(prompt, 10)).collect();
    let answers = answers(Model::default(), settings(2, true, true), jobs, true);
    assert!(answers.iter().all(|answer| matches!(answer, Generated::Interrupted)));
}

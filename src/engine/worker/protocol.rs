//! What the run and the judge's process say to each other: one JSON object a line over the judge's stdin and stdout.
//!
//! Lines hold case text. They go through these two pipes and nowhere else, so the types cannot be printed. This file must not know
//! how lines travel, nor what is done about them.

use crate::engine::generate::llama::LlamaSettings;
use crate::engine::generate::{Constraint, Form, Generated, Job, Message, ReplyLimit};
use crate::models::{LocalModel, ModelCard};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The number of a job, rising in the order of submission and kept when it is submitted again.
pub(super) type JobId = u64;

/// From the run to the judge's process.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum ToWorker {
    /// The first line.
    Start(Box<Start>),
    Job(Question),
    /// Let running items finish, begin no other.
    Stop,
}

/// What loading a judge takes.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Start {
    pub card: ModelCard,
    pub files: LocalModel,
    pub settings: LlamaSettings,
}

/// One prompt.
#[derive(Serialize, Deserialize)]
pub(super) struct Question {
    pub id: JobId,
    pub messages: Vec<Message>,
    pub constraint: Option<NamedForm>,
    pub reply_limit: ReplyLimit,
    pub max_reasoning_tokens: Option<u32>,
}

/// A constraint on its way.
#[derive(Serialize, Deserialize)]
pub(super) struct NamedForm {
    name: String,
    form: Form,
}

/// From the judge's process to the run.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum FromWorker {
    /// The model is loaded.
    Ready,
    /// The model cannot be loaded.
    Failed { message: String },
    /// Work on a job begins.
    Began { id: JobId },
    /// A job is answered.
    Done { id: JobId, generated: Generated },
    /// What was computed since this process was started.
    Stats(Computed),
}

/// The counters that a backend advances while it works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Computed {
    pub tokens_passed: u64,
    pub reply_passes: u64,
}

impl Question {
    pub fn of(id: JobId, job: &Job) -> Self {
        let constraint = job.constraint.as_ref();
        Self {
            id,
            messages: job.messages.clone(),
            constraint: constraint
                .map(|constraint| NamedForm { name: constraint.name().to_string(), form: constraint.form().clone() }),
            reply_limit: job.reply_limit,
            max_reasoning_tokens: job.max_reasoning_tokens,
        }
    }
}

impl From<NamedForm> for Constraint {
    fn from(named: NamedForm) -> Self {
        match named.form {
            Form::Schema(schema) => Self::new(&named.name, schema),
            Form::Grammar(text) => Self::grammar(&named.name, &text),
        }
    }
}

/// `message` with its line feed.
///
/// # Errors
/// A path that is not UTF-8.
pub(super) fn line_of(message: &impl Serialize) -> Result<String, serde_json::Error> {
    serde_json::to_string(message).map(|line| line + "\n")
}

/// The message of a line; `None` where it is none. Why is not said: the reason could quote the line.
pub(super) fn message_of<T: DeserializeOwned>(line: &str) -> Option<T> {
    serde_json::from_str(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::generate::Finished;
    use crate::store::{FinishReason, Origin};
    use serde_json::json;
    use std::sync::Arc;

    /// A prompt must reach the model as it was asked: the order of a schema's keys decides the order of a reply's.
    #[test]
    fn a_question_arrives_as_it_was_asked() {
        let schema = json!({"z": 1, "a": {"y": 0.1, "b": [1e300, "\u{2028}\n"]}});
        let job = Job {
            messages: vec![Message::user("a\nb\u{85}\u{0}"), Message::assistant("ü")],
            constraint: Some(Arc::new(Constraint::new("findings", schema))),
            reply_limit: ReplyLimit::Context { most: 7, context_tokens: 9 },
            max_reasoning_tokens: Some(5),
            began: Box::new(|| ()),
            done: futures::channel::oneshot::channel().0,
        };
        let line = line_of(&ToWorker::Job(Question::of(3, &job))).expect("a line");
        assert_eq!(line.matches('\n').count(), 1, "one line");
        let Some(ToWorker::Job(question)) = message_of(&line) else { panic!("a question") };
        assert_eq!((question.id, question.reply_limit, question.max_reasoning_tokens), (3, job.reply_limit, Some(5)));
        assert_eq!(question.messages, job.messages);
        assert_eq!(question.constraint.map(Constraint::from).as_ref(), job.constraint.as_deref());
    }

    #[test]
    fn an_answer_arrives_as_it_was_given() {
        let mut finished = Finished::of_text("{\"a\":\n1}".into(), FinishReason::Length, Origin::Engine);
        finished.min_margin = Some(0.1);
        finished.timings.prompt_ms = 0.1 + 0.2;
        let line = line_of(&FromWorker::Done { id: 9, generated: Generated::Finished(finished.clone()) }).expect("a line");
        let Some(FromWorker::Done { id: 9, generated: Generated::Finished(back) }) = message_of(&line) else {
            panic!("an answer")
        };
        assert_eq!((back.reply, back.finish, back.min_margin), (finished.reply, finished.finish, finished.min_margin));
        assert_eq!(back.timings, finished.timings);
    }
}

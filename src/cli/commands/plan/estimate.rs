//! Hours from a speed, and where a speed comes from: the newest run on record that is comparable.

use crate::cli::resolve::Plan;
use crate::engine::{EngineIdentity, ModelIdentity};
use serde_json::{Value, json};
use std::path::Path;

/// What a run left beside its store.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRecord {
    ended_unix_s: u64,
    wall_s: f64,
    slots: u64,
    threads: u64,
    items: u64,
    /// Tokens passed through the model, drafts that were not kept included.
    passed: u64,
    /// Prompt tokens among them.
    prompt: u64,
    reply_passes: u64,
}

impl RunRecord {
    /// The newest record beside the store at `store_dir` of a run by this judge with these settings; one that cannot be read counts as
    /// none.
    pub fn newest(store_dir: &Path, model: &ModelIdentity, engine: Option<&EngineIdentity>) -> Option<Self> {
        let (model, engine) = (json!(model), json!(engine));
        let entries = std::fs::read_dir(store_dir.join("runs")).ok()?;
        let texts = entries.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path()).ok());
        let records = texts.filter_map(|text| serde_json::from_str::<Value>(&text).ok());
        let same = records.filter(|record| record["model"] == model && record["engine"] == engine);
        same.filter_map(|record| Self::of(&record)).max_by_key(|record| record.ended_unix_s)
    }

    fn of(record: &Value) -> Option<Self> {
        let stat = |name: &str| record["stats"][name].as_u64();
        let read = Self {
            ended_unix_s: record["ended_unix_s"].as_u64()?,
            wall_s: record["wall_s"].as_f64()?,
            slots: record["slots"].as_u64()?,
            threads: record["threads"].as_u64()?,
            items: stat("items_computed")?,
            passed: stat("tokens_passed")?,
            prompt: stat("prompt_tokens")?.checked_sub(stat("reused_tokens")?)?,
            reply_passes: stat("reply_passes")?,
        };
        (read.items > 0 && read.passed >= read.prompt && read.passed > 0 && read.wall_s > 0.0).then_some(read)
    }

    /// Passes that the reply of an item took.
    pub fn reply_tokens_an_item(&self) -> usize {
        usize::try_from(self.reply_passes.div_ceil(self.items)).unwrap_or(usize::MAX)
    }

    /// The speed of this run, for a run of `plan`.
    pub fn speed(&self, plan: &Plan) -> Speed {
        let reply_an_item = (self.passed - self.prompt) as f64 / self.items as f64;
        let rate = self.passed as f64 / self.wall_s;
        let mut basis = format!(
            "{rate:.1} tokens a second, prompt and reply alike, and {reply_an_item:.0} tokens beyond the prompt an item, as in the newest \
             run of this judge with these settings ({} items in {:.0} s)",
            self.items, self.wall_s
        );
        if (self.slots, self.threads) != (plan.judged_by.llama.slots.into(), plan.judged_by.llama.threads.into()) {
            basis += &format!(
                ", which had {} slots and {} threads, not {} and {}",
                self.slots, self.threads, plan.judged_by.llama.slots, plan.judged_by.llama.threads
            );
        }
        Speed { prompt_rate: rate, reply_rate: rate, reply_an_item, basis }
    }
}

/// How fast a judge computes, and how much each item takes beyond its prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Speed {
    prompt_rate: f64,
    reply_rate: f64,
    reply_an_item: f64,
    basis: String,
}

impl Speed {
    /// A measured speed; replies are taken to be as long as they may be.
    pub fn measured(prompt_rate: f64, reply_rate: f64, max_reply_tokens: u32, how: &str) -> Self {
        let basis = format!("at most: {how}, and every reply as long as max_reply_tokens = {max_reply_tokens} allows");
        Self { prompt_rate, reply_rate, reply_an_item: f64::from(max_reply_tokens), basis }
    }

    /// Hours for `n_prompt` prompt tokens computed and `n_items` replies.
    pub fn hours(&self, n_prompt: usize, n_items: usize) -> f64 {
        (n_prompt as f64 / self.prompt_rate + n_items as f64 * self.reply_an_item / self.reply_rate) / 3600.0
    }

    /// Rates by name: one where prompts and replies were not told apart.
    pub fn rates(&self) -> Vec<(&'static str, f64)> {
        if self.prompt_rate.to_bits() == self.reply_rate.to_bits() {
            vec![("tokens_a_second", self.prompt_rate)]
        } else {
            vec![("prompt_tokens_a_second", self.prompt_rate), ("reply_tokens_a_second", self.reply_rate)]
        }
    }

    /// What the figures rest on.
    pub fn basis(&self) -> &str {
        &self.basis
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_are_prompts_and_replies_at_their_rates() {
        let speed = Speed::measured(100.0, 10.0, 360, "measured");
        // 360,000 / 100 s and 50 x 360 / 10 s: 3,600 s and 1,800 s.
        assert!((speed.hours(360_000, 50) - 1.5).abs() < 1e-12);
        assert!(speed.basis().starts_with("at most") && speed.basis().contains("max_reply_tokens = 360"));
    }

    #[test]
    fn a_record_gives_its_own_hours_again() {
        let record = json!({
            "ended_unix_s": 7, "wall_s": 1800.0, "slots": 4, "threads": 2,
            "stats": {"items_computed": 20, "tokens_passed": 90_000, "prompt_tokens": 100_000, "reused_tokens": 60_000,
                "reply_passes": 25_000}
        });
        let record = RunRecord::of(&record).expect("a record");
        assert_eq!(record.reply_tokens_an_item(), 1_250);
        let reply_an_item = (record.passed - record.prompt) as f64 / record.items as f64;
        let speed = Speed { prompt_rate: 50.0, reply_rate: 50.0, reply_an_item, basis: String::new() };
        assert!((speed.hours(40_000, 20) - 0.5).abs() < 1e-12, "its own prompts and items take its own half hour");
    }

    #[test]
    fn a_record_of_nothing_is_none() {
        let stats = json!({"items_computed": 0, "tokens_passed": 0, "prompt_tokens": 0, "reused_tokens": 0, "reply_passes": 0});
        assert_eq!(RunRecord::of(&json!({"ended_unix_s": 7, "wall_s": 1.0, "slots": 4, "threads": 2, "stats": stats})), None);
        assert_eq!(RunRecord::of(&json!({})), None);
    }
}

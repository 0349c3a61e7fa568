//! From arguments and manifest to a plan in which everything is known and checked, before any weights are loaded.

use super::args::StudyArgs;
use super::console::{Failure, Remarks};
use super::judge_plan::JudgePlan;
use super::results;
use crate::data::study::{PartialGames, UndecidedGames};
use crate::data::{Numerics, Study};
use crate::engine::EngineIdentity;
use crate::engine::generate::{DEFAULT_REPLY_TOKENS, ReplyLimit};
use crate::measure::points::EmptyGames;
use crate::measure::rubric::Scheme;
use crate::pipelines::gavel::{Docket, Game, JudgeSettings, ScoringSettings, games};
use crate::pipelines::intake;
use crate::prompts::Prompt;
use crate::report::Table;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

/// A study ready to be judged.
pub struct Plan {
    pub name: String,
    pub docket: Docket,
    pub games: Vec<Game>,
    pub prompt: Prompt,
    pub judged_by: JudgePlan,
    pub judge: JudgeSettings,
    pub scoring: ScoringSettings,
    /// Manifest and further files that the study is read from, folders aside.
    pub input_files: Vec<PathBuf>,
    pub store_dir: PathBuf,
    pub results_dir: PathBuf,
    pub no_text: bool,
    pub intake: Table,
    /// Cases that take no part, with the reason.
    pub left_out: Vec<String>,
}

/// Loads the study of `args`.
pub fn load_study(args: &StudyArgs, remarks: Remarks) -> Result<Study, Failure> {
    let study = Study::load(&args.study).map_err(|problems| Failure::problems(&problems))?;
    for warning in &study.warnings {
        remarks.say(format_args!("warning: {warning}"));
    }
    Ok(study)
}

/// Checks everything that can be checked without weights.
pub fn resolve(args: &StudyArgs, remarks: Remarks) -> Result<Plan, Failure> {
    plan(args, load_study(args, remarks)?)
}

/// The plan for a loaded `study`.
pub fn plan(args: &StudyArgs, mut study: Study) -> Result<Plan, Failure> {
    let root = study.root().to_path_buf();
    let manifest = study.manifest.clone();
    let base = if args.judge.card.is_some() { Path::new("") } else { &root };
    let judged_by = JudgePlan::new(&args.judge, &manifest.judge, base, &root)?;
    let prompt = Prompt::find(&manifest.judge.prompt, &root).map_err(Failure::verification)?;
    let judge = JudgeSettings {
        finding_schema: manifest.judge.finding_schema,
        reply: manifest.judge.reply,
        reply_limit: reply_limit(manifest.judge.max_reply_tokens, &judged_by),
        max_reasoning_tokens: judged_by.card.reasoning_tokens(manifest.judge.max_reasoning_tokens).map_err(Failure::usage)?,
        max_findings: manifest.judge.max_findings,
        max_attempts: manifest.judge.max_attempts,
        tolerance_floor_hours: manifest.scoring.tolerance_floor_hours,
        seed: manifest.study.seed,
    };
    let mut rubrics: Vec<Scheme> = Vec::new();
    for name in std::iter::once(&manifest.scoring.rubric).chain(&manifest.scoring.further_rubrics) {
        let scheme = name.name().parse().map_err(Failure::usage)?;
        if !rubrics.contains(&scheme) {
            rubrics.push(scheme);
        }
    }
    let scoring = ScoringSettings {
        rubrics,
        empty_games: match manifest.scoring.games_without_decisive {
            UndecidedGames::Exclude => EmptyGames::LeaveOut,
            UndecidedGames::Draw => EmptyGames::Draw,
        },
        include_partial_games: manifest.scoring.partial_games == PartialGames::Include,
        bootstrap_resamples: manifest.scoring.bootstrap_resamples as usize,
        bootstrap_seed: manifest.scoring.bootstrap_seed,
    };
    let intake = intake(&study)?;
    let mut left_out: Vec<String> = study
        .left_out
        .iter()
        .map(|case| format!("{}: report of {} bytes is over max_report_bytes", case.case, case.bytes))
        .collect();
    left_out.extend(study.missing.iter().map(|missing| format!("{}: no timeline by {}", missing.case, missing.source)));
    let store_dir = args.store.clone().unwrap_or_else(|| root.join(&manifest.store.dir));
    let results_dir = args.results.clone().unwrap_or_else(|| root.join(&manifest.results.dir));
    let mut inputs = vec![root.join(&manifest.reports.dir)];
    inputs.extend(manifest.sources.iter().map(|source| root.join(&source.dir)));
    for (name, dir) in [("store", &store_dir), ("results", &results_dir)] {
        results::refuse_input_folder(name, dir, &inputs)?;
    }
    let index_dates = manifest.reports.index_dates.iter().map(|path| root.join(path));
    let input_files = std::iter::once(study.manifest_path.clone()).chain(index_dates).collect();
    let docket = Docket::take_from(&mut study);
    Ok(Plan {
        name: manifest.study.name.clone(),
        games: games(&docket, judge.seed),
        docket,
        prompt,
        judged_by,
        judge,
        scoring,
        input_files,
        store_dir,
        results_dir,
        no_text: args.no_text || manifest.results.no_text,
        intake,
        left_out,
    })
}

/// The limit that the manifest sets, or what the judge's context leaves. The context of a served judge is its server's business.
fn reply_limit(asked: Option<u32>, judged_by: &JudgePlan) -> ReplyLimit {
    match (asked, &judged_by.card.served) {
        (Some(n), _) => ReplyLimit::Fixed(n),
        (None, Some(_)) => ReplyLimit::Fixed(DEFAULT_REPLY_TOKENS),
        (None, None) => ReplyLimit::Context { most: DEFAULT_REPLY_TOKENS, context_tokens: judged_by.llama.context_tokens },
    }
}

/// What of the engine's settings can change a reply.
fn engine_shown(engine: &EngineIdentity) -> String {
    let switched = |on: bool| if on { "on" } else { "off" };
    let mut shown = format!("kv_type {}, flash attention {}", engine.kv_type, switched(engine.flash_attention));
    if engine.gpu_layers != "0" {
        shown += &format!(", {} layers on GPU, split {}", engine.gpu_layers, engine.split_mode);
    }
    if engine.moe_on_cpu {
        shown += ", experts on the processor";
    }
    if engine.numerics == Numerics::Fast {
        shown += &format!(", drafts {}, sharing {}", switched(engine.drafts), switched(engine.sharing));
    }
    shown
}

pub(super) fn within(name: &str, range: RangeInclusive<u32>, n: u32) -> Result<u32, Failure> {
    if range.contains(&n) {
        return Ok(n);
    }
    Err(Failure::usage(format_args!("{name}: expected {} to {}, got {n}", range.start(), range.end())))
}

/// The settings that decide the results, for people.
pub fn settings_shown(plan: &Plan) -> Vec<(String, String)> {
    let mut shown: Vec<(&str, String)> = vec![
        ("model card", plan.judged_by.card.name.clone()),
        ("prompt", format!("{} (sha256 {})", plan.prompt.id(), &plan.prompt.id().sha256[..12])),
        ("finding schema", plan.judge.finding_schema.to_string()),
        ("reply", plan.judge.reply.to_string()),
        ("most findings", plan.judge.max_findings.to_string()),
        (
            "most evidence and rationale characters",
            format!("{} and {}", JudgeSettings::MAX_EVIDENCE_CHARS, JudgeSettings::MAX_RATIONALE_CHARS),
        ),
        ("most reply tokens", plan.judge.reply_limit.to_string()),
        ("attempts", plan.judge.max_attempts.to_string()),
        ("seed of sides", plan.judge.seed.to_string()),
        ("time tolerance", format!("max({} h, 10%)", plan.judge.tolerance_floor_hours)),
        (
            "games without a decisive finding",
            if plan.scoring.empty_games == EmptyGames::Draw { "draw" } else { "left out" }.into(),
        ),
        ("partial games", if plan.scoring.include_partial_games { "included" } else { "left out" }.into()),
        ("rubrics", plan.scoring.rubrics.iter().map(|rubric| rubric.as_str()).collect::<Vec<_>>().join(", ")),
        (
            "bootstrap",
            format!(
                "{} case resamples, seed {}, {}",
                plan.scoring.bootstrap_resamples,
                plan.scoring.bootstrap_seed,
                crate::measure::resample::GENERATOR
            ),
        ),
    ];
    if let Some(n) = plan.judge.max_reasoning_tokens {
        shown.push(("most reasoning tokens", n.to_string()));
    }
    match (&plan.judged_by.card.served, plan.judged_by.engine()) {
        (Some(served), _) => shown.push(("served model", format!("{}, revision {}", served.model, served.revision))),
        (None, engine) => {
            shown.push((
                "weights",
                plan.judged_by
                    .card
                    .files
                    .iter()
                    .map(|file| format!("sha256 {}", &file.sha256[..12]))
                    .collect::<Vec<_>>()
                    .join(", "),
            ));
            if let Some(engine) = engine {
                shown.push(("numerics", if engine.numerics == Numerics::Exact { "exact" } else { "fast" }.into()));
                shown.push(("engine", format!("{} on {}, {}", engine.backend, engine.device_class, engine.version)));
                shown.push(("context tokens", plan.judged_by.llama.context_tokens.to_string()));
                shown.push(("engine settings", engine_shown(&engine)));
            }
        }
    }
    shown.into_iter().map(|(name, value)| (name.to_string(), value)).collect()
}

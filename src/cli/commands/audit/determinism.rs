//! `assize audit determinism`: a sample of games judged in every setting, each with a store of its own, and what differs from exact
//! mode.

use crate::cli::args::{DeterminismArgs, GlobalArgs, JudgeArgs, StudyArgs};
use crate::cli::commands::docket::{engine, judge_all};
use crate::cli::commands::{handout, start_judge::start_judge};
use crate::cli::console::{Failure, Remarks};
use crate::cli::progress::{Counted, Progress};
use crate::cli::resolve::{self, Plan};
use crate::cli::{results, signals};
use crate::engine::generate::llama::LlamaSettings;
use crate::error::ExitStatus;
use crate::pipelines::determinism::{Comparison, Judged, Reply, Setting, compare, draw_games, settings, tables};
use crate::pipelines::draw::GENERATOR;
use crate::pipelines::gavel::{Game, GameOutcome, GameStatus};
use crate::store::Store;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub fn run(args: &DeterminismArgs, global: &GlobalArgs) -> Result<ExitStatus, Failure> {
    let remarks = Remarks { quiet: global.quiet };
    let (mut plan, seed) = plan(args, remarks)?;
    let base = plan.judged_by.llama.clone();
    let stop = signals::stop_flag(remarks.quiet).map_err(|error| Failure::new(ExitStatus::Internal, error))?;
    results::prepare(&plan.results_dir)?;
    let mut audited = settings(&args.widths)
        .into_iter()
        .map(|setting| Audited::replay(setting, &mut plan, &base, &stop, remarks))
        .collect::<Result<Vec<_>, _>>()?;
    let n_open: usize = audited.iter().map(|audited| audited.open().len()).sum();
    remarks.say(format_args!(
        "{} games in {} settings: {n_open} to judge, {} on record",
        plan.games.len(),
        audited.len(),
        plan.games.len() * audited.len() - n_open
    ));
    {
        let progress = Progress::start(Counted { doing: "judging", things: "games", total: n_open, judge: None }, remarks.quiet);
        for audited in &mut audited {
            audited.judge_open(&mut plan, &base, &stop, global, &|| progress.one_done())?;
        }
    }
    let judged = audited.iter().map(Audited::judged).collect::<Result<Vec<_>, _>>()?;
    let (reference, others) = judged.split_first().expect("the reference is a setting");
    let compared = audited[1..]
        .iter()
        .zip(others)
        .map(|(audited, other)| Ok((audited.setting.clone(), compare(&plan.docket, &plan.scoring, reference, other)?)))
        .collect::<Result<Vec<_>, Failure>>()?;
    let tables = tables(&plan.docket, &compared)?;
    aim(&mut plan, &base, &audited[0].setting);
    let mut shown = resolve::settings_shown(&plan);
    shown.push(("games of the sample".into(), plan.games.len().to_string()));
    shown.push(("seed of the sample".into(), format!("{seed}, {GENERATOR}")));
    results::write_tables(&plan.results_dir, &tables, &shown, &[])?;
    handout::give_tables(&tables, None, global.json)?;
    remarks.say(format_args!("tables: {}", plan.results_dir.display()));
    verdict(&compared, &audited, remarks)
}

/// The plan with the drawn games, and the seed that drew them. Replies and tables have folders of their own.
fn plan(args: &DeterminismArgs, remarks: Remarks) -> Result<(Plan, u64), Failure> {
    let mut study_args = StudyArgs {
        study: args.study.clone(),
        no_text: true,
        judge: JudgeArgs {
            model_dir: args.model_dir.clone(),
            card: args.card.clone(),
            threads: args.threads,
            ..JudgeArgs::default()
        },
        ..StudyArgs::default()
    };
    let study = resolve::load_study(&study_args, remarks)?;
    let out = args.out.clone().unwrap_or_else(|| study.root().join("determinism"));
    let manifest = &study.manifest;
    let own = [study.root().to_path_buf(), study.root().join(&manifest.store.dir), study.root().join(&manifest.results.dir)];
    refuse_own(&out, &own)?;
    study_args.store = Some(out.join("store"));
    study_args.results = Some(out);
    let mut plan = resolve::plan(&study_args, study)?;
    if plan.judged_by.card.served.is_some() {
        return Err(Failure::usage(format_args!(
            "model card `{}` is served elsewhere; this audit compares settings of a judge on this machine: name one with --card",
            plan.judged_by.card.name
        )));
    }
    let seed = args.seed.unwrap_or(plan.judge.seed);
    plan.games = draw_games(&plan.games, args.games, seed);
    if plan.games.is_empty() {
        return Err(Failure::usage("no game to judge: none was asked for, or no case has timelines by two sources"));
    }
    Ok((plan, seed))
}

/// The study's own results stay what they are.
fn refuse_own(out: &Path, own: &[PathBuf]) -> Result<(), Failure> {
    match own.iter().find(|own| results::is_same_path(own, out)) {
        Some(own) => Err(Failure::usage(format_args!("--out: {} belongs to the study; choose another folder", own.display()))),
        None => Ok(()),
    }
}

/// Makes `plan` judge in `setting`.
fn aim(plan: &mut Plan, base: &LlamaSettings, setting: &Setting) {
    plan.judged_by.llama = LlamaSettings {
        numerics: setting.numerics,
        slots: setting.slots,
        drafts: setting.drafts,
        sharing: setting.sharing,
        ..base.clone()
    };
}

/// A setting with its store and what became of the games, in the order of the sample.
struct Audited {
    setting: Setting,
    store: Arc<Store>,
    outcomes: Vec<GameOutcome>,
}

impl Audited {
    /// What is on record: the other games are pending.
    fn replay(
        setting: Setting,
        plan: &mut Plan,
        base: &LlamaSettings,
        stop: &Arc<AtomicBool>,
        remarks: Remarks,
    ) -> Result<Self, Failure> {
        let store = Arc::new(Store::open(&plan.store_dir.join(&setting.name))?);
        remarks.store(store.open_report());
        aim(plan, base, &setting);
        let outcomes = judge_all(plan, &engine(plan, &store, None, Arc::clone(stop)), &|| ())?;
        Ok(Self { setting, store, outcomes })
    }

    /// The games that are not on record.
    fn open(&self) -> Vec<Game> {
        let open = self.outcomes.iter().filter(|outcome| outcome.status == GameStatus::Pending);
        open.map(|outcome| outcome.game).collect()
    }

    fn judge_open(
        &mut self,
        plan: &mut Plan,
        base: &LlamaSettings,
        stop: &Arc<AtomicBool>,
        global: &GlobalArgs,
        on_done: &dyn Fn(),
    ) -> Result<(), Failure> {
        let mut open = self.open();
        if open.is_empty() {
            return Ok(());
        }
        if self.setting.reversed {
            open.reverse();
        }
        Remarks { quiet: global.quiet }.say(format_args!("{}: {} games", self.setting.name, open.len()));
        aim(plan, base, &self.setting);
        let sample = std::mem::replace(&mut plan.games, open);
        let judged = self.judge(plan, stop, global, on_done);
        plan.games = sample;
        for outcome in judged? {
            let place = self.outcomes.iter_mut().find(|known| known.game == outcome.game).expect("a game of the sample");
            *place = outcome;
        }
        Ok(())
    }

    fn judge(
        &self,
        plan: &Plan,
        stop: &Arc<AtomicBool>,
        global: &GlobalArgs,
        on_done: &dyn Fn(),
    ) -> Result<Vec<GameOutcome>, Failure> {
        let judge = start_judge(&plan.judged_by, plan.judged_by.llama.clone(), stop, global)?;
        let outcomes = judge_all(plan, &engine(plan, &self.store, Some(judge), Arc::clone(stop)), on_done);
        self.store.sync()?;
        outcomes
    }

    fn judged(&self) -> Result<Vec<Judged>, Failure> {
        let with_replies = |outcome: &GameOutcome| {
            let records = outcome.attempts.iter().map(|attempt| self.store.get(&attempt.key));
            let replies = records.map(|record| Ok(record?.map(Reply::of))).collect::<Result<_, Failure>>()?;
            Ok(Judged { outcome: outcome.clone(), replies })
        };
        self.outcomes.iter().map(with_replies).collect()
    }
}

/// Exact mode must repeat itself, and every prompt should have a reply.
fn verdict(compared: &[(Setting, Comparison)], audited: &[Audited], remarks: Remarks) -> Result<ExitStatus, Failure> {
    let broken: Vec<&str> = compared
        .iter()
        .filter(|(setting, comparison)| setting.must_agree() && !comparison.is_equal())
        .map(|(setting, _)| setting.name.as_str())
        .collect();
    if !broken.is_empty() {
        let message =
            format!("expected exact mode to repeat itself to the last bit, got other replies or margins: {}", broken.join(", "));
        return Err(Failure::new(ExitStatus::Internal, message)
            .hint("this is a defect: please report it with the tables above and the output of `assize models verify`"));
    }
    let failed = audited
        .iter()
        .flat_map(|audited| &audited.outcomes)
        .filter(|outcome| matches!(outcome.status, GameStatus::Failed(reason) if !reason.answers()));
    let n_failed = failed.count();
    if n_failed > 0 {
        remarks.say(format_args!("{n_failed} games got no reply; the same command tries them again"));
        return Ok(ExitStatus::FailedItems);
    }
    Ok(ExitStatus::Ok)
}

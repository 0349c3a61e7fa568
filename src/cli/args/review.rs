//! Arguments of `assize review` and `assize audit`: what people look at.

use super::DeterminismArgs;
use crate::data::study::DEFAULT_SEED;
use crate::pipelines::matcher_audit::N_PER_BAND;
use crate::pipelines::review::StratumBy;
use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub enum ReviewCommand {
    /// Draw findings by stratum and pairing and write blinded packets for two reviewers
    #[command(
        after_help = "Writes reviewer-1.csv, reviewer-2.csv and instructions.txt (for the reviewers), key.csv and strata.csv (not for \
        them). Nothing is written over.\n\nExamples:\n  \
        assize review sample --findings trial/results/findings.csv --reports trial/reports --per-stratum 10 --out review\n  \
        assize review sample --findings first=a/findings.csv --findings second=b/findings.csv --total 150 --second 50 --out review"
    )]
    Sample(ReviewSampleArgs),
    /// Confirmation rates, error types, standardised rates and the reviewers' agreement, from filled packets
    #[command(
        after_help = "Columns read: id; verdict (1, 2, BOTH, NEITHER, UNCLEAR, NOT_A_FINDING) or confirmed (yes, no); error_type. \
        Exit code 4: some findings have no answer yet.\n\nExamples:\n  \
        assize review stats review --sheet review/reviewer-1.csv --second review/reviewer-2.csv --out review/results\n  \
        assize review stats review --sheet review/reviewer-1.csv --reveal review/reviewer-1-errors.csv"
    )]
    Stats(ReviewStatsArgs),
}

/// What to draw.
#[derive(Debug, ClapArgs)]
pub struct ReviewSampleArgs {
    /// The findings table of a run; with several, each as JUDGE=FILE
    #[arg(long, value_name = "[JUDGE=]FILE", value_parser = parse_findings, required = true)]
    pub findings: Vec<NamedFindings>,
    /// Folder to write
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// What makes a stratum: type, type-and-verdict (TIMING apart by verdict) or category
    #[arg(long, value_name = "WHAT", value_parser = parse_stratum_by, default_value = "type-and-verdict")]
    pub by: StratumBy,
    /// Findings of each judge, stratum and pairing; this or --total must be given
    #[arg(long, value_name = "N", required_unless_present = "total", conflicts_with = "total")]
    pub per_stratum: Option<usize>,
    /// Findings in all, each stratum and pairing in proportion
    #[arg(long, value_name = "N")]
    pub total: Option<usize>,
    /// Findings of the second reviewer, in proportion (default: all)
    #[arg(long, value_name = "N")]
    pub second: Option<usize>,
    /// Show the judge's verdict and ask whether it is right, instead of asking for an own verdict
    #[arg(long)]
    pub show_verdict: bool,
    #[command(flatten)]
    pub reports: ReportsArgs,
    /// Seed of the draw, the orders and the sides
    #[arg(long, default_value_t = DEFAULT_SEED)]
    pub seed: u64,
}

/// Where the case reports are, for the passages that a reviewer sees.
#[derive(Debug, ClapArgs)]
pub struct ReportsArgs {
    /// Folder of the case reports, for the passages to be shown
    #[arg(long, value_name = "DIR")]
    pub reports: Option<PathBuf>,
    /// What follows the case in a report's file name
    #[arg(long, default_value = ".txt")]
    pub suffix: String,
}

/// Which filled packets to read.
#[derive(Debug, ClapArgs)]
pub struct ReviewStatsArgs {
    /// Folder that `assize review sample` wrote
    pub review: PathBuf,
    /// Filled packet of the first reviewer
    #[arg(long, value_name = "FILE")]
    pub sheet: PathBuf,
    /// Filled packet of the second reviewer
    #[arg(long, value_name = "FILE")]
    pub second: Option<PathBuf>,
    /// Also write the tables here, as CSV and JSON
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Also write the first packet with the judge's verdict beside every answer that differs, to fill in error_type
    #[arg(long, value_name = "FILE")]
    pub reveal: Option<PathBuf>,
    /// Resamples of the standardised rate
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub resamples: usize,
    /// Seed of the resamples
    #[arg(long, default_value_t = DEFAULT_SEED)]
    pub seed: u64,
}

/// A findings table and whose it is.
#[derive(Debug, Clone)]
pub struct NamedFindings {
    /// Name of the judge, when one was given.
    pub judge: Option<String>,
    /// The table.
    pub path: PathBuf,
}

fn parse_findings(text: &str) -> Result<NamedFindings, String> {
    // A name holds no separator of paths, so `./a=b.csv` is a file.
    let named = text.split_once('=').filter(|(judge, _)| !judge.contains('/'));
    match named {
        Some((judge, path)) if judge.is_empty() || path.is_empty() => Err(format!("expected JUDGE=FILE, got `{text}`")),
        Some((judge, path)) => Ok(NamedFindings { judge: Some(judge.to_owned()), path: path.into() }),
        None => Ok(NamedFindings { judge: None, path: text.into() }),
    }
}

fn parse_stratum_by(text: &str) -> Result<StratumBy, String> {
    match text {
        "type" => Ok(StratumBy::Type),
        "type-and-verdict" => Ok(StratumBy::TypeAndVerdict),
        "category" => Ok(StratumBy::Category),
        _ => Err(format!("expected type, type-and-verdict or category, got `{text}`")),
    }
}

#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// The event matcher: how many pairs of each band of distances are true matches
    #[command(subcommand, after_help = "Example:\n  assize audit matcher sample --pairs evaluated/pairs.csv --out audit")]
    Matcher(MatcherCommand),
    /// The numerics: what fast mode changes in replies, findings and ratings, and whether exact mode repeats itself
    #[command(
        after_help = "Judges a sample of the study's games with its judge in each setting: exact mode three times (again, and in the \
        opposite order), fast mode at each width, and at the widest without drafts, without shared prompts, without both. Replies are \
        kept in OUT/store, apart from the study's own; the same command goes on where it was stopped. Exit code 1: exact mode did not \
        repeat itself; 4: some prompts got no reply.\n\n\
        Examples:\n  assize audit determinism trial\n  assize audit determinism trial --games 24 --widths 4,16 --out numerics"
    )]
    Determinism(DeterminismArgs),
}

#[derive(Debug, Subcommand)]
pub enum MatcherCommand {
    /// Draw pairs from each band and write a blinded sheet and page for a reviewer
    #[command(
        after_help = "The pairs are a CSV with the columns case, reference, prediction, distance and source. Writes sheet.csv and \
        review.html (for the reviewer) and key.csv (not for them). Nothing is written over.\n\n\
        Example:\n  assize audit matcher sample --pairs evaluated/pairs.csv --reports trial/reports --out audit"
    )]
    Sample(MatcherSampleArgs),
    /// The share of true matches in each band, from the filled sheet or what the page saved
    #[command(after_help = "Labels: same, different, unsure. Exit code 4: some pairs have no label yet.\n\n\
        Example:\n  assize audit matcher rates --key audit/key.csv --sheet audit/sheet.csv")]
    Rates(MatcherRatesArgs),
}

/// What to draw.
#[derive(Debug, ClapArgs)]
pub struct MatcherSampleArgs {
    /// Pairs that a matcher aligned
    #[arg(long, value_name = "FILE")]
    pub pairs: PathBuf,
    /// Folder to write
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Pairs a band
    #[arg(long, value_name = "N", default_value_t = N_PER_BAND)]
    pub per_band: usize,
    #[command(flatten)]
    pub reports: ReportsArgs,
    /// Seed of the draw and of the order
    #[arg(long, default_value_t = DEFAULT_SEED)]
    pub seed: u64,
}

/// Which filled sheet to read.
#[derive(Debug, ClapArgs)]
pub struct MatcherRatesArgs {
    /// Key that `assize audit matcher sample` wrote
    #[arg(long, value_name = "FILE")]
    pub key: PathBuf,
    /// Filled sheet
    #[arg(long, value_name = "FILE")]
    pub sheet: PathBuf,
    /// Also write the table here, as CSV and JSON
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

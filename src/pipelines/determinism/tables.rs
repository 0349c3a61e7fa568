//! The comparisons as tables. No text of a case or of a reply is in them.

use super::compare::Comparison;
use super::setting::Setting;
use crate::measure::resample::percentile;
use crate::pipelines::gavel::Docket;
use crate::report::{Cell, Column, ReportError, Table};

/// Replies by setting, what came of them by setting, and every differing reply.
///
/// # Errors
/// A number that is not finite.
pub fn tables(docket: &Docket, compared: &[(Setting, Comparison)]) -> Result<Vec<Table>, ReportError> {
    Ok(vec![replies(compared)?, judgements(compared)?, differences(docket, compared)?])
}

fn replies(compared: &[(Setting, Comparison)]) -> Result<Table, ReportError> {
    let columns = vec![
        Column::text("setting", "Setting"),
        Column::number("replies", "Replies"),
        Column::number("unanswered", "Without"),
        Column::number("differ", "Differ"),
        Column::number("outcome_differs", "Other outcome"),
        Column::number("margin_alone_differs", "Other margin"),
        Column::number("first_difference_byte", "From byte").with_unit("median"),
        Column::number("characters_changed", "Characters"),
        Column::number("characters_changed_percent", "Changed").with_unit("%"),
        Column::number("margin_differing", "Margin differing").with_unit("median"),
        Column::number("margin_differing_largest", "Largest"),
        Column::number("margin_agreeing", "Agreeing").with_unit("median"),
    ];
    let mut table = Table::new("replies", "Replies beside those of exact mode", columns)?;
    for (setting, comparison) in compared {
        let n_changed: usize = comparison.differing.iter().map(|difference| difference.n_chars_changed).sum();
        let share = (comparison.n_chars > 0).then(|| 100.0 * n_changed as f64 / comparison.n_chars as f64);
        let first = comparison.differing.iter().map(|difference| difference.first_byte as f64);
        let margins = || comparison.differing.iter().filter_map(|difference| difference.min_margins[0]).map(f64::from);
        table.push(vec![
            setting.name.as_str().into(),
            Cell::count(comparison.n_replies),
            Cell::count(comparison.n_unanswered),
            Cell::count(comparison.differing.len()),
            Cell::count(comparison.n_outcomes_changed()),
            Cell::count(comparison.n_other_margins),
            Cell::maybe(percentile_of(first, 50.0), 0),
            Cell::count(n_changed),
            Cell::maybe(share, 1),
            Cell::maybe(percentile_of(margins(), 50.0), 4),
            Cell::maybe(percentile_of(margins(), 100.0), 4),
            Cell::maybe(percentile_of(comparison.agreeing_margins.iter().copied().map(f64::from), 50.0), 4),
        ])?;
    }
    Ok(table.with_note(
        "A margin is the smallest lead of a chosen token's logit over the runner-up's in a reply, in exact mode. `Other \
         margin` counts equal replies in which it is not equal to the last bit. A further try counts only where all earlier replies \
         of its game are equal: otherwise its prompt is another one. Characters: edit distance; changed: of the characters of exact mode's replies. Without: no reply on one side.",
    ))
}

fn judgements(compared: &[(Setting, Comparison)]) -> Result<Table, ReportError> {
    let columns = vec![
        Column::text("setting", "Setting"),
        Column::number("games", "Games"),
        Column::number("findings", "Findings"),
        Column::number("findings_lost", "Lost"),
        Column::number("findings_gained", "Gained"),
        Column::number("verdicts_changed", "Verdicts changed"),
        Column::number("scores_changed", "Other score"),
        Column::number("largest_rating_change", "Rating change").with_unit("largest"),
        Column::text("ranking_changed", "Ranking changed"),
    ];
    let mut table = Table::new("judgements", "Findings, scores and ratings beside those of exact mode", columns)?;
    for (setting, comparison) in compared {
        table.push(vec![
            setting.name.as_str().into(),
            Cell::count(comparison.n_games),
            Cell::count(comparison.n_findings),
            Cell::count(comparison.n_findings_lost),
            Cell::count(comparison.n_findings_gained),
            Cell::count(comparison.n_verdicts_changed),
            Cell::count(comparison.n_scores_changed),
            Cell::maybe(comparison.largest_rating_change, 1),
            if comparison.ranking_changed { "yes" } else { "no" }.into(),
        ])?;
    }
    let no_rating = compared.iter().any(|(_, comparison)| comparison.largest_rating_change.is_none());
    let unrated =
        if no_rating { " Without a rating change: these games allow no rating; the ranking is by mean share." } else { "" };
    Ok(table.with_note(format!(
        "Findings: those of exact mode. A finding is known by its type, its rows and its polarity. Scores and ratings are those of these games alone, under the \
         study's first rubric.{unrated}"
    )))
}

fn differences(docket: &Docket, compared: &[(Setting, Comparison)]) -> Result<Table, ReportError> {
    let columns = vec![
        Column::text("case", "Case"),
        Column::text("a", "A"),
        Column::text("b", "B"),
        Column::text("setting", "Setting"),
        Column::number("attempt", "Attempt"),
        Column::text("outcome_exact", "Outcome, exact"),
        Column::text("outcome", "Outcome"),
        Column::number("min_margin_exact", "Margin, exact"),
        Column::number("min_margin", "Margin"),
        Column::number("first_difference_byte", "First difference").with_unit("byte"),
        Column::number("characters_changed", "Characters changed"),
    ];
    let mut table = Table::new("differences", "Replies that are not those of exact mode", columns)?;
    for (setting, comparison) in compared {
        for difference in &comparison.differing {
            let game = difference.game;
            let [exact, here] = difference.min_margins.map(|margin| Cell::maybe(margin.map(f64::from), 4));
            table.push(vec![
                docket.reports[game.case].case.as_str().into(),
                docket.sources[game.a].as_str().into(),
                docket.sources[game.b].as_str().into(),
                setting.name.as_str().into(),
                Cell::count(difference.attempt),
                difference.outcomes[0].name().into(),
                difference.outcomes[1].name().into(),
                exact,
                here,
                Cell::count(difference.first_byte),
                Cell::count(difference.n_chars_changed),
            ])?;
        }
    }
    Ok(table)
}

fn percentile_of(values: impl Iterator<Item = f64>, percent: f64) -> Option<f64> {
    let mut ascending: Vec<f64> = values.collect();
    ascending.sort_unstable_by(f64::total_cmp);
    percentile(&ascending, percent)
}

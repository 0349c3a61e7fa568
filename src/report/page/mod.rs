//! The GAVEL page: one HTML file that opens from disk, offline, and lets a reader check every verdict.
//!
//! Tables and figures are in the markup. Cases, timelines and games are in one JSON block, which the script reads to
//! draw the chosen game only. Data reaches the page in two ways alone: escaped by the template engine, or as JSON
//! without `<`, `>` and `&`, which the script inserts as text. A content security policy in the page stands behind
//! both: nothing may be loaded, and only the two scripts of the page may run.

mod span;
mod view;

#[cfg(test)]
mod sample;

pub use span::Utf16Span;
pub use view::{
    CaseView, EvidenceLocation, FailureView, FindingSideView, FindingView, GameStatus, GameView, GavelPage, JudgeView,
    NoticeLevel, NoticeView, SidePoints, TimelineRowView, TimelineView,
};

use minijinja::context;
use serde::Serialize;

use super::error::ReportError;
use super::figure::Svg;
use super::html;
use super::table::{Align, Cell, Column, Table};

const TEMPLATE: &str = include_str!("page.html.jinja");
const CSS: &str = include_str!("page.css");
const JS: &str = include_str!("page.js");

/// The part of a page that its script reads.
#[derive(Serialize)]
struct ScriptData<'p> {
    no_text: bool,
    cases: &'p [CaseView],
    timelines: &'p [TimelineView],
    games: &'p [GameView],
}

/// A table as the template reads it.
#[derive(Serialize)]
struct TableMarkup {
    name: String,
    title: String,
    note: Option<String>,
    head: Vec<CellMarkup>,
    rows: Vec<Vec<CellMarkup>>,
    /// Position of the column that names the rows.
    key: usize,
}

/// A cell as the template reads it.
#[derive(Serialize)]
struct CellMarkup {
    text: String,
    class: String,
    /// Whether the cell names its row.
    key: bool,
    /// Source of the column, in a matrix.
    opponent: Option<String>,
}

impl GavelPage {
    /// The page as one HTML document without any external resource.
    ///
    /// With [`GavelPage::no_text`] set, what is written is [`GavelPage::withheld`].
    ///
    /// # Errors
    /// A reference that leads nowhere, a number that is not finite, or a failure of the template.
    pub fn render(&self) -> Result<String, ReportError> {
        let withheld = self.no_text.then(|| self.withheld());
        let page = withheld.as_ref().unwrap_or(self);
        page.check()?;
        let html = html::render(
            TEMPLATE,
            context! {
                title => page.title,
                study => page.study,
                judge_name => page.judge.name,
                judge_description => page.judge.description,
                settings => page.settings,
                notices => page.notices,
                no_text => page.no_text,
                leaderboard => TableMarkup::plain(&page.leaderboard),
                leaderboard_figure => page.leaderboard_figure.as_ref().map(Svg::as_str),
                error_profile => page.error_profile.as_ref().map(TableMarkup::plain),
                error_profile_figure => page.error_profile_figure.as_ref().map(Svg::as_str),
                head_to_head => page.head_to_head.as_ref().map(TableMarkup::matrix),
                tables => page.tables.iter().map(TableMarkup::plain).collect::<Vec<_>>(),
                n_cases => page.cases.len(),
                n_games => page.games.len(),
                css => CSS,
                js => JS,
                data => page.script_data()?,
            },
        )?;
        Ok(html)
    }

    /// Cases, timelines and games as JSON that cannot end the element it stands in.
    fn script_data(&self) -> Result<String, ReportError> {
        let data = ScriptData { no_text: self.no_text, cases: &self.cases, timelines: &self.timelines, games: &self.games };
        let json = serde_json::to_string(&data).map_err(|source| ReportError::Json { place: "page data".to_owned(), source })?;
        Ok(inert(&json))
    }
}

/// Replaces the characters that HTML reacts to by their JSON escapes.
///
/// Outside strings JSON has none of them, so a replacement is always inside a string and means the same.
fn inert(json: &str) -> String {
    let mut out = String::with_capacity(json.len() + json.len() / 64);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}

impl TableMarkup {
    fn plain(table: &Table) -> Self {
        Self::build(table, false)
    }

    fn matrix(table: &Table) -> Self {
        Self::build(table, true)
    }

    fn build(table: &Table, matrix: bool) -> Self {
        // The first column of words names a row; ranks may stand before it.
        let words = |column: &Column| column.align == Align::Left;
        let key = table.columns().iter().position(words).unwrap_or(0);
        let head = table.columns().iter().enumerate().map(|(i, column)| CellMarkup {
            key: i == key,
            text: if matrix { column.label.clone() } else { column.heading() },
            class: align_class(column.align).to_owned(),
            opponent: None,
        });
        let row = |row: &Vec<Cell>| {
            let cells = row.iter().zip(table.columns()).enumerate();
            let cells = cells.map(|(i, (cell, column))| {
                let inner = matrix && i != key;
                let mut class = align_class(column.align).to_owned();
                if inner && column.unit.as_deref() == Some("%") {
                    class.push_str(shade(cell));
                }
                CellMarkup {
                    key: i == key,
                    text: cell.display(),
                    class,
                    opponent: (inner && *cell != Cell::Missing).then(|| column.label.clone()),
                }
            });
            cells.collect()
        };
        Self {
            name: table.name().to_owned(),
            title: table.title().to_owned(),
            note: table.note().map(str::to_owned),
            head: head.collect(),
            rows: table.rows().iter().map(row).collect(),
            key,
        }
    }
}

fn align_class(align: Align) -> &'static str {
    match align {
        Align::Left => "l",
        Align::Right => "r",
    }
}

/// Class of a percentage by its distance from an even result, in steps of an eighth.
fn shade(cell: &Cell) -> &'static str {
    let Cell::Number { value, .. } = cell else {
        return "";
    };
    let steps = ((value - 50.0) / 12.5).round().clamp(-4.0, 4.0) as i8;
    match steps {
        -4 => " lose4",
        -3 => " lose3",
        -2 => " lose2",
        -1 => " lose1",
        1 => " win1",
        2 => " win2",
        3 => " win3",
        4 => " win4",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(html: &str) -> serde_json::Value {
        let start = html.find("id=\"assize-data\">").unwrap() + "id=\"assize-data\">".len();
        let end = start + html[start..].find("</script>").unwrap();
        serde_json::from_str(&html[start..end]).unwrap()
    }

    #[test]
    fn hostile_text_never_appears_raw_and_still_arrives() {
        let page = sample::page();
        let html = page.render().unwrap();
        for raw in ["<img", "onerror=alert(1)>", "<!--<script", "<i>o", "sample <study>", "7*7 }}</"] {
            assert!(!html.contains(raw), "{raw}");
        }
        assert_eq!(html.matches("</script>").count(), 2);
        assert_eq!(html.matches("<script").count(), 2);
        assert!(html.contains("&lt;i&gt;o&quot;4&#x27;"));
        // The template engine never saw the data as a template.
        assert!(html.contains("{{ 7*7 }}") && !html.contains(">49<") && !html.contains("49 fever"));
        let read = data(&html);
        assert_eq!(read["timelines"][20]["rows"][0]["event"], sample::HOSTILE);
        assert_eq!(read["cases"][5]["report_text"].as_str(), page.cases[5].report_text.as_deref());
    }

    #[test]
    fn every_string_survives_the_escaping_of_the_data_block() {
        let all: String = (0..=0x2_ffff).filter_map(char::from_u32).collect();
        let json = inert(&serde_json::to_string(&all).unwrap());
        assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}', '\u{0}']));
        assert_eq!(serde_json::from_str::<String>(&json).unwrap(), all);
    }

    #[test]
    fn spans_cut_the_quotation_out_of_the_utf16_text() {
        let read = data(&sample::page().render().unwrap());
        let mut n_spans = 0;
        for game in read["games"].as_array().unwrap() {
            let report = &read["cases"][game["case"].as_u64().unwrap() as usize]["report_text"];
            let units: Vec<u16> = report.as_str().unwrap().encode_utf16().collect();
            for finding in game["findings"].as_array().unwrap() {
                let Some(span) = finding["span"].as_array() else {
                    continue;
                };
                let (start, end) = (span[0].as_u64().unwrap() as usize, span[1].as_u64().unwrap() as usize);
                let cut = String::from_utf16(&units[start..end]).unwrap();
                assert_eq!(cut, finding["evidence"].as_str().unwrap());
                n_spans += 1;
            }
        }
        assert!(n_spans > 100);
    }

    #[test]
    fn equal_views_give_equal_bytes() {
        assert_eq!(sample::page().render().unwrap(), sample::page().render().unwrap());
    }

    #[test]
    fn nothing_is_loaded_from_outside() {
        let html = sample::page().render().unwrap();
        let bare = html.replace("http://www.w3.org/2000/svg", "");
        for outside in ["http:", "https:", "src=\"", "<link", "@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML ="] {
            assert!(!bare.contains(outside), "{outside}");
        }
        assert!(html.contains("default-src 'none'"));
        assert!(!CSS.contains("</") && !JS.contains("</") && !JS.contains("<!--"));
    }

    #[test]
    fn withheld_pages_hold_no_text_of_cases_or_replies() {
        let mut page = sample::page();
        page.notices.clear();
        page.no_text = true;
        let html = page.render().unwrap();
        for text in
            ["sore throat", "Two weeks later", "The report states", "MAYBE", "onerror", "expected text of the report", "כאב"]
        {
            assert!(!html.contains(text), "{text}");
        }
        assert!(html.contains("Text is withheld"));
        let read = data(&html);
        assert_eq!(read["no_text"], true);
        assert!(read["games"][0]["findings"][0]["span"].is_null());
        assert_eq!(read["games"].as_array().unwrap().len(), page.games.len());
    }

    #[test]
    fn references_and_numbers_are_checked() {
        let broken = |edit: fn(&mut GavelPage)| {
            let mut page = sample::page();
            edit(&mut page);
            page.render()
        };
        let case = broken(|page| page.games[0].case = 6);
        assert!(matches!(case, Err(ReportError::Reference { place, .. }) if place == "game 1"));
        let timeline = broken(|page| page.timelines[0].case = 99);
        assert!(matches!(timeline, Err(ReportError::Reference { .. })));
        let charge = broken(|page| page.games[0].findings[1].charged = Some("nobody".to_owned()));
        assert!(matches!(charge, Err(ReportError::Reference { place, .. }) if place == "game 1, finding 2"));
        let span = broken(|page| {
            let span = page.games[0].findings.iter().find_map(|finding| finding.span);
            page.cases[0].report_text = Some("short".to_owned());
            page.games[0].findings[0].span = span;
        });
        assert!(matches!(span, Err(ReportError::Reference { .. })));
        let share = broken(|page| page.games[0].share_a = Some(f64::NAN));
        assert!(matches!(share, Err(ReportError::NotFinite { .. })));
        let time = broken(|page| page.timelines[0].rows[0].time = Some(f64::INFINITY));
        assert!(matches!(time, Err(ReportError::NotFinite { .. })));
    }

    #[test]
    fn a_page_without_games_figures_or_further_tables_renders() {
        let mut page = sample::page();
        page.leaderboard_figure = None;
        page.error_profile = None;
        page.error_profile_figure = None;
        page.head_to_head = None;
        page.tables.clear();
        page.settings.clear();
        page.notices.clear();
        page.games.clear();
        page.timelines.clear();
        page.cases.clear();
        let html = page.render().unwrap();
        assert!(html.contains("0 cases, 0 games") && !html.contains("<svg"));
    }
}

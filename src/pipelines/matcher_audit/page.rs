//! The reviewer's page: one HTML file that works from disk, offline, and saves its answers as CSV. It hides what the sheet hides.
//!
//! Every text is escaped by the template engine; nothing is written into the script. A content security policy in the page stands
//! behind it: nothing may be loaded or sent.

use super::sample::{AuditSample, Pair};
use crate::pipelines::passage::{Mark, marks};
use crate::report::{ReportError, html};
use minijinja::context;
use serde::Serialize;
use std::collections::HashMap;

const TEMPLATE: &str = include_str!("page.html.jinja");
const CSS: &str = include_str!("page.css");
const JS: &str = include_str!("page.js");

/// One pair as the template reads it.
#[derive(Serialize)]
struct ItemMarkup<'t> {
    id: &'t str,
    number: usize,
    case: &'t str,
    first: &'t str,
    second: &'t str,
    /// The report in parts; `None` without a report.
    report: Option<Vec<Part<'t>>>,
    n_marks: usize,
}

/// A part of a report.
#[derive(Serialize)]
struct Part<'t> {
    text: &'t str,
    /// Class of the mark around it; empty for none.
    class: &'static str,
}

/// The page for a sample. `reports` gives the text of each case; a case that is not there has its events shown alone.
///
/// # Errors
/// Only if the template fails.
pub fn review_page(pairs: &[Pair], sample: &AuditSample, reports: &HashMap<String, String>) -> Result<String, ReportError> {
    let items = sample.items.iter().enumerate().map(|(i, item)| {
        let case = pairs[item.pair].case.as_str();
        let [first, second] = item.events(pairs);
        let text = reports.get(case);
        let found = text.map(|text| marks(text, first, second));
        ItemMarkup {
            id: &item.id,
            number: i + 1,
            case,
            first,
            second,
            n_marks: found.as_ref().map_or(0, Vec::len),
            report: text.zip(found).map(|(text, found)| parts(text, &found)),
        }
    });
    let items: Vec<ItemMarkup> = items.collect();
    Ok(html::render(TEMPLATE, context! { code => sample.code, items, css => CSS, js => JS })?)
}

/// The text cut at the marks.
fn parts<'t>(text: &'t str, marks: &[Mark]) -> Vec<Part<'t>> {
    let mut parts = Vec::with_capacity(2 * marks.len() + 1);
    let mut at = 0;
    let mut push = |text: &'t str, class| {
        if !text.is_empty() {
            parts.push(Part { text, class });
        }
    };
    for mark in marks {
        push(&text[at..mark.range.start], "");
        let class = match (mark.in_first, mark.in_second) {
            (true, true) => "both",
            (true, false) => "one",
            _ => "two",
        };
        push(&text[mark.range.clone()], class);
        at = mark.range.end;
    }
    push(&text[at..], "");
    parts
}

#[cfg(test)]
mod tests {
    use super::super::sample::tests::pairs;
    use super::super::{AuditSettings, draw};
    use super::*;

    fn page(pairs: &[Pair], reports: &[(&str, &str)]) -> String {
        let sample = draw(pairs, AuditSettings { n_per_band: 4, seed: 9 });
        let reports = reports.iter().map(|(case, text)| ((*case).to_owned(), (*text).to_owned())).collect();
        review_page(pairs, &sample, &reports).unwrap()
    }

    #[test]
    fn words_are_marked_and_the_text_is_whole() {
        let mut pairs = pairs(1);
        pairs.truncate(1);
        let html = page(&pairs, &[("case-0", "No fever.\nPyrexia & fever  <b>0.0</b>")]);
        let class = if html.contains("<mark class=\"one\">fever</mark>") { ["one", "two"] } else { ["two", "one"] };
        let expected = format!(
            "No <mark class=\"{0}\">fever</mark>.\n<mark class=\"{1}\">Pyrexia</mark> &amp; <mark class=\"{0}\">fever</mark>  \
             &lt;b&gt;<mark class=\"both\">0.0</mark>&lt;&#x2f;b&gt;",
            class[0], class[1]
        );
        assert!(html.contains(&expected), "{html}");
        assert!(page(&pairs, &[]).contains("The report is not here"));
        assert!(page(&pairs, &[("case-0", "nothing of it")]).contains("No word of either event"));
    }

    #[test]
    fn nothing_tells_the_distance_the_band_or_the_source_and_nothing_is_loaded() {
        let mut pairs = pairs(9);
        pairs.iter_mut().for_each(|pair| pair.distance += 0.000_321);
        pairs[0].reference = "</script><script>alert(1)</script>\" onload=\"x".to_owned();
        let html = page(&pairs, &[("case-0", "</div><script>alert(2)</script>")]);
        let outside = ["http:", "https:", "src=", "<link", "@import", "url(", "fetch(", "XMLHttpRequest", "innerHTML"];
        for absent in ["secret-model", "0321", "band", "distance", "prediction", "alert(1)<", "alert(2)<"].iter().chain(&outside)
        {
            assert!(!html.contains(absent), "{absent}");
        }
        assert_eq!((html.matches("<script").count(), html.matches("</script>").count()), (1, 1));
        assert!(html.contains("default-src 'none'"));
        assert_eq!(html.matches("type=\"radio\"").count(), 3 * 16);
        assert_eq!(html, page(&pairs, &[("case-0", "</div><script>alert(2)</script>")]));
    }
}

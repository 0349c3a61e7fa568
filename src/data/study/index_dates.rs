//! The file that says when time 0 of every case was.
//!
//! Two columns, case and date, with a header or without. This file must not know what is done with the dates.

use std::collections::BTreeMap;
use std::path::Path;

use crate::data::id::CaseId;
use crate::data::moment::Moment;
use crate::data::problem::Problem;

/// Reads the text of the file: a date for each case, and what is wrong.
pub(super) fn read(text: &str, path: &Path) -> (BTreeMap<CaseId, Moment>, Vec<Problem>) {
    let mut dates = BTreeMap::new();
    let mut problems = Vec::new();
    let text = text.trim_start_matches('\u{feff}');
    let mut reader = ::csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut is_first = true;
    // reading text from memory cannot fail, so nothing is dropped by flatten
    for record in reader.records().flatten() {
        let line = record.position().map(|position| usize::try_from(position.line()).unwrap_or(usize::MAX));
        let fields: Vec<&str> = record.iter().map(str::trim).collect();
        let is_header =
            std::mem::take(&mut is_first) && fields.get(1).is_some_and(|field| !field.contains(|c: char| c.is_ascii_digit()));
        if is_header || fields.iter().all(|field| field.is_empty()) {
            continue;
        }
        let mut error = |what: String, remedy: &str| problems.push(Problem::error(path, line, what, remedy));
        let [case, date] = fields.as_slice() else {
            error(format!("expected a case and a date, got {} fields", fields.len()), "write them as case-01,2019-03-05");
            continue;
        };
        let case = match CaseId::new(*case) {
            Ok(case) => case,
            Err(fault) => {
                error(fault.to_string(), "write the name of the report's file without its suffix");
                continue;
            }
        };
        let Ok(date) = Moment::parse(date) else {
            error("expected a date as 2019-03-05 or 2019-03-05T14:30, got another form".into(), "write year-month-day");
            continue;
        };
        if dates.insert(case.clone(), date).is_some() {
            error(format!("expected every case once, got \"{case}\" again"), "keep one of its dates");
        }
    }
    (dates, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_and_dates_with_a_header_or_without() {
        for text in [
            "case,date\ncase-1,2019-03-05\n\ncase-2,2019-03-05T14:30\n",
            "\u{feff}case-1, 2019-03-05\r\ncase-2,2019-03-05 14:30\r\n",
        ] {
            let (dates, problems) = read(text, Path::new("index.csv"));
            assert_eq!(problems, []);
            let found: Vec<_> = dates.iter().map(|(case, date)| (case.as_str(), *date)).collect();
            let date = |text| Moment::parse(text).unwrap();
            assert_eq!(found, [("case-1", date("2019-03-05")), ("case-2", date("2019-03-05T14:30"))]);
        }
    }

    #[test]
    fn what_is_wrong_is_named_by_line() {
        let (dates, problems) =
            read("case,date\na,05/03/2019\nb\na/b,2019-03-05\nc,2019-03-05\nc,2019-03-06\n", Path::new("i.csv"));
        assert_eq!(problems.iter().map(|problem| problem.line).collect::<Vec<_>>(), [Some(2), Some(3), Some(4), Some(6)]);
        assert_eq!(dates.len(), 1);
    }
}

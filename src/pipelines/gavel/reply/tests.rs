use super::*;
use crate::data::{CaseId, Event, EventTime, Hours, SourceName};

const REPORT: &str = "The patient\u{2019}s fever began two days before admission. Sodium was 128 mmol/L. She denied chest pain.";

fn timeline(source: &str, rows: &[(&str, Option<f64>)]) -> Timeline {
    let event = |(i, (text, time)): (usize, &(&str, Option<f64>))| Event {
        text: (*text).to_string(),
        time: time.map_or(EventTime::NotAvailable, |time| EventTime::At(Hours::new(time).expect("finite"))),
        line: i + 1,
        uid: None,
    };
    Timeline {
        case: CaseId::new("case").expect("an id"),
        source: SourceName::new(source).expect("a name"),
        events: rows.iter().enumerate().map(event).collect(),
        path: "x.csv".into(),
    }
}

fn with_checker<T>(schema: FindingSchema, test: impl FnOnce(&Checker<'_>) -> T) -> T {
    let a = timeline("a", &[("fever", Some(-48.0)), ("sodium 128 mmol/L", Some(0.0)), ("fever", Some(30.0))]);
    let b = timeline("b", &[("fever", Some(-24.0)), ("no chest  pain", None)]);
    test(&Checker::new(schema, REPORT, &a, &b, ToleranceRule::GAVEL, 3))
}

fn rows(kind: &str, a: &str, b: &str, evidence: &str) -> String {
    format!(
        r#"{{"findings":[{{"type":"{kind}","a_row":{a},"b_row":{b},"polarity":"present","evidence":{},"rationale":"stated","verdict":"A"}}]}}"#,
        serde_json::to_string(evidence).expect("a text")
    )
}

fn errors_of(reply: &str) -> Vec<String> {
    with_checker(FindingSchema::Rows, |checker| match checker.parse(reply) {
        Ok(parsed) => parsed.errors(),
        Err(error) => error.messages(),
    })
}

#[test]
fn a_finding_by_row_is_read_and_its_evidence_located() {
    with_checker(FindingSchema::Rows, |checker| {
        let parsed = checker.parse(&rows("TIMING", "1", "1", "The patient's fever began two days before")).expect("a reply");
        let finding = &parsed.findings[0];
        assert_eq!((finding.kind, finding.verdict, finding.a, finding.b), (FindingType::Timing, Verdict::A, Some(0), Some(0)));
        assert!(matches!(finding.located, Located::Normalised { start: 0, .. }), "a straight apostrophe for a curly one");
        assert!(!finding.within_tolerance, "24 hours apart is not less than 24");
        let exact = checker.parse(&rows("TIMING", "2", "1", "Sodium was 128 mmol/L")).expect("a reply");
        assert!(matches!(exact.findings[0].located, Located::ByteExact { .. }));
        let none = checker.parse(&rows("TIMING", "1", "1", "none found")).expect("a reply");
        assert_eq!(none.findings[0].located, Located::NoQuote);
        let invented = checker.parse(&rows("TIMING", "1", "1", "He had a stroke")).expect("a reply");
        assert_eq!(invented.findings[0].located, Located::Unlocated, "the finding stands");
    });
}

#[test]
fn sides_must_fit_the_type() {
    assert!(errors_of(&rows("TIMING", "1", "null", "none found"))[0].contains("needs a row of A and a row of B"));
    assert!(errors_of(&rows("A_ONLY", "1", "1", "none found"))[0].contains("needs a row of A and null for B"));
    assert!(errors_of(&rows("A_ONLY", "null", "1", "none found"))[0].contains("needs a row of A and null for B"));
    assert!(errors_of(&rows("B_ONLY", "1", "null", "none found"))[0].contains("needs null for A and a row of B"));
    assert!(errors_of(&rows("DUPLICATE", "null", "null", "none found"))[0].contains("at least one side"));
    assert!(errors_of(&rows("DUPLICATE", "3", "null", "none found")).is_empty());
    assert!(errors_of(&rows("B_ONLY", "null", "2", "none found")).is_empty());
}

#[test]
fn rows_and_labels_outside_their_range_are_named() {
    assert_eq!(errors_of(&rows("TIMING", "4", "1", "none found")), ["finding 1: a_row is 4; timeline A has rows 1 to 3"]);
    assert!(errors_of(&rows("TIMING", "0", "1", "none found"))[0].contains("a_row is 0"));
    assert!(errors_of(&rows("TIMING", "1.5", "1", "none found"))[0].contains("a_row is 1.5"));
    assert!(errors_of(&rows("Timing", "1", "1", "none found"))[0].contains("Timing"));
    let missing = r#"{"findings":[{"type":"TIMING","a_row":1,"b_row":1,"polarity":"present","evidence":"none found","verdict":"A","note":1}]}"#;
    assert_eq!(errors_of(missing), ["finding 1: rationale is missing", "finding 1: unknown field note"]);
}

#[test]
fn the_extra_side_of_a_duplicate_comes_from_the_timelines() {
    with_checker(FindingSchema::Rows, |checker| {
        let side =
            |a: &str, b: &str| checker.parse(&rows("DUPLICATE", a, b, "none found")).expect("a reply").findings[0].extra_side;
        assert_eq!(side("3", "null"), Some(Side::A));
        assert_eq!(side("null", "1"), Some(Side::B));
        assert_eq!(side("1", "1"), Some(Side::A), "A has fever twice");
    });
}

#[test]
fn published_findings_must_be_rows_of_the_timelines() {
    let finding = |event: &str, time: &str| {
        format!(
            r#"[{{"type":"B_ONLY","a_event":null,"a_time":null,"b_event":{event},"b_time":{time},"polarity":"absent","evidence":null,"rationale":"stated","verdict":"B"}}]"#
        )
    };
    with_checker(FindingSchema::Published, |checker| {
        let row = |reply: &str| checker.parse(reply).map(|parsed| parsed.findings.first().map(|finding| finding.b));
        assert_eq!(row(&finding("\"no chest pain\"", "\"N/A\"")), Ok(Some(Some(1))), "spaces collapse");
        assert_eq!(row(&finding("\"fever\"", "-24")), Ok(Some(Some(0))));
        assert_eq!(row(&finding("\"fever\"", "\"-24\"")), Ok(Some(Some(0))));
        assert_eq!(row(&finding("\"fever\"", "-48")), Ok(None), "the time of another row");
        assert_eq!(row(&finding("\"Fever\"", "-24")), Ok(None));
    });
}

#[test]
fn a_free_reply_is_found_in_its_prose() {
    let inner = rows("TIMING", "1", "1", "none found");
    let object = &inner[r#"{"findings":["#.len()..inner.len() - 2];
    let count =
        |reply: &str| with_checker(FindingSchema::Rows, |checker| checker.parse(reply).map(|parsed| parsed.findings.len()));
    assert_eq!(count(&format!("Here they are:\n```json\n{inner}\n```\nThat is all.")), Ok(1));
    assert_eq!(count(&format!("[{object},{object}]")), Ok(2));
    assert_eq!(count(&format!("{object}\n{object}\n")), Ok(2), "one object a line");
    assert_eq!(count(r#"{"findings":[]}"#), Ok(0));
    assert!(count("I see no difference.").is_err());
    assert!(count(&inner[..inner.len() - 5]).is_err(), "half a reply");
    assert!(count(&format!("{object}\n{}", &object[..20])).is_err(), "half an object after a whole one");
    let four = [object; 4].join(",");
    assert!(count(&format!("[{four}]")).is_err_and(|error| error.messages()[0].contains("at most 3 findings, got 4")));
}

#[test]
fn a_reply_with_two_answers_is_refused() {
    let inner = rows("TIMING", "1", "1", "none found");
    let object = &inner[r#"{"findings":["#.len()..inner.len() - 2];
    let errors = |reply: &str| errors_of(reply).join("; ");
    for reply in [
        format!("{inner}\n{inner}"),
        format!("{inner}\nCorrected answer:\n{{\"findings\":[]}}"),
        format!("{{}}\n{inner}"),
        format!("[{object}]\n[{object}]"),
        format!("{object}\nOn reflection:\n{object}"),
        format!("```json\n{object}\n```\n```json\n{object}\n```"),
    ] {
        assert!(
            errors(&reply).contains("expected one JSON object with findings, got 2 JSON values"),
            "{reply}: {}",
            errors(&reply)
        );
    }
    let count = |reply: &str| with_checker(FindingSchema::Rows, |checker| checker.parse(reply).expect(reply).findings.len());
    assert_eq!(count(&format!("As row [1] and [A1] say: {inner} (see [2], [\"b\"])")), 1);
    assert_eq!(count("[]"), 0);
}

#[test]
fn a_key_given_twice_is_no_answer() {
    let twice = |from: &str, to: &str| rows("TIMING", "1", "1", "none found").replace(from, to);
    for reply in [
        twice(r#""verdict":"A""#, r#""verdict":"A","verdict":"B""#),
        twice(r#"{"findings":["#, r#"{"findings":[],"findings":["#),
        twice(r#""verdict":"A"}"#, r#""verdict":"A","type":"VALUE","a_row":2,"b_row":1}"#),
    ] {
        let errors = errors_of(&reply);
        assert!(errors.len() == 1 && errors[0].contains("stands twice in one object"), "{reply}: {errors:?}");
    }
}

#[test]
fn a_draft_in_the_reasoning_does_not_count() {
    let (draft, reply) = (rows("TIMING", "1", "1", "none found"), r#"{"findings":[]}"#);
    let count =
        |reply: &str| with_checker(FindingSchema::Rows, |checker| checker.parse(reply).map(|parsed| parsed.findings.len()));
    assert_eq!(count(&format!("<think>{draft}</think>{reply}")), Ok(0));
    assert_eq!(count(&format!("Let me see. <thinking>{draft}</thinking> So: {reply}")), Ok(0));
    for unclosed in [format!("<think>{draft}"), format!("{draft} [THINK] wait")] {
        assert!(matches!(count(&unclosed), Err(ReplyError::NoReply(_))), "{unclosed}");
    }
}

//! Sample data for the tests of the page: six invented cases, four sources, every status, type and verdict.
//!
//! The last case is hostile: its texts try to end elements, to call the template engine and to turn the direction of
//! the line. Nothing here stems from a real report. The numbers come from a small fixed generator, so the bytes of the
//! page are the same on every machine.

use crate::report::page::{
    CaseView, EvidenceLocation, FailureView, FindingSideView, FindingView, GameStatus, GameView, GavelPage, JudgeView,
    NoticeLevel, NoticeView, SidePoints, TimelineRowView, TimelineView, Utf16Span,
};
use crate::report::{
    Cell, Column, ErrorProfileFigure, LeaderboardFigure, LeaderboardScale, Table,
    figure::{LeaderboardMark, ProfileBar},
};

/// Text that must never reach the page as it is.
pub const HOSTILE: &str = "</script><img src=x onerror=alert(1)>{{ 7*7 }}{% raw %}&amp;<!--<script>";

/// Four sources, one with a name of 45 characters.
pub const SOURCES: [&str; 4] =
    ["annotator 1", "open-weights-medical-70b-instruct-q4-k-m-run2", "small-model 8b", "<i>o\"4'</i> & co"];

const CATEGORIES: [&str; 7] = [
    "Over-annotation",
    "False duplicate",
    "Wrong time",
    "Wrong value",
    "Missed positive event",
    "Missed negative finding",
    "Missed recurrence",
];

/// An event that no report states.
const INVENTED: &str = "vital signs recorded, nothing out of the ordinary";

/// An event, its hours, and the sentence of the report that states it.
type Fact = (&'static str, Option<f64>, &'static str);

const CASES: [(&str, [Fact; 6]); 6] = [
    (
        "CASE-001",
        [
            ("sore throat began", Some(-96.0), "Her throat had been sore for four days before she came to the clinic."),
            ("temperature 39.2 °C", Some(0.0), "At the first visit her temperature was 39.2 °C."),
            ("no rash", Some(0.0), "No rash was seen anywhere."),
            ("penicillin V started", Some(2.0), "Penicillin V was begun that same morning."),
            ("swelling of the left knee", Some(336.0), "Two weeks later the left knee swelled and could not be bent."),
            ("discharged home", Some(504.0), "After three weeks in all she went home walking."),
        ],
    ),
    (
        "CASE-002",
        [
            ("smoker for 30 years", None, "He had smoked for some thirty years."),
            ("cough worsened", Some(-720.0), "His cough had become worse over the month before admission."),
            ("haemoglobin 8.4 g/dL", Some(0.0), "On arrival haemoglobin was 8.4 g/dL."),
            ("computed tomography of the chest", Some(6.0), "Within six hours a computed tomography of the chest was done."),
            ("bronchoscopy without tumour", Some(48.0), "Bronchoscopy on the third day showed no tumour."),
            ("transfusion of two units", Some(50.0), "Two units of red cells were given right after the examination."),
        ],
    ),
    (
        "CASE-003",
        [
            ("type 2 diabetes", None, "Type 2 diabetes had been known for many years."),
            ("vomiting", Some(-24.0), "He had vomited since the day before."),
            ("lipase 1240 U/L", Some(0.0), "Lipase stood at 1240 U/L."),
            ("no gallstones on ultrasound", Some(3.0), "Ultrasound found no gallstones."),
            ("weekly injection stopped", Some(4.0), "The weekly injection was stopped at once."),
            ("lipase 88 U/L", Some(120.0), "Five days on, lipase had come down to 88 U/L."),
        ],
    ),
    (
        "CASE-004",
        [
            ("fall from a ladder", Some(-3.0), "Three hours earlier she had fallen from a ladder."),
            ("headache", Some(0.0), "She complained of headache."),
            ("no loss of consciousness", Some(-3.0), "She had not lost consciousness."),
            ("small subdural haematoma", Some(1.0), "The scan an hour later showed a small subdural haematoma."),
            ("second scan unchanged", Some(25.0), "A second scan on the next day was unchanged."),
            ("headache returned", Some(672.0), "In the fourth week the headache returned."),
        ],
    ),
    (
        "CASE-005",
        [
            ("ulcer on the shin", Some(-1440.0), "An ulcer had sat on the shin for two months."),
            ("pale ring around the ulcer 👩‍⚕️", Some(0.0), "The nurse 👩‍⚕️ noticed a pale ring around the ulcer."),
            ("biopsy taken", Some(24.0), "On the following day a biopsy was taken."),
            ("culture sterile", Some(192.0), "The culture stayed sterile for a week."),
            ("prednisolone 40 mg daily", Some(200.0), "Prednisolone, 40 mg a day, was then given."),
            ("ulcer closed", Some(2160.0), "After three months the ulcer had closed."),
        ],
    ),
    (
        "HOSTILE-006 \u{202e}tfel ot thgir",
        [
            (HOSTILE, Some(0.0), HOSTILE),
            ("{{ 7*7 }} fever", Some(12.0), "At noon {{ 7*7 }} the fever rose & fell < 38 > 37."),
            ("כאב ראש חזק", Some(24.0), "למחרת היה לו כאב ראש חזק מאוד."),
            ("🩺 examined \u{202e}backwards", Some(30.0), "Then 🩺 he was examined \u{202e}backwards\u{202c} twice."),
            ("'; DROP TABLE events; --", Some(40.0), "Somebody wrote '; DROP TABLE events; -- on the chart."),
            (
                "averyveryveryverylongwordwithoutanyspacethatgoesonandonandonandonandonandon",
                Some(50.0),
                "The note ends in averyveryveryverylongwordwithoutanyspacethatgoesonandonandonandonandonandon.",
            ),
        ],
    ),
];

/// A fixed generator of small numbers (a 64-bit linear congruence, high bits used).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// The whole sample page.
pub fn page() -> GavelPage {
    let mut dice = Dice(7);
    let cases: Vec<CaseView> = CASES.iter().map(|(id, facts)| case(id, facts)).collect();
    let timelines: Vec<TimelineView> = (0..CASES.len())
        .flat_map(|case| (0..SOURCES.len()).map(move |source| (case, source)))
        .map(|(case, source)| timeline(case, source, &mut dice))
        .collect();
    let mut games = Vec::new();
    for (case, view) in cases.iter().enumerate() {
        for a in 0..SOURCES.len() {
            for b in a + 1..SOURCES.len() {
                let number = games.len();
                games.push(game(case, view, [a, b], number, &timelines, &mut dice));
            }
        }
    }
    GavelPage {
        title: "Sample study: four sources, six cases".to_owned(),
        study: "sample <study>".to_owned(),
        judge: JudgeView {
            name: "invented-judge-32b".to_owned(),
            description: vec!["Q4_K_M, greedy decoding".to_owned(), "one GPU, numerics exact".to_owned()],
        },
        settings: [
            ("Rubric", "primary"),
            ("Time tolerance", "24 h or 10% of the distance from the index time"),
            ("Attempts", "3"),
            ("Resamples", "2000 of cases"),
            ("Seed", "20240517"),
        ]
        .map(|(label, value)| (label.to_owned(), value.to_owned()))
        .to_vec(),
        notices: vec![NoticeView {
            level: NoticeLevel::Warning,
            text: format!("Two games failed and one is pending; they are counted below. {HOSTILE}"),
        }],
        leaderboard: leaderboard(),
        leaderboard_figure: Some(leaderboard_figure().draw().expect("the sample can be drawn")),
        error_profile: Some(profile_table()),
        error_profile_figure: Some(profile_figure().draw().expect("the sample can be drawn")),
        head_to_head: Some(matrix()),
        tables: vec![conformance(), inputs()],
        cases,
        timelines,
        games,
        no_text: false,
    }
}

fn case(id: &str, facts: &[Fact; 6]) -> CaseView {
    let sentences: Vec<&str> = facts.iter().map(|(_, _, sentence)| *sentence).collect();
    let filler = "The other findings were unremarkable, and nothing further was noted by those who took care of the patient. ";
    let text = format!(
        "Presentation\n\n{} {}\n\n{}{}\n\nCourse\n\n{} {}\n\n{}{}\n\n{}",
        sentences[0],
        sentences[1],
        filler.repeat(6),
        sentences[2],
        sentences[3],
        filler.repeat(9),
        filler.repeat(3),
        sentences[4],
        sentences[5],
    );
    CaseView { id: id.to_owned(), report_text: Some(text) }
}

fn timeline(case: usize, source: usize, dice: &mut Dice) -> TimelineView {
    let mut rows = Vec::new();
    let mut add = |event: &str, time: Option<f64>| {
        let row = rows.len() + 1;
        rows.push(TimelineRowView { row, event: Some(event.to_owned()), time, line: Some(row + 1) });
    };
    for (event, time, _) in CASES[case].1 {
        match dice.roll(4 + source as u64) {
            0 if source > 0 => {}
            1 if source > 1 => add(event, time.map(|t| t + 168.0)),
            _ => add(event, time),
        }
        if dice.roll(3) == 0 {
            add("vital signs recorded, nothing out of the ordinary", Some(0.5));
        }
    }
    TimelineView { case, source: SOURCES[source].to_owned(), rows }
}

fn game(case: usize, view: &CaseView, sides: [usize; 2], number: usize, timelines: &[TimelineView], dice: &mut Dice) -> GameView {
    let mut game = GameView {
        case,
        a: SOURCES[sides[0]].to_owned(),
        b: SOURCES[sides[1]].to_owned(),
        status: GameStatus::Ok,
        attempts: 1,
        points: None,
        share_a: None,
        failure: None,
        findings: Vec::new(),
    };
    match number {
        4 | 32 => {
            game.status = GameStatus::Failed;
            game.attempts = 3;
            game.failure = Some(FailureView {
                outcome: "schema_invalid".to_owned(),
                errors: vec!["findings[2].verdict: expected A, B, BOTH, NEITHER or UNCLEAR, got \"MAYBE\"".to_owned()],
                raw: Some(format!("{{\"findings\":[{{\"type\":\"VALUE\",\n  \"verdict\":\"MAYBE\", \"note\":\"{HOSTILE}\"}}")),
            });
            return game;
        }
        9 => {
            game.status = GameStatus::Pending;
            game.attempts = 0;
            return game;
        }
        _ => {}
    }
    let rows = sides.map(|source| &timelines[case * SOURCES.len() + source].rows);
    let mut charged = SidePoints { a: 0.0, b: 0.0 };
    for fact in 0..6 {
        let finding = finding(case, view, &game, fact, rows, dice);
        if let Some(name) = &finding.charged {
            let side = if *name == game.a { &mut charged.a } else { &mut charged.b };
            *side += finding.points;
        }
        game.findings.push(finding);
    }
    if number % 7 == 3 {
        game.status = GameStatus::Partial;
        let last = game.findings.last_mut().expect("every fact has a finding");
        last.valid = false;
        last.errors = vec!["evidence: expected text of the report, got a passage that is not in it".to_owned()];
        if let Some(name) = last.charged.take() {
            *(if name == game.a { &mut charged.a } else { &mut charged.b }) -= last.points;
        }
        (last.points, last.category) = (0.0, None);
        (last.location, last.span) = (EvidenceLocation::Unlocated, None);
    }
    let total = charged.a + charged.b;
    game.points = Some(charged);
    game.share_a = Some(if total > 0.0 { charged.b / total } else { 0.5 });
    game
}

fn finding(
    case: usize,
    view: &CaseView,
    game: &GameView,
    fact: usize,
    rows: [&Vec<TimelineRowView>; 2],
    dice: &mut Dice,
) -> FindingView {
    let (event, _, sentence) = CASES[case].1[fact];
    let side = |rows: &Vec<TimelineRowView>, event: &str| {
        let row = rows.iter().find(|row| row.event.as_deref() == Some(event));
        row.map(|row| FindingSideView { row: Some(row.row), event: row.event.clone(), time: row.time })
    };
    let (mut a, mut b) = (side(rows[0], event), side(rows[1], event));
    let neither = a.is_none() && b.is_none();
    if neither {
        (a, b) = (side(rows[0], INVENTED), side(rows[1], INVENTED));
    }
    let (kind, verdict, charged, category) = match (&a, &b) {
        _ if neither => ("SHARED_UNSUPPORTED", "NEITHER", None, None),
        (Some(_), None) => ("A_ONLY", "A", Some(&game.b), Some(4)),
        (None, Some(_)) => ("B_ONLY", "A", Some(&game.b), Some(0)),
        (Some(x), Some(y)) if x.time != y.time => ("TIMING", "A", Some(&game.b), Some(2)),
        (Some(_), Some(_)) => {
            [("VALUE", "BOTH", None, None), ("DUPLICATE", "B", Some(&game.a), Some(1)), ("VALUE", "UNCLEAR", None, None)]
                [dice.roll(3) as usize]
        }
        (None, None) => unreachable!("neither side is handled first"),
    };
    let weights = [3.0, 2.0, 2.0, 2.0, 1.0, 0.5, 0.5];
    let report = view.report_text.as_deref().unwrap_or_default();
    let start = report.find(sentence).expect("the report holds the sentence of every fact");
    let quoted = dice.roll(6) > 0;
    FindingView {
        kind: kind.to_owned(),
        verdict: verdict.to_owned(),
        polarity: if event.starts_with("no ") { "absent" } else { "present" }.to_owned(),
        a,
        b,
        category: category.map(|i: usize| CATEGORIES[i].to_owned()),
        charged: charged.cloned(),
        points: category.map_or(0.0, |i| weights[i]),
        rationale: Some(format!("The report states this once, and the two timelines differ on “{event}”.")),
        evidence: quoted.then(|| sentence.to_owned()),
        location: match (quoted, dice.roll(4)) {
            (false, _) => EvidenceLocation::None,
            (true, 0) => EvidenceLocation::Normalised,
            (true, _) => EvidenceLocation::ByteExact,
        },
        span: quoted.then(|| Utf16Span::from_bytes(report, start, start + sentence.len()).expect("a found sentence is a span")),
        valid: true,
        errors: Vec::new(),
    }
}

/// Four sources with ratings and intervals.
pub fn leaderboard_figure() -> LeaderboardFigure {
    let values = [(1588.0, 1541.2, 1640.9), (1530.4, 1488.0, 1575.3), (1475.1, 1420.7, 1511.8), (1406.5, 1350.2, 1449.6)];
    LeaderboardFigure {
        scale: LeaderboardScale::Rating,
        marks: SOURCES
            .iter()
            .zip(values)
            .map(|(source, (value, low, high))| LeaderboardMark {
                source: (*source).to_owned(),
                value,
                interval: Some((low, high)),
            })
            .collect(),
    }
}

/// Rates of four sources in seven categories.
pub fn profile_figure() -> ErrorProfileFigure {
    ErrorProfileFigure {
        axis: "discrepancies a game".to_owned(),
        categories: CATEGORIES.map(str::to_owned).to_vec(),
        bars: SOURCES
            .iter()
            .enumerate()
            .map(|(i, source)| ProfileBar {
                source: (*source).to_owned(),
                values: [0.2, 0.1, 1.4, 0.6, 1.8, 0.9, 0.05].map(|rate| rate * (1.0 + i as f64 * 0.7)).to_vec(),
            })
            .collect(),
    }
}

fn leaderboard() -> Table {
    let columns = vec![
        Column::number("rank", "Rank"),
        Column::text("source", "Source"),
        Column::number("rating", "Rating"),
        Column::number("low", "95% low"),
        Column::number("high", "95% high"),
        Column::number("share", "Mean share").with_unit("%"),
    ];
    let mut table = filled("leaderboard", "Leaderboard", columns, |rank, source| {
        let mark = &leaderboard_figure().marks[rank];
        let (low, high) = mark.interval.expect("the sample has intervals");
        vec![
            Cell::count(rank + 1),
            source.into(),
            Cell::number(mark.value, 0),
            Cell::number(low, 0),
            Cell::number(high, 0),
            Cell::number(64.25 - 9.5 * rank as f64, 1),
        ]
    });
    table = table.with_note("Intervals: percentiles 2.5 and 97.5 of 2000 resamples of cases.");
    table
}

fn profile_table() -> Table {
    let mut columns = vec![Column::text("source", "Source")];
    columns.extend(CATEGORIES.iter().enumerate().map(|(i, label)| Column::number(format!("c{i}"), *label)));
    filled("error_profile", "Error profile", columns, |i, source| {
        let mut row = vec![Cell::from(source)];
        row.extend(profile_figure().bars[i].values.iter().map(|&rate| Cell::number(rate, 2)));
        row
    })
}

fn matrix() -> Table {
    let mut columns = vec![Column::text("source", "Source")];
    columns.extend(SOURCES.iter().enumerate().map(|(i, label)| Column::number(format!("s{i}"), *label).with_unit("%")));
    let table = filled("head_to_head", "Head to head", columns, |i, source| {
        let mut row = vec![Cell::from(source)];
        row.extend((0..SOURCES.len()).map(|j| match i == j {
            true => Cell::Missing,
            false => Cell::number(50.0 + 13.7 * (j as f64 - i as f64), 1),
        }));
        row
    });
    table.with_note("Mean point share in percent; above 50 the source of the row does better.")
}

fn conformance() -> Table {
    let columns = vec![Column::text("outcome", "Outcome"), Column::number("games", "Games")];
    let mut table = Table::new("conformance", "Schema conformance", columns).expect("the columns are well formed");
    for (outcome, games) in [("complete", 28), ("partial", 5), ("failed", 2), ("pending", 1)] {
        table.push(vec![outcome.into(), Cell::Int(games)]).expect("the row is well formed");
    }
    table
}

fn inputs() -> Table {
    let columns = vec![
        Column::text("source", "Source"),
        Column::number("timelines", "Timelines"),
        Column::number("rows", "Rows"),
        Column::number("na", "N/A times"),
    ];
    filled("inputs", "Input counts", columns, |i, source| {
        vec![source.into(), Cell::Int(6), Cell::count(47 - 3 * i), Cell::Int(2)]
    })
}

fn filled(name: &str, title: &str, columns: Vec<Column>, row: impl Fn(usize, &str) -> Vec<Cell>) -> Table {
    let mut table = Table::new(name, title, columns).expect("the columns are well formed");
    for (i, source) in SOURCES.iter().enumerate() {
        table.push(row(i, source)).expect("the row is well formed");
    }
    table
}

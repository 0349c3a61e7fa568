//! Games between named entrants, as several computations take them.

use serde::Deserialize;
use serde_json::Value;

use super::super::finding::{Discrepancy, FindingType, Polarity, Side, Verdict};
use super::super::game::Game;
use super::input::{Fields, position, unique};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NamedGame {
    case: String,
    a: String,
    b: String,
    share_a: f64,
}

/// The entrants of an input.
pub(super) fn entrants(fields: &Fields<'_>) -> Result<Vec<String>, String> {
    let entrants: Vec<String> = fields.list("entrants")?;
    unique(&entrants, "entrants")?;
    Ok(entrants)
}

/// The place of an entrant; `place` names where it stands.
pub(super) fn entrant(entrants: &[String], name: &str, place: impl Fn() -> String) -> Result<usize, String> {
    position(entrants, name, place, "entrants")
}

/// The games of an input; with `cases` None the case plays no part.
pub(super) fn games(fields: &Fields<'_>, entrants: &[String], cases: Option<&[String]>) -> Result<Vec<Game>, String> {
    let games: Vec<NamedGame> = fields.list("games")?;
    let read = |(i, game): (usize, NamedGame)| {
        let at = |field: &'static str| move || format!("field \"games\"[{i}].{field}");
        Ok(Game {
            case: cases.map_or(Ok(0), |cases| position(cases, &game.case, at("case"), "cases"))?,
            a: entrant(entrants, &game.a, at("a"))?,
            b: entrant(entrants, &game.b, at("b"))?,
            share_a: game.share_a,
        })
    };
    games.into_iter().enumerate().map(read).collect()
}

/// A finding as it is scored. The extra side of a DUPLICATE may be given; where the field is missing it is the side
/// that alone has an event.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Finding {
    #[serde(rename = "type")]
    kind: FindingType,
    verdict: Verdict,
    polarity: Polarity,
    #[serde(default, deserialize_with = "given")]
    extra_side: Option<Option<Side>>,
    #[serde(default)]
    a_event: Option<Value>,
    #[serde(default)]
    b_event: Option<Value>,
}

/// Tells a null that is there from a field that is not.
fn given<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Option<Side>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl From<Finding> for Discrepancy {
    fn from(finding: Finding) -> Self {
        let derived = match (&finding.a_event, &finding.b_event) {
            (Some(_), None) => Some(Side::A),
            (None, Some(_)) => Some(Side::B),
            _ => None,
        };
        let derived = derived.filter(|_| finding.kind == FindingType::Duplicate);
        Self {
            kind: finding.kind,
            verdict: finding.verdict,
            polarity: finding.polarity,
            extra_side: finding.extra_side.unwrap_or(derived),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_extra_side_is_given_or_derived() {
        let side = |extra: Option<Value>, a: Value, b: Value| {
            let mut finding = json!({"type": "DUPLICATE", "verdict": "A", "polarity": "present", "a_event": a, "b_event": b});
            if let Some(extra) = extra {
                finding["extra_side"] = extra;
            }
            Discrepancy::from(serde_json::from_value::<Finding>(finding).unwrap()).extra_side
        };
        assert_eq!(side(Some(json!("B")), json!("x"), json!(null)), Some(Side::B));
        assert_eq!(side(Some(json!(null)), json!("x"), json!(null)), None);
        assert_eq!(side(None, json!("x"), json!(null)), Some(Side::A));
        assert_eq!(side(None, json!(null), json!("x")), Some(Side::B));
        assert_eq!(side(None, json!("x"), json!("x")), None);
    }
}

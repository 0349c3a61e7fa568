//! Which column or key holds the event and which the time.
//!
//! The exact names `event` and `time` win. Without them a header must have one name for each: of two synonyms nobody can say which is
//! meant. This file must not know formats.

const EVENT_NAMES: [&str; 8] =
    ["event", "events", "event_text", "event_name", "clinical_event", "clinical_events", "mention", "text"];

const TIME_NAMES: [&str; 15] = [
    "time",
    "times",
    "hour",
    "hours",
    "time_hours",
    "time_in_hours",
    "time_h",
    "timestamp",
    "timestamps",
    "timestamp_hours",
    "timestamp_in_hours",
    "date",
    "datetime",
    "date_time",
    "event_date",
];

/// Where the event and the time stand among named fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) event: usize,
    pub(super) time: usize,
}

/// What the names of fields say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Named {
    /// Nothing: there is no name of an event or none of a time.
    Nothing,
    Places(Places),
    /// Several names of an event or of a time, and none exact.
    Several(Vec<String>),
}

/// Finds the event and the time among `names`; `exact_event` is the format's own name of the event.
pub(super) fn find<'n>(names: impl IntoIterator<Item = &'n str>, exact_event: &str) -> Named {
    let names: Vec<String> = names.into_iter().map(plain).collect();
    let all = |known: &[&str]| -> Vec<usize> {
        names.iter().enumerate().filter(|(_, name)| known.contains(&name.as_str())).map(|(i, _)| i).collect()
    };
    let one = |found: Vec<usize>, exact: &str| -> Result<Option<usize>, Vec<usize>> {
        let exact: Vec<usize> = found.iter().copied().filter(|&i| names[i] == exact).collect();
        match (exact.as_slice(), found.as_slice()) {
            ([i], _) | ([], [i]) => Ok(Some(*i)),
            (_, []) => Ok(None),
            _ => Err(found),
        }
    };
    let shown = |places: Vec<usize>| Named::Several(places.into_iter().map(|i| names[i].clone()).collect());
    match (one(all(&EVENT_NAMES), exact_event), one(all(&TIME_NAMES), "time")) {
        (Ok(None), _) | (_, Ok(None)) => Named::Nothing,
        (Ok(Some(event)), Ok(Some(time))) => Named::Places(Places { event, time }),
        (Err(places), _) | (_, Err(places)) => shown(places),
    }
}

/// Whether `name` is a name of a time.
pub(super) fn is_time_name(name: &str) -> bool {
    TIME_NAMES.contains(&plain(name).as_str())
}

/// Whether `name` is a name of an event.
pub(super) fn is_event_name(name: &str) -> bool {
    EVENT_NAMES.contains(&plain(name).as_str())
}

/// A name in lower case, its words joined by underscores, without emphasis marks.
fn plain(name: &str) -> String {
    name.to_lowercase().split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_names_win_and_synonyms_must_be_alone() {
        let of = |names: &[&str]| find(names.iter().copied(), "event");
        assert_eq!(of(&["text", "Event", "time"]), Named::Places(Places { event: 1, time: 2 }));
        assert_eq!(of(&["hours", "**Event text**"]), Named::Places(Places { event: 1, time: 0 }));
        assert_eq!(of(&["event", "timestamp", "hours"]), Named::Several(vec!["timestamp".into(), "hours".into()]));
        assert_eq!(of(&["event", "event", "time"]), Named::Several(vec!["event".into(), "event".into()]));
        assert_eq!(of(&["fever", "time"]), Named::Nothing);
        assert_eq!(of(&["text", "mention"]), Named::Nothing);
        assert_eq!(find(["event", "mention", "time"], "mention"), Named::Places(Places { event: 1, time: 2 }));
    }
}

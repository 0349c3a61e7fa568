//! The ways in which the games are judged, the reference first.

use crate::data::Numerics;

/// One way of judging.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Name in tables, and of the folder that holds the replies.
    pub name: String,
    pub numerics: Numerics,
    /// Games decoded together.
    pub slots: u32,
    pub drafts: bool,
    pub sharing: bool,
    /// Whether the games are asked for in the opposite order.
    pub reversed: bool,
}

impl Setting {
    fn exact(name: &str, slots: u32, reversed: bool) -> Self {
        Self { name: name.into(), numerics: Numerics::Exact, slots, drafts: false, sharing: false, reversed }
    }

    fn fast(slots: u32, without: &str, drafts: bool, sharing: bool) -> Self {
        Self { name: format!("fast-{slots}{without}"), numerics: Numerics::Fast, slots, drafts, sharing, reversed: false }
    }

    /// Whether every reply must be the reference's.
    #[must_use]
    pub fn must_agree(&self) -> bool {
        self.numerics == Numerics::Exact
    }
}

/// The reference, exact mode again and in another order, fast mode at each of `widths`, and at the widest without its parts.
#[must_use]
pub fn settings(widths: &[u32]) -> Vec<Setting> {
    let widest = widths.iter().copied().max().unwrap_or(1);
    let mut settings = vec![
        Setting::exact("exact", 1, false),
        Setting::exact("exact-again", 1, false),
        Setting::exact("exact-reversed", widest.max(2), true),
    ];
    for (i, &slots) in widths.iter().enumerate() {
        if !widths[..i].contains(&slots) {
            settings.push(Setting::fast(slots, "", true, true));
        }
    }
    if !widths.is_empty() {
        settings.push(Setting::fast(widest, "-no-drafts", false, true));
        settings.push(Setting::fast(widest, "-no-sharing", true, false));
        settings.push(Setting::fast(widest, "-no-drafts-no-sharing", false, false));
    }
    settings
}

//! Scored error categories and the weights that turn them into points.

use std::fmt;
use std::ops::{Index, IndexMut};
use std::str::FromStr;

use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

use super::error::MeasureError;
use super::finding::vocabulary;

vocabulary! {
    /// What a decisive finding charges the losing side with. The order is that of the weights.
    ///
    /// # Source
    /// gavel.txt, "Scoring and Statistical Analysis".
    Category, "a category",
    "over_annotation, false_duplicate, wrong_time, wrong_value, missed_positive, missed_negative, missed_recurrence", {
        /// An event the report does not support.
        OverAnnotation = "over_annotation",
        /// A repeated row that is no new occurrence.
        FalseDuplicate = "false_duplicate",
        /// A wrong time.
        WrongTime = "wrong_time",
        /// A wrong value or attribute.
        WrongValue = "wrong_value",
        /// A supported event that is missing.
        MissedPositive = "missed_positive",
        /// A supported pertinent negative that is missing.
        MissedNegative = "missed_negative",
        /// A true further occurrence that is missing.
        MissedRecurrence = "missed_recurrence",
    }
}

impl Category {
    /// The heading used in tables and figures.
    pub const fn label(self) -> &'static str {
        match self {
            Self::OverAnnotation => "Over-annotation",
            Self::FalseDuplicate => "False duplicate",
            Self::WrongTime => "Wrong time",
            Self::WrongValue => "Wrong value",
            Self::MissedPositive => "Missed positive",
            Self::MissedNegative => "Missed negative",
            Self::MissedRecurrence => "Missed recurrence",
        }
    }
}

/// Number of categories.
pub const N_CATEGORIES: usize = Category::ALL.len();

/// One value a category; serialised as a map in category order.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct PerCategory<T>(pub [T; N_CATEGORIES]);

impl<T> PerCategory<T> {
    /// The categories with their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Category, &T)> {
        Category::ALL.into_iter().zip(&self.0)
    }

    /// The same table with `f` applied to every value.
    pub fn map<U>(self, f: impl FnMut(T) -> U) -> PerCategory<U> {
        PerCategory(self.0.map(f))
    }
}

impl<T> Index<Category> for PerCategory<T> {
    type Output = T;

    fn index(&self, category: Category) -> &T {
        &self.0[category as usize]
    }
}

impl<T> IndexMut<Category> for PerCategory<T> {
    fn index_mut(&mut self, category: Category) -> &mut T {
        &mut self.0[category as usize]
    }
}

impl<T: Serialize> Serialize for PerCategory<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(N_CATEGORIES))?;
        for (category, value) in self.iter() {
            map.serialize_entry(category.as_str(), value)?;
        }
        map.end()
    }
}

vocabulary! {
    /// The named weightings of the papers. uid.txt calls its default `prespecified`; the weights
    /// are those of gavel.txt, under a name of their own so that tables can use either.
    Scheme, "a weighting scheme",
    "default, prespecified, timing_weighted, event_weighted, equal, timing_only, recall_only", {
        /// gavel.txt's primary weights.
        Default = "default",
        /// The same weights under uid.txt's name.
        Prespecified = "prespecified",
        /// Wrong times count three times as much, omissions little.
        TimingWeighted = "timing_weighted",
        /// Presence and absence of events count most.
        EventWeighted = "event_weighted",
        /// Every category counts one.
        Equal = "equal",
        /// Wrong times alone.
        TimingOnly = "timing_only",
        /// Omissions alone.
        RecallOnly = "recall_only",
    }
}

impl Scheme {
    /// The scheme's weights, in points.
    ///
    /// # Source
    /// gavel.txt "Scoring" and Table 3; uid.txt Appendix G.
    pub const fn weights(self) -> PerCategory<f64> {
        PerCategory(match self {
            Self::Default | Self::Prespecified => [3.0, 2.0, 2.0, 2.0, 1.0, 0.5, 0.5],
            Self::TimingWeighted => [3.0, 2.0, 6.0, 2.0, 0.2, 0.2, 0.2],
            Self::EventWeighted => [6.0, 6.0, 1.5, 2.0, 3.0, 3.0, 3.0],
            Self::Equal => [1.0; N_CATEGORIES],
            Self::TimingOnly => [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            Self::RecallOnly => [0.0, 0.0, 0.0, 0.0, 1.0, 0.5, 0.5],
        })
    }
}

/// A validated weighting.
///
/// # Units
/// Points a finding.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rubric {
    weights: PerCategory<f64>,
}

impl Rubric {
    /// A weighting of one's own.
    ///
    /// # Errors
    /// A weight that is negative or not finite.
    pub fn new(weights: PerCategory<f64>) -> Result<Self, MeasureError> {
        for (_, &weight) in weights.iter() {
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(MeasureError::NumberOutOfRange {
                    what: "a rubric weight",
                    expected: "finite and not negative",
                    got: weight,
                });
            }
        }
        Ok(Self { weights })
    }

    /// The weights.
    pub const fn weights(&self) -> &PerCategory<f64> {
        &self.weights
    }

    /// Points of a list of counted errors, summed in category order.
    pub fn points(&self, counts: &PerCategory<u32>) -> f64 {
        counts.iter().map(|(category, &count)| f64::from(count) * self.weights[category]).sum()
    }
}

impl From<Scheme> for Rubric {
    fn from(scheme: Scheme) -> Self {
        Self { weights: scheme.weights() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn categories_index_in_order_and_serialise_by_name() {
        let mut counts = PerCategory::<u32>::default();
        counts[Category::MissedRecurrence] = 4;
        assert_eq!(counts.0[6], 4);
        let json = serde_json::to_string(&counts).unwrap();
        assert!(json.starts_with("{\"over_annotation\":0,"), "{json}");
        assert!(json.ends_with("\"missed_recurrence\":4}"), "{json}");
        assert_eq!(Category::ALL.map(|c| c as usize), [0, 1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn points_follow_the_scheme() {
        let counts = PerCategory([1, 1, 1, 1, 1, 1, 1]);
        assert_eq!(Rubric::from(Scheme::Default).points(&counts), 11.0);
        assert_eq!(Rubric::from(Scheme::Equal).points(&counts), 7.0);
        assert_eq!(Rubric::from(Scheme::EventWeighted).points(&counts), 24.5);
        assert_eq!(Rubric::from(Scheme::RecallOnly).points(&counts), 2.0);
    }

    #[test]
    fn bad_weights_are_refused() {
        let mut weights = Scheme::Default.weights();
        weights[Category::WrongTime] = f64::NAN;
        assert!(Rubric::new(weights).is_err());
        weights[Category::WrongTime] = -1.0;
        assert!(Rubric::new(weights).is_err());
        weights[Category::WrongTime] = 0.0;
        assert!(Rubric::new(weights).is_ok());
    }
}

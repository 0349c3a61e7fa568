//! A date, with a time of day where one is given, and the hours between two of them.
//!
//! ISO 8601 only: `05/03/2019` is May to some and March to others. This file must not know files or columns.

use chrono::{DateTime, FixedOffset, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta};

use super::hours::Hours;

/// Why a text is no usable date.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MomentFault {
    /// It is a date or a time of day in another form than ISO 8601, or there is no such day.
    NotIso,
    /// One of two dates has an offset from UTC and the other has none.
    Offset,
}

/// A point in time as far as it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A day.
    Day(NaiveDate),
    /// A day and a time of day, at the place of the report.
    Local(NaiveDateTime),
    /// The same with its offset from UTC.
    Fixed(DateTime<FixedOffset>),
}

impl Moment {
    /// Reads `2019-03-05`, `2019-03-05T14:30`, `2019-03-05 14:30:05.5`, each time with an offset (`Z`, `+01:00`) or without.
    ///
    /// # Errors
    /// [`MomentFault::NotIso`].
    pub fn parse(text: &str) -> Result<Self, MomentFault> {
        let text = text.trim();
        let fault = |_| MomentFault::NotIso;
        let (day, rest) = text.split_at_checked(10).ok_or(MomentFault::NotIso)?;
        let day = NaiveDate::parse_from_str(day, "%Y-%m-%d").map_err(fault)?;
        if rest.is_empty() {
            return Ok(Self::Day(day));
        }
        let time = rest.strip_prefix(['T', 't', ' ']).ok_or(MomentFault::NotIso)?;
        let at = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
        let (clock, offset) = time.split_at(at);
        let clock = ["%H:%M", "%H:%M:%S%.f"].iter().find_map(|form| NaiveTime::parse_from_str(clock.trim(), form).ok());
        let local = day.and_time(clock.ok_or(MomentFault::NotIso)?);
        match offset {
            "" => Ok(Self::Local(local)),
            "Z" | "z" => {
                Ok(Self::Fixed(DateTime::from_naive_utc_and_offset(local, FixedOffset::east_opt(0).ok_or(MomentFault::NotIso)?)))
            }
            _ => {
                DateTime::parse_from_str(&format!("{local} {offset}"), "%Y-%m-%d %H:%M:%S%.f %:z").map(Self::Fixed).map_err(fault)
            }
        }
    }

    /// Whether a text is meant as a date or a time of day, in whatever form.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
        let text = text.trim().to_ascii_lowercase();
        let numbers: Vec<&str> = text.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty()).collect();
        let has_year = numbers.iter().any(|number| number.len() == 4);
        let marks: String = text.chars().filter(|c| !c.is_ascii_digit()).take(2).collect();
        let starts_with_number = text.starts_with(|c: char| c.is_ascii_digit());
        let is_clock = starts_with_number
            && text.split_once(':').is_some_and(|(hour, rest)| {
                hour.len() <= 2
                    && hour.bytes().all(|b| b.is_ascii_digit())
                    && rest.len() >= 2
                    && rest.bytes().take(2).all(|b| b.is_ascii_digit())
            });
        let is_date = starts_with_number
            && numbers.len() >= 3
            && numbers[0].len() <= 4
            && match marks.as_str() {
                "--" | ".." => has_year && numbers.iter().take(3).all(|number| matches!(number.len(), 1 | 2 | 4)),
                "//" => numbers.iter().take(3).all(|number| matches!(number.len(), 1 | 2 | 4)),
                _ => false,
            };
        let words = || text.split(|c: char| !c.is_ascii_alphabetic()).filter(|word| word.len() >= 3);
        is_clock || is_date || has_year && words().any(|word| MONTHS.contains(&&word[..3]))
    }

    fn day(self) -> NaiveDate {
        match self {
            Self::Day(day) => day,
            Self::Local(local) => local.date(),
            Self::Fixed(fixed) => fixed.date_naive(),
        }
    }

    /// The hours from `index` to this moment, to a hundredth of an hour.
    ///
    /// A day without a time of day lies whole days from the day of `index`. An `index` without a time of day is its midnight.
    ///
    /// # Errors
    /// [`MomentFault::Offset`] where only one of two times of day has an offset.
    pub fn hours_since(self, index: Self) -> Result<Hours, MomentFault> {
        let between = match (self, index) {
            (Self::Day(day), _) => day - index.day(),
            (Self::Local(local), Self::Day(day)) => local - day.and_time(NaiveTime::MIN),
            (Self::Fixed(fixed), Self::Day(day)) => fixed.naive_local() - day.and_time(NaiveTime::MIN),
            (Self::Local(local), Self::Local(index)) => local - index,
            (Self::Fixed(fixed), Self::Fixed(index)) => fixed - index,
            (Self::Local(_), Self::Fixed(_)) | (Self::Fixed(_), Self::Local(_)) => return Err(MomentFault::Offset),
        };
        Hours::new(hundredths(between)).map_err(|_| MomentFault::NotIso)
    }
}

/// Hours to a hundredth.
fn hundredths(between: TimeDelta) -> f64 {
    // years in milliseconds are far below 2^53, so the number is exact
    (between.num_milliseconds() as f64 / 36_000.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(moment: &str, index: &str) -> Result<f64, MomentFault> {
        Moment::parse(moment)?.hours_since(Moment::parse(index)?).map(Hours::get)
    }

    #[test]
    fn hours_between_two_moments() {
        for (moment, index, expected) in [
            ("2019-03-05", "2019-03-05", 0.0),
            ("2019-03-01", "2019-03-05", -96.0),
            ("2020-03-01", "2020-02-28", 48.0),
            ("2019-03-05T14:30", "2019-03-05", 14.5),
            ("2019-03-06", "2019-03-05T14:30", 24.0),
            ("2019-03-05 14:20:00", "2019-03-05T14:00", 0.33),
            ("2019-03-05T14:30:30.5Z", "2019-03-05T15:30:30.5+02:00", 1.0),
        ] {
            assert_eq!(hours(moment, index), Ok(expected), "{moment} since {index}");
        }
        assert_eq!(hours("2019-03-05T14:30", "2019-03-05T14:30Z"), Err(MomentFault::Offset));
    }

    #[test]
    fn other_forms_are_dates_that_cannot_be_read() {
        for text in [
            "05/03/2019",
            "5.3.2019",
            "2019-3-5",
            "2019-02-30",
            "March 5, 2019",
            "5 Mar 2019",
            "14:30",
            "2019-03-05T25:00",
            "5/3/19",
        ] {
            assert_eq!(Moment::parse(text), Err(MomentFault::NotIso), "{text}");
            assert!(Moment::is_meant(text), "{text}");
        }
        for text in [
            "24-48",
            "10,080 to 13,440",
            "1.2.3",
            "-72",
            "2019",
            "24 hours",
            "1/2",
            "unknown",
            "-157680 + 25920",
            "may recur",
            "",
            "24 (a): 12",
        ] {
            assert!(!Moment::is_meant(text), "{text}");
        }
    }
}

//! A moment: milliseconds since 1970, shown as RFC 3339 UTC with milliseconds (section 1). It has no clock.

use alloc::string::{String, ToString};
use core::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Milliseconds since the beginning of 1970 in UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Time(pub u64);

const DAY_MS: u64 = 86_400_000;
/// The first millisecond of the year 10000, which RFC 3339 cannot show.
const END: u64 = 253_402_300_800_000;

impl Time {
    /// Reads RFC 3339: `YYYY-MM-DDTHH:MM:SS[.fraction]`, then `Z` or the distance to it, like `+01:00`. From 1970 on,
    /// and without leap seconds.
    pub fn parse(text: &str) -> Option<Self> {
        let (text, ahead) = zone(text)?;
        let (date, clock) = text.split_once(['T', 't'])?;
        let mut date = date.split('-');
        let year = digits(date.next()?, 4)?;
        let month = digits(date.next()?, 2)?;
        let day = digits(date.next()?, 2)?;
        let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
        let mut clock = clock.split(':');
        let hour = digits(clock.next()?, 2)?;
        let minute = digits(clock.next()?, 2)?;
        let second = digits(clock.next()?, 2)?;
        let in_range = (1..=12).contains(&month)
            && (1..=31).contains(&day)
            && hour < 24
            && minute < 60
            && second < 60
            && year >= 1970
            && date.next().is_none()
            && clock.next().is_none();
        if !in_range || fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let ms = fraction.bytes().chain([b'0', b'0', b'0']).take(3);
        let ms = ms.fold(0, |ms, digit| ms * 10 + u64::from(digit - b'0'));
        let time = days_before(year, month, day) * DAY_MS
            + hour * 3_600_000
            + minute * 60_000
            + second * 1_000
            + ms;
        // A day that its month does not have comes out as another date.
        let is_date = civil(time / DAY_MS) == (year, month, day);
        is_date.then(|| Self(time.saturating_add_signed(-ahead)))
    }
}

/// The text before the zone, and by how many milliseconds its clocks are ahead.
fn zone(text: &str) -> Option<(&str, i64)> {
    if let Some(rest) = text.strip_suffix(['Z', 'z']) {
        return Some((rest, 0));
    }
    let (rest, zone) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    let ahead = i64::try_from((hours * 60 + minutes) * 60_000).ok()?;
    match zone.as_bytes().first()? {
        b'+' if hours < 24 && minutes < 60 => Some((rest, ahead)),
        b'-' if hours < 24 && minutes < 60 => Some((rest, -ahead)),
        _ => None,
    }
}

fn digits(text: &str, length: usize) -> Option<u64> {
    (text.len() == length && text.bytes().all(|b| b.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

/// Days from 1970-01-01 to a date of the Gregorian calendar. Years are counted from March, so that the leap day is the
/// last day of its year.
fn days_before(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year / 400;
    let year_of_era = year % 400;
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The date of a day counted from 1970-01-01.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year, month, day_of_year - (153 * shifted + 2) / 5 + 1)
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.min(END - 1);
        let (year, month, day) = civil(ms / DAY_MS);
        let clock = ms % DAY_MS;
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let mut put = |at: usize, width: usize, mut value: u64| {
            for slot in text[at..at + width].iter_mut().rev() {
                *slot = b'0' + (value % 10) as u8;
                value /= 10;
            }
        };
        put(0, 4, year);
        put(5, 2, month);
        put(8, 2, day);
        put(11, 2, clock / 3_600_000);
        put(14, 2, clock / 60_000 % 60);
        put(17, 2, clock / 1_000 % 60);
        put(20, 3, clock % 1_000);
        f.write_str(core::str::from_utf8(&text).expect("digits and punctuation are ASCII"))
    }
}

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.collect_str(self)
        } else {
            serializer.serialize_u64(self.0)
        }
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if deserializer.is_human_readable() {
            let text = String::deserialize(deserializer)?;
            Self::parse(&text).ok_or_else(|| de::Error::custom("expected an RFC 3339 time in UTC"))
        } else {
            u64::deserialize(deserializer).map(Self)
        }
    }
}

impl JsonSchema for Time {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> alloc::borrow::Cow<'static, str> {
        "Time".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "format": "date-time"})
    }
}

/// The text of a moment, for sentences.
impl From<Time> for String {
    fn from(time: Time) -> Self {
        time.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_come_back_as_they_went() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_123, "2000-02-29T00:00:00.123Z"),
            (1_796_083_199_999, "2026-11-30T23:59:59.999Z"),
            (END - 1, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(Time(ms).to_string(), text);
            assert_eq!(Time::parse(text), Some(Time(ms)), "{text}");
        }
        for zoned in
            ["2026-12-01T01:00:00+01:00", "2026-11-30T18:30:00-05:30", "2026-12-01t00:00:00z"]
        {
            assert_eq!(Time::parse(zoned), Some(Time(1_796_083_200_000)), "{zoned}");
        }
        assert_eq!(Time::parse("1970-01-01T00:00:00+00:01"), Some(Time(0)));
        for day in 0..200_000 {
            let time = Time(day * DAY_MS + 1);
            assert_eq!(Time::parse(&time.to_string()), Some(time));
        }
    }

    #[test]
    fn what_is_no_moment_is_refused() {
        for text in [
            "",
            "2026-02-30T00:00:00Z",
            "2026-01-01",
            "2026-01-01T24:00:00Z",
            "1969-12-31T00:00:00Z",
            "2026-01-01T00:00:00",
            "2026-1-01T00:00:00Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00.xZ",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:00+1:00",
            "2026-01-01T00:00:00 01:00",
            "2026-01-01T00:00:00+é:0",
        ] {
            assert_eq!(Time::parse(text), None, "{text}");
        }
    }
}

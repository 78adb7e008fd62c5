//! Times and spans of time as people write and read them.

use std::fmt;

const DAY_MS: i64 = 24 * 3_600_000;

/// Offsets from UTC go as far, as in Java.
const ZONE_MAX_MIN: i64 = 18 * 60;

/// Why a text is no time.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum TimeError {
    /// It does not look like one.
    Form,
    /// The calendar has no such day.
    Day,
    /// The clock has no such time.
    Clock,
    /// No place is so far from UTC.
    Zone,
    /// No record is so old.
    Early,
}

impl std::error::Error for TimeError {}

impl fmt::Display for TimeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Form => {
                "expected a time such as 2026-03-01T12:00:00Z (UTC if it has no zone), or @ and \
                 milliseconds since 1970"
            }
            Self::Day => "there is no such day",
            Self::Clock => "there is no such time of day",
            Self::Zone => "there is no such zone; expected at most 18:00 hours from UTC",
            Self::Early => "this is before 1970, where timestamps begin",
        })
    }
}

/// Milliseconds since 1970 of a time: `@` and that number, or an ISO 8601 date, with or without
/// time, fraction and zone; without a zone it is UTC.
pub(crate) fn moment(text: &str) -> Result<i64, TimeError> {
    let ms = match text.strip_prefix('@') {
        Some(ms) => ms.parse().map_err(|_| TimeError::Form)?,
        None => iso(text)?,
    };
    if ms < 0 { Err(TimeError::Early) } else { Ok(ms) }
}

fn iso(text: &str) -> Result<i64, TimeError> {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let [year, month, day] = numbers(date, '-', [4, 2, 2]).ok_or(TimeError::Form)?;
    let of_day = time.map_or(Ok(0), time_of_day)?;
    if !(1..=12).contains(&month) || !(1..=days_of(year, month)).contains(&day) {
        return Err(TimeError::Day);
    }
    Ok(days(year, month, day) * DAY_MS + of_day)
}

/// Milliseconds of `12:30`, `12:30:15`, `12:30:15.5`, each with or without a zone.
fn time_of_day(text: &str) -> Result<i64, TimeError> {
    let at = text.find(['Z', '+', '-']).unwrap_or(text.len());
    let (clock, zone) = text.split_at(at);
    let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(c, f)| (c, Some(f)));
    let with_seconds = numbers(clock, ':', [2, 2, 2]);
    let without = || numbers(clock, ':', [2, 2]).filter(|_| fraction.is_none());
    let [hour, minute, second] = with_seconds
        .or_else(|| without().map(|[hour, minute]| [hour, minute, 0]))
        .ok_or(TimeError::Form)?;
    let fraction_ms = fraction.map_or(Some(0), fraction_ms).ok_or(TimeError::Form)?;
    let zone_min = zone_min(zone)?;
    if hour > 23 || minute > 59 || second > 59 {
        return Err(TimeError::Clock);
    }
    Ok((hour * 60 + minute - zone_min) * 60_000 + second * 1000 + fraction_ms)
}

fn fraction_ms(digits: &str) -> Option<i64> {
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let ms: String = digits.chars().chain("000".chars()).take(3).collect();
    ms.parse().ok()
}

fn zone_min(text: &str) -> Result<i64, TimeError> {
    let sign = match text.chars().next() {
        None => return Ok(0),
        Some('Z') if text.len() == 1 => return Ok(0),
        Some('Z') => return Err(TimeError::Form),
        Some('-') => -1,
        Some(_) => 1,
    };
    let parts = text[1..].split_once(':').or_else(|| text[1..].split_at_checked(2));
    let (hours, minutes) = parts.ok_or(TimeError::Form)?;
    let hours = digits(hours, 2).ok_or(TimeError::Form)?;
    let minutes = if minutes.is_empty() { Some(0) } else { digits(minutes, 2) };
    let minutes = minutes.ok_or(TimeError::Form)?;
    match hours * 60 + minutes {
        all @ 0..=ZONE_MAX_MIN if minutes < 60 => Ok(sign * all),
        _ => Err(TimeError::Zone),
    }
}

/// Numbers of so many digits, between separators.
fn numbers<const N: usize>(text: &str, separator: char, counts: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(separator);
    let mut all = [0; N];
    for (number, count) in all.iter_mut().zip(counts) {
        *number = digits(parts.next()?, count)?;
    }
    parts.next().is_none().then_some(all)
}

/// A number of exactly `count` digits.
fn digits(text: &str, count: usize) -> Option<i64> {
    let all = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

const fn is_leap(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

const fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to a date.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let of_years = before * 365 + before / 4 - before / 100 + before / 400;
    // The same sum for 1970.
    const EPOCH: i64 = 1969 * 365 + 1969 / 4 - 1969 / 100 + 1969 / 400;
    let of_months: i64 = (1..month).map(|month| days_of(year, month)).sum();
    of_years - EPOCH + of_months + day - 1
}

/// A time as ISO 8601 has it, in UTC.
pub(crate) fn iso_of(ms: i64) -> String {
    let (day, of_day) = (ms.div_euclid(DAY_MS), ms.rem_euclid(DAY_MS));
    // Years of about the right length lead to a year that is not too late.
    let mut year = 1970 + day.div_euclid(366).min(day.div_euclid(365));
    while days(year + 1, 1, 1) <= day {
        year += 1;
    }
    let month = (1..=12).rev().find(|month| days(year, *month, 1) <= day).unwrap_or(1);
    let date = day - days(year, month, 1) + 1;
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, ms) = (of_day / 1000 % 60, of_day % 1000);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

/// Milliseconds of a span such as `90s`, `1h30m` or `2d`, or of an ISO 8601 duration such as
/// `PT1H30M` or `P2D`.
pub(crate) fn span(text: &str) -> Option<i64> {
    let (iso, rest) = match text.strip_prefix(['P', 'p']) {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mut ms, mut rest, mut of_day) = (0i64, rest, !iso);
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix(['T', 't']).filter(|time| iso && !time.is_empty()) {
            (rest, of_day) = (time, true);
            continue;
        }
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let (number, tail) = rest.split_at(digits);
        let letters = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let letters = if iso { letters.min(1) } else { letters };
        let (unit, tail) = tail.split_at(letters);
        let unit = unit_ms(unit, iso, of_day)?;
        ms = ms.checked_add(number.parse::<i64>().ok()?.checked_mul(unit)?)?;
        rest = tail;
    }
    Some(ms)
}

fn unit_ms(unit: &str, iso: bool, of_day: bool) -> Option<i64> {
    match unit.to_ascii_lowercase().as_str() {
        "w" => Some(7 * DAY_MS),
        "d" => Some(DAY_MS),
        "h" if of_day => Some(3_600_000),
        "m" if of_day => Some(60_000),
        "s" if of_day => Some(1000),
        "ms" if !iso => Some(1),
        _ => None,
    }
}

/// A span for a person: its two largest units.
pub(crate) fn spoken(ms: i64) -> String {
    let seconds = ms / 1000;
    let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) if ms.abs() < 1000 => format!("{ms}ms"),
        (0, 0, 0) => format!("{rest}s"),
        (0, 0, _) => format!("{minutes}m{rest}s"),
        (0, _, _) => format!("{hours}h{minutes}m"),
        _ => format!("{days}d{hours}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_time_says_why() {
        let check = |text: &str, expected: Result<i64, TimeError>| {
            assert_eq!(moment(text), expected, "{text:?}");
        };
        check("@1500", Ok(1500));
        check("1970-01-01T00:00:01Z", Ok(1000));
        check("1970-01-01T18:00+18:00", Ok(0));
        for text in ["yesterday", "@", "@x", "2026-3-1", "2026-03-01T12", "2026-03-01T12:00.5"] {
            check(text, Err(TimeError::Form));
        }
        for text in ["2026-02-30", "2026-02-29", "2026-13-01", "2026-00-10", "2026-04-31T10:00"] {
            check(text, Err(TimeError::Day));
        }
        for text in ["2026-01-01T24:00", "2026-01-01T10:60", "2026-01-01T10:00:60Z"] {
            check(text, Err(TimeError::Clock));
        }
        for text in ["2026-01-01T10:00+99:99", "2026-01-01T10:00-18:01", "2026-01-01T10:00+01:60"] {
            check(text, Err(TimeError::Zone));
        }
        for text in ["@-1", "1969-12-31", "1969-12-31T23:59:59.999Z", "1970-01-01T00:00+01:00"] {
            check(text, Err(TimeError::Early));
        }
    }

    #[test]
    fn spans_are_read_in_both_notations() {
        let check =
            |text: &str, expected: Option<i64>| assert_eq!(span(text), expected, "{text:?}");
        check("90s", Some(90_000));
        check("1h30m", Some(5_400_000));
        check("2d", Some(2 * DAY_MS));
        check("1w", Some(7 * DAY_MS));
        check("250ms", Some(250));
        check("PT1H", Some(3_600_000));
        check("P1DT2H3M4S", Some(DAY_MS + 7_384_000));
        check("P2W", Some(14 * DAY_MS));
        check("0s", Some(0));
        for text in ["", "P", "PT", "1", "h", "-1h", "1x", "P1H", "P1M", "PT1D1", "1h ", "1.5h"] {
            check(text, None);
        }
        check("9999999999999w", None);
    }

    #[test]
    fn times_are_written_as_they_are_read() {
        assert_eq!(iso_of(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(iso_of(-1), "1969-12-31T23:59:59.999Z");
        for text in
            ["2000-02-29T12:34:56.789Z", "2026-11-30T00:00:00.000Z", "2400-12-31T23:59:59.999Z"]
        {
            assert_eq!(iso(text).ok().map(iso_of).as_deref(), Some(text));
        }
    }

    #[test]
    fn spans_are_told_by_their_largest_units() {
        let check = |ms: i64, expected: &str| assert_eq!(spoken(ms), expected);
        check(0, "0ms");
        check(999, "999ms");
        check(12_500, "12s");
        check(192_000, "3m12s");
        check(7_500_000, "2h5m");
        check(4 * DAY_MS + 3 * 3_600_000, "4d3h");
    }
}

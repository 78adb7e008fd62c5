//! Where to begin: words, offsets, times.

use std::str::FromStr;

use dohle_client::machine::consumer::Start;
use dohle_wire::id::{Offset, Timestamp};

const DAY_MS: i64 = 24 * 3_600_000;

/// A place in a partition, as written on a command line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct From(pub(super) Start);

impl FromStr for From {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let start = match text {
            "earliest" | "beginning" | "start" => Some(Start::Earliest),
            "latest" | "end" => Some(Start::Latest),
            _ => place(text),
        };
        start.map(Self).ok_or_else(|| {
            format!(
                "`{text}` is no place; expected earliest, latest, an offset, @ and milliseconds \
                 since 1970, or a time such as 2026-03-01T12:00:00Z"
            )
        })
    }
}

fn place(text: &str) -> Option<Start> {
    if let Some(ms) = text.strip_prefix('@') {
        let ms = ms.parse::<i64>().ok().filter(|ms| *ms >= 0)?;
        return Some(Start::Timestamp(Timestamp(ms)));
    }
    if let Ok(offset) = text.parse::<i64>() {
        return (offset >= 0).then_some(Start::Offset(Offset(offset)));
    }
    let ms = iso(text).filter(|ms| *ms >= 0)?;
    Some(Start::Timestamp(Timestamp(ms)))
}

/// Milliseconds since 1970 of an ISO 8601 date, with or without time, fraction and zone; without a
/// zone it is UTC.
fn iso(text: &str) -> Option<i64> {
    let (date, time) = match text.split_once(['T', ' ']) {
        Some((date, time)) => (date, Some(time)),
        None => (text, None),
    };
    let mut parts = date.split('-');
    let (year, month, day) =
        (digits(parts.next()?, 4)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    if parts.next().is_some()
        || !(1..=12).contains(&month)
        || !(1..=days_of(year, month)).contains(&day)
    {
        return None;
    }
    let of_day = time.map_or(Some(0), time_of_day)?;
    Some(days(year, month, day) * DAY_MS + of_day)
}

/// Milliseconds of `12:30`, `12:30:15`, `12:30:15.5`, each with or without a zone.
fn time_of_day(text: &str) -> Option<i64> {
    let at = text.find(['Z', '+', '-']).unwrap_or(text.len());
    let (clock, zone) = text.split_at(at);
    let mut parts = clock.split(':');
    let (hour, minute) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let second_ms = parts.next().map_or(Some(0), second)?;
    if parts.next().is_some() || hour > 23 || minute > 59 {
        return None;
    }
    Some((hour * 60 + minute) * 60_000 + second_ms - zone_ms(zone)?)
}

fn second(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let whole = digits(whole, 2).filter(|second| *second < 60)?;
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let ms: String = fraction.chars().chain("000".chars()).take(3).collect();
    Some(whole * 1000 + ms.parse::<i64>().ok()?)
}

fn zone_ms(text: &str) -> Option<i64> {
    let sign = match text.chars().next() {
        None | Some('Z') => return (text.len() < 2).then_some(0),
        Some('-') => -1,
        Some(_) => 1,
    };
    let (hours, minutes) = text[1..].split_once(':').or_else(|| text[1..].split_at_checked(2))?;
    let minutes = if minutes.is_empty() { 0 } else { digits(minutes, 2)? };
    Some(sign * (digits(hours, 2)? * 60 + minutes) * 60_000)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Start) {
        assert_eq!(text.parse(), Ok(From(expected)), "{text}");
    }

    fn at(ms: i64) -> Start {
        Start::Timestamp(Timestamp(ms))
    }

    #[test]
    fn words_offsets_and_times() {
        check("earliest", Start::Earliest);
        check("end", Start::Latest);
        check("42", Start::Offset(Offset(42)));
        check("@1500", at(1500));
        check("1970-01-01", at(0));
        check("2000-03-01T00:00:00Z", at(951_868_800_000));
        check("2026-02-28T23:59:59.25Z", at(1_772_323_199_250));
        check("2026-03-01 01:00+01:00", at(1_772_323_200_000));
        check("2026-02-28T22:30:00-0130", at(1_772_323_200_000));
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "-1",
            "@",
            "@-5",
            "soon",
            "2026-13-01",
            "2026-02-29",
            "2026-1-1",
            "2026-01-01T24:00",
            "2026-01-01T10",
            "2026-01-01T10:00:60",
            "2026-01-01T10:00:00.",
            "2026-01-01T10:00ZZ",
            "2026-01-01T10:00+1",
            "1969-12-31",
            "2026-01-01T10:00+é0",
        ] {
            assert!(text.parse::<From>().is_err(), "{text:?}");
        }
    }
}

//! Where to begin: words, offsets, times.

use std::str::FromStr;

use dohle_client::machine::consumer::Start;
use dohle_wire::id::{Offset, Timestamp};

use crate::cmd::time::{TimeError, moment};

/// A place in a partition, as written on a command line.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) struct From(pub(super) Start);

impl FromStr for From {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let start = match text {
            "earliest" | "beginning" | "start" => Ok(Start::Earliest),
            "latest" | "end" => Ok(Start::Latest),
            _ => place(text),
        };
        start.map(Self).map_err(|error| match error {
            TimeError::Form => format!(
                "`{text}` is no place; expected earliest, latest, an offset, @ and milliseconds \
                 since 1970, or a time such as 2026-03-01T12:00:00Z (UTC if it has no zone)"
            ),
            other => other.to_string(),
        })
    }
}

fn place(text: &str) -> Result<Start, TimeError> {
    match text.parse::<i64>() {
        Ok(offset @ 0..) => Ok(Start::Offset(Offset(offset))),
        Ok(_) => Err(TimeError::Form),
        Err(_) => moment(text).map(|ms| Start::Timestamp(Timestamp(ms))),
    }
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

//! Durations as Java's `Duration.parse` reads them.

/// Whether `text` is a duration of ISO 8601 (days, hours, minutes, seconds) that Java can hold and
/// that is not negative. Each number may have a sign of its own, and the whole one before it.
pub(super) fn is_duration(text: &str) -> bool {
    nanoseconds(text).is_some_and(|length| (0..=MOST).contains(&length))
}

/// The most nanoseconds that Java can hold: as many seconds as 64 bits count, and a fraction.
const MOST: i128 = (i64::MAX as i128 + 1) * SECOND - 1;

const SECOND: i128 = 1_000_000_000;

fn nanoseconds(text: &str) -> Option<i128> {
    let (negative, rest) = sign(text);
    let rest = rest.strip_prefix(['P', 'p'])?;
    let (date, time) = match rest.split_once(['T', 't']) {
        Some((date, time)) => (date, Some(time)),
        None => (rest, None),
    };
    // Nothing at all is no duration, neither behind the P nor behind the T.
    if time.unwrap_or(date).is_empty() {
        return None;
    }
    let (days, date) = part(date, ['D', 'd'], 86_400)?;
    let (hours, time) = part(time.unwrap_or_default(), ['H', 'h'], 3_600)?;
    let (minutes, time) = part(time, ['M', 'm'], 60)?;
    let seconds = seconds(time)?;
    let whole = days + hours + minutes + seconds;
    date.is_empty().then_some(if negative { -whole } else { whole })
}

/// Whether a minus stands before the rest.
fn sign(text: &str) -> (bool, &str) {
    let rest = text.strip_prefix(['+', '-']);
    (text.starts_with('-'), rest.unwrap_or(text))
}

/// The number before a unit of so many seconds, if the unit is there, and what comes behind it.
fn part(text: &str, unit: [char; 2], factor: i128) -> Option<(i128, &str)> {
    match text.split_once(unit) {
        Some((number, rest)) => Some((integer(number)? * factor * SECOND, rest)),
        None => Some((0, text)),
    }
}

fn integer(text: &str) -> Option<i128> {
    let (_, digits) = sign(text);
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let value = text.parse::<i64>().ok().filter(|_| plain)?;
    Some(value.into())
}

/// Seconds with up to nine digits of a fraction; nothing is none.
fn seconds(text: &str) -> Option<i128> {
    if text.is_empty() {
        return Some(0);
    }
    let number = text.strip_suffix(['S', 's'])?;
    let (whole, fraction) = number.split_once(['.', ',']).unwrap_or((number, ""));
    let plain = fraction.len() <= 9 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    let nanos: i128 = format!("{fraction:0<9}").parse().ok().filter(|_| plain)?;
    let whole_nanos = integer(whole)? * SECOND;
    Some(if whole.starts_with('-') { whole_nanos - nanos } else { whole_nanos + nanos })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Apache Kafka 4.4 takes them or not.
    #[test]
    fn durations() {
        for good in [
            "PT0S",
            "pt1h",
            "P1D",
            "+P1DT2H3M4.5S",
            "-PT-1H",
            "PT1.S",
            "PT1,5S",
            "P-1DT24H",
            "PT9223372036854775807S",
            "P106751991167300D",
            "PT1M-0.5S",
            "PT+1H",
        ] {
            assert!(is_duration(good), "{good}");
        }
        for bad in [
            "",
            "P",
            "PT",
            "PT-1H",
            "PT1H-61M",
            "PT.5S",
            "P1DT",
            "P1W",
            "PT1S1M",
            "PT0.0000000001S",
            "PT9223372036854775808S",
            "P106751991167301D",
            "PT-0.5S",
            " PT1H",
            "--PT1H",
            "PT1H2",
            "P1H",
            "PT1HT1M",
        ] {
            assert!(!is_duration(bad), "{bad}");
        }
    }
}

//! Numbers as Java writes and reads them, without floating point where something is decided.

/// `text` without what Java's `trim` removes.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|c| c <= ' ')
}

/// A decimal as whole millionths, rounded down, and whether rounding lost anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Millionths {
    pub(super) floor: i64,
    pub(super) inexact: bool,
}

impl Millionths {
    pub(super) const fn within(self, min: i64, max: i64) -> bool {
        self.floor >= min && (self.floor < max || self.floor == max && !self.inexact)
    }
}

/// Reads a decimal number such as `0.5`, `-1`, `.25`, `1e-3` or Java's `0.5d`.
///
/// Not a number, infinities and hexadecimal are refused; values too large for the
/// result come out as its limits.
pub(super) fn millionths(text: &str) -> Option<Millionths> {
    let text = trim(text);
    let text = text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text);
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + fraction.len() == 0 {
        return None;
    }
    if !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return None;
    }
    // The digit at index i counts 10^(whole.len() - 1 - i + exponent).
    let mut floor: i64 = 0;
    let mut inexact = false;
    let mut power = i64::try_from(whole.len()).ok()? - 1 + i64::from(exponent) + 6;
    for digit in whole.bytes().chain(fraction.bytes()).map(|b| i64::from(b - b'0')) {
        if power >= 0 {
            floor = floor.saturating_mul(10).saturating_add(digit);
        } else {
            inexact |= digit != 0;
        }
        power -= 1;
    }
    if floor != 0 {
        // Trailing zeros that the exponent asks for; saturated long before the bound.
        for _ in 0..(power + 1).clamp(0, 20) {
            floor = floor.saturating_mul(10);
        }
    }
    if negative {
        floor = -floor - i64::from(inexact);
    }
    Some(Millionths { floor, inexact })
}

/// The text Java's `Double.toString` gives for a decimal literal.
pub(super) fn java_double(text: &str) -> Option<String> {
    millionths(text)?;
    let text = trim(text);
    let value: f64 = text.strip_suffix(['d', 'D', 'f', 'F']).unwrap_or(text).parse().ok()?;
    let magnitude = value.abs();
    if magnitude == 0.0 || (1e-3..1e7).contains(&magnitude) {
        return Some(format!("{value:?}"));
    }
    let text = format!("{value:E}");
    Some(match text.split_once('E') {
        Some((mantissa, exponent)) if !mantissa.contains('.') => format!("{mantissa}.0E{exponent}"),
        _ => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals() {
        let check = |text: &str, floor: i64, inexact: bool| {
            assert_eq!(millionths(text), Some(Millionths { floor, inexact }), "{text}");
        };
        check("0.5", 500_000, false);
        check(" 1 ", 1_000_000, false);
        check(".25", 250_000, false);
        check("5.", 5_000_000, false);
        check("1e-1", 100_000, false);
        check("12.5E2", 1_250_000_000, false);
        check("0.5d", 500_000, false);
        check("1.0000001", 1_000_000, true);
        check("-0.0000001", -1, true);
        check("-0.0", 0, false);
        check("1e-9", 0, true);
        check("1e300", i64::MAX, false);
        check("0e2000000000", 0, false);
        check("123e3", 123_000_000_000, false);
        for bad in ["", "-", "NaN", "Infinity", "inf", "0x1p-1", "1,0", "1e", "e5", ".", "1 2"] {
            assert_eq!(millionths(bad), None, "{bad}");
        }
    }

    #[test]
    fn java_text() {
        for (text, java) in [
            ("0.50", "0.5"),
            ("1", "1.0"),
            ("1.7976931348623157E308", "1.7976931348623157E308"),
            ("1e300", "1.0E300"),
            ("0.0001", "1.0E-4"),
            ("12345678", "1.2345678E7"),
            ("1e-1", "0.1"),
            ("0", "0.0"),
        ] {
            assert_eq!(java_double(text).as_deref(), Some(java));
        }
    }
}

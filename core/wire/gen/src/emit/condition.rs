//! Conditions on the version of a message.

use crate::schema::{Message, Range};

/// When something holds, among the versions that can occur at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Condition {
    Always,
    Never,
    /// A Rust expression over `version`.
    If(String),
}

impl Condition {
    /// Whether `version` is in `range`, when it is known to be in `outer`.
    pub(crate) fn within(range: Range, outer: Range) -> Self {
        if range.includes(outer) {
            Self::Always
        } else if range.last < outer.first || outer.last < range.first {
            Self::Never
        } else if range.first <= outer.first {
            Self::If(format!("version <= {}", range.last))
        } else if range.last >= outer.last {
            Self::If(format!("version >= {}", range.first))
        } else {
            Self::If(format!("({}..={}).contains(&version)", range.first, range.last))
        }
    }

    /// Whether `version`, known to be in `outer`, is flexible.
    pub(crate) fn flexible(message: &Message, outer: Range) -> Self {
        let first = message.flexible_from.unwrap_or(i16::MAX);
        Self::within(Range { first, last: i16::MAX }, outer)
    }

    /// The opposite condition.
    pub(crate) fn negated(&self) -> Self {
        match self {
            Self::Always => Self::Never,
            Self::Never => Self::Always,
            Self::If(test) => Self::If(negate(test)),
        }
    }
}

fn negate(test: &str) -> String {
    match test.split_once(' ') {
        Some((version, rest)) if rest.starts_with(">=") => format!("{version} <{}", &rest[2..]),
        Some((version, rest)) if rest.starts_with("<=") => format!("{version} >{}", &rest[2..]),
        _ => format!("!{test}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(range: (i16, i16), expected: &str, negated: &str) {
        let outer = Range { first: 2, last: 8 };
        let within = Condition::within(Range { first: range.0, last: range.1 }, outer);
        let text = |condition: &Condition| match condition {
            Condition::Always => "always".to_owned(),
            Condition::Never => "never".to_owned(),
            Condition::If(test) => test.clone(),
        };
        assert_eq!(text(&within), expected);
        assert_eq!(text(&within.negated()), negated);
    }

    #[test]
    fn conditions_test_no_more_than_they_must() {
        check((2, 8), "always", "never");
        check((0, 99), "always", "never");
        check((9, 12), "never", "always");
        check((5, 99), "version >= 5", "version < 5");
        check((0, 5), "version <= 5", "version > 5");
        check((4, 5), "(4..=5).contains(&version)", "!(4..=5).contains(&version)");
    }
}

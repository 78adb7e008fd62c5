//! Subscriptions by pattern: which topics a regular expression stands for.
//!
//! Kafka uses RE2/J, whose syntax and promise of linear time the `regex` crate shares, but for
//! `\Q…\E`, which is put into other words. A name has to match as a whole. All names are ASCII: so
//! are classes like `\w`, as in RE2/J, which keeps patterns small.
//!
//! All names are matched in one step of the shard that coordinates, so a pattern may not be large.

use std::collections::BTreeSet;
use std::sync::Arc;

use dohle_wire::error::ErrorCode;
use regex::bytes::{Regex, RegexBuilder};

use crate::group::topics::Topics;
use crate::mail::Refusal;

/// A pattern is no longer than this, in bytes: it is the key of a record.
const PATTERN_MAX_BYTES: usize = 8 * 1024;

/// A pattern takes no more memory than this once it is compiled.
const COMPILED_MAX_BYTES: usize = 64 * 1024;

/// Parentheses in one another, at most.
const NEST_MAX: u32 = 64;

/// Checks a pattern.
///
/// # Errors
/// INVALID_REGULAR_EXPRESSION, with what is wrong.
pub(super) fn check(pattern: &str) -> Result<(), Refusal> {
    compile(pattern).map(drop)
}

fn compile(pattern: &str) -> Result<Regex, Refusal> {
    let refuse = |why: String| {
        let text = format!("SubscribedTopicRegex is not a valid regular expression: {why}.");
        Refusal::new(ErrorCode::InvalidRegularExpression, text)
    };
    if pattern.len() > PATTERN_MAX_BYTES {
        return Err(refuse(format!("it is longer than {PATTERN_MAX_BYTES} bytes")));
    }
    let build = |text: &str, unicode: bool| {
        let mut builder = RegexBuilder::new(text);
        builder.unicode(unicode).size_limit(COMPILED_MAX_BYTES).nest_limit(NEST_MAX).build()
    };
    let pattern = unquoted(pattern);
    // By itself first: what is put around it must not make a pattern of what is none.
    let whole = |unicode| {
        build(&pattern, unicode).and_then(|_| build(&format!("^(?:{pattern})$"), unicode))
    };
    // Classes like `\pL` need the other mode.
    whole(false).or_else(|_| whole(true)).map_err(|error| refuse(error.to_string()))
}

/// The pattern with what is quoted by `\Q…\E` escaped one by one; without `\E` it is all the rest.
fn unquoted(pattern: &str) -> String {
    let mut plain = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(at) = quote(rest) {
        plain.push_str(&rest[..at]);
        let (literal, after) =
            rest[at + QUOTE.len()..].split_once(UNQUOTE).unwrap_or((&rest[at + QUOTE.len()..], ""));
        plain.push_str(&regex::escape(literal));
        rest = after;
    }
    plain + rest
}

const QUOTE: &str = r"\Q";
const UNQUOTE: &str = r"\E";

/// Where a quotation begins: at a `\Q` whose backslash is not escaped itself.
fn quote(pattern: &str) -> Option<usize> {
    let mut escaped = false;
    pattern.bytes().zip(0..).find_map(|(byte, at)| {
        let quotes = escaped && byte == b'Q';
        escaped = byte == b'\\' && !escaped;
        quotes.then(|| at - 1)
    })
}

/// The names of the topics that a pattern stands for; none for one that cannot be understood,
/// which another broker may have remembered.
pub(super) fn resolve(pattern: &str, topics: &Topics) -> BTreeSet<Arc<str>> {
    let Ok(regex) = compile(pattern) else { return BTreeSet::new() };
    let names = topics.iter().map(|topic| &topic.name);
    names.filter(|name| regex.is_match(name.as_bytes())).map(Arc::clone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::group::topics::Topic;
    use dohle_wire::id::{TopicId, Uuid};

    fn matches(pattern: &str) -> Vec<String> {
        let mut topics = Topics::default();
        for (number, name) in ["orders", "orders-eu", "preorders", "payments"].iter().enumerate() {
            let id = TopicId(Uuid::from_u128(number as u128 + 100));
            topics.insert(Topic::new((*name).into(), id, &[BTreeSet::new()]));
        }
        resolve(pattern, &topics).iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn a_name_matches_as_a_whole() {
        assert_eq!(matches("orders"), ["orders"]);
        assert_eq!(matches("orders.*"), ["orders", "orders-eu"]);
        assert_eq!(matches(".*orders|payments"), ["orders", "payments", "preorders"]);
        assert_eq!(matches(""), [""; 0]);
        assert_eq!(matches(r"\w+"), ["orders", "payments", "preorders"]);
        assert_eq!(matches(r"\pL+"), ["orders", "payments", "preorders"]);
    }

    #[test]
    fn what_is_quoted_stands_for_itself() {
        assert_eq!(matches(r"\Qorders\E"), ["orders"]);
        assert_eq!(matches(r"\Qorders-\E.*|\Qpay"), ["orders-eu"]);
        assert_eq!(matches(r"\Qorders-\E.*|\Qpayments"), ["orders-eu", "payments"]);
        assert_eq!(matches(r"\Q.*\E"), [""; 0]);
        assert_eq!(unquoted(r"a\\Qb\E"), r"a\\Qb\E", "the backslash is escaped, not the letter");
    }

    /// So that one heartbeat does not keep a shard busy for long.
    #[test]
    fn a_large_pattern_is_refused() {
        for times in ["500", "2000"] {
            let large = "(?:[a-jt0-9]?){500}[a-jt0-9]{200,240}x".replace("500", times);
            assert!(check(&large).is_err(), "{times}");
        }
        let names: Vec<String> = (0..100).map(|number| format!("topic-{number}")).collect();
        assert_eq!(check(&names.join("|")), Ok(()));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        let nested = "(".repeat(1_000) + &")".repeat(1_000);
        let long = "a".repeat(PATTERN_MAX_BYTES + 1);
        for bad in ["(", "a)|(b", "[", "*", "(?=a)", r"(a)\1", "a{1000}{1000}", &nested, &long] {
            let code = check(bad).expect_err(bad).code;
            assert_eq!(code, ErrorCode::InvalidRegularExpression, "{bad}");
            assert_eq!(matches(bad), [""; 0]);
        }
    }
}

//! Subscriptions by pattern: which topics a regular expression stands for.
//!
//! Kafka uses RE2/J, whose syntax and promise of linear time the `regex` crate shares. A name has
//! to match as a whole.

use std::collections::BTreeSet;
use std::sync::Arc;

use dohle_wire::error::ErrorCode;
use regex::{Regex, RegexBuilder};

use crate::group::topics::Topics;
use crate::mail::Refusal;

/// A pattern is no longer than this, in bytes: it is the key of a record.
const PATTERN_MAX_BYTES: usize = 8 * 1024;

/// A pattern takes no more memory than this once it is compiled.
const COMPILED_MAX_BYTES: usize = 1 << 20;

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
    let build = |text: &str| {
        let mut builder = RegexBuilder::new(text);
        builder.size_limit(COMPILED_MAX_BYTES).nest_limit(NEST_MAX).build()
    };
    // By itself first: what is put around it must not make a pattern of what is none.
    let whole = build(pattern).and_then(|_| build(&format!("^(?:{pattern})$")));
    whole.map_err(|error| refuse(error.to_string()))
}

/// The names of the topics that a pattern stands for; none for one that cannot be understood,
/// which another broker may have remembered.
pub(super) fn resolve(pattern: &str, topics: &Topics) -> BTreeSet<Arc<str>> {
    let Ok(regex) = compile(pattern) else { return BTreeSet::new() };
    let names = topics.iter().map(|topic| &topic.name);
    names.filter(|name| regex.is_match(name)).map(Arc::clone).collect()
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

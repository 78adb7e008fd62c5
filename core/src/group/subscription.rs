//! What a coordinator understands of what consumers say: the topics they subscribe to.
//!
//! The metadata of a `consumer` group is a ConsumerProtocolSubscription. Every version begins
//! with the fields of version 0, and no more is read: newer versions need no newer broker.

use std::collections::BTreeSet;
use std::sync::Arc;

use bytes::Buf;

/// The topics of a subscription; none for bytes that are not one.
pub(super) fn topics(mut metadata: &[u8]) -> Option<BTreeSet<Arc<str>>> {
    let version = metadata.try_get_i16().ok()?;
    let count = metadata.try_get_i32().ok()?;
    if version < 0 || count < 0 {
        return None;
    }
    let topics = (0..count).map(|_| topic(&mut metadata)).collect::<Option<_>>()?;
    let user_data = metadata.try_get_i32().ok()?;
    let whole = user_data == -1 || usize::try_from(user_data).ok()? <= metadata.len();
    whole.then_some(topics)
}

fn topic(metadata: &mut &[u8]) -> Option<Arc<str>> {
    let len = usize::try_from(metadata.try_get_i16().ok()?).ok()?;
    let (name, rest) = metadata.split_at_checked(len)?;
    *metadata = rest;
    std::str::from_utf8(name).ok().map(Arc::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Version 1, topics `a` and `bc`, no user data, an owned partition.
    const NEWER: &[u8] = b"\0\x01\0\0\0\x02\0\x01a\0\x02bc\xff\xff\xff\xff\0\0\0\x01\0\x01a";

    #[test]
    fn topics_of_any_version_are_read() {
        let found = topics(NEWER).expect("a subscription");
        assert_eq!(found.iter().map(|topic| &**topic).collect::<Vec<_>>(), ["a", "bc"]);
    }

    #[test]
    fn what_is_no_subscription_is_refused() {
        let end = NEWER.len() - 7;
        for len in 0..end {
            assert_eq!(topics(&NEWER[..len]), None, "cut at {len}");
        }
        assert_eq!(topics(b"\xff\xff\0\0\0\0\xff\xff\xff\xff"), None, "a negative version");
        assert_eq!(topics(b"\0\0\xff\xff\xff\xff\xff\xff\xff\xff"), None, "no array");
        assert_eq!(topics(b"\0\0\x7f\xff\xff\xff\0\x01a"), None, "fewer topics than announced");
        assert_eq!(topics(b"\0\0\0\0\0\0\0\0\0\x09short"), None, "less user data than announced");
        assert_eq!(topics(b"\0\0\0\0\0\x01\0\x01\xff\xff\xff\xff\xff"), None, "not UTF-8");
    }
}

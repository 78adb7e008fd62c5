//! Words for operators.

use std::sync::Arc;

use super::request::MemberId;

/// A list of members names so many of them.
const NAMED_MAX: usize = 5;

/// So much of a client's reason is told, in characters.
const REASON_MAX: usize = 255;

/// Members, for operators. What clients chose is escaped.
pub(super) fn named(ids: &[MemberId]) -> String {
    let shown: Vec<_> = ids.iter().take(NAMED_MAX).map(|id| format!("{id:?}")).collect();
    let more = ids.len().saturating_sub(NAMED_MAX);
    let noun = if ids.len() == 1 { "member" } else { "members" };
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{noun} {}{rest}", shown.join(", "))
}

/// So many members.
pub(super) fn counted(members: usize) -> String {
    format!("{members} {}", if members == 1 { "member" } else { "members" })
}

/// What a client said why (KIP-800).
pub(super) fn said(reason: Option<&Arc<str>>) -> String {
    let Some(reason) = reason.filter(|reason| !reason.is_empty()) else { return String::new() };
    let start: String = reason.chars().take(REASON_MAX).collect();
    format!(" ({start:?})")
}

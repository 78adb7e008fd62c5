//! Words for operators.

use std::sync::Arc;

use super::request::MemberId;

/// A list of members names so many of them.
const NAMED_MAX: usize = 5;

/// So much of a client's reason is told, in characters.
const REASON_MAX: usize = 255;

/// So much of a name is told, in characters: its start and its end.
const START_MAX: usize = 64;
const END_MAX: usize = 36;

/// A name that a client chose, escaped, and in the middle cut if it is long: it comes in many lines.
pub(super) fn quoted(name: &str) -> String {
    let (count, most) = (name.chars().count(), START_MAX + END_MAX);
    if count <= most {
        return format!("{name:?}");
    }
    let start: String = name.chars().take(START_MAX).collect();
    let end: String = name.chars().skip(count - END_MAX).collect();
    format!("{:?}", format!("{start}…{end}"))
}

/// Members, for operators.
pub(super) fn named(ids: &[MemberId]) -> String {
    let shown: Vec<_> = ids.iter().take(NAMED_MAX).map(|id| quoted(id)).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_in_the_middle() {
        assert_eq!(quoted("a\n"), r#""a\n""#);
        let id = format!("{}-{}", "x".repeat(30_000), "01234567-0123-4567-89ab-0123456789ab");
        assert_eq!(quoted(&id), format!("\"{}…{}\"", "x".repeat(64), &id[id.len() - 36..]));
        assert!(quoted(&"\u{7f}".repeat(30_000)).len() < 1_000);
    }
}

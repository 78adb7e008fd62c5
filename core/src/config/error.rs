//! What can be wrong with a configuration, said so that the one who wrote it can mend it.

use std::fmt;

use thiserror::Error;

/// A configuration that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// A value of the wrong type, or out of range.
    #[error("Invalid value {found:?} for configuration {key}: expected {expected}")]
    BadValue {
        /// The config's name.
        key: String,
        /// What would have been right.
        expected: String,
        /// What was there.
        found: String,
    },
    /// A topic config that does not exist.
    #[error("Unknown topic config name: {key}{}", Hint(*near))]
    UnknownTopicConfig {
        /// The name as given.
        key: String,
        /// A config with nearly that name.
        near: Option<&'static str>,
    },
    /// A group config that does not exist.
    #[error("Unknown group config name: {key}{}", Hint(*near))]
    UnknownGroupConfig {
        /// The name as given.
        key: String,
        /// A config with nearly that name.
        near: Option<&'static str>,
    },
    /// Values that are right each for itself but not together, or not on this broker.
    #[error("{0}")]
    Conflict(String),
}

impl ConfigError {
    /// A bad value of `key`; the value is cut to a length fit for a message.
    pub(super) fn bad(key: &str, expected: impl Into<String>, found: &str) -> Self {
        Self::BadValue { key: key.into(), expected: expected.into(), found: shorten(found) }
    }
}

/// Something odd in a configuration that does not keep it from being used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A key that nothing reads.
    UnknownKey {
        /// The key as given.
        key: String,
        /// A config with nearly that name.
        near: Option<&'static str>,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKey { key, near } => {
                write!(f, "unknown configuration {key}{}", Hint(*near))
            }
        }
    }
}

struct Hint(Option<&'static str>);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |near| write!(f, " (did you mean {near}?)"))
    }
}

fn shorten(text: &str) -> String {
    const CHARS_MAX: usize = 120;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into(),
    }
}

/// The candidate nearest to `key`, if it is near enough to be a slip of the finger.
pub(super) fn nearest(
    key: &str,
    candidates: impl Iterator<Item = &'static str>,
) -> Option<&'static str> {
    let limit = (key.len() / 5).clamp(1, 3);
    candidates
        .filter(|name| name.len().abs_diff(key.len()) <= limit)
        .map(|name| (distance(key.as_bytes(), name.as_bytes()), name))
        .filter(|(far, _)| (1..=limit).contains(far))
        .min()
        .map(|(_, name)| name)
}

/// Levenshtein's distance.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names() {
        let names = || ["num.partitions", "num.io.threads", "log.dirs", "log.dir"].into_iter();
        assert_eq!(nearest("num.partition", names()), Some("num.partitions"));
        assert_eq!(nearest("num.io.treads", names()), Some("num.io.threads"));
        assert_eq!(nearest("log.dris", names()), None);
        assert_eq!(nearest("log.dur", names()), Some("log.dir"));
        assert_eq!(nearest("something.else", names()), None);
        assert_eq!(distance(b"kitten", b"sitting"), 3);
    }

    #[test]
    fn long_values_are_cut() {
        let error = ConfigError::bad("k", "less", &"ä".repeat(500));
        assert!(error.to_string().chars().count() < 200);
    }
}

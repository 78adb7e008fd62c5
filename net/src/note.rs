//! What operators read: notes of the core as log lines.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use dohle_core::shard::{Level, Note};

/// Logs a note of the core.
pub(crate) fn log(note: &Note) {
    match note.level {
        Level::Info => tracing::info!("{}", note.text),
        Level::Warn => tracing::warn!("{}", note.text),
        Level::Error => tracing::error!("{}", note.text),
    }
}

/// Keeps what strangers can cause from flooding the log: the first line at once, then one in a
/// while, with the number of those left out.
pub(crate) struct Seldom {
    every: Duration,
    last: Mutex<Option<(Instant, u64)>>,
}

impl Seldom {
    pub(crate) const fn new(every: Duration) -> Self {
        Self { every, last: Mutex::new(None) }
    }

    /// Whether to log now: the number of lines left out since the last.
    pub(crate) fn now(&self) -> Option<u64> {
        let mut last = self.last.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        match &mut *last {
            Some((at, left_out)) if at.elapsed() < self.every => {
                *left_out += 1;
                None
            }
            other => {
                let left_out = other.map_or(0, |(_, left_out)| left_out);
                *other = Some((Instant::now(), 0));
                Some(left_out)
            }
        }
    }
}

/// How many like lines were left out.
pub(crate) struct More(pub(crate) u64);

impl std::fmt::Display for More {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0 => Ok(()),
            count => write!(f, " ({count} more of these since the last line)"),
        }
    }
}

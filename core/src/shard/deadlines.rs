//! Who wants a tick first, among thousands.
//!
//! Invariant: who is in `wanted` has exactly one entry in `due`, of the same time.

use std::collections::{BTreeMap, BTreeSet};

use crate::time::{Deadline, Instant, Now};

/// When each of many wants its tick.
#[derive(Clone, Debug, Default)]
pub(super) struct Deadlines {
    wanted: BTreeMap<u32, (Instant, &'static str)>,
    due: BTreeSet<(Instant, u32)>,
}

impl Deadlines {
    pub(super) fn set(&mut self, who: u32, wants: Deadline) {
        if self.wanted.get(&who).copied() == wants {
            return;
        }
        if let Some((at, _)) = self.wanted.remove(&who) {
            self.due.remove(&(at, who));
        }
        if let Some(deadline) = wants {
            self.wanted.insert(who, deadline);
            self.due.insert((deadline.0, who));
        }
    }

    /// The first of them.
    pub(super) fn first(&self) -> Deadline {
        let (_, who) = self.due.first()?;
        self.wanted.get(who).copied()
    }

    /// Those who want a tick by now.
    pub(super) fn due(&self, now: Now) -> Vec<u32> {
        self.due.iter().take_while(|(at, _)| *at <= now.mono).map(|(_, who)| *who).collect()
    }
}

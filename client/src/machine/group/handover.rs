//! Partitions on their way in and out, and what the application has to hear of it.
//!
//! What the group decides becomes turns, carried out one after the other. Invariants: partitions are
//! given up only while the application is inside a poll, so that nothing it still works on is
//! committed; what they gave out is committed before the application hears that they go; the group
//! hears that they went after the application has acknowledged it.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use super::io::Rebalance;
use crate::machine::TopicPartition;

type Parts = BTreeSet<TopicPartition>;

/// What the reading side has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::machine) enum Reading {
    /// Read these too, from the committed offsets on.
    Take(Parts),
    /// Give out no more records of these.
    Hold(Parts),
    /// Forget these.
    Drop(Parts),
    /// Commit what was given out.
    Commit,
}

#[derive(Clone, Debug)]
enum Turn {
    Revoke(Parts),
    Assign(Parts),
    Lose(Parts),
}

/// How far the first turn is.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Waiting,
    /// What was given out is being committed, until this time.
    Committing(Duration),
    /// The application hears of it at the next poll.
    Ready,
    /// The application has not acknowledged it yet.
    Told,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Handover {
    turns: VecDeque<Turn>,
    stage: Stage,
    owned: Parts,
}

/// What a step of the handover depends on.
pub(super) struct Circumstances {
    pub(super) now: Duration,
    /// The application is inside a poll.
    pub(super) polling: bool,
    /// No commit is under way.
    pub(super) committed: bool,
    /// How long to wait for the commit before a revocation; `None` if none is wanted.
    pub(super) patience: Option<Duration>,
}

impl Handover {
    /// What is read now, turns that have begun included.
    pub(super) const fn owned(&self) -> &Parts {
        &self.owned
    }

    /// Whether all turns are over.
    pub(super) fn is_idle(&self) -> bool {
        self.turns.is_empty()
    }

    /// Whether the application has something to hear.
    pub(super) fn has_news(&self) -> bool {
        self.stage == Stage::Ready
    }

    /// Whether the application was told something that it has not acknowledged.
    pub(super) fn is_told(&self) -> bool {
        self.stage == Stage::Told
    }

    pub(super) fn revoke(&mut self, parts: Parts) {
        if !parts.is_empty() {
            self.turns.push_back(Turn::Revoke(parts));
        }
    }

    /// Gives up everything. What the application never heard of it does not hear of now.
    pub(super) fn revoke_all(&mut self, out: &mut VecDeque<Reading>) {
        let begun = match (self.turns.front(), self.stage) {
            (Some(Turn::Revoke(_)), Stage::Committing(_) | Stage::Ready | Stage::Told)
            | (Some(_), Stage::Told) => self.turns.pop_front(),
            _ => None,
        };
        let untold = self.untold();
        let lost = self.clear();
        self.owned.retain(|at| !untold.contains(at));
        if !untold.is_empty() {
            out.push_back(Reading::Drop(untold));
        }
        let mut parts = self.owned.clone();
        match begun {
            Some(turn) => {
                if let Turn::Revoke(gone) = &turn {
                    parts.retain(|at| !gone.contains(at));
                }
                self.turns.push_back(turn);
            }
            None => self.stage = Stage::Waiting,
        }
        self.push_lost(lost);
        self.revoke(parts);
    }

    /// What is being assigned and the application has not heard of.
    fn untold(&self) -> Parts {
        match (self.turns.front(), self.stage) {
            (Some(Turn::Assign(parts)), Stage::Ready) => parts.clone(),
            _ => Parts::new(),
        }
    }

    /// Forgets all turns but what is lost: of that the application has to hear.
    fn clear(&mut self) -> Parts {
        let turns = std::mem::take(&mut self.turns).into_iter();
        let lost = turns.filter_map(|turn| match turn {
            Turn::Lose(parts) => Some(parts),
            Turn::Revoke(_) | Turn::Assign(_) => None,
        });
        lost.flatten().collect()
    }

    fn push_lost(&mut self, lost: Parts) {
        if !lost.is_empty() {
            self.turns.push_back(Turn::Lose(lost));
        }
    }

    /// Somebody else cares for what was read.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    pub(super) fn assign(&mut self, parts: Parts) {
        self.turns.push_back(Turn::Assign(parts));
    }

    /// Everything is gone. What the application never heard of it does not hear of now.
    pub(super) fn lose(&mut self, out: &mut VecDeque<Reading>) {
        out.push_back(Reading::Drop(self.owned.clone()));
        let untold = self.untold();
        let mut lost = std::mem::take(&mut self.owned);
        lost.retain(|at| !untold.contains(at));
        let told = match self.stage {
            Stage::Told => self.turns.pop_front(),
            Stage::Waiting | Stage::Committing(_) | Stage::Ready => None,
        };
        lost.extend(self.clear());
        match told {
            // What it is just hearing of it will acknowledge.
            Some(turn) => {
                if let Turn::Revoke(parts) = &turn {
                    lost.retain(|at| !parts.contains(at));
                }
                self.turns.push_back(turn);
            }
            None => self.stage = Stage::Waiting,
        }
        self.push_lost(lost);
    }

    /// Goes on as far as it can.
    pub(super) fn advance(&mut self, of: &Circumstances, out: &mut VecDeque<Reading>) {
        let Some(turn) = self.turns.front() else { return };
        match (self.stage, turn) {
            (Stage::Waiting, Turn::Revoke(parts)) if of.polling => {
                out.push_back(Reading::Hold(parts.clone()));
                self.stage = match of.patience {
                    Some(patience) => {
                        out.push_back(Reading::Commit);
                        Stage::Committing(of.now.saturating_add(patience))
                    }
                    None => Stage::Ready,
                };
            }
            (Stage::Waiting, Turn::Revoke(_)) => {}
            (Stage::Waiting, Turn::Assign(parts)) => {
                self.owned.extend(parts.iter().cloned());
                out.push_back(Reading::Take(parts.clone()));
                self.stage = Stage::Ready;
            }
            (Stage::Waiting, Turn::Lose(_)) => self.stage = Stage::Ready,
            (Stage::Committing(until), _) if of.committed || until <= of.now => {
                self.stage = Stage::Ready;
            }
            (Stage::Committing(_) | Stage::Ready | Stage::Told, _) => {}
        }
    }

    /// What the application has to hear now.
    pub(super) fn tell(&mut self) -> Option<Rebalance> {
        if self.stage != Stage::Ready {
            return None;
        }
        self.stage = Stage::Told;
        self.turns.front().map(|turn| match turn {
            Turn::Revoke(parts) => Rebalance::Revoked(parts.clone()),
            Turn::Assign(parts) => Rebalance::Assigned(parts.clone()),
            Turn::Lose(parts) => Rebalance::Lost(parts.clone()),
        })
    }

    /// The application has heard it.
    pub(super) fn acknowledge(&mut self, out: &mut VecDeque<Reading>) {
        if self.stage != Stage::Told {
            return;
        }
        self.stage = Stage::Waiting;
        if let Some(Turn::Revoke(parts)) = self.turns.pop_front() {
            self.owned.retain(|at| !parts.contains(at));
            out.push_back(Reading::Drop(parts));
        }
    }

    /// When the wait for a commit ends.
    pub(super) const fn until(&self) -> Option<Duration> {
        match self.stage {
            Stage::Committing(until) => Some(until),
            _ => None,
        }
    }
}

//! What a node is in the quorum (QuorumState), and what belongs to that.

use std::collections::{BTreeMap, BTreeSet};

use dohle_wire::id::{LeaderEpoch, NodeId, Offset};

use super::{Replica, Token};
use crate::time::Instant;

/// What must never be forgotten: it is in `quorum-state`.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ballot {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// Its leader, as far as known.
    pub leader: Option<NodeId>,
    /// Who got this node's vote in it.
    pub voted: Option<Replica>,
}

/// See the module above.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// Waits for a leader to show; one that is a voter stands when that takes too long.
    Unattached { until: Option<Instant> },
    /// Asks who would vote for it.
    Prospective { tally: Tally, until: Instant },
    /// Stands for election.
    Candidate { tally: Tally, until: Instant },
    /// Leads.
    Leader(Leader),
    /// Fetches from a leader.
    Follower(Follower),
    /// Led this epoch, and does no more.
    Resigned { until: Instant, candidates: Vec<Replica>, told: BTreeSet<NodeId> },
}

impl Role {
    /// When something happens because nothing else did.
    pub(super) fn until(&self) -> Option<Instant> {
        match self {
            Self::Unattached { until } => *until,
            Self::Prospective { until, .. }
            | Self::Candidate { until, .. }
            | Self::Resigned { until, .. } => Some(*until),
            Self::Leader(leader) => Some(leader.until.min(leader.announce_at)),
            Self::Follower(follower) => Some(follower.until),
        }
    }

    /// When the first Fetch has waited long enough.
    pub(super) fn first_wait(&self) -> Option<Instant> {
        let Self::Leader(leader) = self else { return None };
        leader.waiting.values().map(|waiting| waiting.until).min()
    }
}

/// What voters said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tally {
    pub(super) granted: BTreeSet<NodeId>,
    pub(super) refused: BTreeSet<NodeId>,
}

impl Tally {
    /// One votes for oneself.
    pub(super) fn of(own: Replica) -> Self {
        Self { granted: BTreeSet::from([own.node]), refused: BTreeSet::new() }
    }

    pub(super) fn note(&mut self, from: NodeId, granted: bool) {
        let said = if granted { &mut self.granted } else { &mut self.refused };
        said.insert(from);
    }

    pub(super) fn has(&self, node: NodeId) -> bool {
        self.granted.contains(&node) || self.refused.contains(&node)
    }
}

/// What a leader knows of the others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leader {
    /// Where its epoch starts.
    pub(super) start: Offset,
    /// From where replicas last fetched: what is below is durable there, and the same.
    pub(super) replicas: BTreeMap<NodeId, (Replica, Offset)>,
    /// Who has fetched since a majority last had.
    pub(super) recent: BTreeSet<NodeId>,
    /// It resigns when no majority has fetched by then.
    pub(super) until: Instant,
    /// Who knows that it leads.
    pub(super) announced: BTreeSet<NodeId>,
    /// Those who do not fetch are told again then.
    pub(super) announce_at: Instant,
    /// Fetches that brought nothing yet.
    pub(super) waiting: BTreeMap<NodeId, Waiting>,
}

/// A Fetch that waits for records, or for the high watermark.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiting {
    pub(super) token: Token,
    pub(super) from: Offset,
    pub(super) high_watermark: Offset,
    pub(super) until: Instant,
}

/// What a follower knows of its leader.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Follower {
    pub(super) leader: NodeId,
    /// The leader is given up then.
    pub(super) until: Instant,
    /// It has answered a Fetch in this epoch: nobody is voted for beside it.
    pub(super) fetched: bool,
    /// How far the leader said that its log is committed.
    pub(super) committed: Offset,
}

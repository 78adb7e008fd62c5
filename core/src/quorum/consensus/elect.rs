//! Votes, and how one gets from role to role.

use std::collections::{BTreeMap, BTreeSet};

use dohle_wire::id::{LeaderEpoch, NodeId};

use super::role::{Follower, Leader, Tally};
use super::*;

impl Consensus {
    /// The time of the role is up.
    pub(super) fn on_timeout(&mut self, now: Now, log: &impl LogView, fx: &mut Fx<Effect>) {
        match &self.role {
            Role::Leader(leader) if leader.until > now.mono => self.announce_again(now),
            Role::Leader(_) => self.resign(now, fx),
            Role::Resigned { .. } => {
                let epoch = next(self.ballot.epoch);
                self.become_unattached(now, epoch, fx);
            }
            Role::Follower(_) if !self.is_voter() => self.lose_leader(),
            Role::Prospective { .. } => self.give_up_standing(now, fx),
            Role::Unattached { .. } | Role::Follower(_) | Role::Candidate { .. } => {
                self.stand(now, log, fx);
            }
        }
    }

    /// One that is no voter looks for whoever leads.
    fn lose_leader(&mut self) {
        self.ballot.leader = None;
        self.role = Role::Unattached { until: None };
    }

    /// Asks for pre-votes, once it is known what the own log holds.
    fn stand(&mut self, now: Now, log: &impl LogView, fx: &mut Fx<Effect>) {
        let until = self.election_timeout(now);
        if !log.is_settled() {
            return self.role_until(until);
        }
        self.role = Role::Prospective { tally: Tally::of(self.settings.own), until };
        self.count(now, log, fx);
    }

    fn role_until(&mut self, at: Instant) {
        match &mut self.role {
            Role::Unattached { until } => *until = Some(at),
            Role::Follower(follower) => follower.until = at,
            Role::Prospective { until, .. }
            | Role::Candidate { until, .. }
            | Role::Resigned { until, .. } => *until = at,
            Role::Leader(leader) => leader.until = at,
        }
    }

    /// Nobody wants another leader, or nobody says so: the known one is followed again.
    fn give_up_standing(&mut self, now: Now, fx: &mut Fx<Effect>) {
        match self.ballot.leader {
            Some(leader) => self.become_follower(now, self.ballot.epoch, leader, fx),
            None => self.role = Role::Unattached { until: self.standing_timeout(now) },
        }
    }

    pub(super) fn ask_for_votes(&mut self, now: Now, log: &impl LogView, fx: &mut Fx<Effect>) {
        let (tally, pre) = match &self.role {
            Role::Prospective { tally, .. } => (tally, true),
            Role::Candidate { tally, .. } => (tally, false),
            _ => return,
        };
        let silent = |voter: &Replica| !tally.has(voter.node);
        let asked: Vec<Replica> = self.others().into_iter().filter(silent).collect();
        for voter in asked {
            let vote = Vote {
                pre,
                candidate: self.settings.own,
                voter,
                epoch: self.ballot.epoch,
                last_epoch: log.last_epoch(),
                end: log.end(),
            };
            self.ask(now, voter.node, Kind::Vote, Request::Vote(vote), fx);
        }
    }

    pub(super) fn on_vote(
        &mut self,
        now: Now,
        vote: &Vote,
        log: &impl LogView,
        fx: &mut Fx<Effect>,
    ) -> Result<Outcome, Refusal> {
        let invalid = vote.last_epoch > vote.epoch || vote.last_epoch == vote.epoch && !vote.pre;
        if !vote.voter.is(self.settings.own) {
            return Err(Refusal::NotMeant);
        }
        if invalid {
            return Err(Refusal::Invalid);
        }
        if vote.epoch < self.ballot.epoch {
            return Err(Refusal::Fenced);
        }
        self.see(now, vote.epoch, None, fx);
        let granted = self.grants(vote, log);
        if granted && !vote.pre {
            self.ballot.voted = Some(vote.candidate);
            self.role = Role::Unattached { until: self.standing_timeout(now) };
        }
        Ok(Outcome::Voted(granted))
    }

    /// Whether `vote` is given. Nobody is voted for beside a leader that works.
    fn grants(&self, vote: &Vote, log: &impl LogView) -> bool {
        let up_to_date = (vote.last_epoch, vote.end) >= (log.last_epoch(), log.end());
        match (&self.role, self.ballot.voted) {
            (Role::Unattached { .. } | Role::Prospective { .. }, _) if vote.pre => up_to_date,
            (Role::Unattached { .. } | Role::Prospective { .. }, Some(voted)) => {
                voted == vote.candidate
            }
            (Role::Unattached { .. } | Role::Prospective { .. }, None) => {
                self.ballot.leader.is_none() && up_to_date
            }
            (Role::Follower(follower), _) => vote.pre && up_to_date && !follower.fetched,
            (Role::Candidate { .. } | Role::Leader(_) | Role::Resigned { .. }, _) => false,
        }
    }

    pub(super) fn on_voted(
        &mut self,
        now: Now,
        from: NodeId,
        granted: bool,
        log: &impl LogView,
        fx: &mut Fx<Effect>,
    ) {
        match &mut self.role {
            Role::Prospective { tally, .. } | Role::Candidate { tally, .. } => {
                tally.note(from, granted);
            }
            _ => return,
        }
        self.count(now, log, fx);
    }

    /// Goes on once a majority has said the same.
    fn count(&mut self, now: Now, log: &impl LogView, fx: &mut Fx<Effect>) {
        match &self.role {
            Role::Prospective { tally, .. } if self.is_majority(&tally.granted) => {
                self.become_candidate(now, log, fx);
            }
            Role::Prospective { tally, .. } if self.is_majority(&tally.refused) => {
                self.give_up_standing(now, fx);
            }
            Role::Candidate { tally, .. } if self.is_majority(&tally.granted) => {
                self.become_leader(now, log, fx);
            }
            Role::Candidate { tally, .. } if self.is_majority(&tally.refused) => {
                let backoff = self.draw(self.settings.backoff_ms);
                self.role_until(now.mono.plus_ms(backoff));
            }
            _ => {}
        }
    }

    fn become_candidate(&mut self, now: Now, log: &impl LogView, fx: &mut Fx<Effect>) {
        let own = self.settings.own;
        self.ballot = Ballot { epoch: next(self.ballot.epoch), leader: None, voted: Some(own) };
        let until = self.election_timeout(now);
        self.role = Role::Candidate { tally: Tally::of(own), until };
        self.count(now, log, fx);
    }

    fn become_leader(&mut self, now: Now, log: &impl LogView, fx: &mut Fx<Effect>) {
        self.ballot.leader = Some(self.settings.own.node);
        self.role = Role::Leader(Leader {
            start: log.end(),
            replicas: BTreeMap::new(),
            recent: BTreeSet::new(),
            until: self.check_quorum_timeout(now),
            announced: BTreeSet::new(),
            announce_at: self.next_announcement(now),
            waiting: BTreeMap::new(),
        });
        fx.push(Effect::Lead(self.ballot.epoch));
    }

    /// A later epoch is known, and nothing else of it.
    pub(super) fn become_unattached(&mut self, now: Now, epoch: LeaderEpoch, fx: &mut Fx<Effect>) {
        assert!(epoch > self.ballot.epoch, "Q9: epoch {epoch} after {}", self.ballot.epoch);
        self.stop_leading(fx);
        self.ballot = Ballot { epoch, leader: None, voted: None };
        // Whoever waits goes on waiting, or a candidate that cannot win would hold others up.
        let until = match &self.role {
            Role::Unattached { until } => *until,
            Role::Prospective { until, .. } | Role::Candidate { until, .. } => Some(*until),
            Role::Leader(_) | Role::Follower(_) | Role::Resigned { .. } => {
                self.standing_timeout(now)
            }
        };
        self.role = Role::Unattached { until };
    }

    pub(super) fn become_follower(
        &mut self,
        now: Now,
        epoch: LeaderEpoch,
        leader: NodeId,
        fx: &mut Fx<Effect>,
    ) {
        let known = self.ballot;
        assert!(epoch >= known.epoch, "Q9: epoch {epoch} after {}", known.epoch);
        let other = known.leader.filter(|known| *known != leader);
        assert!(epoch > known.epoch || other.is_none(), "Q1: {leader} and {other:?} in {epoch}");
        self.stop_leading(fx);
        let voted = known.voted.filter(|_| epoch == known.epoch);
        self.ballot = Ballot { epoch, leader: Some(leader), voted };
        self.role = self.follower_of(leader, now);
    }

    pub(super) fn follower_of(&self, leader: NodeId, now: Now) -> Role {
        let until = now.mono.plus_ms(self.settings.fetch_ms);
        Role::Follower(Follower { leader, until, fetched: false, committed: Offset(0) })
    }
}

/// The epoch after `epoch`.
fn next(epoch: LeaderEpoch) -> LeaderEpoch {
    LeaderEpoch(epoch.0.checked_add(1).expect("an epoch for each election of two thousand years"))
}

//! What a leader does: it tells that it leads, serves those who fetch, counts what they have, and
//! gives up when too few do.

use std::collections::BTreeSet;

use dohle_wire::id::Offset;

use super::role::{Leader, Waiting};
use super::*;

impl Consensus {
    /// When a leader that no majority fetches from resigns; a sole voter needs nobody.
    pub(super) fn check_quorum_timeout(&self, now: Now) -> Instant {
        match self.others().is_empty() {
            true => Instant(u64::MAX),
            false => now.mono.plus_ms(self.settings.fetch_ms + self.settings.fetch_ms / 2),
        }
    }

    pub(super) fn next_announcement(&self, now: Now) -> Instant {
        match self.others().is_empty() {
            true => Instant(u64::MAX),
            false => now.mono.plus_ms(self.settings.fetch_ms / 2),
        }
    }

    /// Tells those who do not know that this node leads.
    pub(super) fn announce(&mut self, now: Now, fx: &mut Fx<Effect>) {
        let Role::Leader(leader) = &self.role else { return };
        let (epoch, own) = (self.ballot.epoch, self.settings.own.node);
        let ignorant = |voter: &Replica| !leader.announced.contains(&voter.node);
        let told: Vec<Replica> = self.others().into_iter().filter(ignorant).collect();
        for voter in told {
            self.ask(now, voter.node, Kind::Begin, Request::Begin { epoch, leader: own }, fx);
        }
    }

    /// Those who have not fetched for a while may have missed it.
    pub(super) fn announce_again(&mut self, now: Now) {
        let next = self.next_announcement(now);
        let Role::Leader(leader) = &mut self.role else { return };
        leader.announced.clone_from(&leader.recent);
        leader.announce_at = next;
    }

    pub(super) fn on_noted(&mut self, from: NodeId) {
        match &mut self.role {
            Role::Leader(leader) => drop(leader.announced.insert(from)),
            Role::Resigned { told, .. } => drop(told.insert(from)),
            _ => {}
        }
    }

    /// Serves a Fetch; nothing, if its answer comes later.
    pub(super) fn on_fetch(
        &mut self,
        now: Now,
        token: Token,
        fetch: &Fetch,
        log: &impl LogView,
        fx: &mut Fx<Effect>,
    ) -> Option<Result<Outcome, Refusal>> {
        match fetch.epoch.cmp(&self.ballot.epoch) {
            std::cmp::Ordering::Less => return Some(Err(Refusal::Fenced)),
            std::cmp::Ordering::Greater => return Some(Err(Refusal::Unknown)),
            std::cmp::Ordering::Equal if !self.is_leader() => return Some(Err(Refusal::NotLeader)),
            std::cmp::Ordering::Equal => {}
        }
        let (epoch, end) = log.end_of(fetch.last_epoch);
        let differs = epoch != fetch.last_epoch || end < fetch.from;
        if differs && fetch.from > Offset(0) {
            return Some(Ok(Outcome::Diverging { epoch, end }));
        }
        self.note_fetch(now, fetch);
        self.advance(log, fx);
        let waiting = Waiting {
            token,
            from: fetch.from,
            high_watermark: fetch.high_watermark,
            until: now.mono.plus_ms(self.settings.wait_ms),
        };
        let Role::Leader(leader) = &mut self.role else { return None };
        if let Some(earlier) = leader.waiting.insert(fetch.replica.node, waiting) {
            self.serve(earlier, fx);
        }
        self.serve_waiting(log, fx);
        None
    }

    fn note_fetch(&mut self, now: Now, fetch: &Fetch) {
        let until = self.check_quorum_timeout(now);
        let own = self.settings.own.node;
        let Role::Leader(leader) = &mut self.role else { return };
        leader.replicas.insert(fetch.replica.node, (fetch.replica, fetch.from));
        leader.announced.insert(fetch.replica.node);
        leader.recent.extend([own, fetch.replica.node]);
        let recent = leader.recent.clone();
        if self.is_majority(&recent)
            && let Role::Leader(leader) = &mut self.role
        {
            leader.recent.clear();
            leader.until = until;
        }
    }

    /// More of the log is there, or durable.
    pub(super) fn on_log(&mut self, log: &impl LogView, fx: &mut Fx<Effect>) {
        match &self.role {
            Role::Leader(_) => {
                self.advance(log, fx);
                self.serve_waiting(log, fx);
            }
            Role::Follower(follower) => {
                let committed = follower.committed.min(log.end());
                self.commit(committed, fx);
            }
            _ => {}
        }
    }

    /// Moves the high watermark to what a majority of the voters has on its disks.
    fn advance(&mut self, log: &impl LogView, fx: &mut Fx<Effect>) {
        let Role::Leader(leader) = &self.role else { return };
        let own = self.settings.own;
        let durable = |voter: &Replica| match leader.replicas.get(&voter.node) {
            _ if voter.is(own) => log.durable(),
            Some((replica, from)) if voter.is(*replica) => *from,
            _ => Offset(0),
        };
        let mut offsets: Vec<Offset> = self.settings.voters.iter().map(durable).collect();
        offsets.sort_unstable();
        let majority = offsets.get((offsets.len().saturating_sub(1)) / 2).copied();
        if let Some(high) = majority.filter(|high| *high > leader.start) {
            self.commit(high, fx);
        }
    }

    /// The high watermark, once it is this leader's own.
    fn own_high_watermark(&self) -> Option<Offset> {
        let Role::Leader(leader) = &self.role else { return None };
        self.high_watermark.filter(|high| *high > leader.start)
    }

    /// Answers those who wait for what is there now.
    fn serve_waiting(&mut self, log: &impl LogView, fx: &mut Fx<Effect>) {
        let high = self.own_high_watermark().unwrap_or(Offset(0));
        let end = log.end();
        self.serve_where(|waiting| waiting.from < end || waiting.high_watermark < high, fx);
    }

    pub(super) fn answer_late_fetches(&mut self, now: Now, fx: &mut Fx<Effect>) {
        self.serve_where(|waiting| waiting.until <= now.mono, fx);
    }

    fn serve_where(&mut self, ready: impl Fn(&Waiting) -> bool, fx: &mut Fx<Effect>) {
        let Role::Leader(leader) = &mut self.role else { return };
        let served: Vec<Waiting> =
            leader.waiting.extract_if(.., |_, waiting| ready(waiting)).map(|(_, w)| w).collect();
        for waiting in served {
            self.serve(waiting, fx);
        }
    }

    fn serve(&self, waiting: Waiting, fx: &mut Fx<Effect>) {
        let high_watermark = self.own_high_watermark();
        let outcome = Outcome::Records { batches: Bytes::new(), high_watermark };
        let Waiting { token, from, .. } = waiting;
        fx.push(Effect::Serve { token, from, answer: self.answer(Ok(outcome)) });
    }

    pub(super) fn on_resign(&mut self, now: Now, fx: &mut Fx<Effect>) {
        if self.is_leader() {
            self.resign(now, fx);
        }
    }

    /// Leads no more, in this epoch.
    pub(super) fn resign(&mut self, now: Now, fx: &mut Fx<Effect>) {
        let Role::Leader(leader) = &self.role else { return };
        let candidates = self.successors(leader);
        self.stop_leading(fx);
        let until = self.election_timeout(now);
        self.role = Role::Resigned { until, candidates, told: BTreeSet::new() };
    }

    /// The other voters, the one with the most records first.
    fn successors(&self, leader: &Leader) -> Vec<Replica> {
        let has = |voter: &Replica| leader.replicas.get(&voter.node).map(|(_, from)| *from);
        let mut voters = self.others();
        voters.sort_by_key(|voter| std::cmp::Reverse(has(voter)));
        voters
    }

    /// What was proposed and is not committed may be lost, and who fetches has to ask another one.
    pub(super) fn stop_leading(&mut self, fx: &mut Fx<Effect>) {
        let Role::Leader(leader) = &mut self.role else { return };
        let begun = !self.held.iter().any(|effect| matches!(effect, Effect::Lead(_)));
        self.held.retain(|effect| !matches!(effect, Effect::Lead(_)));
        if begun {
            fx.push(Effect::Follow);
        }
        for waiting in std::mem::take(&mut leader.waiting).into_values() {
            let answer = self.answer(Err(Refusal::NotLeader));
            fx.push(Effect::Answer(waiting.token, answer));
        }
    }

    /// Tells the others that this node leads no more.
    pub(super) fn tell_of_end(&mut self, now: Now, fx: &mut Fx<Effect>) {
        let Role::Resigned { candidates, told, .. } = &self.role else { return };
        let (epoch, leader) = (self.ballot.epoch, self.settings.own.node);
        let candidates = candidates.clone();
        let ignorant = |voter: &Replica| !told.contains(&voter.node);
        for voter in self.others().into_iter().filter(ignorant).collect::<Vec<_>>() {
            let request = Request::End { epoch, leader, candidates: candidates.clone() };
            self.ask(now, voter.node, Kind::End, request, fx);
        }
    }
}

//! What a follower does: it fetches, appends and cuts as its leader says, and notices when that is
//! gone.

use bytes::Bytes;
use dohle_wire::id::{LeaderEpoch, NodeId, Offset};

use super::*;

impl Consensus {
    /// Asks for what comes next, once all that is there is durable: the offset says so.
    pub(super) fn fetch(&mut self, now: Now, log: &impl LogView, fx: &mut Fx<Effect>) {
        let Role::Follower(follower) = &self.role else { return };
        if log.is_settled() {
            let leader = follower.leader;
            self.ask_for_records(now, leader, log, fx);
        }
    }

    /// One that is no voter is told by nobody who leads: it asks one voter after the other.
    pub(super) fn look_for_leader(&mut self, now: Now, log: &impl LogView, fx: &mut Fx<Effect>) {
        let asks = self.asked.iter().any(|(_, kind)| *kind == Kind::Fetch);
        let others = self.others();
        if asks || others.is_empty() || self.is_voter() || !log.is_settled() {
            return;
        }
        let at = self.draw(i64::try_from(others.len()).unwrap_or(i64::MAX));
        let asked = others[usize::try_from(at).unwrap_or(0)];
        self.ask_for_records(now, asked.node, log, fx);
    }

    fn ask_for_records(&mut self, now: Now, of: NodeId, log: &impl LogView, fx: &mut Fx<Effect>) {
        let fetch = Fetch {
            replica: self.settings.own,
            epoch: self.ballot.epoch,
            from: log.end(),
            last_epoch: log.last_epoch(),
            high_watermark: self.high_watermark.unwrap_or(Offset(0)),
        };
        self.ask(now, of, Kind::Fetch, Request::Fetch(fetch), fx);
    }

    /// The leader is there: it is not given up for a while. Nothing, if it is not this one's.
    fn hear_from(&mut self, now: Now, from: NodeId) -> Option<()> {
        let until = now.mono.plus_ms(self.settings.fetch_ms);
        let Role::Follower(follower) = &mut self.role else { return None };
        if follower.leader != from {
            return None;
        }
        follower.until = until;
        follower.fetched = true;
        Some(())
    }

    pub(super) fn on_records(
        &mut self,
        now: Now,
        from: NodeId,
        batches: Bytes,
        high_watermark: Option<Offset>,
        log: &impl LogView,
        fx: &mut Fx<Effect>,
    ) {
        if self.hear_from(now, from).is_none() {
            return;
        }
        if !batches.is_empty() {
            fx.push(Effect::Append(batches));
        }
        if let (Role::Follower(follower), Some(high)) = (&mut self.role, high_watermark) {
            follower.committed = follower.committed.max(high);
            let committed = follower.committed.min(log.end());
            self.commit(committed, fx);
        }
    }

    /// The leader's log ends `epoch` at `end`, or this one does earlier: what is behind that the
    /// leader does not have.
    pub(super) fn on_diverging(
        &mut self,
        now: Now,
        from: NodeId,
        epoch: LeaderEpoch,
        end: Offset,
        log: &impl LogView,
        fx: &mut Fx<Effect>,
    ) {
        if self.hear_from(now, from).is_none() {
            return;
        }
        let (own, own_end) = log.end_of(epoch);
        let to = if own == epoch { own_end.min(end) } else { own_end };
        let high = self.high_watermark.unwrap_or(Offset(0));
        assert!(to >= high, "Q8: {from} wants committed records cut off: at {to}, high {high}");
        if to < log.end() {
            fx.push(Effect::Truncate(to));
        }
    }

    pub(super) fn on_begin(
        &mut self,
        now: Now,
        epoch: LeaderEpoch,
        leader: NodeId,
        fx: &mut Fx<Effect>,
    ) -> Result<Outcome, Refusal> {
        self.check_leader(epoch, leader)?;
        self.see(now, epoch, Some(leader), fx);
        if !matches!(self.role, Role::Follower(_)) {
            self.become_follower(now, epoch, leader, fx);
        }
        Ok(Outcome::Noted)
    }

    /// Whether `leader` can lead `epoch`, as far as is known.
    fn check_leader(&self, epoch: LeaderEpoch, leader: NodeId) -> Result<(), Refusal> {
        let Ballot { epoch: known, leader: led_by, .. } = self.ballot;
        match epoch.cmp(&known) {
            std::cmp::Ordering::Less => Err(Refusal::Fenced),
            _ if leader == self.settings.own.node => Err(Refusal::Invalid),
            std::cmp::Ordering::Equal if led_by.is_some_and(|by| by != leader) => {
                Err(Refusal::Invalid)
            }
            _ => Ok(()),
        }
    }

    pub(super) fn on_end(
        &mut self,
        now: Now,
        epoch: LeaderEpoch,
        leader: NodeId,
        candidates: &[Replica],
        fx: &mut Fx<Effect>,
    ) -> Result<Outcome, Refusal> {
        self.check_leader(epoch, leader)?;
        self.see(now, epoch, Some(leader), fx);
        let place = candidates.iter().position(|one| one.is(self.settings.own));
        let backoff = self.backoff_at(place);
        if let Role::Follower(follower) = &mut self.role
            && follower.leader == leader
        {
            follower.fetched = false;
            follower.until = follower.until.min(now.mono.plus_ms(backoff));
        }
        Ok(Outcome::Noted)
    }

    /// The first of the candidates stands at once, others later by their place.
    fn backoff_at(&mut self, place: Option<usize>) -> i64 {
        match place {
            Some(0) => 0,
            Some(place) => {
                let exponent = u32::try_from(place).unwrap_or(u32::MAX).min(16);
                let most = self.settings.backoff_ms.min(self.settings.retry_ms << exponent);
                most / 2 + self.draw(most / 2)
            }
            None => self.settings.backoff_ms,
        }
    }

    /// Nobody listens where the leader was: others may be voted for, and this one stands.
    pub(super) fn on_leader_gone(&mut self, now: Now, leader: NodeId) {
        if let Role::Follower(follower) = &mut self.role
            && follower.leader == leader
        {
            follower.fetched = false;
            follower.until = now.mono;
        }
    }
}

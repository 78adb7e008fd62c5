//! The consumer as a member of a group: what the group decides becomes partitions that are read.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dohle_wire::ErrorCode;

use super::{ConsumeError, Consumer, Effect, Part, Position, Start};
use crate::machine::group::{
    Call, Found, Group, GroupEffect, GroupError, OffsetAndMetadata, Reading, Subscription,
};
use crate::machine::{Now, Token, TopicPartition};

impl Consumer {
    /// What the group says of the consumer, if there is one.
    pub(super) fn on_subscribe(&mut self, now: Now, subscription: Subscription) {
        let Some(group) = &mut self.group else {
            return self.told.push(Effect::Group(GroupEffect::Failed(GroupError::NoGroup)));
        };
        if group.subscription().is_none() && !self.parts.is_empty() && group.is_out() {
            self.parts.clear();
            self.order.clear();
        }
        group.subscribe(subscription, &self.cluster);
        self.follow_topics(now);
    }

    pub(super) fn on_unsubscribe(&mut self, now: Now) {
        if let Some(group) = &mut self.group {
            group.unsubscribe(now, &mut self.cluster);
            self.follow_topics(now);
        }
    }

    /// The application enters a poll, or leaves it.
    pub(super) fn on_wait(&mut self, now: Now, waits: bool) {
        if let Some(group) = &mut self.group {
            group.on_poll(now, waits);
        }
        if waits {
            self.drive_group(now);
        }
    }

    pub(super) fn on_acknowledge(&mut self, now: Now) {
        if let Some(group) = &mut self.group {
            group.acknowledge();
        }
        self.drive_group(now);
    }

    /// Tells the application of one thing, if there is one; records wait meanwhile.
    pub(super) fn tell_group(&mut self, now: Now) -> bool {
        self.on_acknowledge(now);
        let Some(effect) = self.group.as_mut().and_then(Group::tell) else { return false };
        self.told.push(Effect::Group(effect));
        true
    }

    /// Leaves the group and closes everything once it has.
    pub(super) fn on_close(&mut self, now: Now) {
        self.closing = true;
        self.fail_lookups(&GroupError::Closed);
        if let Some(group) = &mut self.group {
            group.close();
            group.abandon(now, &mut self.cluster);
        }
    }

    /// Closes everything if nothing is left to be said.
    pub(super) fn end_if_left(&mut self, now: Now) {
        if self.closing && !self.closed && self.group.as_ref().is_none_or(Group::is_out) {
            self.closed = true;
            self.cluster.close(now);
        }
    }

    pub(super) fn on_call(&mut self, now: Now, token: Token, call: Call) {
        if self.closing {
            return self.answer(token, Err(GroupError::Closed));
        }
        let given = self.given();
        match (call, &mut self.group) {
            (Call::Offsets(wanted), _) => self.on_lookup(now, token, wanted),
            (_, None) => self.answer(token, Err(GroupError::NoGroup)),
            (Call::Commit(offsets), Some(group)) => {
                group.commit(now, token, offsets.unwrap_or(given), self.cluster.view());
            }
            (Call::Committed(parts), Some(group)) => group.read(now, token, parts),
        }
    }

    pub(super) fn answer(
        &mut self,
        token: Token,
        result: Result<crate::machine::group::Reply, GroupError>,
    ) {
        self.told.push(Effect::Group(GroupEffect::Done { token, result }));
    }

    /// How far polls have given out what is assigned.
    fn given(&self) -> BTreeMap<TopicPartition, OffsetAndMetadata> {
        let of = |(at, part): (&TopicPartition, &Part)| {
            // Behind what was given out there may be records that are not for the reader.
            let position = match (&part.buffer, &part.position) {
                (Some(buffer), _) => Some(buffer.position()),
                (None, Position::At(offset)) => Some(*offset),
                (None, Position::Start(_) | Position::Failed) => None,
            };
            let given = match (position, &part.given) {
                (Some(offset), Some(given)) => OffsetAndMetadata { offset, ..given.clone() },
                (Some(offset), None) => OffsetAndMetadata::at(offset),
                (None, Some(given)) => given.clone(),
                (None, None) => return None,
            };
            Some((at.clone(), given))
        };
        self.parts.iter().filter_map(of).collect()
    }

    /// Lets the group go on, and does what it decides.
    pub(super) fn drive_group(&mut self, now: Now) {
        if self.group.is_none() {
            return;
        }
        self.ask_for_starts(now);
        let (mut changed, mut decided) = (false, true);
        while std::mem::take(&mut decided) {
            let group = self.group.as_mut().expect("just seen");
            group.drive(now, &mut self.cluster);
            self.told.extend(group.take_effects().map(Effect::Group));
            while let Some(reading) = self.group.as_mut().and_then(Group::next_reading) {
                decided = true;
                changed |= matches!(reading, Reading::Take(_) | Reading::Drop(_));
                self.carry_out(now, reading);
            }
        }
        while let Some(found) = self.group.as_mut().and_then(Group::next_found) {
            self.on_found(now, found);
        }
        if changed {
            self.assigned(now);
            self.ask_for_starts(now);
        } else if self.group.as_mut().is_some_and(Group::is_curious) {
            self.follow_topics(now);
        }
    }

    fn carry_out(&mut self, now: Now, reading: Reading) {
        match reading {
            Reading::Take(parts) => {
                for at in parts {
                    let part = Part::new(Start::Committed, self.generation());
                    self.parts.entry(at).or_insert(part);
                }
            }
            Reading::Hold(parts) => {
                let held = self.parts.iter_mut().filter(|(at, _)| parts.contains(at));
                held.for_each(|(_, part)| part.held = true);
            }
            Reading::Drop(parts) => {
                self.parts.retain(|at, _| !parts.contains(at));
                self.order.retain(|at| !parts.contains(at));
            }
            Reading::Commit => {
                let given = self.given();
                let group = self.group.as_mut().expect("it asks");
                group.commit_given(now, given, self.cluster.view());
            }
        }
    }

    /// Asks for the committed offsets of partitions that start there.
    fn ask_for_starts(&mut self, now: Now) {
        let wanted = |part: &Part| {
            part.position == Position::Start(Start::Committed)
                && !part.asking
                && part.not_before <= now.mono
        };
        let open = self.parts.iter_mut().filter(|(_, part)| wanted(part));
        let asks: Vec<(TopicPartition, u64)> = open
            .map(|(at, part)| {
                part.asking = true;
                (at.clone(), part.generation)
            })
            .collect();
        if let Some(group) = self.group.as_mut().filter(|_| !asks.is_empty()) {
            group.find_starts(asks);
        }
    }

    fn on_found(&mut self, now: Now, found: Found) {
        let Found { at, generation, outcome } = found;
        let Some(part) = self.current(&at, generation) else { return };
        part.asking = false;
        match outcome {
            Ok(Some(committed)) => {
                part.failures = 0;
                part.position = Position::At(committed.offset);
                part.given = Some(OffsetAndMetadata { metadata: String::new(), ..committed });
            }
            Ok(None) => {
                part.position = Position::Start(Start::Reset);
                self.start_all(now);
            }
            Err(code) if code.is_retriable() || code == ErrorCode::UnknownServerError => {
                self.not_now(now, &at, generation, code);
            }
            Err(code) => part.fail(ConsumeError::Refused(code)),
        }
    }

    /// Tells the cluster which topics are of interest.
    pub(super) fn follow_topics(&mut self, now: Now) {
        let mut topics: BTreeSet<Arc<str>> =
            self.parts.keys().map(|at| Arc::clone(&at.topic)).collect();
        let mut all = false;
        if let Some(group) = &self.group {
            topics.extend(group.interest().cloned());
            all = group.wants_all();
        }
        topics.extend(self.lookups.topics().cloned());
        self.cluster.want_all(now, all);
        self.cluster.only_topics(now, topics.into_iter());
    }
}

impl Consumer {
    /// Whether there is no membership of a group, and none is being left.
    pub fn is_out(&self) -> bool {
        self.group.as_ref().is_none_or(Group::is_out)
    }

    /// Whether a poll would give out something of the group.
    pub fn has_news(&self) -> bool {
        self.group.as_ref().is_some_and(Group::has_news)
    }

    /// Records of a partition that were not given out, as of the last fetch; with
    /// `isolation.level=read_committed` those that are decided.
    pub fn lag(&self, at: &TopicPartition) -> Option<u64> {
        let part = self.parts.get(at)?;
        let end = part.last_stable.or(part.high_watermark)?;
        let position = self.position(at)?;
        Some(u64::try_from(end.minus(position)).unwrap_or(0))
    }

    /// What is subscribed to.
    pub fn subscription(&self) -> Option<&Subscription> {
        self.group.as_ref()?.subscription()
    }

    /// Member id and generation (or member epoch), while the consumer is a member.
    pub fn membership(&self) -> Option<(&str, i32)> {
        self.group.as_ref()?.identity()
    }
}

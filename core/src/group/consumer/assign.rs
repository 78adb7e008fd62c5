//! Making a target assignment, when it is time.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::assignor::{Assignor, Spec, Subscriber};
use super::*;
use crate::group::GroupSettings;
use crate::group::notes::counted;
use crate::time::Instant;

impl ConsumerGroup {
    /// Whether there is no assignment for its epoch yet, and someone to make it for.
    pub(super) fn awaits_assignment(&self) -> bool {
        self.epoch.epoch > self.target_epoch && !self.members.is_empty()
    }

    /// From when on the next assignment may be made: many members that join at once share one.
    pub(super) fn assigns_at(&self, settings: &GroupSettings) -> Instant {
        let made = self.soft.assigned.filter(|_| self.target_epoch > 0);
        made.map_or_else(Instant::default, |made| {
            made.plus_ms(settings.consumer_assignment_interval_ms)
        })
    }

    /// Makes the assignment that the group waits for, once it may be made.
    pub(super) fn assign_in_time(&mut self, out: &mut Vec<Record>, ctx: &mut Ctx<'_>) {
        if self.awaits_assignment() && self.assigns_at(ctx.settings) <= ctx.now.mono {
            self.assign(out, ctx);
        }
    }

    /// Makes the target assignment for the group's epoch; what is new in it is remembered.
    fn assign(&mut self, out: &mut Vec<Record>, ctx: &mut Ctx<'_>) {
        let assignor = self.assignor(ctx.settings.assignors.as_slice());
        let made = assignor.assign(&self.spec(ctx.topics));
        let ids: Vec<MemberId> = self.members.iter().map(|(id, _)| Arc::clone(id)).collect();
        for (id, parts) in ids.iter().zip(made) {
            if self.targets.get(id) != Some(&parts) {
                self.write(Fact::Target(Arc::clone(id), Some(parts)), out);
            }
        }
        self.write(Fact::TargetEpoch(Some((self.epoch.epoch, ctx.now.wall))), out);
        self.soft.assigned = Some(ctx.now.mono);
        self.tell(&format!("has {}, assigned by {}", counted(ids.len()), assignor.name()), ctx);
    }

    /// The assignment of a group that nobody is left in. Who comes next does not wait for the
    /// interval to be over (Kafka's `consumerGroupFenceMembers` writes that it was made at 0).
    pub(super) fn assign_to_nobody(&mut self, out: &mut Vec<Record>) {
        self.write(Fact::TargetEpoch(Some((self.epoch.epoch, Timestamp(0)))), out);
        self.soft.assigned = None;
    }

    /// The assignor that most members want; the first that is configured where nobody says.
    pub(super) fn assignor(&self, known: &[Assignor]) -> Assignor {
        let mut votes = vec![0_usize; known.len()];
        for (_, member) in self.members.iter() {
            let wanted = member.about.assignor.as_deref();
            let at = known.iter().position(|assignor| Some(assignor.name()) == wanted);
            at.into_iter().for_each(|at| votes[at] += 1);
        }
        let best = votes.iter().max().copied().unwrap_or(0);
        let winner = votes.iter().position(|votes| *votes == best);
        winner.and_then(|at| known.get(at)).copied().unwrap_or(Assignor::Uniform)
    }

    fn spec<'a>(&'a self, topics: &Topics) -> Spec<'a> {
        let mut read = BTreeMap::new();
        let subscribers = self.members.iter().map(|(id, member)| {
            let said = (&member.about.topics, &member.about.pattern);
            let topics =
                read.entry(said).or_insert_with(|| Arc::new(self.reads(&member.about, topics)));
            Subscriber {
                member: id,
                instance: member.about.instance.as_ref(),
                topics: Arc::clone(topics),
                held: self.targets.get(id),
            }
        });
        let subscribers = subscribers.collect();
        let topics = self.topics(topics).map(|topic| (topic.id, Arc::clone(topic))).collect();
        Spec { subscribers, topics }
    }
}

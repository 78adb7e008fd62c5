//! Making a target assignment, when it is time.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::assignor::{Assignor, Spec, Subscriber};
use super::*;
use crate::group::notes::counted;
use crate::time::Instant;

impl ConsumerGroup {
    /// Whether it is time for the next assignment: many members that join at once share one.
    pub(super) fn may_assign(&self, ctx: &Ctx<'_>) -> bool {
        let interval_ms = ctx.settings.consumer_assignment_interval_ms;
        let due = |made: Instant| made.plus_ms(interval_ms) <= ctx.now.mono;
        self.target_epoch == 0 || self.soft.assigned.is_none_or(due)
    }

    /// Makes the target assignment for the group's epoch; what is new in it is remembered.
    pub(super) fn assign(&mut self, out: &mut Vec<Record>, ctx: &mut Ctx<'_>) {
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

//! Consumer groups as operators see them.

use std::sync::Arc;

use super::request::{ConsumerDescription, ConsumerMember};
use super::*;
use crate::group::request::Answer;
use crate::group::{Group, Kind};
use crate::mail::ReplyTo;

impl Group {
    /// ConsumerGroupDescribe.
    pub(in crate::group) fn on_describe_consumer(&self, reply: ReplyTo, ctx: &mut Ctx<'_>) {
        let described = match &self.kind {
            Kind::Consumer(group) if group.is_recorded() => Ok(group.describe(ctx)),
            Kind::Classic(_) if !self.is_nothing() => Err(self.not_of("consumer")),
            Kind::Consumer(_) | Kind::Classic(_) => Err(self.not_found()),
        };
        ctx.answer_committed(reply, Answer::ConsumerDescribed(described));
    }
}

impl ConsumerGroup {
    fn describe(&self, ctx: &Ctx<'_>) -> ConsumerDescription {
        let members = self.members.iter().map(|(id, member)| ConsumerMember {
            member: Arc::clone(id),
            about: member.about.clone(),
            current: member.current.clone(),
            target: self.targets.get(id).cloned().unwrap_or_default(),
        });
        ConsumerDescription {
            state: self.state(),
            epoch: self.epoch.epoch,
            target_epoch: self.target_epoch,
            assignor: self.assignor(&ctx.settings.assignors).name().into(),
            members: members.collect(),
        }
    }
}

//! Who may commit and fetch the offsets of a consumer group.

use dohle_wire::error::ErrorCode;
use dohle_wire::id::TopicId;

use super::*;
use crate::group::request::{Commit, Fetch};

impl ConsumerGroup {
    /// Whether someone may commit offsets: a member in its epoch, or anyone while there are none. A
    /// member that does not know of its latest epoch yet may speak for what it has owned since then
    /// (KIP-1251). Instances are not looked at, as in Kafka's `ConsumerGroup.validateOffsetCommit`.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID; UNSUPPORTED_VERSION for a member of the consumer protocol that does not
    /// know of epochs; STALE_MEMBER_EPOCH, or ILLEGAL_GENERATION for members that use the classic
    /// protocol.
    pub(in crate::group) fn check_commit(&self, commit: &Commit) -> Result<(), ErrorCode> {
        let caller = &commit.caller;
        if caller.generation < 0 && self.members.is_empty() {
            return Ok(());
        }
        let member = self.members.get(&caller.member).ok_or(ErrorCode::UnknownMemberId)?;
        if !commit.knows_epochs && member.about.classic.is_none() {
            return Err(ErrorCode::UnsupportedVersion);
        }
        let (epoch, current) = (caller.generation, &member.current);
        if epoch == current.epoch {
            return Ok(());
        }
        let may = |topic: Option<TopicId>, index| {
            let since = topic.and_then(|topic| {
                let part = (topic, index);
                current.assigned.get(&part).or_else(|| current.revoking.get(&part))
            });
            since.is_some_and(|since| epoch >= *since)
        };
        let older = (0..current.epoch).contains(&epoch);
        let all = commit.offsets.iter().all(|part| may(part.topic_id, part.partition));
        (older && all).then_some(()).ok_or_else(|| stale(member))
    }

    /// Whether someone may fetch offsets: a member in its epoch, or anyone who does not say who it
    /// is.
    ///
    /// # Errors
    /// UNKNOWN_MEMBER_ID; STALE_MEMBER_EPOCH, or ILLEGAL_GENERATION for members that use the
    /// classic protocol.
    pub(in crate::group) fn check_fetch(&self, fetch: &Fetch) -> Result<(), ErrorCode> {
        let Some((id, epoch)) = &fetch.member else { return Ok(()) };
        let member = self.members.get(id).ok_or(ErrorCode::UnknownMemberId)?;
        (member.current.epoch == *epoch).then_some(()).ok_or_else(|| stale(member))
    }
}

/// What a member is told that speaks for another epoch than its own.
fn stale(member: &Member) -> ErrorCode {
    match member.about.classic {
        Some(_) => ErrorCode::IllegalGeneration,
        None => ErrorCode::StaleMemberEpoch,
    }
}

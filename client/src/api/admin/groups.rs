//! Groups, for async code.

use std::sync::Arc;

use super::{Admin, Each};
use crate::api::Runtime;
use crate::machine::TopicPartition;
use crate::machine::admin::{
    AdminError, CommittedOffset, GroupCall, GroupDescription, GroupFilter, GroupListing,
    GroupOffsets, GroupReply, MemberIdentity,
};

impl<R: Runtime> Admin<R> {
    /// Lists the groups of all brokers. A broker that does not tell fails alone.
    pub async fn list_groups(&self, filter: GroupFilter) -> Result<GroupListing, AdminError> {
        match self.group(GroupCall::List(filter)).await? {
            GroupReply::Listing(listing) => Ok(listing),
            other => unreachable!("a reply has the kind of its call: {other:?}"),
        }
    }

    /// Describes groups of consumers, whichever protocol they speak, and other classic groups.
    pub async fn describe_groups(
        &self,
        groups: Vec<Arc<str>>,
    ) -> Result<Each<Arc<str>, GroupDescription>, AdminError> {
        match self.group(GroupCall::Describe(groups)).await? {
            GroupReply::Described(each) => Ok(each),
            other => unreachable!("a reply has the kind of its call: {other:?}"),
        }
    }

    /// Deletes groups that have no members, with their offsets; gives the result for each.
    pub async fn delete_groups(
        &self,
        groups: Vec<Arc<str>>,
    ) -> Result<Each<Arc<str>, ()>, AdminError> {
        match self.group(GroupCall::Delete(groups)).await? {
            GroupReply::Deleted(each) => Ok(each),
            other => unreachable!("a reply has the kind of its call: {other:?}"),
        }
    }

    /// Finds the committed offsets of groups, each of certain partitions or of all.
    pub async fn list_group_offsets(
        &self,
        groups: Vec<(Arc<str>, Option<Vec<TopicPartition>>)>,
    ) -> Result<Each<Arc<str>, GroupOffsets>, AdminError> {
        match self.group(GroupCall::ListOffsets(groups)).await? {
            GroupReply::Offsets(each) => Ok(each),
            other => unreachable!("a reply has the kind of its call: {other:?}"),
        }
    }

    /// Commits offsets for a group that has no members; gives the result for each partition.
    pub async fn alter_group_offsets(
        &self,
        group: impl Into<Arc<str>>,
        offsets: Vec<(TopicPartition, CommittedOffset)>,
    ) -> Result<Each<TopicPartition, ()>, AdminError> {
        self.partitions(GroupCall::AlterOffsets { group: group.into(), offsets }).await
    }

    /// Forgets committed offsets of topics to which no member subscribes; gives the result for each
    /// partition.
    pub async fn delete_group_offsets(
        &self,
        group: impl Into<Arc<str>>,
        partitions: Vec<TopicPartition>,
    ) -> Result<Each<TopicPartition, ()>, AdminError> {
        self.partitions(GroupCall::DeleteOffsets { group: group.into(), partitions }).await
    }

    async fn partitions(&self, call: GroupCall) -> Result<Each<TopicPartition, ()>, AdminError> {
        match self.group(call).await? {
            GroupReply::Partitions(each) => Ok(each),
            other => unreachable!("a reply has the kind of its call: {other:?}"),
        }
    }

    /// Removes members from a classic group; gives the result for each.
    pub async fn remove_group_members(
        &self,
        group: impl Into<Arc<str>>,
        members: Vec<MemberIdentity>,
        reason: Option<String>,
    ) -> Result<Each<MemberIdentity, ()>, AdminError> {
        let group = group.into();
        match self.group(GroupCall::RemoveMembers { group, members, reason }).await? {
            GroupReply::Members(each) => Ok(each),
            other => unreachable!("a reply has the kind of its call: {other:?}"),
        }
    }

    /// Removes every member that a classic group has now; gives the result for each.
    pub async fn remove_all_group_members(
        &self,
        group: impl Into<Arc<str>>,
        reason: Option<String>,
    ) -> Result<Each<MemberIdentity, ()>, AdminError> {
        let group = group.into();
        let mut found = self.describe_groups(vec![Arc::clone(&group)]).await?;
        let described = found.remove(&group).expect("a reply has every item of its call")?;
        // A static member goes by its own name: its id changes when it comes back.
        let identity = |id, instance: Option<String>| {
            instance.map_or(MemberIdentity::Member(id), MemberIdentity::Instance)
        };
        let members = described.members.into_iter().map(|m| identity(m.id, m.instance_id));
        self.remove_group_members(group, members.collect(), reason).await
    }
}

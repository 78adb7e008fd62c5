//! Offsets that several commands need.

use std::collections::BTreeMap;
use std::sync::Arc;

use dohle_client::api::Each;
use dohle_client::machine::TopicPartition;
use dohle_client::machine::admin::{FoundOffset, GroupOffsets, OffsetSpec};
use dohle_wire::ErrorCode;

use super::{about_group, quoted};
use crate::cmd::client::{Client, none_of};
use crate::cmd::cluster::Failure;

/// What a group has committed; nothing if there is no such group.
pub(super) async fn committed(client: &Client, group: &Arc<str>) -> Result<GroupOffsets, Failure> {
    let wanted = vec![(Arc::clone(group), None)];
    let mut found = client.or_failed(client.admin.list_group_offsets(wanted).await)?;
    match found.remove(group) {
        Some(Ok(offsets)) => Ok(offsets),
        Some(Err(error)) if error.code == ErrorCode::GroupIdNotFound => Ok(GroupOffsets::new()),
        Some(Err(error)) => Err(Failure::Failed(about_group(group, &error))),
        None => {
            let group = quoted(group);
            Err(Failure::Failed(format!("no broker tells the offsets of group {group}")))
        }
    }
}

/// An offset of each partition, or why not all can be had.
pub(super) async fn of_each(
    client: &Client,
    partitions: &[TopicPartition],
    spec: OffsetSpec,
) -> Result<BTreeMap<TopicPartition, i64>, Failure> {
    let wanted = partitions.iter().map(|at| (at.clone(), spec)).collect();
    let found: Each<TopicPartition, FoundOffset> =
        client.or_failed(client.admin.list_offsets(wanted).await)?;
    let unknown = found.iter().filter_map(|(at, found)| {
        Some(format!("the offsets of {at} are not known: {}", found.as_ref().err()?))
    });
    none_of(&unknown.collect::<Vec<_>>())?;
    Ok(found.into_iter().filter_map(|(at, found)| Some((at, found.ok()?.offset.0))).collect())
}

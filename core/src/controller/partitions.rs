//! Adding partitions to topics (ReplicationControlManager.createPartitions).

use dohle_wire::error::ErrorCode;
use dohle_wire::id::{NodeId, PartitionIndex};
use dohle_wire::message::MetadataRecord;

use super::placement::{Placer, check_assignment};
use super::topics::{PER_REQUEST_MAX, duplicates, refuse};
use super::{Decision, Soft};
use crate::image::{Image, TopicImage};
use crate::mail::{AdminReply, MorePartitions, Refusal};

/// Decides CreatePartitions.
pub fn grow(
    image: &Image,
    soft: &Soft,
    topics: &[MorePartitions],
    validate_only: bool,
) -> Decision {
    if additional(image, topics) > PER_REQUEST_MAX {
        let text = "Excessively large number of additional partitions per request.";
        let refusal = Refusal::new(ErrorCode::PolicyViolation, text);
        let results = topics.iter().map(|_| Err(refusal.clone())).collect();
        return Decision::reply(AdminReply::Grown(results));
    }
    let twice = duplicates(topics.iter().map(|more| more.topic.as_str()));
    let mut placer = Placer::new(image, &soft.failed_dirs);
    let mut records = Vec::new();
    let results = topics.iter().map(|more| {
        if twice.contains(more.topic.as_str()) {
            return refuse(ErrorCode::InvalidRequest, "Duplicate topic name.");
        }
        records.extend(grow_topic(image, &mut placer, more)?);
        Ok(())
    });
    let reply = AdminReply::Grown(results.collect());
    if validate_only { Decision::reply(reply) } else { Decision { records, reply } }
}

fn additional(image: &Image, topics: &[MorePartitions]) -> i64 {
    let more = |more: &MorePartitions| {
        let now = image.topic(&more.topic).map_or(0, |topic| topic.partitions.len());
        i64::from(more.total).saturating_sub(i64::try_from(now).unwrap_or(i64::MAX)).max(0)
    };
    topics.iter().map(more).fold(0, i64::saturating_add)
}

fn grow_topic(
    image: &Image,
    placer: &mut Placer<'_>,
    more: &MorePartitions,
) -> Result<Vec<MetadataRecord>, Refusal> {
    let topic = image.topic(&more.topic).ok_or(ErrorCode::UnknownTopicOrPartition)?;
    let new = new_indexes(topic, more.total)?;
    let wanted = topic.partitions.first().map_or(1, |first| first.replicas.len());
    let assignments = assignments(image, placer, more, &new, wanted)?;
    let placed = new.iter().zip(&assignments);
    placed.map(|(index, to)| Ok(placer.partition(topic.id, *index, to)?.into())).collect()
}

fn new_indexes(topic: &TopicImage, total: i32) -> Result<Vec<PartitionIndex>, Refusal> {
    let now = i32::try_from(topic.partitions.len()).unwrap_or(i32::MAX);
    if total == now {
        let text = format!("Topic already has {now} partition(s).");
        return refuse(ErrorCode::InvalidPartitions, text);
    }
    if total < now {
        let text = format!(
            "The topic {} currently has {now} partition(s); {total} would not be an increase.",
            topic.name
        );
        return refuse(ErrorCode::InvalidPartitions, text);
    }
    Ok((now..total).map(PartitionIndex).collect())
}

fn assignments(
    image: &Image,
    placer: &mut Placer<'_>,
    more: &MorePartitions,
    new: &[PartitionIndex],
    wanted: usize,
) -> Result<Vec<Vec<NodeId>>, Refusal> {
    let Some(by_hand) = &more.assignments else {
        let replication = i16::try_from(wanted).unwrap_or(i16::MAX);
        return new.iter().map(|_| placer.replicas(replication)).collect();
    };
    if by_hand.len() != new.len() {
        let text = format!(
            "Attempted to add {} additional partition(s), but only {} assignment(s) were \
             specified.",
            new.len(),
            by_hand.len()
        );
        return refuse(ErrorCode::InvalidReplicaAssignment, text);
    }
    by_hand.iter().try_for_each(|replicas| check_assignment(image, replicas, Some(wanted)))?;
    Ok(by_hand.clone())
}

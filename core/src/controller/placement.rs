//! Where new partitions go: which brokers hold their replicas, which data directory of this node.

use std::collections::{BTreeMap, BTreeSet};

use dohle_wire::error::ErrorCode;
use dohle_wire::id::{NodeId, PartitionIndex, TopicId, Uuid};
use dohle_wire::message::{MetadataRecord, PartitionRecord};

use super::Soft;
use super::features::{self, DIRECTORIES};
use crate::image::{BrokerImage, Image};
use crate::mail::Refusal;

/// The directory of a replica whose broker has not chosen one yet (DirectoryId.UNASSIGNED).
pub const UNASSIGNED: Uuid = Uuid::from_u128(1);

/// Places the new partitions of one request.
#[derive(Debug)]
pub struct Placer<'a> {
    image: &'a Image,
    /// Partitions on each data directory of this node that takes new ones, in their order.
    loads: Vec<(Uuid, usize)>,
    /// Rises by one with each partition, so that leaders spread over the brokers.
    turn: usize,
}

impl<'a> Placer<'a> {
    /// A placer that leaves out the directories in `failed`.
    #[must_use]
    pub fn new(image: &'a Image, failed: &BTreeSet<Uuid>) -> Self {
        let counts = counts(image);
        let local = image.brokers.get(&local(image));
        let dirs = local.map(|broker| broker.log_dirs.as_slice()).unwrap_or_default();
        let loads = dirs
            .iter()
            .filter(|dir| !failed.contains(dir))
            .map(|dir| (*dir, counts.get(dir).copied().unwrap_or(0)))
            .collect();
        Self { image, loads, turn: 0 }
    }

    /// Chooses `replication` brokers for a partition.
    ///
    /// # Errors
    /// INVALID_REPLICATION_FACTOR when there are not as many live ones.
    pub fn replicas(&mut self, replication: i16) -> Result<Vec<NodeId>, Refusal> {
        let live: Vec<NodeId> =
            self.image.brokers.values().filter(|b| is_active(b)).map(|b| b.id).collect();
        let wanted = usize::try_from(replication).unwrap_or(0);
        if wanted > live.len() {
            let count = live.len();
            return Err(Refusal::new(
                ErrorCode::InvalidReplicationFactor,
                format!(
                    "Unable to replicate the partition {replication} time(s): The target \
                     replication factor of {replication} cannot be reached because only {count} \
                     broker(s) are registered."
                ),
            ));
        }
        let first = self.turn;
        self.turn += 1;
        Ok((0..wanted).map(|at| live[(first + at) % live.len()]).collect())
    }

    /// The record of a new partition held by `replicas`, of which those that are live are in
    /// sync and the first of them leads.
    ///
    /// # Errors
    /// INVALID_REPLICA_ASSIGNMENT when none of them is live.
    pub fn partition(
        &mut self,
        topic: TopicId,
        index: PartitionIndex,
        replicas: &[NodeId],
    ) -> Result<PartitionRecord, Refusal> {
        let active = |id: &&NodeId| self.image.brokers.get(*id).is_some_and(|b| is_active(b));
        let isr: Vec<i32> = replicas.iter().filter(active).map(|id| id.0).collect();
        let Some(leader) = isr.first().copied() else {
            return Err(Refusal::new(
                ErrorCode::InvalidReplicaAssignment,
                format!(
                    "All brokers specified in the manual partition assignment for partition \
                     {index} are fenced or in controlled shutdown."
                ),
            ));
        };
        let mut directories =
            replicas.iter().map(|id| self.directory(*id)).collect::<Result<Vec<_>, _>>()?;
        if features::level(self.image) < DIRECTORIES {
            directories.clear();
        }
        Ok(PartitionRecord {
            partition_id: index.0,
            topic_id: topic.0,
            replicas: replicas.iter().map(|id| id.0).collect(),
            isr,
            leader,
            leader_epoch: 0,
            partition_epoch: 0,
            directories,
            ..PartitionRecord::default()
        })
    }

    /// The directory for a replica: on this node the one with the fewest partitions, elsewhere
    /// it is for the broker to say.
    fn directory(&mut self, replica: NodeId) -> Result<Uuid, Refusal> {
        if replica != local(self.image) {
            return Ok(UNASSIGNED);
        }
        let Some(best) = self.loads.iter_mut().min_by_key(|(_, load)| *load) else {
            return Err(Refusal::new(
                ErrorCode::KafkaStorageError,
                "all data directories of this node have failed",
            ));
        };
        best.1 += 1;
        Ok(best.0)
    }
}

/// Puts new partitions where somebody wanted to have them before they were there.
pub fn prefer(image: &Image, soft: &mut Soft, records: &mut [MetadataRecord]) {
    if soft.preferred.is_empty() {
        return;
    }
    let local = local(image);
    let dirs = image.brokers.get(&local).map(|broker| broker.log_dirs.clone()).unwrap_or_default();
    let mut names: BTreeMap<Uuid, String> = BTreeMap::new();
    for record in records {
        match record {
            MetadataRecord::Topic(topic) => {
                names.insert(topic.topic_id, topic.name.clone());
            }
            MetadataRecord::Partition(partition) => {
                let id = partition.topic_id;
                let known = image.topic_names.get(&TopicId(id)).map(ToString::to_string);
                let Some(name) = names.get(&id).cloned().or(known) else { continue };
                let key = (name, PartitionIndex(partition.partition_id));
                let Some(wanted) = soft.preferred.remove(&key) else { continue };
                let usable = dirs.contains(&wanted) && !soft.failed_dirs.contains(&wanted);
                let at = partition.replicas.iter().position(|replica| *replica == local.0);
                if let Some(place) = at.and_then(|at| partition.directories.get_mut(at))
                    && usable
                {
                    *place = wanted;
                }
            }
            _ => {}
        }
    }
}

/// Checks replicas given by hand (ReplicationControlManager.validateManualPartitionAssignment).
///
/// # Errors
/// INVALID_REPLICA_ASSIGNMENT, with Kafka's text.
pub fn check_assignment(
    image: &Image,
    replicas: &[NodeId],
    replication: Option<usize>,
) -> Result<(), Refusal> {
    let refuse = |text: String| Err(Refusal::new(ErrorCode::InvalidReplicaAssignment, text));
    if replicas.is_empty() {
        return refuse("The manual partition assignment includes an empty replica list.".into());
    }
    let mut seen = BTreeSet::new();
    for replica in replicas {
        if !image.brokers.contains_key(replica) {
            return refuse(format!(
                "The manual partition assignment includes broker {replica}, but no such broker \
                 is registered."
            ));
        }
        if !seen.insert(replica) {
            return refuse(format!(
                "The manual partition assignment includes the broker {replica} more than once."
            ));
        }
    }
    match replication.filter(|wanted| *wanted != replicas.len()) {
        Some(wanted) => refuse(format!(
            "The manual partition assignment includes a partition with {} replica(s), but this \
             is not consistent with previous partitions, which have {wanted} replica(s).",
            replicas.len()
        )),
        None => Ok(()),
    }
}

/// Whether a broker may lead and be in sync.
pub fn is_active(broker: &BrokerImage) -> bool {
    !broker.fenced && !broker.shutting_down
}

fn local(image: &Image) -> NodeId {
    NodeId(image.local.node_id)
}

/// Partitions by directory, over all topics.
fn counts(image: &Image) -> BTreeMap<Uuid, usize> {
    let mut counts = BTreeMap::new();
    for partition in image.topics.values().flat_map(|topic| &topic.partitions) {
        for directory in &partition.directories {
            *counts.entry(*directory).or_insert(0) += 1;
        }
    }
    counts
}

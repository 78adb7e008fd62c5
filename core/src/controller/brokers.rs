//! The registration of this node at its start (ClusterControlManager, ControllerRegistration).
//!
//! Kafka registers a broker fenced, lets it catch up, then unfences it in a later record. A node
//! that is its own quorum has caught up when it stands for election, and nobody can reach it
//! before it is ready: registration and unfencing are one batch, which saves a sync.

use std::collections::BTreeSet;

use dohle_wire::id::{NodeId, Offset, Uuid};
use dohle_wire::message::{
    AbortTransactionRecord, BrokerEndpoint, BrokerFeature, BrokerRegistrationChangeRecord,
    ControllerEndpoint, ControllerFeature, MetadataRecord, PartitionChangeRecord,
    RegisterBrokerRecord, RegisterControllerRecord,
};

use super::apply::UNCHANGED_LEADER;
use super::features::{self, CONTROLLERS_REGISTER, DIRECTORIES, SUPPORTED};
use crate::config::listener::Listener;
use crate::image::{Image, PartitionImage, TopicImage};
use crate::mail::{Directories, PartitionId};

/// Who registers.
#[derive(Clone, Debug)]
pub struct Registration {
    /// The run of the process.
    pub incarnation: Uuid,
    /// The data directories, and which partitions have folders in them.
    pub directories: Directories,
    /// Whether the node was stopped cleanly before.
    pub clean: bool,
}

/// The first records of a start; the first of them will lie at `base`.
#[must_use]
pub fn register(
    image: &Image,
    who: &Registration,
    base: Offset,
    torn: bool,
) -> Vec<MetadataRecord> {
    let mut records = Vec::new();
    if torn {
        // Whoever led before died in the middle of records that belong together.
        let reason = Some("the controller restarted".to_owned());
        records.push(AbortTransactionRecord { reason }.into());
    }
    records.extend(features::bootstrap(image));
    if features::level(image) >= CONTROLLERS_REGISTER {
        records.push(controller(image, who).into());
    }
    let epoch = base.0 + i64::try_from(records.len()).unwrap_or(0);
    records.push(broker(image, who, epoch).into());
    let unfence = BrokerRegistrationChangeRecord {
        broker_id: image.local.node_id,
        broker_epoch: epoch,
        fenced: -1,
        ..BrokerRegistrationChangeRecord::default()
    };
    records.push(unfence.into());
    records.extend(partitions(image, who));
    records
}

fn controller(image: &Image, who: &Registration) -> RegisterControllerRecord {
    let names = &image.local.controller_listener_names;
    let listeners = image.local.listeners.iter().filter(|l| names.contains(&l.name));
    let endpoint = |listener: &Listener| ControllerEndpoint {
        name: listener.name.clone(),
        host: host(listener),
        port: listener.port,
        security_protocol: listener.protocol.id(),
    };
    let feature = |(name, min, max): &(&str, i16, i16)| ControllerFeature {
        name: (*name).to_owned(),
        min_supported_version: *min,
        max_supported_version: *max,
    };
    RegisterControllerRecord {
        controller_id: image.local.node_id,
        incarnation_id: who.incarnation,
        zk_migration_ready: false,
        end_points: listeners.map(endpoint).collect(),
        features: SUPPORTED.iter().map(feature).collect(),
    }
}

fn broker(image: &Image, who: &Registration, epoch: i64) -> RegisterBrokerRecord {
    let endpoint = |listener: &Listener| BrokerEndpoint {
        name: listener.name.clone(),
        host: host(listener),
        port: listener.port,
        security_protocol: listener.protocol.id(),
    };
    let feature = |(name, min, max): &(&str, i16, i16)| BrokerFeature {
        name: (*name).to_owned(),
        min_supported_version: *min,
        max_supported_version: *max,
    };
    let holds_directories = features::level(image) >= DIRECTORIES;
    let ids = who.directories.ids.values().filter(|_| holds_directories);
    RegisterBrokerRecord {
        broker_id: image.local.node_id,
        incarnation_id: who.incarnation,
        broker_epoch: epoch,
        end_points: image.local.advertised().iter().map(endpoint).collect(),
        features: SUPPORTED.iter().map(feature).collect(),
        rack: image.local.rack.clone(),
        fenced: true,
        log_dirs: ids.copied().collect(),
        ..RegisterBrokerRecord::default()
    }
}

/// Kafka refuses an empty host in a registration.
fn host(listener: &Listener) -> String {
    if listener.any_host() { "localhost".to_owned() } else { listener.host.clone() }
}

/// What the start changes in the partitions of this node.
fn partitions(image: &Image, who: &Registration) -> Vec<MetadataRecord> {
    let mut records = Vec::new();
    for topic in image.topics.values() {
        for (index, partition) in (0..).zip(&topic.partitions) {
            records.extend(change(image, who, topic, index, partition).map(MetadataRecord::from));
        }
    }
    records
}

fn change(
    image: &Image,
    who: &Registration,
    topic: &TopicImage,
    index: i32,
    partition: &PartitionImage,
) -> Option<PartitionChangeRecord> {
    let local = NodeId(image.local.node_id);
    let at = partition.replicas.iter().position(|replica| *replica == local)?;
    let mut record = PartitionChangeRecord {
        partition_id: index,
        topic_id: topic.id.0,
        ..PartitionChangeRecord::default()
    };
    let here = partition.directories.get(at).copied().unwrap_or(Uuid::ZERO);
    let folder = format!("{}-{index}", topic.name);
    let place = place(here, &who.directories, &folder);
    let named = features::level(image) >= DIRECTORIES;
    if let Some(chosen) = place.filter(|place| *place != here && named) {
        let mut directories = partition.directories.clone();
        directories[at] = chosen;
        record.directories = Some(directories);
    }
    elect(&mut record, partition, local, place.is_some(), who.clean);
    (record.leader != UNCHANGED_LEADER || record.directories.is_some()).then_some(record)
}

/// Where the replica is whose directory was to be `here`, if it can be told and used.
///
/// That is where its folder is: the node may have gone down before the move of a log that the
/// metadata knew of had ended, or an operator has moved the folder. A replica without a directory
/// and a folder goes to the first directory, unless it may be in one that is not there.
pub(crate) fn place(here: Uuid, dirs: &Directories, folder: &str) -> Option<Uuid> {
    let known = dirs.ids.iter().find(|(_, id)| **id == here).map(|(dir, _)| *dir);
    let there = dirs.folders.get(folder);
    match (known, there.and_then(BTreeSet::first)) {
        (Some(known), Some(other)) if there.is_some_and(|there| !there.contains(&known)) => {
            dirs.ids.get(other).copied()
        }
        (Some(_), _) => Some(here),
        (None, _) if !here.is_reserved() => None,
        (None, Some(found)) => dirs.ids.get(found).copied(),
        (None, None) if dirs.failed.is_empty() => dirs.ids.values().next().copied(),
        (None, None) => None,
    }
}

/// The records with which data directories of this node go offline while it runs: what is led
/// there has no leader until the node starts again (BrokerHeartbeat with offline log directories).
#[must_use]
pub fn offline(image: &Image, failed: &BTreeSet<Uuid>) -> Vec<MetadataRecord> {
    let local = NodeId(image.local.node_id);
    let Some(broker) = image.brokers.get(&local) else { return Vec::new() };
    let (left, gone): (Vec<Uuid>, Vec<Uuid>) =
        broker.log_dirs.iter().partition(|dir| !failed.contains(dir));
    if gone.is_empty() || left.is_empty() {
        return Vec::new();
    }
    let change = BrokerRegistrationChangeRecord {
        broker_id: local.0,
        broker_epoch: broker.epoch,
        log_dirs: left,
        ..BrokerRegistrationChangeRecord::default()
    };
    let mut records = vec![change.into()];
    for topic in image.topics.values() {
        for (index, partition) in (0..).zip(&topic.partitions) {
            let at = partition.replicas.iter().position(|replica| *replica == local);
            let here = at.and_then(|at| partition.directories.get(at));
            if partition.leader == Some(local) && here.is_some_and(|here| failed.contains(here)) {
                let leaderless = PartitionChangeRecord {
                    partition_id: index,
                    topic_id: topic.id.0,
                    leader: -1,
                    ..PartitionChangeRecord::default()
                };
                records.push(leaderless.into());
            }
        }
    }
    records
}

/// The record that this node's replica of a partition is in the directory `dir`, if that is news.
/// What has no leader because it was elsewhere has one again.
#[must_use]
pub fn placed(image: &Image, id: PartitionId, dir: Uuid) -> Option<PartitionChangeRecord> {
    let local = NodeId(image.local.node_id);
    let partition = image.topic_by_id(&id.topic)?.partition(id.index)?;
    let at = partition.replicas.iter().position(|replica| *replica == local)?;
    let here = partition.directories.get(at).copied().filter(|here| *here != dir);
    here.filter(|_| features::level(image) >= DIRECTORIES)?;
    let mut directories = partition.directories.clone();
    directories[at] = dir;
    let mut record = PartitionChangeRecord {
        partition_id: id.index.0,
        topic_id: id.topic.0,
        directories: Some(directories),
        ..PartitionChangeRecord::default()
    };
    elect(&mut record, partition, local, true, true);
    Some(record)
}

/// Who leads from now on.
///
/// After a stop that was not clean this node may have lost the unsynced end of its log: it leads
/// on in a new epoch, so that no epoch names two records at one offset. A replica whose data
/// directory is not there leads nothing until it is back.
fn elect(
    record: &mut PartitionChangeRecord,
    partition: &PartitionImage,
    local: NodeId,
    available: bool,
    clean: bool,
) {
    match partition.leader {
        Some(leader) if leader == local && !available => record.leader = -1,
        Some(leader) if leader == local && !clean => record.leader = local.0,
        None if available && may_lead(partition, local) => {
            record.leader = local.0;
            record.isr = Some(vec![local.0]);
            if !partition.elr.is_empty() || !partition.last_known_elr.is_empty() {
                record.eligible_leader_replicas = Some(Vec::new());
                record.last_known_elr = Some(Vec::new());
            }
        }
        Some(_) | None => {}
    }
}

/// Whether a replica has everything committed: it is in sync, eligible, or the last one that was.
fn may_lead(partition: &PartitionImage, local: NodeId) -> bool {
    let nobody = partition.isr.is_empty() && partition.elr.is_empty();
    partition.isr.contains(&local)
        || partition.elr.contains(&local)
        || (nobody && partition.last_known_elr == [local])
}

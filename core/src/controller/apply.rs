//! The only place where metadata changes: a record of the log applied to an image.
//!
//! Every node applies the same records in the same order and gets the same image (C2). A record
//! that does not fit what came before it is an error: the node has to stop rather than guess.

use std::sync::Arc;

use dohle_wire::id::{LeaderEpoch, NodeId, Offset, ProducerId, TopicId, Uuid};
use dohle_wire::message::{
    BrokerRegistrationChangeRecord, ClearElrRecord, ConfigRecord, FeatureLevelRecord,
    MetadataRecord, PartitionChangeRecord, PartitionRecord, ProducerIdsRecord,
    RegisterBrokerRecord, RegisterControllerRecord, TopicRecord,
};

use crate::config::topic::TopicConfig;
use crate::image::{
    BrokerImage, ControllerImage, Endpoint, Image, PartitionImage, TopicImage, resource,
};

/// Whether a record had a place in the image.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It is in the image now.
    Known,
    /// Nothing here acts on records of this kind (yet): its name.
    Ignored(&'static str),
}

/// Applies `record`, which lies at `offset` and was written in `epoch`.
///
/// # Errors
/// Why the record cannot follow what the image already holds.
pub fn apply(
    image: &mut Image,
    offset: Offset,
    epoch: LeaderEpoch,
    record: &MetadataRecord,
) -> Result<Applied, String> {
    advance(image, offset, epoch);
    match record {
        MetadataRecord::RegisterBroker(record) => register_broker(image, record)?,
        MetadataRecord::UnregisterBroker(record) => {
            image.brokers.remove_mut(&NodeId(record.broker_id));
        }
        MetadataRecord::Topic(record) => topic(image, record)?,
        MetadataRecord::Partition(record) => partition(image, record)?,
        MetadataRecord::Config(record) => config(image, record),
        MetadataRecord::PartitionChange(record) => partition_change(image, record)?,
        MetadataRecord::FenceBroker(record) => fence(image, record.id, record.epoch, true)?,
        MetadataRecord::UnfenceBroker(record) => fence(image, record.id, record.epoch, false)?,
        MetadataRecord::RemoveTopic(record) => remove_topic(image, TopicId(record.topic_id))?,
        MetadataRecord::FeatureLevel(record) => feature(image, record),
        MetadataRecord::ProducerIds(record) => producer_ids(image, record)?,
        MetadataRecord::BrokerRegistrationChange(record) => registration_change(image, record)?,
        MetadataRecord::RegisterController(record) => register_controller(image, record),
        MetadataRecord::UnregisterController(record) => {
            image.controllers.remove_mut(&NodeId(record.controller_id));
        }
        MetadataRecord::ClearElr(record) => clear_elr(image, record)?,
        MetadataRecord::NoOp(_)
        | MetadataRecord::ZkMigrationState(_)
        | MetadataRecord::BeginTransaction(_)
        | MetadataRecord::EndTransaction(_)
        | MetadataRecord::AbortTransaction(_) => {}
        MetadataRecord::DelegationToken(_)
        | MetadataRecord::RemoveDelegationToken(_)
        | MetadataRecord::UserScramCredential(_)
        | MetadataRecord::RemoveUserScramCredential(_)
        | MetadataRecord::ClientQuota(_)
        | MetadataRecord::AccessControlEntry(_)
        | MetadataRecord::RemoveAccessControlEntry(_) => {
            return Ok(Applied::Ignored(record.name()));
        }
    }
    Ok(Applied::Known)
}

/// Applies a record with which `leader` begins its epoch in the quorum.
pub fn apply_leader(image: &mut Image, offset: Offset, epoch: LeaderEpoch, leader: NodeId) {
    advance(image, offset, epoch);
    image.controller = Some(leader);
}

/// Applies a record that only takes an offset.
pub fn advance(image: &mut Image, offset: Offset, epoch: LeaderEpoch) {
    assert!(offset > image.offset, "applied offset {offset} after {}", image.offset);
    image.offset = offset;
    image.epoch = epoch;
}

/// What a topic's settings come to on this node.
#[must_use]
pub fn derive_config(image: &Image, topic: &str) -> Arc<TopicConfig> {
    let (own, default) = image.broker_overrides();
    let overrides = image.overrides(resource::TOPIC, topic);
    Arc::new(TopicConfig::resolve(&overrides, &own, &default, &image.local))
}

fn register_broker(image: &mut Image, record: &RegisterBrokerRecord) -> Result<(), String> {
    let id = NodeId(record.broker_id);
    if let Some(before) = image.brokers.get(&id)
        && before.epoch >= record.broker_epoch
    {
        let (old, new) = (before.epoch, record.broker_epoch);
        return Err(format!("C4: broker {id} registers with epoch {new} after {old}"));
    }
    let endpoint = |point: &dohle_wire::message::BrokerEndpoint| Endpoint {
        listener: point.name.clone(),
        host: point.host.clone(),
        port: point.port,
        security: point.security_protocol,
    };
    let feature = |f: &dohle_wire::message::BrokerFeature| {
        (f.name.clone(), f.min_supported_version, f.max_supported_version)
    };
    let broker = BrokerImage {
        id,
        epoch: record.broker_epoch,
        incarnation: record.incarnation_id,
        endpoints: record.end_points.iter().map(endpoint).collect(),
        rack: record.rack.clone(),
        fenced: record.fenced,
        shutting_down: record.in_controlled_shutdown,
        log_dirs: record.log_dirs.clone(),
        features: record.features.iter().map(feature).collect(),
    };
    image.brokers.insert_mut(id, Arc::new(broker));
    Ok(())
}

fn broker_mut(image: &mut Image, id: i32, epoch: i64) -> Result<&mut BrokerImage, String> {
    let broker = image.brokers.get_mut(&NodeId(id));
    let broker = broker.ok_or_else(|| format!("C6: broker {id} is not registered"))?;
    if broker.epoch != epoch {
        return Err(format!("C4: broker {id} has epoch {}, not {epoch}", broker.epoch));
    }
    Ok(Arc::make_mut(broker))
}

fn fence(image: &mut Image, id: i32, epoch: i64, fenced: bool) -> Result<(), String> {
    broker_mut(image, id, epoch)?.fenced = fenced;
    Ok(())
}

fn registration_change(
    image: &mut Image,
    record: &BrokerRegistrationChangeRecord,
) -> Result<(), String> {
    let broker = broker_mut(image, record.broker_id, record.broker_epoch)?;
    match record.fenced {
        0 => {}
        change => broker.fenced = change > 0,
    }
    if record.in_controlled_shutdown != 0 {
        broker.shutting_down = record.in_controlled_shutdown > 0;
    }
    if !record.log_dirs.is_empty() {
        broker.log_dirs.clone_from(&record.log_dirs);
    }
    Ok(())
}

fn register_controller(image: &mut Image, record: &RegisterControllerRecord) {
    let id = NodeId(record.controller_id);
    let endpoint = |point: &dohle_wire::message::ControllerEndpoint| Endpoint {
        listener: point.name.clone(),
        host: point.host.clone(),
        port: point.port,
        security: point.security_protocol,
    };
    let feature = |f: &dohle_wire::message::ControllerFeature| {
        (f.name.clone(), f.min_supported_version, f.max_supported_version)
    };
    let controller = ControllerImage {
        id,
        incarnation: record.incarnation_id,
        endpoints: record.end_points.iter().map(endpoint).collect(),
        features: record.features.iter().map(feature).collect(),
    };
    image.controllers.insert_mut(id, Arc::new(controller));
}

fn topic(image: &mut Image, record: &TopicRecord) -> Result<(), String> {
    let id = TopicId(record.topic_id);
    if image.topics.contains_key(record.name.as_str()) {
        return Err(format!("C5: topic {} exists already", record.name));
    }
    if let Some(name) = image.topic_names.get(&id) {
        return Err(format!("C5: topic id {id} belongs to {name} already"));
    }
    let name: Arc<str> = Arc::from(record.name.as_str());
    let config = derive_config(image, &name);
    let topic = TopicImage { name: name.clone(), id, partitions: Vec::new(), config };
    image.topics.insert_mut(name.clone(), Arc::new(topic));
    image.topic_names.insert_mut(id, name);
    Ok(())
}

fn topic_mut(image: &mut Image, id: Uuid) -> Result<&mut TopicImage, String> {
    let name = image.topic_names.get(&TopicId(id)).cloned();
    let topic = name.and_then(|name| image.topics.get_mut(&name));
    topic.map(Arc::make_mut).ok_or_else(|| format!("C6: there is no topic with the id {id}"))
}

fn partition(image: &mut Image, record: &PartitionRecord) -> Result<(), String> {
    let topic = topic_mut(image, record.topic_id)?;
    let next = topic.partitions.len();
    let partition = Arc::new(partition_image(record));
    match usize::try_from(record.partition_id) {
        Ok(at) if at == next => topic.partitions.push(partition),
        Ok(at) if at < next => topic.partitions[at] = partition,
        _ => {
            let (name, id) = (&topic.name, record.partition_id);
            return Err(format!("partition {id} of {name} comes while {next} is next"));
        }
    }
    Ok(())
}

fn partition_image(record: &PartitionRecord) -> PartitionImage {
    let mut directories = record.directories.clone();
    // Before directories were recorded, each replica was in its broker's only one.
    directories.resize(record.replicas.len(), Uuid::ZERO);
    PartitionImage {
        replicas: nodes(&record.replicas),
        isr: nodes(&record.isr),
        directories,
        elr: nodes(record.eligible_leader_replicas.as_deref().unwrap_or_default()),
        last_known_elr: nodes(record.last_known_elr.as_deref().unwrap_or_default()),
        removing: nodes(&record.removing_replicas),
        adding: nodes(&record.adding_replicas),
        leader: node(record.leader),
        recovering: record.leader_recovery_state == RECOVERING,
        leader_epoch: LeaderEpoch(record.leader_epoch),
        partition_epoch: record.partition_epoch,
    }
}

fn partition_change(image: &mut Image, record: &PartitionChangeRecord) -> Result<(), String> {
    let topic = topic_mut(image, record.topic_id)?;
    let at = usize::try_from(record.partition_id).unwrap_or(usize::MAX);
    let Some(partition) = topic.partitions.get_mut(at) else {
        return Err(format!("C6: {} has no partition {}", topic.name, record.partition_id));
    };
    merge(Arc::make_mut(partition), record);
    Ok(())
}

/// PartitionRegistration.merge: what is absent stays; any change raises the partition epoch, a
/// leader that is named, also the same one, raises the leader epoch.
fn merge(partition: &mut PartitionImage, record: &PartitionChangeRecord) {
    let set = |list: &mut Vec<NodeId>, change: &Option<Vec<i32>>| {
        if let Some(change) = change {
            *list = nodes(change);
        }
    };
    set(&mut partition.isr, &record.isr);
    set(&mut partition.replicas, &record.replicas);
    set(&mut partition.removing, &record.removing_replicas);
    set(&mut partition.adding, &record.adding_replicas);
    set(&mut partition.elr, &record.eligible_leader_replicas);
    set(&mut partition.last_known_elr, &record.last_known_elr);
    if let Some(directories) = &record.directories {
        partition.directories.clone_from(directories);
    }
    partition.directories.resize(partition.replicas.len(), Uuid::ZERO);
    if record.leader != UNCHANGED_LEADER {
        partition.leader = node(record.leader);
        partition.leader_epoch = LeaderEpoch(partition.leader_epoch.0.saturating_add(1));
    }
    if record.leader_recovery_state >= 0 {
        partition.recovering = record.leader_recovery_state == RECOVERING;
    }
    partition.partition_epoch = partition.partition_epoch.saturating_add(1);
}

fn remove_topic(image: &mut Image, id: TopicId) -> Result<(), String> {
    let Some(name) = image.topic_names.get(&id).cloned() else {
        return Err(format!("C6: there is no topic with the id {id}"));
    };
    image.topics.remove_mut(&name);
    image.topic_names.remove_mut(&id);
    image.configs.remove_mut(&(resource::TOPIC, name));
    Ok(())
}

fn config(image: &mut Image, record: &ConfigRecord) {
    let key = (record.resource_type, Arc::from(record.resource_name.as_str()));
    let mut overrides = image.configs.get(&key).cloned().unwrap_or_default();
    let map = Arc::make_mut(&mut overrides);
    match &record.value {
        Some(value) => map.insert(record.name.clone(), value.clone()),
        None => map.remove(&record.name),
    };
    if overrides.is_empty() {
        image.configs.remove_mut(&key);
    } else {
        image.configs.insert_mut(key, overrides);
    }
    derive_again(image, record);
}

/// Settings of topics follow those they are made of.
fn derive_again(image: &mut Image, record: &ConfigRecord) {
    let name = record.resource_name.as_str();
    let concerns_all = record.resource_type == resource::BROKER
        && (name.is_empty() || name == image.local.node_id.to_string());
    if record.resource_type == resource::TOPIC {
        derive_topic(image, name);
    } else if concerns_all {
        let names: Vec<Arc<str>> = image.topics.keys().cloned().collect();
        names.iter().for_each(|name| derive_topic(image, name));
    }
}

fn derive_topic(image: &mut Image, name: &str) {
    if !image.topics.contains_key(name) {
        return;
    }
    let config = derive_config(image, name);
    if let Some(topic) = image.topics.get_mut(name) {
        Arc::make_mut(topic).config = config;
    }
}

fn feature(image: &mut Image, record: &FeatureLevelRecord) {
    match record.feature_level {
        0 => {
            image.features.remove_mut(record.name.as_str());
        }
        level => image.features.insert_mut(Arc::from(record.name.as_str()), level),
    }
}

fn producer_ids(image: &mut Image, record: &ProducerIdsRecord) -> Result<(), String> {
    let (before, next) = (image.next_producer_id, ProducerId(record.next_producer_id));
    if next <= before {
        return Err(format!("C8: producer ids go on at {next} after {before}"));
    }
    image.next_producer_id = next;
    Ok(())
}

fn clear_elr(image: &mut Image, record: &ClearElrRecord) -> Result<(), String> {
    if record.topic_name.is_empty() {
        let ids: Vec<TopicId> = image.topic_names.keys().copied().collect();
        return ids.iter().try_for_each(|id| clear_topic_elr(image, *id));
    }
    match image.topic(&record.topic_name).map(|topic| topic.id) {
        Some(id) => clear_topic_elr(image, id),
        None => Err(format!("C6: there is no topic {}", record.topic_name)),
    }
}

fn clear_topic_elr(image: &mut Image, id: TopicId) -> Result<(), String> {
    let change = PartitionChangeRecord {
        eligible_leader_replicas: Some(Vec::new()),
        last_known_elr: Some(Vec::new()),
        ..PartitionChangeRecord::default()
    };
    for partition in &mut topic_mut(image, id.0)?.partitions {
        if !partition.elr.is_empty() || !partition.last_known_elr.is_empty() {
            merge(Arc::make_mut(partition), &change);
        }
    }
    Ok(())
}

fn nodes(ids: &[i32]) -> Vec<NodeId> {
    ids.iter().copied().map(NodeId).collect()
}

fn node(id: i32) -> Option<NodeId> {
    (id >= 0).then_some(NodeId(id))
}

/// LeaderRecoveryState.RECOVERING.
const RECOVERING: i8 = 1;

/// Leader of a PartitionChangeRecord that leaves the leader alone.
pub(super) const UNCHANGED_LEADER: i32 = -2;

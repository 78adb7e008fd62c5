//! Making and deleting topics (ReplicationControlManager, ControllerApis).

use std::collections::{BTreeMap, BTreeSet};

use dohle_wire::error::ErrorCode;
use dohle_wire::id::{NodeId, PartitionIndex, TopicId};
use dohle_wire::message::{ConfigRecord, MetadataRecord, RemoveTopicRecord, TopicRecord};

use super::placement::{Placer, check_assignment};
use super::{Decision, Soft};
use crate::config::alter::{AlterError, VALUE_BYTES_MAX, replace_topic};
use crate::image::{Image, resource};
use crate::mail::{AdminReply, CreatedTopic, NewTopic, Refusal, TopicRef};

/// Partitions that one request may make, and records that it may write.
pub const PER_REQUEST_MAX: i64 = 10_000;

/// The topic that nobody may make: the metadata log's.
const METADATA_TOPIC: &str = "__cluster_metadata";

/// Decides CreateTopics. A topic is made or refused on its own, but too many partitions refuse
/// all of them.
pub fn create(
    image: &Image,
    soft: &mut Soft,
    topics: &[NewTopic],
    validate_only: bool,
) -> Decision {
    if total_partitions(image, topics) > PER_REQUEST_MAX {
        let text = "Excessively large number of partitions per request.";
        let refusal = Refusal::new(ErrorCode::PolicyViolation, text);
        let results = topics.iter().map(|_| Err(refusal.clone())).collect();
        return Decision::reply(AdminReply::Created(results));
    }
    let mut maker = Maker::new(image, soft, topics);
    let results: Vec<_> = topics.iter().map(|topic| maker.make(topic)).collect();
    let records = maker.records;
    if validate_only {
        let unborn = |made: CreatedTopic| CreatedTopic { id: TopicId::default(), ..made };
        let results = results.into_iter().map(|result| result.map(unborn)).collect();
        return Decision::reply(AdminReply::Created(results));
    }
    Decision { records, reply: AdminReply::Created(results) }
}

fn total_partitions(image: &Image, topics: &[NewTopic]) -> i64 {
    let count = |topic: &NewTopic| match topic.assignments.len() {
        0 => i64::from(topic.partitions.unwrap_or(image.local.num_partitions)).max(0),
        by_hand => i64::try_from(by_hand).unwrap_or(i64::MAX),
    };
    topics.iter().map(count).fold(0, i64::saturating_add)
}

/// The topics of one request, one after the other.
struct Maker<'a> {
    image: &'a Image,
    soft: &'a mut Soft,
    placer: Placer<'a>,
    duplicates: BTreeSet<&'a str>,
    /// Names of topics there are, by what they look like in metric names.
    taken: BTreeMap<String, &'a str>,
    records: Vec<MetadataRecord>,
}

impl<'a> Maker<'a> {
    fn new(image: &'a Image, soft: &'a mut Soft, topics: &'a [NewTopic]) -> Self {
        let placer = Placer::new(image, &soft.failed_dirs);
        let duplicates = duplicates(topics.iter().map(|topic| topic.name.as_str()));
        let taken = image.topics.keys().filter(|name| collides(name));
        let taken = taken.map(|name| (unified(name), &**name)).collect();
        Self { image, soft, placer, duplicates, taken, records: Vec::new() }
    }

    fn make(&mut self, topic: &NewTopic) -> Result<CreatedTopic, Refusal> {
        self.check_name(topic)?;
        let overrides = overrides(topic)?;
        let id = self.soft.fresh_topic_id(self.image);
        let partitions = self.partitions(topic, id)?;
        let made = CreatedTopic {
            id,
            partitions: i32::try_from(partitions.len()).unwrap_or(i32::MAX),
            replication: replication_of(&partitions),
            configs: overrides.iter().map(|(k, v)| (k.clone(), Some(v.clone()))).collect(),
        };
        self.records.push(TopicRecord { name: topic.name.clone(), topic_id: id.0 }.into());
        for (name, value) in overrides {
            self.records.push(config_record(&topic.name, name, value));
        }
        self.records.extend(partitions);
        Ok(made)
    }

    fn check_name(&self, topic: &NewTopic) -> Result<(), Refusal> {
        let name = topic.name.as_str();
        if self.duplicates.contains(name) {
            return refuse(ErrorCode::InvalidRequest, "Duplicate topic name.");
        }
        if name == METADATA_TOPIC {
            let text = format!("Creation of internal topic {name} is prohibited.");
            return refuse(ErrorCode::InvalidRequest, text);
        }
        if self.image.topic(name).is_some() {
            let text = format!("Topic '{name}' already exists.");
            return refuse(ErrorCode::TopicAlreadyExists, text);
        }
        check_topic_name(name)?;
        match self.taken.get(&unified(name)).filter(|_| collides(name)) {
            Some(other) => refuse(
                ErrorCode::InvalidTopicException,
                format!("Topic '{name}' collides with existing topic: {other}"),
            ),
            None => Ok(()),
        }
    }

    fn partitions(
        &mut self,
        topic: &NewTopic,
        id: TopicId,
    ) -> Result<Vec<MetadataRecord>, Refusal> {
        if !topic.assignments.is_empty() {
            return self.assigned(topic, id);
        }
        let local = &self.image.local;
        let default = i16::try_from(local.default_replication_factor).unwrap_or(i16::MAX);
        let replication = topic.replication.unwrap_or(default);
        let count = topic.partitions.unwrap_or(local.num_partitions);
        if replication <= 0 {
            return refuse(
                ErrorCode::InvalidReplicationFactor,
                "Replication factor must be larger than 0, or -1 to use the default value.",
            );
        }
        if count <= 0 {
            return refuse(
                ErrorCode::InvalidPartitions,
                "Number of partitions was set to an invalid non-positive value.",
            );
        }
        let mut records = Vec::new();
        for index in 0..count {
            let replicas = self.placer.replicas(replication)?;
            records.push(self.placer.partition(id, PartitionIndex(index), &replicas)?.into());
        }
        Ok(records)
    }

    fn assigned(&mut self, topic: &NewTopic, id: TopicId) -> Result<Vec<MetadataRecord>, Refusal> {
        let by_hand = |what: &str| {
            let text = format!(
                "A manual partition assignment was specified, but {what} was not set to -1."
            );
            refuse(ErrorCode::InvalidRequest, text)
        };
        if topic.replication.is_some() {
            return by_hand("replication factor");
        }
        if topic.partitions.is_some() {
            return by_hand("numPartitions");
        }
        let assignments = self.check_assignments(topic)?;
        let mut records = Vec::new();
        for (index, replicas) in assignments {
            records.push(self.placer.partition(id, index, replicas)?.into());
        }
        Ok(records)
    }

    fn check_assignments<'t>(
        &self,
        topic: &'t NewTopic,
    ) -> Result<BTreeMap<PartitionIndex, &'t [NodeId]>, Refusal> {
        let mut assignments = BTreeMap::new();
        let mut replication = None;
        for (index, replicas) in &topic.assignments {
            if assignments.insert(*index, replicas.as_slice()).is_some() {
                return refuse(
                    ErrorCode::InvalidReplicaAssignment,
                    format!("Found multiple manual partition assignments for partition {index}"),
                );
            }
            check_assignment(self.image, replicas, replication)?;
            replication = Some(replicas.len());
        }
        let consecutive = (0..).zip(assignments.keys()).all(|(at, index)| index.0 == at);
        if !consecutive {
            return refuse(
                ErrorCode::InvalidReplicaAssignment,
                "partitions should be a consecutive 0-based integer sequence",
            );
        }
        Ok(assignments)
    }
}

fn replication_of(partitions: &[MetadataRecord]) -> i16 {
    match partitions.first() {
        Some(MetadataRecord::Partition(first)) => {
            i16::try_from(first.replicas.len()).unwrap_or(i16::MAX)
        }
        _ => 0,
    }
}

/// The config overrides of a new topic, checked.
fn overrides(topic: &NewTopic) -> Result<BTreeMap<String, String>, Refusal> {
    let nulls: Vec<&str> =
        topic.configs.iter().filter(|(_, v)| v.is_none()).map(|(k, _)| k.as_str()).collect();
    if !nulls.is_empty() {
        let text = format!("Null value not supported for topic configs: {}", nulls.join(","));
        return refuse(ErrorCode::InvalidConfig, text);
    }
    let set = |(key, value): &(String, Option<String>)| Some((key.clone(), value.clone()?));
    let overrides = topic.configs.iter().filter_map(set).collect();
    replace_topic(overrides).map_err(|error| config_refusal(&error))
}

/// How a refused config change is told.
pub(super) fn config_refusal(error: &AlterError) -> Refusal {
    let code = match error.is_invalid_request() {
        true => ErrorCode::InvalidRequest,
        false => ErrorCode::InvalidConfig,
    };
    Refusal::new(code, error.to_string())
}

fn config_record(topic: &str, name: String, value: String) -> MetadataRecord {
    debug_assert!(value.len() <= VALUE_BYTES_MAX);
    ConfigRecord {
        resource_type: resource::TOPIC,
        resource_name: topic.to_owned(),
        name,
        value: Some(value),
    }
    .into()
}

/// Decides DeleteTopics.
pub fn delete(image: &Image, topics: &[TopicRef]) -> Decision {
    let names = topics.iter().filter_map(|topic| match topic {
        TopicRef::Name(name) => Some(name.as_str()),
        TopicRef::Id(_) => None,
    });
    let ids = topics.iter().filter_map(|topic| match topic {
        TopicRef::Name(_) => None,
        TopicRef::Id(id) => Some(*id),
    });
    let (names, ids) = (duplicates(names), duplicates(ids));
    let mut records = Vec::new();
    let mut gone = BTreeSet::new();
    let results = topics.iter().map(|topic| {
        let found = find(image, topic, &names, &ids)?;
        // A topic named once by name and once by id goes once.
        if !gone.insert(found.1) {
            return refuse(ErrorCode::InvalidRequest, "Duplicate topic name.");
        }
        records.push(RemoveTopicRecord { topic_id: found.1.0 }.into());
        Ok(found)
    });
    let results = results.collect();
    Decision { records, reply: AdminReply::Deleted(results) }
}

fn find(
    image: &Image,
    topic: &TopicRef,
    names: &BTreeSet<&str>,
    ids: &BTreeSet<TopicId>,
) -> Result<(String, TopicId), Refusal> {
    if !image.local.delete_topic_enable {
        return Err(ErrorCode::TopicDeletionDisabled.into());
    }
    let found = match topic {
        TopicRef::Name(name) if names.contains(name.as_str()) => {
            return refuse(ErrorCode::InvalidRequest, "Duplicate topic name.");
        }
        TopicRef::Id(id) if ids.contains(id) => {
            return refuse(ErrorCode::InvalidRequest, "Duplicate topic id.");
        }
        TopicRef::Name(name) => image.topic(name).ok_or(ErrorCode::UnknownTopicOrPartition)?,
        TopicRef::Id(id) => image.topic_by_id(id).ok_or(ErrorCode::UnknownTopicId)?,
    };
    Ok((found.name.to_string(), found.id))
}

/// Checks a topic's name (Topic.validate).
///
/// # Errors
/// INVALID_TOPIC_EXCEPTION, with Kafka's text.
pub fn check_topic_name(name: &str) -> Result<(), Refusal> {
    let why = if name.is_empty() {
        "the empty string is not allowed".to_owned()
    } else if name == "." || name == ".." {
        format!("'{name}' is not allowed")
    } else if name.len() > NAME_MAX {
        format!("the length of '{name}' is longer than the max allowed length {NAME_MAX}")
    } else if !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)) {
        format!(
            "'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' \
             and '-'"
        )
    } else {
        return Ok(());
    };
    refuse(ErrorCode::InvalidTopicException, format!("Topic name is invalid: {why}"))
}

/// The longest topic name, so that folder names fit a file system.
const NAME_MAX: usize = 249;

/// Whether a name has characters that metric names cannot tell apart.
fn collides(name: &str) -> bool {
    name.contains(['.', '_'])
}

fn unified(name: &str) -> String {
    name.replace('.', "_")
}

/// Values that come more than once.
pub(super) fn duplicates<T: Ord + Copy>(values: impl Iterator<Item = T>) -> BTreeSet<T> {
    let mut seen = BTreeSet::new();
    values.filter(|value| !seen.insert(*value)).collect()
}

/// A refusal as a result.
pub(super) fn refuse<T>(code: ErrorCode, text: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(code, text))
}

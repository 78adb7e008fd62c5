//! Changing configs of topics, brokers and groups (ConfigurationControlManager, ConfigAdminManager).

use std::collections::BTreeMap;

use dohle_wire::error::ErrorCode;
use dohle_wire::id::NodeId;
use dohle_wire::message::{ConfigRecord, MetadataRecord};

use super::Decision;
use super::topics::{check_topic_name, config_refusal, duplicates, refuse};
use crate::config::alter::{
    AlterError, Change, Dynamic, Op, Target, alter_broker, alter_group, alter_topic,
    check_effective,
};
use crate::image::{Image, resource};
use crate::mail::{AdminReply, ConfigChange, ConfigOp, Refusal};

/// The longest name of a group that Kafka's texts can hold.
const GROUP_NAME_BYTES_MAX: usize = 32_767;

/// Overrides of a resource by name.
type Configs = BTreeMap<String, String>;

/// Decides IncrementalAlterConfigs and AlterConfigs: a resource is changed as a whole or not.
pub fn alter(image: &Image, resources: &[ConfigChange], validate_only: bool) -> Decision {
    let keys = resources.iter().map(|change| (change.resource_type, change.name.as_str()));
    let twice = duplicates(keys);
    let mut records = Vec::new();
    let results = resources.iter().map(|change| {
        if twice.contains(&(change.resource_type, change.name.as_str())) {
            let text = "Each resource must appear at most once.";
            return refuse(ErrorCode::InvalidRequest, text);
        }
        let before = image.overrides(change.resource_type, &change.name);
        let after = altered(image, change, &before)?;
        records.extend(difference(change, &before, &after));
        Ok(())
    });
    let reply = AdminReply::Altered(results.collect());
    if validate_only { Decision::reply(reply) } else { Decision { records, reply } }
}

fn altered(image: &Image, change: &ConfigChange, before: &Configs) -> Result<Configs, Refusal> {
    match change.resource_type {
        resource::TOPIC => altered_topic(image, change, before),
        resource::BROKER => altered_broker(image, change, before),
        resource::GROUP => altered_group(image, change, before),
        other => refuse(
            ErrorCode::InvalidRequest,
            format!("Resources of type {other} have no configs that can be altered here."),
        ),
    }
}

fn altered_topic(
    image: &Image,
    change: &ConfigChange,
    before: &Configs,
) -> Result<Configs, Refusal> {
    let name = change.name.as_str();
    if name.is_empty() {
        return refuse(ErrorCode::InvalidRequest, "Default topic resources are not allowed.");
    }
    check_topic_name(name)?;
    if image.topic(name).is_none() {
        let text = format!("The topic '{name}' does not exist.");
        return refuse(ErrorCode::UnknownTopicOrPartition, text);
    }
    alter_topic(start(change, before), &changes(change)).map_err(|error| config_refusal(&error))
}

fn altered_broker(
    image: &Image,
    change: &ConfigChange,
    before: &Configs,
) -> Result<Configs, Refusal> {
    let target = target(image, &change.name)?;
    let refusal = |error: AlterError| config_refusal(&error);
    let after = alter_broker(target, start(change, before), &changes(change)).map_err(refusal)?;
    let (own, default) = image.broker_overrides();
    let now = Dynamic { broker: &own, default: &default };
    let then = match target {
        Target::Broker => Dynamic { broker: &after, default: &default },
        Target::ClusterDefault => Dynamic { broker: &own, default: &after },
    };
    check_effective(&image.local, now, then).map_err(refusal)?;
    Ok(after)
}

fn altered_group(
    image: &Image,
    change: &ConfigChange,
    before: &Configs,
) -> Result<Configs, Refusal> {
    let name = change.name.as_str();
    if name.is_empty() {
        return refuse(ErrorCode::InvalidRequest, "Default group resources are not allowed.");
    }
    if name.len() > GROUP_NAME_BYTES_MAX {
        let text = format!("The group's name is longer than {GROUP_NAME_BYTES_MAX} bytes.");
        return refuse(ErrorCode::InvalidRequest, text);
    }
    alter_group(&image.local, start(change, before), &changes(change))
        .map_err(|error| config_refusal(&error))
}

/// Whose configs a broker resource names: the cluster's defaults or this node's.
fn target(image: &Image, name: &str) -> Result<Target, Refusal> {
    if name.is_empty() {
        return Ok(Target::ClusterDefault);
    }
    let local = NodeId(image.local.node_id);
    match name.parse::<i32>() {
        Ok(id) if NodeId(id) == local => Ok(Target::Broker),
        Ok(id) => refuse(
            ErrorCode::InvalidRequest,
            format!("Unexpected broker id, expected {local} or empty string, but received {id}"),
        ),
        Err(_) => refuse(
            ErrorCode::InvalidRequest,
            format!("Broker id must be an integer, but it is: {name}"),
        ),
    }
}

/// What the changes are made to: AlterConfigs forgets what it does not name.
fn start<'a>(change: &ConfigChange, before: &'a Configs) -> &'a Configs {
    static NOTHING: Configs = Configs::new();
    if change.replace_all { &NOTHING } else { before }
}

fn changes(change: &ConfigChange) -> Vec<Change> {
    let op = |op: ConfigOp| match op {
        ConfigOp::Set => Op::Set,
        ConfigOp::Delete => Op::Delete,
        ConfigOp::Append => Op::Append,
        ConfigOp::Subtract => Op::Subtract,
    };
    let one = |(how, key, value): &(ConfigOp, String, Option<String>)| Change {
        key: key.clone(),
        op: op(*how),
        value: value.clone(),
    };
    change.ops.iter().map(one).collect()
}

/// One record for each key whose value changes, in the order of the keys.
fn difference(change: &ConfigChange, before: &Configs, after: &Configs) -> Vec<MetadataRecord> {
    let record = |name: &String, value: Option<String>| {
        MetadataRecord::from(ConfigRecord {
            resource_type: change.resource_type,
            resource_name: change.name.clone(),
            name: name.clone(),
            value,
        })
    };
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    let set = after.iter().filter(|(key, value)| before.get(*key) != Some(value));
    gone.map(|key| record(key, None))
        .chain(set.map(|(key, value)| record(key, Some(value.clone()))))
        .collect()
}

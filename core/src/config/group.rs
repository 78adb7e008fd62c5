//! A group's own configs: what they may be, and what they are to its coordinator.
//!
//! They hold whether or not there is a group of that name, and for whatever protocol it comes to
//! use. What a broker allows (`group.consumer.min.session.timeout.ms` and the like) is looked at
//! twice: when a config is set, and when it is used, since a broker may start again with other
//! limits.

use std::collections::{BTreeMap, BTreeSet};

use super::broker::BrokerConfig;
use super::def::{group_def, near_group_name, split_list};
use super::error::ConfigError;

/// The configs of a group that its coordinator goes by, within what the broker allows. None where
/// the broker's own settings hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupConfig {
    /// `consumer.session.timeout.ms`.
    pub consumer_session_timeout_ms: Option<i64>,
    /// `consumer.heartbeat.interval.ms`.
    pub consumer_heartbeat_interval_ms: Option<i32>,
    /// `consumer.assignment.interval.ms`.
    pub consumer_assignment_interval_ms: Option<i64>,
}

impl GroupConfig {
    /// What a group's overrides come to on a broker.
    #[must_use]
    pub fn resolve(overrides: &BTreeMap<String, String>, broker: &BrokerConfig) -> Self {
        let long = |key| {
            let (min, max) = limits(key, broker);
            // A broker checks its limits against each other when it starts.
            integer(overrides, key).map(|value| value.min(max).max(min))
        };
        let int = |key| long(key).map(|value| i32::try_from(value).unwrap_or(i32::MAX));
        Self {
            consumer_session_timeout_ms: long("consumer.session.timeout.ms"),
            consumer_heartbeat_interval_ms: int("consumer.heartbeat.interval.ms"),
            consumer_assignment_interval_ms: long("consumer.assignment.interval.ms"),
        }
    }
}

/// Checks a group's overrides: every name and value, what the broker allows, and the values against
/// each other (Kafka's `GroupConfig.validate`).
///
/// # Errors
/// The first that cannot be.
pub fn validate_group_overrides(
    overrides: &BTreeMap<String, String>,
    broker: &BrokerConfig,
) -> Result<(), ConfigError> {
    for (key, value) in overrides {
        let Some(def) = group_def(key) else {
            let near = near_group_name(key);
            return Err(ConfigError::UnknownGroupConfig { key: key.clone(), near });
        };
        def.validate(value)?;
    }
    overrides.keys().try_for_each(|key| check_limits(key, overrides, broker))?;
    PROTOCOLS.iter().try_for_each(|protocol| check_session(protocol, overrides, broker))?;
    check_assignor(overrides, broker)?;
    check_tags(overrides)?;
    check_dead_letters(overrides)
}

fn conflict(message: String) -> Result<(), ConfigError> {
    Err(ConfigError::Conflict(message))
}

/// The value of an override that is an integer.
fn integer(overrides: &BTreeMap<String, String>, key: &str) -> Option<i64> {
    group_def(key)?.canonical(overrides.get(key)?).ok()?.parse().ok()
}

/// The least and the most that a broker allows of a group config.
fn limits(key: &str, broker: &BrokerConfig) -> (i64, i64) {
    let found = LIMITS.iter().find(|(name, ..)| *name == key);
    let (least, most) = found.map_or((None, None), |(_, least, most)| (*least, *most));
    let value = |name: Option<&str>| name.and_then(|name| broker.integer(name));
    (value(least).unwrap_or(i64::MIN), value(most).unwrap_or(i64::MAX))
}

fn check_limits(
    key: &str,
    overrides: &BTreeMap<String, String>,
    broker: &BrokerConfig,
) -> Result<(), ConfigError> {
    let Some(value) = integer(overrides, key) else { return Ok(()) };
    match limits(key, broker) {
        (min, max) if (min..=max).contains(&value) => Ok(()),
        (i64::MIN, max) => conflict(format!("{key} must be less than or equal to {max}")),
        (min, i64::MAX) => conflict(format!("{key} must be greater than or equal to {min}")),
        (min, max) => conflict(format!("{key} must be in the range {min} to {max} inclusive.")),
    }
}

/// A member has to be heard of before it is taken for lost. Where a group sets neither, the
/// broker's own settings were checked when it started.
fn check_session(
    protocol: &str,
    overrides: &BTreeMap<String, String>,
    broker: &BrokerConfig,
) -> Result<(), ConfigError> {
    let value = |key: &str| {
        let own = integer(overrides, key);
        own.or_else(|| broker.integer(&format!("group.{key}"))).unwrap_or_default()
    };
    let session = format!("{protocol}.session.timeout.ms");
    let heartbeat = format!("{protocol}.heartbeat.interval.ms");
    let set = overrides.contains_key(&session) || overrides.contains_key(&heartbeat);
    match set && value(&session) <= value(&heartbeat) {
        true => conflict(format!("{session} must be greater than {heartbeat}")),
        false => Ok(()),
    }
}

fn check_assignor(
    overrides: &BTreeMap<String, String>,
    broker: &BrokerConfig,
) -> Result<(), ConfigError> {
    const KEY: &str = "streams.assignor.name";
    let Some(name) = overrides.get(KEY).map(|name| name.trim()) else { return Ok(()) };
    let known = broker.list("group.streams.assignors");
    if known.iter().any(|known| known == name) {
        return Ok(());
    }
    Err(ConfigError::bad(KEY, format!("one of {}", known.join(", ")), name))
}

fn check_tags(overrides: &BTreeMap<String, String>) -> Result<(), ConfigError> {
    const KEY: &str = "streams.rack.aware.assignment.tags";
    let mut seen = BTreeSet::new();
    let tags = overrides.get(KEY).map_or("", String::as_str);
    match split_list(tags).all(|tag| seen.insert(tag)) {
        true => Ok(()),
        false => conflict(format!("{KEY} must not contain duplicate tag keys.")),
    }
}

fn check_dead_letters(overrides: &BTreeMap<String, String>) -> Result<(), ConfigError> {
    const KEY: &str = "errors.deadletterqueue.topic.name";
    match overrides.get(KEY).is_some_and(|name| name.trim().starts_with("__")) {
        true => conflict(format!("{KEY}: DLQ topic name must not start with '__'")),
        false => Ok(()),
    }
}

/// Protocols whose members have sessions and heartbeats that a group may set.
const PROTOCOLS: [&str; 3] = ["consumer", "share", "streams"];

/// Group configs with the broker configs that say what is the least and the most of them.
const LIMITS: [(&str, Option<&str>, Option<&str>); 15] = [
    range(
        "consumer.assignment.interval.ms",
        "group.consumer.min.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
    ),
    range(
        "consumer.heartbeat.interval.ms",
        "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
    ),
    range(
        "consumer.session.timeout.ms",
        "group.consumer.min.session.timeout.ms",
        "group.consumer.max.session.timeout.ms",
    ),
    range(
        "share.assignment.interval.ms",
        "group.share.min.assignment.interval.ms",
        "group.share.max.assignment.interval.ms",
    ),
    range(
        "share.delivery.count.limit",
        "group.share.min.delivery.count.limit",
        "group.share.max.delivery.count.limit",
    ),
    range(
        "share.heartbeat.interval.ms",
        "group.share.min.heartbeat.interval.ms",
        "group.share.max.heartbeat.interval.ms",
    ),
    range(
        "share.partition.max.record.locks",
        "group.share.min.partition.max.record.locks",
        "group.share.max.partition.max.record.locks",
    ),
    range(
        "share.record.lock.duration.ms",
        "group.share.min.record.lock.duration.ms",
        "group.share.max.record.lock.duration.ms",
    ),
    range(
        "share.session.timeout.ms",
        "group.share.min.session.timeout.ms",
        "group.share.max.session.timeout.ms",
    ),
    range(
        "streams.assignment.interval.ms",
        "group.streams.min.assignment.interval.ms",
        "group.streams.max.assignment.interval.ms",
    ),
    range(
        "streams.heartbeat.interval.ms",
        "group.streams.min.heartbeat.interval.ms",
        "group.streams.max.heartbeat.interval.ms",
    ),
    range(
        "streams.session.timeout.ms",
        "group.streams.min.session.timeout.ms",
        "group.streams.max.session.timeout.ms",
    ),
    ("streams.num.standby.replicas", None, Some("group.streams.max.standby.replicas")),
    ("streams.num.warmup.replicas", None, Some("group.streams.max.warmup.replicas")),
    ("streams.task.offset.interval.ms", Some("group.streams.min.task.offset.interval.ms"), None),
];

const fn range(
    key: &'static str,
    least: &'static str,
    most: &'static str,
) -> (&'static str, Option<&'static str>, Option<&'static str>) {
    (key, Some(least), Some(most))
}

#[cfg(test)]
mod tests;

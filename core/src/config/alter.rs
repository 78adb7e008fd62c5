//! Changes to the configs of topics, brokers and groups.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::broker::BrokerConfig;
use super::def::{
    ConfigDef, Kind, Scope, broker_def, dynamic_only_defs, exact_broker_def, listener_base,
    split_list, topic_def,
};
use super::error::ConfigError;
use super::group::validate_group_overrides;
use super::topic::validate_topic_overrides;

/// What a change does. The discriminants are IncrementalAlterConfigs' codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub enum Op {
    /// Sets a value.
    Set = 0,
    /// Removes what was set.
    Delete = 1,
    /// Adds entries to a list that does not have them.
    Append = 2,
    /// Removes entries from a list.
    Subtract = 3,
}

impl Op {
    /// The operation with that code.
    pub const fn from_code(code: i8) -> Option<Self> {
        match code {
            0 => Some(Self::Set),
            1 => Some(Self::Delete),
            2 => Some(Self::Append),
            3 => Some(Self::Subtract),
            _ => None,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Set => "SET",
            Self::Delete => "DELETE",
            Self::Append => "APPEND",
            Self::Subtract => "SUBTRACT",
        }
    }
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The config's name.
    pub key: String,
    /// What to do with it.
    pub op: Op,
    /// The value; no matter to [`Op::Delete`].
    pub value: Option<String>,
}

/// Whose dynamic broker configs are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// One broker's.
    Broker,
    /// The cluster's defaults.
    ClusterDefault,
}

/// A change that is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AlterError {
    /// One key in two changes of a request.
    #[error("Error due to duplicate config keys: {0}")]
    DuplicateKey(String),
    /// A change without the value it needs.
    #[error("Null value not supported for: {0}")]
    NullValue(String),
    /// Adding to or taking from what is no list.
    #[error("Can't {op} to key {key} because its type is not LIST")]
    NotAList {
        /// The config's name.
        key: String,
        /// `APPEND` or `SUBTRACT`.
        op: &'static str,
    },
    /// A value longer than a metadata record can hold.
    #[error("The value of {key} has {len} bytes, the most are {VALUE_BYTES_MAX}")]
    TooLong {
        /// The config's name.
        key: String,
        /// Its length in bytes.
        len: usize,
    },
    /// Configs that only the broker's file can set.
    #[error("Cannot update these configs dynamically: {}", Names(.0))]
    NotDynamic(Vec<String>),
    /// TLS stores named without a listener.
    #[error(
        "These security configs can be dynamically updated only per-listener using the listener \
         prefix: {}", Names(.0)
    )]
    NeedsListener(Vec<String>),
    /// Configs that each broker has for itself.
    #[error(
        "Cannot update these configs at default cluster level, broker id must be specified: {}",
        Names(.0)
    )]
    NeedsBroker(Vec<String>),
    /// A bad topic config.
    #[error(transparent)]
    Topic(ConfigError),
    /// A bad group config.
    #[error(transparent)]
    Group(ConfigError),
    /// A bad broker config.
    #[error(transparent)]
    Broker(ConfigError),
}

impl AlterError {
    /// Whether the request is at fault (INVALID_REQUEST), and not a config in it (INVALID_CONFIG).
    pub const fn is_invalid_request(&self) -> bool {
        match self {
            Self::NotAList { .. } | Self::TooLong { .. } => false,
            Self::Topic(_) | Self::Group(_) => false,
            Self::DuplicateKey(_)
            | Self::NullValue(_)
            | Self::NotDynamic(_)
            | Self::NeedsListener(_)
            | Self::NeedsBroker(_)
            | Self::Broker(_) => true,
        }
    }
}

struct Names<'a>(&'a [String]);

impl std::fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "[{}]", self.0.join(", "))
    }
}

/// The longest value a metadata record holds, in bytes.
pub const VALUE_BYTES_MAX: usize = 32_767;

/// Applies changes to a topic's overrides and checks the outcome.
pub fn alter_topic(
    current: &BTreeMap<String, String>,
    changes: &[Change],
) -> Result<BTreeMap<String, String>, AlterError> {
    replace_topic(apply(current, changes, topic_def)?)
}

/// Checks a whole set of overrides, as the older AlterConfigs gives it.
pub fn replace_topic(
    overrides: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, AlterError> {
    check_lengths(&overrides)?;
    validate_topic_overrides(&overrides).map_err(AlterError::Topic)?;
    Ok(overrides)
}

/// Applies changes to a group's own configs and checks the outcome by what the broker allows.
///
/// As in Kafka, whose controller knows no types of them, entries are neither added to nor taken from
/// any: a list is set as a whole.
pub fn alter_group(
    broker: &BrokerConfig,
    current: &BTreeMap<String, String>,
    changes: &[Change],
) -> Result<BTreeMap<String, String>, AlterError> {
    let overrides = apply(current, changes, |_| None)?;
    check_lengths(&overrides)?;
    validate_group_overrides(&overrides, broker).map_err(AlterError::Group)?;
    Ok(overrides)
}

/// Applies changes to dynamic broker configs and checks each of the outcome for itself.
///
/// Names that are no configs are kept, as Kafka does for plugins. Whether the outcome fits the
/// broker it is meant for, only [`check_effective`] can say.
pub fn alter_broker(
    target: Target,
    current: &BTreeMap<String, String>,
    changes: &[Change],
) -> Result<BTreeMap<String, String>, AlterError> {
    let given = changes.iter().filter(|change| change.op != Op::Delete);
    let fixed = given.filter(|change| at_start_only(&change.key));
    let fixed: Vec<_> = fixed.map(|change| change.key.clone()).collect();
    if !fixed.is_empty() {
        return Err(AlterError::NotDynamic(fixed));
    }
    replace_broker(target, apply(current, changes, broker_def)?)
}

/// Checks a whole set of dynamic broker configs.
pub fn replace_broker(
    target: Target,
    configs: BTreeMap<String, String>,
) -> Result<BTreeMap<String, String>, AlterError> {
    check_lengths(&configs)?;
    let which = |refused: &dyn Fn(&str) -> bool| -> Vec<String> {
        configs.keys().filter(|key| refused(key)).cloned().collect()
    };
    let names = which(&|key| exact_broker_def(key).is_some_and(|d| d.dynamic == Scope::ReadOnly));
    if !names.is_empty() {
        return Err(AlterError::NotDynamic(names));
    }
    let names = which(&|key| PER_LISTENER.contains(&key));
    if !names.is_empty() {
        return Err(AlterError::NeedsListener(names));
    }
    for (key, value) in &configs {
        if let Some(def) = broker_def(key) {
            def.validate(value).map_err(AlterError::Broker)?;
        }
    }
    if target == Target::ClusterDefault {
        let names = which(&|key| scope(key) == Scope::PerBroker);
        if !names.is_empty() {
            return Err(AlterError::NeedsBroker(names));
        }
    }
    Ok(configs)
}

/// Dynamic configs of one broker, with the cluster's defaults they stand on.
#[derive(Clone, Copy, Debug)]
pub struct Dynamic<'a> {
    /// The broker's own.
    pub broker: &'a BTreeMap<String, String>,
    /// The cluster's defaults.
    pub default: &'a BTreeMap<String, String>,
}

impl Dynamic<'_> {
    fn over(&self, config: &BrokerConfig) -> BTreeMap<String, String> {
        let mut merged = config.explicit().clone();
        for map in [self.default, self.broker] {
            merged.extend(map.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        for def in dynamic_only_defs() {
            merged.remove(def.name);
        }
        merged
    }
}

/// A broker's configuration with its dynamic configs.
///
/// # Errors
/// The outcome is not a valid configuration.
pub fn effective(config: &BrokerConfig, dynamic: Dynamic<'_>) -> Result<BrokerConfig, ConfigError> {
    BrokerConfig::from_properties(&dynamic.over(config)).map(|(effective, _)| effective)
}

/// Checks dynamic configs as they would hold on one broker: values against each other, and pools of
/// threads, which may not change to less than half or more than double of what they are.
pub fn check_effective(
    config: &BrokerConfig,
    before: Dynamic<'_>,
    after: Dynamic<'_>,
) -> Result<(), AlterError> {
    let after = effective(config, after).map_err(AlterError::Broker)?;
    // What is in force was checked when it came into force; the file's stands in if it was not.
    let before = effective(config, before).unwrap_or_else(|_| config.clone());
    for key in POOLS {
        let (old, new) = (before.integer(key).unwrap_or(0), after.integer(key).unwrap_or(0));
        if new < old / 2 || new > old.saturating_mul(2) {
            let expected = format!("at least half and at most double of the current {old}");
            return Err(AlterError::Broker(ConfigError::bad(key, expected, &new.to_string())));
        }
    }
    check_local_retention(&after).map_err(AlterError::Broker)
}

/// What stays local of a tiered log must be part of it.
fn check_local_retention(config: &BrokerConfig) -> Result<(), ConfigError> {
    let set = |key| config.explicit().get(key).and_then(|_| config.integer(key));
    let minutes = |m: i64| m.saturating_mul(60_000);
    let whole_ms = set("log.retention.ms")
        .or_else(|| set("log.retention.minutes").map(minutes))
        .or_else(|| config.integer("log.retention.hours").map(|h| minutes(h.saturating_mul(60))));
    let pairs = [
        ("log.local.retention.ms", "log.retention.ms", whole_ms),
        ("log.local.retention.bytes", "log.retention.bytes", config.integer("log.retention.bytes")),
    ];
    for (key, whole_key, whole) in pairs {
        let (local, whole) = (config.integer(key).unwrap_or(-2), whole.unwrap_or(-1));
        if whole >= 0 && local != -2 && !(0..=whole).contains(&local) {
            let expected = format!("-2, or at most {whole_key}, which is {whole}");
            return Err(ConfigError::bad(key, expected, &local.to_string()));
        }
    }
    Ok(())
}

fn at_start_only(key: &str) -> bool {
    let of_listener = |base| LISTENER_AT_START_ONLY.contains(&base);
    AT_START_ONLY.contains(&key) || listener_base(key).is_some_and(of_listener)
}

/// Where a dynamic broker config may be set, listener prefixes included.
fn scope(key: &str) -> Scope {
    match (exact_broker_def(key), listener_base(key)) {
        (Some(def), _) => def.dynamic,
        (None, Some(base)) if !CLUSTER_LISTENER.contains(&base) => Scope::PerBroker,
        (None, _) => Scope::ClusterWide,
    }
}

fn check_lengths(configs: &BTreeMap<String, String>) -> Result<(), AlterError> {
    match configs.iter().find(|(_, value)| value.len() > VALUE_BYTES_MAX) {
        Some((key, value)) => Err(AlterError::TooLong { key: key.clone(), len: value.len() }),
        None => Ok(()),
    }
}

fn apply(
    current: &BTreeMap<String, String>,
    changes: &[Change],
    find: impl Fn(&str) -> Option<&'static ConfigDef>,
) -> Result<BTreeMap<String, String>, AlterError> {
    let mut keys = BTreeSet::new();
    let mut altered = current.clone();
    for Change { key, op, value } in changes {
        if !keys.insert(key) {
            return Err(AlterError::DuplicateKey(key.clone()));
        }
        if *op == Op::Delete {
            altered.remove(key);
            continue;
        }
        let value = value.as_ref().ok_or_else(|| AlterError::NullValue(key.clone()))?;
        let value = match op {
            Op::Set | Op::Delete => value.clone(),
            Op::Append | Op::Subtract => {
                let def = find(key)
                    .filter(|def| def.kind == Kind::List)
                    .ok_or_else(|| AlterError::NotAList { key: key.clone(), op: op.name() })?;
                let old = altered.get(key).map_or(def.default.unwrap_or(""), String::as_str);
                merge(old, value, *op)
            }
        };
        altered.insert(key.clone(), value);
    }
    Ok(altered)
}

/// Adds entries to a list or takes them from it.
fn merge(old: &str, entries: &str, op: Op) -> String {
    let mut list: Vec<&str> = split_list(old).filter(|entry| !entry.is_empty()).collect();
    for entry in split_list(entries).filter(|entry| !entry.is_empty()) {
        let at = list.iter().position(|present| *present == entry);
        match (op, at) {
            (Op::Append, None) => list.push(entry),
            (Op::Subtract, Some(at)) => drop(list.remove(at)),
            _ => {}
        }
    }
    list.join(",")
}

/// Configs that Kafka takes in while it runs and this broker when it starts: a change that is
/// accepted and shown has to count.
const AT_START_ONLY: [&str; 3] =
    ["listeners", "max.connection.creation.rate", "producer.id.expiration.ms"];

/// The same for configs of one listener.
const LISTENER_AT_START_ONLY: [&str; 2] = ["max.connection.creation.rate", "max.connections"];

/// Configs that may be changed only for one listener.
const PER_LISTENER: [&str; 10] = [
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.location",
    "ssl.keystore.password",
    "ssl.keystore.type",
    "ssl.truststore.certificates",
    "ssl.truststore.location",
    "ssl.truststore.password",
    "ssl.truststore.type",
];

/// Configs of a listener that may be set for the listeners of that name on all brokers.
const CLUSTER_LISTENER: [&str; 3] =
    ["max.connection.creation.rate", "max.connections", "num.network.threads"];

/// Pools of threads.
const POOLS: [&str; 6] = [
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
];

#[cfg(test)]
mod tests;

//! What DescribeConfigs answers.

use std::collections::{BTreeMap, BTreeSet};

use super::broker::BrokerConfig;
use super::def::{
    ConfigDef, Kind, Scope, broker_def, broker_defs, dohle_defs, exact_broker_def, group_defs,
    listener_base, topic_defs,
};
use super::topic::Layers;

/// Where a value comes from. The discriminants are DescribeConfigs' codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i8)]
pub enum Source {
    /// Set on the topic.
    Topic = 1,
    /// Set on the broker while it ran.
    DynamicBroker = 2,
    /// Set for all brokers while they ran.
    DynamicDefaultBroker = 3,
    /// Set in the broker's file.
    Static = 4,
    /// Nowhere set.
    Default = 5,
    /// A logger's level.
    DynamicBrokerLogger = 6,
    /// Set on a client metrics subscription.
    ClientMetrics = 7,
    /// Set on a group.
    Group = 8,
}

impl Source {
    /// The code in DescribeConfigs responses.
    pub const fn code(self) -> i8 {
        self as i8
    }
}

/// One value a config has somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SynonymEntry {
    /// The config's name there.
    pub name: String,
    /// The value; None if it must not be shown.
    pub value: Option<String>,
    /// Where it is set.
    pub source: Source,
}

/// One config of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigEntry {
    /// The name.
    pub name: String,
    /// The effective value; None if there is none, or if it must not be shown.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: Source,
    /// Whether it cannot be changed while the broker runs.
    pub read_only: bool,
    /// Whether the value must not be shown.
    pub sensitive: bool,
    /// The type; None for a config nobody has defined.
    pub kind: Option<Kind>,
    /// A line for people.
    pub doc: Option<&'static str>,
    /// All values in force or hidden by others, the strongest first.
    pub synonyms: Vec<SynonymEntry>,
}

impl ConfigEntry {
    /// The type's code in DescribeConfigs responses; 0 if it is unknown.
    pub fn kind_code(&self) -> i8 {
        self.kind.map_or(0, Kind::code)
    }
}

/// The configs of a topic, sorted by name.
pub fn describe_topic(
    topic: &BTreeMap<String, String>,
    dynamic_broker: &BTreeMap<String, String>,
    dynamic_default: &BTreeMap<String, String>,
    broker: &BrokerConfig,
) -> Vec<ConfigEntry> {
    let layers = Layers { own: topic, dynamic_broker, dynamic_default, broker };
    topic_defs()
        .iter()
        .filter(|def| !def.internal || topic.contains_key(def.name))
        .map(|def| layered_entry(def, Source::Topic, &layers))
        .collect()
}

/// The configs of a group, whether there is one of that name or not, sorted by name.
pub fn describe_group(
    group: &BTreeMap<String, String>,
    dynamic_broker: &BTreeMap<String, String>,
    dynamic_default: &BTreeMap<String, String>,
    broker: &BrokerConfig,
) -> Vec<ConfigEntry> {
    let layers = Layers { own: group, dynamic_broker, dynamic_default, broker };
    let shown = group_defs().iter().filter(|def| !def.internal || group.contains_key(def.name));
    shown.map(|def| group_entry(def, &layers)).collect()
}

/// What no broker config stands behind has its default for a synonym, which it has not in a topic.
fn group_entry(def: &ConfigDef, layers: &Layers<'_>) -> ConfigEntry {
    let mut entry = layered_entry(def, Source::Group, layers);
    if def.server_synonyms.is_empty() {
        let (name, value) = (def.name.to_owned(), def.default.map(str::to_owned));
        entry.synonyms.push(SynonymEntry { name, value, source: Source::Default });
    }
    entry
}

/// A config that is set on its own resource, or falls back to the broker's.
fn layered_entry(def: &ConfigDef, source: Source, layers: &Layers<'_>) -> ConfigEntry {
    let value = layers.resolve(def);
    let mut synonyms = Vec::new();
    if layers.own.contains_key(def.name) {
        let name = def.name.to_owned();
        synonyms.push(SynonymEntry { name, value: value.clone(), source });
    }
    if let Some(synonym) = def.server_synonyms.first() {
        synonyms.extend(broker_synonyms(synonym.name, layers));
    }
    ConfigEntry {
        name: def.name.to_owned(),
        value,
        source: synonyms.first().map_or(Source::Default, |s| s.source),
        read_only: false,
        sensitive: def.sensitive(),
        kind: Some(def.kind),
        doc: Some(def.doc),
        synonyms,
    }
}

/// The configs of a broker, sorted by name: all that are not internal, and all that are set.
pub fn describe_broker(
    dynamic_broker: &BTreeMap<String, String>,
    dynamic_default: &BTreeMap<String, String>,
    broker: &BrokerConfig,
) -> Vec<ConfigEntry> {
    let none = BTreeMap::new();
    let layers = Layers { own: &none, dynamic_broker, dynamic_default, broker };
    let defined = broker_defs().iter().chain(dohle_defs()).filter(|def| !def.internal);
    let mut names: BTreeSet<&str> = defined.map(|def| def.name).collect();
    for map in [dynamic_broker, dynamic_default, broker.explicit()] {
        names.extend(map.keys().map(String::as_str));
    }
    names.into_iter().map(|name| broker_entry(name, &layers)).collect()
}

/// The cluster's dynamic defaults of broker configs, sorted by name.
pub fn describe_cluster_default(
    dynamic_default: &BTreeMap<String, String>,
    broker: &BrokerConfig,
) -> Vec<ConfigEntry> {
    let none = BTreeMap::new();
    let layers = Layers { own: &none, dynamic_broker: &none, dynamic_default, broker };
    let mut entries: Vec<ConfigEntry> =
        dynamic_default.keys().map(|name| broker_entry(name, &layers)).collect();
    for entry in &mut entries {
        entry.synonyms.retain(|synonym| synonym.source == Source::DynamicDefaultBroker);
    }
    entries
}

fn broker_entry(name: &str, layers: &Layers<'_>) -> ConfigEntry {
    let def = broker_def(name);
    let sensitive = def.is_none_or(ConfigDef::sensitive);
    let synonyms = broker_synonyms(name, layers);
    let raw = broker_layers(layers)
        .into_iter()
        .find_map(|(map, _)| map.get(name).map(String::as_str))
        .or_else(|| layers.broker.default_of(name));
    let value = raw
        .map(|raw| def.and_then(|def| def.canonical(raw).ok()).unwrap_or_else(|| raw.to_owned()));
    ConfigEntry {
        name: name.to_owned(),
        value: value.filter(|_| !sensitive),
        source: synonyms.first().map_or(Source::Default, |s| s.source),
        read_only: exact_broker_def(name).is_none_or(|def| def.dynamic == Scope::ReadOnly),
        sensitive,
        kind: def.map(|def| def.kind),
        doc: def.map(|def| def.doc),
        synonyms,
    }
}

fn broker_layers<'a>(layers: &Layers<'a>) -> [(&'a BTreeMap<String, String>, Source); 3] {
    [
        (layers.dynamic_broker, Source::DynamicBroker),
        (layers.dynamic_default, Source::DynamicDefaultBroker),
        (layers.broker.explicit(), Source::Static),
    ]
}

/// The values of a broker config and of those that stand in for it, the strongest first.
///
/// As in Kafka, what precedes the first value under the config's own name is left out: a config
/// whose stand-in alone is set has no synonyms, and is described as a default.
fn broker_synonyms(name: &str, layers: &Layers<'_>) -> Vec<SynonymEntry> {
    let names = stand_ins(name);
    let sensitive = broker_def(name).is_none_or(ConfigDef::sensitive);
    let entry = |name: &str, value: &str, source| SynonymEntry {
        name: name.to_owned(),
        value: (!sensitive).then(|| value.to_owned()),
        source,
    };
    let mut found = Vec::new();
    for (map, source) in broker_layers(layers) {
        let set = names.iter().filter_map(|name| Some((name, map.get(*name)?)));
        found.extend(set.map(|(name, value)| entry(name, value, source)));
    }
    let defaults = names.iter().filter_map(|name| Some((name, layers.broker.default_of(name)?)));
    found.extend(defaults.map(|(name, value)| entry(name, value, Source::Default)));
    let own = found.iter().position(|synonym| synonym.name == name).unwrap_or(found.len());
    found.split_off(own)
}

/// The names under which a broker config may be set, the strongest first.
fn stand_ins(name: &str) -> Vec<&str> {
    match name {
        "log.roll.ms" | "log.roll.hours" => vec!["log.roll.ms", "log.roll.hours"],
        "log.roll.jitter.ms" | "log.roll.jitter.hours" => {
            vec!["log.roll.jitter.ms", "log.roll.jitter.hours"]
        }
        "log.retention.ms" | "log.retention.minutes" | "log.retention.hours" => {
            vec!["log.retention.ms", "log.retention.minutes", "log.retention.hours"]
        }
        "log.flush.interval.ms" => vec!["log.flush.interval.ms", "log.flush.scheduler.interval.ms"],
        _ => std::iter::once(name).chain(listener_base(name)).collect(),
    }
}

#[cfg(test)]
mod tests;

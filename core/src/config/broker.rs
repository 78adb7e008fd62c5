//! A broker's configuration, checked and typed.

use std::collections::BTreeMap;
use std::fmt;

use super::def::{
    ConfigDef, broker_def, exact_broker_def, host_port, near_broker_name, split_list, voter,
};
use super::error::{ConfigError, Warning};
use super::listener::{Endpoints, Listener, endpoints};
use super::rules;

/// A default of ours that differs from Kafka's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OurDefault {
    /// The broker config.
    pub key: &'static str,
    /// Our default.
    pub value: &'static str,
    /// Whether it holds only for a node that is its own quorum.
    pub single_node_only: bool,
    /// Why it differs.
    pub reason: &'static str,
}

/// Every default that differs from Kafka's, on purpose. All else is as in Kafka.
pub const OUR_DEFAULTS: &[OurDefault] = &[
    always("controller.listener.names", "CONTROLLER", "Kafka demands one; this is everyone's"),
    always("log.dirs", "./dohle-data", "Kafka's temporary directory does not outlive a reboot"),
    always("node.id", "1", "Kafka demands one; a single node needs none of its own choosing"),
    always("process.roles", "broker,controller", "Kafka demands them; a node works by itself"),
    OurDefault {
        key: "group.initial.rebalance.delay.ms",
        value: "100",
        single_node_only: true,
        reason: "where one starts a consumer by hand or in a test, three seconds are a long time",
    },
    OurDefault {
        key: "group.consumer.assignment.interval.ms",
        value: "100",
        single_node_only: true,
        reason: "as for the initial delay of a classic group: a second is a long time to wait by hand",
    },
    single("offsets.topic.replication.factor", "a topic cannot have more replicas than nodes"),
    single("share.coordinator.state.topic.min.isr", "one node has one in-sync replica"),
    single(
        "share.coordinator.state.topic.replication.factor",
        "a topic cannot have more replicas than nodes",
    ),
    single("transaction.state.log.min.isr", "one node has one in-sync replica"),
    single(
        "transaction.state.log.replication.factor",
        "a topic cannot have more replicas than nodes",
    ),
];

const fn always(key: &'static str, value: &'static str, reason: &'static str) -> OurDefault {
    OurDefault { key, value, single_node_only: false, reason }
}

const fn single(key: &'static str, reason: &'static str) -> OurDefault {
    OurDefault { key, value: "1", single_node_only: true, reason }
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Roles {
    /// It serves clients and holds partitions.
    pub broker: bool,
    /// It votes on the metadata and may lead the cluster.
    pub controller: bool,
}

/// A member of the static metadata quorum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Voter {
    /// Its node id.
    pub id: i32,
    /// Where its controller listener is.
    pub host: String,
    /// The port there.
    pub port: u16,
}

/// Properties as they were set. Debug output hides what must not be shown.
#[derive(Clone, PartialEq, Eq)]
struct Explicit(BTreeMap<String, String>);

impl fmt::Debug for Explicit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.iter().map(|(key, value)| {
            let hidden = broker_def(key).is_none_or(ConfigDef::sensitive);
            (key, if hidden { "[hidden]" } else { value.as_str() })
        });
        f.debug_map().entries(shown).finish()
    }
}

/// A broker's static configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokerConfig {
    explicit: Explicit,
    /// `node.id`.
    pub node_id: i32,
    /// `process.roles`.
    pub process_roles: Roles,
    /// `broker.rack`.
    pub rack: Option<String>,
    /// `listeners`, controllers' among them.
    pub listeners: Vec<Listener>,
    /// `advertised.listeners`, without controllers'; None if it is not set.
    /// [`Self::advertised`] fills in.
    pub advertised_listeners: Option<Vec<Listener>>,
    /// `controller.listener.names`, in upper case.
    pub controller_listener_names: Vec<String>,
    /// `inter.broker.listener.name`, or the name of `security.inter.broker.protocol`.
    pub inter_broker_listener_name: String,
    /// `controller.quorum.voters`; empty: this node alone, or whom the bootstrap servers name.
    pub controller_quorum_voters: Vec<Voter>,
    /// `controller.quorum.bootstrap.servers`.
    pub controller_quorum_bootstrap_servers: Vec<(String, u16)>,
    /// `log.dirs`, or else `log.dir`.
    pub log_dirs: Vec<String>,
    /// `metadata.log.dir`, or else the first of `log.dirs`.
    pub metadata_log_dir: String,
    /// `dohle.shards`; 0: one for each core.
    pub shards: u32,
    /// `dohle.admin.listeners`: where metrics and health are served.
    pub admin_listeners: Vec<(String, u16)>,
    /// `dohle.unflushed.bytes`; 0: no limit.
    pub unflushed_bytes: i32,
    /// `dohle.scrub.max.bytes.per.second`, for each data directory; 0: closed segments are not
    /// searched for damage.
    pub scrub_max_bytes_per_second: u64,
    /// `dohle.scrub.interval.ms`: the pause between two searches.
    pub scrub_interval_ms: i64,
    /// `num.partitions`.
    pub num_partitions: i32,
    /// `default.replication.factor`.
    pub default_replication_factor: i32,
    /// `auto.create.topics.enable`.
    pub auto_create_topics_enable: bool,
    /// `delete.topic.enable`.
    pub delete_topic_enable: bool,
    /// Whether `group.coordinator.rebalance.protocols` has `consumer`.
    pub consumer_protocol: bool,
    /// `message.max.bytes`.
    pub message_max_bytes: i32,
    /// `fetch.max.bytes`.
    pub fetch_max_bytes: i32,
    /// `max.incremental.fetch.session.cache.slots`.
    pub max_incremental_fetch_session_cache_slots: i32,
    /// `max.request.partition.size.limit`.
    pub max_request_partition_size_limit: i32,
    /// `socket.request.max.bytes`.
    pub socket_request_max_bytes: i32,
    /// `connections.max.idle.ms`; None: connections may idle for ever.
    pub connections_max_idle_ms: Option<i64>,
    /// `max.connections`.
    pub max_connections: i32,
    /// `max.connections.per.ip`.
    pub max_connections_per_ip: i32,
    /// `max.connections.per.ip.overrides`.
    pub max_connections_per_ip_overrides: BTreeMap<String, i32>,
    /// `queued.max.requests`.
    pub queued_max_requests: i32,
    /// `queued.max.request.bytes`; None: no limit.
    pub queued_max_request_bytes: Option<i64>,
    /// `request.timeout.ms`.
    pub request_timeout_ms: i64,
    /// `log.flush.offset.checkpoint.interval.ms`.
    pub log_flush_offset_checkpoint_interval_ms: i64,
    /// `log.retention.check.interval.ms`.
    pub log_retention_check_interval_ms: i64,
    /// `log.segment.delete.delay.ms`.
    pub log_segment_delete_delay_ms: i64,
    /// `num.recovery.threads.per.data.dir`.
    pub num_recovery_threads_per_data_dir: i32,
    /// `producer.id.expiration.ms`.
    pub producer_id_expiration_ms: i64,
    /// `metadata.log.segment.bytes`, or `internal.metadata.log.segment.bytes` if that is set.
    pub metadata_log_segment_bytes: i32,
    /// `metadata.log.segment.ms`.
    pub metadata_log_segment_ms: i64,
    /// `metadata.log.max.record.bytes.between.snapshots`.
    pub metadata_log_max_record_bytes_between_snapshots: i64,
    /// `metadata.log.max.snapshot.interval.ms`; None: snapshots by size only.
    pub metadata_log_max_snapshot_interval_ms: Option<i64>,
    /// `metadata.max.retention.bytes`; None: no limit.
    pub metadata_max_retention_bytes: Option<i64>,
    /// `metadata.max.retention.ms`; None: no limit.
    pub metadata_max_retention_ms: Option<i64>,
    /// `metadata.max.idle.interval.ms`; None: no records while idle.
    pub metadata_max_idle_interval_ms: Option<i64>,
}

impl Default for BrokerConfig {
    /// A single node with nothing configured.
    fn default() -> Self {
        match Self::from_properties(&BTreeMap::new()) {
            Ok((config, _)) => config,
            Err(error) => unreachable!("the defaults are a valid configuration: {error}"),
        }
    }
}

impl BrokerConfig {
    /// Checks properties and types them. Keys that nothing reads are warned of.
    pub fn from_properties(
        properties: &BTreeMap<String, String>,
    ) -> Result<(Self, Vec<Warning>), ConfigError> {
        let mut warnings = Vec::new();
        for (key, value) in properties {
            match broker_def(key) {
                Some(def) => def.validate(value).map_err(|error| rename(error, key))?,
                None if is_plugin_key(key) => {}
                None => {
                    let near = near_broker_name(key);
                    warnings.push(Warning::UnknownKey { key: key.clone(), near });
                }
            }
        }
        let mut explicit = properties.clone();
        join_ids(&mut explicit)?;
        let config = Self::typed(explicit)?;
        rules::check(&config)?;
        rules::check_cluster(&config)?;
        Ok((config, warnings))
    }

    /// The properties as they were set, with `node.id` and `broker.id` each standing for the other.
    pub const fn explicit(&self) -> &BTreeMap<String, String> {
        &self.explicit.0
    }

    /// Whether this node is its own quorum: neither `controller.quorum.voters` nor
    /// `controller.quorum.bootstrap.servers` is set.
    pub fn single_node(&self) -> bool {
        is_single_node(&self.explicit.0)
    }

    /// The listeners to tell clients and brokers of: those of `advertised.listeners`, or if it is
    /// not set those of `listeners` that are not controllers'. An empty host stands for the address
    /// the client dialled.
    pub fn advertised(&self) -> Vec<Listener> {
        if let Some(listeners) = &self.advertised_listeners {
            return listeners.clone();
        }
        let controllers = &self.controller_listener_names;
        let mut listeners = self.listeners.clone();
        listeners.retain(|listener| !controllers.contains(&listener.name));
        for listener in listeners.iter_mut().filter(|listener| listener.any_host()) {
            listener.host.clear();
        }
        listeners
    }

    /// The default of a broker config on this node: ours, or else Kafka's.
    pub fn default_of(&self, key: &str) -> Option<&'static str> {
        default_of(&self.explicit.0, key)
    }

    /// The effective static value of a broker config, as set or by default.
    pub fn value(&self, key: &str) -> Option<&str> {
        value(&self.explicit.0, key)
    }

    /// The effective static value of a broker config that is an integer.
    pub fn integer(&self, key: &str) -> Option<i64> {
        integer(&self.explicit.0, key)
    }

    /// The value of a text config, by name.
    #[must_use]
    pub fn text(&self, key: &str) -> String {
        Reader(&self.explicit.0).text(key)
    }

    /// The values of a list config, by name.
    #[must_use]
    pub fn list(&self, key: &str) -> Vec<String> {
        Reader(&self.explicit.0).list(key)
    }

    fn typed(explicit: BTreeMap<String, String>) -> Result<Self, ConfigError> {
        let read = Reader(&explicit);
        let roles = read.list("process.roles");
        let has_role = |role: &str| roles.iter().any(|r| r == role);
        let controller_listener_names: Vec<String> =
            read.list("controller.listener.names").iter().map(|n| n.to_ascii_uppercase()).collect();
        let Endpoints { listeners, advertised, between } =
            endpoints(&explicit, &controller_listener_names)?;
        let log_dirs = log_dirs(&explicit);
        let metadata_log_dir = read.text("metadata.log.dir");
        Ok(Self {
            node_id: read.int("node.id"),
            process_roles: Roles { broker: has_role("broker"), controller: has_role("controller") },
            rack: Some(read.text("broker.rack")).filter(|rack| !rack.is_empty()),
            listeners,
            advertised_listeners: advertised,
            controller_listener_names,
            inter_broker_listener_name: between,
            controller_quorum_voters: voters(&read.list("controller.quorum.voters")),
            controller_quorum_bootstrap_servers: servers(
                &read.list("controller.quorum.bootstrap.servers"),
            ),
            metadata_log_dir: if metadata_log_dir.is_empty() {
                log_dirs.first().cloned().unwrap_or_default()
            } else {
                metadata_log_dir
            },
            log_dirs,
            shards: u32::try_from(read.int("dohle.shards")).unwrap_or(0),
            admin_listeners: servers(&read.list("dohle.admin.listeners")),
            unflushed_bytes: read.int("dohle.unflushed.bytes"),
            scrub_max_bytes_per_second: u64::try_from(
                read.integer("dohle.scrub.max.bytes.per.second"),
            )
            .unwrap_or(0),
            scrub_interval_ms: read.integer("dohle.scrub.interval.ms"),
            num_partitions: read.int("num.partitions"),
            default_replication_factor: read.int("default.replication.factor"),
            auto_create_topics_enable: read.boolean("auto.create.topics.enable"),
            delete_topic_enable: read.boolean("delete.topic.enable"),
            consumer_protocol: read
                .list("group.coordinator.rebalance.protocols")
                .iter()
                .any(|protocol| protocol == "consumer"),
            message_max_bytes: read.int("message.max.bytes"),
            fetch_max_bytes: read.int("fetch.max.bytes"),
            max_incremental_fetch_session_cache_slots: read
                .int("max.incremental.fetch.session.cache.slots"),
            max_request_partition_size_limit: read.int("max.request.partition.size.limit"),
            socket_request_max_bytes: read.int("socket.request.max.bytes"),
            connections_max_idle_ms: read.limit("connections.max.idle.ms"),
            max_connections: read.int("max.connections"),
            max_connections_per_ip: read.int("max.connections.per.ip"),
            max_connections_per_ip_overrides: connection_overrides(
                &read.text("max.connections.per.ip.overrides"),
            )?,
            queued_max_requests: read.int("queued.max.requests"),
            queued_max_request_bytes: read.limit("queued.max.request.bytes").filter(|b| *b > 0),
            request_timeout_ms: read.integer("request.timeout.ms"),
            log_flush_offset_checkpoint_interval_ms: read
                .integer("log.flush.offset.checkpoint.interval.ms"),
            log_retention_check_interval_ms: read.integer("log.retention.check.interval.ms"),
            log_segment_delete_delay_ms: read.integer("log.segment.delete.delay.ms"),
            num_recovery_threads_per_data_dir: read.int("num.recovery.threads.per.data.dir"),
            producer_id_expiration_ms: read.integer("producer.id.expiration.ms"),
            metadata_log_segment_bytes: match read.int("internal.metadata.log.segment.bytes") {
                0 => read.int("metadata.log.segment.bytes"),
                bytes => bytes,
            },
            metadata_log_segment_ms: read.integer("metadata.log.segment.ms"),
            metadata_log_max_record_bytes_between_snapshots: read
                .integer("metadata.log.max.record.bytes.between.snapshots"),
            metadata_log_max_snapshot_interval_ms: read
                .limit("metadata.log.max.snapshot.interval.ms")
                .filter(|ms| *ms > 0),
            metadata_max_retention_bytes: read.limit("metadata.max.retention.bytes"),
            metadata_max_retention_ms: read.limit("metadata.max.retention.ms"),
            metadata_max_idle_interval_ms: read
                .limit("metadata.max.idle.interval.ms")
                .filter(|ms| *ms > 0),
            explicit: Explicit(explicit),
        })
    }
}

/// Reads checked properties; integers out of a type's range become its limits.
struct Reader<'a>(&'a BTreeMap<String, String>);

impl Reader<'_> {
    fn text(&self, key: &str) -> String {
        value(self.0, key).map_or_else(String::new, |v| v.trim().to_owned())
    }

    fn list(&self, key: &str) -> Vec<String> {
        let raw = value(self.0, key).unwrap_or_default();
        exact_broker_def(key).map(|def| def.list(raw)).unwrap_or_default()
    }

    fn boolean(&self, key: &str) -> bool {
        self.text(key).eq_ignore_ascii_case("true")
    }

    fn int(&self, key: &str) -> i32 {
        let value = self.integer(key);
        i32::try_from(value).unwrap_or(if value < 0 { i32::MIN } else { i32::MAX })
    }

    fn integer(&self, key: &str) -> i64 {
        integer(self.0, key).unwrap_or(0)
    }

    /// None for what is negative, Kafka's way of saying "no limit".
    fn limit(&self, key: &str) -> Option<i64> {
        Some(self.integer(key)).filter(|limit| *limit >= 0)
    }
}

pub(super) fn value<'a>(explicit: &'a BTreeMap<String, String>, key: &str) -> Option<&'a str> {
    explicit.get(key).map(String::as_str).or_else(|| default_of(explicit, key))
}

fn integer(explicit: &BTreeMap<String, String>, key: &str) -> Option<i64> {
    value(explicit, key)?.trim().parse().ok()
}

fn default_of(explicit: &BTreeMap<String, String>, key: &str) -> Option<&'static str> {
    if key == "log.dirs" && explicit.contains_key("log.dir") {
        return None;
    }
    OUR_DEFAULTS
        .iter()
        .find(|ours| ours.key == key && (!ours.single_node_only || is_single_node(explicit)))
        .map(|ours| ours.value)
        .or_else(|| exact_broker_def(key)?.default)
}

fn is_single_node(explicit: &BTreeMap<String, String>) -> bool {
    ["controller.quorum.voters", "controller.quorum.bootstrap.servers"]
        .iter()
        .all(|key| explicit.get(*key).is_none_or(|value| value.trim().is_empty()))
}

/// Keys that Kafka hands to plugins and that are no mistakes for not being configs.
fn is_plugin_key(key: &str) -> bool {
    const NAMES: [&str; 2] = ["allow.everyone.if.no.acl.found", "super.users"];
    const PREFIXES: [&str; 3] = ["config.providers.", "rlmm.config.", "rsm.config."];
    NAMES.contains(&key) || PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

/// Names the key as the user wrote it, with its listener prefix.
fn rename(error: ConfigError, written: &str) -> ConfigError {
    match error {
        ConfigError::BadValue { expected, found, .. } => {
            ConfigError::BadValue { key: written.to_owned(), expected, found }
        }
        other => other,
    }
}

/// Makes `node.id` and its older name `broker.id` agree.
fn join_ids(explicit: &mut BTreeMap<String, String>) -> Result<(), ConfigError> {
    let of = |key| integer(explicit, key).filter(|_| explicit.contains_key(key));
    let (node, broker) = (of("node.id"), of("broker.id"));
    let id = match (node, broker) {
        (None, None) => return Ok(()),
        (Some(node), Some(broker)) if node != broker => {
            return Err(ConfigError::Conflict(format!(
                "node.id ({node}) and broker.id ({broker}) must be the same; \
                 broker.id is the older name, leave it out"
            )));
        }
        (Some(id), _) | (_, Some(id)) => id.to_string(),
    };
    if let Some(def) = exact_broker_def("node.id") {
        def.validate(&id)?;
    }
    explicit.insert("node.id".into(), id.clone());
    explicit.insert("broker.id".into(), id);
    Ok(())
}

fn log_dirs(explicit: &BTreeMap<String, String>) -> Vec<String> {
    let key = if !explicit.contains_key("log.dirs") && explicit.contains_key("log.dir") {
        "log.dir"
    } else {
        "log.dirs"
    };
    Reader(explicit).list(key)
}

fn voters(entries: &[String]) -> Vec<Voter> {
    entries
        .iter()
        .filter_map(|entry| voter(entry))
        .map(|(id, host, port)| Voter { id, host: host.to_owned(), port })
        .collect()
}

fn servers(entries: &[String]) -> Vec<(String, u16)> {
    entries
        .iter()
        .filter_map(|entry| host_port(entry))
        .map(|(host, port)| (host.to_owned(), port))
        .collect()
}

fn connection_overrides(raw: &str) -> Result<BTreeMap<String, i32>, ConfigError> {
    split_list(raw)
        .map(|entry| {
            let parsed = entry.rsplit_once(':').and_then(|(address, count)| {
                let count = count.trim().parse::<i32>().ok().filter(|c| *c >= 0)?;
                Some((address.trim().to_owned(), count))
            });
            parsed.filter(|(address, _)| !address.is_empty()).ok_or_else(|| {
                let expected = "a comma-separated list of {address}:{count}";
                ConfigError::bad("max.connections.per.ip.overrides", expected, entry)
            })
        })
        .collect()
}

#[cfg(test)]
mod tests;

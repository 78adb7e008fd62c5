//! Rules of broker configs that concern more than one of them, or more than their type.

use super::broker::BrokerConfig;
use super::def::split_list;
use super::error::ConfigError;

/// Pairs in which the first must not exceed the second.
const AT_MOST: [(&str, &str); 35] = [
    ("replica.fetch.wait.max.ms", "replica.socket.timeout.ms"),
    ("replica.fetch.wait.max.ms", "replica.lag.time.max.ms"),
    ("group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"),
    ("group.consumer.min.heartbeat.interval.ms", "group.consumer.heartbeat.interval.ms"),
    ("group.consumer.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"),
    ("group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"),
    ("group.consumer.min.session.timeout.ms", "group.consumer.session.timeout.ms"),
    ("group.consumer.session.timeout.ms", "group.consumer.max.session.timeout.ms"),
    ("group.consumer.min.assignment.interval.ms", "group.consumer.assignment.interval.ms"),
    ("group.consumer.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"),
    ("group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"),
    ("group.share.min.heartbeat.interval.ms", "group.share.heartbeat.interval.ms"),
    ("group.share.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"),
    ("group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"),
    ("group.share.min.session.timeout.ms", "group.share.session.timeout.ms"),
    ("group.share.session.timeout.ms", "group.share.max.session.timeout.ms"),
    ("group.share.min.assignment.interval.ms", "group.share.assignment.interval.ms"),
    ("group.share.assignment.interval.ms", "group.share.max.assignment.interval.ms"),
    ("group.share.min.delivery.count.limit", "group.share.delivery.count.limit"),
    ("group.share.delivery.count.limit", "group.share.max.delivery.count.limit"),
    ("group.share.min.record.lock.duration.ms", "group.share.record.lock.duration.ms"),
    ("group.share.record.lock.duration.ms", "group.share.max.record.lock.duration.ms"),
    ("group.share.min.partition.max.record.locks", "group.share.partition.max.record.locks"),
    ("group.share.partition.max.record.locks", "group.share.max.partition.max.record.locks"),
    ("group.streams.min.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms"),
    ("group.streams.min.heartbeat.interval.ms", "group.streams.heartbeat.interval.ms"),
    ("group.streams.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms"),
    ("group.streams.min.session.timeout.ms", "group.streams.max.session.timeout.ms"),
    ("group.streams.min.session.timeout.ms", "group.streams.session.timeout.ms"),
    ("group.streams.session.timeout.ms", "group.streams.max.session.timeout.ms"),
    ("group.streams.min.assignment.interval.ms", "group.streams.assignment.interval.ms"),
    ("group.streams.assignment.interval.ms", "group.streams.max.assignment.interval.ms"),
    ("group.streams.num.standby.replicas", "group.streams.max.standby.replicas"),
    ("group.streams.num.warmup.replicas", "group.streams.max.warmup.replicas"),
    ("group.streams.min.task.offset.interval.ms", "group.streams.task.offset.interval.ms"),
];

/// Pairs in which the first must be less than the second.
const LESS_THAN: [(&str, &str); 3] = [
    ("group.consumer.heartbeat.interval.ms", "group.consumer.session.timeout.ms"),
    ("group.share.heartbeat.interval.ms", "group.share.session.timeout.ms"),
    ("group.streams.heartbeat.interval.ms", "group.streams.session.timeout.ms"),
];

/// Checks everything but listeners and the quorum.
pub(super) fn check(config: &BrokerConfig) -> Result<(), ConfigError> {
    check_pairs(config)?;
    check_values(config)?;
    check_protocols(config)?;
    check_sizes(config)
}

fn conflict(message: String) -> Result<(), ConfigError> {
    Err(ConfigError::Conflict(message))
}

fn check_pairs(config: &BrokerConfig) -> Result<(), ConfigError> {
    let value = |key| config.integer(key).unwrap_or(0);
    for (low, high) in AT_MOST {
        let (a, b) = (value(low), value(high));
        if a > b {
            return conflict(format!("{low} ({a}) must be at most {high} ({b})"));
        }
    }
    for (low, high) in LESS_THAN {
        let (a, b) = (value(low), value(high));
        if a >= b {
            return conflict(format!("{low} ({a}) must be less than {high} ({b})"));
        }
    }
    Ok(())
}

fn check_values(config: &BrokerConfig) -> Result<(), ConfigError> {
    let set = |key| config.explicit().get(key).and_then(|_| config.integer(key));
    let bad = |key, expected, found: i64| Err(ConfigError::bad(key, expected, &found.to_string()));
    let retention = ["log.retention.ms", "log.retention.minutes", "log.retention.hours"];
    if let Some((key, 0)) = retention.iter().find_map(|key| Some((*key, set(*key)?))) {
        return bad(key, "-1 for no limit, or at least 1", 0);
    }
    if let Some(ms @ ..=0) = set("log.roll.ms") {
        return bad("log.roll.ms", "at least 1", ms);
    }
    if let Some(ms @ ..0) = set("log.roll.jitter.ms") {
        return bad("log.roll.jitter.ms", "at least 0", ms);
    }
    for key in
        ["offsets.topic.compression.codec", "share.coordinator.state.topic.compression.codec"]
    {
        match set(key) {
            None | Some(0..=4) => {}
            Some(id) => return bad(key, "a codec id from 0 to 4", id),
        }
    }
    Ok(())
}

/// Groups of the classic protocol are always served (Kafka's `KafkaConfig`).
fn check_protocols(config: &BrokerConfig) -> Result<(), ConfigError> {
    let key = "group.coordinator.rebalance.protocols";
    let protocols = config.list(key);
    match protocols.iter().any(|protocol| protocol == "classic") {
        true => Ok(()),
        false => Err(ConfigError::bad(key, "a list that has classic in it", &protocols.join(","))),
    }
}

fn check_sizes(config: &BrokerConfig) -> Result<(), ConfigError> {
    let value = |key| config.integer(key).unwrap_or(0);
    let (queued, request) = (value("queued.max.request.bytes"), value("socket.request.max.bytes"));
    if queued > 0 && queued < request {
        return conflict(format!(
            "queued.max.request.bytes ({queued}) must be at least socket.request.max.bytes \
             ({request}), or not positive for no limit"
        ));
    }
    if config.max_connections_per_ip == 0 && config.max_connections_per_ip_overrides.is_empty() {
        return conflict(
            "max.connections.per.ip may be 0 only if max.connections.per.ip.overrides is set"
                .into(),
        );
    }
    let idle = value("connections.max.idle.ms");
    let delay = value("connection.failed.authentication.delay.ms");
    if idle > 0 && delay >= idle {
        return conflict(format!(
            "connection.failed.authentication.delay.ms ({delay}) must be less than \
             connections.max.idle.ms ({idle}), or failures are never told"
        ));
    }
    let threads = value("log.cleaner.threads");
    let buffer = value("log.cleaner.dedupe.buffer.size");
    if threads > 0 && buffer / threads <= 1024 * 1024 {
        return conflict(format!(
            "log.cleaner.dedupe.buffer.size ({buffer}) must be more than 1 MiB for each of \
             log.cleaner.threads ({threads})"
        ));
    }
    Ok(())
}

/// Checks the names of listeners against each other, and the quorum against this node.
pub(super) fn check_cluster(config: &BrokerConfig) -> Result<(), ConfigError> {
    let is_controller_name = |name: &String| config.controller_listener_names.contains(name);
    let roles = config.process_roles;
    if config.advertised().is_empty() && roles.broker {
        return conflict(
            "advertised.listeners: no listener is left for clients; are all of them in \
             controller.listener.names?"
                .into(),
        );
    }
    let is_listener = |name: &String| config.listeners.iter().any(|l| l.name == *name);
    let advertised = config.advertised_listeners.iter().flatten();
    if let Some(other) = advertised.map(|l| &l.name).find(|name| !is_listener(name)) {
        return conflict(format!("advertised.listeners: {other} is not one of listeners"));
    }
    if !roles.broker && config.listeners.iter().any(|l| !is_controller_name(&l.name)) {
        return conflict(
            "listeners may name only controller.listener.names if process.roles is controller"
                .into(),
        );
    }
    for name in split_list(config.explicit().get("early.start.listeners").map_or("", |v| v)) {
        let name = name.to_ascii_uppercase();
        if !is_listener(&name) && !is_controller_name(&name) {
            return conflict(format!("early.start.listeners: {name} is not one of listeners"));
        }
    }
    if config.single_node() {
        return if roles.controller && roles.broker {
            Ok(())
        } else {
            conflict(
                "process.roles: a node that is not both broker and controller needs \
                 controller.quorum.bootstrap.servers or controller.quorum.voters"
                    .into(),
            )
        };
    }
    check_quorum(config)
}

fn check_quorum(config: &BrokerConfig) -> Result<(), ConfigError> {
    let id = config.node_id;
    let is_voter = config.controller_quorum_voters.iter().any(|voter| voter.id == id);
    if !config.controller_quorum_voters.is_empty() {
        if config.process_roles.controller && !is_voter {
            return conflict(format!("controller.quorum.voters must name this node ({id})"));
        }
        if !config.process_roles.controller && is_voter {
            return conflict(format!(
                "controller.quorum.voters must not name this node ({id}): it is only a broker"
            ));
        }
    }
    let others = config.controller_quorum_voters.iter().any(|voter| voter.id != id);
    let names = &config.controller_listener_names;
    if config.process_roles.controller
        && others
        && !config.listeners.iter().any(|l| names.contains(&l.name))
    {
        return conflict(format!(
            "listeners must have one of controller.listener.names ({}) for the other voters",
            names.join(", ")
        ));
    }
    let between = &config.inter_broker_listener_name;
    if config.process_roles.broker && !config.advertised().iter().any(|l| l.name == *between) {
        return conflict(format!(
            "inter.broker.listener.name: {between} is not one of advertised.listeners"
        ));
    }
    Ok(())
}

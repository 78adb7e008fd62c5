//! The broker configs of Kafka 4.4, sorted by name.

use super::def::{
    COMPRESSION, Check, ConfigDef, Kind, Scope, broker_rows, default_of, is_internal,
};

const PROTOCOLS: &[&str] = &["consumer", "classic", "share", "streams"];
const MIGRATION: &[&str] = &["DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"];

// Each row: name, kind, default, check, where it may be changed while running; then the doc.
broker_rows! {
    "add.partitions.to.txn.retry.backoff.max.ms", Int, "100", AtLeast(0), ReadOnly,
        "Longest time a retried AddPartitionsToTxn waits (ms).";
    "add.partitions.to.txn.retry.backoff.ms", Int, "20", AtLeast(1), ReadOnly,
        "Pause between server-side retries of AddPartitionsToTxn (ms).";
    "advertised.listeners", List, null, NonEmptyList(&[]), ReadOnly,
        "Addresses given to clients; unset: the address each client dialled.";
    "alter.config.policy.class.name", Class, null, Any, ReadOnly,
        "Class that may veto config changes.";
    "alter.log.dirs.replication.quota.window.num", Int, "11", AtLeast(1), ReadOnly,
        "Samples kept for the quota on moves between log dirs.";
    "alter.log.dirs.replication.quota.window.size.seconds", Int, "1", AtLeast(1), ReadOnly,
        "Length of one such sample (s).";
    "authorizer.class.name", String, "", Any, ReadOnly,
        "Authorizer class; empty: everything is allowed.";
    "auto.create.topics.enable", Boolean, "true", Any, ReadOnly,
        "Create a topic when a client asks for an unknown one.";
    "auto.leader.rebalance.enable", Boolean, "true", Any, ReadOnly,
        "Move leadership back to preferred replicas in the background.";
    "background.threads", Int, "10", AtLeast(1), ClusterWide,
        "Threads for background work.";
    "broker.heartbeat.interval.ms", Int, "2000", Any, ReadOnly,
        "Time between heartbeats to the controller (ms).";
    "broker.id", Int, "-1", Any, ReadOnly,
        "Older name of node.id.";
    "broker.rack", String, null, Any, ReadOnly,
        "Rack or zone of this broker, for replica placement and nearest reads.";
    "broker.session.timeout.ms", Int, "9000", Any, ReadOnly,
        "Silence after which the controller fences a broker (ms).";
    "client.quota.callback.class", Class, null, Any, ReadOnly,
        "Class that computes client quotas.";
    "compression.gzip.level", Int, "-1", GzipLevel, ClusterWide,
        "gzip level when the broker compresses: 1 to 9, or -1 for the default.";
    "compression.lz4.level", Int, "9", Between(1, 17), ClusterWide,
        "lz4 level when the broker compresses.";
    "compression.type", String, "producer", OneOf(COMPRESSION), ClusterWide,
        "Codec stored batches use; producer keeps what was sent.";
    "compression.zstd.level", Int, "3", Between(-131_072, 22), ClusterWide,
        "zstd level when the broker compresses.";
    "config.providers", List, "", List(&[]), ClusterWide,
        "Names of providers that resolve ${...} in values.";
    "connection.failed.authentication.delay.ms", Int, "100", AtLeast(0), ReadOnly,
        "Delay before a connection that failed to authenticate is closed (ms).";
    "connections.max.idle.ms", Long, "600000", Any, ReadOnly,
        "Idle time after which a connection is closed (ms); negative: never.";
    "connections.max.reauth.ms", Long, "0", Any, ReadOnly,
        "Longest life of a SASL session before it must re-authenticate (ms); 0: unlimited.";
    "controlled.shutdown.enable", Boolean, "true", Any, ReadOnly,
        "Hand leadership over before stopping.";
    "controller.listener.names", List, null, NonEmptyList(&[]), ReadOnly,
        "Names of the listeners the controller uses.";
    "controller.performance.always.log.threshold.ms", Long, "2000", AtLeast(0), ReadOnly internal,
        "Controller events slower than this are logged (ms).";
    "controller.performance.sample.period.ms", Long, "60000", AtLeast(100), ReadOnly internal,
        "Time between reports of controller event times (ms).";
    "controller.quorum.append.linger.ms", Int, "25", AtLeast(0), ReadOnly,
        "Time the quorum leader gathers records before writing (ms).";
    "controller.quorum.auto.join.enable", Boolean, "false", Any, ReadOnly,
        "A new controller joins the voters by itself.";
    "controller.quorum.bootstrap.servers", List, "", HostPorts, ReadOnly,
        "host:port list at which the quorum is found.";
    "controller.quorum.election.backoff.max.ms", Int, "1000", AtLeast(0), ReadOnly,
        "Longest random pause before another election (ms).";
    "controller.quorum.election.timeout.ms", Int, "1000", AtLeast(0), ReadOnly,
        "Time without a leader before an election starts (ms).";
    "controller.quorum.fetch.max.bytes", Int, "1048576", AtLeast(1), ReadOnly,
        "Most bytes of one metadata fetch.";
    "controller.quorum.fetch.snapshot.max.bytes", Int, "1048576", AtLeast(1), ReadOnly,
        "Most bytes of one metadata snapshot fetch.";
    "controller.quorum.fetch.timeout.ms", Int, "2000", AtLeast(0), ReadOnly,
        "Silence before a follower campaigns or a leader resigns (ms).";
    "controller.quorum.request.timeout.ms", Int, "2000", AtLeast(0), ReadOnly,
        "Longest wait for a quorum response (ms).";
    "controller.quorum.retry.backoff.ms", Int, "20", AtLeast(0), ReadOnly,
        "Pause before a quorum request is retried (ms).";
    "controller.quorum.voters", List, "", QuorumVoters, ReadOnly,
        "Static voters as id@host:port; empty: this node alone.";
    "controller.quota.window.num", Int, "11", AtLeast(1), ReadOnly,
        "Samples kept for the controller mutation quota.";
    "controller.quota.window.size.seconds", Int, "1", AtLeast(1), ReadOnly,
        "Length of one controller mutation sample (s).";
    "controller.socket.timeout.ms", Int, "30000", Any, ReadOnly,
        "Socket timeout of requests to the controller (ms).";
    "cordoned.log.dirs", List, "", List(&[]), PerBroker,
        "Log dirs that take no new partitions; * for all.";
    "create.topic.policy.class.name", Class, null, Any, ReadOnly,
        "Class that may veto topic creation.";
    "default.replication.factor", Int, "1", Any, ReadOnly,
        "Replicas of a topic that does not say; also of auto-created ones.";
    "delegation.token.expiry.check.interval.ms", Long, "3600000", AtLeast(1), ReadOnly,
        "Time between removals of expired delegation tokens (ms).";
    "delegation.token.expiry.time.ms", Long, "86400000", AtLeast(1), ReadOnly,
        "Life of a delegation token between renewals (ms).";
    "delegation.token.max.lifetime.ms", Long, "604800000", AtLeast(1), ReadOnly,
        "Longest life of a delegation token, renewed or not (ms).";
    "delegation.token.secret.key", Password, null, Any, ReadOnly,
        "Secret that signs delegation tokens, equal on all nodes.";
    "delete.records.purgatory.purge.interval.requests", Int, "1", Any, ReadOnly,
        "Finished DeleteRecords waiters kept before a purge (requests).";
    "delete.topic.enable", Boolean, "true", Any, ReadOnly,
        "Allow DeleteTopics.";
    "early.start.listeners", List, null, List(&[]), ReadOnly,
        "Listeners opened before the authorizer is ready.";
    "errors.deadletterqueue.auto.create.topics.enable", Boolean, "false", Any, ClusterWide,
        "Create dead-letter topics of share groups when missing.";
    "errors.deadletterqueue.topic.name.prefix", String, "dlq.", Any, ClusterWide,
        "Prefix a dead-letter topic's name must have.";
    "fetch.max.bytes", Int, "57671680", AtLeast(1_024), ReadOnly,
        "Most bytes of one fetch response.";
    "fetch.purgatory.purge.interval.requests", Int, "1000", Any, ReadOnly,
        "Finished fetch waiters kept before a purge (requests).";
    "follower.fetch.last.tiered.offset.enable", Boolean, "false", Any, ClusterWide,
        "An empty follower starts at the last tiered offset.";
    "group.consumer.assignment.interval.ms", Int, "1000", AtLeast(0), ClusterWide,
        "Time between assignments of a consumer group (ms).";
    "group.consumer.assignor.offload.enable", Boolean, "true", Any, ClusterWide internal,
        "Run consumer assignors on a background thread.";
    "group.consumer.assignors", List, "uniform,range", NonEmptyList(&[]), ReadOnly,
        "Server-side assignors of consumer groups; the first is the default.";
    "group.consumer.heartbeat.interval.ms", Int, "5000", AtLeast(1), ReadOnly,
        "Heartbeat interval given to consumer group members (ms).";
    "group.consumer.max.assignment.interval.ms", Int, "15000", AtLeast(0), ReadOnly,
        "Largest assignment interval a consumer group may set (ms).";
    "group.consumer.max.heartbeat.interval.ms", Int, "15000", AtLeast(1), ReadOnly,
        "Largest heartbeat interval a consumer group may set (ms).";
    "group.consumer.max.session.timeout.ms", Int, "60000", AtLeast(1), ReadOnly,
        "Largest session timeout a consumer group may set (ms).";
    "group.consumer.max.size", Int, "2147483647", AtLeast(1), ReadOnly,
        "Most members of one consumer group.";
    "group.consumer.migration.policy", String, "bidirectional", OneOfNoCase(MIGRATION), ReadOnly,
        "Which conversions between classic and consumer groups happen.";
    "group.consumer.min.assignment.interval.ms", Int, "0", AtLeast(0), ReadOnly,
        "Smallest assignment interval a consumer group may set (ms).";
    "group.consumer.min.heartbeat.interval.ms", Int, "5000", AtLeast(1), ReadOnly,
        "Smallest heartbeat interval a consumer group may set (ms).";
    "group.consumer.min.session.timeout.ms", Int, "45000", AtLeast(1), ReadOnly,
        "Smallest session timeout a consumer group may set (ms).";
    "group.consumer.regex.refresh.interval.ms", Int, "600000", AtLeast(10_000), ReadOnly internal,
        "Time between evaluations of subscription patterns (ms).";
    "group.consumer.session.timeout.ms", Int, "45000", AtLeast(1), ReadOnly,
        "Silence after which a consumer group member is removed (ms).";
    "group.coordinator.append.linger.ms", Int, "-1", AtLeast(-1), ReadOnly,
        "Time group records are gathered before a write (ms); -1: adaptive.";
    "group.coordinator.background.threads", Int, "2", AtLeast(1), ReadOnly,
        "Threads for the group coordinator's background work.";
    "group.coordinator.cached.buffer.max.bytes", Int, "1048588", AtLeast(524_288), ClusterWide,
        "Largest write buffer the group coordinator keeps (bytes).";
    "group.coordinator.rebalance.protocols", List, "classic,consumer,streams",
        NonEmptyList(PROTOCOLS), ReadOnly,
        "Group protocols that are served.";
    "group.coordinator.threads", Int, "4", AtLeast(1), ReadOnly,
        "Threads of the group coordinator.";
    "group.initial.rebalance.delay.ms", Int, "3000", Any, ReadOnly,
        "Wait for more members before a new group's first rebalance (ms).";
    "group.max.session.timeout.ms", Int, "1800000", Any, ReadOnly,
        "Largest session timeout of a classic group member (ms).";
    "group.max.size", Int, "2147483647", AtLeast(1), ReadOnly,
        "Most members of one classic group.";
    "group.min.session.timeout.ms", Int, "6000", Any, ReadOnly,
        "Smallest session timeout of a classic group member (ms).";
    "group.share.assignment.interval.ms", Int, "1000", AtLeast(0), ClusterWide,
        "Time between assignments of a share group (ms).";
    "group.share.assignor.offload.enable", Boolean, "true", Any, ClusterWide internal,
        "Run share assignors on a background thread.";
    "group.share.assignors", List, "simple", NonEmptyList(&[]), ReadOnly,
        "Server-side assignors of share groups.";
    "group.share.delivery.count.limit", Int, "5", Between(2, 10), ReadOnly,
        "Deliveries of a share group record before it is archived.";
    "group.share.dlq.manager.class.name", String,
        "org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager", Any, ReadOnly internal,
        "Class that writes share group dead letters.";
    "group.share.heartbeat.interval.ms", Int, "5000", AtLeast(1), ReadOnly,
        "Heartbeat interval given to share group members (ms).";
    "group.share.initialize.retry.interval.ms", Int, "30000", AtLeast(1), ReadOnly internal,
        "Time before share partition initialisation is retried (ms).";
    "group.share.max.assignment.interval.ms", Int, "15000", AtLeast(0), ReadOnly,
        "Largest assignment interval a share group may set (ms).";
    "group.share.max.delivery.count.limit", Int, "10", Between(5, 25), ReadOnly,
        "Largest delivery limit a share group may set.";
    "group.share.max.heartbeat.interval.ms", Int, "15000", AtLeast(1), ReadOnly,
        "Largest heartbeat interval a share group may set (ms).";
    "group.share.max.partition.max.record.locks", Int, "4000", Between(2_000, 10_000), ReadOnly,
        "Largest lock limit a share group may set (records).";
    "group.share.max.record.lock.duration.ms", Int, "60000", Between(30_000, 3_600_000), ReadOnly,
        "Largest lock time a share group may set (ms).";
    "group.share.max.session.timeout.ms", Int, "60000", AtLeast(1), ReadOnly,
        "Largest session timeout a share group may set (ms).";
    "group.share.max.share.sessions", Int, "2000", AtLeast(1), ReadOnly,
        "Most share sessions of a broker.";
    "group.share.max.size", Int, "200", Between(1, 1_000), ReadOnly,
        "Most members of one share group.";
    "group.share.min.assignment.interval.ms", Int, "0", AtLeast(0), ReadOnly,
        "Smallest assignment interval a share group may set (ms).";
    "group.share.min.delivery.count.limit", Int, "2", Between(2, 5), ReadOnly,
        "Smallest delivery limit a share group may set.";
    "group.share.min.heartbeat.interval.ms", Int, "5000", AtLeast(1), ReadOnly,
        "Smallest heartbeat interval a share group may set (ms).";
    "group.share.min.partition.max.record.locks", Int, "100", Between(100, 2_000), ReadOnly,
        "Smallest lock limit a share group may set (records).";
    "group.share.min.record.lock.duration.ms", Int, "15000", Between(1_000, 30_000), ReadOnly,
        "Smallest lock time a share group may set (ms).";
    "group.share.min.session.timeout.ms", Int, "45000", AtLeast(1), ReadOnly,
        "Smallest session timeout a share group may set (ms).";
    "group.share.partition.max.record.locks", Int, "2000", Between(100, 10_000), ReadOnly,
        "Records of a share partition that may be locked at once.";
    "group.share.persister.class.name", String,
        "org.apache.kafka.server.share.persister.DefaultStatePersister", Any, ReadOnly internal,
        "Class that stores share group state.";
    "group.share.record.lock.duration.ms", Int, "30000", Between(1_000, 3_600_000), ReadOnly,
        "Time a delivered share group record stays locked (ms).";
    "group.share.session.timeout.ms", Int, "45000", AtLeast(1), ReadOnly,
        "Silence after which a share group member is removed (ms).";
    "group.streams.acceptable.recovery.lag", Long, "10000", AtLeast(0), ReadOnly internal,
        "Lag below which a streams task counts as caught up (records).";
    "group.streams.assignment.interval.ms", Int, "1000", AtLeast(0), ClusterWide,
        "Time between assignments of a streams group (ms).";
    "group.streams.assignor.offload.enable", Boolean, "true", Any, ClusterWide internal,
        "Run streams assignors on a background thread.";
    "group.streams.assignors", List, "sticky", NonEmptyList(&[]), ReadOnly,
        "Server-side assignors of streams groups.";
    "group.streams.heartbeat.interval.ms", Int, "5000", AtLeast(1), ReadOnly,
        "Heartbeat interval given to streams group members (ms).";
    "group.streams.initial.rebalance.delay.ms", Int, "3000", AtLeast(0), ReadOnly,
        "Wait for more members before a streams group's first rebalance (ms).";
    "group.streams.max.assignment.interval.ms", Int, "15000", AtLeast(0), ReadOnly,
        "Largest assignment interval a streams group may set (ms).";
    "group.streams.max.heartbeat.interval.ms", Int, "15000", AtLeast(1), ReadOnly,
        "Largest heartbeat interval a streams group may set (ms).";
    "group.streams.max.session.timeout.ms", Int, "60000", AtLeast(1), ReadOnly,
        "Largest session timeout a streams group may set (ms).";
    "group.streams.max.size", Int, "2147483647", AtLeast(1), ReadOnly,
        "Most members of one streams group.";
    "group.streams.max.standby.replicas", Int, "2", AtLeast(0), ReadOnly,
        "Most standby replicas a streams group may set.";
    "group.streams.max.warmup.replicas", Int, "20", AtLeast(0), ReadOnly internal,
        "Most warm-up replicas a streams group may set.";
    "group.streams.min.assignment.interval.ms", Int, "0", AtLeast(0), ReadOnly,
        "Smallest assignment interval a streams group may set (ms).";
    "group.streams.min.heartbeat.interval.ms", Int, "5000", AtLeast(1), ReadOnly,
        "Smallest heartbeat interval a streams group may set (ms).";
    "group.streams.min.session.timeout.ms", Int, "45000", AtLeast(1), ReadOnly,
        "Smallest session timeout a streams group may set (ms).";
    "group.streams.min.task.offset.interval.ms", Int, "15000", AtLeast(1), ReadOnly internal,
        "Smallest task offset interval a streams group may set (ms).";
    "group.streams.num.standby.replicas", Int, "0", AtLeast(0), ReadOnly,
        "Standby replicas of each streams task.";
    "group.streams.num.warmup.replicas", Int, "2", AtLeast(0), ReadOnly internal,
        "Warm-up replicas a streams group may have at once.";
    "group.streams.rack.aware.assignment.tags", List, "", List(&[]), ReadOnly,
        "Client tags that spread standby tasks.";
    "group.streams.session.timeout.ms", Int, "45000", AtLeast(1), ReadOnly,
        "Silence after which a streams group member is removed (ms).";
    "group.streams.task.offset.interval.ms", Int, "60000", AtLeast(1), ReadOnly internal,
        "Time between reports of streams task offsets (ms).";
    "group.streams.topology.description.plugin.class", Class, null, Any, ReadOnly,
        "Class that stores streams topology descriptions.";
    "initial.broker.registration.timeout.ms", Int, "60000", Any, ReadOnly,
        "Longest wait of a starting broker for its registration (ms).";
    "inter.broker.listener.name", String, null, Any, ReadOnly,
        "Listener used between brokers.";
    "internal.metadata.delete.delay.millis", Long, "60000", Any, ReadOnly internal,
        "Delay before old metadata files are deleted (ms).";
    "internal.metadata.log.segment.bytes", Int, null, Any, ReadOnly internal,
        "Metadata segment size below the public minimum, for tests (bytes).";
    "internal.metadata.max.batch.size.in.bytes", Int, "8388608", Any, ReadOnly internal,
        "Largest metadata batch (bytes).";
    "kafka.metrics.polling.interval.secs", Int, "10", AtLeast(1), ReadOnly,
        "Time between polls of kafka.metrics.reporters (s).";
    "kafka.metrics.reporters", List, "", List(&[]), ReadOnly,
        "Reporter classes for broker metrics.";
    "leader.imbalance.check.interval.seconds", Long, "300", AtLeast(1), ReadOnly,
        "Time between checks of leader balance (s).";
    "listener.security.protocol.map", String,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", Any,
        PerBroker,
        "Security protocol of each listener name, as name:protocol.";
    "listeners", List, "PLAINTEXT://:9092", NonEmptyList(&[]), PerBroker,
        "Addresses to listen on, as name://host:port.";
    "log.cleaner.backoff.ms", Long, "15000", AtLeast(0), ClusterWide,
        "Pause of a cleaner that found nothing to do (ms).";
    "log.cleaner.dedupe.buffer.size", Long, "134217728", Any, ClusterWide,
        "Memory for key maps over all cleaner threads (bytes).";
    "log.cleaner.delete.retention.ms", Long, "86400000", AtLeast(0), ClusterWide,
        "Time tombstones survive in compacted topics (ms).";
    "log.cleaner.enable", Boolean, "true", Any, ReadOnly,
        "Run the log cleaner; deprecated.";
    "log.cleaner.io.buffer.load.factor", Double, "0.9", Any, ClusterWide,
        "How full a cleaner's key map may get (0 to 1).";
    "log.cleaner.io.buffer.size", Int, "524288", AtLeast(0), ClusterWide,
        "Memory for cleaner reads and writes over all threads (bytes).";
    "log.cleaner.io.max.bytes.per.second", Double, "1.7976931348623157E308", Any, ClusterWide,
        "Limit of cleaner reads plus writes (bytes/s).";
    "log.cleaner.max.compaction.lag.ms", Long, "9223372036854775807", AtLeast(1), ClusterWide,
        "Longest time a record may wait for compaction (ms).";
    "log.cleaner.min.cleanable.ratio", Double, "0.5", Ratio(0, 1_000_000), ClusterWide,
        "Dirty share of a log that makes it worth compacting (0 to 1).";
    "log.cleaner.min.compaction.lag.ms", Long, "0", AtLeast(0), ClusterWide,
        "Shortest time a record stays uncompacted (ms).";
    "log.cleaner.threads", Int, "1", AtLeast(0), ClusterWide,
        "Cleaner threads.";
    "log.cleanup.policy", List, "delete", List(&["compact", "delete"]), ClusterWide,
        "What happens to old segments: delete, compact, both or nothing.";
    "log.dir", List, "/tmp/kafka-logs", NonEmptyList(&[]), ReadOnly,
        "Data directories, when log.dirs is not set.";
    "log.dir.failure.timeout.ms", Long, "30000", AtLeast(1), ReadOnly,
        "Time to tell the controller of a failed log dir before stopping (ms).";
    "log.dirs", List, null, NonEmptyList(&[]), ReadOnly,
        "Data directories, comma separated.";
    "log.flush.interval.messages", Long, "9223372036854775807", AtLeast(1), ClusterWide,
        "Records that may gather in a log before it is flushed.";
    "log.flush.interval.ms", Long, null, Any, ClusterWide,
        "Time records may stay unflushed (ms); unset: the scheduler's interval.";
    "log.flush.offset.checkpoint.interval.ms", Int, "60000", AtLeast(0), ReadOnly,
        "Time between writes of the recovery points (ms).";
    "log.flush.scheduler.interval.ms", Long, "9223372036854775807", Any, ReadOnly,
        "Time between looks for logs to flush (ms).";
    "log.flush.start.offset.checkpoint.interval.ms", Int, "60000", AtLeast(0), ReadOnly,
        "Time between writes of the log start offsets (ms).";
    "log.index.interval.bytes", Int, "4096", AtLeast(0), ClusterWide,
        "Bytes of records between two index entries.";
    "log.index.size.max.bytes", Int, "10485760", AtLeast(4), ClusterWide,
        "Largest index file (bytes).";
    "log.initial.task.delay.ms", Long, "30000", AtLeast(0), ReadOnly internal,
        "Delay of the first background log task (ms).";
    "log.local.retention.bytes", Long, "-2", AtLeast(-2), ClusterWide,
        "Local part of a tiered log (bytes); -2: as log.retention.bytes.";
    "log.local.retention.ms", Long, "-2", AtLeast(-2), ClusterWide,
        "Age limit of local segments of a tiered log (ms); -2: as log.retention.ms.";
    "log.message.timestamp.after.max.ms", Long, "3600000", AtLeast(0), ClusterWide,
        "How far a record's timestamp may lie ahead of the broker (ms).";
    "log.message.timestamp.before.max.ms", Long, "9223372036854775807", AtLeast(0), ClusterWide,
        "How far a record's timestamp may lie behind the broker (ms).";
    "log.message.timestamp.type", String, "CreateTime", OneOf(&["CreateTime", "LogAppendTime"]),
        ClusterWide,
        "Whose time a record carries: CreateTime or LogAppendTime.";
    "log.preallocate", Boolean, "false", Any, ClusterWide,
        "Allocate a segment's file in full when it is created.";
    "log.remote.copy.lag.bytes", Long, "-1", AtLeast(-1), ClusterWide,
        "Bytes a segment waits before it is tiered; -1: the local retention.";
    "log.remote.copy.lag.ms", Long, "0", AtLeast(-1), ClusterWide,
        "Time a segment waits before it is tiered (ms); -1: the local retention.";
    "log.retention.bytes", Long, "-1", Any, ClusterWide,
        "Size of a partition above which old segments go (bytes); -1: none.";
    "log.retention.check.interval.ms", Long, "300000", AtLeast(1), ReadOnly,
        "Time between looks for segments to delete (ms).";
    "log.retention.hours", Int, "168", Any, ReadOnly,
        "Age at which segments go (hours), after .ms and .minutes.";
    "log.retention.minutes", Int, null, Any, ReadOnly,
        "Age at which segments go (minutes), after .ms.";
    "log.retention.ms", Long, null, Any, ClusterWide,
        "Age at which segments go (ms); -1: never.";
    "log.roll.hours", Int, "168", AtLeast(1), ReadOnly,
        "Age at which a new segment starts (hours), after .ms.";
    "log.roll.jitter.hours", Int, "0", AtLeast(0), ReadOnly,
        "Largest random cut of the roll time (hours), after .ms.";
    "log.roll.jitter.ms", Long, null, Any, ClusterWide,
        "Largest random cut of the roll time (ms).";
    "log.roll.ms", Long, null, Any, ClusterWide,
        "Age at which a new segment starts (ms).";
    "log.segment.bytes", Int, "1073741824", AtLeast(1_048_576), ClusterWide,
        "Largest segment file (bytes).";
    "log.segment.delete.delay.ms", Long, "60000", AtLeast(0), ClusterWide,
        "Delay between dropping a segment and deleting its file (ms).";
    "max.connection.creation.rate", Int, "2147483647", AtLeast(0), ClusterWide,
        "New connections taken each second.";
    "max.connections", Int, "2147483647", AtLeast(0), ClusterWide,
        "Most connections of the broker.";
    "max.connections.per.ip", Int, "2147483647", AtLeast(0), ClusterWide,
        "Most connections from one address.";
    "max.connections.per.ip.overrides", String, "", Any, ClusterWide,
        "Exceptions to max.connections.per.ip, as address:count.";
    "max.decompressed.message.bytes", Int, "2147483639", Between(1, 2_147_483_639), ClusterWide,
        "Largest size of a batch once decompressed (bytes).";
    "max.incremental.fetch.session.cache.slots", Int, "1000", AtLeast(0), ReadOnly,
        "Incremental fetch sessions kept.";
    "max.request.partition.size.limit", Int, "2000", AtLeast(1), ReadOnly,
        "Most partitions of one DescribeTopicPartitions response.";
    "message.max.bytes", Int, "1048588", AtLeast(0), ClusterWide,
        "Largest record batch accepted (bytes, as sent).";
    "metadata.log.dir", String, null, Any, ReadOnly,
        "Directory of the metadata log; unset: the first log dir.";
    "metadata.log.max.record.bytes.between.snapshots", Long, "20971520", AtLeast(1), ReadOnly,
        "Metadata written before a new snapshot (bytes).";
    "metadata.log.max.snapshot.interval.ms", Long, "3600000", AtLeast(0), ReadOnly,
        "Longest time between metadata snapshots (ms); 0: by size only.";
    "metadata.log.segment.bytes", Int, "1073741824", AtLeast(8_388_608), ReadOnly,
        "Largest metadata segment (bytes).";
    "metadata.log.segment.ms", Long, "604800000", Any, ReadOnly,
        "Age at which a new metadata segment starts (ms).";
    "metadata.max.idle.interval.ms", Int, "500", AtLeast(0), ReadOnly,
        "Time between no-op records of an idle controller (ms); 0: none.";
    "metadata.max.retention.bytes", Long, "104857600", Any, ReadOnly,
        "Size above which old metadata goes (bytes).";
    "metadata.max.retention.ms", Long, "604800000", Any, ReadOnly,
        "Age at which old metadata goes (ms).";
    "metric.reporters", List, "org.apache.kafka.common.metrics.JmxReporter", List(&[]), ClusterWide,
        "Classes that are told of metrics.";
    "metrics.num.samples", Int, "2", AtLeast(1), ReadOnly,
        "Samples kept for a metric.";
    "metrics.recording.level", String, "INFO", Any, ReadOnly,
        "Finest metrics recorded.";
    "metrics.sample.window.ms", Long, "30000", AtLeast(1), ReadOnly,
        "Length of one metric sample (ms).";
    "min.insync.replicas", Int, "1", AtLeast(1), ClusterWide,
        "In-sync replicas that acks=all needs.";
    "node.id", Int, null, AtLeast(0), ReadOnly,
        "Id of this node, unique in the cluster.";
    "num.io.threads", Int, "8", AtLeast(1), ClusterWide,
        "Threads that serve requests.";
    "num.network.threads", Int, "3", AtLeast(1), ClusterWide,
        "Threads that serve sockets, for each listener.";
    "num.partitions", Int, "1", AtLeast(1), ReadOnly,
        "Partitions of a topic that does not say.";
    "num.recovery.threads.per.data.dir", Int, "2", AtLeast(1), ClusterWide,
        "Threads per log dir for recovery and shutdown.";
    "num.replica.alter.log.dirs.threads", Int, null, Any, ReadOnly,
        "Threads that move replicas between log dirs.";
    "num.replica.fetchers", Int, "1", AtLeast(1), ClusterWide,
        "Fetcher threads for each source broker.";
    "offset.metadata.max.bytes", Int, "4096", Any, ReadOnly,
        "Longest text committed with an offset (bytes).";
    "offsets.commit.timeout.ms", Int, "5000", AtLeast(1), ReadOnly,
        "Longest wait for a committed offset to be replicated (ms).";
    "offsets.load.buffer.size", Int, "5242880", AtLeast(1), ReadOnly,
        "Read size when offsets are loaded (bytes).";
    "offsets.retention.check.interval.ms", Long, "600000", AtLeast(1), ReadOnly,
        "Time between looks for expired offsets (ms).";
    "offsets.retention.minutes", Int, "10080", AtLeast(1), ReadOnly,
        "Time offsets of an empty group are kept (minutes).";
    "offsets.topic.compression.codec", Int, "0", Any, ReadOnly,
        "Codec id of the offsets topic.";
    "offsets.topic.num.partitions", Int, "50", AtLeast(1), ReadOnly,
        "Partitions of the offsets topic.";
    "offsets.topic.replication.factor", Short, "3", AtLeast(1), ReadOnly,
        "Replicas of the offsets topic.";
    "offsets.topic.segment.bytes", Int, "104857600", AtLeast(1), ReadOnly,
        "Segment size of the offsets topic (bytes).";
    "principal.builder.class", Class,
        "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder", Any,
        PerBroker,
        "Class that names the principal of a connection.";
    "process.roles", List, null, NonEmptyList(&["broker", "controller"]), ReadOnly,
        "What this node is: broker, controller or both.";
    "producer.id.expiration.check.interval.ms", Int, "600000", AtLeast(1), ReadOnly internal,
        "Time between looks for expired producer ids (ms).";
    "producer.id.expiration.ms", Int, "86400000", AtLeast(1), ClusterWide,
        "Time an idle producer id's state is kept (ms).";
    "producer.purgatory.purge.interval.requests", Int, "1000", Any, ReadOnly,
        "Finished produce waiters kept before a purge (requests).";
    "queued.max.request.bytes", Long, "-1", Any, ReadOnly,
        "Bytes of requests that may wait; -1: no limit.";
    "queued.max.requests", Int, "500", AtLeast(1), ReadOnly,
        "Requests that may wait before sockets are no longer read.";
    "quota.window.num", Int, "11", AtLeast(1), ReadOnly,
        "Samples kept for client quotas.";
    "quota.window.size.seconds", Int, "1", AtLeast(1), ReadOnly,
        "Length of one client quota sample (s).";
    "remote.fetch.max.wait.ms", Int, "500", AtLeast(1), ClusterWide,
        "Longest wait for a remote read (ms).";
    "remote.list.offsets.request.timeout.ms", Long, "30000", AtLeast(1), ClusterWide,
        "Longest wait for a remote offset lookup (ms).";
    "remote.log.index.file.cache.total.size.bytes", Long, "1073741824", AtLeast(1), ClusterWide,
        "Disk space for cached remote indexes (bytes).";
    "remote.log.index.file.cache.ttl.ms", Long, "900000", AtLeast(-1), ReadOnly internal,
        "Time an unused remote index stays cached (ms).";
    "remote.log.manager.copier.thread.pool.size", Int, "10", AtLeast(1), ClusterWide,
        "Threads that copy segments to remote storage.";
    "remote.log.manager.copy.max.bytes.per.second", Long, "9223372036854775807", AtLeast(1),
        ClusterWide,
        "Limit of copies to remote storage (bytes/s).";
    "remote.log.manager.copy.quota.window.num", Int, "11", AtLeast(1), ReadOnly,
        "Samples kept for the remote copy quota.";
    "remote.log.manager.copy.quota.window.size.seconds", Int, "1", AtLeast(1), ReadOnly,
        "Length of one remote copy sample (s).";
    "remote.log.manager.expiration.thread.pool.size", Int, "10", AtLeast(1), ClusterWide,
        "Threads that delete expired remote segments.";
    "remote.log.manager.fetch.max.bytes.per.second", Long, "9223372036854775807", AtLeast(1),
        ClusterWide,
        "Limit of reads from remote storage (bytes/s).";
    "remote.log.manager.fetch.quota.window.num", Int, "11", AtLeast(1), ReadOnly,
        "Samples kept for the remote fetch quota.";
    "remote.log.manager.fetch.quota.window.size.seconds", Int, "1", AtLeast(1), ReadOnly,
        "Length of one remote fetch sample (s).";
    "remote.log.manager.follower.thread.pool.size", Int, "2", AtLeast(1), ClusterWide,
        "Threads for remote work of followers.";
    "remote.log.manager.task.interval.ms", Long, "30000", AtLeast(1), ReadOnly,
        "Time between rounds of remote log work (ms).";
    "remote.log.manager.task.retry.backoff.max.ms", Long, "30000", AtLeast(1), ReadOnly internal,
        "Longest pause before remote work is retried (ms).";
    "remote.log.manager.task.retry.backoff.ms", Long, "500", AtLeast(1), ReadOnly internal,
        "First pause before remote work is retried (ms).";
    "remote.log.manager.task.retry.jitter", Double, "0.2", Ratio(0, 500_000), ReadOnly internal,
        "Random share of that pause (0 to 0.5).";
    "remote.log.manager.thread.pool.size", Int, "2", AtLeast(1), ReadOnly,
        "Threads for remote log work; deprecated.";
    "remote.log.metadata.custom.metadata.max.bytes", Int, "128", AtLeast(0), ReadOnly,
        "Largest custom metadata of a remote segment (bytes).";
    "remote.log.metadata.manager.class.name", String,
        "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
        NonEmpty, ReadOnly,
        "Class that stores remote log metadata.";
    "remote.log.metadata.manager.class.path", String, null, Any, ReadOnly,
        "Class path of that class.";
    "remote.log.metadata.manager.impl.prefix", String, "rlmm.config.", NonEmpty, ReadOnly,
        "Prefix of that class's own configs.";
    "remote.log.metadata.manager.listener.name", String, null, NonEmpty, ReadOnly,
        "Listener that class connects to.";
    "remote.log.reader.max.pending.tasks", Int, "100", AtLeast(1), ReadOnly,
        "Remote reads that may wait.";
    "remote.log.reader.threads", Int, "10", AtLeast(1), ClusterWide,
        "Threads for remote reads.";
    "remote.log.storage.manager.class.name", String, null, NonEmpty, ReadOnly,
        "Class that talks to remote storage.";
    "remote.log.storage.manager.class.path", String, null, Any, ReadOnly,
        "Class path of that class.";
    "remote.log.storage.manager.impl.prefix", String, "rsm.config.", NonEmpty, ReadOnly,
        "Prefix of that class's own configs.";
    "remote.log.storage.system.enable", Boolean, "false", Any, ReadOnly,
        "Allow tiered storage.";
    "replica.fetch.backoff.ms", Int, "1000", AtLeast(0), ReadOnly,
        "Pause after a failed replica fetch (ms).";
    "replica.fetch.max.bytes", Int, "1048576", AtLeast(0), ReadOnly,
        "Bytes wanted of each partition by a replica fetch.";
    "replica.fetch.min.bytes", Int, "1", Any, ReadOnly,
        "Bytes a replica fetch waits for.";
    "replica.fetch.response.max.bytes", Int, "10485760", AtLeast(0), ReadOnly,
        "Most bytes of one replica fetch response.";
    "replica.fetch.wait.max.ms", Int, "500", Any, ReadOnly,
        "Longest wait of a replica fetch (ms).";
    "replica.high.watermark.checkpoint.interval.ms", Long, "5000", Any, ReadOnly,
        "Time between writes of the high watermarks (ms).";
    "replica.lag.time.max.ms", Long, "30000", Any, ReadOnly,
        "Time after which a replica that lags leaves the in-sync set (ms).";
    "replica.selector.class", String, null, Any, ReadOnly,
        "Class that picks the replica a consumer reads from.";
    "replica.socket.receive.buffer.bytes", Int, "65536", Any, ReadOnly,
        "Receive buffer of replica fetch sockets (bytes).";
    "replica.socket.timeout.ms", Int, "30000", Any, ReadOnly,
        "Socket timeout of replica fetches (ms).";
    "replication.quota.window.num", Int, "11", AtLeast(1), ReadOnly,
        "Samples kept for the replication quota.";
    "replication.quota.window.size.seconds", Int, "1", AtLeast(1), ReadOnly,
        "Length of one replication quota sample (s).";
    "request.timeout.ms", Int, "30000", Any, ReadOnly,
        "Longest wait for a response to a request of the broker's own (ms).";
    "sasl.client.callback.handler.class", Class, null, Any, ReadOnly,
        "Callback class of SASL clients.";
    "sasl.enabled.mechanisms", List, "GSSAPI", List(&[]), PerBroker,
        "SASL mechanisms offered.";
    "sasl.jaas.config", Password, null, Any, PerBroker,
        "JAAS login of a listener and mechanism.";
    "sasl.kerberos.kinit.cmd", String, "/usr/bin/kinit", Any, PerBroker,
        "Path of kinit.";
    "sasl.kerberos.min.time.before.relogin", Long, "60000", Any, PerBroker,
        "Shortest time between Kerberos logins (ms).";
    "sasl.kerberos.principal.to.local.rules", List, "DEFAULT", List(&[]), PerBroker,
        "Rules from Kerberos principals to user names.";
    "sasl.kerberos.service.name", String, null, Any, PerBroker,
        "Kerberos service name.";
    "sasl.kerberos.ticket.renew.jitter", Double, "0.05", Any, PerBroker,
        "Random part of the ticket renewal time.";
    "sasl.kerberos.ticket.renew.window.factor", Double, "0.8", Any, PerBroker,
        "Part of a ticket's life after which it is renewed.";
    "sasl.login.callback.handler.class", Class, null, Any, ReadOnly,
        "Callback class of SASL logins.";
    "sasl.login.class", Class, null, Any, ReadOnly,
        "Class that performs SASL logins.";
    "sasl.login.connect.timeout.ms", Int, null, Any, ReadOnly,
        "Connect timeout to the identity provider (ms).";
    "sasl.login.read.timeout.ms", Int, null, Any, ReadOnly,
        "Read timeout from the identity provider (ms).";
    "sasl.login.refresh.buffer.seconds", Short, "300", Any, PerBroker,
        "Time kept before expiry when a login is refreshed (s).";
    "sasl.login.refresh.min.period.seconds", Short, "60", Any, PerBroker,
        "Shortest time between login refreshes (s).";
    "sasl.login.refresh.window.factor", Double, "0.8", Any, PerBroker,
        "Part of a credential's life after which it is refreshed.";
    "sasl.login.refresh.window.jitter", Double, "0.05", Any, PerBroker,
        "Random part of the login refresh time.";
    "sasl.login.retry.backoff.max.ms", Long, "10000", Any, ReadOnly,
        "Longest pause between login tries (ms).";
    "sasl.login.retry.backoff.ms", Long, "100", Any, ReadOnly,
        "First pause between login tries (ms).";
    "sasl.mechanism.controller.protocol", String, "GSSAPI", Any, ReadOnly,
        "SASL mechanism used with controllers.";
    "sasl.mechanism.inter.broker.protocol", String, "GSSAPI", Any, PerBroker,
        "SASL mechanism used between brokers.";
    "sasl.oauthbearer.allow.unverified.audience", Boolean, "false", Any, ReadOnly,
        "Accept tokens without checking the audience.";
    "sasl.oauthbearer.allow.unverified.issuer", Boolean, "false", Any, ReadOnly,
        "Accept tokens without checking the issuer.";
    "sasl.oauthbearer.assertion.algorithm", String, "RS256", OneOfNoCase(&["ES256", "RS256"]),
        ReadOnly,
        "Signature algorithm of client assertions.";
    "sasl.oauthbearer.assertion.claim.aud", String, null, Any, ReadOnly,
        "aud claim of client assertions.";
    "sasl.oauthbearer.assertion.claim.exp.seconds", Int, "300", Between(0, 86_400), ReadOnly,
        "Life of a client assertion (s).";
    "sasl.oauthbearer.assertion.claim.iss", String, null, Any, ReadOnly,
        "iss claim of client assertions.";
    "sasl.oauthbearer.assertion.claim.jti.include", Boolean, "false", Any, ReadOnly,
        "Give client assertions a random jti claim.";
    "sasl.oauthbearer.assertion.claim.nbf.seconds", Int, "60", Between(0, 3_600), ReadOnly,
        "How far before now an assertion's nbf claim lies (s).";
    "sasl.oauthbearer.assertion.claim.sub", String, null, Any, ReadOnly,
        "sub claim of client assertions.";
    "sasl.oauthbearer.assertion.file", String, null, Any, ReadOnly,
        "File with a ready client assertion.";
    "sasl.oauthbearer.assertion.private.key.file", String, null, Any, ReadOnly,
        "File with the key that signs assertions.";
    "sasl.oauthbearer.assertion.private.key.passphrase", Password, null, Any, ReadOnly,
        "Passphrase of that key.";
    "sasl.oauthbearer.assertion.template.file", String, null, Any, ReadOnly,
        "File with a template of assertions.";
    "sasl.oauthbearer.client.credentials.client.id", String, null, Any, ReadOnly,
        "Client id of the client credentials grant.";
    "sasl.oauthbearer.client.credentials.client.secret", Password, null, Any, ReadOnly,
        "Client secret of the client credentials grant.";
    "sasl.oauthbearer.clock.skew.seconds", Int, "30", Any, ReadOnly,
        "Clock difference tolerated in tokens (s).";
    "sasl.oauthbearer.expected.audience", List, "", List(&[]), ReadOnly,
        "Audiences a token must name.";
    "sasl.oauthbearer.expected.issuer", String, null, Any, ReadOnly,
        "Issuer a token must name.";
    "sasl.oauthbearer.jwks.endpoint.refresh.ms", Long, "3600000", Any, ReadOnly,
        "Time between refreshes of the JWKS (ms).";
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", Long, "10000", Any, ReadOnly,
        "Longest pause between tries to get the JWKS (ms).";
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", Long, "100", Any, ReadOnly,
        "First pause between tries to get the JWKS (ms).";
    "sasl.oauthbearer.jwks.endpoint.url", String, null, Any, ReadOnly,
        "URL of the JWKS.";
    "sasl.oauthbearer.jwt.retriever.class", Class,
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever", Any, ReadOnly,
        "Class that obtains tokens.";
    "sasl.oauthbearer.jwt.validator.class", Class,
        "org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator", Any, ReadOnly,
        "Class that checks tokens.";
    "sasl.oauthbearer.scope", String, null, Any, ReadOnly,
        "Scope asked for.";
    "sasl.oauthbearer.scope.claim.name", String, "scope", Any, ReadOnly,
        "Claim that holds the scope.";
    "sasl.oauthbearer.sub.claim.name", String, "sub", Any, ReadOnly,
        "Claim that holds the subject.";
    "sasl.oauthbearer.token.endpoint.url", String, null, Any, ReadOnly,
        "URL that issues tokens.";
    "sasl.server.callback.handler.class", Class, null, Any, ReadOnly,
        "Callback class of SASL servers.";
    "sasl.server.max.receive.size", Int, "524288", Any, ReadOnly,
        "Largest request before authentication (bytes).";
    "security.inter.broker.protocol", String, "PLAINTEXT",
        OneOf(&["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]), ReadOnly,
        "Security protocol between brokers, when no listener is named.";
    "security.providers", String, null, Any, ReadOnly,
        "Classes that create security providers.";
    "server.max.startup.time.ms", Long, "9223372036854775807", AtLeast(0), ReadOnly internal,
        "Longest time the server may take to start (ms).";
    "share.coordinator.append.linger.ms", Int, "-1", AtLeast(-1), ReadOnly,
        "Time share state records are gathered before a write (ms); -1: adaptive.";
    "share.coordinator.cached.buffer.max.bytes", Int, "1048588", AtLeast(524_288), ClusterWide,
        "Largest write buffer the share coordinator keeps (bytes).";
    "share.coordinator.cold.partition.snapshot.interval.ms", Int, "300000", AtLeast(1),
        ReadOnly internal,
        "Time after which an idle share partition is snapshotted (ms).";
    "share.coordinator.load.buffer.size", Int, "5242880", AtLeast(1), ReadOnly,
        "Read size when share state is loaded (bytes).";
    "share.coordinator.snapshot.update.records.per.snapshot", Int, "500", Between(0, 500), ReadOnly,
        "Update records between two share state snapshots.";
    "share.coordinator.state.topic.compression.codec", Int, "0", Any, ReadOnly,
        "Codec id of the share state topic.";
    "share.coordinator.state.topic.min.isr", Short, "2", AtLeast(1), ReadOnly,
        "In-sync replicas the share state topic needs.";
    "share.coordinator.state.topic.num.partitions", Int, "50", AtLeast(1), ReadOnly,
        "Partitions of the share state topic.";
    "share.coordinator.state.topic.prune.interval.ms", Int, "300000", AtLeast(1), ReadOnly internal,
        "Time between prunings of the share state topic (ms).";
    "share.coordinator.state.topic.replication.factor", Short, "3", AtLeast(1), ReadOnly,
        "Replicas of the share state topic.";
    "share.coordinator.state.topic.segment.bytes", Int, "104857600", AtLeast(1), ReadOnly,
        "Segment size of the share state topic (bytes).";
    "share.coordinator.threads", Int, "1", AtLeast(1), ReadOnly,
        "Threads of the share coordinator.";
    "share.coordinator.write.timeout.ms", Int, "5000", AtLeast(1), ReadOnly,
        "Longest wait of a share state write (ms).";
    "share.fetch.purgatory.purge.interval.requests", Int, "1000", Any, ReadOnly,
        "Finished share fetch waiters kept before a purge (requests).";
    "socket.connection.setup.timeout.max.ms", Long, "30000", Any, ReadOnly,
        "Longest wait for an outgoing connection (ms).";
    "socket.connection.setup.timeout.ms", Long, "10000", Any, ReadOnly,
        "First wait for an outgoing connection (ms).";
    "socket.listen.backlog.size", Int, "50", AtLeast(1), ReadOnly,
        "Connections the kernel may queue for a listener.";
    "socket.receive.buffer.bytes", Int, "102400", Any, ReadOnly,
        "Receive buffer of a socket (bytes); -1: the system's.";
    "socket.request.max.bytes", Int, "104857600", AtLeast(1), ReadOnly,
        "Largest request (bytes).";
    "socket.send.buffer.bytes", Int, "102400", Any, ReadOnly,
        "Send buffer of a socket (bytes); -1: the system's.";
    "ssl.allow.dn.changes", Boolean, "false", Any, ReadOnly,
        "A reloaded key store may have another distinguished name.";
    "ssl.allow.san.changes", Boolean, "false", Any, ReadOnly,
        "A reloaded key store may have other alternative names.";
    "ssl.cipher.suites", List, "", List(&[]), PerBroker,
        "Cipher suites; empty: the defaults.";
    "ssl.client.auth", String, "none", OneOf(&["required", "requested", "none"]), PerBroker,
        "Client certificates: required, requested or none.";
    "ssl.enabled.protocols", List, "TLSv1.2,TLSv1.3", List(&[]), PerBroker,
        "TLS versions allowed.";
    "ssl.endpoint.identification.algorithm", String, "https", Any, PerBroker,
        "How a peer's host name is checked; empty: not.";
    "ssl.engine.factory.class", Class, null, Any, PerBroker,
        "Class that creates TLS engines.";
    "ssl.key.password", Password, null, Any, PerBroker,
        "Password of the private key.";
    "ssl.keymanager.algorithm", String, "SunX509", Any, PerBroker,
        "Algorithm of the key manager.";
    "ssl.keystore.certificate.chain", Password, null, Any, PerBroker,
        "Certificate chain (PEM).";
    "ssl.keystore.key", Password, null, Any, PerBroker,
        "Private key (PEM).";
    "ssl.keystore.location", String, null, Any, PerBroker,
        "Path of the key store.";
    "ssl.keystore.password", Password, null, Any, PerBroker,
        "Password of the key store.";
    "ssl.keystore.type", String, "JKS", Any, PerBroker,
        "Format of the key store.";
    "ssl.principal.mapping.rules", String, "DEFAULT", Any, ReadOnly,
        "Rules from certificate names to user names.";
    "ssl.protocol", String, "TLSv1.3", Any, PerBroker,
        "TLS version of new contexts.";
    "ssl.provider", String, null, Any, PerBroker,
        "Security provider for TLS.";
    "ssl.secure.random.implementation", String, null, Any, PerBroker,
        "Random generator for TLS.";
    "ssl.trustmanager.algorithm", String, "PKIX", Any, PerBroker,
        "Algorithm of the trust manager.";
    "ssl.truststore.certificates", Password, null, Any, PerBroker,
        "Trusted certificates (PEM).";
    "ssl.truststore.location", String, null, Any, PerBroker,
        "Path of the trust store.";
    "ssl.truststore.password", Password, null, Any, PerBroker,
        "Password of the trust store.";
    "ssl.truststore.type", String, "JKS", Any, PerBroker,
        "Format of the trust store.";
    "telemetry.max.bytes", Int, "1048576", AtLeast(1), ReadOnly,
        "Largest telemetry push of a client (bytes).";
    "transaction.abort.timed.out.transaction.cleanup.interval.ms", Int, "10000", AtLeast(1),
        ReadOnly,
        "Time between aborts of timed-out transactions (ms).";
    "transaction.max.timeout.ms", Int, "900000", AtLeast(1), ReadOnly,
        "Longest transaction timeout a producer may ask for (ms).";
    "transaction.partition.verification.enable", Boolean, "true", Any, ClusterWide,
        "Check that a partition belongs to the transaction before a write.";
    "transaction.remove.expired.transaction.cleanup.interval.ms", Int, "3600000", AtLeast(1),
        ReadOnly,
        "Time between removals of expired transactional ids (ms).";
    "transaction.state.log.load.buffer.size", Int, "5242880", AtLeast(1), ReadOnly,
        "Read size when transactions are loaded (bytes).";
    "transaction.state.log.min.isr", Int, "2", AtLeast(1), ReadOnly,
        "In-sync replicas the transaction topic needs.";
    "transaction.state.log.num.partitions", Int, "50", AtLeast(1), ReadOnly,
        "Partitions of the transaction topic.";
    "transaction.state.log.replication.factor", Short, "3", AtLeast(1), ReadOnly,
        "Replicas of the transaction topic.";
    "transaction.state.log.segment.bytes", Int, "104857600", AtLeast(1), ReadOnly,
        "Segment size of the transaction topic (bytes).";
    "transaction.two.phase.commit.enable", Boolean, "false", Any, ReadOnly,
        "Allow two-phase commit.";
    "transactional.id.expiration.ms", Int, "604800000", AtLeast(1), ReadOnly,
        "Time an unused transactional id is kept (ms).";
    "unclean.leader.election.enable", Boolean, "false", Any, ClusterWide,
        "Elect a replica that is not in sync when no other is left; may lose data.";
    "unclean.leader.election.interval.ms", Long, "300000", AtLeast(1), ReadOnly internal,
        "Time between looks for partitions to elect uncleanly (ms).";
    "unstable.api.versions.enable", Boolean, "false", Any, ReadOnly internal,
        "Offer API versions that are not final.";
    "unstable.feature.versions.enable", Boolean, "false", Any, ReadOnly internal,
        "Offer feature versions that are not final.";
}

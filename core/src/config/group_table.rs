//! The group configs of Kafka 4.4, sorted by name.

use super::def::{
    Check, ConfigDef, Kind, Scope, Synonym, Unit, default_of, is_internal, layered_rows,
};

// Each row: name, kind, default, check, the broker config it falls back to; then the doc.
layered_rows! {
    GROUP:
    "consumer.assignment.interval.ms", Int, "1000", AtLeast(0),
        [Same "group.consumer.assignment.interval.ms"],
        "Time between assignments of the consumer group (ms).";
    "consumer.assignor.offload.enable", Boolean, "true", Any,
        [Same "group.consumer.assignor.offload.enable"] internal,
        "Run the consumer group's assignor on a background thread.";
    "consumer.heartbeat.interval.ms", Int, "5000", AtLeast(1),
        [Same "group.consumer.heartbeat.interval.ms"],
        "Heartbeat interval given to the consumer group's members (ms).";
    "consumer.session.timeout.ms", Int, "45000", AtLeast(1),
        [Same "group.consumer.session.timeout.ms"],
        "Silence after which a member of the consumer group is removed (ms).";
    "errors.deadletterqueue.copy.record.enable", Boolean, "false", Any, [],
        "Copy whole records to the share group's dead letters, not only what became of them.";
    "errors.deadletterqueue.topic.name", String, "", Any, [],
        "Topic of the share group's dead letters; empty: none.";
    "share.assignment.interval.ms", Int, "1000", AtLeast(0),
        [Same "group.share.assignment.interval.ms"],
        "Time between assignments of the share group (ms).";
    "share.assignor.offload.enable", Boolean, "true", Any,
        [Same "group.share.assignor.offload.enable"] internal,
        "Run the share group's assignor on a background thread.";
    "share.auto.offset.reset", String, "latest", OffsetReset, [],
        "Where the share group starts: earliest, latest, or as long ago as by_duration: says.";
    "share.delivery.count.limit", Int, "5", AtLeast(2), [Same "group.share.delivery.count.limit"],
        "Deliveries of a record before the share group archives it.";
    "share.heartbeat.interval.ms", Int, "5000", AtLeast(1),
        [Same "group.share.heartbeat.interval.ms"],
        "Heartbeat interval given to the share group's members (ms).";
    "share.isolation.level", String, "read_uncommitted",
        OneOf(&["read_committed", "read_uncommitted"]), [],
        "Whether the share group is given records of transactions before they are committed.";
    "share.partition.max.record.locks", Int, "2000", AtLeast(100),
        [Same "group.share.partition.max.record.locks"],
        "Records of a partition that the share group may hold locked at once.";
    "share.record.lock.duration.ms", Int, "30000", AtLeast(1_000),
        [Same "group.share.record.lock.duration.ms"],
        "Time a record delivered to the share group stays locked (ms).";
    "share.renew.acknowledge.enable", Boolean, "true", Any, [],
        "Let members of the share group renew their locks.";
    "share.session.timeout.ms", Int, "45000", AtLeast(1), [Same "group.share.session.timeout.ms"],
        "Silence after which a member of the share group is removed (ms).";
    "streams.acceptable.recovery.lag", Long, "10000", AtLeast(0),
        [Same "group.streams.acceptable.recovery.lag"] internal,
        "Lag below which a task of the streams group counts as caught up (records).";
    "streams.assignment.interval.ms", Int, "1000", AtLeast(0),
        [Same "group.streams.assignment.interval.ms"],
        "Time between assignments of the streams group (ms).";
    "streams.assignor.name", String, null, Any, [First "group.streams.assignors"],
        "Assignor of the streams group; unset: the first of the broker's.";
    "streams.assignor.offload.enable", Boolean, "true", Any,
        [Same "group.streams.assignor.offload.enable"] internal,
        "Run the streams group's assignor on a background thread.";
    "streams.heartbeat.interval.ms", Int, "5000", AtLeast(1),
        [Same "group.streams.heartbeat.interval.ms"],
        "Heartbeat interval given to the streams group's members (ms).";
    "streams.initial.rebalance.delay.ms", Int, "3000", AtLeast(0),
        [Same "group.streams.initial.rebalance.delay.ms"],
        "Wait for more members before the streams group's first rebalance (ms).";
    "streams.num.standby.replicas", Int, "0", AtLeast(0),
        [Same "group.streams.num.standby.replicas"],
        "Standby replicas of each task of the streams group.";
    "streams.num.warmup.replicas", Int, "2", AtLeast(0),
        [Same "group.streams.num.warmup.replicas"] internal,
        "Warm-up replicas the streams group may have at once.";
    "streams.rack.aware.assignment.tags", List, "", List(&[]),
        [Same "group.streams.rack.aware.assignment.tags"],
        "Client tags that spread the streams group's standby tasks.";
    "streams.session.timeout.ms", Int, "45000", AtLeast(1),
        [Same "group.streams.session.timeout.ms"],
        "Silence after which a member of the streams group is removed (ms).";
    "streams.task.offset.interval.ms", Int, "60000", AtLeast(1),
        [Same "group.streams.task.offset.interval.ms"] internal,
        "Time between reports of the streams group's task offsets (ms).";
}

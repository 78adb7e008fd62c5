//! The topic configs of Kafka 4.4, sorted by name.

use super::def::{
    COMPRESSION, Check, ConfigDef, Kind, Scope, Synonym, Unit, default_of, is_internal,
    layered_rows,
};

// Each row: name, kind, default, check, the broker configs it falls back to; then the doc.
layered_rows! {
    TOPIC:
    "cleanup.policy", List, "delete", List(&["compact", "delete"]), [Same "log.cleanup.policy"],
        "What happens to old segments: delete, compact, both or nothing.";
    "compression.gzip.level", Int, "-1", GzipLevel, [Same "compression.gzip.level"],
        "gzip level when the broker compresses: 1 to 9, or -1 for the default.";
    "compression.lz4.level", Int, "9", Between(1, 17), [Same "compression.lz4.level"],
        "lz4 level when the broker compresses.";
    "compression.type", String, "producer", OneOf(COMPRESSION), [Same "compression.type"],
        "Codec stored batches use; producer keeps what was sent.";
    "compression.zstd.level", Int, "3", Between(-131_072, 22), [Same "compression.zstd.level"],
        "zstd level when the broker compresses.";
    "delete.retention.ms", Long, "86400000", AtLeast(0), [Same "log.cleaner.delete.retention.ms"],
        "Time tombstones survive in a compacted topic (ms).";
    "errors.deadletterqueue.group.enable", Boolean, "false", Any, [],
        "Share groups may use this topic for dead letters.";
    "file.delete.delay.ms", Long, "60000", AtLeast(0), [Same "log.segment.delete.delay.ms"],
        "Delay between dropping a segment and deleting its file (ms).";
    "flush.messages", Long, "9223372036854775807", AtLeast(1), [Same "log.flush.interval.messages"],
        "Records that may gather in a log before it is flushed.";
    "flush.ms", Long, "9223372036854775807", AtLeast(0),
        [Same "log.flush.interval.ms", Same "log.flush.scheduler.interval.ms"],
        "Time records may stay unflushed (ms).";
    "follower.replication.throttled.replicas", List, "", ThrottledReplicas, [],
        "Replicas throttled on the follower, as partition:broker, or *.";
    "index.interval.bytes", Int, "4096", AtLeast(0), [Same "log.index.interval.bytes"],
        "Bytes of records between two index entries.";
    "internal.segment.bytes", Int, null, AtLeast(1), [] internal,
        "Segment size below the public minimum, for tests (bytes).";
    "leader.replication.throttled.replicas", List, "", ThrottledReplicas, [],
        "Replicas throttled on the leader, as partition:broker, or *.";
    "local.retention.bytes", Long, "-2", AtLeast(-2), [Same "log.local.retention.bytes"],
        "Local part of a tiered log (bytes); -2: as retention.bytes.";
    "local.retention.ms", Long, "-2", AtLeast(-2), [Same "log.local.retention.ms"],
        "Age limit of local segments of a tiered log (ms); -2: as retention.ms.";
    "max.compaction.lag.ms", Long, "9223372036854775807", AtLeast(1),
        [Same "log.cleaner.max.compaction.lag.ms"],
        "Longest time a record may wait for compaction (ms).";
    "max.decompressed.message.bytes", Int, "2147483639", Between(1, 2_147_483_639),
        [Same "max.decompressed.message.bytes"],
        "Largest size of a batch once decompressed (bytes).";
    "max.message.bytes", Int, "1048588", AtLeast(0), [Same "message.max.bytes"],
        "Largest record batch accepted (bytes, as sent).";
    "message.timestamp.after.max.ms", Long, "3600000", AtLeast(0),
        [Same "log.message.timestamp.after.max.ms"],
        "How far a record's timestamp may lie ahead of the broker (ms).";
    "message.timestamp.before.max.ms", Long, "9223372036854775807", AtLeast(0),
        [Same "log.message.timestamp.before.max.ms"],
        "How far a record's timestamp may lie behind the broker (ms).";
    "message.timestamp.type", String, "CreateTime", OneOf(&["CreateTime", "LogAppendTime"]),
        [Same "log.message.timestamp.type"],
        "Whose time a record carries: CreateTime or LogAppendTime.";
    "min.cleanable.dirty.ratio", Double, "0.5", Ratio(0, 1_000_000),
        [Same "log.cleaner.min.cleanable.ratio"],
        "Dirty share of a log that makes it worth compacting (0 to 1).";
    "min.compaction.lag.ms", Long, "0", AtLeast(0), [Same "log.cleaner.min.compaction.lag.ms"],
        "Shortest time a record stays uncompacted (ms).";
    "min.insync.replicas", Int, "1", AtLeast(1), [Same "min.insync.replicas"],
        "In-sync replicas that acks=all needs.";
    "preallocate", Boolean, "false", Any, [Same "log.preallocate"],
        "Allocate a segment's file in full when it is created.";
    "remote.copy.lag.bytes", Long, "-1", AtLeast(-1), [Same "log.remote.copy.lag.bytes"],
        "Bytes a segment waits before it is tiered; -1: the local retention.";
    "remote.copy.lag.ms", Long, "0", AtLeast(-1), [Same "log.remote.copy.lag.ms"],
        "Time a segment waits before it is tiered (ms); -1: the local retention.";
    "remote.log.copy.disable", Boolean, "false", Any, [],
        "Stop copying to remote storage; what is there stays readable.";
    "remote.log.delete.on.disable", Boolean, "false", Any, [],
        "Delete the remote part when tiering is switched off.";
    "remote.storage.enable", Boolean, "false", Any, [],
        "Tier this topic.";
    "retention.bytes", Long, "-1", Any, [Same "log.retention.bytes"],
        "Size of a partition above which old segments go (bytes); -1: none.";
    "retention.ms", Long, "604800000", AtLeast(-1),
        [Same "log.retention.ms", Minutes "log.retention.minutes", Hours "log.retention.hours"],
        "Age at which segments go (ms); -1: never.";
    "segment.bytes", Int, "1073741824", AtLeast(1_048_576), [Same "log.segment.bytes"],
        "Largest segment file (bytes).";
    "segment.index.bytes", Int, "10485760", AtLeast(4), [Same "log.index.size.max.bytes"],
        "Largest index file (bytes).";
    "segment.jitter.ms", Long, "0", AtLeast(0),
        [Same "log.roll.jitter.ms", Hours "log.roll.jitter.hours"],
        "Largest random cut of the roll time (ms).";
    "segment.ms", Long, "604800000", AtLeast(1), [Same "log.roll.ms", Hours "log.roll.hours"],
        "Age at which a new segment starts (ms).";
    "unclean.leader.election.enable", Boolean, "false", Any,
        [Same "unclean.leader.election.enable"],
        "Elect a replica that is not in sync when no other is left; may lose data.";
}

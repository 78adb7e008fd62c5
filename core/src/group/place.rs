//! Where a group's coordinator is.

use dohle_wire::id::PartitionIndex;

/// The topic that remembers groups.
pub const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// The partition of [`OFFSETS_TOPIC`], out of `partitions`, whose leader coordinates `group`
/// (Kafka's `partitionFor`: the hash of a Java string, its absolute value, the remainder).
#[must_use]
pub fn partition_of(group: &str, partitions: i32) -> PartitionIndex {
    let hash = group
        .encode_utf16()
        .fold(0_i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)));
    // The smallest number has no absolute value; Kafka takes 0 for it.
    PartitionIndex(hash.checked_abs().unwrap_or(0) % partitions.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_where_kafka_has_them() {
        assert_eq!(partition_of("a", 50), PartitionIndex(47));
        assert_eq!(partition_of("ab", 50), PartitionIndex((97 * 31 + 98) % 50));
        // Its hash is the smallest number there is.
        assert_eq!(partition_of("polygenelubricants", 50), PartitionIndex(0));
    }
}

//! Which unit serves what: the routing that sessions, shards and control share.

use dohle_wire::id::PartitionIndex;

use crate::mail::ShardId;

/// The shard that owns a partition, out of `shards`.
///
/// It goes by the topic's *name*: a topic made anew under an old name lives in the same folder,
/// so the shard that removes the old log has to be the one that makes the new one.
#[must_use]
pub fn shard_of(topic: &str, partition: PartitionIndex, shards: u16) -> ShardId {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in topic.as_bytes().iter().chain(&partition.0.to_be_bytes()) {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let spread = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let wide = u128::from(spread) * u128::from(shards.max(1));
    ShardId(u16::try_from(wide >> 64).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_spread_over_all_shards() {
        let mut seen = [0; 4];
        for partition in 0..64 {
            seen[usize::from(shard_of("orders", PartitionIndex(partition), 4).0)] += 1;
        }
        assert!(seen.iter().all(|&count| count >= 8), "{seen:?}");
    }
}

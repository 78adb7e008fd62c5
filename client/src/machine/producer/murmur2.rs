//! The hash by which Kafka's clients place keys.

const MULTIPLIER: u32 = 0x5bd1_e995;
const SEED: u32 = 0x9747_b28c;

/// Murmur2 of 32 bits, little-endian, with the seed of Kafka's Java client.
pub(super) fn murmur2(data: &[u8]) -> u32 {
    let mut hash = SEED ^ data.len() as u32;
    let mut blocks = data.chunks_exact(4);
    for block in &mut blocks {
        let block = u32::from_le_bytes([block[0], block[1], block[2], block[3]]);
        let mixed = block.wrapping_mul(MULTIPLIER);
        let mixed = (mixed ^ (mixed >> 24)).wrapping_mul(MULTIPLIER);
        hash = hash.wrapping_mul(MULTIPLIER) ^ mixed;
    }
    let tail = blocks.remainder();
    if !tail.is_empty() {
        let bits = tail.iter().rev().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        hash = (hash ^ bits).wrapping_mul(MULTIPLIER);
    }
    hash = (hash ^ (hash >> 13)).wrapping_mul(MULTIPLIER);
    hash ^ (hash >> 15)
}

/// The partition of a key in a topic of `partitions` > 0 partitions.
pub(super) fn partition_of(key: &[u8], partitions: usize) -> i32 {
    let hash = (murmur2(key) & 0x7fff_ffff) as usize;
    (hash % partitions) as i32
}

/// The partition to which Kafka's clients send a key, in a topic of `partitions` partitions.
///
/// # Panics
/// If `partitions` is not above 0: no topic is without partitions.
pub fn partition_of_key(key: &[u8], partitions: i32) -> i32 {
    let count = usize::try_from(partitions).ok().filter(|count| *count > 0);
    partition_of(key, count.expect("a topic has partitions"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of Kafka's own UtilsTest.
    #[test]
    fn hashes_as_kafka_does() {
        let check =
            |text: &str, hash: i32| assert_eq!(murmur2(text.as_bytes()), hash as u32, "{text}");
        check("21", -973_932_308);
        check("foobar", -790_332_482);
        check("a-little-bit-long-string", -985_981_536);
        check("a-little-bit-longer-string", -1_486_304_829);
        check("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971);
        assert_eq!(murmur2(b"abc"), 479_470_107);
    }

    #[test]
    fn a_partition_is_one_of_the_topic() {
        for key in 0u32..1000 {
            assert!((0..7).contains(&partition_of(&key.to_be_bytes(), 7)));
        }
    }
}

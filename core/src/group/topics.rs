//! The topics of the cluster as coordinators of consumer groups know them: names, ids and numbers
//! of partitions at one offset of the metadata, immutable.

use std::collections::BTreeSet;
use std::sync::Arc;

use dohle_wire::id::{PartitionIndex, TopicId};
use rpds::RedBlackTreeMapSync;
use xxhash_rust::xxh3::xxh3_64;

use crate::image::{Image, TopicImage};

/// A partition, by its topic's id.
pub type Part = (TopicId, PartitionIndex);

/// In front of what is hashed, should that ever change its form.
const HASH_MAGIC: u8 = 0;

/// One topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: Arc<str>,
    /// Its id.
    pub id: TopicId,
    /// How many partitions it has.
    pub partitions: i32,
    /// Changes with all that matters to an assignment (Kafka's `Utils.computeTopicHash`).
    pub hash: u64,
}

impl Topic {
    /// A topic of an image.
    #[must_use]
    pub fn of(image: &Image, topic: &TopicImage) -> Self {
        let racks: Vec<_> = topic.partitions.iter().map(|p| racks(image, &p.replicas)).collect();
        Self::new(Arc::clone(&topic.name), topic.id, &racks)
    }

    /// A topic with so many partitions as there are sets of racks.
    #[must_use]
    pub fn new(name: Arc<str>, id: TopicId, racks: &[BTreeSet<&str>]) -> Self {
        let partitions = i32::try_from(racks.len()).unwrap_or(i32::MAX);
        let mut bytes = vec![HASH_MAGIC];
        let (high, low) = halves(id);
        put(&mut bytes, high);
        put(&mut bytes, low);
        put_text(&mut bytes, &name);
        put_count(&mut bytes, racks.len());
        for (index, racks) in racks.iter().enumerate() {
            put_count(&mut bytes, index);
            for rack in racks {
                put_count(&mut bytes, rack.encode_utf16().count());
                put_text(&mut bytes, rack);
            }
        }
        Self { name, id, partitions, hash: xxh3_64(&bytes) }
    }

    /// Its partitions.
    pub fn parts(&self) -> impl Iterator<Item = Part> {
        (0..self.partitions).map(|index| (self.id, PartitionIndex(index)))
    }
}

fn racks<'a>(image: &'a Image, replicas: &[dohle_wire::id::NodeId]) -> BTreeSet<&'a str> {
    let brokers = replicas.iter().filter_map(|id| image.brokers.get(id));
    brokers.filter_map(|broker| broker.rack.as_deref()).collect()
}

/// Both halves of an id, as Java has them.
fn halves(id: TopicId) -> (u64, u64) {
    let (high, low) = id.0.0.split_at(8);
    let number = |half: &[u8]| half.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
    (number(high), number(low))
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend(number.to_le_bytes());
}

fn put_count(bytes: &mut Vec<u8>, count: usize) {
    bytes.extend(u32::try_from(count).unwrap_or(u32::MAX).to_le_bytes());
}

/// A text as Java has it: its UTF-16 units, then how many.
fn put_text(bytes: &mut Vec<u8>, text: &str) {
    let units = text.encode_utf16();
    let before = bytes.len();
    units.for_each(|unit| bytes.extend(unit.to_le_bytes()));
    let count = (bytes.len() - before) / 2;
    put_count(bytes, count);
}

/// All topics.
#[derive(Clone, Debug)]
pub struct Topics {
    version: i64,
    by_name: RedBlackTreeMapSync<Arc<str>, Arc<Topic>>,
    by_id: RedBlackTreeMapSync<TopicId, Arc<Topic>>,
}

impl Default for Topics {
    fn default() -> Self {
        Self {
            version: -1,
            by_name: RedBlackTreeMapSync::new_sync(),
            by_id: RedBlackTreeMapSync::new_sync(),
        }
    }
}

impl Topics {
    /// The topics of `new`, if they are others than these, which are those of `old`.
    #[must_use]
    pub fn follow(&self, old: Option<&Image>, new: &Image) -> Option<Self> {
        let known = old.filter(|old| same_racks(old, new));
        let mut next = if known.is_some() { self.clone() } else { Self::default() };
        let mut changed = known.is_none();
        for old in known.into_iter().flat_map(|old| old.topics.values()) {
            if new.topic_by_id(&old.id).is_none() {
                next.remove(&old.name);
                changed = true;
            }
        }
        for topic in new.topics.values() {
            let same = known.and_then(|old| old.topic(&topic.name));
            if same.is_some_and(|same| Arc::ptr_eq(same, topic)) {
                continue;
            }
            let topic = Topic::of(new, topic);
            if next.get(&topic.name).is_none_or(|known| **known != topic) {
                next.insert(topic);
                changed = true;
            }
        }
        next.version = new.offset.0;
        changed.then_some(next)
    }

    /// Adds a topic, or replaces the one of its name.
    pub fn insert(&mut self, topic: Topic) {
        self.remove(&topic.name);
        let topic = Arc::new(topic);
        self.by_id.insert_mut(topic.id, Arc::clone(&topic));
        self.by_name.insert_mut(Arc::clone(&topic.name), topic);
    }

    /// Takes a topic out.
    pub fn remove(&mut self, name: &str) {
        let Some(topic) = self.by_name.get(name).cloned() else { return };
        self.by_name.remove_mut(name);
        self.by_id.remove_mut(&topic.id);
    }

    /// The offset of the metadata that they are from.
    #[must_use]
    pub fn version(&self) -> i64 {
        self.version
    }

    /// The topic of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<Topic>> {
        self.by_name.get(name)
    }

    /// The topic of an id.
    #[must_use]
    pub fn by_id(&self, id: TopicId) -> Option<&Arc<Topic>> {
        self.by_id.get(&id)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Topic>> {
        self.by_name.values()
    }
}

/// The hashes of topics, which come in the order of their names, as one; 0 for no topic (Kafka's
/// `Utils.computeGroupHash`).
#[must_use]
pub fn hash_of<'a>(topics: impl Iterator<Item = &'a Arc<Topic>>) -> i64 {
    let mut bytes = Vec::new();
    for topic in topics {
        put(&mut bytes, topic.hash);
    }
    if bytes.is_empty() { 0 } else { xxh3_64(&bytes).cast_signed() }
}

/// Whether all brokers are where they were.
fn same_racks(old: &Image, new: &Image) -> bool {
    let racks = |image: &Image| {
        let brokers = image.brokers.values();
        brokers.map(|broker| (broker.id, broker.rack.clone())).collect::<Vec<_>>()
    };
    old.brokers.size() == new.brokers.size() && racks(old) == racks(new)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dohle_wire::id::Uuid;

    /// Numbers that Apache Kafka 4.4's own library computes.
    #[test]
    fn hashes_are_those_of_kafka() {
        let id = TopicId(Uuid::from_u128(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10));
        let topic = Topic::new("t\u{e9}".into(), id, &[["r1"].into(), BTreeSet::new()]);
        assert_eq!(topic.hash.cast_signed(), -8_588_313_100_488_382_218);
        let named = |name: &str, hash: i64| {
            let topic = Topic::new(name.into(), id, &[]);
            Arc::new(Topic { hash: hash.cast_unsigned(), ..topic })
        };
        let group = [named("a", -7), named("t", 5)];
        assert_eq!(hash_of(group.iter()), -8_589_419_398_681_722_680);
        assert_eq!(hash_of([].iter()), 0);
    }
}

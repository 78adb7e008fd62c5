//! The node that all cases are about: one broker with one topic, and batches for it.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use dohle_core::config::broker::BrokerConfig;
use dohle_core::config::topic::TopicConfig;
use dohle_core::image::{Image, PartitionImage, TopicImage};
use dohle_core::mail::PartitionId;
use dohle_core::time::{Instant, Now};
use dohle_wire::id::{
    LeaderEpoch, NodeId, Offset, PartitionIndex, ProducerEpoch, ProducerId, Sequence, Timestamp,
    TopicId, Uuid,
};
use dohle_wire::record::{BatchBuilder, NoCodecs, RawBatch};

/// How many partitions the topic has.
pub(crate) const PARTITIONS: u16 = 64;

/// The topic's id.
pub(crate) const TOPIC: Uuid = Uuid::from_u128(9 << 64);

/// The id of the only data directory.
pub(crate) const DIR: Uuid = Uuid::from_u128(7 << 80);

/// Time stands still: no timer is part of a hot step.
pub(crate) fn now() -> Now {
    Now { mono: Instant(1), wall: Timestamp(1_000) }
}

/// A partition of the topic.
pub(crate) fn partition(index: u16) -> PartitionId {
    PartitionId { topic: TopicId(TOPIC), index: PartitionIndex(index.into()) }
}

/// A broker's configuration.
pub(crate) fn config() -> Arc<BrokerConfig> {
    // The search for damage would read segments between the steps.
    let set = [("dohle.scrub.max.bytes.per.second", "0")];
    let set = set.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    Arc::new(BrokerConfig::from_properties(&set).expect("they hold").0)
}

/// Metadata with the topic, for which `settings` hold.
pub(crate) fn image(config: &Arc<BrokerConfig>, settings: &[(&str, &str)]) -> Arc<Image> {
    let me = NodeId(config.node_id);
    let partition = Arc::new(PartitionImage {
        replicas: vec![me],
        isr: vec![me],
        directories: vec![DIR],
        elr: Vec::new(),
        last_known_elr: Vec::new(),
        removing: Vec::new(),
        adding: Vec::new(),
        leader: Some(me),
        recovering: false,
        leader_epoch: LeaderEpoch(0),
        partition_epoch: 0,
    });
    let set = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let none = BTreeMap::new();
    let topic = TopicImage {
        name: "orders".into(),
        id: TopicId(TOPIC),
        partitions: vec![partition; PARTITIONS.into()],
        config: Arc::new(TopicConfig::resolve(&set.collect(), &none, &none, config)),
    };
    let mut image = Image::empty("cluster".into(), Arc::clone(config));
    image.topic_names.insert_mut(topic.id, Arc::clone(&topic.name));
    image.topics.insert_mut(Arc::clone(&topic.name), Arc::new(topic));
    image.offset = Offset(1);
    Arc::new(image)
}

/// A batch of an idempotent producer, as most clients are, with values of so many bytes.
pub(crate) fn batch(records: usize, value_bytes: usize) -> RawBatch {
    let builder = BatchBuilder::new(Offset(0));
    let mut builder = builder.producer(ProducerId(7), ProducerEpoch(0), Sequence(0));
    let value = vec![b'v'; value_bytes];
    for number in 0..records {
        let key = format!("key-{number:04}");
        let pushed = builder.push(Timestamp(1_000), Some(key.as_bytes()), Some(&value), &[]);
        pushed.expect("the batch is not full");
    }
    let bytes: Bytes = builder.build(&NoCodecs).expect("there are records");
    RawBatch::parse(bytes).expect("a batch")
}

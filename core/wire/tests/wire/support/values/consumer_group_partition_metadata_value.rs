// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::consumer_group_partition_metadata_value::{
    ConsumerGroupPartitionMetadataValue, PartitionMetadata, TopicMetadata,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for ConsumerGroupPartitionMetadataValue {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self { topics: g.vec(|g| TopicMetadata::arbitrary(g, version)) }
    }
}

impl Arbitrary for TopicMetadata {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            topic_id: g.uuid(),
            topic_name: g.string(),
            num_partitions: g.i32(),
            partition_metadata: g.vec(|g| PartitionMetadata::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for PartitionMetadata {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self { partition: g.i32(), racks: g.vec(|g| g.string()) }
    }
}

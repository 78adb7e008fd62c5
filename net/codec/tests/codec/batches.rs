//! Agreement with `kafka-protocol`, an independent implementation, about whole record batches.

use bytes::{Bytes, BytesMut};
use dohle_codec::NativeCodecs;
use dohle_wire::id::{LeaderEpoch, Offset, ProducerEpoch, ProducerId, Sequence, Timestamp};
use dohle_wire::record::{
    BatchBuilder, Compression, Header, RawBatch, RecordIter, TimestampType, split_batches,
};
use kafka_protocol::records as other;
use proptest::collection::vec;
use proptest::prelude::*;

/// A record as either side can have it.
#[derive(Clone, Debug, PartialEq)]
struct Sample {
    timestamp: i64,
    key: Option<Vec<u8>>,
    value: Option<Vec<u8>>,
    headers: Vec<(String, Option<Vec<u8>>)>,
}

fn sample() -> impl Strategy<Value = Sample> {
    let data = || prop::option::of(vec(any::<u8>(), 0..200));
    let headers = prop::collection::btree_map("[a-z]{1,5}", data(), 0..3);
    (0..2_000_000_000_000_i64, data(), data(), headers).prop_map(
        |(timestamp, key, value, headers)| Sample {
            timestamp,
            key,
            value,
            headers: headers.into_iter().collect(),
        },
    )
}

const BASE: i64 = 1_000;
const PRODUCER: (i64, i16, i32) = (77, 3, 500);

/// The batch that we make of the samples.
fn ours(samples: &[Sample], compression: Compression) -> Bytes {
    let mut builder = BatchBuilder::new(Offset(BASE))
        .leader_epoch(LeaderEpoch(9))
        .producer(ProducerId(PRODUCER.0), ProducerEpoch(PRODUCER.1), Sequence(PRODUCER.2))
        .transactional()
        .compression(compression, None);
    for each in samples {
        let headers: Vec<_> = each
            .headers
            .iter()
            .map(|(key, value)| Header { key: key.as_bytes(), value: value.as_deref() })
            .collect();
        let (key, value) = (each.key.as_deref(), each.value.as_deref());
        builder.push(Timestamp(each.timestamp), key, value, &headers).unwrap();
    }
    builder.build(&NativeCodecs).unwrap()
}

/// The records that the other implementation makes of the samples.
fn their_records(samples: &[Sample]) -> Vec<other::Record> {
    let records = samples.iter().zip(0i32..).map(|(each, index)| other::Record {
        transactional: true,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: 9,
        producer_id: PRODUCER.0,
        producer_epoch: PRODUCER.1,
        timestamp_type: other::TimestampType::Creation,
        offset: BASE + i64::from(index),
        sequence: PRODUCER.2 + index,
        timestamp: each.timestamp,
        key: each.key.clone().map(Bytes::from),
        value: each.value.clone().map(Bytes::from),
        headers: each
            .headers
            .iter()
            .map(|(key, value)| (key.clone().into(), value.clone().map(Bytes::from)))
            .collect(),
    });
    records.collect()
}

/// The batches that the other implementation makes of the samples.
fn theirs(samples: &[Sample], compression: Compression) -> Bytes {
    let compression = match compression {
        Compression::None => other::Compression::None,
        Compression::Gzip => other::Compression::Gzip,
        Compression::Snappy => other::Compression::Snappy,
        Compression::Lz4 => other::Compression::Lz4,
        Compression::Zstd => other::Compression::Zstd,
    };
    let options = other::RecordEncodeOptions { version: 2, compression };
    let mut bytes = BytesMut::new();
    let records = their_records(samples);
    other::RecordBatchEncoder::encode(&mut bytes, &records, &options).unwrap();
    bytes.freeze()
}

/// The samples in a batch, whose header must be that of all samples.
fn read(batch: &RawBatch, first: usize) -> Vec<Sample> {
    let header = &batch.header;
    assert!(batch.crc_ok());
    assert!(header.is_transactional() && !header.is_control());
    assert_eq!(header.timestamp_type(), TimestampType::CreateTime);
    assert_eq!(header.partition_leader_epoch, LeaderEpoch(9));
    assert_eq!((header.producer_id.0, header.producer_epoch.0), (PRODUCER.0, PRODUCER.1));
    assert_eq!(header.base_sequence, Sequence(PRODUCER.2 + first as i32));
    let bytes = batch.records(&NativeCodecs, 1 << 20).unwrap();
    let records = RecordIter::new(&bytes, header.records_count).map(|record| {
        let record = record.unwrap();
        let headers = record.headers.map(|each| {
            let key = String::from_utf8(each.key.to_vec()).unwrap();
            (key, each.value.map(<[u8]>::to_vec))
        });
        Sample {
            timestamp: record.timestamp(header).0,
            key: record.key.map(<[u8]>::to_vec),
            value: record.value.map(<[u8]>::to_vec),
            headers: headers.collect(),
        }
    });
    records.collect()
}

fn check(samples: &[Sample], compression: Compression) {
    let mut bytes = ours(samples, compression);
    let set = other::RecordBatchDecoder::decode(&mut bytes).unwrap();
    assert_eq!(set.records, their_records(samples));
    let mut found = Vec::new();
    for batch in split_batches(theirs(samples, compression)) {
        let batch = batch.unwrap();
        assert_eq!(batch.header.base_offset, Offset(BASE + found.len() as i64));
        found.extend(read(&batch, found.len()));
    }
    assert_eq!(found, samples);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn batches_mean_the_same_to_both(samples in vec(sample(), 1..30)) {
        for compression in Compression::ALL {
            check(&samples, compression);
        }
    }
}

use std::collections::BTreeMap;

use dohle_wire::id::{ProducerEpoch, ProducerId, Sequence};
use dohle_wire::record::Attributes;

use super::*;
use crate::config::broker::BrokerConfig;

const NOW: Timestamp = Timestamp(1_000_000_000);

/// Turns every bit around and puts the codec's number in front; `[0xff, n]` stands for n MiB of
/// nothing.
struct Inverted;

impl Codecs for Inverted {
    fn compress(
        &self,
        compression: Compression,
        level: Option<i32>,
        src: &[u8],
        dst: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        assert_ne!(level, Some(-1), "no codec has this level: it stands for the default");
        dst.push(compression.id());
        dst.extend(src.iter().map(|byte| !byte));
        Ok(())
    }

    fn decompress(
        &self,
        compression: Compression,
        src: &[u8],
        limit: usize,
    ) -> Result<Vec<u8>, CodecError> {
        match src {
            [0xff, mib] if usize::from(*mib) << 20 <= limit => Ok(vec![0; usize::from(*mib) << 20]),
            [0xff, _] => Err(CodecError::TooLarge { limit }),
            [id, rest @ ..] if *id == compression.id() => Ok(rest.iter().map(|b| !b).collect()),
            _ => Err(CodecError::Corrupt { compression, problem: "another codec".into() }),
        }
    }
}

fn topic(overrides: &[(&str, &str)]) -> TopicConfig {
    let set = overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
    let none = BTreeMap::new();
    TopicConfig::resolve(&set.collect(), &none, &none, &BrokerConfig::default())
}

fn builder(compression: Compression) -> BatchBuilder {
    BatchBuilder::new(Offset(0)).compression(compression, None)
}

/// Two records, made now and a second before.
fn plain(compression: Compression) -> Bytes {
    let mut builder = builder(compression);
    builder.push(NOW, Some(b"k"), Some(b"first"), &[]).unwrap();
    let headers = [Header { key: b"h", value: None }];
    builder.push(Timestamp(NOW.0 - 1_000), None, Some(b"second"), &headers).unwrap();
    builder.build(&Inverted).unwrap()
}

/// A batch with its header changed, its checksum right.
fn changed(batch: Bytes, change: impl FnOnce(&mut BatchHeader)) -> Bytes {
    let mut header = BatchHeader::parse(&batch).unwrap();
    change(&mut header);
    let mut bytes = Vec::new();
    header.write(&mut bytes);
    bytes.extend_from_slice(&batch[bytes.len()..]);
    let (kind, max) = (header.timestamp_type(), header.max_timestamp);
    set_max_timestamp(&mut bytes, kind, max).unwrap();
    bytes.into()
}

fn checked(bytes: Bytes, topic: &TopicConfig) -> Result<CheckedBatch, BatchRefusal> {
    check(bytes, topic, NOW, 13, &Inverted, &mut Budget::new(0))
}

fn check_refused(bytes: Bytes, topic: &TopicConfig, code: ErrorCode) -> BatchRefusal {
    let refusal = checked(bytes, topic).expect_err("it breaks a rule");
    assert_eq!(refusal.code, code, "{}", refusal.message);
    refusal
}

/// Offset, timestamp, key, value and number of headers of a record.
type Content = (i64, i64, Option<Vec<u8>>, Option<Vec<u8>>, usize);

/// What is in the records of a batch.
fn content(batch: &CheckedBatch) -> Vec<Content> {
    let raw = RawBatch::parse(batch.bytes().clone()).unwrap();
    assert!(raw.crc_ok());
    assert_eq!(raw.header, *batch.header());
    let records = raw.records(&Inverted, 1 << 20).unwrap();
    let records = RecordIter::new(&records, raw.header.records_count).map(|record| {
        let record = record.unwrap();
        let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        let (offset, time) = (record.offset(&raw.header).0, record.timestamp(&raw.header).0);
        (offset, time, owned(record.key), owned(record.value), record.headers.count())
    });
    records.collect()
}

#[test]
fn what_is_right_is_kept_as_it_is() {
    for codec in Compression::ALL {
        let bytes = plain(codec);
        let batch = checked(bytes.clone(), &topic(&[])).unwrap();
        assert_eq!(batch.bytes().as_ptr(), bytes.as_ptr(), "{codec} is not copied");
        assert_eq!(*batch.bytes(), bytes);
        assert_eq!(batch.append_time(), None);
    }
}

#[test]
fn one_whole_batch_of_format_2() {
    let good = plain(Compression::None);
    let invalid = |bytes: Bytes| check_refused(bytes, &topic(&[]), ErrorCode::InvalidRecord);
    invalid(Bytes::new());
    invalid(good.slice(..30));
    invalid(good.slice(..good.len() - 1));
    invalid([good.clone(), good.clone()].concat().into());
    invalid([good.clone(), Bytes::from_static(b"x")].concat().into());
    let mut old = good.to_vec();
    old[16] = 1;
    invalid(old.into());
    let mut short = good.to_vec();
    short[8..12].copy_from_slice(&7_i32.to_be_bytes());
    check_refused(short.into(), &topic(&[]), ErrorCode::CorruptMessage);
}

#[test]
fn zstd_needs_a_newer_version() {
    let bytes = plain(Compression::Zstd);
    let mut budget = Budget::new(0);
    let mut in_version =
        |version| check(bytes.clone(), &topic(&[]), NOW, version, &Inverted, &mut budget);
    let refusal = in_version(6).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::UnsupportedCompressionType);
    assert!(in_version(7).is_ok());
    let unknown = changed(plain(Compression::None), |h| h.attributes = Attributes(5));
    check_refused(unknown, &topic(&[]), ErrorCode::UnsupportedCompressionType);
}

#[test]
fn envelopes() {
    let good = plain(Compression::None);
    let moved = changed(good.clone(), |header| header.base_offset = Offset(3));
    check_refused(moved, &topic(&[]), ErrorCode::InvalidRecord);
    let mut flipped = good.to_vec();
    *flipped.last_mut().unwrap() ^= 1;
    check_refused(flipped.into(), &topic(&[]), ErrorCode::CorruptMessage);
    let exact = good.len().to_string();
    assert!(checked(good.clone(), &topic(&[("max.message.bytes", &exact)])).is_ok());
    let less = (good.len() - 1).to_string();
    let small = topic(&[("max.message.bytes", &less)]);
    check_refused(good, &small, ErrorCode::MessageTooLarge);
}

#[test]
fn what_clients_may_not_send() {
    let invalid = |change: fn(&mut BatchHeader)| {
        let bytes = changed(plain(Compression::None), change);
        check_refused(bytes, &topic(&[]), ErrorCode::InvalidRecord);
    };
    invalid(|header| header.attributes = header.attributes.with_control(true));
    invalid(|header| header.last_offset_delta = 2);
    invalid(|header| header.last_offset_delta = 0);
    invalid(|header| header.last_offset_delta = i32::MAX);
    invalid(|header| header.records_count = 1);
    invalid(|header| (header.records_count, header.last_offset_delta) = (3, 2));
    invalid(|header| (header.records_count, header.last_offset_delta) = (1, 0));
    invalid(|header| (header.records_count, header.last_offset_delta) = (0, 0));
    invalid(|header| header.records_count = -1);
    invalid(|header| header.producer_id = ProducerId(7));
    let idempotent = changed(plain(Compression::None), |header| {
        header.producer_id = ProducerId(7);
        header.producer_epoch = ProducerEpoch(0);
        header.base_sequence = Sequence(0);
    });
    assert!(checked(idempotent, &topic(&[])).is_ok());
}

#[test]
fn compacted_topics_want_keys() {
    for codec in [Compression::None, Compression::Gzip] {
        let compacted = topic(&[("cleanup.policy", "compact")]);
        let refusal = check_refused(plain(codec), &compacted, ErrorCode::InvalidRecord);
        assert_eq!(refusal.records.iter().map(|(index, _)| *index).collect::<Vec<_>>(), [1]);
    }
}

#[test]
fn timestamps_in_range() {
    let check = |overrides: &[(&str, &str)], bad: &[i32]| {
        let topic = topic(overrides);
        if bad.is_empty() {
            assert!(checked(plain(Compression::None), &topic).is_ok(), "{overrides:?}");
            return;
        }
        let bytes = plain(Compression::None);
        let refusal = check_refused(bytes, &topic, ErrorCode::InvalidTimestamp);
        let named: Vec<_> = refusal.records.iter().map(|(index, _)| *index).collect();
        assert_eq!(named, bad, "{overrides:?}");
    };
    check(&[("message.timestamp.before.max.ms", "1000")], &[]);
    check(&[("message.timestamp.before.max.ms", "999")], &[1]);
    check(&[("message.timestamp.after.max.ms", "0")], &[]);
    let mut builder = builder(Compression::None);
    builder.push(Timestamp(NOW.0 + 3_600_001), None, None, &[]).unwrap();
    let ahead = builder.build(&Inverted).unwrap();
    check_refused(ahead, &topic(&[]), ErrorCode::InvalidTimestamp);
    for extreme in [i64::MIN, i64::MAX] {
        let odd = changed(plain(Compression::None), |h| h.base_timestamp = Timestamp(extreme));
        let strict = topic(&[("message.timestamp.before.max.ms", "5")]);
        check_refused(odd, &strict, ErrorCode::InvalidTimestamp);
    }
}

#[test]
fn bad_timestamps_outweigh_missing_keys() {
    let both = [("cleanup.policy", "compact"), ("message.timestamp.before.max.ms", "10")];
    let mut builder = builder(Compression::None);
    builder.push(NOW, None, None, &[]).unwrap();
    builder.push(Timestamp(0), Some(b"k"), None, &[]).unwrap();
    let bytes = builder.build(&Inverted).unwrap();
    let refusal = check_refused(bytes, &topic(&both), ErrorCode::InvalidTimestamp);
    assert_eq!(refusal.records.len(), 2);
}

#[test]
fn records_at_fault_are_named_up_to_a_limit() {
    let mut builder = builder(Compression::None);
    for _ in 0..5_000 {
        builder.push(NOW, None, None, &[]).unwrap();
    }
    let compacted = topic(&[("cleanup.policy", "compact")]);
    let bytes = builder.build(&Inverted).unwrap();
    let refusal = check_refused(bytes, &compacted, ErrorCode::InvalidRecord);
    assert_eq!(refusal.records.len(), RECORD_ERRORS_MAX);
    assert!(refusal.message.starts_with("5000 "), "{}", refusal.message);
}

#[test]
fn only_brokers_stamp() {
    let stamped = changed(plain(Compression::None), |header| {
        header.attributes = header.attributes.with_timestamp_type(TimestampType::LogAppendTime);
    });
    let log_append = topic(&[("message.timestamp.type", "LogAppendTime")]);
    check_refused(stamped.clone(), &log_append, ErrorCode::InvalidTimestamp);
    // Where records keep their own times, the bit is taken off; these then count.
    let batch = checked(stamped.clone(), &topic(&[])).unwrap();
    assert_eq!(batch.header().timestamp_type(), TimestampType::CreateTime);
    let timeless = changed(stamped.clone(), |header| header.max_timestamp = Timestamp(-1));
    check_refused(timeless, &topic(&[]), ErrorCode::InvalidTimestamp);
    let far = changed(stamped, |header| header.base_timestamp = Timestamp(1 << 57));
    check_refused(far, &topic(&[]), ErrorCode::InvalidTimestamp);
}

#[test]
fn the_time_of_the_append_is_stamped() {
    for codec in [Compression::None, Compression::Snappy] {
        let log_append = topic(&[("message.timestamp.type", "LogAppendTime")]);
        let mut builder = builder(codec);
        builder.push(Timestamp(5), None, Some(b"old"), &[]).unwrap();
        builder.push(Timestamp(i64::MAX / 2), None, Some(b"far"), &[]).unwrap();
        let batch = checked(builder.build(&Inverted).unwrap(), &log_append).unwrap();
        assert_eq!(batch.append_time(), Some(NOW));
        assert_eq!(batch.header().max_timestamp, NOW);
        let times: Vec<_> = content(&batch).into_iter().map(|(_, time, ..)| time).collect();
        assert_eq!(times, [NOW.0, NOW.0], "{codec}");
    }
}

#[test]
fn the_largest_timestamp_is_made_right() {
    for codec in [Compression::None, Compression::Lz4] {
        let wrong = changed(plain(codec), |header| header.max_timestamp = Timestamp(1));
        let batch = checked(wrong, &topic(&[])).unwrap();
        assert_eq!(batch.header().max_timestamp, NOW);
        assert_eq!(*batch.bytes(), plain(codec));
    }
    let mut timeless = builder(Compression::None);
    timeless.push(Timestamp(-1), None, None, &[]).unwrap();
    let batch = checked(timeless.build(&Inverted).unwrap(), &topic(&[])).unwrap();
    assert_eq!(batch.header().max_timestamp, Timestamp(-1));
}

#[test]
fn the_topic_chooses_the_codec() {
    for (setting, codec) in [
        ("uncompressed", Compression::None),
        ("gzip", Compression::Gzip),
        ("snappy", Compression::Snappy),
        ("lz4", Compression::Lz4),
        ("zstd", Compression::Zstd),
    ] {
        for source in Compression::ALL {
            let bytes = changed(plain(source), |header| {
                header.producer_id = ProducerId(7);
                header.producer_epoch = ProducerEpoch(3);
                header.base_sequence = Sequence(11);
            });
            let same = checked(bytes.clone(), &topic(&[])).unwrap();
            let batch = checked(bytes, &topic(&[("compression.type", setting)])).unwrap();
            assert_eq!(batch.header().compression(), codec, "{source} to {codec}");
            assert_eq!(content(&batch), content(&same));
            let (a, b) = (batch.header(), same.header());
            assert_eq!(a.max_timestamp, b.max_timestamp);
            assert_eq!(a.producer_id, b.producer_id);
            assert_eq!((a.producer_epoch, a.base_sequence), (b.producer_epoch, b.base_sequence));
        }
    }
}

#[test]
fn a_transaction_stays_one_when_it_is_rewritten() {
    let bytes = changed(plain(Compression::None), |header| {
        header.attributes = header.attributes.with_transactional(true);
    });
    let batch = checked(bytes, &topic(&[("compression.type", "gzip")])).unwrap();
    assert!(batch.header().is_transactional());
}

#[test]
fn offsets_of_records_are_made_consecutive() {
    for codec in [Compression::None, Compression::Gzip] {
        let mut builder = builder(codec);
        builder.push_at(Offset(0), NOW, Some(b"a"), None, &[]).unwrap();
        builder.push_at(Offset(5), NOW, Some(b"b"), None, &[]).unwrap();
        let gap = builder.build(&Inverted).unwrap();
        let gap = changed(gap, |header| header.last_offset_delta = 1);
        let batch = checked(gap, &topic(&[])).unwrap();
        let offsets: Vec<_> = content(&batch).into_iter().map(|(offset, ..)| offset).collect();
        assert_eq!(offsets, [0, 1]);
    }
}

#[test]
fn a_timestamp_beyond_any_time_is_refused() {
    let bytes = changed(plain(Compression::None), |header| {
        header.base_timestamp = Timestamp(i64::MAX);
    });
    check_refused(bytes, &topic(&[]), ErrorCode::InvalidTimestamp);
}

#[test]
fn sizes_are_checked_after_rewriting_too() {
    let mut builder = builder(Compression::None);
    builder.push(NOW, None, Some(&[0; 500]), &[]).unwrap();
    let bytes = builder.build(&Inverted).unwrap();
    let exact = bytes.len().to_string();
    // The codec of this test adds a byte.
    let grows = topic(&[("max.message.bytes", &exact), ("compression.type", "lz4")]);
    check_refused(bytes.clone(), &grows, ErrorCode::MessageTooLarge);
    let tiny = TopicConfig { segment_bytes: 400, ..topic(&[]) };
    check_refused(bytes, &tiny, ErrorCode::RecordListTooLarge);
}

fn bomb(mib: u8) -> Bytes {
    let good = plain(Compression::Gzip);
    let bytes = [&good[..61], &[0xff, mib]].concat();
    changed(bytes.into(), |header| header.batch_length = 51)
}

#[test]
fn bombs_are_refused() {
    let refused = |mib: u8, topic: &TopicConfig, code| check_refused(bomb(mib), topic, code);
    // Not too large to decompress, but nonsense: no record is all zeros.
    let nonsense = ErrorCode::InvalidRecord;
    let default = topic(&[]);
    assert_eq!(max_message_bytes(&default), (1 << 20) + 12);
    refused(64, &default, nonsense);
    refused(66, &default, ErrorCode::MessageTooLarge);
    let small = topic(&[("max.message.bytes", "1000")]);
    refused(32, &small, nonsense);
    refused(33, &small, ErrorCode::MessageTooLarge);
    let strict = topic(&[("max.decompressed.message.bytes", "1048576")]);
    refused(1, &strict, nonsense);
    refused(2, &strict, ErrorCode::MessageTooLarge);
}

#[test]
fn broken_records_are_refused() {
    for codec in [Compression::None, Compression::Gzip] {
        let good = plain(codec);
        for cut in 62..good.len() {
            let len = i32::try_from(cut - 12).unwrap();
            let bytes = changed(good.slice(..cut), |header| header.batch_length = len);
            check_refused(bytes, &topic(&[]), ErrorCode::InvalidRecord);
        }
    }
    let wrong = changed(plain(Compression::Gzip), |header| {
        header.attributes = header.attributes.with_compression(Compression::Lz4);
    });
    check_refused(wrong, &topic(&[]), ErrorCode::InvalidRecord);
    let (codecs, mut budget) = (dohle_wire::record::NoCodecs, Budget::new(0));
    let refusal = check(plain(Compression::Gzip), &topic(&[]), NOW, 13, &codecs, &mut budget);
    assert_eq!(refusal.unwrap_err().code, ErrorCode::UnsupportedCompressionType);
}

#[test]
fn a_request_decompresses_to_so_many_bytes_and_no_more() {
    let topic = topic(&[]);
    let mut budget = Budget::new(70 << 20);
    let mut code = |bytes: Bytes| {
        let refusal = check(bytes, &topic, NOW, 13, &Inverted, &mut budget).expect_err("zeros");
        (refusal.code, refusal.message)
    };
    // 16 times 70 MiB: these cost 60 each as they are, the last as much as it may.
    for _ in 0..18 {
        assert_eq!(code(bomb(60)).0, ErrorCode::InvalidRecord, "zeros are no records");
    }
    let spent = "the batches of the request decompress to more than 1174405120 bytes";
    let too_large = (ErrorCode::MessageTooLarge, spent.to_owned());
    assert_eq!(code(bomb(60)), too_large);
    assert_eq!(code(plain(Compression::Gzip)), too_large, "nothing is left");
    let checked = check(plain(Compression::None), &topic, NOW, 13, &Inverted, &mut budget);
    assert!(checked.is_ok(), "what is not compressed costs nothing");
    let mut fresh = Budget::new(0);
    assert!(check(plain(Compression::Gzip), &topic, NOW, 13, &Inverted, &mut fresh).is_ok());
}

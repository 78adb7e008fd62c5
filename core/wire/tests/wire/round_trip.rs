//! Every message in every version: what is written is read back.

use crate::support::generator::{Arbitrary, Generator};
use crate::support::values::{
    for_each_group_record, for_each_message, for_each_metadata_record, for_each_request,
};
use crate::support::{decode, encode, versions};
use bytes::Bytes;
use dohle_wire::message::{GroupRecord, ListOffsetsRequest, MetadataRecord, ProduceRequest};
use dohle_wire::{DecodeError, EncodeError, Message, Reader, Request, Writer};
use proptest::prelude::*;

fn check_round_trip<M: Message + Arbitrary>(seed: u64) {
    for version in versions::<M>() {
        let message = M::arbitrary(&mut Generator::new(seed), version);
        let bytes = encode(&message, version);
        let read = decode::<M>(bytes, version);
        assert_eq!(read.as_ref(), Ok(&message), "{} {version}", M::NAME);
    }
}

fn check_record<M: Message + Arbitrary + Into<MetadataRecord>>(seed: u64) {
    for version in versions::<M>() {
        let record: MetadataRecord = M::arbitrary(&mut Generator::new(seed), version).into();
        assert_eq!((record.name(), record.versions()), (M::NAME, M::VERSIONS));
        let mut w = Writer::new();
        record.encode(&mut w, version).unwrap();
        let mut r = Reader::new(w.into_bytes().unwrap());
        assert_eq!(MetadataRecord::decode(&mut r), Ok((record, version)));
    }
}

fn check_group_record<K: Message + Arbitrary, V: Message + Arbitrary>(
    of: fn(K, Option<V>) -> GroupRecord,
    seed: u64,
) {
    for version in versions::<V>() {
        let mut g = Generator::new(seed);
        let key = K::arbitrary(&mut g, 0);
        let record = of(key.clone(), Some(V::arbitrary(&mut g, version)));
        assert_eq!(K::NAME, format!("{}Key", record.name()));
        assert_eq!(V::NAME, format!("{}Value", record.name()));
        assert_eq!(record.value_versions(), Some(V::VERSIONS));
        assert!(versions::<V>().any(|version| version == record.written_version()));
        let stored = record.key().unwrap();
        assert_eq!(stored[..2], record.key_type().to_be_bytes());
        let value = record.value(version).unwrap();
        assert_eq!(GroupRecord::decode(stored.clone(), value), Ok((record, Some(version))));
        assert_eq!(GroupRecord::decode(stored, None), Ok((of(key, None), None)));
    }
}

proptest! {
    #[test]
    fn every_message_is_read_back(seed: u64) {
        for_each_message!(check_round_trip(seed));
    }

    #[test]
    fn every_metadata_record_is_read_back_from_its_frame(seed: u64) {
        for_each_metadata_record!(check_record(seed));
    }

    #[test]
    fn every_record_of_groups_is_read_back_from_key_and_value(seed: u64) {
        for_each_group_record!(check_group_record(seed));
    }
}

fn check_default<M: Message>() {
    for version in versions::<M>() {
        let message = M::default();
        assert_eq!(decode::<M>(encode(&message, version), version), Ok(message));
    }
}

#[test]
fn the_default_of_every_message_fits_every_version() {
    for_each_message!(check_default());
}

fn check_versions_outside<M: Message>() {
    for version in [M::VERSIONS.0 - 1, M::VERSIONS.1 + 1, i16::MIN, i16::MAX] {
        let message = M::NAME;
        let written = M::default().encode(&mut Writer::new(), version);
        assert_eq!(written, Err(EncodeError::NoVersion { message, version }));
        let read = M::decode(&mut Reader::new(Bytes::from_static(&[0; 64])), version);
        assert_eq!(read, Err(DecodeError::NoVersion { message, version }));
    }
}

#[test]
fn other_versions_are_refused() {
    for_each_message!(check_versions_outside());
}

fn check_key<R: Request>() {
    assert_eq!(Some(R::VERSIONS), R::KEY.versions(), "{}", R::NAME);
    assert_eq!(R::FLEXIBLE_FROM, R::KEY.flexible_from(), "{}", R::NAME);
    assert_eq!(R::VERSIONS, R::Response::VERSIONS, "{}", R::NAME);
    assert_eq!(R::FLEXIBLE_FROM, R::Response::FLEXIBLE_FROM, "{}", R::NAME);
    assert_eq!(R::NAME, format!("{}Request", R::KEY));
    assert_eq!(R::Response::NAME, format!("{}Response", R::KEY));
}

#[test]
fn requests_and_responses_agree_with_the_table_of_keys() {
    for_each_request!(check_key());
}

#[test]
fn a_set_field_that_the_version_lacks_is_refused() {
    let request = ListOffsetsRequest { isolation_level: 1, ..Default::default() };
    let refused = EncodeError::NotInVersion {
        message: "ListOffsetsRequest",
        field: "isolation_level",
        version: 1,
    };
    assert_eq!(request.encode(&mut Writer::new(), 1), Err(refused));
    assert_eq!(request.encode(&mut Writer::new(), 2), Ok(()));
}

#[test]
fn a_set_field_that_may_be_dropped_is_dropped() {
    let request = ListOffsetsRequest { timeout_ms: 7, ..Default::default() };
    assert_eq!(decode(encode(&request, 9), 9), Ok(ListOffsetsRequest::default()));
    assert_eq!(decode(encode(&request, 10), 10), Ok(request));
}

#[test]
fn null_where_the_version_requires_a_value_is_refused() {
    let request = dohle_wire::message::MetadataRequest { topics: None, ..Default::default() };
    let refused = EncodeError::Null { message: "MetadataRequest", field: "topics", version: 0 };
    assert_eq!(request.encode(&mut Writer::new(), 0), Err(refused));
    assert_eq!(decode(encode(&request, 1), 1), Ok(request));
}

#[test]
fn unknown_tagged_fields_are_skipped() {
    let bytes = encode(&ProduceRequest::default(), 9);
    let (body, tags) = bytes.split_at(bytes.len() - 1);
    assert_eq!(tags, [0]);
    let extended = [body, &[2, 5, 3, 1, 2, 3, 0x80, 1, 0]].concat();
    assert_eq!(decode(Bytes::from(extended), 9), Ok(ProduceRequest::default()));
}

//! How records of the topic `__consumer_offsets` are written.

use bytes::Bytes;

use crate::codec::EncodeError;
use crate::message::GroupRecord;

impl GroupRecord {
    /// The version in which Kafka 4.4 writes the value; 0 for a type that is not known.
    pub fn written_version(&self) -> i16 {
        match self {
            // Only version 1 says when an offset expires.
            Self::OffsetCommit(_, Some(value)) if value.expire_timestamp != -1 => 1,
            // Version 4 differs in form alone, and older brokers do not read it.
            Self::GroupMetadata(..) => 3,
            _ => self.value_versions().map_or(0, |(_, newest)| newest),
        }
    }

    /// Key and value as Kafka 4.4 stores them.
    pub fn encode(&self) -> Result<(Bytes, Option<Bytes>), EncodeError> {
        Ok((self.key()?, self.value(self.written_version())?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{GroupMetadataKey, OffsetCommitKey, OffsetCommitValue};

    fn check(record: &GroupRecord, version: i16) {
        assert_eq!(record.written_version(), version, "{record:?}");
        let (key, value) = record.encode().unwrap();
        let written = value.is_some().then_some(version);
        assert_eq!(GroupRecord::decode(key, value), Ok((record.clone(), written)));
    }

    fn offset_commit(expire_timestamp: i64) -> GroupRecord {
        let key = OffsetCommitKey { group: "g".to_owned(), topic: "t".to_owned(), partition: 1 };
        let value = OffsetCommitValue { offset: 7, expire_timestamp, ..Default::default() };
        GroupRecord::OffsetCommit(key, Some(value))
    }

    #[test]
    fn each_type_is_written_in_the_version_of_kafka() {
        check(&offset_commit(-1), 4);
        check(&offset_commit(500), 1);
        let key = GroupMetadataKey { group: "g".to_owned() };
        check(&GroupRecord::GroupMetadata(key.clone(), Some(Default::default())), 3);
        check(&GroupRecord::GroupMetadata(key, None), 3);
        check(&GroupRecord::ConsumerGroupMetadata(Default::default(), Some(Default::default())), 0);
    }

    #[test]
    fn a_type_that_is_not_known_is_written_as_it_was() {
        let (key, value) = (Bytes::from_static(b"\0\x13key"), Bytes::from_static(b"\0\x09value"));
        for value in [Some(value), None] {
            let (record, version) = GroupRecord::decode(key.clone(), value.clone()).unwrap();
            assert_eq!((record.key_type(), record.name(), version), (19, "Unknown", None));
            assert_eq!(record.encode(), Ok((key.clone(), value)));
        }
    }
}

//! What consumers say to one another through a classic group: each message behind its version.
//!
//! As in Kafka's `ConsumerProtocol`, a version newer than those known is read like the newest, because
//! it can only have added fields behind; so bytes that are left over are no error.

use bytes::Bytes;

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::{ConsumerProtocolAssignment, ConsumerProtocolSubscription, Message};

/// Kind of protocol that consumers name when they join a classic group.
pub const PROTOCOL_TYPE: &str = "consumer";

/// Reads what a consumer wants to read; gives the version that it announces too.
pub fn decode_subscription(
    bytes: Bytes,
) -> Result<(ConsumerProtocolSubscription, i16), DecodeError> {
    decode(bytes)
}

/// Reads what a consumer is to read; gives the version that it announces too.
pub fn decode_assignment(bytes: Bytes) -> Result<(ConsumerProtocolAssignment, i16), DecodeError> {
    decode(bytes)
}

/// Topics that a consumer wants to read.
///
/// Nothing behind them is read, because some clients announce a version of which they do not write
/// all fields; Kafka's `ClassicGroup` does the same.
pub fn subscribed_topics(bytes: Bytes) -> Result<Vec<String>, DecodeError> {
    let mut r = Reader::new(bytes);
    known_version::<ConsumerProtocolSubscription>(r.i16()?)?;
    Ok(ConsumerProtocolSubscription::decode(&mut r, 0)?.topics)
}

/// Writes what a consumer wants to read; a version newer than those known becomes the newest.
pub fn encode_subscription(
    subscription: &ConsumerProtocolSubscription,
    version: i16,
) -> Result<Bytes, EncodeError> {
    encode(subscription, version)
}

/// Writes what a consumer is to read; a version newer than those known becomes the newest.
pub fn encode_assignment(
    assignment: &ConsumerProtocolAssignment,
    version: i16,
) -> Result<Bytes, EncodeError> {
    encode(assignment, version)
}

/// The version to read a message in that announces `version`.
fn known_version<M: Message>(version: i16) -> Result<i16, DecodeError> {
    let (oldest, newest) = M::VERSIONS;
    let refused = DecodeError::NoVersion { message: M::NAME, version };
    if version < oldest { Err(refused) } else { Ok(version.min(newest)) }
}

fn decode<M: Message>(bytes: Bytes) -> Result<(M, i16), DecodeError> {
    let mut r = Reader::new(bytes);
    let version = r.i16()?;
    Ok((M::decode(&mut r, known_version::<M>(version)?)?, version))
}

fn encode<M: Message>(message: &M, version: i16) -> Result<Bytes, EncodeError> {
    let version = version.min(M::VERSIONS.1);
    let mut w = Writer::new();
    w.i16(version);
    message.encode(&mut w, version)?;
    w.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::consumer_protocol_subscription::TopicPartition;

    fn subscription() -> ConsumerProtocolSubscription {
        let owned = TopicPartition { topic: "t".to_owned(), partitions: vec![1, 2] };
        ConsumerProtocolSubscription {
            topics: vec!["t".to_owned()],
            user_data: Some(Bytes::from_static(b"u")),
            owned_partitions: vec![owned],
            generation_id: 5,
            rack_id: Some("r".to_owned()),
        }
    }

    const TOPICS: &[u8] = b"\0\0\0\x01\0\x01t";
    const USER_DATA: &[u8] = b"\0\0\0\x01u";
    const OWNED: &[u8] = b"\0\0\0\x01\0\x01t\0\0\0\x02\0\0\0\x01\0\0\0\x02";
    const GENERATION: &[u8] = b"\0\0\0\x05";
    const RACK: &[u8] = b"\0\x01r";

    fn check(version: i16, written: i16, pieces: &[&[u8]]) {
        let bytes = Bytes::from([&written.to_be_bytes()[..], &pieces.concat()].concat());
        assert_eq!(encode_subscription(&subscription(), version), Ok(bytes.clone()));
        let (read, announced) = decode_subscription(bytes.clone()).unwrap();
        assert_eq!(announced, written);
        assert_eq!(encode_subscription(&read, version), Ok(bytes.clone()));
        assert_eq!(subscribed_topics(bytes), Ok(vec!["t".to_owned()]));
    }

    #[test]
    fn each_version_adds_a_field_behind() {
        check(0, 0, &[TOPICS, USER_DATA]);
        check(1, 1, &[TOPICS, USER_DATA, OWNED]);
        check(2, 2, &[TOPICS, USER_DATA, OWNED, GENERATION]);
        check(3, 3, &[TOPICS, USER_DATA, OWNED, GENERATION, RACK]);
        check(9, 3, &[TOPICS, USER_DATA, OWNED, GENERATION, RACK]);
    }

    #[test]
    fn a_newer_version_is_read_like_the_newest_known() {
        let pieces = [b"\0\x09", TOPICS, USER_DATA, OWNED, GENERATION, RACK, b"and more"];
        let read = decode_subscription(Bytes::from(pieces.concat()));
        assert_eq!(read, Ok((subscription(), 9)));
        let read = decode_assignment(Bytes::from_static(b"\0\x09\0\0\0\0\xff\xff\xff\xffmore"));
        assert_eq!(read, Ok((ConsumerProtocolAssignment::default(), 9)));
    }

    #[test]
    fn topics_are_found_where_fields_behind_them_are_missing() {
        let bytes = Bytes::from([b"\0\x01", TOPICS, USER_DATA].concat());
        let missing = DecodeError::Short { needed: 4, left: 0 };
        assert_eq!(decode_subscription(bytes.clone()), Err(missing));
        assert_eq!(subscribed_topics(bytes), Ok(vec!["t".to_owned()]));
    }

    #[test]
    fn bytes_that_are_no_message_are_refused() {
        let message = "ConsumerProtocolSubscription";
        let negative = DecodeError::NoVersion { message, version: -1 };
        let bytes = Bytes::from_static(b"\xff\xff\0\0\0\0\xff\xff\xff\xff");
        assert_eq!(decode_subscription(bytes.clone()), Err(negative));
        assert_eq!(subscribed_topics(bytes), Err(negative));
        let short = DecodeError::Short { needed: 2, left: 0 };
        assert_eq!(decode_assignment(Bytes::new()), Err(short));
    }
}

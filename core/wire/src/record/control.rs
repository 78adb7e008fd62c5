//! Control records: what brokers write into logs for each other.
//!
//! The key of a control record has a version and a type, both `i16`. The end of a transaction is
//! marked in a transactional control batch of one record. The metadata log has further types, whose
//! values are messages that begin with their own version.

use bytes::Bytes;

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::{
    KRaftVersionRecord, LeaderChangeMessage, Message, SnapshotFooterRecord, SnapshotHeaderRecord,
    VotersRecord,
};

/// Version of the key of a control record.
const KEY_VERSION: i16 = 0;

/// Version of the value of a transaction marker.
const MARKER_VERSION: i16 = 0;

/// Type of a control record.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(i16)]
pub enum ControlType {
    /// A transaction ends without effect.
    Abort = 0,
    /// A transaction ends and takes effect.
    Commit = 1,
    /// A leader begins its epoch in the metadata log.
    LeaderChange = 2,
    /// A snapshot begins.
    SnapshotHeader = 3,
    /// A snapshot ends.
    SnapshotFooter = 4,
    /// The version of the consensus protocol changes.
    KRaftVersion = 5,
    /// The set of voters changes.
    KRaftVoters = 6,
}

impl ControlType {
    const ALL: [Self; 7] = [
        Self::Abort,
        Self::Commit,
        Self::LeaderChange,
        Self::SnapshotHeader,
        Self::SnapshotFooter,
        Self::KRaftVersion,
        Self::KRaftVoters,
    ];

    /// The number in the key.
    pub const fn code(self) -> i16 {
        self as i16
    }

    /// The type with this number, if there is one.
    pub fn from_code(code: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }

    /// The key of a control record of this type.
    pub fn key(self) -> Bytes {
        let [a, b] = KEY_VERSION.to_be_bytes();
        let [c, d] = self.code().to_be_bytes();
        Bytes::copy_from_slice(&[a, b, c, d])
    }

    /// The type that a key names; `None` for one that is to be ignored. Later versions of the key
    /// may be longer.
    pub fn of_key(key: &[u8]) -> Result<Option<Self>, DecodeError> {
        let short = DecodeError::Short { needed: 4, left: key.len() };
        let &[a, b, c, d] = key.first_chunk().ok_or(short)?;
        match i16::from_be_bytes([a, b]) {
            version if version < 0 => {
                Err(DecodeError::NoVersion { message: "control record key", version })
            }
            _ => Ok(Self::from_code(i16::from_be_bytes([c, d]))),
        }
    }
}

/// A control record.
#[derive(Clone, PartialEq, Debug)]
pub enum ControlRecord {
    /// A transaction ends without effect.
    Abort(EndTransaction),
    /// A transaction ends and takes effect.
    Commit(EndTransaction),
    /// A leader begins its epoch.
    LeaderChange(LeaderChangeMessage),
    /// A snapshot begins.
    SnapshotHeader(SnapshotHeaderRecord),
    /// A snapshot ends.
    SnapshotFooter(SnapshotFooterRecord),
    /// The version of the consensus protocol changes.
    KRaftVersion(KRaftVersionRecord),
    /// The set of voters changes.
    KRaftVoters(VotersRecord),
}

/// Value of a transaction marker.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct EndTransaction {
    /// Epoch of the transaction coordinator that wrote the marker.
    pub coordinator_epoch: i32,
}

impl ControlRecord {
    /// Type of the record.
    pub const fn kind(&self) -> ControlType {
        match self {
            Self::Abort(_) => ControlType::Abort,
            Self::Commit(_) => ControlType::Commit,
            Self::LeaderChange(_) => ControlType::LeaderChange,
            Self::SnapshotHeader(_) => ControlType::SnapshotHeader,
            Self::SnapshotFooter(_) => ControlType::SnapshotFooter,
            Self::KRaftVersion(_) => ControlType::KRaftVersion,
            Self::KRaftVoters(_) => ControlType::KRaftVoters,
        }
    }

    /// Key of the record.
    pub fn key(&self) -> Bytes {
        self.kind().key()
    }

    /// Value of the record; a message is written in the version that its own first field names.
    pub fn value(&self) -> Result<Bytes, EncodeError> {
        let mut w = Writer::new();
        match self {
            Self::Abort(marker) | Self::Commit(marker) => {
                w.i16(MARKER_VERSION);
                w.i32(marker.coordinator_epoch);
            }
            Self::LeaderChange(message) => message.encode(&mut w, message.version)?,
            Self::SnapshotHeader(message) => message.encode(&mut w, message.version)?,
            Self::SnapshotFooter(message) => message.encode(&mut w, message.version)?,
            Self::KRaftVersion(message) => message.encode(&mut w, message.version)?,
            Self::KRaftVoters(message) => message.encode(&mut w, message.version)?,
        }
        w.into_bytes()
    }

    /// Reads a control record; `None` if its type is one to be ignored.
    pub fn decode(key: &[u8], value: &[u8]) -> Result<Option<Self>, DecodeError> {
        let Some(kind) = ControlType::of_key(key)? else { return Ok(None) };
        let value = Bytes::copy_from_slice(value);
        let record = match kind {
            ControlType::Abort => Self::Abort(marker(value)?),
            ControlType::Commit => Self::Commit(marker(value)?),
            ControlType::LeaderChange => Self::LeaderChange(message(value)?),
            ControlType::SnapshotHeader => Self::SnapshotHeader(message(value)?),
            ControlType::SnapshotFooter => Self::SnapshotFooter(message(value)?),
            ControlType::KRaftVersion => Self::KRaftVersion(message(value)?),
            ControlType::KRaftVoters => Self::KRaftVoters(message(value)?),
        };
        Ok(Some(record))
    }
}

/// Reads a marker; later versions may be longer.
fn marker(value: Bytes) -> Result<EndTransaction, DecodeError> {
    let mut r = Reader::new(value);
    match r.i16()? {
        version if version < 0 => {
            Err(DecodeError::NoVersion { message: "end transaction marker", version })
        }
        _ => Ok(EndTransaction { coordinator_epoch: r.i32()? }),
    }
}

/// Reads a message in the version that its first field names, or in the newest known one.
fn message<M: Message>(value: Bytes) -> Result<M, DecodeError> {
    let mut r = Reader::new(value);
    let version = r.clone().i16()?.min(M::VERSIONS.1);
    M::decode(&mut r, version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::leader_change_message::Voter;

    fn check(record: &ControlRecord, key: &[u8], value: &[u8]) {
        assert_eq!(record.key(), key);
        assert_eq!(record.value().unwrap(), value);
        assert_eq!(ControlRecord::decode(key, value).as_ref(), Ok(&Some(record.clone())));
    }

    #[test]
    fn transaction_markers() {
        let marker = EndTransaction { coordinator_epoch: 258 };
        check(&ControlRecord::Abort(marker), b"\0\0\0\0", b"\0\0\0\0\x01\x02");
        check(&ControlRecord::Commit(marker), b"\0\0\0\x01", b"\0\0\0\0\x01\x02");
    }

    #[test]
    fn markers_of_later_versions_may_be_longer() {
        let read = ControlRecord::decode(b"\0\x01\0\x01more", b"\0\x01\0\0\0\x07more");
        let marker = EndTransaction { coordinator_epoch: 7 };
        assert_eq!(read, Ok(Some(ControlRecord::Commit(marker))));
    }

    #[test]
    fn records_of_the_metadata_log() {
        let voter = Voter { voter_id: 3, ..Voter::default() };
        let change = LeaderChangeMessage {
            version: 0,
            leader_id: 3,
            voters: vec![voter],
            granting_voters: Vec::new(),
        };
        let value = b"\0\0\0\0\0\x03\x02\0\0\0\x03\0\x01\0";
        check(&ControlRecord::LeaderChange(change), b"\0\0\0\x02", value);
        let header = SnapshotHeaderRecord { version: 0, last_contained_log_timestamp: 9 };
        let value = b"\0\0\0\0\0\0\0\0\0\x09\0";
        check(&ControlRecord::SnapshotHeader(header), b"\0\0\0\x03", value);
        check(&ControlRecord::SnapshotFooter(Default::default()), b"\0\0\0\x04", b"\0\0\0");
        let kraft = KRaftVersionRecord { version: 0, kraft_version: 1 };
        check(&ControlRecord::KRaftVersion(kraft), b"\0\0\0\x05", b"\0\0\0\x01\0");
        check(&ControlRecord::KRaftVoters(VotersRecord::default()), b"\0\0\0\x06", b"\0\0\x01\0");
    }

    #[test]
    fn unknown_types_are_to_be_ignored() {
        assert_eq!(ControlRecord::decode(b"\0\0\0\x07", b""), Ok(None));
        assert_eq!(ControlRecord::decode(b"\0\0\xff\xff", b""), Ok(None));
    }

    #[test]
    fn broken_keys_and_values_are_refused() {
        assert!(ControlRecord::decode(b"\0\0\0", b"").is_err());
        assert!(ControlRecord::decode(b"\xff\xff\0\0", b"\0\0\0\0\0\0").is_err());
        assert!(ControlRecord::decode(b"\0\0\0\0", b"\0\0\0\0\0").is_err());
        assert!(ControlRecord::decode(b"\0\0\0\0", b"\xff\xff\0\0\0\0").is_err());
        assert!(ControlRecord::decode(b"\0\0\0\x02", b"\xff\xff\0\0").is_err());
    }
}

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

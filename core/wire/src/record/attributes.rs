//! The attribute bits of a batch.

use std::fmt;

/// How the records of a batch are compressed; the number is in attribute bits 0 to 2.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
#[repr(u8)]
pub enum Compression {
    /// Not at all.
    #[default]
    None = 0,
    /// One gzip member.
    Gzip = 1,
    /// Snappy blocks in the framing of the xerial library, or one bare block.
    Snappy = 2,
    /// One LZ4 frame.
    Lz4 = 3,
    /// One zstd frame.
    Zstd = 4,
}

impl Compression {
    /// Every kind, in the order of their ids.
    pub const ALL: [Self; 5] = [Self::None, Self::Gzip, Self::Snappy, Self::Lz4, Self::Zstd];

    /// The number in the attributes.
    pub const fn id(self) -> u8 {
        self as u8
    }

    /// The kind with this number, if there is one.
    pub const fn from_id(id: u8) -> Option<Self> {
        match id {
            0 => Some(Self::None),
            1 => Some(Self::Gzip),
            2 => Some(Self::Snappy),
            3 => Some(Self::Lz4),
            4 => Some(Self::Zstd),
            _ => None,
        }
    }

    /// The name in settings such as `compression.type`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// The kind with this name, if there is one.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What the timestamps of a batch mean.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub enum TimestampType {
    /// When the producer made each record.
    #[default]
    CreateTime,
    /// When the broker appended the batch: the largest timestamp holds for every record.
    LogAppendTime,
}

/// The attribute bits; those above bit 6 are zero.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct Attributes(
    /// The bits as they are in the header.
    pub i16,
);

const COMPRESSION: i16 = 0b111;
const LOG_APPEND_TIME: i16 = 1 << 3;
const TRANSACTIONAL: i16 = 1 << 4;
const CONTROL: i16 = 1 << 5;
const DELETE_HORIZON: i16 = 1 << 6;

impl Attributes {
    const fn has(self, bit: i16) -> bool {
        self.0 & bit != 0
    }

    const fn with(self, bit: i16, on: bool) -> Self {
        if on { Self(self.0 | bit) } else { Self(self.0 & !bit) }
    }

    /// Number of the compression, 0 to 7; see [`Compression::from_id`].
    pub const fn compression_id(self) -> u8 {
        (self.0 & COMPRESSION) as u8
    }

    /// These attributes with another compression.
    pub const fn with_compression(self, compression: Compression) -> Self {
        Self(self.0 & !COMPRESSION | compression.id() as i16)
    }

    /// What the timestamps mean.
    pub const fn timestamp_type(self) -> TimestampType {
        if self.has(LOG_APPEND_TIME) {
            TimestampType::LogAppendTime
        } else {
            TimestampType::CreateTime
        }
    }

    /// These attributes with another meaning of the timestamps.
    pub const fn with_timestamp_type(self, timestamp_type: TimestampType) -> Self {
        self.with(LOG_APPEND_TIME, matches!(timestamp_type, TimestampType::LogAppendTime))
    }

    /// Whether the batch belongs to a transaction.
    pub const fn is_transactional(self) -> bool {
        self.has(TRANSACTIONAL)
    }

    /// These attributes inside or outside a transaction.
    pub const fn with_transactional(self, on: bool) -> Self {
        self.with(TRANSACTIONAL, on)
    }

    /// Whether the records are for the brokers, not for consumers; see [`super::control`].
    pub const fn is_control(self) -> bool {
        self.has(CONTROL)
    }

    /// These attributes of a control batch or of a batch of data.
    pub const fn with_control(self, on: bool) -> Self {
        self.with(CONTROL, on)
    }

    /// Whether the base timestamp is the time from which on the tombstones and markers in the batch
    /// may be dropped.
    pub const fn has_delete_horizon(self) -> bool {
        self.has(DELETE_HORIZON)
    }

    /// These attributes with or without a delete horizon.
    pub const fn with_delete_horizon(self, on: bool) -> Self {
        self.with(DELETE_HORIZON, on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressions_have_ids_and_names() {
        for (kind, id) in Compression::ALL.into_iter().zip(0u8..) {
            assert_eq!(kind.id(), id);
            assert_eq!(Compression::from_id(id), Some(kind));
            assert_eq!(Compression::from_name(kind.name()), Some(kind));
        }
        assert_eq!(Compression::from_id(5), None);
        assert_eq!(Compression::from_name("GZIP"), None);
    }

    #[test]
    fn each_flag_has_its_bit() {
        let none = Attributes::default();
        assert_eq!(none.with_compression(Compression::Zstd), Attributes(4));
        assert_eq!(none.with_timestamp_type(TimestampType::LogAppendTime), Attributes(8));
        assert_eq!(none.with_transactional(true), Attributes(16));
        assert_eq!(none.with_control(true), Attributes(32));
        assert_eq!(none.with_delete_horizon(true), Attributes(64));
    }

    #[test]
    fn flags_do_not_touch_each_other() {
        let all = Attributes(0x7f).with_compression(Compression::None).with_control(false);
        assert_eq!(all, Attributes(0x58));
        assert!(all.is_transactional() && all.has_delete_horizon() && !all.is_control());
        assert_eq!(all.timestamp_type(), TimestampType::LogAppendTime);
        assert_eq!(all.compression_id(), 0);
    }
}

//! Identifier newtypes: numbers that must not be mixed up with each other.
//!
//! Generated messages carry raw primitives; code above the wire wraps them in these types at its
//! boundary.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

macro_rules! number {
    ($(#[$doc:meta])* $name:ident($raw:ty)) => {
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $raw);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl From<$raw> for $name {
            fn from(raw: $raw) -> Self {
                Self(raw)
            }
        }

        impl From<$name> for $raw {
            fn from(id: $name) -> Self {
                id.0
            }
        }
    };
}

number!(
    /// Position of a record in a partition's log, counted in records from 0.
    Offset(i64)
);
number!(
    /// Term of a partition's leader; grows by one with every election.
    LeaderEpoch(i32)
);
number!(
    /// Id of a broker or controller, unique in the cluster.
    NodeId(i32)
);
number!(
    /// Number of a partition inside its topic, from 0.
    PartitionIndex(i32)
);
number!(
    /// Id that the cluster gives to an idempotent or transactional producer; -1 for none.
    ProducerId(i64)
);
number!(
    /// Generation of a producer id; an older generation is fenced. -1 for none.
    ProducerEpoch(i16)
);
number!(
    /// Number of a record in the stream of one producer into one partition; -1 for none.
    Sequence(i32)
);
number!(
    /// Milliseconds since 1970-01-01 UTC; -1 for none.
    Timestamp(i64)
);

impl Offset {
    /// This offset moved by `delta` records, stopping at the ends of the range of `i64`.
    pub const fn plus(self, delta: i64) -> Self {
        Self(self.0.saturating_add(delta))
    }

    /// This offset moved by `delta` records; `None` when the result does not fit.
    pub const fn checked_plus(self, delta: i64) -> Option<Self> {
        match self.0.checked_add(delta) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// Records from `other` up to this offset (negative when `other` is later), stopping at the
    /// ends of the range of `i64`.
    pub const fn minus(self, other: Self) -> i64 {
        self.0.saturating_sub(other.0)
    }
}

impl Sequence {
    /// This sequence moved forward by `delta` ≥ 0 records; after `i32::MAX` comes 0.
    pub const fn plus(self, delta: i32) -> Self {
        let sum = self.0.wrapping_add(delta);
        if sum < 0 && self.0 >= 0 && delta >= 0 {
            Self(sum.wrapping_sub(i32::MIN))
        } else {
            Self(sum)
        }
    }
}

/// 128-bit identifier of a topic, directory or process incarnation.
///
/// Its text form is the 16 bytes in base64url without padding, always 22 characters.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Uuid(pub [u8; 16]);

impl Uuid {
    /// The all-zero id: "no id".
    pub const ZERO: Self = Self([0; 16]);

    /// Topic id of the metadata log `__cluster_metadata`.
    pub const METADATA_TOPIC: Self = Self::from_u128(1);

    /// The id with these 128 bits, most significant first.
    pub const fn from_u128(bits: u128) -> Self {
        Self(bits.to_be_bytes())
    }

    /// The 128 bits of this id.
    pub const fn to_u128(self) -> u128 {
        u128::from_be_bytes(self.0)
    }

    /// Whether this is one of the first hundred ids, which are never given out at random.
    pub const fn is_reserved(self) -> bool {
        self.to_u128() < 100
    }
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const TEXT_LEN: usize = 22;

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.to_u128();
        let mut text = String::with_capacity(TEXT_LEN);
        for index in 0..TEXT_LEN {
            let sextet = match 122usize.checked_sub(6 * index) {
                Some(shift) => bits >> shift,
                None => bits << 4,
            };
            text.push(char::from(ALPHABET[(sextet & 63) as usize]));
        }
        f.pad(&text)
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Uuid({self})")
    }
}

/// Text that is not the base64url form of a [`Uuid`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("not an id of 22 base64url characters: {0:?}")]
pub struct ParseUuidError(
    /// The refused text.
    pub String,
);

impl FromStr for Uuid {
    type Err = ParseUuidError;

    fn from_str(text: &str) -> Result<Self, ParseUuidError> {
        parse_uuid(text.as_bytes()).ok_or_else(|| ParseUuidError(text.to_owned()))
    }
}

fn parse_uuid(text: &[u8]) -> Option<Uuid> {
    let (&last, head) = text.split_last().filter(|_| text.len() == TEXT_LEN)?;
    let high = head.iter().try_fold(0u128, |bits, &c| Some(bits << 6 | u128::from(sextet(c)?)))?;
    let tail = sextet(last)?;
    // The last character holds two bits of the id and four that must be zero.
    (tail & 15 == 0).then(|| Uuid::from_u128(high << 2 | u128::from(tail >> 4)))
}

fn sextet(character: u8) -> Option<u8> {
    match character {
        b'A'..=b'Z' => Some(character - b'A'),
        b'a'..=b'z' => Some(character - b'a' + 26),
        b'0'..=b'9' => Some(character - b'0' + 52),
        b'-' => Some(62),
        b'_' => Some(63),
        _ => None,
    }
}

/// Id of a topic: unlike its name it is never used again after the topic is deleted.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TopicId(pub Uuid);

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<Uuid> for TopicId {
    fn from(raw: Uuid) -> Self {
        Self(raw)
    }
}

impl From<TopicId> for Uuid {
    fn from(id: TopicId) -> Self {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_text(bits: u128, text: &str) {
        assert_eq!(Uuid::from_u128(bits).to_string(), text);
        assert_eq!(text.parse(), Ok(Uuid::from_u128(bits)));
    }

    fn check_refused(text: &str) {
        assert_eq!(text.parse::<Uuid>(), Err(ParseUuidError(text.to_owned())));
    }

    fn check_next(from: i32, delta: i32, to: i32) {
        assert_eq!(Sequence(from).plus(delta), Sequence(to));
    }

    #[test]
    fn uuid_text_is_base64url_without_padding() {
        check_text(0, "AAAAAAAAAAAAAAAAAAAAAA");
        check_text(1, "AAAAAAAAAAAAAAAAAAAAAQ");
        check_text(u128::MAX, "_____________________w");
        check_text(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10, "AQIDBAUGBwgJCgsMDQ4PEA");
    }

    #[test]
    fn uuid_of_wrong_length_alphabet_or_tail_is_refused() {
        check_refused("");
        check_refused("AAAAAAAAAAAAAAAAAAAAA");
        check_refused("AAAAAAAAAAAAAAAAAAAAAQ==");
        check_refused("AAAAAAAAAAAAAAAAAAAA+Q");
        check_refused("AAAAAAAAAAAAAAAAAAAAAB");
        check_refused("ÄAAAAAAAAAAAAAAAAAAAA");
    }

    #[test]
    fn only_the_first_hundred_uuids_are_reserved() {
        assert!(Uuid::ZERO.is_reserved());
        assert!(Uuid::METADATA_TOPIC.is_reserved());
        assert!(Uuid::from_u128(99).is_reserved());
        assert!(!Uuid::from_u128(100).is_reserved());
        assert!(!Uuid::from_u128(1 << 64).is_reserved());
    }

    #[test]
    fn sequences_wrap_from_the_largest_to_zero() {
        check_next(0, 1, 1);
        check_next(i32::MAX, 1, 0);
        check_next(i32::MAX - 1, 3, 1);
        check_next(i32::MAX, i32::MAX, i32::MAX - 1);
        check_next(-1, 1, 0);
    }

    #[test]
    fn offset_arithmetic_never_overflows() {
        assert_eq!(Offset(5).plus(2), Offset(7));
        assert_eq!(Offset(i64::MAX).plus(1), Offset(i64::MAX));
        assert_eq!(Offset(5).checked_plus(2), Some(Offset(7)));
        assert_eq!(Offset(i64::MAX).checked_plus(1), None);
        assert_eq!(Offset(5).minus(Offset(7)), -2);
        assert_eq!(Offset(i64::MIN).minus(Offset(1)), i64::MIN);
    }
}

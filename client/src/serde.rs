//! Values as bytes and back, in the formats of Kafka's own serializers.
//!
//! A [`Serializer`] or [`Deserializer`] may depend on the topic. Those here do not: numbers are
//! big-endian, texts UTF-8, and a [`Uuid`](JavaUuid) is its text, as in Kafka's Java client.
//!
//! ```
//! use dohle_client::serde::{Deserializer, LongSerde, Serializer};
//!
//! let bytes = LongSerde.serialize("counts", &258_i64)?.expect("a number is never null");
//! assert_eq!(&bytes[..], [0, 0, 0, 0, 0, 0, 1, 2]);
//! assert_eq!(LongSerde.deserialize("counts", bytes)?, 258_i64);
//! # Ok::<(), dohle_client::serde::SerdeError>(())
//! ```

use bytes::Bytes;
use thiserror::Error;

/// Why a value cannot be turned into bytes, or bytes into a value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SerdeError {
    /// The bytes are too many or too few.
    #[error("expected {expected} bytes for {what}, found {found}")]
    Length {
        /// What was to be read.
        what: &'static str,
        /// Bytes it takes.
        expected: usize,
        /// Bytes there were.
        found: usize,
    },
    /// The bytes are not what they should be.
    #[error("expected {expected}")]
    Malformed {
        /// What they should be.
        expected: &'static str,
    },
    /// Something that a serializer of an application found.
    #[error("{0}")]
    Other(
        /// What it found.
        String,
    ),
}

/// Turns values of one type into bytes.
pub trait Serializer<T: ?Sized>: Send + Sync {
    /// The bytes of a key or a value of a record for `topic`; `None` is a null.
    fn serialize(&self, topic: &str, value: &T) -> Result<Option<Bytes>, SerdeError>;
}

/// Turns bytes into values of one type.
pub trait Deserializer<T>: Send + Sync {
    /// The value of the bytes of a key or a value of a record of `topic`.
    fn deserialize(&self, topic: &str, bytes: Bytes) -> Result<T, SerdeError>;

    /// The same where there may be a null.
    fn deserialize_nullable(
        &self,
        topic: &str,
        bytes: Option<Bytes>,
    ) -> Result<Option<T>, SerdeError> {
        bytes.map(|bytes| self.deserialize(topic, bytes)).transpose()
    }
}

/// Bytes as they are (`ByteArraySerializer`).
#[derive(Copy, Clone, Debug, Default)]
pub struct BytesSerde;

impl Serializer<[u8]> for BytesSerde {
    fn serialize(&self, _: &str, value: &[u8]) -> Result<Option<Bytes>, SerdeError> {
        Ok(Some(Bytes::copy_from_slice(value)))
    }
}

impl Serializer<Vec<u8>> for BytesSerde {
    fn serialize(&self, topic: &str, value: &Vec<u8>) -> Result<Option<Bytes>, SerdeError> {
        self.serialize(topic, &value[..])
    }
}

impl Serializer<Bytes> for BytesSerde {
    fn serialize(&self, _: &str, value: &Bytes) -> Result<Option<Bytes>, SerdeError> {
        Ok(Some(value.clone()))
    }
}

impl Deserializer<Bytes> for BytesSerde {
    fn deserialize(&self, _: &str, bytes: Bytes) -> Result<Bytes, SerdeError> {
        Ok(bytes)
    }
}

impl Deserializer<Vec<u8>> for BytesSerde {
    fn deserialize(&self, _: &str, bytes: Bytes) -> Result<Vec<u8>, SerdeError> {
        Ok(bytes.to_vec())
    }
}

/// Text in UTF-8 (`StringSerializer`).
#[derive(Copy, Clone, Debug, Default)]
pub struct StringSerde;

impl Serializer<str> for StringSerde {
    fn serialize(&self, _: &str, value: &str) -> Result<Option<Bytes>, SerdeError> {
        Ok(Some(Bytes::copy_from_slice(value.as_bytes())))
    }
}

impl Serializer<String> for StringSerde {
    fn serialize(&self, topic: &str, value: &String) -> Result<Option<Bytes>, SerdeError> {
        self.serialize(topic, value.as_str())
    }
}

impl Deserializer<String> for StringSerde {
    fn deserialize(&self, _: &str, bytes: Bytes) -> Result<String, SerdeError> {
        String::from_utf8(bytes.to_vec())
            .map_err(|_| SerdeError::Malformed { expected: "text in UTF-8" })
    }
}

macro_rules! numbers {
    ($($(#[$doc:meta])* $serde:ident: $number:ty, $what:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Copy, Clone, Debug, Default)]
            pub struct $serde;

            impl Serializer<$number> for $serde {
                fn serialize(&self, _: &str, value: &$number) -> Result<Option<Bytes>, SerdeError> {
                    Ok(Some(Bytes::copy_from_slice(&value.to_be_bytes())))
                }
            }

            impl Deserializer<$number> for $serde {
                fn deserialize(&self, _: &str, bytes: Bytes) -> Result<$number, SerdeError> {
                    let expected = std::mem::size_of::<$number>();
                    let length = SerdeError::Length { what: $what, expected, found: bytes.len() };
                    let bytes = bytes[..].try_into().map_err(|_| length)?;
                    Ok(<$number>::from_be_bytes(bytes))
                }
            }
        )*
    };
}

numbers! {
    /// A number of 2 bytes (`ShortSerializer`).
    ShortSerde: i16, "an i16";
    /// A number of 4 bytes (`IntegerSerializer`).
    IntegerSerde: i32, "an i32";
    /// A number of 8 bytes (`LongSerializer`).
    LongSerde: i64, "an i64";
    /// A floating-point number of 8 bytes (`DoubleSerializer`).
    DoubleSerde: f64, "an f64";
}

/// A UUID as applications have it: 128 bits, told as `8-4-4-4-12` hexadecimal digits.
///
/// Kafka's own ids (`dohle_wire::id::Uuid`) are told in base64 instead; [`UuidSerde`] takes both.
pub type JavaUuid = u128;

/// A UUID as its text (`UUIDSerializer`).
#[derive(Copy, Clone, Debug, Default)]
pub struct UuidSerde;

const UUID: SerdeError =
    SerdeError::Malformed { expected: "a UUID, 8-4-4-4-12 hexadecimal digits" };

impl Serializer<JavaUuid> for UuidSerde {
    fn serialize(&self, _: &str, value: &JavaUuid) -> Result<Option<Bytes>, SerdeError> {
        let digits = format!("{value:032x}");
        let groups = [0..8, 8..12, 12..16, 16..20, 20..32].map(|group| &digits[group]);
        Ok(Some(groups.join("-").into()))
    }
}

impl Deserializer<JavaUuid> for UuidSerde {
    fn deserialize(&self, _: &str, bytes: Bytes) -> Result<JavaUuid, SerdeError> {
        let text = std::str::from_utf8(&bytes).map_err(|_| UUID)?;
        let groups: Vec<&str> = text.split('-').collect();
        let lengths = groups.iter().map(|group| group.len());
        if !lengths.eq([8, 4, 4, 4, 12])
            || !text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
        {
            return Err(UUID);
        }
        u128::from_str_radix(&groups.concat(), 16).map_err(|_| UUID)
    }
}

impl Serializer<dohle_wire::id::Uuid> for UuidSerde {
    fn serialize(
        &self,
        topic: &str,
        value: &dohle_wire::id::Uuid,
    ) -> Result<Option<Bytes>, SerdeError> {
        self.serialize(topic, &value.to_u128())
    }
}

impl Deserializer<dohle_wire::id::Uuid> for UuidSerde {
    fn deserialize(&self, topic: &str, bytes: Bytes) -> Result<dohle_wire::id::Uuid, SerdeError> {
        Deserializer::<JavaUuid>::deserialize(self, topic, bytes)
            .map(dohle_wire::id::Uuid::from_u128)
    }
}

/// Always a null (`VoidSerializer`).
#[derive(Copy, Clone, Debug, Default)]
pub struct VoidSerde;

impl Serializer<()> for VoidSerde {
    fn serialize(&self, _: &str, (): &()) -> Result<Option<Bytes>, SerdeError> {
        Ok(None)
    }
}

impl Deserializer<()> for VoidSerde {
    fn deserialize(&self, _: &str, _: Bytes) -> Result<(), SerdeError> {
        Err(SerdeError::Malformed { expected: "a null" })
    }

    fn deserialize_nullable(
        &self,
        topic: &str,
        bytes: Option<Bytes>,
    ) -> Result<Option<()>, SerdeError> {
        bytes.map_or(Ok(Some(())), |bytes| self.deserialize(topic, bytes).map(Some))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value, its bytes as Kafka's Java client makes them, and back.
    fn check<S, T>(serde: S, value: &T, bytes: &[u8])
    where
        S: Serializer<T> + Deserializer<T>,
        T: PartialEq + std::fmt::Debug,
    {
        let made = serde.serialize("t", value).expect("it can be written").expect("no null");
        assert_eq!(&made[..], bytes);
        assert_eq!(&serde.deserialize("t", made).expect("it can be read"), value);
    }

    #[test]
    fn values_look_as_kafkas_do() {
        check(BytesSerde, &vec![1, 2], &[1, 2]);
        check(BytesSerde, &Bytes::from_static(b"x"), b"x");
        check(StringSerde, &"é".to_owned(), &[0xc3, 0xa9]);
        check(ShortSerde, &-2, &[0xff, 0xfe]);
        check(IntegerSerde, &0x0102_0304, &[1, 2, 3, 4]);
        check(LongSerde, &-1, &[0xff; 8]);
        check(DoubleSerde, &1.5, &[0x3f, 0xf8, 0, 0, 0, 0, 0, 0]);
        let text = b"00112233-4455-6677-8899-aabbccddeeff";
        check(UuidSerde, &0x0011_2233_4455_6677_8899_aabb_ccdd_eeff_u128, text);
        assert_eq!(VoidSerde.serialize("t", &()), Ok(None));
        assert_eq!(VoidSerde.deserialize_nullable("t", None), Ok(Some(())));
    }

    #[test]
    fn nonsense_is_refused() {
        let short = IntegerSerde.deserialize("t", Bytes::from_static(b"abc"));
        assert_eq!(short.unwrap_err().to_string(), "expected 4 bytes for an i32, found 3");
        assert!(StringSerde.deserialize("t", Bytes::from_static(&[0xff])).is_err());
        assert!(VoidSerde.deserialize("t", Bytes::new()).is_err());
        for text in [
            "",
            "00112233445566778899aabbccddeeff",
            "0011223-34455-6677-8899-aabbccddeeff",
            "+0112233-4455-6677-8899-aabbccddeeff",
            "00112233-4455-6677-8899-aabbccddeefg",
        ] {
            let read: Result<JavaUuid, _> = UuidSerde.deserialize("t", text.to_owned().into());
            assert_eq!(read, Err(UUID), "{text}");
        }
        assert_eq!(LongSerde.deserialize_nullable("t", None), Ok(None));
    }
}

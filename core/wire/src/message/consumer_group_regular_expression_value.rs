// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The topics that a regular expression stands for.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// The topics that a regular expression stands for.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConsumerGroupRegularExpressionValue {
    /// Names of the topics.
    pub topics: Vec<String>,
    /// Version of the metadata that they were found in.
    pub version: i64,
    /// Time at which they were, in milliseconds since 1970.
    pub timestamp: i64,
}

impl ConsumerGroupRegularExpressionValue {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            topics: r.array(true, 1, |r| r.string(true))?,
            version: r.i64()?,
            timestamp: r.i64()?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.array(true, &self.topics, |w, item| w.string(true, item))?;
        w.i64(self.version);
        w.i64(self.timestamp);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for ConsumerGroupRegularExpressionValue {
    const NAME: &'static str = "ConsumerGroupRegularExpressionValue";
    const VERSIONS: (i16, i16) = (0, 0);
    const FLEXIBLE_FROM: Option<i16> = Some(0);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}

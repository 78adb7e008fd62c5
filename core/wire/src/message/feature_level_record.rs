// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The finalized level of a feature was set.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// The finalized level of a feature was set.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FeatureLevelRecord {
    /// Name of the feature.
    pub name: String,
    /// Finalized level; 0 removes the feature.
    pub feature_level: i16,
}

impl FeatureLevelRecord {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { name: r.string(true)?, feature_level: r.i16()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.name)?;
        w.i16(self.feature_level);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for FeatureLevelRecord {
    const NAME: &'static str = "FeatureLevelRecord";
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

// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! One setting of one resource was set or removed.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// One setting of one resource was set or removed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConfigRecord {
    /// Kind of resource: 2 topic, 4 broker, 8 logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// Name of the resource; empty for the default of all brokers.
    pub resource_name: String,
    /// Name of the setting.
    pub name: String,
    /// Value; null removes the setting.
    pub value: Option<String>,
}

impl ConfigRecord {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            resource_type: r.i8()?,
            resource_name: r.string(true)?,
            name: r.string(true)?,
            value: r.nullable_string(true)?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i8(self.resource_type);
        w.string(true, &self.resource_name)?;
        w.string(true, &self.name)?;
        w.nullable_string(true, self.value.as_deref())?;
        w.uvarint(0);
        Ok(())
    }
}

impl Message for ConfigRecord {
    const NAME: &'static str = "ConfigRecord";
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

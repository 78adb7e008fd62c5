// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! A quota was set or removed.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// A quota was set or removed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ClientQuotaRecord {
    /// Whom the quota is for; all parts must match.
    pub entity: Vec<EntityData>,
    /// Name of the quota.
    pub key: String,
    /// Value of the quota; its unit depends on the name.
    pub value: f64,
    /// Whether the quota is removed rather than set.
    pub remove: bool,
}

impl ClientQuotaRecord {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            entity: r.array(true, 3, |r| EntityData::read(r, version))?,
            key: r.string(true)?,
            value: r.f64()?,
            remove: r.bool()?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.array(true, &self.entity, |w, item| item.write(w, version))?;
        w.string(true, &self.key)?;
        w.f64(self.value);
        w.bool(self.remove);
        w.uvarint(0);
        Ok(())
    }
}

/// One of `ClientQuotaRecord::entity`: whom the quota is for; all parts must match.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct EntityData {
    /// Kind of entity: user, client-id or ip.
    pub entity_type: String,
    /// Name of the entity; null for the default.
    pub entity_name: Option<String>,
}

impl EntityData {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { entity_type: r.string(true)?, entity_name: r.nullable_string(true)? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.entity_type)?;
        w.nullable_string(true, self.entity_name.as_deref())?;
        w.uvarint(0);
        Ok(())
    }
}

impl Message for ClientQuotaRecord {
    const NAME: &'static str = "ClientQuotaRecord";
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

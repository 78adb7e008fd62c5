// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! An access rule was added.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, readable, writable};

/// An access rule was added.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AccessControlEntryRecord {
    /// Id of the rule.
    pub id: Uuid,
    /// Kind of resource: 2 topic, 3 group, 4 cluster, 5 transactional id, 6 delegation token, 7 user.
    pub resource_type: i8,
    /// Name of the resource.
    pub resource_name: String,
    /// How the name matches: 3 literally, 4 as a prefix.
    pub pattern_type: i8,
    /// Who: type and name with a colon between; the name * stands for everyone.
    pub principal: String,
    /// Address the rule is for; * for every address.
    pub host: String,
    /// Number of the operation; 2 stands for all.
    pub operation: i8,
    /// 2 to deny, 3 to allow.
    pub permission_type: i8,
}

impl AccessControlEntryRecord {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            id: r.uuid()?,
            resource_type: r.i8()?,
            resource_name: r.string(true)?,
            pattern_type: r.i8()?,
            principal: r.string(true)?,
            host: r.string(true)?,
            operation: r.i8()?,
            permission_type: r.i8()?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.uuid(self.id);
        w.i8(self.resource_type);
        w.string(true, &self.resource_name)?;
        w.i8(self.pattern_type);
        w.string(true, &self.principal)?;
        w.string(true, &self.host)?;
        w.i8(self.operation);
        w.i8(self.permission_type);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for AccessControlEntryRecord {
    const NAME: &'static str = "AccessControlEntryRecord";
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

// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! A controller registered.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, readable, writable};

/// A controller registered.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RegisterControllerRecord {
    /// Id of the controller.
    pub controller_id: i32,
    /// Random id of the process, new at every start.
    pub incarnation_id: Uuid,
    /// Whether the node could migrate from ZooKeeper; always false now.
    pub zk_migration_ready: bool,
    /// Listeners.
    pub end_points: Vec<ControllerEndpoint>,
    /// Features the node supports.
    pub features: Vec<ControllerFeature>,
}

impl RegisterControllerRecord {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            controller_id: r.i32()?,
            incarnation_id: r.uuid()?,
            zk_migration_ready: r.bool()?,
            end_points: r.array(true, 7, |r| ControllerEndpoint::read(r, version))?,
            features: r.array(true, 6, |r| ControllerFeature::read(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i32(self.controller_id);
        w.uuid(self.incarnation_id);
        w.bool(self.zk_migration_ready);
        w.array(true, &self.end_points, |w, item| item.write(w, version))?;
        w.array(true, &self.features, |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `RegisterControllerRecord::end_points`: listeners.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ControllerEndpoint {
    /// Name of the listener.
    pub name: String,
    /// Host name or address of the listener.
    pub host: String,
    /// TCP port of the listener.
    pub port: u16,
    /// How to talk to the listener: 0 plain, 1 TLS, 2 SASL, 3 SASL over TLS.
    pub security_protocol: i16,
}

impl ControllerEndpoint {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            name: r.string(true)?,
            host: r.string(true)?,
            port: r.u16()?,
            security_protocol: r.i16()?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.name)?;
        w.string(true, &self.host)?;
        w.u16(self.port);
        w.i16(self.security_protocol);
        w.uvarint(0);
        Ok(())
    }
}

/// One of `RegisterControllerRecord::features`: features the node supports.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ControllerFeature {
    /// Name of the feature.
    pub name: String,
    /// Lowest supported level.
    pub min_supported_version: i16,
    /// Highest supported level.
    pub max_supported_version: i16,
}

impl ControllerFeature {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            name: r.string(true)?,
            min_supported_version: r.i16()?,
            max_supported_version: r.i16()?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.name)?;
        w.i16(self.min_supported_version);
        w.i16(self.max_supported_version);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for RegisterControllerRecord {
    const NAME: &'static str = "RegisterControllerRecord";
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

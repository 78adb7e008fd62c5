// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! A broker registered; its epoch is the offset of this record.

use crate::codec::{DecodeError, EncodeError, Reader, TaggedFields, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, not_in_version, readable, writable};

/// A broker registered; its epoch is the offset of this record.
#[derive(Clone, PartialEq, Debug)]
pub struct RegisterBrokerRecord {
    /// Id of the broker.
    pub broker_id: i32,
    /// Whether the broker still runs on ZooKeeper; always false now.
    ///
    /// Since version 2.
    pub is_migrating_zk_broker: bool,
    /// Random id of the process, new at every start.
    pub incarnation_id: Uuid,
    /// Epoch of the broker's registration.
    pub broker_epoch: i64,
    /// Listeners.
    pub end_points: Vec<BrokerEndpoint>,
    /// Features the node supports.
    pub features: Vec<BrokerFeature>,
    /// Rack of the broker; null if unknown.
    pub rack: Option<String>,
    /// Whether the broker may not serve clients.
    pub fenced: bool,
    /// Whether the broker is on its way down.
    ///
    /// Since version 1.
    pub in_controlled_shutdown: bool,
    /// Ids of the log directories.
    ///
    /// Since version 3.
    pub log_dirs: Vec<Uuid>,
    /// Log directories that get no new replicas; null if none is named.
    ///
    /// Since version 4.
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
}

impl Default for RegisterBrokerRecord {
    fn default() -> Self {
        Self {
            broker_id: 0,
            is_migrating_zk_broker: false,
            incarnation_id: Uuid::ZERO,
            broker_epoch: 0,
            end_points: Vec::new(),
            features: Vec::new(),
            rack: None,
            fenced: true,
            in_controlled_shutdown: false,
            log_dirs: Vec::new(),
            cordoned_log_dirs: None,
        }
    }
}

impl RegisterBrokerRecord {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let mut out = Self {
            broker_id: r.i32()?,
            is_migrating_zk_broker: if version >= 2 { r.bool()? } else { false },
            incarnation_id: r.uuid()?,
            broker_epoch: r.i64()?,
            end_points: r.array(true, 7, |r| BrokerEndpoint::read(r, version))?,
            features: r.array(true, 6, |r| BrokerFeature::read(r, version))?,
            rack: r.nullable_string(true)?,
            fenced: r.bool()?,
            in_controlled_shutdown: if version >= 1 { r.bool()? } else { false },
            log_dirs: Vec::new(),
            cordoned_log_dirs: None,
        };
        r.tagged_fields(|tag, r| {
            match tag {
                0 if version >= 3 => {
                    out.log_dirs = r.array(true, 16, Reader::uuid)?;
                }
                1 if version >= 4 => {
                    out.cordoned_log_dirs = r.nullable_array(true, 16, Reader::uuid)?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i32(self.broker_id);
        if version >= 2 {
            w.bool(self.is_migrating_zk_broker);
        } else if self.is_migrating_zk_broker {
            return Err(not_in_version("RegisterBrokerRecord", "is_migrating_zk_broker", version));
        }
        w.uuid(self.incarnation_id);
        w.i64(self.broker_epoch);
        w.array(true, &self.end_points, |w, item| item.write(w, version))?;
        w.array(true, &self.features, |w, item| item.write(w, version))?;
        w.nullable_string(true, self.rack.as_deref())?;
        w.bool(self.fenced);
        if version >= 1 {
            w.bool(self.in_controlled_shutdown);
        } else if self.in_controlled_shutdown {
            return Err(not_in_version("RegisterBrokerRecord", "in_controlled_shutdown", version));
        }
        if version < 3 && !self.log_dirs.is_empty() {
            return Err(not_in_version("RegisterBrokerRecord", "log_dirs", version));
        }
        if version < 4 && self.cordoned_log_dirs.is_some() {
            return Err(not_in_version("RegisterBrokerRecord", "cordoned_log_dirs", version));
        }
        let mut tagged = TaggedFields::new();
        if version >= 3 && !self.log_dirs.is_empty() {
            tagged.add(0, |w| {
                w.array(true, &self.log_dirs, |w, item| {
                    w.uuid(*item);
                    Ok(())
                })?;
                Ok(())
            })?;
        }
        if version >= 4 && self.cordoned_log_dirs.is_some() {
            tagged.add(1, |w| {
                w.nullable_array(true, self.cordoned_log_dirs.as_deref(), |w, item| {
                    w.uuid(*item);
                    Ok(())
                })?;
                Ok(())
            })?;
        }
        tagged.write(w)?;
        Ok(())
    }
}

/// One of `RegisterBrokerRecord::end_points`: listeners.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BrokerEndpoint {
    /// Name of the listener.
    pub name: String,
    /// Host name or address of the listener.
    pub host: String,
    /// TCP port of the listener.
    pub port: u16,
    /// How to talk to the listener: 0 plain, 1 TLS, 2 SASL, 3 SASL over TLS.
    pub security_protocol: i16,
}

impl BrokerEndpoint {
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

/// One of `RegisterBrokerRecord::features`: features the node supports.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BrokerFeature {
    /// Name of the feature.
    pub name: String,
    /// Lowest supported level.
    pub min_supported_version: i16,
    /// Highest supported level.
    pub max_supported_version: i16,
}

impl BrokerFeature {
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

impl Message for RegisterBrokerRecord {
    const NAME: &'static str = "RegisterBrokerRecord";
    const VERSIONS: (i16, i16) = (0, 4);
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

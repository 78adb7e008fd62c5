// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Parts of a broker's registration changed; what is absent stays as it was.

use crate::codec::{DecodeError, EncodeError, Reader, TaggedFields, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, not_in_version, readable, writable};

/// Parts of a broker's registration changed; what is absent stays as it was.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BrokerRegistrationChangeRecord {
    /// Id of the broker.
    pub broker_id: i32,
    /// Epoch of the broker's registration.
    pub broker_epoch: i64,
    /// 1 fence, -1 unfence, 0 unchanged.
    pub fenced: i8,
    /// 1 entered controlled shutdown, 0 unchanged.
    ///
    /// Since version 1.
    pub in_controlled_shutdown: i8,
    /// Ids of the log directories; empty if unchanged.
    ///
    /// Since version 2.
    pub log_dirs: Vec<Uuid>,
    /// Log directories that get no new replicas; null if unchanged.
    ///
    /// Since version 3.
    pub cordoned_log_dirs: Option<Vec<Uuid>>,
}

impl BrokerRegistrationChangeRecord {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let mut out = Self {
            broker_id: r.i32()?,
            broker_epoch: r.i64()?,
            fenced: 0,
            in_controlled_shutdown: 0,
            log_dirs: Vec::new(),
            cordoned_log_dirs: None,
        };
        r.tagged_fields(|tag, r| {
            match tag {
                0 => {
                    out.fenced = r.i8()?;
                }
                1 if version >= 1 => {
                    out.in_controlled_shutdown = r.i8()?;
                }
                2 if version >= 2 => {
                    out.log_dirs = r.array(true, 16, Reader::uuid)?;
                }
                3 if version >= 3 => {
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
        w.i64(self.broker_epoch);
        if version < 1 && self.in_controlled_shutdown != 0 {
            return Err(not_in_version(
                "BrokerRegistrationChangeRecord",
                "in_controlled_shutdown",
                version,
            ));
        }
        if version < 2 && !self.log_dirs.is_empty() {
            return Err(not_in_version("BrokerRegistrationChangeRecord", "log_dirs", version));
        }
        if version < 3 && self.cordoned_log_dirs.is_some() {
            return Err(not_in_version(
                "BrokerRegistrationChangeRecord",
                "cordoned_log_dirs",
                version,
            ));
        }
        let mut tagged = TaggedFields::new();
        if self.fenced != 0 {
            tagged.add(0, |w| {
                w.i8(self.fenced);
                Ok(())
            })?;
        }
        if version >= 1 && self.in_controlled_shutdown != 0 {
            tagged.add(1, |w| {
                w.i8(self.in_controlled_shutdown);
                Ok(())
            })?;
        }
        if version >= 2 && !self.log_dirs.is_empty() {
            tagged.add(2, |w| {
                w.array(true, &self.log_dirs, |w, item| {
                    w.uuid(*item);
                    Ok(())
                })?;
                Ok(())
            })?;
        }
        if version >= 3 && self.cordoned_log_dirs.is_some() {
            tagged.add(3, |w| {
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

impl Message for BrokerRegistrationChangeRecord {
    const NAME: &'static str = "BrokerRegistrationChangeRecord";
    const VERSIONS: (i16, i16) = (0, 3);
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

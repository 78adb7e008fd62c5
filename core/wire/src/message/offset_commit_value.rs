// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! How far a group has read a partition.

use crate::codec::{DecodeError, EncodeError, Reader, TaggedFields, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, readable, writable};

/// How far a group has read a partition.
#[derive(Clone, PartialEq, Debug)]
pub struct OffsetCommitValue {
    /// Offset to read next.
    pub offset: i64,
    /// Leader epoch of the last record read; -1 if unknown.
    ///
    /// Since version 3; dropped otherwise.
    pub leader_epoch: i32,
    /// Note of the client's; may be empty.
    pub metadata: String,
    /// Time of the commit in milliseconds since 1970.
    pub commit_timestamp: i64,
    /// Time in milliseconds since 1970 at which the offset is forgotten; -1 for as configured.
    ///
    /// Only in version 1; dropped otherwise.
    pub expire_timestamp: i64,
    /// Id of the topic; zero if unknown.
    ///
    /// Since version 4; dropped otherwise.
    pub topic_id: Uuid,
}

impl Default for OffsetCommitValue {
    fn default() -> Self {
        Self {
            offset: 0,
            leader_epoch: -1,
            metadata: String::new(),
            commit_timestamp: 0,
            expire_timestamp: -1,
            topic_id: Uuid::ZERO,
        }
    }
}

impl OffsetCommitValue {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let mut out = Self {
            offset: r.i64()?,
            leader_epoch: if version >= 3 { r.i32()? } else { -1 },
            metadata: r.string(flexible)?,
            commit_timestamp: r.i64()?,
            expire_timestamp: if (1..=1).contains(&version) { r.i64()? } else { -1 },
            topic_id: Uuid::ZERO,
        };
        if flexible {
            r.tagged_fields(|tag, r| {
                match tag {
                    0 => {
                        out.topic_id = r.uuid()?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.i64(self.offset);
        if version >= 3 {
            w.i32(self.leader_epoch);
        }
        w.string(flexible, &self.metadata)?;
        w.i64(self.commit_timestamp);
        if (1..=1).contains(&version) {
            w.i64(self.expire_timestamp);
        }
        if flexible {
            let mut tagged = TaggedFields::new();
            if self.topic_id != Uuid::ZERO {
                tagged.add(0, |w| {
                    w.uuid(self.topic_id);
                    Ok(())
                })?;
            }
            tagged.write(w)?;
        }
        Ok(())
    }
}

impl Message for OffsetCommitValue {
    const NAME: &'static str = "OffsetCommitValue";
    const VERSIONS: (i16, i16) = (0, 4);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}

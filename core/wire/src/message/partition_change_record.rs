// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Parts of a partition's state changed; what is absent stays as it was.

use crate::codec::{DecodeError, EncodeError, Reader, TaggedFields, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, not_in_version, readable, writable};

/// Parts of a partition's state changed; what is absent stays as it was.
#[derive(Clone, PartialEq, Debug)]
pub struct PartitionChangeRecord {
    /// Number of the partition.
    pub partition_id: i32,
    /// Id of the topic.
    pub topic_id: Uuid,
    /// Replicas that are in sync; null if unchanged.
    pub isr: Option<Vec<i32>>,
    /// Node id of the leader; -1 for none, -2 if unchanged.
    pub leader: i32,
    /// All replicas, preferred leader first; null if unchanged.
    pub replicas: Option<Vec<i32>>,
    /// Replicas that a reassignment takes away; null if unchanged.
    pub removing_replicas: Option<Vec<i32>>,
    /// Replicas that a reassignment adds; null if unchanged.
    pub adding_replicas: Option<Vec<i32>>,
    /// 0 if the leader's log is complete, 1 after an unclean election, -1 if unchanged.
    pub leader_recovery_state: i8,
    /// Log directory of each replica, in the order of the replicas; null if unchanged.
    ///
    /// Since version 1.
    pub directories: Option<Vec<Uuid>>,
    /// Replicas outside the in-sync set that hold all committed records; null if unchanged.
    ///
    /// Since version 2.
    pub eligible_leader_replicas: Option<Vec<i32>>,
    /// Members of the last eligible set that may have lost records; null if unchanged.
    ///
    /// Since version 2.
    pub last_known_elr: Option<Vec<i32>>,
}

impl Default for PartitionChangeRecord {
    fn default() -> Self {
        Self {
            partition_id: -1,
            topic_id: Uuid::ZERO,
            isr: None,
            leader: -2,
            replicas: None,
            removing_replicas: None,
            adding_replicas: None,
            leader_recovery_state: -1,
            directories: None,
            eligible_leader_replicas: None,
            last_known_elr: None,
        }
    }
}

impl PartitionChangeRecord {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let mut out = Self {
            partition_id: r.i32()?,
            topic_id: r.uuid()?,
            isr: None,
            leader: -2,
            replicas: None,
            removing_replicas: None,
            adding_replicas: None,
            leader_recovery_state: -1,
            directories: None,
            eligible_leader_replicas: None,
            last_known_elr: None,
        };
        r.tagged_fields(|tag, r| {
            match tag {
                0 => {
                    out.isr = r.nullable_array(true, 4, Reader::i32)?;
                }
                1 => {
                    out.leader = r.i32()?;
                }
                2 => {
                    out.replicas = r.nullable_array(true, 4, Reader::i32)?;
                }
                3 => {
                    out.removing_replicas = r.nullable_array(true, 4, Reader::i32)?;
                }
                4 => {
                    out.adding_replicas = r.nullable_array(true, 4, Reader::i32)?;
                }
                5 => {
                    out.leader_recovery_state = r.i8()?;
                }
                8 if version >= 1 => {
                    out.directories = r.nullable_array(true, 16, Reader::uuid)?;
                }
                6 if version >= 2 => {
                    out.eligible_leader_replicas = r.nullable_array(true, 4, Reader::i32)?;
                }
                7 if version >= 2 => {
                    out.last_known_elr = r.nullable_array(true, 4, Reader::i32)?;
                }
                _ => return Ok(false),
            }
            Ok(true)
        })?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i32(self.partition_id);
        w.uuid(self.topic_id);
        if version < 1 && self.directories.is_some() {
            return Err(not_in_version("PartitionChangeRecord", "directories", version));
        }
        if version < 2 && self.eligible_leader_replicas.is_some() {
            return Err(not_in_version(
                "PartitionChangeRecord",
                "eligible_leader_replicas",
                version,
            ));
        }
        if version < 2 && self.last_known_elr.is_some() {
            return Err(not_in_version("PartitionChangeRecord", "last_known_elr", version));
        }
        let mut tagged = TaggedFields::new();
        if self.isr.is_some() {
            tagged.add(0, |w| {
                w.nullable_array(true, self.isr.as_deref(), |w, item| {
                    w.i32(*item);
                    Ok(())
                })?;
                Ok(())
            })?;
        }
        if self.leader != -2 {
            tagged.add(1, |w| {
                w.i32(self.leader);
                Ok(())
            })?;
        }
        if self.replicas.is_some() {
            tagged.add(2, |w| {
                w.nullable_array(true, self.replicas.as_deref(), |w, item| {
                    w.i32(*item);
                    Ok(())
                })?;
                Ok(())
            })?;
        }
        if self.removing_replicas.is_some() {
            tagged.add(3, |w| {
                w.nullable_array(true, self.removing_replicas.as_deref(), |w, item| {
                    w.i32(*item);
                    Ok(())
                })?;
                Ok(())
            })?;
        }
        if self.adding_replicas.is_some() {
            tagged.add(4, |w| {
                w.nullable_array(true, self.adding_replicas.as_deref(), |w, item| {
                    w.i32(*item);
                    Ok(())
                })?;
                Ok(())
            })?;
        }
        if self.leader_recovery_state != -1 {
            tagged.add(5, |w| {
                w.i8(self.leader_recovery_state);
                Ok(())
            })?;
        }
        if version >= 2 && self.eligible_leader_replicas.is_some() {
            tagged.add(6, |w| {
                w.nullable_array(true, self.eligible_leader_replicas.as_deref(), |w, item| {
                    w.i32(*item);
                    Ok(())
                })?;
                Ok(())
            })?;
        }
        if version >= 2 && self.last_known_elr.is_some() {
            tagged.add(7, |w| {
                w.nullable_array(true, self.last_known_elr.as_deref(), |w, item| {
                    w.i32(*item);
                    Ok(())
                })?;
                Ok(())
            })?;
        }
        if version >= 1 && self.directories.is_some() {
            tagged.add(8, |w| {
                w.nullable_array(true, self.directories.as_deref(), |w, item| {
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

impl Message for PartitionChangeRecord {
    const NAME: &'static str = "PartitionChangeRecord";
    const VERSIONS: (i16, i16) = (0, 2);
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

// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! A partition exists, with this whole state.

use crate::codec::{DecodeError, EncodeError, Reader, TaggedFields, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, not_in_version, readable, writable};

/// A partition exists, with this whole state.
#[derive(Clone, PartialEq, Debug)]
pub struct PartitionRecord {
    /// Number of the partition.
    pub partition_id: i32,
    /// Id of the topic.
    pub topic_id: Uuid,
    /// All replicas, preferred leader first.
    pub replicas: Vec<i32>,
    /// Replicas that are in sync.
    pub isr: Vec<i32>,
    /// Replicas that a reassignment takes away.
    pub removing_replicas: Vec<i32>,
    /// Replicas that a reassignment adds.
    pub adding_replicas: Vec<i32>,
    /// Node id of the leader; -1 for none.
    pub leader: i32,
    /// 0 if the leader's log is complete, 1 after an unclean election.
    pub leader_recovery_state: i8,
    /// Epoch of the leader.
    pub leader_epoch: i32,
    /// Number of changes to this partition's state.
    pub partition_epoch: i32,
    /// Log directory of each replica, in the order of the replicas.
    ///
    /// Since version 1.
    pub directories: Vec<Uuid>,
    /// Replicas outside the in-sync set that hold all committed records; null if unknown.
    ///
    /// Since version 2.
    pub eligible_leader_replicas: Option<Vec<i32>>,
    /// Members of the last eligible set that may have lost records; null if unknown.
    ///
    /// Since version 2.
    pub last_known_elr: Option<Vec<i32>>,
}

impl Default for PartitionRecord {
    fn default() -> Self {
        Self {
            partition_id: -1,
            topic_id: Uuid::ZERO,
            replicas: Vec::new(),
            isr: Vec::new(),
            removing_replicas: Vec::new(),
            adding_replicas: Vec::new(),
            leader: -1,
            leader_recovery_state: 0,
            leader_epoch: -1,
            partition_epoch: -1,
            directories: Vec::new(),
            eligible_leader_replicas: None,
            last_known_elr: None,
        }
    }
}

impl PartitionRecord {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let mut out = Self {
            partition_id: r.i32()?,
            topic_id: r.uuid()?,
            replicas: r.array(true, 4, Reader::i32)?,
            isr: r.array(true, 4, Reader::i32)?,
            removing_replicas: r.array(true, 4, Reader::i32)?,
            adding_replicas: r.array(true, 4, Reader::i32)?,
            leader: r.i32()?,
            leader_recovery_state: 0,
            leader_epoch: r.i32()?,
            partition_epoch: r.i32()?,
            directories: if version >= 1 { r.array(true, 16, Reader::uuid)? } else { Vec::new() },
            eligible_leader_replicas: None,
            last_known_elr: None,
        };
        r.tagged_fields(|tag, r| {
            match tag {
                0 => {
                    out.leader_recovery_state = r.i8()?;
                }
                1 if version >= 2 => {
                    out.eligible_leader_replicas = r.nullable_array(true, 4, Reader::i32)?;
                }
                2 if version >= 2 => {
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
        w.array(true, &self.replicas, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        w.array(true, &self.isr, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        w.array(true, &self.removing_replicas, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        w.array(true, &self.adding_replicas, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        w.i32(self.leader);
        w.i32(self.leader_epoch);
        w.i32(self.partition_epoch);
        if version >= 1 {
            w.array(true, &self.directories, |w, item| {
                w.uuid(*item);
                Ok(())
            })?;
        } else if !self.directories.is_empty() {
            return Err(not_in_version("PartitionRecord", "directories", version));
        }
        if version < 2 && self.eligible_leader_replicas.is_some() {
            return Err(not_in_version("PartitionRecord", "eligible_leader_replicas", version));
        }
        if version < 2 && self.last_known_elr.is_some() {
            return Err(not_in_version("PartitionRecord", "last_known_elr", version));
        }
        let mut tagged = TaggedFields::new();
        if self.leader_recovery_state != 0 {
            tagged.add(0, |w| {
                w.i8(self.leader_recovery_state);
                Ok(())
            })?;
        }
        if version >= 2 && self.eligible_leader_replicas.is_some() {
            tagged.add(1, |w| {
                w.nullable_array(true, self.eligible_leader_replicas.as_deref(), |w, item| {
                    w.i32(*item);
                    Ok(())
                })?;
                Ok(())
            })?;
        }
        if version >= 2 && self.last_known_elr.is_some() {
            tagged.add(2, |w| {
                w.nullable_array(true, self.last_known_elr.as_deref(), |w, item| {
                    w.i32(*item);
                    Ok(())
                })?;
                Ok(())
            })?;
        }
        tagged.write(w)?;
        Ok(())
    }
}

impl Message for PartitionRecord {
    const NAME: &'static str = "PartitionRecord";
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

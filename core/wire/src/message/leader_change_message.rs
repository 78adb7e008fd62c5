// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Control record that a leader of the metadata log writes first in its epoch.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, not_in_version, readable, writable};

/// Control record that a leader of the metadata log writes first in its epoch.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LeaderChangeMessage {
    /// Version of the rest of the record.
    pub version: i16,
    /// Node id of the new leader.
    pub leader_id: i32,
    /// All who may vote.
    pub voters: Vec<Voter>,
    /// Those whose votes made the leader.
    pub granting_voters: Vec<Voter>,
}

impl LeaderChangeMessage {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            version: r.i16()?,
            leader_id: r.i32()?,
            voters: r.array(true, 5, |r| Voter::read(r, version))?,
            granting_voters: r.array(true, 5, |r| Voter::read(r, version))?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i16(self.version);
        w.i32(self.leader_id);
        w.array(true, &self.voters, |w, item| item.write(w, version))?;
        w.array(true, &self.granting_voters, |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `LeaderChangeMessage::voters`: all who may vote.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Voter {
    /// Node id of the voter.
    pub voter_id: i32,
    /// Id of the voter's metadata log directory.
    ///
    /// Since version 1.
    pub voter_directory_id: Uuid,
}

impl Voter {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            voter_id: r.i32()?,
            voter_directory_id: if version >= 1 { r.uuid()? } else { Uuid::ZERO },
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i32(self.voter_id);
        if version >= 1 {
            w.uuid(self.voter_directory_id);
        } else if self.voter_directory_id != Uuid::ZERO {
            return Err(not_in_version("LeaderChangeMessage", "Voter.voter_directory_id", version));
        }
        w.uvarint(0);
        Ok(())
    }
}

impl Message for LeaderChangeMessage {
    const NAME: &'static str = "LeaderChangeMessage";
    const VERSIONS: (i16, i16) = (0, 1);
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

// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Names a member of a consumer group.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// Names a member of a consumer group.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConsumerGroupTargetAssignmentMemberKey {
    /// Id of the group.
    pub group_id: String,
    /// Id of the member.
    pub member_id: String,
}

impl ConsumerGroupTargetAssignmentMemberKey {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        Ok(Self { group_id: r.string(false)?, member_id: r.string(false)? })
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(false, &self.group_id)?;
        w.string(false, &self.member_id)?;
        Ok(())
    }
}

impl Message for ConsumerGroupTargetAssignmentMemberKey {
    const NAME: &'static str = "ConsumerGroupTargetAssignmentMemberKey";
    const VERSIONS: (i16, i16) = (0, 0);
    const FLEXIBLE_FROM: Option<i16> = None;

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}

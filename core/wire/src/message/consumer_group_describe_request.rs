// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks for the state and the members of consumer groups.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, readable, writable};

/// Asks for the state and the members of consumer groups.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ConsumerGroupDescribeRequest {
    /// Ids of the groups.
    pub group_ids: Vec<String>,
    /// Ask for what the client may do to each group.
    pub include_authorized_operations: bool,
}

impl ConsumerGroupDescribeRequest {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            group_ids: r.array(true, 1, |r| r.string(true))?,
            include_authorized_operations: r.bool()?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.array(true, &self.group_ids, |w, item| w.string(true, item))?;
        w.bool(self.include_authorized_operations);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for ConsumerGroupDescribeRequest {
    const NAME: &'static str = "ConsumerGroupDescribeRequest";
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

impl Request for ConsumerGroupDescribeRequest {
    const KEY: ApiKey = ApiKey::ConsumerGroupDescribe;
    type Response = super::consumer_group_describe_response::ConsumerGroupDescribeResponse;
}

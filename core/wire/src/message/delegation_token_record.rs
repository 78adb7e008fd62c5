// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! A delegation token was created or renewed.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// A delegation token was created or renewed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DelegationTokenRecord {
    /// Principal the token stands for.
    pub owner: String,
    /// Principal that asked for the token.
    pub requester: String,
    /// Principals that may renew the token.
    pub renewers: Vec<String>,
    /// Time of creation in milliseconds since 1970.
    pub issue_timestamp: i64,
    /// Time in milliseconds since 1970 beyond which the token cannot be renewed.
    pub max_timestamp: i64,
    /// Time in milliseconds since 1970 at which the token ends unless renewed.
    pub expiration_timestamp: i64,
    /// Id of the token.
    pub token_id: String,
}

impl DelegationTokenRecord {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            owner: r.string(true)?,
            requester: r.string(true)?,
            renewers: r.array(true, 1, |r| r.string(true))?,
            issue_timestamp: r.i64()?,
            max_timestamp: r.i64()?,
            expiration_timestamp: r.i64()?,
            token_id: r.string(true)?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.owner)?;
        w.string(true, &self.requester)?;
        w.array(true, &self.renewers, |w, item| w.string(true, item))?;
        w.i64(self.issue_timestamp);
        w.i64(self.max_timestamp);
        w.i64(self.expiration_timestamp);
        w.string(true, &self.token_id)?;
        w.uvarint(0);
        Ok(())
    }
}

impl Message for DelegationTokenRecord {
    const NAME: &'static str = "DelegationTokenRecord";
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

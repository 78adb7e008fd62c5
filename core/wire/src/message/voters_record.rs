// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Control record that sets who votes.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::id::Uuid;
use crate::message::traits::{Message, readable, writable};

/// Control record that sets who votes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct VotersRecord {
    /// Version of the rest of the record.
    pub version: i16,
    /// All who may vote.
    pub voters: Vec<Voter>,
}

impl VotersRecord {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out =
            Self { version: r.i16()?, voters: r.array(true, 27, |r| Voter::read(r, version))? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i16(self.version);
        w.array(true, &self.voters, |w, item| item.write(w, version))?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `VotersRecord::voters`: all who may vote.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Voter {
    /// Node id of the voter.
    pub voter_id: i32,
    /// Id of the voter's metadata log directory.
    pub voter_directory_id: Uuid,
    /// Listeners of the voter.
    pub endpoints: Vec<Endpoint>,
    /// Versions of the consensus protocol that the voter supports.
    pub kraft_version_feature: KRaftVersionFeature,
}

impl Voter {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            voter_id: r.i32()?,
            voter_directory_id: r.uuid()?,
            endpoints: r.array(true, 5, |r| Endpoint::read(r, version))?,
            kraft_version_feature: KRaftVersionFeature::read(r, version)?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i32(self.voter_id);
        w.uuid(self.voter_directory_id);
        w.array(true, &self.endpoints, |w, item| item.write(w, version))?;
        self.kraft_version_feature.write(w, version)?;
        w.uvarint(0);
        Ok(())
    }
}

/// One of `Voter::endpoints`: listeners of the voter.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Endpoint {
    /// Name of the listener.
    pub name: String,
    /// Host name or address of the listener.
    pub host: String,
    /// TCP port of the listener.
    pub port: u16,
}

impl Endpoint {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { name: r.string(true)?, host: r.string(true)?, port: r.u16()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.name)?;
        w.string(true, &self.host)?;
        w.u16(self.port);
        w.uvarint(0);
        Ok(())
    }
}

/// The `Voter::kraft_version_feature`: versions of the consensus protocol that the voter supports.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct KRaftVersionFeature {
    /// Lowest supported level.
    pub min_supported_version: i16,
    /// Highest supported level.
    pub max_supported_version: i16,
}

impl KRaftVersionFeature {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { min_supported_version: r.i16()?, max_supported_version: r.i16()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i16(self.min_supported_version);
        w.i16(self.max_supported_version);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for VotersRecord {
    const NAME: &'static str = "VotersRecord";
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

// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Moves replicas of a broker between its log directories.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, readable, writable};

/// Moves replicas of a broker between its log directories.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AlterReplicaLogDirsRequest {
    /// Directories that get replicas.
    pub dirs: Vec<AlterReplicaLogDir>,
}

impl AlterReplicaLogDirsRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self { dirs: r.array(flexible, 3, |r| AlterReplicaLogDir::read(r, version))? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.array(flexible, &self.dirs, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `AlterReplicaLogDirsRequest::dirs`: directories that get replicas.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AlterReplicaLogDir {
    /// Absolute path of the directory.
    pub path: String,
    /// Topics with replicas that go there.
    pub topics: Vec<AlterReplicaLogDirTopic>,
}

impl AlterReplicaLogDir {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            path: r.string(flexible)?,
            topics: r.array(flexible, 3, |r| AlterReplicaLogDirTopic::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.string(flexible, &self.path)?;
        w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `AlterReplicaLogDir::topics`: topics with replicas that go there.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AlterReplicaLogDirTopic {
    /// Name of the topic.
    pub name: String,
    /// Numbers of the partitions.
    pub partitions: Vec<i32>,
}

impl AlterReplicaLogDirTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out =
            Self { name: r.string(flexible)?, partitions: r.array(flexible, 4, Reader::i32)? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.string(flexible, &self.name)?;
        w.array(flexible, &self.partitions, |w, item| {
            w.i32(*item);
            Ok(())
        })?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for AlterReplicaLogDirsRequest {
    const NAME: &'static str = "AlterReplicaLogDirsRequest";
    const VERSIONS: (i16, i16) = (1, 2);
    const FLEXIBLE_FROM: Option<i16> = Some(2);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}

impl Request for AlterReplicaLogDirsRequest {
    const KEY: ApiKey = ApiKey::AlterReplicaLogDirs;
    type Response = super::alter_replica_log_dirs_response::AlterReplicaLogDirsResponse;
}

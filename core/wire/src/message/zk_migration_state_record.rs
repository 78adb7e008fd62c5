// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! How far the migration from ZooKeeper has come.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// How far the migration from ZooKeeper has come.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ZkMigrationStateRecord {
    /// 0 none, 1 pre-migration, 2 migration, 3 post-migration.
    pub zk_migration_state: i8,
}

impl ZkMigrationStateRecord {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { zk_migration_state: r.i8()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.i8(self.zk_migration_state);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for ZkMigrationStateRecord {
    const NAME: &'static str = "ZkMigrationStateRecord";
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

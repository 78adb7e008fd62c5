// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Contents and sizes of the log directories.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// Contents and sizes of the log directories.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeLogDirsResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Error code; 0 for success.
    ///
    /// Since version 3; dropped otherwise.
    pub error_code: i16,
    /// Log directories.
    pub results: Vec<DescribeLogDirsResult>,
}

impl DescribeLogDirsResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            throttle_time_ms: r.i32()?,
            error_code: if version >= 3 { r.i16()? } else { 0 },
            results: r.array(flexible, 5, |r| DescribeLogDirsResult::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.i32(self.throttle_time_ms);
        if version >= 3 {
            w.i16(self.error_code);
        }
        w.array(flexible, &self.results, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `DescribeLogDirsResponse::results`: log directories.
#[derive(Clone, PartialEq, Debug)]
pub struct DescribeLogDirsResult {
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Absolute path of the directory.
    pub log_dir: String,
    /// Topics with replicas in the directory.
    pub topics: Vec<DescribeLogDirsTopic>,
    /// Size of the file system in bytes; -1 if unknown.
    ///
    /// Since version 4; dropped otherwise.
    pub total_bytes: i64,
    /// Free bytes of the file system; -1 if unknown.
    ///
    /// Since version 4; dropped otherwise.
    pub usable_bytes: i64,
    /// Whether the directory gets no new replicas.
    ///
    /// Since version 5; dropped otherwise.
    pub is_cordoned: bool,
}

impl Default for DescribeLogDirsResult {
    fn default() -> Self {
        Self {
            error_code: 0,
            log_dir: String::new(),
            topics: Vec::new(),
            total_bytes: -1,
            usable_bytes: -1,
            is_cordoned: false,
        }
    }
}

impl DescribeLogDirsResult {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            error_code: r.i16()?,
            log_dir: r.string(flexible)?,
            topics: r.array(flexible, 3, |r| DescribeLogDirsTopic::read(r, version))?,
            total_bytes: if version >= 4 { r.i64()? } else { -1 },
            usable_bytes: if version >= 4 { r.i64()? } else { -1 },
            is_cordoned: if version >= 5 { r.bool()? } else { false },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.i16(self.error_code);
        w.string(flexible, &self.log_dir)?;
        w.array(flexible, &self.topics, |w, item| item.write(w, version))?;
        if version >= 4 {
            w.i64(self.total_bytes);
        }
        if version >= 4 {
            w.i64(self.usable_bytes);
        }
        if version >= 5 {
            w.bool(self.is_cordoned);
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `DescribeLogDirsResult::topics`: topics with replicas in the directory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeLogDirsTopic {
    /// Name of the topic.
    pub name: String,
    /// Partitions with replicas in the directory.
    pub partitions: Vec<DescribeLogDirsPartition>,
}

impl DescribeLogDirsTopic {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            name: r.string(flexible)?,
            partitions: r.array(flexible, 21, |r| DescribeLogDirsPartition::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.string(flexible, &self.name)?;
        w.array(flexible, &self.partitions, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `DescribeLogDirsTopic::partitions`: partitions with replicas in the directory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeLogDirsPartition {
    /// Number of the partition.
    pub partition_index: i32,
    /// Size of the replica in bytes.
    pub partition_size: i64,
    /// Records the replica is behind: behind the high watermark, or a future replica behind the current one.
    pub offset_lag: i64,
    /// Whether this is the copy that a move between directories fills.
    pub is_future_key: bool,
}

impl DescribeLogDirsPartition {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 2;
        let out = Self {
            partition_index: r.i32()?,
            partition_size: r.i64()?,
            offset_lag: r.i64()?,
            is_future_key: r.bool()?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 2;
        w.i32(self.partition_index);
        w.i64(self.partition_size);
        w.i64(self.offset_lag);
        w.bool(self.is_future_key);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for DescribeLogDirsResponse {
    const NAME: &'static str = "DescribeLogDirsResponse";
    const VERSIONS: (i16, i16) = (1, 5);
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

// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

use dohle_wire::message::describe_log_dirs_response::{
    DescribeLogDirsPartition, DescribeLogDirsResponse, DescribeLogDirsResult, DescribeLogDirsTopic,
};

use crate::support::generator::{Arbitrary, Generator};

impl Arbitrary for DescribeLogDirsResponse {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            throttle_time_ms: g.i32(),
            error_code: if version >= 3 { g.i16() } else { 0 },
            results: g.vec(|g| DescribeLogDirsResult::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for DescribeLogDirsResult {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            error_code: g.i16(),
            log_dir: g.string(),
            topics: g.vec(|g| DescribeLogDirsTopic::arbitrary(g, version)),
            total_bytes: if version >= 4 { g.i64() } else { -1 },
            usable_bytes: if version >= 4 { g.i64() } else { -1 },
            is_cordoned: if version >= 5 { g.bool() } else { false },
        }
    }
}

impl Arbitrary for DescribeLogDirsTopic {
    fn arbitrary(g: &mut Generator, version: i16) -> Self {
        Self {
            name: g.string(),
            partitions: g.vec(|g| DescribeLogDirsPartition::arbitrary(g, version)),
        }
    }
}

impl Arbitrary for DescribeLogDirsPartition {
    fn arbitrary(g: &mut Generator, _version: i16) -> Self {
        Self {
            partition_index: g.i32(),
            partition_size: g.i64(),
            offset_lag: g.i64(),
            is_future_key: g.bool(),
        }
    }
}

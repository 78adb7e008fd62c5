// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks which brokers or controllers form the cluster.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, not_in_version, readable, writable};

/// Asks which brokers or controllers form the cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct DescribeClusterRequest {
    /// Ask for what the client may do to the cluster.
    pub include_cluster_authorized_operations: bool,
    /// 1 for brokers, 2 for controllers.
    ///
    /// Since version 1.
    pub endpoint_type: i8,
    /// Include brokers that may not serve clients.
    ///
    /// Since version 2.
    pub include_fenced_brokers: bool,
}

impl Default for DescribeClusterRequest {
    fn default() -> Self {
        Self {
            include_cluster_authorized_operations: false,
            endpoint_type: 1,
            include_fenced_brokers: false,
        }
    }
}

impl DescribeClusterRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            include_cluster_authorized_operations: r.bool()?,
            endpoint_type: if version >= 1 { r.i8()? } else { 1 },
            include_fenced_brokers: if version >= 2 { r.bool()? } else { false },
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.bool(self.include_cluster_authorized_operations);
        if version >= 1 {
            w.i8(self.endpoint_type);
        } else if self.endpoint_type != 1 {
            return Err(not_in_version("DescribeClusterRequest", "endpoint_type", version));
        }
        if version >= 2 {
            w.bool(self.include_fenced_brokers);
        } else if self.include_fenced_brokers {
            return Err(not_in_version(
                "DescribeClusterRequest",
                "include_fenced_brokers",
                version,
            ));
        }
        w.uvarint(0);
        Ok(())
    }
}

impl Message for DescribeClusterRequest {
    const NAME: &'static str = "DescribeClusterRequest";
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

impl Request for DescribeClusterRequest {
    const KEY: ApiKey = ApiKey::DescribeCluster;
    type Response = super::describe_cluster_response::DescribeClusterResponse;
}

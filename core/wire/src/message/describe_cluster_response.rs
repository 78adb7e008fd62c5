// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The nodes of the cluster.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, not_in_version, readable, writable};

/// The nodes of the cluster.
#[derive(Clone, PartialEq, Debug)]
pub struct DescribeClusterResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Explanation of the error; null if there is none.
    pub error_message: Option<String>,
    /// 1 for brokers, 2 for controllers.
    ///
    /// Since version 1.
    pub endpoint_type: i8,
    /// Id of the cluster.
    pub cluster_id: String,
    /// Node id of the controller, or of a broker that forwards to it; -1 for none.
    pub controller_id: i32,
    /// The nodes.
    pub brokers: Vec<DescribeClusterBroker>,
    /// Bit set of what the client may do to the cluster; -2147483648 if not asked for.
    pub cluster_authorized_operations: i32,
}

impl Default for DescribeClusterResponse {
    fn default() -> Self {
        Self {
            throttle_time_ms: 0,
            error_code: 0,
            error_message: None,
            endpoint_type: 1,
            cluster_id: String::new(),
            controller_id: -1,
            brokers: Vec::new(),
            cluster_authorized_operations: i32::MIN,
        }
    }
}

impl DescribeClusterResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            throttle_time_ms: r.i32()?,
            error_code: r.i16()?,
            error_message: r.nullable_string(true)?,
            endpoint_type: if version >= 1 { r.i8()? } else { 1 },
            cluster_id: r.string(true)?,
            controller_id: r.i32()?,
            brokers: r.array(true, 11, |r| DescribeClusterBroker::read(r, version))?,
            cluster_authorized_operations: r.i32()?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i32(self.throttle_time_ms);
        w.i16(self.error_code);
        w.nullable_string(true, self.error_message.as_deref())?;
        if version >= 1 {
            w.i8(self.endpoint_type);
        } else if self.endpoint_type != 1 {
            return Err(not_in_version("DescribeClusterResponse", "endpoint_type", version));
        }
        w.string(true, &self.cluster_id)?;
        w.i32(self.controller_id);
        w.array(true, &self.brokers, |w, item| item.write(w, version))?;
        w.i32(self.cluster_authorized_operations);
        w.uvarint(0);
        Ok(())
    }
}

/// One of `DescribeClusterResponse::brokers`: the nodes.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeClusterBroker {
    /// Id of the broker.
    pub broker_id: i32,
    /// Host name or address of the listener.
    pub host: String,
    /// TCP port of the listener.
    pub port: i32,
    /// Rack of the broker; null if unknown.
    pub rack: Option<String>,
    /// Whether the broker may not serve clients.
    ///
    /// Since version 2.
    pub is_fenced: bool,
}

impl DescribeClusterBroker {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            broker_id: r.i32()?,
            host: r.string(true)?,
            port: r.i32()?,
            rack: r.nullable_string(true)?,
            is_fenced: if version >= 2 { r.bool()? } else { false },
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        w.i32(self.broker_id);
        w.string(true, &self.host)?;
        w.i32(self.port);
        w.nullable_string(true, self.rack.as_deref())?;
        if version >= 2 {
            w.bool(self.is_fenced);
        } else if self.is_fenced {
            return Err(not_in_version(
                "DescribeClusterResponse",
                "DescribeClusterBroker.is_fenced",
                version,
            ));
        }
        w.uvarint(0);
        Ok(())
    }
}

impl Message for DescribeClusterResponse {
    const NAME: &'static str = "DescribeClusterResponse";
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

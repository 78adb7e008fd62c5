// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks which requests a broker speaks; the first request on most connections.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, readable, writable};

/// Asks which requests a broker speaks; the first request on most connections.
#[derive(Clone, PartialEq, Debug)]
pub struct ApiVersionsRequest {
    /// Name of the client library.
    ///
    /// Since version 3; dropped otherwise.
    pub client_software_name: String,
    /// Version of the client library.
    ///
    /// Since version 3; dropped otherwise.
    pub client_software_version: String,
    /// Cluster the client means to talk to; null to skip the check.
    ///
    /// Since version 5; dropped otherwise.
    pub cluster_id: Option<String>,
    /// Node the client means to talk to; -1 to skip the check.
    ///
    /// Since version 5; dropped otherwise.
    pub node_id: i32,
}

impl Default for ApiVersionsRequest {
    fn default() -> Self {
        Self {
            client_software_name: String::new(),
            client_software_version: String::new(),
            cluster_id: None,
            node_id: -1,
        }
    }
}

impl ApiVersionsRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let out = Self {
            client_software_name: if version >= 3 { r.string(flexible)? } else { String::new() },
            client_software_version: if version >= 3 { r.string(flexible)? } else { String::new() },
            cluster_id: if version >= 5 { r.nullable_string(flexible)? } else { None },
            node_id: if version >= 5 { r.i32()? } else { -1 },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 3;
        if version >= 3 {
            w.string(flexible, &self.client_software_name)?;
        }
        if version >= 3 {
            w.string(flexible, &self.client_software_version)?;
        }
        if version >= 5 {
            w.nullable_string(flexible, self.cluster_id.as_deref())?;
        }
        if version >= 5 {
            w.i32(self.node_id);
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for ApiVersionsRequest {
    const NAME: &'static str = "ApiVersionsRequest";
    const VERSIONS: (i16, i16) = (0, 5);
    const FLEXIBLE_FROM: Option<i16> = Some(3);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}

impl Request for ApiVersionsRequest {
    const KEY: ApiKey = ApiKey::ApiVersions;
    type Response = super::api_versions_response::ApiVersionsResponse;
}

// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Asks for the settings of topics, brokers and other resources.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, not_in_version, readable, writable};

/// Asks for the settings of topics, brokers and other resources.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeConfigsRequest {
    /// Resources to describe.
    pub resources: Vec<DescribeConfigsResource>,
    /// Ask for the places each value could come from.
    pub include_synonyms: bool,
    /// Ask for the description of each setting.
    ///
    /// Since version 3.
    pub include_documentation: bool,
}

impl DescribeConfigsRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            resources: r.array(flexible, 4, |r| DescribeConfigsResource::read(r, version))?,
            include_synonyms: r.bool()?,
            include_documentation: if version >= 3 { r.bool()? } else { false },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.array(flexible, &self.resources, |w, item| item.write(w, version))?;
        w.bool(self.include_synonyms);
        if version >= 3 {
            w.bool(self.include_documentation);
        } else if self.include_documentation {
            return Err(not_in_version("DescribeConfigsRequest", "include_documentation", version));
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `DescribeConfigsRequest::resources`: resources to describe.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeConfigsResource {
    /// Kind of resource: 2 topic, 4 broker, 8 logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// Name of the resource.
    pub resource_name: String,
    /// Names of the settings to describe; null for all.
    pub configuration_keys: Option<Vec<String>>,
}

impl DescribeConfigsResource {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            resource_type: r.i8()?,
            resource_name: r.string(flexible)?,
            configuration_keys: r.nullable_array(flexible, 1, |r| r.string(flexible))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.i8(self.resource_type);
        w.string(flexible, &self.resource_name)?;
        w.nullable_array(flexible, self.configuration_keys.as_deref(), |w, item| {
            w.string(flexible, item)
        })?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for DescribeConfigsRequest {
    const NAME: &'static str = "DescribeConfigsRequest";
    const VERSIONS: (i16, i16) = (1, 4);
    const FLEXIBLE_FROM: Option<i16> = Some(4);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}

impl Request for DescribeConfigsRequest {
    const KEY: ApiKey = ApiKey::DescribeConfigs;
    type Response = super::describe_configs_response::DescribeConfigsResponse;
}

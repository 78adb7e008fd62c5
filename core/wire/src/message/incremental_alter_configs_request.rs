// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! Changes single settings of resources.

use crate::api_key::ApiKey;
use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, Request, readable, writable};

/// Changes single settings of resources.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct IncrementalAlterConfigsRequest {
    /// Resources to change.
    pub resources: Vec<AlterConfigsResource>,
    /// Check the request without carrying it out.
    pub validate_only: bool,
}

impl IncrementalAlterConfigsRequest {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 1;
        let out = Self {
            resources: r.array(flexible, 4, |r| AlterConfigsResource::read(r, version))?,
            validate_only: r.bool()?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 1;
        w.array(flexible, &self.resources, |w, item| item.write(w, version))?;
        w.bool(self.validate_only);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `IncrementalAlterConfigsRequest::resources`: resources to change.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AlterConfigsResource {
    /// Kind of resource: 2 topic, 4 broker, 8 logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// Name of the resource.
    pub resource_name: String,
    /// Settings to change.
    pub configs: Vec<AlterableConfig>,
}

impl AlterConfigsResource {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 1;
        let out = Self {
            resource_type: r.i8()?,
            resource_name: r.string(flexible)?,
            configs: r.array(flexible, 4, |r| AlterableConfig::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 1;
        w.i8(self.resource_type);
        w.string(flexible, &self.resource_name)?;
        w.array(flexible, &self.configs, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `AlterConfigsResource::configs`: settings to change.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AlterableConfig {
    /// Name of the setting.
    pub name: String,
    /// 0 set, 1 reset to the default, 2 append to a list, 3 remove from a list.
    pub config_operation: i8,
    /// Value; null if there is none.
    pub value: Option<String>,
}

impl AlterableConfig {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 1;
        let out = Self {
            name: r.string(flexible)?,
            config_operation: r.i8()?,
            value: r.nullable_string(flexible)?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 1;
        w.string(flexible, &self.name)?;
        w.i8(self.config_operation);
        w.nullable_string(flexible, self.value.as_deref())?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for IncrementalAlterConfigsRequest {
    const NAME: &'static str = "IncrementalAlterConfigsRequest";
    const VERSIONS: (i16, i16) = (0, 1);
    const FLEXIBLE_FROM: Option<i16> = Some(1);

    fn decode(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        readable::<Self>(version)?;
        Self::read(r, version)
    }

    fn encode(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        writable::<Self>(version)?;
        self.write(w, version)
    }
}

impl Request for IncrementalAlterConfigsRequest {
    const KEY: ApiKey = ApiKey::IncrementalAlterConfigs;
    type Response = super::incremental_alter_configs_response::IncrementalAlterConfigsResponse;
}

// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The settings of each resource.

use crate::codec::{DecodeError, EncodeError, Reader, Writer};
use crate::message::traits::{Message, readable, writable};

/// The settings of each resource.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeConfigsResponse {
    /// Milliseconds for which the client was slowed down because of a quota.
    pub throttle_time_ms: i32,
    /// Resources described.
    pub results: Vec<DescribeConfigsResult>,
}

impl DescribeConfigsResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            throttle_time_ms: r.i32()?,
            results: r.array(flexible, 7, |r| DescribeConfigsResult::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.i32(self.throttle_time_ms);
        w.array(flexible, &self.results, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `DescribeConfigsResponse::results`: resources described.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeConfigsResult {
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Explanation of the error; null if there is none.
    pub error_message: Option<String>,
    /// Kind of resource: 2 topic, 4 broker, 8 logger, 16 client metrics, 32 group.
    pub resource_type: i8,
    /// Name of the resource.
    pub resource_name: String,
    /// Settings of the resource.
    pub configs: Vec<DescribeConfigsResourceResult>,
}

impl DescribeConfigsResult {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            error_code: r.i16()?,
            error_message: r.nullable_string(flexible)?,
            resource_type: r.i8()?,
            resource_name: r.string(flexible)?,
            configs: r.array(flexible, 9, |r| DescribeConfigsResourceResult::read(r, version))?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.i16(self.error_code);
        w.nullable_string(flexible, self.error_message.as_deref())?;
        w.i8(self.resource_type);
        w.string(flexible, &self.resource_name)?;
        w.array(flexible, &self.configs, |w, item| item.write(w, version))?;
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `DescribeConfigsResult::configs`: settings of the resource.
#[derive(Clone, PartialEq, Debug)]
pub struct DescribeConfigsResourceResult {
    /// Name of the setting.
    pub name: String,
    /// Value; null if it is secret or unset.
    pub value: Option<String>,
    /// Whether the setting cannot be changed.
    pub read_only: bool,
    /// Where the value comes from: 1 topic, 2 broker, 3 cluster, 4 broker file, 5 default.
    pub config_source: i8,
    /// Whether the value is secret and therefore not shown.
    pub is_sensitive: bool,
    /// Places the value could come from, the one in force first.
    pub synonyms: Vec<DescribeConfigsSynonym>,
    /// Type of the value: 1 bool, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password.
    ///
    /// Since version 3; dropped otherwise.
    pub config_type: i8,
    /// Description of the setting; null if not asked for.
    ///
    /// Since version 3; dropped otherwise.
    pub documentation: Option<String>,
}

impl Default for DescribeConfigsResourceResult {
    fn default() -> Self {
        Self {
            name: String::new(),
            value: None,
            read_only: false,
            config_source: -1,
            is_sensitive: false,
            synonyms: Vec::new(),
            config_type: 0,
            documentation: None,
        }
    }
}

impl DescribeConfigsResourceResult {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            name: r.string(flexible)?,
            value: r.nullable_string(flexible)?,
            read_only: r.bool()?,
            config_source: r.i8()?,
            is_sensitive: r.bool()?,
            synonyms: r.array(flexible, 4, |r| DescribeConfigsSynonym::read(r, version))?,
            config_type: if version >= 3 { r.i8()? } else { 0 },
            documentation: if version >= 3 { r.nullable_string(flexible)? } else { None },
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.string(flexible, &self.name)?;
        w.nullable_string(flexible, self.value.as_deref())?;
        w.bool(self.read_only);
        w.i8(self.config_source);
        w.bool(self.is_sensitive);
        w.array(flexible, &self.synonyms, |w, item| item.write(w, version))?;
        if version >= 3 {
            w.i8(self.config_type);
        }
        if version >= 3 {
            w.nullable_string(flexible, self.documentation.as_deref())?;
        }
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `DescribeConfigsResourceResult::synonyms`: places the value could come from, the one in force first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct DescribeConfigsSynonym {
    /// Name of the setting there.
    pub name: String,
    /// Value there; null if it is secret or unset.
    pub value: Option<String>,
    /// The place, numbered as the source of the value.
    pub source: i8,
}

impl DescribeConfigsSynonym {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 4;
        let out = Self {
            name: r.string(flexible)?,
            value: r.nullable_string(flexible)?,
            source: r.i8()?,
        };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 4;
        w.string(flexible, &self.name)?;
        w.nullable_string(flexible, self.value.as_deref())?;
        w.i8(self.source);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

impl Message for DescribeConfigsResponse {
    const NAME: &'static str = "DescribeConfigsResponse";
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

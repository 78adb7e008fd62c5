// Generated from the schema table. Do not edit: change the table in the `schema` folder of this
// crate and run `cargo run -p dohle-wire-gen`.

//! The requests and features that a broker supports.

use crate::codec::{DecodeError, EncodeError, Reader, TaggedFields, Writer};
use crate::message::traits::{Message, readable, writable};

/// The requests and features that a broker supports.
#[derive(Clone, PartialEq, Debug)]
pub struct ApiVersionsResponse {
    /// Error code; 0 for success.
    pub error_code: i16,
    /// Requests that are supported.
    pub api_keys: Vec<ApiVersion>,
    /// Milliseconds for which the client was slowed down because of a quota.
    ///
    /// Since version 1; dropped otherwise.
    pub throttle_time_ms: i32,
    /// Features the broker could run with.
    ///
    /// Since version 3; dropped otherwise.
    pub supported_features: Vec<SupportedFeatureKey>,
    /// Metadata offset at which the finalized features were read; -1 if unknown.
    ///
    /// Since version 3; dropped otherwise.
    pub finalized_features_epoch: i64,
    /// Features the cluster runs with.
    ///
    /// Since version 3; dropped otherwise.
    pub finalized_features: Vec<FinalizedFeatureKey>,
    /// Whether the node could migrate from ZooKeeper; always false now.
    ///
    /// Since version 3; dropped otherwise.
    pub zk_migration_ready: bool,
}

impl Default for ApiVersionsResponse {
    fn default() -> Self {
        Self {
            error_code: 0,
            api_keys: Vec::new(),
            throttle_time_ms: 0,
            supported_features: Vec::new(),
            finalized_features_epoch: -1,
            finalized_features: Vec::new(),
            zk_migration_ready: false,
        }
    }
}

impl ApiVersionsResponse {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let mut out = Self {
            error_code: r.i16()?,
            api_keys: r.array(flexible, 6, |r| ApiVersion::read(r, version))?,
            throttle_time_ms: if version >= 1 { r.i32()? } else { 0 },
            supported_features: Vec::new(),
            finalized_features_epoch: -1,
            finalized_features: Vec::new(),
            zk_migration_ready: false,
        };
        if flexible {
            r.tagged_fields(|tag, r| {
                match tag {
                    0 => {
                        out.supported_features =
                            r.array(true, 6, |r| SupportedFeatureKey::read(r, version))?;
                    }
                    1 => {
                        out.finalized_features_epoch = r.i64()?;
                    }
                    2 => {
                        out.finalized_features =
                            r.array(true, 6, |r| FinalizedFeatureKey::read(r, version))?;
                    }
                    3 => {
                        out.zk_migration_ready = r.bool()?;
                    }
                    _ => return Ok(false),
                }
                Ok(true)
            })?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 3;
        w.i16(self.error_code);
        w.array(flexible, &self.api_keys, |w, item| item.write(w, version))?;
        if version >= 1 {
            w.i32(self.throttle_time_ms);
        }
        if flexible {
            let mut tagged = TaggedFields::new();
            if !self.supported_features.is_empty() {
                tagged.add(0, |w| {
                    w.array(true, &self.supported_features, |w, item| item.write(w, version))?;
                    Ok(())
                })?;
            }
            if self.finalized_features_epoch != -1 {
                tagged.add(1, |w| {
                    w.i64(self.finalized_features_epoch);
                    Ok(())
                })?;
            }
            if !self.finalized_features.is_empty() {
                tagged.add(2, |w| {
                    w.array(true, &self.finalized_features, |w, item| item.write(w, version))?;
                    Ok(())
                })?;
            }
            if self.zk_migration_ready {
                tagged.add(3, |w| {
                    w.bool(self.zk_migration_ready);
                    Ok(())
                })?;
            }
            tagged.write(w)?;
        }
        Ok(())
    }
}

/// One of `ApiVersionsResponse::api_keys`: requests that are supported.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ApiVersion {
    /// Number of the request type.
    pub api_key: i16,
    /// Lowest supported version.
    pub min_version: i16,
    /// Highest supported version.
    pub max_version: i16,
}

impl ApiVersion {
    fn read(r: &mut Reader, version: i16) -> Result<Self, DecodeError> {
        let flexible = version >= 3;
        let out = Self { api_key: r.i16()?, min_version: r.i16()?, max_version: r.i16()? };
        if flexible {
            r.skip_tagged_fields()?;
        }
        Ok(out)
    }

    fn write(&self, w: &mut Writer, version: i16) -> Result<(), EncodeError> {
        let flexible = version >= 3;
        w.i16(self.api_key);
        w.i16(self.min_version);
        w.i16(self.max_version);
        if flexible {
            w.uvarint(0);
        }
        Ok(())
    }
}

/// One of `ApiVersionsResponse::supported_features`: features the broker could run with.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct SupportedFeatureKey {
    /// Name of the feature.
    pub name: String,
    /// Lowest supported level.
    pub min_version: i16,
    /// Highest supported level.
    pub max_version: i16,
}

impl SupportedFeatureKey {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self { name: r.string(true)?, min_version: r.i16()?, max_version: r.i16()? };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.name)?;
        w.i16(self.min_version);
        w.i16(self.max_version);
        w.uvarint(0);
        Ok(())
    }
}

/// One of `ApiVersionsResponse::finalized_features`: features the cluster runs with.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct FinalizedFeatureKey {
    /// Name of the feature.
    pub name: String,
    /// Finalized level.
    pub max_version_level: i16,
    /// Lowest level that the cluster still understands.
    pub min_version_level: i16,
}

impl FinalizedFeatureKey {
    fn read(r: &mut Reader, _version: i16) -> Result<Self, DecodeError> {
        let out = Self {
            name: r.string(true)?,
            max_version_level: r.i16()?,
            min_version_level: r.i16()?,
        };
        r.skip_tagged_fields()?;
        Ok(out)
    }

    fn write(&self, w: &mut Writer, _version: i16) -> Result<(), EncodeError> {
        w.string(true, &self.name)?;
        w.i16(self.max_version_level);
        w.i16(self.min_version_level);
        w.uvarint(0);
        Ok(())
    }
}

impl Message for ApiVersionsResponse {
    const NAME: &'static str = "ApiVersionsResponse";
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

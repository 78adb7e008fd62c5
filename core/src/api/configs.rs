//! DescribeConfigs: settings of topics and brokers with their sources.

use std::collections::BTreeSet;

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::message::describe_configs_request::DescribeConfigsResource;
use dohle_wire::message::{
    DescribeConfigsRequest, DescribeConfigsResourceResult, DescribeConfigsResponse,
    DescribeConfigsResult, DescribeConfigsSynonym,
};

use crate::config::describe::{
    ConfigEntry, describe_broker, describe_cluster_default, describe_topic,
};
use crate::image::resource;
use crate::mail::Refusal;

use super::lookup::is_valid_topic_name;
use super::{Begun, Ctx, reply};

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: DescribeConfigsRequest = ctx.decode(body)?;
    let shown =
        Shown { synonyms: request.include_synonyms, documentation: request.include_documentation };
    let resources = request.resources.into_iter();
    let results = resources.map(|wanted| describe(ctx, wanted, shown)).collect();
    Ok(reply::at_once(ctx, &DescribeConfigsResponse { throttle_time_ms: 0, results }))
}

/// What the client wants to see of a config.
#[derive(Copy, Clone)]
struct Shown {
    synonyms: bool,
    documentation: bool,
}

fn describe(ctx: &Ctx<'_>, wanted: DescribeConfigsResource, shown: Shown) -> DescribeConfigsResult {
    let mut result = DescribeConfigsResult {
        resource_type: wanted.resource_type,
        resource_name: wanted.resource_name,
        ..Default::default()
    };
    match entries(ctx, result.resource_type, &result.resource_name) {
        Ok(entries) => {
            let keys = wanted.configuration_keys;
            let keys = keys.map(|keys| keys.into_iter().collect::<BTreeSet<_>>());
            let asked = |entry: &ConfigEntry| keys.as_ref().is_none_or(|k| k.contains(&entry.name));
            let shown_entries = entries.into_iter().filter(asked);
            result.configs = shown_entries.map(|entry| show(entry, shown)).collect();
        }
        Err(refusal) => {
            result.error_code = refusal.code.code();
            result.error_message = refusal.message;
        }
    }
    result
}

fn entries(ctx: &Ctx<'_>, resource_type: i8, name: &str) -> Result<Vec<ConfigEntry>, Refusal> {
    let config = &ctx.settings.config;
    let own = config.node_id.to_string();
    let default = ctx.image.overrides(resource::BROKER, "");
    let dynamic = ctx.image.overrides(resource::BROKER, &own);
    match resource_type {
        resource::TOPIC if !is_valid_topic_name(name) => {
            let text = format!("{name:?} is no name of a topic");
            Err(Refusal::new(ErrorCode::InvalidTopicException, text))
        }
        resource::TOPIC if ctx.image.topic(name).is_none() => {
            let text = format!("there is no topic {name:?}");
            Err(Refusal::new(ErrorCode::UnknownTopicOrPartition, text))
        }
        resource::TOPIC => {
            let overrides = ctx.image.overrides(resource::TOPIC, name);
            Ok(describe_topic(&overrides, &dynamic, &default, config))
        }
        resource::BROKER if name.is_empty() => Ok(describe_cluster_default(&default, config)),
        resource::BROKER if name == own => Ok(describe_broker(&dynamic, &default, config)),
        resource::BROKER => {
            let text = format!("this is broker {own}; configs of broker {name:?} are its own");
            Err(Refusal::new(ErrorCode::InvalidRequest, text))
        }
        other => {
            let text = format!("configs of resource type {other} are not served");
            Err(Refusal::new(ErrorCode::InvalidRequest, text))
        }
    }
}

fn show(entry: ConfigEntry, shown: Shown) -> DescribeConfigsResourceResult {
    let config_type = entry.kind_code();
    let synonyms = if shown.synonyms { entry.synonyms } else { Vec::new() };
    let synonyms = synonyms.into_iter().map(|synonym| DescribeConfigsSynonym {
        name: synonym.name,
        value: synonym.value,
        source: synonym.source.code(),
    });
    DescribeConfigsResourceResult {
        name: entry.name,
        value: entry.value,
        read_only: entry.read_only,
        config_source: entry.source.code(),
        is_sensitive: entry.sensitive,
        synonyms: synonyms.collect(),
        config_type,
        documentation: entry.doc.filter(|_| shown.documentation).map(str::to_owned),
    }
}

//! DescribeConfigs: settings of topics, brokers and groups, where each value comes from, and what it
//! means.

use std::collections::BTreeSet;

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::message::{
    DescribeConfigsRequest, DescribeConfigsResource, DescribeConfigsResourceResult,
    DescribeConfigsResponse, DescribeConfigsResult, DescribeConfigsSynonym,
};

use crate::config::describe::{
    ConfigEntry, describe_broker, describe_cluster_default, describe_group, describe_topic,
};
use crate::image::resource;
use crate::mail::Refusal;

use super::lookup::is_valid_topic_name;
use super::{Begun, Ctx, reply};

/// Groups that one request may name: unlike topics they need not exist, and each is described in
/// some thousand bytes.
const GROUPS_MAX: usize = 1_000;

/// What a request wants to know of each setting.
#[derive(Copy, Clone)]
struct Details {
    synonyms: bool,
    documentation: bool,
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: DescribeConfigsRequest = ctx.decode(body)?;
    let details = Details {
        synonyms: request.include_synonyms,
        documentation: request.include_documentation,
    };
    let mut groups = GROUPS_MAX;
    let results = distinct(request.resources);
    let results = results.map(|asked| describe(ctx, asked, details, &mut groups));
    let response = DescribeConfigsResponse { throttle_time_ms: 0, results: results.collect() };
    Ok(reply::at_once(ctx, &response))
}

/// Each resource once, where it is first named: a description is thousands of times the size of
/// its name.
fn distinct(
    resources: Vec<DescribeConfigsResource>,
) -> impl Iterator<Item = DescribeConfigsResource> {
    let mut seen = BTreeSet::new();
    resources.into_iter().filter(move |asked| seen.insert(identity(asked)))
}

/// What a resource names. A number may be written in many ways.
fn identity(asked: &DescribeConfigsResource) -> (i8, String) {
    let (resource_type, name) = (asked.resource_type, &asked.resource_name);
    let number = || name.parse::<i32>().ok().filter(|_| resource_type == resource::BROKER);
    (resource_type, number().map_or_else(|| name.clone(), |id| id.to_string()))
}

fn describe(
    ctx: &Ctx<'_>,
    asked: DescribeConfigsResource,
    details: Details,
    groups: &mut usize,
) -> DescribeConfigsResult {
    let entries = match asked.resource_type {
        resource::TOPIC => topic(ctx, &asked.resource_name),
        resource::BROKER => broker(ctx, &asked.resource_name),
        resource::GROUP => group(ctx, &asked.resource_name, groups),
        other => {
            let message = format!("Unsupported resource type: {other}");
            Err(Refusal::new(ErrorCode::InvalidRequest, message))
        }
    };
    let (entries, refusal) = match entries {
        Ok(entries) => (entries, ErrorCode::None.into()),
        Err(refusal) => (Vec::new(), refusal),
    };
    // No names at all ask for every config, as null does (ConfigHelper.describeConfigs).
    let keys = asked.configuration_keys.filter(|keys| !keys.is_empty());
    let keys: Option<BTreeSet<String>> = keys.map(|keys| keys.into_iter().collect());
    let wanted = |name: &str| keys.as_ref().is_none_or(|keys| keys.contains(name));
    let entries = entries.into_iter().filter(|entry| wanted(&entry.name));
    DescribeConfigsResult {
        error_code: refusal.code.code(),
        error_message: refusal.message,
        resource_type: asked.resource_type,
        resource_name: asked.resource_name,
        configs: entries.map(|entry| answer_entry(entry, details)).collect(),
    }
}

fn topic(ctx: &Ctx<'_>, name: &str) -> Result<Vec<ConfigEntry>, Refusal> {
    if !is_valid_topic_name(name) {
        let message = format!("{name:?} is not the name of a topic");
        return Err(Refusal::new(ErrorCode::InvalidTopicException, message));
    }
    if ctx.image.topic(name).is_none() {
        return Err(ErrorCode::UnknownTopicOrPartition.into());
    }
    let (broker, default) = ctx.image.broker_overrides();
    let overrides = ctx.image.overrides(resource::TOPIC, name);
    Ok(describe_topic(&overrides, &broker, &default, &ctx.settings.config))
}

fn broker(ctx: &Ctx<'_>, name: &str) -> Result<Vec<ConfigEntry>, Refusal> {
    let invalid = |message: String| Err(Refusal::new(ErrorCode::InvalidRequest, message));
    let (dynamic, default) = ctx.image.broker_overrides();
    let (config, own) = (&ctx.settings.config, ctx.settings.node());
    if name.is_empty() {
        return Ok(describe_cluster_default(&default, config));
    }
    match name.parse::<i32>() {
        Ok(id) if id == own.0 => Ok(describe_broker(&dynamic, &default, config)),
        Ok(id) => invalid(format!(
            "Unexpected broker id, expected {own} or empty string, but received {id}"
        )),
        Err(_) => invalid(format!("Broker id must be an integer, but it is: {name}")),
    }
}

/// A group of any name, of which `left` more may be asked for.
fn group(ctx: &Ctx<'_>, name: &str, left: &mut usize) -> Result<Vec<ConfigEntry>, Refusal> {
    let invalid = |message: String| Refusal::new(ErrorCode::InvalidRequest, message);
    if name.is_empty() {
        return Err(invalid("Group name must not be empty".to_owned()));
    }
    let most = || invalid(format!("One request describes at most {GROUPS_MAX} groups"));
    *left = left.checked_sub(1).ok_or_else(most)?;
    let (broker, default) = ctx.image.broker_overrides();
    let overrides = ctx.image.overrides(resource::GROUP, name);
    Ok(describe_group(&overrides, &broker, &default, &ctx.settings.config))
}

fn answer_entry(entry: ConfigEntry, details: Details) -> DescribeConfigsResourceResult {
    let config_type = entry.kind_code();
    let synonyms = entry.synonyms.into_iter().filter(|_| details.synonyms);
    let synonyms = synonyms.map(|synonym| DescribeConfigsSynonym {
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
        documentation: entry.doc.filter(|_| details.documentation).map(str::to_owned),
    }
}

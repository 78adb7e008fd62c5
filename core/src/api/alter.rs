//! AlterConfigs and IncrementalAlterConfigs: control decides; kinds of resource that have no
//! settings here are refused at once.

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::message::{
    AlterConfigsRequest, AlterConfigsResponse, IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse, alter_configs_response, incremental_alter_configs_request,
    incremental_alter_configs_response,
};

use crate::image::resource;
use crate::mail::{AdminReply, AdminRequest, Answer, ConfigChange, ConfigOp, Refusal};
use crate::time::Instant;

use super::gather::Gather;
use super::topics::{fill, late};
use super::{Begun, Ctx, Outcome, Progress, Work, reply};

/// A request that changes settings and waits for control.
#[derive(Clone, Debug)]
pub(crate) struct AlterConfigs {
    incremental: bool,
    /// Type and name of each resource.
    resources: Vec<(i8, String)>,
    results: Gather<Result<(), Refusal>>,
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: AlterConfigsRequest = ctx.decode(body)?;
    let resources = request.resources.into_iter().map(|resource| {
        let configs = resource.configs.into_iter();
        Ok(ConfigChange {
            resource_type: resource.resource_type,
            name: resource.resource_name,
            ops: configs.map(|config| (ConfigOp::Set, config.name, config.value)).collect(),
            replace_all: true,
        })
    });
    Ok(ask(ctx, resources, false, request.validate_only))
}

pub(super) fn begin_incremental(
    ctx: &mut Ctx<'_>,
    body: &mut Reader,
) -> Result<Begun, DecodeError> {
    let request: IncrementalAlterConfigsRequest = ctx.decode(body)?;
    let resources = request.resources.into_iter().map(change);
    Ok(ask(ctx, resources, true, request.validate_only))
}

/// A change, or the resource it is for and why it makes no sense.
type Asked = Result<ConfigChange, ((i8, String), Refusal)>;

fn change(resource: incremental_alter_configs_request::AlterConfigsResource) -> Asked {
    let (resource_type, name) = (resource.resource_type, resource.resource_name);
    let mut ops = Vec::with_capacity(resource.configs.len());
    for config in resource.configs {
        let op = match config.config_operation {
            0 => ConfigOp::Set,
            1 => ConfigOp::Delete,
            2 => ConfigOp::Append,
            3 => ConfigOp::Subtract,
            other => {
                let message = format!("Unknown operation {other} for {}", config.name);
                let refusal = Refusal::new(ErrorCode::InvalidRequest, message);
                return Err(((resource_type, name), refusal));
            }
        };
        ops.push((op, config.name, config.value));
    }
    Ok(ConfigChange { resource_type, name, ops, replace_all: false })
}

/// Whether control knows this kind of resource.
fn check_type(change: ConfigChange) -> Asked {
    match change.resource_type {
        resource::TOPIC | resource::BROKER | resource::GROUP => Ok(change),
        other => {
            let message = format!("Unsupported resource type: {other}");
            let refusal = Refusal::new(ErrorCode::InvalidRequest, message);
            Err(((change.resource_type, change.name), refusal))
        }
    }
}

fn ask(
    ctx: &mut Ctx<'_>,
    asked: impl Iterator<Item = Asked>,
    incremental: bool,
    validate_only: bool,
) -> Begun {
    let results = Gather::until(ctx.until(0));
    let mut work = AlterConfigs { incremental, resources: Vec::new(), results };
    let mut resources = Vec::new();
    for asked in asked {
        match asked.and_then(check_type) {
            Ok(change) => {
                work.resources.push((change.resource_type, change.name.clone()));
                work.results.ask();
                resources.push(change);
            }
            Err((resource, refusal)) => {
                work.resources.push(resource);
                work.results.known(Err(refusal));
            }
        }
    }
    if resources.is_empty() {
        return Begun::Done(work.finish(ctx));
    }
    ctx.send_control(AdminRequest::AlterConfigs { resources, validate_only });
    work.into()
}

impl Work for AlterConfigs {
    fn deadline(&self) -> Instant {
        self.results.deadline()
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, _part: u32, answer: Answer) -> Progress {
        match answer {
            Answer::Admin(AdminReply::Altered(list)) => fill(&mut self.results, Ok(list)),
            Answer::Admin(AdminReply::Refused(refusal)) => fill(&mut self.results, Err(refusal)),
            _ => Progress::Waiting,
        }
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let results = self.resources.into_iter().zip(self.results.finish(late));
        let results = results.map(|((resource_type, resource_name), result)| {
            let refusal = result.err().unwrap_or_else(|| ErrorCode::None.into());
            (refusal.code.code(), refusal.message, resource_type, resource_name)
        });
        if self.incremental { incremental(ctx, results) } else { full(ctx, results) }
    }
}

type Row = (i16, Option<String>, i8, String);

fn full(ctx: &Ctx<'_>, rows: impl Iterator<Item = Row>) -> Outcome {
    let rows = rows.map(|(error_code, error_message, resource_type, resource_name)| {
        alter_configs_response::AlterConfigsResourceResponse {
            error_code,
            error_message,
            resource_type,
            resource_name,
        }
    });
    let responses = rows.collect();
    reply::answer(ctx, &AlterConfigsResponse { throttle_time_ms: 0, responses })
}

fn incremental(ctx: &Ctx<'_>, rows: impl Iterator<Item = Row>) -> Outcome {
    let rows = rows.map(|(error_code, error_message, resource_type, resource_name)| {
        incremental_alter_configs_response::AlterConfigsResourceResponse {
            error_code,
            error_message,
            resource_type,
            resource_name,
        }
    });
    let responses = rows.collect();
    reply::answer(ctx, &IncrementalAlterConfigsResponse { throttle_time_ms: 0, responses })
}

//! AlterConfigs and IncrementalAlterConfigs.

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::message::alter_configs_response::AlterConfigsResourceResponse;
use dohle_wire::message::{
    AlterConfigsRequest, AlterConfigsResponse, IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse, incremental_alter_configs_response as incremental,
};

use crate::mail::{AdminReply, AdminRequest, Answer, ConfigChange, ConfigOp, Refusal};
use crate::time::Instant;

use super::gather::Gather;
use super::{Begun, Ctx, Outcome, Progress, WAIT_MS, Work, reply};

/// A request to alter configs that waits for control.
#[derive(Clone, Debug)]
pub(crate) struct AlterConfigs {
    incremental: bool,
    resources: Vec<(i8, String)>,
    results: Gather<Result<(), Refusal>>,
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: AlterConfigsRequest = ctx.decode(body)?;
    let changes = request.resources.into_iter().map(|resource| {
        let sets = resource.configs.into_iter();
        let sets = sets.map(|config| Ok((ConfigOp::Set, config.name, config.value)));
        (resource.resource_type, resource.resource_name, sets.collect())
    });
    Ok(ask(ctx, changes.collect(), false, request.validate_only))
}

pub(super) fn begin_incremental(
    ctx: &mut Ctx<'_>,
    body: &mut Reader,
) -> Result<Begun, DecodeError> {
    let request: IncrementalAlterConfigsRequest = ctx.decode(body)?;
    let changes = request.resources.into_iter().map(|resource| {
        let ops = resource.configs.into_iter();
        let ops =
            ops.map(|config| Ok((op_of(config.config_operation)?, config.name, config.value)));
        (resource.resource_type, resource.resource_name, ops.collect())
    });
    Ok(ask(ctx, changes.collect(), true, request.validate_only))
}

/// One change to one config.
type ConfigChangeOp = (ConfigOp, String, Option<String>);

/// A resource with its changes, or why they make no sense.
type Asked = (i8, String, Result<Vec<ConfigChangeOp>, Refusal>);

fn op_of(code: i8) -> Result<ConfigOp, Refusal> {
    match code {
        0 => Ok(ConfigOp::Set),
        1 => Ok(ConfigOp::Delete),
        2 => Ok(ConfigOp::Append),
        3 => Ok(ConfigOp::Subtract),
        other => {
            let text = format!("config operation {other} is none of 0 to 3");
            Err(Refusal::new(ErrorCode::InvalidRequest, text))
        }
    }
}

/// Sends what makes sense to control.
fn ask(ctx: &mut Ctx<'_>, asked: Vec<Asked>, incremental: bool, validate_only: bool) -> Begun {
    let mut work = AlterConfigs {
        incremental,
        resources: Vec::new(),
        results: Gather::until(ctx.now.mono.plus_ms(WAIT_MS)),
    };
    let mut changes = Vec::new();
    for (resource_type, name, ops) in asked {
        work.resources.push((resource_type, name.clone()));
        match ops {
            Err(refusal) => work.results.known(Err(refusal)),
            Ok(ops) => {
                work.results.ask();
                let replace_all = !incremental;
                changes.push(ConfigChange { resource_type, name, ops, replace_all });
            }
        }
    }
    if changes.is_empty() {
        return Begun::Done(work.finish(ctx));
    }
    ctx.send_control(AdminRequest::AlterConfigs { resources: changes, validate_only });
    work.into()
}

impl Work for AlterConfigs {
    fn deadline(&self) -> Instant {
        self.results.deadline()
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, _part: u32, answer: Answer) -> Progress {
        match answer {
            Answer::Admin(AdminReply::Altered(results)) => self.results.fill(results),
            Answer::Admin(AdminReply::Refused(refusal)) => {
                self.results.fill(std::iter::repeat_n(Err(refusal), self.resources.len()))
            }
            _ => Progress::Waiting,
        }
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let results = self.results.finish(|| Err(ErrorCode::RequestTimedOut.into()));
        let told = self.resources.into_iter().zip(results).map(|((kind, name), result)| {
            let (code, message) = match result {
                Ok(()) => (ErrorCode::None, None),
                Err(refusal) => (refusal.code, refusal.message),
            };
            (code.code(), message, kind, name)
        });
        if self.incremental {
            let responses =
                told.map(|(error_code, error_message, resource_type, resource_name)| {
                    incremental::AlterConfigsResourceResponse {
                        error_code,
                        error_message,
                        resource_type,
                        resource_name,
                    }
                });
            let responses = responses.collect();
            let response = IncrementalAlterConfigsResponse { throttle_time_ms: 0, responses };
            return reply::answer(ctx, &response);
        }
        let responses = told.map(|(error_code, error_message, resource_type, resource_name)| {
            AlterConfigsResourceResponse { error_code, error_message, resource_type, resource_name }
        });
        let responses = responses.collect();
        reply::answer(ctx, &AlterConfigsResponse { throttle_time_ms: 0, responses })
    }
}

//! InitProducerId, for idempotent producers.

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::id::{ProducerEpoch, ProducerId};
use dohle_wire::message::{InitProducerIdRequest, InitProducerIdResponse};

use crate::mail::{AdminReply, AdminRequest, Answer};
use crate::time::Instant;

use super::{Begun, Ctx, Outcome, Progress, WAIT_MS, Work, reply};

/// An InitProducerId request that waits for control.
#[derive(Clone, Debug)]
pub(crate) struct ProducerIdWanted {
    given: Option<Result<(ProducerId, ProducerEpoch), ErrorCode>>,
    deadline: Instant,
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: InitProducerIdRequest = ctx.decode(body)?;
    if request.transactional_id.is_some() {
        // Transactions are not served; clients that ask ApiVersions first never get here.
        return Ok(reply::at_once(ctx, &response(Err(ErrorCode::InvalidRequest))));
    }
    let given = (request.producer_id, request.producer_epoch);
    let current = match given {
        (-1, _) => None,
        (id, epoch) if id >= 0 && epoch >= 0 => Some((ProducerId(id), ProducerEpoch(epoch))),
        _ => return Ok(reply::at_once(ctx, &response(Err(ErrorCode::InvalidRequest)))),
    };
    ctx.send_control(AdminRequest::InitProducerId { current });
    let deadline = ctx.now.mono.plus_ms(WAIT_MS);
    Ok(ProducerIdWanted { given: None, deadline }.into())
}

impl Work for ProducerIdWanted {
    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, _part: u32, answer: Answer) -> Progress {
        let Answer::Admin(answer) = answer else { return Progress::Waiting };
        self.given = Some(match answer {
            AdminReply::ProducerId(id, epoch) => Ok((id, epoch)),
            AdminReply::Refused(refusal) => Err(refusal.code),
            _ => Err(ErrorCode::UnknownServerError),
        });
        Progress::Complete
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        let given = self.given.unwrap_or(Err(ErrorCode::RequestTimedOut));
        reply::answer(ctx, &response(given))
    }
}

fn response(given: Result<(ProducerId, ProducerEpoch), ErrorCode>) -> InitProducerIdResponse {
    let (error, id, epoch) = match given {
        Ok((id, epoch)) => (ErrorCode::None, id.0, epoch.0),
        Err(code) => (code, -1, -1),
    };
    InitProducerIdResponse {
        error_code: error.code(),
        producer_id: id,
        producer_epoch: epoch,
        ..Default::default()
    }
}

//! InitProducerId: ids for idempotent producers.

use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::error::ErrorCode;
use dohle_wire::id::{ProducerEpoch, ProducerId};
use dohle_wire::message::{InitProducerIdRequest, InitProducerIdResponse};

use crate::mail::{AdminReply, AdminRequest, Answer};
use crate::time::Instant;

use super::{Begun, Ctx, Outcome, Progress, WAIT_MS, Work, reply};

/// A producer that waits for its id.
#[derive(Clone, Debug)]
pub(crate) struct ProducerIdWanted {
    result: Result<(ProducerId, ProducerEpoch), ErrorCode>,
    deadline: Instant,
}

pub(super) fn begin(ctx: &mut Ctx<'_>, body: &mut Reader) -> Result<Begun, DecodeError> {
    let request: InitProducerIdRequest = ctx.decode(body)?;
    if let Err(error) = check(&request) {
        return Ok(reply::at_once(ctx, &answer(Err(error))));
    }
    // Without a transactional id every request gets an id of its own; the id and epoch that the
    // producer has say nothing here (TransactionCoordinator.handleInitProducerId).
    ctx.send_control(AdminRequest::InitProducerId { current: None });
    let deadline = ctx.now.mono.plus_ms(WAIT_MS);
    Ok(ProducerIdWanted { result: Err(ErrorCode::RequestTimedOut), deadline }.into())
}

fn check(request: &InitProducerIdRequest) -> Result<(), ErrorCode> {
    // Transactions are not served: neither is finding their coordinator announced, so only a
    // client that ignores what it was told gets here.
    if request.transactional_id.is_some() {
        return Err(ErrorCode::UnsupportedVersion);
    }
    let half_known = (request.producer_id == -1) != (request.producer_epoch == -1);
    if half_known { Err(ErrorCode::InvalidRequest) } else { Ok(()) }
}

impl Work for ProducerIdWanted {
    fn deadline(&self) -> Instant {
        self.deadline
    }

    fn on_answer(&mut self, _ctx: &mut Ctx<'_>, _part: u32, answer: Answer) -> Progress {
        self.result = match answer {
            Answer::Admin(AdminReply::ProducerId(id, epoch)) => Ok((id, epoch)),
            Answer::Admin(AdminReply::Refused(refusal)) => Err(refusal.code),
            _ => return Progress::Waiting,
        };
        Progress::Complete
    }

    fn finish(self, ctx: &mut Ctx<'_>) -> Outcome {
        reply::answer(ctx, &answer(self.result))
    }
}

fn answer(result: Result<(ProducerId, ProducerEpoch), ErrorCode>) -> InitProducerIdResponse {
    match result {
        Ok((id, epoch)) => InitProducerIdResponse {
            producer_id: id.0,
            producer_epoch: epoch.0,
            ..Default::default()
        },
        Err(error) => InitProducerIdResponse {
            error_code: error.code(),
            producer_epoch: -1,
            ..Default::default()
        },
    }
}

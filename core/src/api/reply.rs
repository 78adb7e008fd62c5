//! Responses as frames.

use dohle_wire::codec::{EncodeError, Part, Writer};
use dohle_wire::header::encode_response_header;
use dohle_wire::message::Message;

use super::{Begun, Call, Ctx, Outcome};
use crate::session::CloseReason;

/// The frame that answers `call`: length, header, body. Record bytes stay where they are.
fn frame(call: &Call, body: &impl Message) -> Result<Vec<Part>, EncodeError> {
    let mut frame = Writer::frame();
    encode_response_header(&mut frame, call.key, call.version, call.correlation_id);
    body.encode(&mut frame, call.version)?;
    frame.finish_frame()
}

/// Answers the request with `body`.
///
/// A body that the version cannot carry (a string of over 32 KiB, set by a newer client, in an
/// old encoding) closes the connection: there is no way to say so.
pub(crate) fn answer(ctx: &Ctx<'_>, body: &impl Message) -> Outcome {
    match frame(ctx.call, body) {
        Ok(parts) => Outcome::Answer(parts),
        Err(error) => {
            debug_assert!(matches!(error, EncodeError::TooLong(_)), "{:?}: {error}", ctx.call);
            let (key, version) = (ctx.call.key, ctx.call.version);
            Outcome::Close(CloseReason::BadRequest(format!(
                "the answer to {key} v{version} does not fit that version: {error}"
            )))
        }
    }
}

/// Answers at once.
pub(crate) fn at_once(ctx: &Ctx<'_>, body: &impl Message) -> Begun {
    Begun::Done(answer(ctx, body))
}

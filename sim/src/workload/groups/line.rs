//! A connection on which one request at a time is under way.

use dohle_core::time::{Deadline, Instant, Now};
use dohle_wire::codec::{Reader, Writer};
use dohle_wire::header::{RequestHeader, decode_response_header};
use dohle_wire::message::{Message, Request};

use crate::actor::{ActorEffect, ActorInput};
use crate::clock::SEC;

/// A connection that says nothing for so long is given up.
const PATIENCE: u64 = 5 * SEC;

/// State: not dialled, dialled, or standing; and what waits for an answer.
#[derive(Clone, Debug)]
pub(super) struct Line {
    client_id: String,
    /// The last token that was used; the next is one more.
    token: u64,
    stage: Stage,
    correlation: i32,
    until: Option<Instant>,
}

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Stage {
    Down,
    Dialled,
    Idle,
    Waiting,
}

/// What came of an input.
pub(super) enum Heard {
    /// It was for somebody else, or changes nothing.
    Nothing,
    /// The connection stands.
    Up,
    /// The connection is gone, and with it what was under way.
    Down,
    /// The answer, with its header before it.
    Answer(Reader),
}

impl Line {
    /// A line whose tokens come after `token`.
    pub(super) fn new(client_id: String, token: u64) -> Self {
        Self { client_id, token, stage: Stage::Down, correlation: 0, until: None }
    }

    pub(super) fn is_down(&self) -> bool {
        self.stage == Stage::Down
    }

    pub(super) fn is_idle(&self) -> bool {
        self.stage == Stage::Idle
    }

    pub(super) fn deadline(&self) -> Deadline {
        Some((self.until?, "an answer"))
    }

    pub(super) fn dial(&mut self, now: Now, fx: &mut Vec<ActorEffect>) {
        self.token += 1;
        (self.stage, self.until) = (Stage::Dialled, Some(Instant(now.mono.0 + PATIENCE)));
        fx.push(ActorEffect::Open { token: self.token, host: "node0".to_owned(), port: 9092 });
    }

    pub(super) fn hang_up(&mut self, fx: &mut Vec<ActorEffect>) {
        if self.stage != Stage::Down {
            fx.push(ActorEffect::Close(self.token));
            (self.stage, self.until) = (Stage::Down, None);
        }
    }

    pub(super) fn ask<R: Request>(
        &mut self,
        now: Now,
        version: i16,
        request: &R,
        fx: &mut Vec<ActorEffect>,
    ) {
        self.correlation += 1;
        let header = RequestHeader {
            api_key: R::KEY.code(),
            api_version: version,
            correlation_id: self.correlation,
            client_id: Some(self.client_id.clone()),
        };
        let mut writer = Writer::new();
        let encoded = header
            .encode(&mut writer)
            .and_then(|()| Message::encode(request, &mut writer, version));
        encoded.expect("requests of the workload fit their versions");
        (self.stage, self.until) = (Stage::Waiting, Some(Instant(now.mono.0 + PATIENCE)));
        fx.push(ActorEffect::Send(self.token, writer.into_bytes().expect("a frame without holes")));
    }

    /// Takes in what the world says.
    pub(super) fn hear(
        &mut self,
        now: Now,
        input: &ActorInput,
        fx: &mut Vec<ActorEffect>,
    ) -> Heard {
        match input {
            ActorInput::Opened(token) if *token == self.token && self.stage == Stage::Dialled => {
                (self.stage, self.until) = (Stage::Idle, None);
                Heard::Up
            }
            ActorInput::Closed(token) if *token == self.token && self.stage != Stage::Down => {
                (self.stage, self.until) = (Stage::Down, None);
                Heard::Down
            }
            ActorInput::Frame(token, frame)
                if *token == self.token && self.stage == Stage::Waiting =>
            {
                (self.stage, self.until) = (Stage::Idle, None);
                Heard::Answer(Reader::new(frame.clone()))
            }
            ActorInput::Tick if self.until.is_some_and(|at| at <= now.mono) => {
                self.hang_up(fx);
                Heard::Down
            }
            _ => Heard::Nothing,
        }
    }
}

/// The answer to a request of type `R`.
pub(super) fn answer<R: Request>(mut reader: Reader, version: i16) -> R::Response {
    let header = decode_response_header(&mut reader, R::KEY, version);
    let decoded = header.and_then(|_| <R::Response as Message>::decode(&mut reader, version));
    decoded.unwrap_or_else(|error| panic!("an answer to {} that is none: {error}", R::NAME))
}

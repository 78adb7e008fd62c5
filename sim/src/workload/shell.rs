//! A client machine as the world drives it.

use std::time::Duration;

use dohle_client::machine::{ConnId, Fx, Machine, NetEffect, NetInput, Now as ClientNow};
use dohle_client::machine::{admin, consumer, producer};
use dohle_core::time::{Deadline, Instant, Now};

use crate::actor::{ActorEffect, ActorInput};

/// Effects that may be about connections.
pub(super) trait Split: Sized {
    /// The part about connections, or the effect itself.
    fn split(self) -> Result<NetEffect, Self>;
}

impl Split for producer::Effect {
    fn split(self) -> Result<NetEffect, Self> {
        match self {
            Self::Net(effect) => Ok(effect),
            other => Err(other),
        }
    }
}

impl Split for consumer::Effect {
    fn split(self) -> Result<NetEffect, Self> {
        match self {
            Self::Net(effect) => Ok(effect),
            other => Err(other),
        }
    }
}

impl Split for admin::Effect {
    fn split(self) -> Result<NetEffect, Self> {
        match self {
            Self::Net(effect) => Ok(effect),
            other => Err(other),
        }
    }
}

/// One machine.
pub(super) struct Shell<M: Machine> {
    pub(super) machine: M,
    fx: Fx<M::Effect>,
}

impl<M: Machine<Effect: Split>> Shell<M> {
    pub(super) fn new(machine: M) -> Self {
        Self { machine, fx: Fx::new() }
    }

    /// Steps the machine; what it wants beyond connections comes back.
    pub(super) fn step(
        &mut self,
        now: Now,
        input: M::Input,
        fx: &mut Vec<ActorEffect>,
    ) -> Vec<M::Effect> {
        let now = ClientNow { mono: Duration::from_nanos(now.mono.0), wall: now.wall };
        self.input(now, input, fx)
    }

    fn input(
        &mut self,
        now: ClientNow,
        input: M::Input,
        fx: &mut Vec<ActorEffect>,
    ) -> Vec<M::Effect> {
        self.machine.step(now, input, &mut self.fx);
        self.machine.invariants();
        let (mut rest, mut sent) = (Vec::new(), Vec::new());
        for effect in self.fx.drain() {
            match effect.split() {
                Ok(NetEffect::Connect { conn, host, port }) => {
                    fx.push(ActorEffect::Open { token: conn.0, host: host.to_string(), port });
                }
                Ok(NetEffect::Transmit { conn, frame, told }) => {
                    fx.push(ActorEffect::Send(conn.0, frame.content()));
                    sent.extend(told.then_some(conn));
                }
                Ok(NetEffect::Disconnect { conn }) => fx.push(ActorEffect::Close(conn.0)),
                Err(effect) => rest.push(effect),
            }
        }
        for conn in sent {
            rest.extend(self.input(now, NetInput::Sent { conn }.into(), fx));
        }
        rest
    }

    /// Passes on what the world says, if it is for the machine: what is due, or about connections.
    pub(super) fn relay(
        &mut self,
        now: Now,
        input: &ActorInput,
        fx: &mut Vec<ActorEffect>,
    ) -> Vec<M::Effect> {
        let input = match input {
            ActorInput::Opened(token) => NetInput::Up { conn: ConnId(*token) }.into(),
            ActorInput::Closed(token) => NetInput::Down { conn: ConnId(*token) }.into(),
            ActorInput::Frame(token, bytes) => {
                NetInput::Frame { conn: ConnId(*token), bytes: bytes.clone() }.into()
            }
            ActorInput::Tick if self.is_due(now) => M::tick(),
            ActorInput::Tick | ActorInput::Start | ActorInput::Lost(_) | ActorInput::Finish => {
                return Vec::new();
            }
        };
        self.step(now, input, fx)
    }

    fn is_due(&self, now: Now) -> bool {
        self.deadline().is_some_and(|(at, _)| at <= now.mono)
    }

    pub(super) fn deadline(&self) -> Deadline {
        let (at, why) = self.machine.deadline()?;
        Some((Instant(u64::try_from(at.as_nanos()).unwrap_or(u64::MAX)), why))
    }
}

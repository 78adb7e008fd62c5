//! Clients that write.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dohle_client::config::{Acks, ProducerConfig};
use dohle_client::machine::producer::{Effect, Input, ProduceError, ProducerRecord, Receipt};
use dohle_client::machine::{Producer, Token};
use dohle_core::time::{Deadline, Instant, Now, earlier};
use dohle_jepsen::{Action, End, Key};
use dohle_wire::ErrorCode;
use dohle_wire::record::Codecs;

use super::shell::Shell;
use super::{SCRATCH, connection, did};
use crate::actor::{Actor, ActorEffect, ActorInput};
use crate::choice::{Choices, Stream};
use crate::clock::MS;
use crate::swarm::TopicShape;

/// What kind of producer a client is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Idempotent, acks all, five requests in flight.
    Idempotent,
    /// Without idempotence.
    Plain(Acks),
}

/// A producer that sends now and then until it is asked to finish.
pub struct Writer {
    id: u64,
    kind: Kind,
    shell: Shell<Producer>,
    topics: Vec<TopicShape>,
    pause: u64,
    next: Option<Instant>,
    sent: u64,
    /// What is under way, by token; nothing for records outside the history.
    open: BTreeMap<Token, Option<(Key, u64)>>,
    finishing: bool,
}

impl Writer {
    /// Client number `id`, which pauses for about `pause` nanoseconds between sends.
    ///
    /// # Panics
    /// If its settings are not valid, which would be a mistake in this file.
    pub fn new(
        id: u64,
        kind: Kind,
        topics: Vec<TopicShape>,
        pause: u64,
        codecs: Arc<dyn Codecs>,
        choices: &mut Choices,
    ) -> Self {
        let config = ProducerConfig {
            connection: connection(&format!("producer{id}")),
            acks: match kind {
                Kind::Idempotent => Acks::All,
                Kind::Plain(acks) => acks,
            },
            enable_idempotence: kind == Kind::Idempotent,
            linger: Duration::from_millis(choices.pick(Stream::Workload, "linger", &[0, 0, 5, 50])),
            batch_size: choices.pick(Stream::Workload, "batch-size", &[200, 2_000, 16_384]),
            delivery_timeout: Duration::from_secs(25),
            max_block: Duration::from_secs(15),
            ..ProducerConfig::default()
        };
        let seed = choices.below(Stream::Ids, "producer-seed", u64::MAX);
        let machine = Producer::new(config, codecs, seed).expect("these settings are valid");
        Self {
            id,
            kind,
            shell: Shell::new(machine),
            topics,
            pause,
            next: None,
            sent: 0,
            open: BTreeMap::new(),
            finishing: false,
        }
    }

    fn send_some(&mut self, now: Now, choices: &mut Choices, fx: &mut Vec<ActorEffect>) {
        let happens = choices.operation();
        let burst = choices.pick(Stream::Workload, "burst", &[1, 1, 2, 4]);
        for _ in 0..if happens { burst } else { 0 } {
            self.send(now, choices, fx);
        }
        let pause = choices.heavy(Stream::Workload, "pause", self.pause).min(20 * self.pause);
        self.next = Some(Instant(now.mono.0 + pause.max(MS)));
    }

    fn send(&mut self, now: Now, choices: &mut Choices, fx: &mut Vec<ActorEffect>) {
        self.sent += 1;
        let token = Token(self.sent);
        let value = self.id << 32 | self.sent;
        let padding = choices.heavy(Stream::Workload, "size", 40).min(3_000) as usize;
        let payload = [&value.to_be_bytes()[..], &vec![b'.'; padding]].concat();
        let scratch =
            self.kind != Kind::Idempotent && choices.chance(Stream::Workload, "scratch", 150_000);
        let (name, partition) = match scratch {
            true => (choices.pick(Stream::Workload, "scratch-topic", &SCRATCH).to_owned(), 0),
            false => self.place(choices),
        };
        let key = (!scratch).then(|| (Key::new(name.clone(), partition), value));
        if let Some((key, value)) = key.clone() {
            let idempotent = self.kind == Kind::Idempotent;
            did(self.id, Action::Send { key, value, idempotent }, fx);
        }
        self.open.insert(token, key);
        let record = ProducerRecord::new(name, Bytes::from(payload)).with_partition(partition);
        let effects = self.shell.step(now, Input::Send { token, record }, fx);
        self.settle(effects, fx);
    }

    fn place(&self, choices: &mut Choices) -> (String, i32) {
        let topic = choices.below(Stream::Workload, "topic", self.topics.len() as u64) as usize;
        let TopicShape { name, partitions, .. } = &self.topics[topic];
        let partition = choices.below(Stream::Workload, "partition", *partitions as u64);
        (name.clone(), partition as i32)
    }

    fn settle(&mut self, effects: Vec<Effect>, fx: &mut Vec<ActorEffect>) {
        for effect in effects {
            let Effect::Delivered { token, result } = effect else { continue };
            let open = self.open.remove(&token);
            let open = open.unwrap_or_else(|| panic!("record {token:?} delivered twice"));
            if let Err(error) = &result {
                fx.push(ActorEffect::Note(format!("{token:?}: {error}")));
            }
            if let Some((key, value)) = open {
                let end = self.end(&result);
                did(self.id, Action::Sent { key, value, end }, fx);
            }
        }
    }

    fn end(&self, result: &Result<Receipt, ProduceError>) -> End {
        match result {
            Ok(_) if self.kind == Kind::Plain(Acks::None) => End::Unasked,
            Ok(receipt) => End::Acknowledged(receipt.offset.0),
            Err(error) if error.is_in_doubt() || depends_on_configs(error) => End::Unknown,
            Err(_) => End::Refused,
        }
    }
}

/// Whether the broker's refusal says only how its configs were at that moment. The network may
/// deliver a request once more, and after a change of the limit the same batch passes.
fn depends_on_configs(error: &ProduceError) -> bool {
    let ProduceError::Refused { code, .. } = error else { return false };
    matches!(*code, ErrorCode::RecordListTooLarge | ErrorCode::MessageTooLarge)
}

impl Actor for Writer {
    fn name(&self) -> String {
        format!("producer{}", self.id)
    }

    fn on(
        &mut self,
        now: Now,
        input: ActorInput,
        choices: &mut Choices,
        fx: &mut Vec<ActorEffect>,
    ) {
        let effects = self.shell.relay(now, &input, fx);
        self.settle(effects, fx);
        match input {
            ActorInput::Start => self.next = Some(now.mono),
            ActorInput::Finish => (self.finishing, self.next) = (true, None),
            ActorInput::Opened(_) | ActorInput::Closed(_) | ActorInput::Lost(_) => {}
            ActorInput::Frame(..) | ActorInput::Tick => {}
        }
        if self.next.is_some_and(|at| at <= now.mono) {
            self.send_some(now, choices, fx);
        }
    }

    fn deadline(&self) -> Deadline {
        earlier(self.shell.deadline(), self.next.map(|at| (at, "the next send")))
    }

    fn is_done(&self) -> bool {
        self.finishing && self.open.is_empty()
    }

    fn status(&self) -> String {
        format!("{} records sent, {} under way", self.sent, self.open.len())
    }
}

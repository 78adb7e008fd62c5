//! What the inhabitants outside the nodes do.

use dohle_jepsen::Op;

use super::{Event, World};
use crate::actor::{ActorEffect, ActorInput};
use crate::clock::MS;
use crate::net::Opener;
use crate::node::Node;
use crate::oracle::Violation;

impl World {
    pub(super) fn on_actor(&mut self, index: usize, input: ActorInput) -> Result<(), Violation> {
        let time = self.kernel.time;
        let cell = &mut self.actors[index];
        let now = cell.clock.now(time);
        if matches!(input, ActorInput::Tick) {
            if cell.armed != Some(time) {
                return Ok(());
            }
            cell.armed = None;
        }
        self.kernel.note(|| cell.actor.name(), || format!("{input:?}").chars().take(120).collect());
        let mut fx = Vec::new();
        self.kernel.choices.turn(index as u64 + 1);
        cell.actor.on(now, input, &mut self.kernel.choices, &mut fx);
        self.kernel.choices.turn(0);
        for effect in fx {
            self.on_actor_effect(index, effect)?;
        }
        let cell = &mut self.actors[index];
        if let Some((at, _)) = cell.actor.deadline() {
            let time = cell.clock.when(at).max(time + 1);
            if cell.armed.is_none_or(|armed| time < armed) {
                cell.armed = Some(time);
                self.kernel.at(time, Event::Actor(index, ActorInput::Tick));
            }
        }
        Ok(())
    }

    fn on_actor_effect(&mut self, index: usize, effect: ActorEffect) -> Result<(), Violation> {
        match effect {
            ActorEffect::Open { token, host, port } => self.open(index, token, &host, port),
            ActorEffect::Send(token, frame) => {
                if let Some(id) = self.actors[index].connections.get(&token).copied() {
                    let node = self.net.conn(id).map_or(0, |conn| conn.node);
                    let losses = self.nodes[node].losses;
                    self.net.client_send(&mut self.kernel, id, frame, losses);
                }
            }
            ActorEffect::Close(token) => {
                if let Some(id) = self.actors[index].connections.remove(&token) {
                    self.net.client_close(&mut self.kernel, id);
                }
            }
            ActorEffect::Did(op) => {
                let op = Op { time: self.kernel.time, ..op };
                self.kernel.note(|| self.actors[index].actor.name(), || format!("{:?}", op.action));
                self.oracles.observe(&op)?;
            }
            ActorEffect::Note(text) => {
                self.kernel.note(|| self.actors[index].actor.name(), || text);
            }
        }
        Ok(())
    }

    fn open(&mut self, index: usize, token: u64, host: &str, port: u16) {
        let at = |node: &Node| {
            let (name, number) = &node.settings().address;
            **name == *host && *number == port
        };
        match self.nodes.iter().position(at) {
            Some(node) => {
                let opener = Opener::Client { client: index, token };
                let id = self.net.open(&mut self.kernel, opener, node);
                self.actors[index].connections.insert(token, id);
            }
            None => self.kernel.after(MS, Event::Actor(index, ActorInput::Closed(token))),
        }
    }
}

//! What travels between clients and nodes.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use dohle_core::mail::SessionId;
use dohle_wire::codec::Part;

use super::{Event, World};
use crate::actor::ActorInput;
use crate::net::{ConnId, NetEvent, Opener};
use crate::oracle::Violation;

impl World {
    pub(super) fn on_net(&mut self, event: NetEvent) -> Result<(), Violation> {
        match event {
            NetEvent::Syn(id) => self.on_syn(id),
            NetEvent::Accepted(id) => self.on_accepted(id),
            NetEvent::ToServer(id, frame) => self.on_request(id, frame),
            NetEvent::Flush(id, parts) => self.on_flush(id, parts),
            NetEvent::ToClient(id, frame) => match self.net.reaches_client(id) {
                true => self.tell(id, |token| ActorInput::Frame(token, frame)),
                false => Ok(()),
            },
            NetEvent::ClientEnd(id) => self.on_client_end(id),
            NetEvent::ServerEnd(id) => self.on_server_end(id),
            NetEvent::Again { node, losses, frame } => {
                if self.nodes[node].is_ready() && self.nodes[node].losses == losses {
                    let id = self.net.open(&mut self.kernel, Opener::Replay, node);
                    if let Some(conn) = self.net.conn(id) {
                        conn.first = Some(frame);
                    }
                }
                Ok(())
            }
        }
    }

    fn on_syn(&mut self, id: ConnId) -> Result<(), Violation> {
        let Some(index) = self.net.conn(id).map(|conn| conn.node) else { return Ok(()) };
        let node = &mut self.nodes[index];
        let life = node.is_ready().then_some(node.life);
        self.net.answer_syn(&mut self.kernel, id, life);
        if life.is_some() {
            node.accept(&mut self.kernel, SessionId(id.0));
        }
        self.settle(index)
    }

    fn on_accepted(&mut self, id: ConnId) -> Result<(), Violation> {
        if !self.net.reaches_client(id) {
            return Ok(());
        }
        let Some(conn) = self.net.conn(id) else { return Ok(()) };
        if let Some(frame) = conn.first.take() {
            let losses = self.nodes[conn.node].losses;
            self.net.client_send(&mut self.kernel, id, frame, losses);
            return Ok(());
        }
        self.tell(id, ActorInput::Opened)
    }

    fn on_request(&mut self, id: ConnId, frame: Bytes) -> Result<(), Violation> {
        if !self.net.reaches_server(id) {
            return Ok(());
        }
        let Some(conn) = self.net.conn(id) else { return Ok(()) };
        if conn.paused {
            conn.inbox.push_back(frame);
            return Ok(());
        }
        let node = conn.node;
        let image = self.nodes[node].image().map(|image| &**image);
        self.oracles.tap.on_request(id, &frame, image);
        self.nodes[node].frame(&mut self.kernel, SessionId(id.0), frame);
        self.settle(node)
    }

    /// A session stops reading or goes on; then it is given what arrived meanwhile.
    pub(super) fn on_read(&mut self, from: SessionId, on: bool) {
        let id = ConnId(from.0);
        let Some(conn) = self.net.conn(id) else { return };
        conn.paused = !on;
        let waiting = if on { std::mem::take(&mut conn.inbox) } else { VecDeque::new() };
        for frame in waiting {
            self.kernel.after(0, Event::Net(NetEvent::ToServer(id, frame)));
        }
    }

    fn on_flush(&mut self, id: ConnId, parts: Vec<Part>) -> Result<(), Violation> {
        let Some(conn) = self.net.conn(id) else { return Ok(()) };
        let (node, life) = (conn.node, conn.life);
        if !self.nodes[node].is_up() || life != Some(self.nodes[node].life) {
            return Ok(());
        }
        let mut frame = BytesMut::new();
        for part in parts {
            match part {
                Part::Bytes(bytes) => frame.extend_from_slice(&bytes),
                Part::Hole(hole) => match self.nodes[node].disk.hole(&hole) {
                    Some(bytes) => frame.extend_from_slice(&bytes),
                    None => {
                        return Err(Violation::new("hole", format!("{hole:?} is past the file")));
                    }
                },
            }
        }
        let frame = frame.freeze();
        let announced = frame.first_chunk().map_or(0, |len| u32::from_be_bytes(*len) as usize);
        if announced + 4 != frame.len() {
            let text = format!("a frame of {} bytes announces {announced}", frame.len());
            return Err(Violation::new("wire", text));
        }
        self.kernel.digest.bytes(&frame);
        let image = self.nodes[node].image().map(|image| &**image);
        self.oracles.tap.on_response(id, &frame, image, &mut self.oracles.armed)?;
        self.net.flush(&mut self.kernel, id, frame.slice(4..));
        Ok(())
    }

    fn on_client_end(&mut self, id: ConnId) -> Result<(), Violation> {
        let Some(opener) = self.net.conn(id).map(|conn| conn.opener) else { return Ok(()) };
        match opener {
            Opener::Client { client, token } if self.net.ended(id, true) => {
                self.actors[client].connections.remove(&token);
                self.on_actor(client, ActorInput::Closed(token))
            }
            Opener::Client { .. } | Opener::Replay => Ok(()),
        }
    }

    fn on_server_end(&mut self, id: ConnId) -> Result<(), Violation> {
        let Some(node) = self.net.conn(id).map(|conn| conn.node) else { return Ok(()) };
        if self.net.ended(id, false) {
            self.nodes[node].hang_up(&mut self.kernel, SessionId(id.0));
            self.oracles.tap.hang_up(id);
            return self.settle(node);
        }
        Ok(())
    }

    fn tell(&mut self, id: ConnId, input: impl FnOnce(u64) -> ActorInput) -> Result<(), Violation> {
        match self.net.conn(id).map(|conn| conn.opener) {
            Some(Opener::Client { client, token }) => self.on_actor(client, input(token)),
            Some(Opener::Replay) | None => Ok(()),
        }
    }
}

//! Clients on this runtime: the clock, timers, tasks and TCP connections that
//! `dohle_client::api` asks for.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use dohle_client::api::Producer;
//! use dohle_client::config::ProducerConfig;
//! use dohle_client::machine::producer::ProducerRecord;
//! use dohle_codec::NativeCodecs;
//! use dohle_net::client::Tokio;
//!
//! # async fn send() -> Result<(), Box<dyn std::error::Error>> {
//! let config = ProducerConfig::to("127.0.0.1:9092")?;
//! let producer = Producer::new(Tokio::new(), config, Arc::new(NativeCodecs))?;
//! producer.send(ProducerRecord::new("greetings", "hello")).await?;
//! # Ok(())
//! # }
//! ```

use std::future::Future;
use std::io::{self, IoSlice};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use dohle_client::api::{Disconnected, FrameRead, FrameWrite, Runtime};
use dohle_client::machine::{Frame, Now};
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use crate::clock::Clock;
use crate::entropy;
use crate::rt::{self, AsyncReadExt, TcpStream};

/// Longest answer that is taken from a broker.
const FRAME_MAX: usize = 512 * 1024 * 1024;
/// Bytes of the length in front of a frame.
const PREFIX: usize = 4;
/// Room for what is not announced yet.
const ROOM: usize = 64 * 1024;
/// Most room that is made for what is only announced; more is made as bytes arrive.
const ROOM_AT_ONCE: usize = 4 * 1024 * 1024;

/// The runtime of tokio. Everything is to be used inside one.
#[derive(Copy, Clone, Debug)]
pub struct Tokio {
    clock: Clock,
}

impl Tokio {
    /// A runtime whose monotonic clock starts now.
    #[must_use]
    pub fn new() -> Self {
        Self { clock: Clock::start() }
    }
}

impl Default for Tokio {
    fn default() -> Self {
        Self::new()
    }
}

impl Runtime for Tokio {
    type Read = Reading;
    type Write = Writing;

    async fn connect(
        &self,
        host: Arc<str>,
        port: u16,
    ) -> Result<(Self::Read, Self::Write), Disconnected> {
        let stream = TcpStream::connect((&*host, port)).await.map_err(told)?;
        // A request is written as a whole: waiting for more would only delay it.
        stream.set_nodelay(true).map_err(told)?;
        let (read, write) = stream.into_split();
        Ok((Reading { half: read, buffer: BytesMut::new() }, Writing { half: write }))
    }

    async fn sleep(&self, wait: Duration) {
        rt::sleep(wait).await;
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        drop(rt::spawn(task));
    }

    fn now(&self) -> Now {
        let now = self.clock.now();
        Now { mono: Duration::from_nanos(now.mono.0), wall: now.wall }
    }

    fn mono(&self) -> Duration {
        Duration::from_nanos(self.clock.mono().0)
    }

    fn seed(&self) -> u64 {
        entropy::seed()
    }
}

fn told(error: io::Error) -> Disconnected {
    Disconnected(error.to_string())
}

/// The receiving half of a TCP connection to a broker.
#[derive(Debug)]
pub struct Reading {
    half: OwnedReadHalf,
    buffer: BytesMut,
}

impl Reading {
    /// Length of the frame at the start of the buffer, once it has come.
    fn announced(&self) -> Result<Option<usize>, Disconnected> {
        let Some(prefix) = self.buffer.first_chunk::<PREFIX>() else { return Ok(None) };
        let len = i32::from_be_bytes(*prefix);
        match usize::try_from(len) {
            Ok(len) if len <= FRAME_MAX => Ok(Some(len)),
            _ => Err(Disconnected(format!(
                "an answer of {len} bytes: this is not a broker, or not a plaintext port"
            ))),
        }
    }
}

impl FrameRead for Reading {
    async fn read(&mut self) -> Result<Bytes, Disconnected> {
        loop {
            let missing = match self.announced()? {
                None => ROOM,
                Some(len) if self.buffer.len() >= PREFIX + len => {
                    let frame = self.buffer.split_to(PREFIX + len).freeze();
                    return Ok(frame.slice(PREFIX..));
                }
                Some(len) => PREFIX + len - self.buffer.len(),
            };
            self.buffer.reserve(missing.min(ROOM_AT_ONCE));
            if self.half.read_buf(&mut self.buffer).await.map_err(told)? == 0 {
                return Err(Disconnected("the broker closed the connection".to_owned()));
            }
        }
    }
}

/// The sending half of a TCP connection to a broker.
#[derive(Debug)]
pub struct Writing {
    half: OwnedWriteHalf,
}

impl FrameWrite for Writing {
    async fn write(&mut self, frame: Frame) -> Result<(), Disconnected> {
        let mut slices: Vec<IoSlice<'_>> =
            frame.parts().iter().map(|part| IoSlice::new(part)).collect();
        let mut left = slices.as_mut_slice();
        while !left.is_empty() {
            let written = self.half.write_vectored(left).await.map_err(told)?;
            if written == 0 {
                return Err(Disconnected("the broker takes nothing more".to_owned()));
            }
            IoSlice::advance_slices(&mut left, written);
        }
        Ok(())
    }
}

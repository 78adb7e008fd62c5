//! An async interface to the machines, for any runtime.
//!
//! [`Producer`], [`Consumer`] and [`Admin`] own a machine each and drive it over connections, timers
//! and tasks of a [`Runtime`]. Nothing here knows which runtime that is: an application on a real
//! one and the same application inside a simulation run the same code.
//!
//! ```no_run
//! use dohle_client::api::{Admin, Producer, Runtime};
//! use dohle_client::config::{AdminConfig, ProducerConfig};
//! use dohle_client::machine::admin::NewTopic;
//! use dohle_client::machine::producer::ProducerRecord;
//! use std::sync::Arc;
//!
//! async fn greet<R: Runtime>(runtime: R) -> Result<(), Box<dyn std::error::Error>> {
//!     let admin = Admin::new(runtime.clone(), AdminConfig::to("127.0.0.1:9092")?)?;
//!     admin.create_topics(vec![NewTopic::new("greetings", 3)]).await?;
//!     let config = ProducerConfig::to("127.0.0.1:9092")?;
//!     let producer = Producer::new(runtime, config, Arc::new(dohle_wire::record::NoCodecs))?;
//!     let at = producer.send(ProducerRecord::new("greetings", "hello")).await?;
//!     println!("partition {} offset {}", at.partition, at.offset);
//!     Ok(())
//! }
//! ```

mod admin;
mod calls;
mod consumer;
mod outbox;
mod producer;
mod race;
mod runtime;
mod shell;
mod slot;
mod typed;

pub use admin::{Admin, Each};
pub use consumer::{Commit, Consumer, ConsumerHandle, Listening, Polled, RebalanceListener};
pub use producer::{Delivery, Producer, RecordMetadata};
pub use runtime::{Disconnected, FrameRead, FrameWrite, Runtime};
pub use typed::{TypedError, TypedProducer, TypedRecord};

//! The wire protocol of Kafka 4.4: identifiers, error codes, messages and record batches.
//!
//! Everything here is a pure function of its arguments. Decoders are total: hostile bytes give a
//! typed error, never a panic and never an allocation out of proportion to the bytes at hand.
//!
//! [`message`] is generated from the table in this crate's `schema` folder by `dohle-wire-gen`.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod api_key;
pub mod codec;
pub mod consumer_protocol;
pub mod error;
mod group;
pub mod header;
pub mod id;
pub mod message;
pub mod record;
pub mod records;

pub use api_key::ApiKey;
pub use codec::{DecodeError, EncodeError, Hole, Part, Reader, Writer};
pub use error::ErrorCode;
pub use header::RequestHeader;
pub use message::{Message, Request};
pub use records::Records;

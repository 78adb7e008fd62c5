//! Consumers that have read everything, as a broker sees them: a Fetch that waits in vain, and then
//! the next one, in a fetch session.

use std::sync::Arc;

use bytes::Bytes;
use dohle_client::machine::TopicPartition;
use dohle_client::machine::admin::OffsetSpec;
use dohle_wire::codec::{EncodeError, Reader, Writer};
use dohle_wire::error::ErrorCode;
use dohle_wire::header::{RequestHeader, decode_response_header};
use dohle_wire::message::fetch_request::{FetchPartition, FetchTopic};
use dohle_wire::message::{FetchRequest, FetchResponse, Message as _, Request};
use dohle_wire::records::Records;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::connections::{answer, within};
use crate::cmd::cluster::{Cluster, Failure, about_topic};

/// The last version that names topics.
const VERSION: i16 = 12;
/// What consumers ask for if nothing else is set.
const WAIT_MS: i32 = 500;
const MAX_BYTES: i32 = 50 << 20;
const PARTITION_MAX_BYTES: i32 = 1 << 20;

/// Connections that are kept open, and asked for nothing or for records.
pub(super) struct Waiting {
    _silent: Vec<TcpStream>,
    consumers: JoinSet<Failure>,
}

impl Waiting {
    /// Those that ask for nothing.
    pub(super) fn silent(streams: Vec<TcpStream>) -> Self {
        Self { _silent: streams, consumers: JoinSet::new() }
    }

    /// One after another reads one partition of the topic after another.
    pub(super) async fn consumers(
        streams: Vec<TcpStream>,
        cluster: &Cluster,
        topic: &Arc<str>,
    ) -> Result<Self, Failure> {
        let ends = ends_of(cluster, topic).await?;
        let each = streams.into_iter().zip(ends.iter().cycle());
        let each = each.map(|(stream, at)| Idle::new(stream, at.clone()).wait());
        Ok(Self { _silent: Vec::new(), consumers: each.collect() })
    }

    /// Why one no longer waits, once that is so.
    pub(super) async fn ended(&mut self) -> Failure {
        match self.consumers.join_next().await {
            Some(ended) => {
                ended.unwrap_or_else(|error| Failure::Failed(format!("a consumer: {error}")))
            }
            None => std::future::pending().await,
        }
    }
}

/// The partitions of a topic and their ends.
async fn ends_of(
    cluster: &Cluster,
    name: &Arc<str>,
) -> Result<Vec<(TopicPartition, i64)>, Failure> {
    let described = cluster.topic(name).await?;
    let described = described.map_err(|error| Failure::Failed(about_topic(name, &error)))?;
    let all = described.partitions.iter();
    let all = all.map(|part| TopicPartition::new(Arc::clone(name), part.index));
    let admin = cluster.admin().await?;
    let ends = admin.list_offsets(all.map(|part| (part, OffsetSpec::Latest)).collect()).await;
    let ends = ends.map_err(|error| cluster.failed(&error, admin.last_connection_error()))?;
    let known = ends.into_iter().map(|(part, end)| match end {
        Ok(end) => Ok((part, end.offset.0)),
        Err(error) => Err(Failure::Failed(format!("the end of {part} is not known: {error}"))),
    });
    known.collect()
}

/// A consumer that has read everything.
struct Idle {
    stream: TcpStream,
    at: (TopicPartition, i64),
    session: i32,
    epoch: i32,
}

impl Idle {
    fn new(stream: TcpStream, at: (TopicPartition, i64)) -> Self {
        Self { stream, at, session: 0, epoch: 0 }
    }

    /// Waits for records until there are some: then nobody is idle, which is a failure like others.
    async fn wait(mut self) -> Failure {
        loop {
            if let Err(failure) = self.ask().await {
                return failure;
            }
        }
    }

    async fn ask(&mut self) -> Result<(), Failure> {
        let unusable = |error: &dyn std::fmt::Display| Failure::Failed(format!("Fetch: {error}"));
        let frame = self.frame().map_err(|error| unusable(&error))?;
        let bytes = within(async {
            self.stream.write_all(&frame).await?;
            answer(&mut self.stream).await
        });
        let mut reader = Reader::new(Bytes::from(bytes.await?));
        let header = decode_response_header(&mut reader, FetchRequest::KEY, VERSION);
        let found = header.and_then(|_| FetchResponse::decode(&mut reader, VERSION));
        self.on_answer(&found.map_err(|error| unusable(&error))?)
    }

    /// The whole request begins a session; in one, an empty request asks for the same again.
    fn frame(&self) -> Result<Vec<u8>, EncodeError> {
        let (part, fetch_offset) = &self.at;
        let begins = self.epoch == 0;
        let partition = FetchPartition {
            partition: part.partition,
            fetch_offset: *fetch_offset,
            partition_max_bytes: PARTITION_MAX_BYTES,
            ..FetchPartition::default()
        };
        let topic = part.topic.to_string();
        let topic = FetchTopic { topic, partitions: vec![partition], ..FetchTopic::default() };
        let request = FetchRequest {
            max_wait_ms: WAIT_MS,
            min_bytes: 1,
            max_bytes: MAX_BYTES,
            session_id: self.session,
            session_epoch: self.epoch,
            topics: if begins { vec![topic] } else { Vec::new() },
            ..FetchRequest::default()
        };
        let client_id = Some("dohle-bench".to_owned());
        let (api_key, api_version) = (FetchRequest::KEY.code(), VERSION);
        let header = RequestHeader { api_key, api_version, correlation_id: 1, client_id };
        let mut writer = Writer::new();
        header.encode(&mut writer)?;
        request.encode(&mut writer, VERSION)?;
        let body = writer.into_bytes()?;
        let len = u32::try_from(body.len()).map_err(|_| EncodeError::TooLong(body.len()))?;
        Ok([&len.to_be_bytes(), &body[..]].concat())
    }

    fn on_answer(&mut self, found: &FetchResponse) -> Result<(), Failure> {
        let parts = || found.responses.iter().flat_map(|topic| &topic.partitions);
        let codes = parts().map(|part| part.error_code).chain([found.error_code]);
        let failed = codes.map(ErrorCode::from).find(|code| *code != ErrorCode::None);
        match failed {
            None => {}
            // The broker keeps only so many sessions, and this one had to make room.
            Some(ErrorCode::FetchSessionIdNotFound) => {
                (self.session, self.epoch) = (0, 0);
                return Ok(());
            }
            Some(code) => return Err(Failure::Failed(format!("fetching {}: {code}", self.at.0))),
        }
        let some =
            |part: &Option<Records>| part.as_ref().is_some_and(|records| !records.is_empty());
        if parts().any(|part| some(&part.records)) {
            return Err(Failure::Failed(format!(
                "{} is being written to, so that its consumers are not idle and there is nothing \
                 to measure; name a topic that nobody writes to",
                self.at.0
            )));
        }
        self.session = found.session_id;
        self.epoch = if self.session == 0 { 0 } else { self.epoch % i32::MAX + 1 };
        Ok(())
    }
}

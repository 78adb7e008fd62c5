//! How far a group is behind, in records and in time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dohle_client::api::Consumer;
use dohle_client::config::ConsumerConfig;
use dohle_client::machine::TopicPartition;
use dohle_client::machine::consumer::Start;
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;
use dohle_wire::id::Offset;

use crate::cmd::cluster::{Cluster, Failure};

/// How long to wait for the records whose timestamps are wanted.
const PATIENCE: Duration = Duration::from_secs(5);

/// Milliseconds since 1970, by the clock of this machine.
pub(super) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// For each partition the timestamp of the first record at or after an offset, as far as there is
/// one and it comes soon.
///
/// No request asks for the time of an offset, so the record itself is read: one batch for each
/// partition.
pub(super) async fn timestamps(
    cluster: &Cluster,
    from: BTreeMap<TopicPartition, i64>,
) -> Result<BTreeMap<TopicPartition, i64>, Failure> {
    let mut found = BTreeMap::new();
    if from.is_empty() {
        return Ok(found);
    }
    let mut config = ConsumerConfig::to(cluster.servers())?;
    let settings = [
        ("client.id", "dohle-cli"),
        ("allow.auto.create.topics", "false"),
        // Records before the start of the log are gone; the first one left is the oldest to read.
        ("auto.offset.reset", "earliest"),
        ("max.partition.fetch.bytes", "1"),
    ];
    for (name, value) in settings {
        config.set(name, value)?;
    }
    let mut consumer = Consumer::new(Tokio::new(), config, Arc::new(NativeCodecs))?;
    let mut left: Vec<TopicPartition> = from.keys().cloned().collect();
    consumer.assign(from.into_iter().map(|(at, from)| (at, Start::Offset(Offset(from)))));
    let deadline = Instant::now() + PATIENCE;
    while !left.is_empty() && Instant::now() < deadline {
        let polled = consumer.poll(deadline.saturating_duration_since(Instant::now())).await;
        for (at, records) in polled.records {
            let Some(first) = records.first() else { continue };
            found.entry(at.clone()).or_insert(first.timestamp.0);
            left.retain(|waiting| *waiting != at);
            consumer.pause(at);
        }
        left.retain(|waiting| !polled.failed.iter().any(|(at, _)| at == waiting));
    }
    Ok(found)
}

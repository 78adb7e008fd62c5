//! Listens at a node's connections: what it promised and what it showed.
//!
//! Responses are looked at when they leave the node, so that none is ever out of date here.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use dohle_core::image::Image;
use dohle_wire::codec::{DecodeError, Reader};
use dohle_wire::header::{RequestHeader, decode_response_header};
use dohle_wire::id::Uuid;
use dohle_wire::message::fetch_response::PartitionData;
use dohle_wire::message::{
    DeleteRecordsRequest, DeleteTopicsRequest, FetchRequest, FetchResponse, Message,
    ProduceRequest, ProduceResponse,
};
use dohle_wire::record::{BatchHeader, RawBatch, split_batches};
use dohle_wire::{ApiKey, Records};

use super::truth::Truth;
use super::{Armed, Violation};
use crate::net::ConnId;

/// A partition by the topic's id.
pub(super) type PartitionKey = (Uuid, i32);

/// A request whose response matters.
#[derive(Clone, Debug)]
enum Awaited {
    Produce { version: i16, batches: Vec<(PartitionKey, BatchHeader)> },
    Fetch { version: i16 },
}

/// What clients were told.
#[derive(Default)]
pub struct Tap {
    pub(super) truths: BTreeMap<PartitionKey, Truth>,
    /// Topics that somebody asked to delete.
    pub(super) deleted: BTreeSet<Uuid>,
    awaited: BTreeMap<(ConnId, i32), Awaited>,
    /// Acknowledged batches.
    pub acknowledged: u64,
}

impl Tap {
    /// A request reaches a node.
    pub fn on_request(&mut self, conn: ConnId, frame: &Bytes, image: Option<&Image>) {
        // Requests that do not decode are the node's business alone.
        let _undecodable: Result<(), DecodeError> = self.try_request(conn, frame, image);
    }

    fn try_request(
        &mut self,
        conn: ConnId,
        frame: &Bytes,
        image: Option<&Image>,
    ) -> Result<(), DecodeError> {
        let mut reader = Reader::new(frame.clone());
        let header = RequestHeader::decode(&mut reader)?;
        let version = header.api_version;
        let awaited = match ApiKey::from_code(header.api_key) {
            Some(ApiKey::Produce) => {
                let request = ProduceRequest::decode(&mut reader, version)?;
                let batches = produced(&request, image);
                (request.acks != 0).then_some(Awaited::Produce { version, batches })
            }
            Some(ApiKey::Fetch) => {
                FetchRequest::decode(&mut reader, version)?;
                Some(Awaited::Fetch { version })
            }
            Some(ApiKey::DeleteRecords) => {
                self.on_delete_records(&DeleteRecordsRequest::decode(&mut reader, version)?, image);
                None
            }
            Some(ApiKey::DeleteTopics) => {
                self.on_delete_topics(&DeleteTopicsRequest::decode(&mut reader, version)?, image);
                None
            }
            _ => None,
        };
        if let Some(awaited) = awaited {
            self.awaited.insert((conn, header.correlation_id), awaited);
        }
        Ok(())
    }

    fn on_delete_records(&mut self, request: &DeleteRecordsRequest, image: Option<&Image>) {
        for topic in &request.topics {
            let Some(id) = id_of(&topic.name, image) else { continue };
            for partition in &topic.partitions {
                let truth = self.truths.entry((id, partition.partition_index)).or_default();
                let offset = if partition.offset < 0 { i64::MAX } else { partition.offset };
                truth.deletable = truth.deletable.max(offset);
            }
        }
    }

    fn on_delete_topics(&mut self, request: &DeleteTopicsRequest, image: Option<&Image>) {
        let by_name = request.topic_names.iter().filter_map(|name| id_of(name, image));
        self.deleted.extend(by_name);
        for topic in &request.topics {
            self.deleted.insert(topic.topic_id);
            self.deleted.extend(topic.name.as_deref().and_then(|name| id_of(name, image)));
        }
    }

    /// A response leaves a node.
    ///
    /// # Errors
    /// L1, L2, R14, R17 and whatever is wrong with bytes that clients are given.
    pub fn on_response(
        &mut self,
        conn: ConnId,
        frame: &Bytes,
        image: Option<&Image>,
        armed: &mut Armed,
    ) -> Result<(), Violation> {
        let undecodable = |error: DecodeError| Violation::new("wire", error.to_string());
        let mut reader = Reader::new(frame.slice(4.min(frame.len())..));
        let correlation = reader.clone().i32().map_err(undecodable)?;
        match self.awaited.remove(&(conn, correlation)) {
            None => Ok(()),
            Some(Awaited::Produce { version, batches }) => {
                decode_response_header(&mut reader, ApiKey::Produce, version)
                    .map_err(undecodable)?;
                let response =
                    ProduceResponse::decode(&mut reader, version).map_err(undecodable)?;
                self.on_produced(&response, &batches, image, armed)
            }
            Some(Awaited::Fetch { version }) => {
                decode_response_header(&mut reader, ApiKey::Fetch, version).map_err(undecodable)?;
                let response = FetchResponse::decode(&mut reader, version).map_err(undecodable)?;
                self.on_fetched(&response, image, armed)
            }
        }
    }

    fn on_produced(
        &mut self,
        response: &ProduceResponse,
        batches: &[(PartitionKey, BatchHeader)],
        image: Option<&Image>,
        armed: &mut Armed,
    ) -> Result<(), Violation> {
        for topic in &response.responses {
            let Some(id) = topic_of(topic.topic_id, &topic.name, image) else { continue };
            for part in &topic.partition_responses {
                let key = (id, part.index);
                if part.error_code != 0 {
                    if part.base_offset != -1 {
                        let text =
                            format!("error {} with offset {}", part.error_code, part.base_offset);
                        return Err(Violation::new("R17", text));
                    }
                    continue;
                }
                for (_, header) in batches.iter().filter(|(to, _)| *to == key) {
                    armed.batches += 1;
                    self.acknowledged += 1;
                    self.truths
                        .entry(key)
                        .or_default()
                        .learn(part.base_offset, header, true)
                        .map_err(|violation| at(violation, key))?;
                }
            }
        }
        Ok(())
    }

    fn on_fetched(
        &mut self,
        response: &FetchResponse,
        image: Option<&Image>,
        armed: &mut Armed,
    ) -> Result<(), Violation> {
        for topic in &response.responses {
            let Some(id) = topic_of(topic.topic_id, &topic.topic, image) else { continue };
            for part in topic.partitions.iter().filter(|part| part.error_code == 0) {
                let key = (id, part.partition_index);
                let truth = self.truths.entry(key).or_default();
                shown(truth, part, armed).map_err(|violation| at(violation, key))?;
            }
        }
        Ok(())
    }

    /// Forgets the requests of a connection.
    pub fn hang_up(&mut self, conn: ConnId) {
        let over: Vec<(ConnId, i32)> =
            self.awaited.range((conn, i32::MIN)..=(conn, i32::MAX)).map(|(key, _)| *key).collect();
        for key in over {
            self.awaited.remove(&key);
        }
    }
}

/// Checks what a fetch shows of a partition.
fn shown(truth: &mut Truth, part: &PartitionData, armed: &mut Armed) -> Result<(), Violation> {
    truth.bounds(part.log_start_offset, part.last_stable_offset, part.high_watermark)?;
    let Some(Records::Bytes(bytes)) = &part.records else { return Ok(()) };
    for batch in split_batches(bytes.clone()) {
        // The last batch may be cut by the limits of the request.
        let Ok(batch) = batch else { break };
        armed.batches += 1;
        shown_batch(truth, &batch, part.high_watermark)?;
    }
    Ok(())
}

fn shown_batch(truth: &mut Truth, batch: &RawBatch, watermark: i64) -> Result<(), Violation> {
    let base = batch.header.base_offset.0;
    if !batch.crc_ok() {
        return Err(Violation::new("L7", format!("wrong checksum shown at offset {base}")));
    }
    if batch.header.next_offset().0 > watermark {
        let text = format!("offset {base} shown, high watermark {watermark}");
        return Err(Violation::new("R14", text));
    }
    truth.learn(base, &batch.header, false)
}

fn at(violation: Violation, key: PartitionKey) -> Violation {
    Violation {
        text: format!("topic {} partition {}: {}", key.0, key.1, violation.text),
        ..violation
    }
}

fn produced(request: &ProduceRequest, image: Option<&Image>) -> Vec<(PartitionKey, BatchHeader)> {
    let mut batches = Vec::new();
    for topic in &request.topic_data {
        let Some(id) = topic_of(topic.topic_id, &topic.name, image) else { continue };
        for part in &topic.partition_data {
            let Some(Records::Bytes(bytes)) = &part.records else { continue };
            if let Ok(header) = BatchHeader::parse(bytes) {
                batches.push(((id, part.index), header));
            }
        }
    }
    batches
}

fn id_of(name: &str, image: Option<&Image>) -> Option<Uuid> {
    image?.topic(name).map(|topic| topic.id.0)
}

fn topic_of(id: Uuid, name: &str, image: Option<&Image>) -> Option<Uuid> {
    if id == Uuid::ZERO { id_of(name, image) } else { Some(id) }
}

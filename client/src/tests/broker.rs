//! A broker for tests: enough of one to serve the machines, out of the wire crate's own types.
//!
//! Several nodes share one state, as if replication were perfect and immediate. Sequences are checked
//! as Kafka's ProducerStateManager does: the last five batches of a producer are known again, and a
//! producer that is not known may begin anywhere.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use dohle_wire::header::encode_response_header;
use dohle_wire::id::{LeaderEpoch, Offset, Uuid};
use dohle_wire::message::fetch_response::PartitionData;
use dohle_wire::message::find_coordinator_response::Coordinator as FoundCoordinator;
use dohle_wire::message::*;
use dohle_wire::record::{Codecs, NoCodecs, RawBatch, RecordIter, patch};
use dohle_wire::{ApiKey, ErrorCode, Message, Reader, RequestHeader, Writer};

use super::coordinator::{Coordinator, Place, Ticket};

/// What becomes of a request.
#[derive(Debug)]
pub(crate) enum Served {
    /// It wants no answer.
    Silence,
    /// The answer, and how long it takes.
    Answer(Bytes, Duration),
    /// The answer comes from [`Coordinator::take`] with this number.
    Parked(u64),
}

/// What a broker remembers of a producer in one partition.
#[derive(Clone, Debug)]
struct Known {
    epoch: i16,
    /// First and last sequence and base offset of the last five batches.
    batches: VecDeque<(i32, i32, i64)>,
}

/// One partition.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    pub(crate) leader: i32,
    pub(crate) epoch: i32,
    pub(crate) start: i64,
    pub(crate) batches: Vec<RawBatch>,
    /// Its disk is gone.
    pub(crate) offline: bool,
    /// Aborted transactions: producer and first offset.
    pub(crate) aborted: Vec<(i64, i64)>,
    producers: BTreeMap<i64, Known>,
}

impl Log {
    fn new(leader: i32) -> Self {
        Self {
            leader,
            epoch: 1,
            start: 0,
            batches: Vec::new(),
            offline: false,
            aborted: Vec::new(),
            producers: BTreeMap::new(),
        }
    }

    /// A log without records.
    pub(crate) fn empty(leader: i32) -> Self {
        Self::new(leader)
    }

    pub(crate) fn end(&self) -> i64 {
        self.batches.last().map_or(self.start, |batch| batch.header.next_offset().0)
    }

    /// Offset and value of every record.
    pub(crate) fn values(&self, codecs: &dyn Codecs) -> Vec<(i64, String)> {
        let mut values = Vec::new();
        for batch in &self.batches {
            let records = batch.records(codecs, 1 << 24).expect("records");
            for record in RecordIter::new(&records, batch.header.records_count) {
                let record = record.expect("record");
                let value = String::from_utf8(record.value.unwrap_or_default().to_vec());
                values.push((record.offset(&batch.header).0, value.expect("text")));
            }
        }
        values
    }

    /// Learns of producers again from what is in the log, as a broker does when it starts.
    pub(crate) fn remember(&mut self) {
        let batches = std::mem::take(&mut self.batches);
        self.producers.clear();
        for batch in &batches {
            self.note(batch, batch.header.base_offset.0);
        }
        self.batches = batches;
    }

    fn note(&mut self, batch: &RawBatch, base: i64) {
        let header = &batch.header;
        if !header.has_producer_id() {
            return;
        }
        let epoch = header.producer_epoch.0;
        let fresh = || Known { epoch, batches: VecDeque::new() };
        let known = self.producers.entry(header.producer_id.0).or_insert_with(fresh);
        if known.epoch != epoch {
            *known = fresh();
        }
        known.batches.push_back((header.base_sequence.0, header.last_sequence().0, base));
        if known.batches.len() > 5 {
            known.batches.pop_front();
        }
    }

    fn sequence_error(&self, batch: &RawBatch) -> Result<Option<i64>, ErrorCode> {
        let header = &batch.header;
        let (first, last) = (header.base_sequence.0, header.last_sequence().0);
        let Some(known) = self.producers.get(&header.producer_id.0) else { return Ok(None) };
        let epoch = header.producer_epoch.0;
        if epoch < known.epoch {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        if epoch > known.epoch {
            return if first == 0 { Ok(None) } else { Err(ErrorCode::OutOfOrderSequenceNumber) };
        }
        if let Some(twin) = known.batches.iter().find(|(a, b, _)| (*a, *b) == (first, last)) {
            return Ok(Some(twin.2));
        }
        let expected =
            known.batches.back().map_or(0, |(_, last, _)| last.wrapping_add(1) & i32::MAX);
        if first == expected { Ok(None) } else { Err(ErrorCode::OutOfOrderSequenceNumber) }
    }

    /// Appends a batch as the leader.
    pub(crate) fn append(&mut self, batch: &RawBatch) -> Result<i64, ErrorCode> {
        assert!(batch.crc_ok(), "a producer sends good checksums");
        let header = &batch.header;
        if header.has_producer_id()
            && let Some(base) = self.sequence_error(batch)?
        {
            return Ok(base);
        }
        let base = self.end();
        let mut bytes = batch.bytes.to_vec();
        patch(&mut bytes, Offset(base), LeaderEpoch(self.epoch)).expect("a batch");
        self.batches.push(RawBatch::parse(Bytes::from(bytes)).expect("a batch"));
        self.note(batch, base);
        Ok(base)
    }
}

/// One topic.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    pub(crate) id: Uuid,
    pub(crate) logs: Vec<Log>,
}

/// What is to go wrong with the next batch that is produced.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Refused before the append.
    Before(ErrorCode),
    /// Appended, and refused nevertheless.
    After(ErrorCode),
}

/// See the module.
pub(crate) struct Broker {
    pub(crate) topics: BTreeMap<String, Topic>,
    pub(crate) nodes: Vec<i32>,
    pub(crate) faults: VecDeque<Fault>,
    /// Largest batch that is taken.
    pub(crate) max_batch: usize,
    /// Newest versions that are spoken, if not all.
    pub(crate) newest: BTreeMap<ApiKey, i16>,
    /// Topics that nobody may touch.
    pub(crate) forbidden: Vec<String>,
    /// What was asked, in order.
    pub(crate) asked: Vec<(i32, ApiKey, i16)>,
    pub(crate) auto_create: bool,
    pub(crate) groups: Coordinator,
    next_id: u128,
    next_producer: i64,
}

/// The first port of the nodes: node `n` listens on this plus `n`.
pub(crate) const PORT: u16 = 9000;

impl Broker {
    /// A cluster of nodes 1 to `nodes`.
    pub(crate) fn new(nodes: i32) -> Self {
        Self {
            topics: BTreeMap::new(),
            nodes: (1..=nodes).collect(),
            faults: VecDeque::new(),
            max_batch: 1 << 20,
            newest: BTreeMap::new(),
            forbidden: Vec::new(),
            asked: Vec::new(),
            auto_create: false,
            groups: Coordinator::default(),
            next_id: 1000,
            next_producer: 70,
        }
    }

    pub(crate) fn create(&mut self, name: &str, partitions: usize) {
        self.next_id += 1;
        let logs = (0..partitions).map(|at| Log::new(self.nodes[at % self.nodes.len()])).collect();
        self.topics.insert(name.to_owned(), Topic { id: Uuid::from_u128(self.next_id), logs });
    }

    pub(crate) fn log(&mut self, topic: &str, partition: usize) -> &mut Log {
        &mut self.topics.get_mut(topic).expect("a topic").logs[partition]
    }

    /// How often a request was asked.
    pub(crate) fn count(&self, key: ApiKey) -> usize {
        self.asked.iter().filter(|(_, asked, _)| *asked == key).count()
    }

    /// Serves a request.
    pub(crate) fn serve(&mut self, node: i32, frame: Bytes) -> Served {
        let mut reader = Reader::new(frame);
        let header = RequestHeader::decode(&mut reader).expect("a request header");
        let key = ApiKey::from_code(header.api_key).expect("a known request");
        let version = header.api_version;
        self.asked.push((node, key, version));
        let mut writer = Writer::new();
        encode_response_header(&mut writer, key, version, header.correlation_id);
        if key == ApiKey::ApiVersions {
            self.versions(&mut writer, version);
            return Served::Answer(writer.into_bytes().expect("bytes"), Duration::ZERO);
        }
        let mut wait = Duration::ZERO;
        assert!(version <= self.range(key).expect("a served request").1, "{key} {version}");
        fn read<R: Request>(reader: &mut Reader, version: i16) -> R {
            let request = R::decode(reader, version).expect("a good request");
            reader.expect_end().expect("nothing behind a request");
            request
        }
        let r = &mut reader;
        let answered = match key {
            ApiKey::Metadata => self.metadata(read(r, version)).encode(&mut writer, version),
            ApiKey::InitProducerId => {
                let _: InitProducerIdRequest = read(r, version);
                self.next_producer += 1;
                let answer = InitProducerIdResponse {
                    producer_id: self.next_producer,
                    producer_epoch: 0,
                    ..InitProducerIdResponse::default()
                };
                answer.encode(&mut writer, version)
            }
            ApiKey::Produce => {
                let request: ProduceRequest = read(r, version);
                let acks = request.acks;
                let answer = self.produce(node, request);
                if acks == 0 {
                    return Served::Silence;
                }
                answer.encode(&mut writer, version)
            }
            ApiKey::ListOffsets => {
                self.list_offsets(node, read(r, version)).encode(&mut writer, version)
            }
            ApiKey::Fetch => {
                let request: FetchRequest = read(r, version);
                let max_wait = Duration::from_millis(request.max_wait_ms as u64);
                let answer = self.fetch(node, request);
                // Without anything to tell, a broker waits for something to come.
                let parts = || answer.responses.iter().flat_map(|topic| &topic.partitions);
                let is_news = |part: &PartitionData| {
                    part.error_code != 0 || part.records.as_ref().is_some_and(|r| !r.is_empty())
                };
                wait = if parts().any(is_news) { Duration::ZERO } else { max_wait };
                answer.encode(&mut writer, version)
            }
            ApiKey::CreateTopics => {
                self.create_topics(read(r, version)).encode(&mut writer, version)
            }
            ApiKey::FindCoordinator => {
                self.find_coordinator(version, read(r, version)).encode(&mut writer, version)
            }
            other => {
                let ticket = Ticket::new(key, version, header.correlation_id);
                let place = Place { node, topics: &self.topics };
                let groups = &mut self.groups;
                return match other {
                    ApiKey::JoinGroup => groups.join(&place, ticket, read(r, version)),
                    ApiKey::SyncGroup => groups.sync(&place, ticket, read(r, version)),
                    ApiKey::Heartbeat => groups.heartbeat(&place, ticket, &read(r, version)),
                    ApiKey::LeaveGroup => groups.leave(&place, ticket, &read(r, version)),
                    ApiKey::OffsetCommit => groups.commit(&place, ticket, read(r, version)),
                    ApiKey::OffsetFetch => groups.fetch(&place, ticket, read(r, version)),
                    ApiKey::ConsumerGroupHeartbeat => groups.beat(&place, ticket, read(r, version)),
                    other => panic!("{other} is not served"),
                };
            }
        };
        answered.expect("a good answer");
        Served::Answer(writer.into_bytes().expect("bytes"), wait)
    }

    fn find_coordinator(
        &self,
        version: i16,
        request: FindCoordinatorRequest,
    ) -> FindCoordinatorResponse {
        let key = request.coordinator_keys.into_iter().next().unwrap_or(request.key);
        let (code, node) = match self.groups.node {
            0 => (ErrorCode::CoordinatorNotAvailable, -1),
            node => (ErrorCode::None, node),
        };
        let port = i32::from(PORT) + node;
        if version < 4 {
            return FindCoordinatorResponse {
                error_code: code.code(),
                node_id: node,
                host: "node".to_owned(),
                port,
                ..FindCoordinatorResponse::default()
            };
        }
        FindCoordinatorResponse {
            coordinators: vec![FoundCoordinator {
                key,
                node_id: node,
                host: "node".to_owned(),
                port,
                error_code: code.code(),
                ..FoundCoordinator::default()
            }],
            ..FindCoordinatorResponse::default()
        }
    }

    fn range(&self, key: ApiKey) -> Option<(i16, i16)> {
        let served = [
            ApiKey::ApiVersions,
            ApiKey::Metadata,
            ApiKey::InitProducerId,
            ApiKey::Produce,
            ApiKey::ListOffsets,
            ApiKey::Fetch,
            ApiKey::CreateTopics,
            ApiKey::FindCoordinator,
            ApiKey::JoinGroup,
            ApiKey::SyncGroup,
            ApiKey::Heartbeat,
            ApiKey::LeaveGroup,
            ApiKey::OffsetCommit,
            ApiKey::OffsetFetch,
            ApiKey::ConsumerGroupHeartbeat,
        ];
        let (oldest, newest) = key.versions().filter(|_| served.contains(&key))?;
        Some((oldest, self.newest.get(&key).copied().unwrap_or(newest)))
    }

    fn versions(&self, writer: &mut Writer, version: i16) {
        let row = |key: &ApiKey| {
            let (min_version, max_version) = self.range(*key)?;
            Some(ApiVersion { api_key: key.code(), min_version, max_version })
        };
        let too_new = version > self.range(ApiKey::ApiVersions).expect("served").1;
        let mut answer = ApiVersionsResponse {
            api_keys: ApiKey::ALL.iter().filter_map(row).collect(),
            ..ApiVersionsResponse::default()
        };
        if too_new {
            answer.error_code = ErrorCode::UnsupportedVersion.code();
            answer.api_keys.retain(|row| row.api_key == ApiKey::ApiVersions.code());
        }
        answer.encode(writer, if too_new { 0 } else { version }).expect("a good answer");
    }

    fn metadata(&mut self, request: MetadataRequest) -> MetadataResponse {
        let names: Vec<String> = match request.topics {
            Some(topics) => topics.into_iter().filter_map(|topic| topic.name).collect(),
            None => self.topics.keys().cloned().collect(),
        };
        if self.auto_create && request.allow_auto_topic_creation {
            for name in &names {
                if !self.topics.contains_key(name) {
                    self.create(name, 1);
                }
            }
        }
        let broker = |id: &i32| MetadataResponseBroker {
            node_id: *id,
            host: "node".to_owned(),
            port: i32::from(PORT) + id,
            rack: None,
        };
        MetadataResponse {
            brokers: self.nodes.iter().map(broker).collect(),
            cluster_id: Some("test".to_owned()),
            controller_id: 1,
            topics: names.into_iter().map(|name| self.describe(name)).collect(),
            ..MetadataResponse::default()
        }
    }

    fn describe(&self, name: String) -> MetadataResponseTopic {
        let refused = |name, code: ErrorCode| MetadataResponseTopic {
            error_code: code.code(),
            name: Some(name),
            ..MetadataResponseTopic::default()
        };
        if self.forbidden.contains(&name) {
            return refused(name, ErrorCode::TopicAuthorizationFailed);
        }
        let Some(topic) = self.topics.get(&name) else {
            return refused(name, ErrorCode::UnknownTopicOrPartition);
        };
        let partitions = topic.logs.iter().zip(0..).map(|(log, at)| MetadataResponsePartition {
            partition_index: at,
            leader_id: log.leader,
            leader_epoch: log.epoch,
            replica_nodes: self.nodes.clone(),
            isr_nodes: self.nodes.clone(),
            ..MetadataResponsePartition::default()
        });
        MetadataResponseTopic {
            name: Some(name),
            topic_id: topic.id,
            partitions: partitions.collect(),
            ..MetadataResponseTopic::default()
        }
    }

    fn create_topics(&mut self, request: CreateTopicsRequest) -> CreateTopicsResponse {
        let mut answer = CreateTopicsResponse::default();
        for topic in request.topics {
            let exists = self.topics.contains_key(&topic.name);
            if !exists {
                self.create(&topic.name, topic.num_partitions.max(1) as usize);
            }
            let code = if exists { ErrorCode::TopicAlreadyExists } else { ErrorCode::None };
            answer.topics.push(CreatableTopicResult {
                name: topic.name,
                error_code: code.code(),
                ..CreatableTopicResult::default()
            });
        }
        answer
    }

    fn topic_of(&mut self, name: &str, id: Uuid) -> Option<&mut Topic> {
        if id == Uuid::ZERO {
            self.topics.get_mut(name)
        } else {
            self.topics.values_mut().find(|topic| topic.id == id)
        }
    }

    /// The log that a node leads, or the error for whoever asks it.
    fn led(&mut self, node: i32, name: &str, id: Uuid, at: i32) -> Result<&mut Log, ErrorCode> {
        let unknown = if id == Uuid::ZERO {
            ErrorCode::UnknownTopicOrPartition
        } else {
            ErrorCode::UnknownTopicId
        };
        let topic = self.topic_of(name, id).ok_or(unknown)?;
        let log = topic.logs.get_mut(at as usize).ok_or(ErrorCode::UnknownTopicOrPartition)?;
        match log {
            log if log.leader != node => Err(ErrorCode::NotLeaderOrFollower),
            log if log.offline => Err(ErrorCode::KafkaStorageError),
            log => Ok(log),
        }
    }

    fn produce(&mut self, node: i32, request: ProduceRequest) -> ProduceResponse {
        let mut answer = ProduceResponse::default();
        for topic in request.topic_data {
            let mut parts = Vec::new();
            for part in topic.partition_data {
                let Some(dohle_wire::Records::Bytes(bytes)) = part.records else {
                    panic!("batches")
                };
                let batch = RawBatch::parse(bytes).expect("exactly one batch");
                let outcome =
                    self.produce_one(node, (&topic.name, topic.topic_id), part.index, &batch);
                parts.push(PartitionProduceResponse {
                    index: part.index,
                    error_code: outcome.err().unwrap_or(ErrorCode::None).code(),
                    base_offset: outcome.unwrap_or(-1),
                    ..PartitionProduceResponse::default()
                });
            }
            answer.responses.push(TopicProduceResponse {
                name: topic.name,
                topic_id: topic.topic_id,
                partition_responses: parts,
            });
        }
        answer
    }

    fn produce_one(
        &mut self,
        node: i32,
        (name, id): (&str, Uuid),
        at: i32,
        batch: &RawBatch,
    ) -> Result<i64, ErrorCode> {
        let fault = self.faults.pop_front();
        if let Some(Fault::Before(code)) = fault {
            return Err(code);
        }
        if batch.bytes.len() > self.max_batch {
            return Err(ErrorCode::MessageTooLarge);
        }
        let base = self.led(node, name, id, at)?.append(batch)?;
        match fault {
            Some(Fault::After(code)) => Err(code),
            _ => Ok(base),
        }
    }

    fn list_offsets(&mut self, node: i32, request: ListOffsetsRequest) -> ListOffsetsResponse {
        let mut answer = ListOffsetsResponse::default();
        for topic in request.topics {
            let mut parts = Vec::new();
            for part in topic.partitions {
                let found =
                    self.led(node, &topic.name, Uuid::ZERO, part.partition_index).map(|log| {
                        match part.timestamp {
                            -1 => log.end(),
                            -2 => log.start,
                            time => {
                                let young =
                                    |batch: &&RawBatch| batch.header.max_timestamp.0 >= time;
                                log.batches
                                    .iter()
                                    .find(young)
                                    .map_or(-1, |b| b.header.base_offset.0)
                            }
                        }
                    });
                parts.push(ListOffsetsPartitionResponse {
                    partition_index: part.partition_index,
                    error_code: found.err().unwrap_or(ErrorCode::None).code(),
                    offset: found.unwrap_or(-1),
                    ..ListOffsetsPartitionResponse::default()
                });
            }
            answer.topics.push(ListOffsetsTopicResponse { name: topic.name, partitions: parts });
        }
        answer
    }

    /// Serves every request as a full one, without session.
    fn fetch(&mut self, node: i32, request: FetchRequest) -> FetchResponse {
        let mut answer = FetchResponse::default();
        for topic in request.topics {
            let mut parts = Vec::new();
            for part in topic.partitions {
                let mut data = PartitionData {
                    partition_index: part.partition,
                    preferred_read_replica: -1,
                    ..PartitionData::default()
                };
                match self.led(node, &topic.topic, topic.topic_id, part.partition) {
                    Err(code) => data.error_code = code.code(),
                    Ok(log) if part.fetch_offset < log.start || part.fetch_offset > log.end() => {
                        data.error_code = ErrorCode::OffsetOutOfRange.code();
                    }
                    Ok(log) => {
                        data.high_watermark = log.end();
                        data.log_start_offset = log.start;
                        let aborted = log.aborted.iter().map(|(producer_id, first_offset)| {
                            AbortedTransaction {
                                producer_id: *producer_id,
                                first_offset: *first_offset,
                            }
                        });
                        data.aborted_transactions = Some(aborted.collect());
                        let wanted = |b: &&RawBatch| b.header.last_offset().0 >= part.fetch_offset;
                        let mut bytes = Vec::new();
                        for batch in log.batches.iter().filter(wanted) {
                            if bytes.is_empty() || bytes.len() < part.partition_max_bytes as usize {
                                bytes.extend_from_slice(&batch.bytes);
                            }
                        }
                        data.records = Some(Bytes::from(bytes).into());
                    }
                }
                parts.push(data);
            }
            answer.responses.push(FetchableTopicResponse {
                topic: topic.topic,
                topic_id: topic.topic_id,
                partitions: parts,
            });
        }
        answer
    }
}

/// Reads back what a log holds; for codecs other than none.
pub(crate) fn values(log: &Log) -> Vec<String> {
    log.values(&NoCodecs).into_iter().map(|(_, value)| value).collect()
}

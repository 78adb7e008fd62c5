//! A member of a group, made by hand: what administration is about.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use bytes::Bytes;
use dohle_wire::header::decode_response_header;
use dohle_wire::message::consumer_protocol_assignment::TopicPartition;
use dohle_wire::message::{
    ConsumerGroupHeartbeatRequest, ConsumerProtocolAssignment, ConsumerProtocolSubscription,
    JoinGroupRequest, JoinGroupRequestProtocol, Request, SyncGroupRequest,
    SyncGroupRequestAssignment,
};
use dohle_wire::{ErrorCode, Message, Reader, RequestHeader, Writer};

/// A connection on which requests are made one after the other.
pub(crate) struct Member(TcpStream);

impl Member {
    pub(crate) fn connect(servers: &str) -> Self {
        let stream = TcpStream::connect(servers).expect("a broker");
        stream.set_read_timeout(Some(Duration::from_secs(60))).expect("a socket");
        Self(stream)
    }

    fn ask<R: Request>(&mut self, version: i16, request: &R) -> R::Response {
        let mut writer = Writer::new();
        let header = RequestHeader {
            api_key: R::KEY.code(),
            api_version: version,
            correlation_id: 1,
            client_id: Some("by-hand".to_owned()),
        };
        header.encode(&mut writer).expect("a header");
        request.encode(&mut writer, version).expect("a request");
        let bytes = writer.into_bytes().expect("bytes");
        let length = i32::try_from(bytes.len()).expect("short");
        self.0.write_all(&length.to_be_bytes()).expect("a connection");
        self.0.write_all(&bytes).expect("a connection");
        let mut length = [0; 4];
        self.0.read_exact(&mut length).expect("an answer");
        let length = usize::try_from(i32::from_be_bytes(length)).expect("a length");
        let mut frame = vec![0; length];
        self.0.read_exact(&mut frame).expect("an answer");
        let mut reader = Reader::new(Bytes::from(frame));
        decode_response_header(&mut reader, R::KEY, version).expect("a header");
        R::Response::decode(&mut reader, version).expect("an answer")
    }

    /// Joins a classic group as its only member, which reads partition 0 of a topic. Gives the
    /// member's id.
    pub(crate) fn join(&mut self, group: &str, topic: &str, instance: Option<&str>) -> String {
        let subscription =
            ConsumerProtocolSubscription { topics: vec![topic.to_owned()], ..Default::default() };
        let mut join = JoinGroupRequest {
            group_id: group.to_owned(),
            session_timeout_ms: 30_000,
            rebalance_timeout_ms: 30_000,
            protocol_type: "consumer".to_owned(),
            group_instance_id: instance.map(str::to_owned),
            protocols: vec![JoinGroupRequestProtocol {
                name: "range".to_owned(),
                metadata: versioned(&subscription),
            }],
            ..Default::default()
        };
        let mut joined = self.ask(5, &join);
        while joined.error_code != 0 {
            let code = ErrorCode::from(joined.error_code);
            if code == ErrorCode::MemberIdRequired {
                join.member_id = joined.member_id;
            } else {
                assert!(code.is_retriable(), "{code}");
                std::thread::sleep(Duration::from_millis(100));
            }
            joined = self.ask(5, &join);
        }
        let assignment = ConsumerProtocolAssignment {
            assigned_partitions: vec![TopicPartition {
                topic: topic.to_owned(),
                partitions: vec![0],
            }],
            user_data: None,
        };
        let sync = SyncGroupRequest {
            group_id: group.to_owned(),
            generation_id: joined.generation_id,
            member_id: joined.member_id.clone(),
            group_instance_id: instance.map(str::to_owned),
            assignments: vec![SyncGroupRequestAssignment {
                member_id: joined.member_id.clone(),
                assignment: versioned(&assignment),
            }],
            ..Default::default()
        };
        assert_eq!(ErrorCode::from(self.ask(3, &sync).error_code), ErrorCode::None);
        joined.member_id
    }

    /// Joins, or leaves with epoch -1, a group of the newer protocol.
    pub(crate) fn heartbeat(&mut self, group: &str, topic: &str, id: &str, epoch: i32) {
        let joins = epoch == 0;
        let request = ConsumerGroupHeartbeatRequest {
            group_id: group.to_owned(),
            member_id: id.to_owned(),
            member_epoch: epoch,
            rebalance_timeout_ms: if joins { 30_000 } else { -1 },
            subscribed_topic_names: joins.then(|| vec![topic.to_owned()]),
            topic_partitions: joins.then(Vec::new),
            ..Default::default()
        };
        let answer = self.ask(1, &request);
        assert_eq!(ErrorCode::from(answer.error_code), ErrorCode::None, "{answer:?}");
    }
}

/// A message of the consumers' own protocol: its version, then itself.
fn versioned<M: Message>(message: &M) -> Bytes {
    let mut writer = Writer::new();
    writer.i16(0);
    message.encode(&mut writer, 0).expect("a message");
    writer.into_bytes().expect("bytes")
}

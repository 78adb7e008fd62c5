//! A broker for tests of group administration: what [`Broker`] serves, and groups on top.
//!
//! Each group has one coordinator; the other nodes refuse it. Members do not come and go by
//! themselves: a test puts them where it wants them.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use dohle_wire::header::encode_response_header;
use dohle_wire::message::consumer_group_describe_response::{
    Assignment, DescribedGroup as DescribedConsumerGroup, TopicPartitions,
};
use dohle_wire::message::consumer_protocol_assignment::TopicPartition as AssignedTopic;
use dohle_wire::message::describe_groups_response::DescribedGroup;
use dohle_wire::message::*;
use dohle_wire::{ApiKey, ErrorCode, Message, Reader, RequestHeader, Writer};

use super::broker::{Broker, PORT, Served};
use super::world::Serve;

/// A member of a group; it reads partition 0 of topic `t`.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) id: &'static str,
    pub(crate) instance: Option<&'static str>,
}

/// A group.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) coordinator: i32,
    /// `classic` or `consumer`.
    pub(crate) kind: &'static str,
    pub(crate) members: Vec<Member>,
    /// By topic and partition.
    pub(crate) offsets: BTreeMap<(String, i32), i64>,
}

/// Topic and partition, and the offset committed for it.
type Committed = ((String, i32), i64);

/// See the module.
pub(crate) struct GroupBroker {
    pub(crate) inner: Broker,
    pub(crate) groups: BTreeMap<String, Group>,
    /// Newest versions that are spoken, if not all; -1 for none.
    pub(crate) newest: BTreeMap<ApiKey, i16>,
    /// What the next requests to a coordinator, or lookups of one, are refused with.
    pub(crate) refusals: BTreeMap<ApiKey, VecDeque<ErrorCode>>,
    /// What was asked of groups, in order.
    pub(crate) asked: Vec<(i32, ApiKey, i16)>,
}

const SERVED: [ApiKey; 9] = [
    ApiKey::FindCoordinator,
    ApiKey::ListGroups,
    ApiKey::DescribeGroups,
    ApiKey::ConsumerGroupDescribe,
    ApiKey::DeleteGroups,
    ApiKey::OffsetFetch,
    ApiKey::OffsetCommit,
    ApiKey::OffsetDelete,
    ApiKey::LeaveGroup,
];

impl Serve for GroupBroker {
    fn serve(&mut self, node: i32, frame: Bytes) -> Served {
        let mut reader = Reader::new(frame.clone());
        let header = RequestHeader::decode(&mut reader).expect("a request header");
        let key = ApiKey::from_code(header.api_key).expect("a known request");
        let version = header.api_version;
        if !SERVED.contains(&key) && key != ApiKey::ApiVersions {
            return self.inner.serve(node, frame);
        }
        let mut writer = Writer::new();
        encode_response_header(&mut writer, key, version, header.correlation_id);
        if key != ApiKey::ApiVersions {
            self.asked.push((node, key, version));
            let newest = self.newest.get(&key).copied().unwrap_or(i16::MAX);
            assert!(version <= newest, "{key} {version}");
        }
        let refusal = self.refusals.get_mut(&key).and_then(VecDeque::pop_front);
        self.answer(node, key, version, refusal, &mut reader, &mut writer);
        reader.expect_end().expect("nothing behind a request");
        Served::Answer(writer.into_bytes().expect("bytes"), Duration::ZERO)
    }

    fn common(&self) -> &Broker {
        &self.inner
    }

    fn common_mut(&mut self) -> &mut Broker {
        &mut self.inner
    }
}

fn read<R: Request>(reader: &mut Reader, version: i16) -> R {
    R::decode(reader, version).expect("a good request")
}

impl GroupBroker {
    pub(crate) fn new(nodes: i32) -> Self {
        let mut inner = Broker::new(nodes);
        inner.create("t", 3);
        Self {
            inner,
            groups: BTreeMap::new(),
            newest: BTreeMap::new(),
            refusals: BTreeMap::new(),
            asked: Vec::new(),
        }
    }

    pub(crate) fn group(&mut self, id: &str, kind: &'static str, coordinator: i32) -> &mut Group {
        let group = Group { coordinator, kind, members: Vec::new(), offsets: BTreeMap::new() };
        self.groups.entry(id.to_owned()).or_insert(group)
    }

    /// How often a request was asked.
    pub(crate) fn count(&self, key: ApiKey) -> usize {
        self.asked.iter().filter(|(_, asked, _)| *asked == key).count()
    }

    fn answer(
        &mut self,
        node: i32,
        key: ApiKey,
        version: i16,
        refusal: Option<ErrorCode>,
        r: &mut Reader,
        w: &mut Writer,
    ) {
        let encoded = match key {
            ApiKey::ApiVersions => {
                let _: ApiVersionsRequest = read(r, version);
                self.versions().encode(w, version)
            }
            ApiKey::FindCoordinator => {
                self.coordinators(read(r, version), refusal, version).encode(w, version)
            }
            ApiKey::ListGroups => self.list(node, read(r, version), refusal).encode(w, version),
            ApiKey::DescribeGroups => {
                self.describe(node, read(r, version), refusal, version).encode(w, version)
            }
            ApiKey::ConsumerGroupDescribe => {
                self.describe_consumer(node, read(r, version), refusal).encode(w, version)
            }
            ApiKey::DeleteGroups => self.delete(node, read(r, version), refusal).encode(w, version),
            ApiKey::OffsetFetch => {
                self.fetch_offsets(node, read(r, version), refusal).encode(w, version)
            }
            ApiKey::OffsetCommit => self.commit(node, read(r, version), refusal).encode(w, version),
            ApiKey::OffsetDelete => {
                self.delete_offsets(node, read(r, version), refusal).encode(w, version)
            }
            ApiKey::LeaveGroup => self.leave(node, read(r, version), refusal).encode(w, version),
            other => panic!("{other} is not served"),
        };
        encoded.expect("a good answer");
    }

    fn versions(&self) -> ApiVersionsResponse {
        let inner = [ApiKey::ApiVersions, ApiKey::Metadata, ApiKey::ListOffsets];
        let row = |key: &ApiKey| {
            let (min_version, newest) = key.versions()?;
            let max_version = self.newest.get(key).copied().unwrap_or(newest);
            let served = max_version >= min_version;
            served.then_some(ApiVersion { api_key: key.code(), min_version, max_version })
        };
        let rows = inner.iter().chain(&SERVED).filter_map(row);
        ApiVersionsResponse { api_keys: rows.collect(), ..ApiVersionsResponse::default() }
    }

    fn coordinators(
        &self,
        request: FindCoordinatorRequest,
        refusal: Option<ErrorCode>,
        version: i16,
    ) -> FindCoordinatorResponse {
        let of = |key: &String| {
            let node = self.groups.get(key).map_or(1, |group| group.coordinator);
            let code = refusal.unwrap_or(ErrorCode::None);
            let (node_id, port) =
                if refusal.is_some() { (-1, -1) } else { (node, i32::from(PORT) + node) };
            Coordinator {
                key: key.clone(),
                node_id,
                host: "node".to_owned(),
                port,
                error_code: code.code(),
                error_message: None,
            }
        };
        if version >= 4 {
            let coordinators = request.coordinator_keys.iter().map(of).collect();
            return FindCoordinatorResponse { coordinators, ..Default::default() };
        }
        let Coordinator { node_id, host, port, error_code, .. } = of(&request.key);
        FindCoordinatorResponse { node_id, host, port, error_code, ..Default::default() }
    }

    fn list(
        &self,
        node: i32,
        request: ListGroupsRequest,
        refusal: Option<ErrorCode>,
    ) -> ListGroupsResponse {
        let matches = |filter: &[String], name: &str| {
            filter.is_empty() || filter.iter().any(|f| f.eq_ignore_ascii_case(name))
        };
        let mine = self.groups.iter().filter(|(_, group)| group.coordinator == node);
        let listed = mine
            .filter(|(_, group)| {
                matches(&request.states_filter, state(group))
                    && matches(&request.types_filter, group.kind)
            })
            .map(|(id, group)| ListedGroup {
                group_id: id.clone(),
                protocol_type: "consumer".to_owned(),
                group_state: state(group).to_owned(),
                group_type: group.kind.to_owned(),
            });
        ListGroupsResponse {
            error_code: refusal.unwrap_or(ErrorCode::None).code(),
            groups: if refusal.is_some() { Vec::new() } else { listed.collect() },
            ..Default::default()
        }
    }

    /// The group as far as a node may serve it.
    fn served(
        &mut self,
        node: i32,
        id: &str,
        refusal: Option<ErrorCode>,
    ) -> Result<&mut Group, ErrorCode> {
        if let Some(code) = refusal {
            return Err(code);
        }
        let Some(group) = self.groups.get_mut(id) else {
            return Err(if node == 1 {
                ErrorCode::GroupIdNotFound
            } else {
                ErrorCode::NotCoordinator
            });
        };
        if group.coordinator == node { Ok(group) } else { Err(ErrorCode::NotCoordinator) }
    }

    fn describe(
        &mut self,
        node: i32,
        request: DescribeGroupsRequest,
        refusal: Option<ErrorCode>,
        version: i16,
    ) -> DescribeGroupsResponse {
        let mut answer = DescribeGroupsResponse::default();
        for id in request.groups {
            let found = self.served(node, &id, refusal).map(|group| group.clone());
            let found = found.and_then(|group| match group.kind {
                "classic" => Ok(group),
                _ => Err(ErrorCode::GroupIdNotFound),
            });
            let mut described = DescribedGroup { group_id: id, ..DescribedGroup::default() };
            match found {
                Ok(group) => {
                    state(&group).clone_into(&mut described.group_state);
                    "consumer".clone_into(&mut described.protocol_type);
                    "range".clone_into(&mut described.protocol_data);
                    described.members = group.members.iter().map(classic_member).collect();
                }
                Err(ErrorCode::GroupIdNotFound) if version < 6 => {
                    "Dead".clone_into(&mut described.group_state);
                }
                Err(code) => described.error_code = code.code(),
            }
            answer.groups.push(described);
        }
        answer
    }

    fn describe_consumer(
        &mut self,
        node: i32,
        request: ConsumerGroupDescribeRequest,
        refusal: Option<ErrorCode>,
    ) -> ConsumerGroupDescribeResponse {
        let mut answer = ConsumerGroupDescribeResponse::default();
        for id in request.group_ids {
            let found = self.served(node, &id, refusal).map(|group| group.clone());
            let mut described = DescribedConsumerGroup { group_id: id, ..Default::default() };
            match found {
                Ok(group) if group.kind == "consumer" => {
                    state(&group).clone_into(&mut described.group_state);
                    described.group_epoch = 5;
                    described.assignment_epoch = 4;
                    "uniform".clone_into(&mut described.assignor_name);
                    described.members = group.members.iter().map(consumer_member).collect();
                }
                Ok(_) => described.error_code = ErrorCode::GroupIdNotFound.code(),
                Err(code) => described.error_code = code.code(),
            }
            answer.groups.push(described);
        }
        answer
    }

    fn delete(
        &mut self,
        node: i32,
        request: DeleteGroupsRequest,
        refusal: Option<ErrorCode>,
    ) -> DeleteGroupsResponse {
        let mut answer = DeleteGroupsResponse::default();
        for group_id in request.groups_names {
            let found = self.served(node, &group_id, refusal).map(|group| group.members.is_empty());
            let code = match found {
                Ok(true) => {
                    self.groups.remove(&group_id);
                    ErrorCode::None
                }
                Ok(false) => ErrorCode::NonEmptyGroup,
                Err(code) => code,
            };
            let error_code = code.code();
            answer.results.push(DeletableGroupResult { group_id, error_code, error_message: None });
        }
        answer
    }

    fn fetch_offsets(
        &mut self,
        node: i32,
        request: OffsetFetchRequest,
        refusal: Option<ErrorCode>,
    ) -> OffsetFetchResponse {
        let mut answer = OffsetFetchResponse::default();
        if request.groups.is_empty() {
            let wanted = request.topics.map(|topics| {
                topics.into_iter().map(|topic| (topic.name, topic.partition_indexes)).collect()
            });
            let found = self.offsets(node, &request.group_id, wanted, refusal);
            answer.error_code = found.as_ref().err().copied().unwrap_or_default().code();
            for ((name, partition_index), offset) in found.unwrap_or_default() {
                let part = OffsetFetchResponsePartition {
                    partition_index,
                    committed_offset: offset,
                    ..Default::default()
                };
                answer.topics.push(OffsetFetchResponseTopic { name, partitions: vec![part] });
            }
        }
        for group in request.groups {
            let wanted = group.topics.map(|topics| {
                topics.into_iter().map(|topic| (topic.name, topic.partition_indexes)).collect()
            });
            let found = self.offsets(node, &group.group_id, wanted, refusal);
            let mut told =
                OffsetFetchResponseGroup { group_id: group.group_id, ..Default::default() };
            told.error_code = found.as_ref().err().copied().unwrap_or_default().code();
            for ((name, partition_index), offset) in found.unwrap_or_default() {
                let part = OffsetFetchResponsePartitions {
                    partition_index,
                    committed_offset: offset,
                    ..Default::default()
                };
                let partitions = vec![part];
                told.topics.push(OffsetFetchResponseTopics {
                    name,
                    partitions,
                    ..Default::default()
                });
            }
            answer.groups.push(told);
        }
        answer
    }

    fn offsets(
        &mut self,
        node: i32,
        group: &str,
        wanted: Option<Vec<(String, Vec<i32>)>>,
        refusal: Option<ErrorCode>,
    ) -> Result<Vec<Committed>, ErrorCode> {
        let offsets = self.served(node, group, refusal)?.offsets.clone();
        let Some(wanted) = wanted else { return Ok(offsets.into_iter().collect()) };
        let each = wanted.into_iter().flat_map(|(topic, numbers)| {
            numbers.into_iter().map(move |number| (topic.clone(), number))
        });
        Ok(each.map(|at| (at.clone(), offsets.get(&at).copied().unwrap_or(-1))).collect())
    }

    fn commit(
        &mut self,
        node: i32,
        request: OffsetCommitRequest,
        refusal: Option<ErrorCode>,
    ) -> OffsetCommitResponse {
        assert_eq!((request.generation_id_or_member_epoch, &*request.member_id), (-1, ""));
        if node == 1 {
            self.group(&request.group_id, "classic", 1);
        }
        let code = match self.served(node, &request.group_id, refusal) {
            Ok(group) if group.members.is_empty() => ErrorCode::None,
            Ok(_) => ErrorCode::UnknownMemberId,
            Err(code) => code,
        };
        let mut answer = OffsetCommitResponse::default();
        for topic in request.topics {
            let mut partitions = Vec::new();
            for part in topic.partitions {
                if code == ErrorCode::None {
                    let group = self.groups.get_mut(&request.group_id).expect("just seen");
                    let at = (topic.name.clone(), part.partition_index);
                    group.offsets.insert(at, part.committed_offset);
                }
                partitions.push(OffsetCommitResponsePartition {
                    partition_index: part.partition_index,
                    error_code: code.code(),
                });
            }
            let name = topic.name;
            answer.topics.push(OffsetCommitResponseTopic {
                name,
                partitions,
                ..Default::default()
            });
        }
        answer
    }

    fn delete_offsets(
        &mut self,
        node: i32,
        request: OffsetDeleteRequest,
        refusal: Option<ErrorCode>,
    ) -> OffsetDeleteResponse {
        let group = match self.served(node, &request.group_id, refusal) {
            Ok(group) => group,
            Err(code) => {
                return OffsetDeleteResponse { error_code: code.code(), ..Default::default() };
            }
        };
        let mut answer = OffsetDeleteResponse::default();
        for topic in request.topics {
            let code = if group.members.is_empty() {
                ErrorCode::None
            } else {
                ErrorCode::GroupSubscribedToTopic
            };
            let mut partitions = Vec::new();
            for part in topic.partitions {
                if code == ErrorCode::None {
                    group.offsets.remove(&(topic.name.clone(), part.partition_index));
                }
                partitions.push(OffsetDeleteResponsePartition {
                    partition_index: part.partition_index,
                    error_code: code.code(),
                });
            }
            answer.topics.push(OffsetDeleteResponseTopic { name: topic.name, partitions });
        }
        answer
    }

    fn leave(
        &mut self,
        node: i32,
        request: LeaveGroupRequest,
        refusal: Option<ErrorCode>,
    ) -> LeaveGroupResponse {
        let group = match self.served(node, &request.group_id, refusal) {
            Ok(group) => group,
            Err(code) => {
                return LeaveGroupResponse { error_code: code.code(), ..Default::default() };
            }
        };
        let mut remove = |id: &str, instance: Option<&str>| {
            let before = group.members.len();
            group.members.retain(|member| match instance {
                Some(instance) => member.instance != Some(instance),
                None => member.id != id,
            });
            let gone = group.members.len() < before;
            (if gone { ErrorCode::None } else { ErrorCode::UnknownMemberId }).code()
        };
        if request.members.is_empty() {
            let error_code = remove(&request.member_id, None);
            return LeaveGroupResponse { error_code, ..Default::default() };
        }
        let each = request.members.into_iter().map(|member| MemberResponse {
            error_code: remove(&member.member_id, member.group_instance_id.as_deref()),
            member_id: member.member_id,
            group_instance_id: member.group_instance_id,
        });
        LeaveGroupResponse { members: each.collect(), ..Default::default() }
    }
}

fn state(group: &Group) -> &'static str {
    if group.members.is_empty() { "Empty" } else { "Stable" }
}

fn classic_member(member: &Member) -> DescribedGroupMember {
    let assignment = ConsumerProtocolAssignment {
        assigned_partitions: vec![AssignedTopic { topic: "t".to_owned(), partitions: vec![0] }],
        user_data: None,
    };
    let mut writer = Writer::new();
    writer.i16(1);
    assignment.encode(&mut writer, 1).expect("a good assignment");
    DescribedGroupMember {
        member_id: member.id.to_owned(),
        group_instance_id: member.instance.map(str::to_owned),
        client_id: "client".to_owned(),
        client_host: "/10.0.0.1".to_owned(),
        member_metadata: Bytes::new(),
        member_assignment: writer.into_bytes().expect("bytes"),
    }
}

fn consumer_member(member: &Member) -> dohle_wire::message::Member {
    let topic = TopicPartitions {
        topic_name: "t".to_owned(),
        partitions: vec![0],
        ..TopicPartitions::default()
    };
    dohle_wire::message::Member {
        member_id: member.id.to_owned(),
        instance_id: member.instance.map(str::to_owned),
        member_epoch: 5,
        assignment: Assignment { topic_partitions: vec![topic] },
        ..Default::default()
    }
}

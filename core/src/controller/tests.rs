//! What the controller answers; texts and codes are those of Apache Kafka 4.4.0.

use std::collections::BTreeMap;
use std::sync::Arc;

use dohle_wire::id::{PartitionIndex, ProducerEpoch, ProducerId};
use dohle_wire::message::{
    AbortTransactionRecord, BeginTransactionRecord, EndTransactionRecord, PartitionRecord,
};

use super::brokers::{Registration, register};
use super::*;
use crate::config::broker::BrokerConfig;
use crate::image::{PartitionImage, resource};
use crate::mail::{
    ConfigChange, ConfigOp, CreatedTopic, Directories, MorePartitions, NewTopic, SessionId,
    TopicRef,
};

const EPOCH: LeaderEpoch = LeaderEpoch(3);

fn dirs() -> Vec<Uuid> {
    vec![Uuid::from_u128(1 << 90), Uuid::from_u128(2 << 90)]
}

fn who(clean: bool) -> Registration {
    let incarnation = Uuid::from_u128(1 << 91);
    Registration { incarnation, directories: directories(&[0, 1], &[]), clean }
}

/// These of the directories, with folders of `t-0` in some.
fn directories(there: &[u16], folders: &[u16]) -> Directories {
    let ids = there.iter().map(|at| (*at, dirs()[usize::from(*at)]));
    let failed = [0, 1].into_iter().filter(|at| !there.contains(at));
    let folders = folders.iter().map(|at| ("t-0".to_owned(), BTreeSet::from([*at])));
    Directories {
        ids: ids.collect(),
        failed: failed.collect(),
        folders: folders.collect(),
        futures: BTreeMap::new(),
    }
}

/// A controller whose records are committed as soon as they are appended.
struct Bench {
    controller: Controller,
}

impl Bench {
    fn new() -> Self {
        Self::with(&[])
    }

    fn with(properties: &[(&str, &str)]) -> Self {
        let map = properties.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let config = Arc::new(BrokerConfig::from_properties(&map).unwrap().0);
        let soft = Soft::new(1, Uuid::from_u128(1 << 92), EPOCH);
        let controller = Controller::new(Image::empty("cluster".into(), config), soft);
        let mut bench = Self { controller };
        let image = Arc::clone(bench.image());
        bench.append(register(&image, &who(true), Offset(0), false));
        bench
    }

    fn image(&self) -> &Arc<Image> {
        self.controller.speculative()
    }

    fn append(&mut self, records: Vec<MetadataRecord>) {
        let base = self.image().offset.plus(1);
        let records: Vec<Versioned> = records.into_iter().map(|record| (record, 0)).collect();
        self.controller.appended(base, EPOCH, &records).unwrap();
        let upto = self.image().offset.plus(1);
        self.controller.commit(upto);
    }

    fn ask(&mut self, request: &AdminRequest) -> AdminReply {
        let decision = self.controller.decide(request);
        if !decision.records.is_empty() {
            self.append(decision.records);
        }
        decision.reply
    }

    fn create(&mut self, topics: Vec<NewTopic>) -> Vec<Result<CreatedTopic, Refusal>> {
        match self.ask(&AdminRequest::CreateTopics { topics, validate_only: false }) {
            AdminReply::Created(results) => results,
            other => panic!("{other:?}"),
        }
    }

    fn make(&mut self, name: &str, partitions: i32) -> TopicId {
        self.create(vec![topic(name, partitions)])[0].as_ref().unwrap().id
    }

    fn grow(&mut self, more: MorePartitions) -> Result<(), Refusal> {
        match self.ask(&AdminRequest::CreatePartitions { topics: vec![more], validate_only: false })
        {
            AdminReply::Grown(mut results) => results.remove(0),
            other => panic!("{other:?}"),
        }
    }

    fn alter(&mut self, change: ConfigChange) -> Result<(), Refusal> {
        match self
            .ask(&AdminRequest::AlterConfigs { resources: vec![change], validate_only: false })
        {
            AdminReply::Altered(mut results) => results.remove(0),
            other => panic!("{other:?}"),
        }
    }

    fn delete(&mut self, topics: Vec<TopicRef>) -> Vec<Result<(String, TopicId), Refusal>> {
        match self.ask(&AdminRequest::DeleteTopics { topics }) {
            AdminReply::Deleted(results) => results,
            other => panic!("{other:?}"),
        }
    }

    fn partition(&self, topic: &str, index: i32) -> &PartitionImage {
        self.image().topic(topic).unwrap().partition(PartitionIndex(index)).unwrap()
    }
}

fn topic(name: &str, partitions: i32) -> NewTopic {
    NewTopic {
        name: name.to_owned(),
        partitions: Some(partitions),
        replication: Some(1),
        assignments: Vec::new(),
        configs: Vec::new(),
    }
}

fn by_hand(name: &str, assignments: &[(i32, &[i32])]) -> NewTopic {
    let to = |ids: &[i32]| ids.iter().copied().map(NodeId).collect();
    let assignments = assignments.iter().map(|(p, ids)| (PartitionIndex(*p), to(ids))).collect();
    NewTopic { partitions: None, replication: None, assignments, ..topic(name, 0) }
}

fn with_config(name: &str, key: &str, value: Option<&str>) -> NewTopic {
    let configs = vec![(key.to_owned(), value.map(str::to_owned))];
    NewTopic { configs, ..topic(name, 1) }
}

fn change(resource_type: i8, name: &str, ops: &[(ConfigOp, &str, Option<&str>)]) -> ConfigChange {
    let op = |(op, key, value): &(ConfigOp, &str, Option<&str>)| {
        (*op, (*key).to_owned(), value.map(str::to_owned))
    };
    let ops = ops.iter().map(op).collect();
    ConfigChange { resource_type, name: name.to_owned(), ops, replace_all: false }
}

fn check_refused<T: std::fmt::Debug>(result: &Result<T, Refusal>, code: ErrorCode, text: &str) {
    let refusal = result.as_ref().unwrap_err();
    assert_eq!(refusal.code, code, "{refusal:?}");
    assert_eq!(refusal.message.as_deref().unwrap_or_default(), text);
}

fn check_create(new: NewTopic, code: ErrorCode, text: &str) {
    let mut bench = Bench::new();
    bench.make("t1", 3);
    bench.make("a.b", 1);
    let before = bench.image().offset;
    check_refused(&bench.create(vec![new])[0], code, text);
    assert_eq!(bench.image().offset, before, "a refusal writes nothing");
}

#[test]
fn a_topic_is_made_with_what_was_asked_for() {
    let mut bench = Bench::new();
    let results = bench.create(vec![
        with_config("compacted", "cleanup.policy", Some("compact")),
        NewTopic { partitions: None, replication: None, ..topic("plain", 0) },
        by_hand("placed", &[(0, &[1]), (1, &[1])]),
    ]);
    let made: Vec<_> = results.into_iter().map(Result::unwrap).collect();
    assert_eq!(made.iter().map(|topic| topic.partitions).collect::<Vec<_>>(), [1, 1, 2]);
    let config = vec![("cleanup.policy".to_owned(), Some("compact".to_owned()))];
    assert_eq!(made[0].configs, config);
    let image = bench.image();
    assert!(image.topic("compacted").unwrap().config.cleanup_policy.compact);
    assert!(!image.topic("plain").unwrap().config.cleanup_policy.compact);
    let partition = bench.partition("placed", 1);
    assert_eq!((partition.leader, &*partition.isr), (Some(NodeId(1)), &[NodeId(1)][..]));
    assert_eq!((partition.leader_epoch, partition.partition_epoch), (LeaderEpoch(0), 0));
    assert!(made.iter().all(|topic| image.topic_by_id(&topic.id).is_some()));
}

#[test]
fn partitions_spread_over_data_directories() {
    let mut bench = Bench::new();
    bench.make("t", 3);
    bench.make("u", 2);
    let of = |bench: &Bench, topic: &str, index| bench.partition(topic, index).directories[0];
    assert_eq!(of(&bench, "t", 0), dirs()[0]);
    assert_eq!(of(&bench, "t", 1), dirs()[1]);
    assert_eq!(of(&bench, "t", 2), dirs()[0]);
    assert_eq!(of(&bench, "u", 0), dirs()[1]);
    bench.controller.fail_dir(dirs()[0]);
    bench.make("v", 2);
    assert_eq!([of(&bench, "v", 0), of(&bench, "v", 1)], [dirs()[1], dirs()[1]]);
}

#[test]
fn topics_that_cannot_be_are_refused_in_kafkas_words() {
    use ErrorCode::{
        InvalidConfig, InvalidPartitions, InvalidReplicationFactor, InvalidRequest,
        InvalidTopicException, PolicyViolation, TopicAlreadyExists,
    };
    check_create(topic("t1", 0), TopicAlreadyExists, "Topic 't1' already exists.");
    let text = "Number of partitions was set to an invalid non-positive value.";
    check_create(topic("z", 0), InvalidPartitions, text);
    check_create(topic("z", -2), InvalidPartitions, text);
    let text = "Replication factor must be larger than 0, or -1 to use the default value.";
    check_create(
        NewTopic { replication: Some(0), ..topic("z", 1) },
        InvalidReplicationFactor,
        text,
    );
    check_create(
        NewTopic { replication: Some(3), ..topic("z", 1) },
        InvalidReplicationFactor,
        "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot \
         be reached because only 1 broker(s) are registered.",
    );
    let text = "Excessively large number of partitions per request.";
    check_create(topic("z", 10_001), PolicyViolation, text);
    check_create(
        topic("a b", 1),
        InvalidTopicException,
        "Topic name is invalid: 'a b' contains one or more characters other than ASCII \
         alphanumerics, '.', '_' and '-'",
    );
    let text = "Topic name is invalid: '..' is not allowed";
    check_create(topic("..", 1), InvalidTopicException, text);
    let long = "x".repeat(250);
    let text = format!(
        "Topic name is invalid: the length of '{long}' is longer than the max allowed length 249"
    );
    check_create(topic(&long, 1), InvalidTopicException, &text);
    let text = "Topic 'a_b' collides with existing topic: a.b";
    check_create(topic("a_b", 1), InvalidTopicException, text);
    let text = "Creation of internal topic __cluster_metadata is prohibited.";
    check_create(topic("__cluster_metadata", 1), InvalidRequest, text);
    check_create(
        with_config("z", "retention.ms", None),
        InvalidConfig,
        "Null value not supported for topic configs: retention.ms",
    );
    let text = "Unknown topic config name: foo.bar";
    check_create(with_config("z", "foo.bar", Some("x")), InvalidConfig, text);
}

#[test]
fn assignments_by_hand_are_refused_in_kafkas_words() {
    let check = |assignments: &[(i32, &[i32])], text| {
        check_create(by_hand("z", assignments), ErrorCode::InvalidReplicaAssignment, text);
    };
    check(
        &[(0, &[7])],
        "The manual partition assignment includes broker 7, but no such broker is registered.",
    );
    check(&[(0, &[1, 1])], "The manual partition assignment includes the broker 1 more than once.");
    check(&[(0, &[])], "The manual partition assignment includes an empty replica list.");
    let gap = "partitions should be a consecutive 0-based integer sequence";
    check(&[(0, &[1]), (2, &[1])], gap);
    check(&[(-1, &[1])], gap);
    check(&[(1, &[1])], gap);
    check(&[(0, &[1]), (0, &[1])], "Found multiple manual partition assignments for partition 0");
    let text = "A manual partition assignment was specified, but numPartitions was not set to -1.";
    let both = NewTopic { partitions: Some(1), ..by_hand("z", &[(0, &[1])]) };
    check_create(both, ErrorCode::InvalidRequest, text);
}

#[test]
fn a_name_twice_in_a_request_is_refused_twice() {
    let mut bench = Bench::new();
    let results = bench.create(vec![topic("t", 1), topic("u", 1), topic("t", 2)]);
    check_refused(&results[0], ErrorCode::InvalidRequest, "Duplicate topic name.");
    check_refused(&results[2], ErrorCode::InvalidRequest, "Duplicate topic name.");
    assert!(results[1].is_ok());
}

#[test]
fn names_collide_with_topics_there_are_but_not_within_a_request() {
    let mut bench = Bench::new();
    let both = bench.create(vec![topic("c.d", 1), topic("c_d", 1)]);
    assert!(both.iter().all(Result::is_ok), "as in Apache Kafka: {both:?}");
}

#[test]
fn validate_only_writes_nothing_and_gives_no_id() {
    let mut bench = Bench::new();
    let before = bench.image().offset;
    let request = AdminRequest::CreateTopics { topics: vec![topic("t", 2)], validate_only: true };
    let AdminReply::Created(results) = bench.ask(&request) else { panic!() };
    let made = results[0].as_ref().unwrap();
    assert_eq!((made.id, made.partitions), (TopicId::default(), 2));
    assert_eq!(bench.image().offset, before);
}

#[test]
fn a_request_cannot_write_more_records_than_kafka_allows() {
    let mut bench = Bench::new();
    let request =
        AdminRequest::CreateTopics { topics: vec![topic("t", 10_000)], validate_only: false };
    let AdminReply::Refused(refusal) = bench.ask(&request) else { panic!() };
    assert_eq!(refusal.code, ErrorCode::PolicyViolation);
    bench.make("t", 9_999);
    assert_eq!(bench.image().topic("t").unwrap().partitions.len(), 9_999);
}

#[test]
fn deleting_takes_everything_of_the_topic_along() {
    let mut bench = Bench::new();
    let id = bench.create(vec![with_config("t", "retention.ms", Some("5"))])[0].clone().unwrap().id;
    let other = bench.make("u", 1);
    let results = bench.delete(vec![
        TopicRef::Name("t".into()),
        TopicRef::Name("nope".into()),
        TopicRef::Id(other),
        TopicRef::Id(TopicId(Uuid::from_u128(5 << 64))),
    ]);
    assert_eq!(results[0], Ok(("t".into(), id)));
    check_refused(&results[1], ErrorCode::UnknownTopicOrPartition, "");
    assert_eq!(results[2], Ok(("u".into(), other)));
    check_refused(&results[3], ErrorCode::UnknownTopicId, "");
    let image = bench.image();
    assert!(image.topics.is_empty() && image.topic_names.is_empty());
    assert!(image.overrides(resource::TOPIC, "t").is_empty());
    assert_ne!(bench.make("t", 1), id, "C5: an id is never used again");
}

#[test]
fn deleting_can_be_switched_off() {
    let mut bench = Bench::with(&[("delete.topic.enable", "false")]);
    bench.make("t", 1);
    let results = bench.delete(vec![TopicRef::Name("t".into())]);
    check_refused(&results[0], ErrorCode::TopicDeletionDisabled, "");
}

#[test]
fn topics_grow_in_kafkas_words() {
    let mut bench = Bench::new();
    bench.make("t1", 3);
    let more = |total, assignments: Option<Vec<Vec<i32>>>| MorePartitions {
        topic: "t1".into(),
        total,
        assignments: assignments
            .map(|all| all.into_iter().map(|ids| ids.into_iter().map(NodeId).collect()).collect()),
    };
    let text = "Topic already has 3 partition(s).";
    check_refused(&bench.grow(more(3, None)), ErrorCode::InvalidPartitions, text);
    let text = "The topic t1 currently has 3 partition(s); -1 would not be an increase.";
    check_refused(&bench.grow(more(-1, None)), ErrorCode::InvalidPartitions, text);
    let text = "Excessively large number of additional partitions per request.";
    check_refused(&bench.grow(more(10_004, None)), ErrorCode::PolicyViolation, text);
    let text =
        "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified.";
    let refused = bench.grow(more(5, Some(vec![vec![1]])));
    check_refused(&refused, ErrorCode::InvalidReplicaAssignment, text);
    let nope = MorePartitions { topic: "nope".into(), ..more(5, None) };
    check_refused(&bench.grow(nope), ErrorCode::UnknownTopicOrPartition, "");
    assert_eq!(bench.grow(more(4, None)), Ok(()));
    assert_eq!(bench.grow(more(5, Some(vec![vec![1]]))), Ok(()));
    assert_eq!(bench.image().topic("t1").unwrap().partitions.len(), 5);
}

#[test]
fn configs_of_topics_change_and_take_effect() {
    let mut bench = Bench::new();
    bench.make("t", 1);
    let retention = |bench: &Bench| bench.image().topic("t").unwrap().config.retention_ms;
    let default = retention(&bench);
    let set = change(resource::TOPIC, "t", &[(ConfigOp::Set, "retention.ms", Some("5000"))]);
    assert_eq!(bench.alter(set.clone()), Ok(()));
    assert_eq!(retention(&bench), Some(5000));
    let before = bench.image().offset;
    assert_eq!(bench.alter(set), Ok(()));
    assert_eq!(bench.image().offset, before, "what does not change writes nothing");
    let replace = ConfigChange {
        replace_all: true,
        ..change(resource::TOPIC, "t", &[(ConfigOp::Set, "cleanup.policy", Some("compact"))])
    };
    assert_eq!(bench.alter(replace), Ok(()));
    assert_eq!(retention(&bench), default);
    assert!(bench.image().topic("t").unwrap().config.cleanup_policy.compact);
}

#[test]
fn configs_of_brokers_reach_every_topic() {
    let mut bench = Bench::new();
    bench.make("t", 1);
    bench.create(vec![with_config("own", "retention.ms", Some("7"))]);
    let of = |bench: &Bench, topic| bench.image().topic(topic).unwrap().config.retention_ms;
    let set = |name, value| {
        change(resource::BROKER, name, &[(ConfigOp::Set, "log.retention.ms", Some(value))])
    };
    assert_eq!(bench.alter(set("", "90000")), Ok(()));
    assert_eq!([of(&bench, "t"), of(&bench, "own")], [Some(90_000), Some(7)]);
    assert_eq!(bench.alter(set("1", "80000")), Ok(()));
    assert_eq!(of(&bench, "t"), Some(80_000));
    let unset = change(resource::BROKER, "1", &[(ConfigOp::Delete, "log.retention.ms", None)]);
    assert_eq!(bench.alter(unset), Ok(()));
    assert_eq!(of(&bench, "t"), Some(90_000));
}

#[test]
fn configs_of_groups_need_no_group() {
    let mut bench = Bench::with(&[("group.consumer.max.session.timeout.ms", "70000")]);
    let of = |bench: &Bench, name| (*bench.image().overrides(resource::GROUP, name)).clone();
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let (session, heartbeat) = ("consumer.session.timeout.ms", "consumer.heartbeat.interval.ms");
    let longest = "g".repeat(32_767);
    for name in ["g", "a b/c", "..", &longest] {
        let set = change(resource::GROUP, name, &[(ConfigOp::Set, session, Some("70000"))]);
        assert_eq!(bench.alter(set), Ok(()));
        assert_eq!(of(&bench, name), [pair(session, "70000")].into());
    }
    let more = change(resource::GROUP, "g", &[(ConfigOp::Set, heartbeat, Some("6000"))]);
    let all = ConfigChange { replace_all: true, ..more.clone() };
    assert_eq!(bench.alter(more), Ok(()));
    assert_eq!(of(&bench, "g"), [pair(session, "70000"), pair(heartbeat, "6000")].into());
    assert_eq!(bench.alter(all), Ok(()));
    assert_eq!(of(&bench, "g"), [pair(heartbeat, "6000")].into());
    let delete = change(resource::GROUP, "g", &[(ConfigOp::Delete, heartbeat, None)]);
    assert_eq!(bench.alter(delete), Ok(()));
    assert!(of(&bench, "g").is_empty());
    assert_eq!(of(&bench, "a b/c").len(), 1, "other groups keep theirs");
}

#[test]
fn configs_that_cannot_be_are_refused_in_kafkas_words() {
    let mut bench = Bench::new();
    bench.make("t", 1);
    let long = "g".repeat(32_768);
    let mut check = |kind, name, op, code, text: &str| {
        check_refused(&bench.alter(change(kind, name, &[op])), code, text);
    };
    let (topic, broker) = (resource::TOPIC, resource::BROKER);
    let set = (ConfigOp::Set, "retention.ms", Some("1"));
    let text = "The topic 'nope' does not exist.";
    check(topic, "nope", set, ErrorCode::UnknownTopicOrPartition, text);
    let text = "Default topic resources are not allowed.";
    check(topic, "", set, ErrorCode::InvalidRequest, text);
    let text = "Unknown topic config name: xyz";
    check(topic, "t", (ConfigOp::Set, "xyz", Some("1")), ErrorCode::InvalidConfig, text);
    let text = "Can't APPEND to key retention.ms because its type is not LIST";
    let append = (ConfigOp::Append, "retention.ms", Some("1"));
    check(topic, "t", append, ErrorCode::InvalidConfig, text);
    let text = "Cannot update these configs dynamically: [log.dirs]";
    check(broker, "1", (ConfigOp::Set, "log.dirs", Some("/x")), ErrorCode::InvalidRequest, text);
    let text = "Unexpected broker id, expected 1 or empty string, but received 9";
    let set = (ConfigOp::Set, "log.retention.ms", Some("1"));
    check(broker, "9", set, ErrorCode::InvalidRequest, text);
    let (group, key) = (resource::GROUP, "consumer.session.timeout.ms");
    let set = (ConfigOp::Set, key, Some("50000"));
    let text = "Default group resources are not allowed.";
    check(group, "", set, ErrorCode::InvalidRequest, text);
    let text = "The group's name is longer than 32767 bytes.";
    check(group, &long, set, ErrorCode::InvalidRequest, text);
    let text = "Unknown group config name: retention.ms";
    let unknown = (ConfigOp::Set, "retention.ms", Some("1"));
    check(group, "g", unknown, ErrorCode::InvalidConfig, text);
    let text = "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.";
    check(group, "g", (ConfigOp::Set, key, Some("60001")), ErrorCode::InvalidConfig, text);
    let text = "Null value not supported for: consumer.session.timeout.ms";
    check(group, "g", (ConfigOp::Set, key, None), ErrorCode::InvalidRequest, text);
    let set = (ConfigOp::Set, "log.retention.ms", Some("1"));
    let text = "Resources of type 8 have no configs that can be altered here.";
    check(8, "1", set, ErrorCode::InvalidRequest, text);
}

fn reply(number: u64) -> ReplyTo {
    ReplyTo { session: SessionId(1), request: number, part: 0 }
}

fn init(current: Option<(i64, i16)>) -> AdminRequest {
    let current = current.map(|(id, epoch)| (ProducerId(id), ProducerEpoch(epoch)));
    AdminRequest::InitProducerId { current }
}

fn given(given: Given) -> (i64, i16) {
    match given {
        Given::Now(AdminReply::ProducerId(id, epoch)) => (id.0, epoch.0),
        other => panic!("{other:?}"),
    }
}

#[test]
fn producer_ids_come_out_of_committed_blocks() {
    let mut bench = Bench::new();
    assert_eq!(bench.controller.give_producer_id(reply(1), &init(None)), Given::Later);
    let at = bench.image().offset.plus(1);
    let record = bench.controller.want_producer_ids(at).unwrap();
    bench.controller.appended(at, EPOCH, &[(record, 0)]).unwrap();
    assert_eq!(bench.controller.give_producer_id(reply(2), &init(None)), Given::Later);
    assert_eq!(bench.controller.want_producer_ids(at.plus(1)), None, "one block at a time");
    let answers = bench.controller.commit(at.plus(1));
    let id = |number| AdminReply::ProducerId(ProducerId(number), ProducerEpoch(0));
    assert_eq!(answers, [(reply(1), id(0)), (reply(2), id(1))]);
    for number in 2..900 {
        assert_eq!(given(bench.controller.give_producer_id(reply(3), &init(None))), (number, 0));
        assert_eq!(bench.controller.want_producer_ids(at.plus(1)), None);
    }
    assert_eq!(given(bench.controller.give_producer_id(reply(3), &init(None))), (900, 0));
    let record = bench.controller.want_producer_ids(at.plus(1)).expect("the next block in time");
    bench.append(vec![record]);
    for number in 901..1001 {
        assert_eq!(given(bench.controller.give_producer_id(reply(3), &init(None))), (number, 0));
    }
    assert_eq!(bench.image().next_producer_id, ProducerId(2000));
}

#[test]
fn a_block_of_producer_ids_that_does_not_come_is_asked_for_anew() {
    let mut bench = Bench::new();
    let at = bench.image().offset.plus(1);
    assert_eq!(bench.controller.give_producer_id(reply(1), &init(None)), Given::Later);
    let record = bench.controller.want_producer_ids(at).unwrap();
    bench.controller.appended(at, EPOCH, &[(record, 0)]).unwrap();
    let refusal = Refusal::from(ErrorCode::KafkaStorageError);
    let refused = AdminReply::Refused(refusal.clone());
    assert_eq!(bench.controller.give_up(&refusal), [(reply(1), refused)]);
    assert_eq!(bench.controller.give_producer_id(reply(2), &init(None)), Given::Later);
    let record = bench.controller.want_producer_ids(at).expect("nothing is on its way");
    bench.controller.appended(at, EPOCH, &[(record, 0)]).unwrap();
    let id = AdminReply::ProducerId(ProducerId(0), ProducerEpoch(0));
    assert_eq!(bench.controller.commit(at.plus(1)), [(reply(2), id)]);
}

#[test]
fn a_known_producer_gets_its_next_epoch_until_epochs_run_out() {
    let mut bench = Bench::new();
    assert_eq!(bench.controller.give_producer_id(reply(1), &init(None)), Given::Later);
    let at = bench.image().offset.plus(1);
    let record = bench.controller.want_producer_ids(at).unwrap();
    bench.append(vec![record]);
    let mut ask = |current| given(bench.controller.give_producer_id(reply(2), &init(current)));
    assert_eq!(ask(Some((0, 0))), (0, 1));
    assert_eq!(ask(Some((0, 32_764))), (0, 32_765));
    assert_eq!(ask(Some((0, 32_765))), (1, 0), "32766 is kept for fencing");
    assert_eq!(ask(Some((0, i16::MAX))), (2, 0));
    assert_eq!(ask(Some((0, -5))), (3, 0));
    assert_eq!(ask(Some((1000, 0))), (4, 0), "nobody was given 1000 yet");
    assert_eq!(ask(Some((-1, -1))), (5, 0));
}

#[test]
fn replies_wait_for_what_they_rest_on() {
    let mut bench = Bench::new();
    let request = AdminRequest::CreateTopics { topics: vec![topic("t", 1)], validate_only: false };
    let first = bench.controller.decide(&request);
    let base = bench.image().offset.plus(1);
    let records: Vec<Versioned> = first.records.into_iter().map(|record| (record, 0)).collect();
    bench.controller.appended(base, EPOCH, &records).unwrap();
    assert_eq!(bench.controller.park(reply(1), first.reply.clone()), None);
    assert!(bench.controller.committed().topic("t").is_none(), "C3");
    // The refusal rests on a topic that is not committed.
    let second = bench.controller.decide(&request);
    assert!(second.records.is_empty());
    assert_eq!(bench.controller.park(reply(2), second.reply.clone()), None);
    assert_eq!(bench.controller.commit(base.plus(1)), [], "half of the batch");
    let answers = bench.controller.commit(base.plus(2));
    assert_eq!(answers, [(reply(1), first.reply), (reply(2), second.reply.clone())]);
    assert!(bench.controller.committed().topic("t").is_some());
    assert_eq!(bench.controller.park(reply(3), second.reply.clone()), Some(second.reply));
}

#[test]
fn records_of_an_aborted_transaction_never_were() {
    let mut bench = Bench::new();
    let feature = |name: &str| {
        let name = name.to_owned();
        dohle_wire::message::FeatureLevelRecord { name, feature_level: 1 }.into()
    };
    bench.append(vec![BeginTransactionRecord::default().into(), feature("a")]);
    assert!(bench.controller.is_torn());
    bench.append(vec![AbortTransactionRecord::default().into(), feature("b")]);
    let end = EndTransactionRecord::default().into();
    bench.append(vec![BeginTransactionRecord::default().into(), feature("c"), end]);
    assert!(!bench.controller.is_torn());
    let features: Vec<_> = bench.image().features.keys().map(|name| name.to_string()).collect();
    assert_eq!(features, ["b", "c", "group.version", "metadata.version"]);
}

#[test]
fn a_record_that_does_not_fit_stops_the_node() {
    let mut bench = Bench::new();
    let at = bench.image().offset.plus(1);
    let lost = PartitionRecord { topic_id: Uuid::from_u128(1 << 70), ..PartitionRecord::default() };
    let error = bench.controller.appended(at, EPOCH, &[(lost.into(), 2)]).unwrap_err();
    assert!(error.contains("C6"), "{error}");
}

/// Registers again and gives the partition as it is then.
fn restart(bench: &mut Bench, registration: &Registration) -> PartitionImage {
    let base = bench.image().offset.plus(1);
    let records = register(bench.image(), registration, base, false);
    bench.append(records);
    bench.partition("t", 0).clone()
}

#[test]
fn a_crash_begins_a_new_leader_epoch_a_clean_stop_does_not() {
    let mut bench = Bench::new();
    bench.make("t", 1);
    let first = local_epoch(bench.image()).unwrap();
    assert_eq!(restart(&mut bench, &who(true)).leader_epoch, LeaderEpoch(0));
    assert_eq!(restart(&mut bench, &who(false)).leader_epoch, LeaderEpoch(1));
    let broker = bench.image().brokers.get(&NodeId(1)).unwrap();
    assert!(broker.epoch > first && !broker.fenced, "C4");
}

#[test]
fn a_replica_leads_only_while_its_directory_is_there() {
    let mut bench = Bench::new();
    bench.make("t", 1);
    let gone = Registration { directories: directories(&[1], &[]), ..who(true) };
    let offline = restart(&mut bench, &gone);
    assert_eq!((offline.leader, &*offline.isr), (None, &[NodeId(1)][..]));
    let back = restart(&mut bench, &who(true));
    assert_eq!((back.leader, back.leader_epoch), (Some(NodeId(1)), LeaderEpoch(2)));
}

#[test]
fn a_replica_is_where_its_folder_is() {
    let mut bench = Bench::new();
    bench.make("t", 1);
    assert_eq!(bench.partition("t", 0).directories, [dirs()[0]]);
    let there = |folders: &[u16]| {
        let directories = directories(&[0, 1], folders);
        Registration { directories, ..who(true) }
    };
    assert_eq!(restart(&mut bench, &there(&[1])).directories, [dirs()[1]]);
    assert_eq!(restart(&mut bench, &there(&[])).directories, [dirs()[1]], "it has no records");
    assert_eq!(restart(&mut bench, &there(&[0])).leader, Some(NodeId(1)));
}

#[test]
fn a_replica_that_may_be_in_a_missing_directory_is_not_made_anew() {
    let mut bench = Bench::new();
    let id = bench.make("t", 1);
    let unassigned = dohle_wire::message::PartitionChangeRecord {
        partition_id: 0,
        topic_id: id.0,
        directories: Some(vec![placement::UNASSIGNED]),
        ..Default::default()
    };
    bench.append(vec![unassigned.into()]);
    let gone = Registration { directories: directories(&[0], &[]), ..who(true) };
    assert_eq!(restart(&mut bench, &gone).leader, None);
    let back = restart(&mut bench, &who(true));
    assert_eq!((back.leader, back.directories), (Some(NodeId(1)), vec![dirs()[0]]));
}

#[test]
fn what_is_led_in_a_directory_that_fails_has_no_leader() {
    let mut bench = Bench::new();
    bench.make("t", 2);
    let failed = BTreeSet::from([dirs()[1]]);
    bench.append(brokers::offline(bench.image(), &failed));
    let (stays, gone) = (bench.partition("t", 0), bench.partition("t", 1));
    assert_eq!((stays.leader, stays.leader_epoch), (Some(NodeId(1)), LeaderEpoch(0)));
    assert_eq!((gone.leader, &*gone.isr), (None, &[NodeId(1)][..]));
    let broker = bench.image().brokers.get(&NodeId(1)).unwrap();
    assert_eq!(broker.log_dirs, [dirs()[0]]);
    assert_eq!(brokers::offline(bench.image(), &failed), [], "it is said once");
    bench.append(register(
        &Arc::clone(bench.image()),
        &who(true),
        bench.image().offset.plus(1),
        false,
    ));
    assert_eq!(bench.partition("t", 1).leader, Some(NodeId(1)));
}

#[test]
fn partitions_as_kafka_leaves_them_after_a_clean_stop_are_led_again() {
    let mut bench = Bench::new();
    let id = bench.make("t", 1);
    let stopped = dohle_wire::message::PartitionChangeRecord {
        partition_id: 0,
        topic_id: id.0,
        isr: Some(vec![]),
        leader: -1,
        eligible_leader_replicas: Some(vec![1]),
        last_known_elr: Some(vec![1]),
        directories: Some(vec![placement::UNASSIGNED]),
        ..Default::default()
    };
    bench.append(vec![stopped.into()]);
    let found = Registration { directories: directories(&[0, 1], &[1]), ..who(true) };
    let led = restart(&mut bench, &found);
    assert_eq!((led.leader, &*led.isr), (Some(NodeId(1)), &[NodeId(1)][..]));
    assert!(led.elr.is_empty() && led.last_known_elr.is_empty());
    assert_eq!(led.directories, [dirs()[1]], "where its folder is");
}

#[test]
fn an_old_metadata_version_gets_records_that_it_knows() {
    let mut bench = Bench::new();
    let old = dohle_wire::message::FeatureLevelRecord {
        name: features::METADATA_VERSION.to_owned(),
        feature_level: features::OLDEST,
    };
    bench.append(vec![old.into()]);
    let image = bench.image();
    let next = image.offset.plus(1);
    let mut records = register(image, &who(false), next, true);
    let request = AdminRequest::CreateTopics { topics: vec![topic("t", 1)], validate_only: false };
    records.extend(bench.controller.decide(&request).records);
    let version = |record| (features::record_version(&record, features::OLDEST), record);
    let records: Vec<Versioned> = records.into_iter().map(version).map(|(v, r)| (r, v)).collect();
    assert!(records.iter().all(|(record, _)| record.name() != "RegisterControllerRecord"));
    let batch = crate::quorum::batches::data_batch(dohle_wire::id::Timestamp(0), &records);
    assert!(batch.is_ok(), "{batch:?}");
}

#[test]
fn features_that_are_not_served_are_told() {
    let mut bench = Bench::new();
    assert_eq!(features::unserved(bench.image()), Vec::<String>::new());
    let feature = |name: &str, feature_level| {
        dohle_wire::message::FeatureLevelRecord { name: name.to_owned(), feature_level }.into()
    };
    bench.append(vec![feature("transaction.version", 2), feature("group.version", 0)]);
    assert_eq!(features::unserved(bench.image()), ["transaction.version=2"]);
    assert_eq!(features::check(bench.image()), Ok(()));
    bench.append(vec![feature(features::METADATA_VERSION, 34)]);
    let error = features::check(bench.image()).unwrap_err();
    assert!(error.contains("34") && error.contains("7 to 33"), "{error}");
}

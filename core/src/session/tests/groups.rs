//! What sessions ask coordinators of groups by the version of a request, and what they do not ask.

use dohle_wire::message::offset_commit_request::{
    OffsetCommitRequestPartition, OffsetCommitRequestTopic,
};
use dohle_wire::message::{
    ApiVersionsRequest, ConsumerGroupDescribeRequest, ConsumerGroupHeartbeatRequest,
    OffsetCommitRequest, OffsetDeleteRequest, OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic, OffsetFetchRequest, OffsetFetchRequestGroup,
};

use super::*;
use crate::controller::features::GROUP_VERSION;
use crate::group::place::OFFSETS_TOPIC;
use crate::group::request::Request as GroupRequest;

/// A broker that coordinates groups, with the protocols that it serves.
fn coordinating(protocols: &str) -> World {
    let mut world = World::with(&[("group.coordinator.rebalance.protocols", protocols)], 1);
    world.add_topic(OFFSETS_TOPIC, TopicId(Uuid::from_u128(50)), 1);
    world.image.features.insert_mut(GROUP_VERSION.into(), 1);
    world.publish();
    world
}

/// What coordinators were asked since the last look.
fn asked(world: &mut World) -> Vec<GroupRequest> {
    let mail = std::mem::take(&mut world.shard).into_iter();
    let requests = mail.map(|(_, mail)| match mail {
        ToShard::Group { request, .. } => *request,
        other => panic!("{other:?}"),
    });
    requests.collect()
}

fn beat() -> ConsumerGroupHeartbeatRequest {
    ConsumerGroupHeartbeatRequest {
        group_id: "g".into(),
        member_id: "m".into(),
        ..Default::default()
    }
}

fn describe() -> ConsumerGroupDescribeRequest {
    ConsumerGroupDescribeRequest { group_ids: vec!["g".into(), "h".into()], ..Default::default() }
}

#[test]
fn a_commit_says_whether_its_client_knows_of_epochs() {
    for version in 2..=10 {
        let mut world = coordinating("classic,consumer");
        let partition = OffsetCommitRequestPartition {
            partition_index: 1,
            committed_offset: 7,
            ..Default::default()
        };
        let by_id = version >= 10;
        let topic = OffsetCommitRequestTopic {
            name: if by_id { String::new() } else { "t".into() },
            topic_id: if by_id { topic_id().0 } else { Uuid::ZERO },
            partitions: vec![partition],
        };
        let request =
            OffsetCommitRequest { group_id: "g".into(), topics: vec![topic], ..Default::default() };
        world.ask(version, &request);
        let [GroupRequest::Commit(commit)] = &asked(&mut world)[..] else { panic!("a commit") };
        assert_eq!(commit.knows_epochs, version >= 9, "version {version}");
        assert_eq!(commit.offsets[0].topic_id, Some(topic_id()));
    }
}

#[test]
fn offsets_are_of_partitions_that_there_are() {
    const ODD: [i32; 3] = [99, -1, i32::MAX];
    let mut world = coordinating("classic,consumer");
    let all = ODD.into_iter().chain([1]);
    let part = |partition_index| OffsetCommitRequestPartition {
        partition_index,
        committed_offset: 7,
        ..Default::default()
    };
    let topic = OffsetCommitRequestTopic {
        name: "t".into(),
        partitions: all.clone().map(part).collect(),
        ..Default::default()
    };
    let request =
        OffsetCommitRequest { group_id: "g".into(), topics: vec![topic], ..Default::default() };
    world.ask(9, &request);
    let [GroupRequest::Commit(commit)] = &asked(&mut world)[..] else { panic!("a commit") };
    assert_eq!(commit.offsets.iter().map(|part| part.partition.0).collect::<Vec<_>>(), [1]);
    let part = |partition_index| OffsetDeleteRequestPartition { partition_index };
    let topic = OffsetDeleteRequestTopic { name: "t".into(), partitions: all.map(part).collect() };
    let mut world = coordinating("classic,consumer");
    world.ask(0, &OffsetDeleteRequest { group_id: "g".into(), topics: vec![topic] });
    let [GroupRequest::DeleteOffsets(delete)] = &asked(&mut world)[..] else { panic!("one") };
    assert_eq!(delete.partitions.iter().map(|(_, index)| index.0).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_fetch_says_who_asks_if_it_is_said() {
    let said = |member: Option<&str>, member_epoch| {
        let mut world = coordinating("classic,consumer");
        let member_id = member.map(str::to_owned);
        let group =
            OffsetFetchRequestGroup { group_id: "g".into(), member_id, member_epoch, topics: None };
        world.ask(9, &OffsetFetchRequest { groups: vec![group], ..Default::default() });
        let [GroupRequest::Fetch(fetch)] = &asked(&mut world)[..] else { panic!("a fetch") };
        fetch.member.as_ref().map(|(id, epoch)| (id.to_string(), *epoch))
    };
    assert_eq!(said(None, -1), None);
    assert_eq!(said(Some("m"), 3), Some(("m".into(), 3)));
    assert_eq!(said(Some(""), -1), Some((String::new(), -1)));
    assert_eq!(said(None, 3), Some((String::new(), 3)));
}

#[test]
fn the_consumer_protocol_is_served_where_the_broker_and_the_cluster_have_it() {
    let unsupported = ErrorCode::UnsupportedVersion.code();
    let mut without_level = coordinating("classic,consumer");
    without_level.image.features.remove_mut(GROUP_VERSION);
    without_level.publish();
    for mut world in [coordinating("classic"), coordinating("streams,classic"), without_level] {
        for version in 0..=1 {
            let told = world.call(version, &beat());
            assert_eq!((told.error_code, told.error_message), (unsupported, None));
            let told = world.call(version, &describe());
            let told: Vec<_> = told
                .groups
                .iter()
                .map(|g| (&*g.group_id, g.error_code, &g.error_message))
                .collect();
            assert_eq!(told, [("g", unsupported, &None), ("h", unsupported, &None)]);
        }
        assert_eq!(asked(&mut world), []);
        let versions = world.call(
            4,
            &ApiVersionsRequest {
                client_software_name: "test".into(),
                client_software_version: "1".into(),
                ..Default::default()
            },
        );
        let shown = |key| versions.api_keys.iter().any(|api| api.api_key == key);
        assert!(shown(68) && shown(69), "as in Kafka, ApiVersions says nothing of it");
    }
    let mut world = coordinating("consumer,classic");
    world.ask(1, &beat());
    assert!(matches!(asked(&mut world)[..], [GroupRequest::ConsumerHeartbeat(_)]));
    let mut world = coordinating("consumer,classic");
    world.ask(1, &describe());
    assert_eq!(asked(&mut world).len(), 2);
}

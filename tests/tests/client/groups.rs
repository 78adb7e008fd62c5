//! Administration of groups.

use std::sync::Arc;
use std::time::Duration;

use dohle_client::api::Admin;
use dohle_client::machine::TopicPartition;
use dohle_client::machine::admin::{
    CommittedOffset, GroupDescription, GroupFilter, GroupState, GroupType, ItemError,
    MemberIdentity,
};
use dohle_net::client::Tokio;
use dohle_wire::ErrorCode;
use dohle_wire::id::Offset;

use crate::cluster::{Cluster, on_a_broker};
use crate::member::Member;

/// Commits an offset of each partition; gives the code of each outcome.
async fn commit(
    admin: &Admin<Tokio>,
    group: &Arc<str>,
    topic: &Arc<str>,
    offsets: &[i64],
) -> Vec<Option<ErrorCode>> {
    let at = |partition| TopicPartition::new(Arc::clone(topic), partition);
    let offsets = (0..).zip(offsets).map(|(partition, offset)| {
        let metadata = format!("note {offset}");
        (at(partition), CommittedOffset { metadata, ..CommittedOffset::new(Offset(*offset)) })
    });
    let each = admin.alter_group_offsets(Arc::clone(group), offsets.collect()).await;
    each.expect("an answer").into_values().map(code).collect()
}

fn code<T>(result: Result<T, ItemError>) -> Option<ErrorCode> {
    result.err().map(|error| error.code)
}

async fn committed(
    admin: &Admin<Tokio>,
    group: &Arc<str>,
    partitions: Option<Vec<TopicPartition>>,
) -> Vec<(i32, Option<(i64, String)>)> {
    let wanted = vec![(Arc::clone(group), partitions)];
    let mut found = admin.list_group_offsets(wanted).await.expect("an answer");
    let offsets = found.remove(group).expect("asked for").expect("told");
    let told = |found: CommittedOffset| (found.offset.0, found.metadata);
    offsets.into_iter().map(|(at, found)| (at.partition, found.expect("told").map(told))).collect()
}

async fn describe(admin: &Admin<Tokio>, group: &Arc<str>) -> Result<GroupDescription, ItemError> {
    let mut found = admin.describe_groups(vec![Arc::clone(group)]).await.expect("an answer");
    found.remove(group).expect("asked for")
}

/// Whether a group is listed under a filter.
async fn is_listed(admin: &Admin<Tokio>, group: &Arc<str>, filter: GroupFilter) -> bool {
    let listing = admin.list_groups(filter).await.expect("an answer");
    assert!(listing.failed.is_empty(), "{listing:?}");
    listing.groups.contains_key(group)
}

#[test]
fn offsets_are_committed_listed_and_forgotten() {
    on_a_broker("group-offsets", async |cluster| {
        let admin = cluster.admin();
        let topic = cluster.topic("t", 3).await;
        let group = cluster.name("offsets");
        assert_eq!(commit(&admin, &group, &topic, &[5, 0, 7]).await, [None; 3]);
        let note = |offset: i64| Some((offset, format!("note {offset}")));
        let all = committed(&admin, &group, None).await;
        assert_eq!(all, [(0, note(5)), (1, note(0)), (2, note(7))]);
        let at = |partition| TopicPartition::new(Arc::clone(&topic), partition);
        let forgotten = admin.delete_group_offsets(Arc::clone(&group), vec![at(1)]).await;
        assert_eq!(forgotten.expect("an answer")[&at(1)], Ok(()));
        let some = committed(&admin, &group, Some(vec![at(0), at(1)])).await;
        assert_eq!(some, [(0, note(5)), (1, None)]);
        let described = describe(&admin, &group).await.expect("it exists");
        assert_eq!((described.state, described.members), (GroupState::Empty, Vec::new()));
        let state = |states| GroupFilter { states, ..GroupFilter::default() };
        assert!(is_listed(&admin, &group, state(vec![GroupState::Empty])).await);
        assert!(!is_listed(&admin, &group, state(vec![GroupState::Stable])).await);
        let missing = TopicPartition::new(cluster.name("none"), 0);
        let offset = CommittedOffset::new(Offset(1));
        let refused =
            admin.alter_group_offsets(Arc::clone(&group), vec![(missing.clone(), offset)]).await;
        let refused = code(refused.expect("an answer").remove(&missing).expect("asked for"));
        assert_eq!(refused, Some(ErrorCode::UnknownTopicOrPartition));
        let gone = admin.delete_groups(vec![Arc::clone(&group)]).await.expect("an answer");
        assert_eq!(gone[&group], Ok(()));
        assert_eq!(code(describe(&admin, &group).await), Some(ErrorCode::GroupIdNotFound));
        assert!(!is_listed(&admin, &group, GroupFilter::default()).await);
        assert_eq!(committed(&admin, &group, None).await, []);
    });
}

#[test]
fn a_group_that_is_not_there_is_named() {
    on_a_broker("group-none", async |cluster| {
        let admin = cluster.admin();
        let group = cluster.name("none");
        let topic = cluster.topic("t", 1).await;
        let missing = Some(ErrorCode::GroupIdNotFound);
        assert_eq!(code(describe(&admin, &group).await), missing);
        let gone = admin.delete_groups(vec![Arc::clone(&group)]).await.expect("an answer");
        assert_eq!(code(gone[&group].clone()), missing);
        let at = TopicPartition::new(topic, 0);
        let forgotten = admin.delete_group_offsets(Arc::clone(&group), vec![at.clone()]).await;
        assert_eq!(code(forgotten.expect("an answer")[&at].clone()), missing);
        let nobody = MemberIdentity::Member("nobody".to_owned());
        let removed = admin.remove_group_members(group, vec![nobody.clone()], None).await;
        let removed = code(removed.expect("an answer")[&nobody].clone());
        assert_eq!(removed, Some(ErrorCode::UnknownMemberId));
    });
}

/// A group with one member, which reads partition 0 of a topic.
async fn joined(cluster: &Cluster, instance: Option<&str>) -> (Arc<str>, Arc<str>, Member, String) {
    let topic = cluster.topic("t", 2).await;
    let group = cluster.name("members");
    let mut member = Member::connect(&cluster.servers);
    // The first lookup makes the topic of the offsets.
    assert_eq!(commit(&cluster.admin(), &group, &topic, &[1, 1]).await, [None; 2]);
    let id = member.join(&group, &topic, instance);
    (topic, group, member, id)
}

#[test]
fn members_protect_their_group_until_they_are_removed() {
    on_a_broker("group-members", async |cluster| {
        let admin = cluster.admin();
        let (topic, group, _member, id) = joined(&cluster, None).await;
        let described = describe(&admin, &group).await.expect("it exists");
        assert_eq!(described.group_type, GroupType::Classic);
        assert_eq!((described.state, &*described.assignor), (GroupState::Stable, "range"));
        assert_eq!((&*described.protocol_type, described.members.len()), ("consumer", 1));
        let member = &described.members[0];
        assert_eq!((&*member.client_id, &member.id), ("by-hand", &id));
        assert_eq!(member.assignment, [TopicPartition::new(Arc::clone(&topic), 0)]);
        assert!(member.host.contains("127.0.0.1"), "{}", member.host);
        let types = |types| GroupFilter { types, ..GroupFilter::default() };
        assert!(is_listed(&admin, &group, types(vec![GroupType::Classic])).await);
        assert!(!is_listed(&admin, &group, types(vec![GroupType::Consumer])).await);
        let refused = commit(&admin, &group, &topic, &[0]).await;
        assert_eq!(refused, [Some(ErrorCode::UnknownMemberId)]);
        let at = TopicPartition::new(Arc::clone(&topic), 0);
        let refused = admin.delete_group_offsets(Arc::clone(&group), vec![at.clone()]).await;
        let refused = code(refused.expect("an answer")[&at].clone());
        assert_eq!(refused, Some(ErrorCode::GroupSubscribedToTopic));
        let refused = admin.delete_groups(vec![Arc::clone(&group)]).await.expect("an answer");
        assert_eq!(code(refused[&group].clone()), Some(ErrorCode::NonEmptyGroup));
        let of = MemberIdentity::Member(id);
        let reason = Some("a test".to_owned());
        let removed =
            admin.remove_group_members(Arc::clone(&group), vec![of.clone()], reason).await;
        assert_eq!(removed.expect("an answer")[&of], Ok(()));
        assert_eq!(commit(&admin, &group, &topic, &[0]).await, [None]);
        let gone = admin.delete_groups(vec![Arc::clone(&group)]).await.expect("an answer");
        assert_eq!(gone[&group], Ok(()));
    });
}

#[test]
fn static_members_are_removed_by_their_own_names() {
    on_a_broker("group-static", async |cluster| {
        let admin = cluster.admin();
        let (_, group, _member, _) = joined(&cluster, Some("one")).await;
        let described = describe(&admin, &group).await.expect("it exists");
        assert_eq!(described.members[0].instance_id.as_deref(), Some("one"));
        let removed = admin.remove_all_group_members(Arc::clone(&group), None).await;
        let removed = removed.expect("an answer");
        assert_eq!(removed[&MemberIdentity::Instance("one".to_owned())], Ok(()));
        let described = describe(&admin, &group).await.expect("it exists");
        assert_eq!((described.state, described.members), (GroupState::Empty, Vec::new()));
    });
}

/// On brokers that assign partitions themselves.
#[test]
fn groups_of_the_newer_protocol_are_described() {
    on_a_broker("group-newer", async |cluster| {
        let mut member = Member::connect(&cluster.servers);
        let admin = cluster.admin();
        let topic = cluster.topic("t", 2).await;
        let group = cluster.name("newer");
        assert_eq!(commit(&admin, &group, &topic, &[1, 1]).await, [None; 2]);
        member.heartbeat(&group, &topic, "member-1", 0);
        let mut described = describe(&admin, &group).await.expect("it exists");
        while described.members.first().is_none_or(|m| m.target.iter().flatten().count() < 2) {
            tokio::time::sleep(Duration::from_millis(200)).await;
            // Kafka assigns when a member says something, not before its interval is over.
            member.heartbeat(&group, &topic, "member-1", 0);
            described = describe(&admin, &group).await.expect("it exists");
        }
        assert_eq!(described.group_type, GroupType::Consumer);
        assert_eq!((&*described.assignor, described.members.len()), ("uniform", 1));
        assert!(described.epochs.is_some_and(|(epoch, _)| epoch > 0), "{described:?}");
        let types = |types| GroupFilter { types, ..GroupFilter::default() };
        assert!(is_listed(&admin, &group, types(vec![GroupType::Consumer])).await);
        assert!(!is_listed(&admin, &group, types(vec![GroupType::Classic])).await);
        let refused = commit(&admin, &group, &topic, &[0]).await;
        assert_eq!(refused, [Some(ErrorCode::UnknownMemberId)]);
        member.heartbeat(&group, &topic, "member-1", -1);
        let described = describe(&admin, &group).await.expect("it exists");
        assert_eq!((described.state, described.members), (GroupState::Empty, Vec::new()));
        let gone = admin.delete_groups(vec![Arc::clone(&group)]).await.expect("an answer");
        assert_eq!(gone[&group], Ok(()));
    });
}

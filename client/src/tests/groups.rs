//! Scenarios of the admin client with groups.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use dohle_wire::id::{NodeId, Offset};
use dohle_wire::{ApiKey, ErrorCode};

use super::group_broker::{GroupBroker, Member};
use super::world::World;
use crate::config::AdminConfig;
use crate::machine::admin::{
    AdminError, Call, CommittedOffset, Effect, GroupCall, GroupFilter, GroupReply, GroupState,
    GroupType, Input, MemberIdentity, Reply,
};
use crate::machine::{Admin, Token, TopicPartition};

type GroupWorld = World<Admin, GroupBroker>;

fn world(broker: GroupBroker) -> GroupWorld {
    let config = AdminConfig::to("node:9001").expect("an address");
    World::new(Admin::new(config, 3).expect("valid settings"), broker)
}

fn call(world: &mut GroupWorld, call: GroupCall) -> Result<GroupReply, AdminError> {
    world.input(Input::Call { token: Token(9), call: Call::Group(call) });
    world.pass(Duration::from_secs(61));
    let Some(Effect::Done { token: Token(9), result }) = world.out.pop() else { panic!("no end") };
    assert!(world.out.is_empty());
    result.map(|reply| match reply {
        Reply::Group(reply) => reply,
        other => panic!("{other:?}"),
    })
}

/// One classic group on each of two nodes, and one of the newer protocol.
fn groups() -> GroupBroker {
    let mut broker = GroupBroker::new(2);
    broker.group("one", "classic", 1).offsets.insert(("t".to_owned(), 0), 7);
    let member = Member { id: "m-1", instance: Some("i-1") };
    broker.group("two", "classic", 2).members.push(member.clone());
    broker.group("new", "consumer", 2).members.push(member);
    broker
}

fn names(list: &[&str]) -> Vec<Arc<str>> {
    list.iter().map(|name| Arc::from(*name)).collect()
}

fn at(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

/// Success, or the code of each failure, by what the item is called.
fn codes<K: ToString, T>(
    each: &BTreeMap<K, Result<T, crate::machine::admin::ItemError>>,
) -> Vec<(String, ErrorCode)> {
    let code = |result: &Result<T, crate::machine::admin::ItemError>| {
        result.as_ref().err().map_or(ErrorCode::None, |error| error.code)
    };
    each.iter().map(|(key, result)| (key.to_string(), code(result))).collect()
}

fn expect<const N: usize>(pairs: [(&str, ErrorCode); N]) -> Vec<(String, ErrorCode)> {
    pairs.map(|(key, code)| (key.to_owned(), code)).to_vec()
}

#[test]
fn every_broker_lists_its_groups() {
    let mut world = world(groups());
    let Ok(GroupReply::Listing(all)) = call(&mut world, GroupCall::List(GroupFilter::default()))
    else {
        panic!()
    };
    assert!(all.failed.is_empty(), "{all:?}");
    let of: Vec<_> = all.groups.iter().map(|(id, g)| (&**id, g.coordinator, g.state)).collect();
    let (one, two) = (NodeId(1), NodeId(2));
    let expected = [
        ("new", two, GroupState::Stable),
        ("one", one, GroupState::Empty),
        ("two", two, GroupState::Stable),
    ];
    assert_eq!(of, expected);
    let check = |world: &mut GroupWorld, filter, expected: &[&str]| {
        let Ok(GroupReply::Listing(some)) = call(world, GroupCall::List(filter)) else { panic!() };
        assert_eq!(some.groups.keys().map(|id| &**id).collect::<Vec<_>>(), expected);
    };
    let types = vec![GroupType::Consumer];
    check(&mut world, GroupFilter { types, ..GroupFilter::default() }, &["new"]);
    let states = vec![GroupState::Empty, GroupState::Dead];
    check(&mut world, GroupFilter { states, ..GroupFilter::default() }, &["one"]);
}

#[test]
fn a_broker_that_lists_nothing_is_named() {
    let mut world = world(groups());
    world.dark = vec![2];
    let Ok(GroupReply::Listing(some)) = call(&mut world, GroupCall::List(GroupFilter::default()))
    else {
        panic!()
    };
    assert_eq!(some.groups.keys().map(|id| &**id).collect::<Vec<_>>(), ["one"]);
    let failed: Vec<_> = some.failed.iter().map(|(id, error)| (id.0, error.code)).collect();
    assert_eq!(failed, [(2, ErrorCode::RequestTimedOut)]);
}

#[test]
fn a_broker_that_is_loading_is_asked_again() {
    let mut broker = groups();
    let loading = [ErrorCode::CoordinatorLoadInProgress; 2];
    broker.refusals.insert(ApiKey::ListGroups, loading.into());
    let mut world = world(broker);
    let Ok(GroupReply::Listing(all)) = call(&mut world, GroupCall::List(GroupFilter::default()))
    else {
        panic!()
    };
    assert_eq!((all.groups.len(), all.failed.len()), (3, 0));
}

#[test]
fn groups_of_both_protocols_are_described() {
    let check = |change: fn(&mut GroupBroker), unknown: &str| {
        let mut broker = groups();
        change(&mut broker);
        let mut world = world(broker);
        let call_for = GroupCall::Describe(names(&["one", "two", "new", unknown]));
        let Ok(GroupReply::Described(found)) = call(&mut world, call_for) else { panic!() };
        let two = found["two"].as_ref().expect("it exists");
        assert_eq!((two.group_type, two.state), (GroupType::Classic, GroupState::Stable));
        assert_eq!((two.coordinator, &*two.assignor), (NodeId(2), "range"));
        assert_eq!(two.members[0].assignment, [at(0)]);
        assert_eq!(two.members[0].instance_id.as_deref(), Some("i-1"));
        assert_eq!(found["one"].as_ref().map(|g| g.state), Ok(GroupState::Empty));
        let error = found[unknown].as_ref().map_err(|error| error.code);
        assert_eq!(error.err(), Some(ErrorCode::GroupIdNotFound));
        (found, world)
    };
    let (found, world) = check(|_| {}, "none");
    let new = found["new"].as_ref().expect("it exists");
    assert_eq!((new.group_type, new.epochs), (GroupType::Consumer, Some((5, 4))));
    assert_eq!(new.members[0].assignment, [at(0)]);
    assert_eq!(world.broker.count(ApiKey::FindCoordinator), 1, "all in one");
    assert_eq!(world.broker.count(ApiKey::ConsumerGroupDescribe), 2, "one for each coordinator");
    // A broker that knows nothing of the newer protocol is not asked about it.
    let without = |broker: &mut GroupBroker| {
        broker.newest.insert(ApiKey::ConsumerGroupDescribe, -1);
        broker.newest.insert(ApiKey::DescribeGroups, 5);
    };
    let (found, world) = check(without, "none");
    assert_eq!(world.broker.count(ApiKey::ConsumerGroupDescribe), 0);
    assert_eq!(found["new"].as_ref().err().map(|e| e.code), Some(ErrorCode::GroupIdNotFound));
}

#[test]
fn only_groups_without_members_are_deleted() {
    let mut world = world(groups());
    let Ok(GroupReply::Deleted(each)) =
        call(&mut world, GroupCall::Delete(names(&["one", "two", "none"])))
    else {
        panic!()
    };
    let expected = expect([
        ("none", ErrorCode::GroupIdNotFound),
        ("one", ErrorCode::None),
        ("two", ErrorCode::NonEmptyGroup),
    ]);
    assert_eq!(codes(&each), expected);
    assert!(!world.broker.groups.contains_key("one"));
}

#[test]
fn committed_offsets_are_listed_changed_and_forgotten() {
    let check = |change: fn(&mut GroupBroker)| {
        let mut broker = groups();
        change(&mut broker);
        let mut world = world(broker);
        let list = |world: &mut GroupWorld, wanted| {
            let both = vec![("one".into(), wanted), ("two".into(), None)];
            let Ok(GroupReply::Offsets(mut found)) = call(world, GroupCall::ListOffsets(both))
            else {
                panic!()
            };
            assert_eq!(found.remove("two"), Some(Ok(BTreeMap::new())));
            let offsets = found.remove("one").expect("asked for").expect("told");
            let offset = |found: CommittedOffset| found.offset.0;
            let of = |(at, found): (TopicPartition, Result<Option<CommittedOffset>, _>)| {
                (at.partition, found.expect("told").map(offset))
            };
            offsets.into_iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(list(&mut world, None), [(0, Some(7))]);
        assert_eq!(list(&mut world, Some(vec![at(0), at(2)])), [(0, Some(7)), (2, None)]);
        let offsets = [(0, 3), (1, 4)].map(|(p, o)| (at(p), CommittedOffset::new(Offset(o))));
        let alter = GroupCall::AlterOffsets { group: "one".into(), offsets: offsets.into() };
        let Ok(GroupReply::Partitions(each)) = call(&mut world, alter) else { panic!() };
        assert_eq!(codes(&each), expect([("t-0", ErrorCode::None), ("t-1", ErrorCode::None)]));
        let partitions = vec![at(0)];
        let delete = GroupCall::DeleteOffsets { group: "one".into(), partitions };
        let Ok(GroupReply::Partitions(each)) = call(&mut world, delete) else { panic!() };
        assert_eq!(codes(&each), expect([("t-0", ErrorCode::None)]));
        assert_eq!(list(&mut world, None), [(1, Some(4))]);
        world
    };
    let world = check(|_| {});
    assert_eq!(world.broker.count(ApiKey::FindCoordinator), 1, "remembered");
    // Older brokers take one group in a request.
    check(|broker| {
        broker.newest.insert(ApiKey::OffsetFetch, 7);
        broker.newest.insert(ApiKey::FindCoordinator, 3);
    });
}

#[test]
fn offsets_of_a_group_with_members_stay() {
    let mut world = world(groups());
    let offsets = vec![(at(0), CommittedOffset::new(Offset(0)))];
    let alter = GroupCall::AlterOffsets { group: "two".into(), offsets };
    let Ok(GroupReply::Partitions(each)) = call(&mut world, alter) else { panic!() };
    assert_eq!(codes(&each), expect([("t-0", ErrorCode::UnknownMemberId)]));
    let delete = GroupCall::DeleteOffsets { group: "two".into(), partitions: vec![at(0)] };
    let Ok(GroupReply::Partitions(each)) = call(&mut world, delete) else { panic!() };
    assert_eq!(codes(&each), expect([("t-0", ErrorCode::GroupSubscribedToTopic)]));
    let delete = GroupCall::DeleteOffsets { group: "none".into(), partitions: vec![at(0)] };
    let Ok(GroupReply::Partitions(each)) = call(&mut world, delete) else { panic!() };
    assert_eq!(codes(&each), expect([("t-0", ErrorCode::GroupIdNotFound)]));
}

#[test]
fn members_are_removed_by_either_name() {
    let check = |newest: i16, identity: MemberIdentity, code: ErrorCode| {
        let mut broker = groups();
        broker.newest.insert(ApiKey::LeaveGroup, newest);
        let mut world = world(broker);
        let remove = GroupCall::RemoveMembers {
            group: "two".into(),
            members: vec![identity.clone()],
            reason: Some("x".repeat(1000)),
        };
        let Ok(GroupReply::Members(each)) = call(&mut world, remove) else { panic!() };
        assert_eq!(codes(&each), vec![(identity.to_string(), code)]);
        let left = world.broker.groups["two"].members.len();
        assert_eq!(left, usize::from(code != ErrorCode::None));
    };
    let member = |id: &str| MemberIdentity::Member(id.to_owned());
    check(5, member("m-1"), ErrorCode::None);
    check(5, MemberIdentity::Instance("i-1".to_owned()), ErrorCode::None);
    check(5, member("m-2"), ErrorCode::UnknownMemberId);
    check(2, member("m-1"), ErrorCode::None);
    check(2, member("m-2"), ErrorCode::UnknownMemberId);
}

#[test]
fn a_group_that_moved_is_followed() {
    let mut world = world(groups());
    let describe = || GroupCall::Describe(names(&["one"]));
    assert!(call(&mut world, describe()).is_ok());
    world.broker.groups.get_mut("one").expect("it exists").coordinator = 2;
    let Ok(GroupReply::Described(found)) = call(&mut world, describe()) else { panic!() };
    assert_eq!(found["one"].as_ref().map(|group| group.coordinator), Ok(NodeId(2)));
    assert_eq!(world.broker.count(ApiKey::FindCoordinator), 2);
}

#[test]
fn a_coordinator_that_died_is_replaced() {
    let mut world = world(groups());
    let describe = || GroupCall::Describe(names(&["two"]));
    assert!(call(&mut world, describe()).is_ok());
    for conn in world.open() {
        world.cut(conn, false);
    }
    world.dark = vec![2];
    world.broker.groups.get_mut("two").expect("it exists").coordinator = 1;
    let Ok(GroupReply::Described(found)) = call(&mut world, describe()) else { panic!() };
    assert_eq!(found["two"].as_ref().map(|group| group.coordinator), Ok(NodeId(1)));
}

#[test]
fn a_lookup_is_repeated_while_there_is_no_coordinator() {
    let mut broker = groups();
    let missing = [ErrorCode::CoordinatorNotAvailable; 3];
    broker.refusals.insert(ApiKey::FindCoordinator, missing.into());
    let mut world = world(broker);
    let Ok(GroupReply::Described(found)) = call(&mut world, GroupCall::Describe(names(&["one"])))
    else {
        panic!()
    };
    assert!(found["one"].is_ok());
    assert_eq!(world.broker.count(ApiKey::FindCoordinator), 4);
    // Until the call's time is over.
    let missing = vec![ErrorCode::CoordinatorNotAvailable; 10_000];
    world.broker.refusals.insert(ApiKey::FindCoordinator, missing.into());
    let Ok(GroupReply::Described(found)) = call(&mut world, GroupCall::Describe(names(&["two"])))
    else {
        panic!()
    };
    assert_eq!(codes(&found), expect([("two", ErrorCode::CoordinatorNotAvailable)]));
}

#[test]
fn a_group_that_may_not_be_looked_up_fails_alone() {
    let mut broker = groups();
    broker.newest.insert(ApiKey::FindCoordinator, 3);
    let refused = [ErrorCode::GroupAuthorizationFailed];
    broker.refusals.insert(ApiKey::FindCoordinator, refused.into());
    let mut world = world(broker);
    let Ok(GroupReply::Described(found)) =
        call(&mut world, GroupCall::Describe(names(&["one", "two"])))
    else {
        panic!()
    };
    let expected = expect([("one", ErrorCode::GroupAuthorizationFailed), ("two", ErrorCode::None)]);
    assert_eq!(codes(&found), expected);
}

#[test]
fn brokers_without_groups_are_told_apart() {
    let mut broker = groups();
    broker.newest.insert(ApiKey::FindCoordinator, -1);
    let mut world = world(broker);
    let Ok(GroupReply::Deleted(each)) = call(&mut world, GroupCall::Delete(names(&["one"]))) else {
        panic!()
    };
    assert_eq!(codes(&each), expect([("one", ErrorCode::UnsupportedVersion)]));
    world.broker.newest.insert(ApiKey::ListGroups, -1);
    for conn in world.open() {
        world.cut(conn, false);
    }
    let error = call(&mut world, GroupCall::List(GroupFilter::default()));
    assert_eq!(error, Err(AdminError::Unsupported("ListGroups")));
}

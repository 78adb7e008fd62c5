//! Scenarios of a member of a group, and of two.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use dohle_wire::id::{LeaderEpoch, Offset};
use dohle_wire::{ApiKey, ErrorCode};

use super::broker::Broker;
use super::consumer::batch;
use super::producer::Turning;
use super::world::World;
use crate::config::{AutoOffsetReset, ConsumerConfig, GroupProtocol, Strategy};
use crate::machine::consumer::{Effect, Input, Start};
use crate::machine::group::{
    Call, GroupEffect, GroupError, OffsetAndMetadata, Pattern, Rebalance, Reply, Subscription,
};
use crate::machine::{Consumer, Machine as _, Token, TopicPartition};

const SECOND: Duration = Duration::from_secs(1);

pub(super) fn config(protocol: GroupProtocol) -> ConsumerConfig {
    let mut config = ConsumerConfig::to("node:9001").expect("an address");
    config.group.id = Some("g".to_owned());
    config.group.protocol = protocol;
    config.auto_offset_reset = AutoOffsetReset::Earliest;
    config
}

pub(super) const BOTH: [GroupProtocol; 2] = [GroupProtocol::Classic, GroupProtocol::Consumer];

fn broker() -> Broker {
    let mut broker = Broker::new(2);
    broker.create("t", 2);
    for partition in 0..2 {
        append(&mut broker, partition, &["a", "b", "c"]);
    }
    broker
}

fn append(broker: &mut Broker, partition: usize, values: &[&str]) {
    let batch = batch(values, |builder| builder);
    broker.log("t", partition).append(&batch).expect("appended");
}

fn member(config: ConsumerConfig, broker: Broker) -> World<Consumer> {
    World::new(Consumer::new(config, Arc::new(Turning), 5).expect("valid settings"), broker)
}

fn at(partition: i32) -> TopicPartition {
    TopicPartition::new("t", partition)
}

fn parts(list: &[i32]) -> BTreeSet<TopicPartition> {
    list.iter().map(|index| at(*index)).collect()
}

/// What polls gave.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    values: Vec<String>,
    rebalances: Vec<Rebalance>,
    errors: Vec<GroupError>,
}

/// Takes what the machine has given out.
fn seen(world: &mut World<Consumer>) -> Seen {
    let mut seen = Seen::default();
    let mut rest = Vec::new();
    for effect in world.out.drain(..) {
        match effect {
            Effect::Records { partition, records } => seen.values.extend(records.iter().map(|r| {
                let value = String::from_utf8(r.value.clone().expect("a value").to_vec());
                format!("{}{}", partition.partition, value.expect("text"))
            })),
            Effect::Group(GroupEffect::Rebalance(rebalance)) => seen.rebalances.push(rebalance),
            Effect::Group(GroupEffect::Failed(error)) => seen.errors.push(error),
            other => rest.push(other),
        }
    }
    world.out = rest;
    seen
}

/// Polls a few times, a second in between.
fn polls(world: &mut World<Consumer>, times: usize) -> Seen {
    for _ in 0..times {
        world.input(Input::Poll { max_records: 100 });
        world.pass(SECOND);
    }
    seen(world)
}

fn subscribe(world: &mut World<Consumer>) {
    world.input(Input::Subscribe(Subscription::to(["t"])));
}

/// A member that has read everything.
fn reader(config: ConsumerConfig) -> World<Consumer> {
    let mut world = member(config, broker());
    subscribe(&mut world);
    let seen = polls(&mut world, 5);
    assert_eq!(seen.values.len(), 6, "{seen:?}");
    world
}

fn call(world: &mut World<Consumer>, number: u64, call: Call) {
    world.input(Input::Call { token: Token(number), call });
}

fn done(world: &mut World<Consumer>, number: u64) -> Option<Result<Reply, GroupError>> {
    let found = world.out.iter().position(|effect| {
        matches!(effect, Effect::Group(GroupEffect::Done { token, .. }) if token.0 == number)
    });
    match world.out.remove(found?) {
        Effect::Group(GroupEffect::Done { result, .. }) => Some(result),
        other => panic!("{other:?}"),
    }
}

fn commit(world: &mut World<Consumer>) -> Result<Reply, GroupError> {
    call(world, 1, Call::Commit(None));
    world.pass(SECOND);
    done(world, 1).expect("an answer")
}

fn committed(world: &World<Consumer>) -> BTreeMap<i32, i64> {
    let offsets = world.broker.groups.offsets.iter();
    let of_t = offsets.filter(|((topic, _), _)| topic == "t");
    of_t.map(|((_, index), (offset, ..))| (*index, *offset)).collect()
}

#[test]
fn a_member_joins_reads_commits_and_leaves() {
    for protocol in BOTH {
        let mut world = member(config(protocol), broker());
        subscribe(&mut world);
        world.pass(Duration::from_secs(10));
        assert_eq!(world.broker.groups.size(), 0, "it joins when it polls, not before");
        let seen = polls(&mut world, 5);
        assert_eq!(seen.rebalances, [Rebalance::Assigned(parts(&[0, 1]))]);
        assert_eq!(seen.values.len(), 6);
        assert_eq!(commit(&mut world), Ok(Reply::Committing));
        assert_eq!(committed(&world), BTreeMap::from([(0, 3), (1, 3)]));
        let epoch = world.broker.log("t", 0).epoch;
        let of = &world.broker.groups.offsets[&("t".to_owned(), 0)];
        assert_eq!((of.1, of.2.as_str()), (epoch, ""), "the leader's epoch is kept");
        world.input(Input::Unsubscribe);
        let seen = polls(&mut world, 3);
        assert_eq!(seen.rebalances, [Rebalance::Revoked(parts(&[0, 1]))]);
        assert_eq!(world.broker.groups.size(), 0);
        assert_eq!(world.broker.groups.left.len(), 1);
        assert!(world.machine.is_out());
        assert_eq!(world.machine.assignment().count(), 0);
    }
}

#[test]
fn reading_goes_on_at_the_committed_offset() {
    for protocol in BOTH {
        let mut broker = broker();
        broker.groups.offsets.insert(("t".to_owned(), 0), (2, 1, String::new()));
        let mut world = member(config(protocol), broker);
        subscribe(&mut world);
        let mut seen = polls(&mut world, 5);
        seen.values.sort();
        assert_eq!(seen.values, ["0c", "1a", "1b", "1c"]);
    }
}

#[test]
fn an_offset_that_a_transaction_may_change_is_asked_for_again() {
    let mut broker = broker();
    for _ in 0..3 {
        broker.groups.faults.push_back((ApiKey::OffsetFetch, ErrorCode::UnstableOffsetCommit));
    }
    let mut world = member(config(GroupProtocol::Classic), broker);
    subscribe(&mut world);
    assert_eq!(polls(&mut world, 6).values.len(), 6);
    assert!(world.broker.count(ApiKey::OffsetFetch) >= 4);
}

#[test]
fn without_an_offset_the_reset_policy_decides() {
    let check = |auto_offset_reset, count: usize| {
        let config = ConsumerConfig { auto_offset_reset, ..config(GroupProtocol::Classic) };
        let mut world = member(config, broker());
        subscribe(&mut world);
        let count_of = |world: &mut World<Consumer>| polls(world, 5).values.len();
        assert_eq!(count_of(&mut world), count, "{auto_offset_reset:?}");
        let failed = |effect: &&Effect| matches!(effect, Effect::Failed { .. });
        let failures = world.out.iter().filter(failed).count();
        assert_eq!(failures, if auto_offset_reset == AutoOffsetReset::None { 2 } else { 0 });
    };
    check(AutoOffsetReset::Earliest, 6);
    check(AutoOffsetReset::Latest, 0);
    check(AutoOffsetReset::None, 0);
    // Records have timestamps from 100 ms after 1970 on.
    check(AutoOffsetReset::ByDuration(Duration::from_secs(60)), 0);
    check(AutoOffsetReset::ByDuration(Duration::from_secs(100 * 365 * 86_400)), 6);
}

#[test]
fn heartbeats_do_not_depend_on_polls() {
    for protocol in BOTH {
        let mut world = reader(config(protocol));
        world.pass(Duration::from_secs(200));
        assert_eq!(world.broker.groups.size(), 1);
        assert_eq!(polls(&mut world, 1).rebalances, []);
    }
}

#[test]
fn a_member_that_does_not_poll_leaves_and_comes_back() {
    for protocol in BOTH {
        let mut world = reader(config(protocol));
        world.pass(Duration::from_secs(301));
        assert_eq!(world.broker.groups.size(), 0);
        assert_eq!(world.machine.assignment().count(), 0);
        world.pass(Duration::from_secs(100));
        assert_eq!(world.broker.groups.size(), 0, "it waits for a poll");
        let seen = polls(&mut world, 4);
        let expected = [Rebalance::Lost(parts(&[0, 1])), Rebalance::Assigned(parts(&[0, 1]))];
        assert_eq!(seen.rebalances, expected);
        assert_eq!(world.broker.groups.size(), 1);
    }
}

#[test]
fn waiting_for_records_counts_as_polling() {
    let mut world = reader(config(GroupProtocol::Classic));
    world.input(Input::Wait(true));
    world.pass(Duration::from_secs(1000));
    assert_eq!(world.broker.groups.size(), 1);
    world.input(Input::Wait(false));
    world.pass(Duration::from_secs(301));
    assert_eq!(world.broker.groups.size(), 0);
}

#[test]
fn a_coordinator_that_moves_is_found_again() {
    for protocol in BOTH {
        let mut world = reader(config(protocol));
        world.broker.groups.node = 2;
        world.pass(Duration::from_secs(60));
        assert_eq!(world.broker.groups.size(), 1, "no heartbeat was missed");
        assert_eq!(commit(&mut world), Ok(Reply::Committing));
        world.broker.groups.node = 0;
        world.pass(Duration::from_secs(10));
        world.broker.groups.node = 1;
        world.pass(Duration::from_secs(40));
        assert_eq!(world.broker.groups.size(), 1);
        assert_eq!(polls(&mut world, 1).rebalances, []);
    }
}

#[test]
fn a_lost_connection_to_the_coordinator_is_made_again() {
    for protocol in BOTH {
        let mut world = reader(config(protocol));
        for step in 0..10 {
            let open = world.open();
            open.into_iter().for_each(|conn| world.cut(conn, step % 2 == 0));
            world.pass(Duration::from_secs(20));
        }
        assert_eq!(world.broker.groups.size(), 1);
        assert_eq!(polls(&mut world, 1).rebalances, []);
    }
}

#[test]
fn whom_the_group_forgot_loses_its_partitions_and_joins_again() {
    for protocol in BOTH {
        let mut world = reader(config(protocol));
        assert_eq!(commit(&mut world), Ok(Reply::Committing));
        world.broker.groups.expel();
        world.pass(Duration::from_secs(6));
        assert_eq!(world.machine.assignment().count(), 0, "others may read them");
        call(
            &mut world,
            2,
            Call::Commit(Some(BTreeMap::from([(at(0), OffsetAndMetadata::at(Offset(1)))]))),
        );
        assert_eq!(done(&mut world, 2), Some(Err(GroupError::CommitFailed)));
        let seen = polls(&mut world, 5);
        let expected = [Rebalance::Lost(parts(&[0, 1])), Rebalance::Assigned(parts(&[0, 1]))];
        assert_eq!(seen.rebalances, expected);
        assert_eq!(seen.values, Vec::<String>::new(), "what was committed is not read again");
    }
}

#[test]
fn a_loss_is_told_even_if_the_member_unsubscribes_before() {
    for protocol in BOTH {
        let mut world = member(config(protocol), broker());
        subscribe(&mut world);
        world.input(Input::Poll { max_records: 1 });
        world.pass(SECOND);
        world.input(Input::Poll { max_records: 1 });
        // The assignment was told and is not acknowledged yet.
        world.broker.groups.expel();
        world.pass(Duration::from_secs(6));
        world.input(Input::Unsubscribe);
        let seen = polls(&mut world, 4);
        let all = parts(&[0, 1]);
        assert_eq!(seen.rebalances, [Rebalance::Assigned(all.clone()), Rebalance::Lost(all)]);
        assert!(world.machine.is_out());
    }
}

#[test]
fn errors_of_requests_are_survived() {
    let requests = [ApiKey::JoinGroup, ApiKey::SyncGroup, ApiKey::Heartbeat, ApiKey::OffsetFetch];
    let codes = [
        ErrorCode::CoordinatorLoadInProgress,
        ErrorCode::CoordinatorNotAvailable,
        ErrorCode::NotCoordinator,
        ErrorCode::RebalanceInProgress,
        ErrorCode::UnknownMemberId,
        ErrorCode::IllegalGeneration,
    ];
    for key in requests {
        for code in codes {
            let offsets = key == ApiKey::OffsetFetch && !code.is_retriable();
            if offsets && code != ErrorCode::UnknownMemberId {
                continue;
            }
            let mut broker = broker();
            broker.groups.faults.push_back((key, code));
            let mut world = member(config(GroupProtocol::Classic), broker);
            subscribe(&mut world);
            // A member that got another id waits until its old self is dead.
            let mut seen = polls(&mut world, 60);
            // What was not committed when the membership ended is read again.
            seen.values.sort();
            seen.values.dedup();
            assert_eq!(seen.values.len(), 6, "{key} {code}: {seen:?}");
            assert_eq!(world.broker.groups.faults.len(), 0, "{key} was asked");
            assert_eq!(world.broker.groups.size(), 1);
        }
    }
    let codes = [
        ErrorCode::CoordinatorLoadInProgress,
        ErrorCode::NotCoordinator,
        ErrorCode::FencedMemberEpoch,
        ErrorCode::UnknownMemberId,
    ];
    for code in codes {
        for fine_first in [false, true] {
            let mut world = match fine_first {
                true => reader(config(GroupProtocol::Consumer)),
                false => member(config(GroupProtocol::Consumer), broker()),
            };
            world.broker.groups.faults.push_back((ApiKey::ConsumerGroupHeartbeat, code));
            subscribe(&mut world);
            polls(&mut world, 15);
            assert_eq!(world.broker.groups.faults.len(), 0);
            assert_eq!(world.machine.assignment().count(), 2, "{code}");
        }
    }
}

#[test]
fn refusals_are_told_and_tried_again_at_the_next_poll() {
    let codes = [
        ErrorCode::GroupMaxSizeReached,
        ErrorCode::InconsistentGroupProtocol,
        ErrorCode::InvalidSessionTimeout,
        ErrorCode::GroupAuthorizationFailed,
    ];
    for code in codes {
        let mut broker = broker();
        broker.groups.faults.push_back((ApiKey::JoinGroup, code));
        let mut world = member(config(GroupProtocol::Classic), broker);
        subscribe(&mut world);
        world.input(Input::Poll { max_records: 9 });
        world.pass(Duration::from_secs(30));
        assert_eq!(world.broker.groups.size(), 0, "only a poll tries again");
        assert!(world.machine.has_records(), "whoever waits in a poll hears of it");
        let seen = polls(&mut world, 5);
        assert_eq!(seen.errors, [GroupError::Refused(code)]);
        assert_eq!(seen.values.len(), 6);
    }
}

#[test]
fn a_fenced_static_member_is_out_for_good() {
    for protocol in BOTH {
        let mut settings = config(protocol);
        settings.group.instance_id = Some("one".to_owned());
        let mut world = reader(settings);
        let key = match protocol {
            GroupProtocol::Classic => ApiKey::Heartbeat,
            GroupProtocol::Consumer => ApiKey::ConsumerGroupHeartbeat,
        };
        world.broker.groups.faults.push_back((key, ErrorCode::FencedInstanceId));
        world.pass(Duration::from_secs(6));
        let joins = world.broker.count(ApiKey::JoinGroup);
        let seen = polls(&mut world, 9);
        assert_eq!(seen.errors, [GroupError::Fenced]);
        assert_eq!(seen.rebalances, [Rebalance::Lost(parts(&[0, 1]))]);
        assert_eq!(world.broker.count(ApiKey::JoinGroup), joins);
    }
}

#[test]
fn a_static_member_does_not_leave() {
    let mut settings = config(GroupProtocol::Classic);
    settings.group.instance_id = Some("one".to_owned());
    let mut world = reader(settings.clone());
    world.input(Input::Close);
    world.pass(SECOND);
    assert_eq!(world.broker.groups.left, []);
    assert_eq!(world.machine.deadline(), None);
    // Its next incarnation takes its place.
    let broker = std::mem::replace(&mut world.broker, Broker::new(1));
    let mut next = member(settings, broker);
    next.now = world.now;
    subscribe(&mut next);
    polls(&mut next, 4);
    assert_eq!(next.broker.groups.size(), 1);
    assert_eq!(next.machine.assignment().count(), 2);

    let mut settings = config(GroupProtocol::Consumer);
    settings.group.instance_id = Some("one".to_owned());
    let mut world = reader(settings);
    world.input(Input::Close);
    world.pass(SECOND);
    assert_eq!(world.broker.groups.left[0].1, -2, "it says that it comes back");
}

#[test]
fn dropping_leaves_without_a_commit() {
    for protocol in BOTH {
        let mut world = reader(config(protocol));
        append(&mut world.broker, 0, &["d"]);
        polls(&mut world, 2);
        let before = committed(&world);
        world.input(Input::Close);
        assert!(world.machine.deadline().is_some(), "not yet");
        world.pass(SECOND);
        assert_eq!(world.broker.groups.size(), 0);
        assert_eq!(world.broker.groups.left.len(), 1);
        assert_eq!(committed(&world), before);
        assert_eq!((world.machine.deadline(), world.open()), (None, vec![]));
    }
}

#[test]
fn dropping_ends_even_if_nobody_answers() {
    let mut world = reader(config(GroupProtocol::Classic));
    world.dark = vec![1, 2];
    world.open().into_iter().for_each(|conn| world.cut(conn, false));
    world.input(Input::Close);
    world.pass(Duration::from_secs(6));
    assert_eq!((world.machine.deadline(), world.open()), (None, vec![]));
}

#[test]
fn dropping_while_the_group_rebalances_leaves() {
    let mut world = member(config(GroupProtocol::Classic), broker());
    subscribe(&mut world);
    world.input(Input::Poll { max_records: 1 });
    while world.broker.count(ApiKey::JoinGroup) < 2 {
        let conn = world.busy()[0];
        let _ = world.serve(conn) || world.hear(conn);
    }
    world.input(Input::Close);
    world.pass(Duration::from_secs(6));
    assert_eq!(world.broker.groups.size(), 0);
}

#[test]
fn what_polls_gave_out_is_committed_by_and_by_and_no_more() {
    for protocol in BOTH {
        let mut world = member(config(protocol), broker());
        subscribe(&mut world);
        let mut given: usize = 0;
        for _ in 0..40 {
            world.input(Input::Poll { max_records: 1 });
            let before = given as i64;
            given += seen(&mut world).values.len();
            world.pass(SECOND);
            let sum: i64 = committed(&world).values().sum();
            assert!(sum <= before, "{sum} committed, {before} were given out before this poll");
        }
        assert_eq!(committed(&world), BTreeMap::from([(0, 3), (1, 3)]));
    }
}

#[test]
fn without_auto_commit_nothing_is_committed() {
    let mut settings = config(GroupProtocol::Classic);
    settings.group.auto_commit = false;
    let mut world = reader(settings);
    polls(&mut world, 20);
    world.input(Input::Unsubscribe);
    polls(&mut world, 3);
    assert_eq!(world.broker.count(ApiKey::OffsetCommit), 0);
}

#[test]
fn a_commit_is_repeated_while_it_may_help() {
    for code in [
        ErrorCode::NotCoordinator,
        ErrorCode::CoordinatorLoadInProgress,
        ErrorCode::UnknownTopicOrPartition,
        ErrorCode::RequestTimedOut,
    ] {
        let mut world = reader(config(GroupProtocol::Classic));
        world.broker.groups.faults.push_back((ApiKey::OffsetCommit, code));
        assert_eq!(commit(&mut world), Ok(Reply::Committing), "{code}");
    }
    let mut world = reader(config(GroupProtocol::Consumer));
    world.broker.groups.faults.push_back((ApiKey::OffsetCommit, ErrorCode::StaleMemberEpoch));
    assert_eq!(commit(&mut world), Ok(Reply::Committing));
}

#[test]
fn a_commit_that_cannot_help_fails_with_a_reason() {
    let check = |code, error: GroupError| {
        let mut world = reader(config(GroupProtocol::Classic));
        world.broker.groups.faults.push_back((ApiKey::OffsetCommit, code));
        assert_eq!(commit(&mut world), Err(error), "{code}");
    };
    check(ErrorCode::IllegalGeneration, GroupError::CommitFailed);
    check(ErrorCode::UnknownMemberId, GroupError::CommitFailed);
    check(ErrorCode::GroupIdNotFound, GroupError::CommitFailed);
    check(ErrorCode::RebalanceInProgress, GroupError::RebalanceInProgress);
    check(ErrorCode::FencedInstanceId, GroupError::Fenced);
    let code = ErrorCode::OffsetMetadataTooLarge;
    check(code, GroupError::Refused(code));
    let mut world = reader(config(GroupProtocol::Classic));
    world.broker.groups.node = 0;
    call(&mut world, 7, Call::Commit(None));
    world.pass(Duration::from_secs(61));
    assert_eq!(done(&mut world, 7), Some(Err(GroupError::TimedOut)));
    let mut config = ConsumerConfig::to("node:9001").expect("an address");
    config.group.id = None;
    let mut world = member(config, broker());
    assert_eq!(commit(&mut world), Err(GroupError::NoGroup));
    subscribe(&mut world);
    assert_eq!(seen(&mut world).errors, [GroupError::NoGroup]);
}

#[test]
fn commits_are_carried_out_in_order() {
    let mut world = reader(config(GroupProtocol::Classic));
    let one = |offset| {
        Call::Commit(Some(BTreeMap::from([(at(0), OffsetAndMetadata::at(Offset(offset)))])))
    };
    world.broker.groups.faults.push_back((ApiKey::OffsetCommit, ErrorCode::NotCoordinator));
    world.broker.groups.commits.clear();
    for offset in 1..=3 {
        call(&mut world, offset as u64, one(offset));
    }
    world.pass(Duration::from_secs(2));
    let commits: Vec<i64> = world.broker.groups.commits.iter().map(|commit| commit.2).collect();
    assert_eq!(commits, [1, 2, 3]);
}

#[test]
fn offsets_notes_and_ends_can_be_asked_for() {
    let mut world = reader(config(GroupProtocol::Classic));
    let noted = OffsetAndMetadata {
        offset: Offset(2),
        leader_epoch: Some(LeaderEpoch(1)),
        metadata: "note".to_owned(),
    };
    call(&mut world, 1, Call::Commit(Some(BTreeMap::from([(at(1), noted.clone())]))));
    call(&mut world, 2, Call::Committed(vec![at(1), at(7)]));
    let ends = [(at(0), Start::Earliest), (at(1), Start::Latest)];
    call(&mut world, 3, Call::Offsets(ends.to_vec()));
    let times = [(at(0), Start::Timestamp(dohle_wire::id::Timestamp(9999)))];
    call(&mut world, 4, Call::Offsets(times.to_vec()));
    world.pass(SECOND);
    assert_eq!(done(&mut world, 1), Some(Ok(Reply::Committing)));
    let expected = Reply::Committed(BTreeMap::from([(at(1), noted)]));
    assert_eq!(done(&mut world, 2), Some(Ok(expected)));
    let Some(Ok(Reply::Offsets(found))) = done(&mut world, 3) else { panic!("no offsets") };
    let found: Vec<i64> = found.values().map(|found| found.offset.0).collect();
    assert_eq!(found, [0, 3]);
    assert_eq!(done(&mut world, 4), Some(Ok(Reply::Offsets(BTreeMap::new()))));
    assert_eq!(world.machine.lag(&at(0)), Some(0));
    append(&mut world.broker, 0, &["d", "e"]);
    world.pass(SECOND);
    assert_eq!(world.machine.lag(&at(0)), Some(2));
    let nowhere = TopicPartition::new("nowhere", 0);
    call(&mut world, 5, Call::Offsets(vec![(nowhere, Start::Latest)]));
    world.pass(Duration::from_secs(61));
    assert_eq!(done(&mut world, 5), Some(Err(GroupError::TimedOut)));
}

#[test]
fn offsets_are_committed_in_the_callback_of_a_revocation() {
    for protocol in BOTH {
        let mut settings = config(protocol);
        settings.group.auto_commit = false;
        let mut world = reader(settings);
        world.input(Input::Unsubscribe);
        world.input(Input::Poll { max_records: 9 });
        assert_eq!(seen(&mut world).rebalances, [Rebalance::Revoked(parts(&[0, 1]))]);
        assert_eq!(commit(&mut world), Ok(Reply::Committing));
        assert_eq!(world.broker.groups.size(), 1, "it is a member until this is acknowledged");
        world.input(Input::Acknowledge);
        world.pass(SECOND);
        assert_eq!(world.broker.groups.size(), 0);
        assert_eq!(committed(&world), BTreeMap::from([(0, 3), (1, 3)]));
    }
}

#[test]
fn a_pattern_follows_the_topics_that_match() {
    for protocol in BOTH {
        let mut world = member(config(protocol), broker());
        let pattern = Pattern::new("t|more-.*").expect("a pattern");
        world.input(Input::Subscribe(Subscription::Pattern(pattern)));
        assert_eq!(polls(&mut world, 5).values.len(), 6);
        world.broker.create("more-1", 1);
        world.broker.create("any-more-1", 1);
        world.pass(Duration::from_secs(299));
        polls(&mut world, 10);
        let topics: Vec<&str> = world.machine.assignment().map(|at| &*at.topic).collect();
        assert_eq!(topics, ["more-1", "t", "t"], "{protocol:?}");
    }
}

#[test]
fn more_partitions_begin_a_rebalance() {
    for protocol in BOTH {
        let mut world = reader(config(protocol));
        let more = super::broker::Log::empty(1);
        world.broker.topics.get_mut("t").expect("a topic").logs.push(more);
        world.broker.groups.epoch += 1;
        world.pass(Duration::from_secs(299));
        polls(&mut world, 10);
        assert_eq!(world.machine.assignment().count(), 3);
    }
}

#[test]
fn a_topic_that_is_gone_is_given_up_without_waiting_for_its_commit() {
    let mut world = reader(config(GroupProtocol::Classic));
    world.broker.topics.clear();
    world.pass(Duration::from_secs(298));
    let seen = polls(&mut world, 8);
    let expected = [Rebalance::Revoked(parts(&[0, 1])), Rebalance::Assigned(parts(&[]))];
    assert_eq!(seen.rebalances, expected);
    world.broker.create("t", 1);
    world.pass(Duration::from_secs(5));
    assert_eq!(polls(&mut world, 8).rebalances.last(), Some(&Rebalance::Assigned(parts(&[0]))));
}

/// Puts another topic in the place of `t`, without the offsets of the old one, as brokers do.
fn replace_topic(world: &mut World<Consumer>, values: &[&str]) {
    world.broker.create("t", 2);
    append(&mut world.broker, 0, values);
    append(&mut world.broker, 1, values);
    world.broker.groups.offsets.clear();
}

#[test]
fn a_topic_created_anew_is_read_from_its_first_record() {
    for protocol in BOTH {
        for auto_commit in [true, false] {
            let mut config = config(protocol);
            config.group.auto_commit = auto_commit;
            let mut world = reader(config);
            replace_topic(&mut world, &["d", "e", "f", "g"]);
            let mut values = polls(&mut world, 20).values;
            values.sort();
            // What was not committed may be read again: the group hands the partitions over.
            values.dedup();
            let wanted = ["0d", "0e", "0f", "0g", "1d", "1e", "1f", "1g"];
            assert_eq!(values, wanted, "{protocol:?} {auto_commit}");
            commit(&mut world).expect("committed");
            assert_eq!(committed(&world), BTreeMap::from([(0, 4), (1, 4)]));
        }
    }
}

#[test]
fn what_was_read_of_a_topic_is_not_committed_for_its_successor() {
    for protocol in BOTH {
        let mut config = config(protocol);
        config.group.auto_commit = false;
        let mut world = reader(config);
        replace_topic(&mut world, &["d"]);
        // The metadata of the client are older than the topic.
        let given = BTreeMap::from([(at(0), OffsetAndMetadata::at(Offset(3)))]);
        call(&mut world, 1, Call::Commit(Some(given)));
        world.pass(SECOND / 20);
        assert_eq!(committed(&world), BTreeMap::new(), "{protocol:?}");
        assert!(world.broker.count(ApiKey::OffsetCommit) > 0);
    }
}

#[test]
fn another_subscription_changes_what_is_read() {
    for protocol in BOTH {
        let mut world = reader(config(protocol));
        world.broker.create("u", 1);
        world.input(Input::Subscribe(Subscription::to(["u"])));
        polls(&mut world, 8);
        let topics: Vec<&str> = world.machine.assignment().map(|at| &*at.topic).collect();
        assert_eq!(topics, ["u"]);
        let all = BTreeMap::from([(0, 3), (1, 3)]);
        assert_eq!(committed(&world), all, "{protocol:?}: committed before");
    }
}

#[test]
fn assigning_by_hand_ends_the_membership() {
    let mut world = reader(config(GroupProtocol::Classic));
    world.input(Input::Assign(vec![(at(1), Start::Offset(Offset(2)))]));
    let seen = polls(&mut world, 5);
    assert_eq!(world.machine.assignment().collect::<Vec<_>>(), [&at(1)]);
    assert_eq!(seen.values, ["1c"]);
    assert_eq!(world.broker.groups.size(), 0);
    // Offsets are committed all the same, from outside of the group.
    assert_eq!(commit(&mut world), Ok(Reply::Committing));
}

#[test]
fn a_seek_and_a_pause_hold_while_the_partition_stays() {
    let mut settings = config(GroupProtocol::Classic);
    settings.group.strategies = vec![Strategy::CooperativeSticky];
    let mut world = reader(settings);
    world.input(Input::Pause(at(0), true));
    world.input(Input::Seek(at(1), Start::Offset(Offset(1))));
    world.broker.groups.faults.push_back((ApiKey::Heartbeat, ErrorCode::RebalanceInProgress));
    append(&mut world.broker, 0, &["d"]);
    let before = world.broker.groups.classic.generation;
    let seen = polls(&mut world, 8);
    assert!(world.broker.groups.classic.generation > before, "it has joined again");
    assert_eq!(seen.values, ["1b", "1c"]);
    assert_eq!(seen.rebalances, [Rebalance::Assigned(parts(&[]))]);
}

#[test]
fn old_brokers_without_the_consumer_protocol_are_told_apart() {
    let mut broker = broker();
    broker.newest.insert(ApiKey::ConsumerGroupHeartbeat, -1);
    let mut world = member(config(GroupProtocol::Consumer), broker);
    subscribe(&mut world);
    assert_eq!(polls(&mut world, 5).errors, [GroupError::Unsupported]);
}

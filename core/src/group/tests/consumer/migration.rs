//! Groups that change their protocol while they work.

use dohle_wire::consumer_protocol::{decode_assignment, encode_assignment, encode_subscription};
use dohle_wire::message::consumer_protocol_assignment::TopicPartition;
use dohle_wire::message::consumer_protocol_subscription::TopicPartition as OwnedPartition;
use dohle_wire::message::{ConsumerProtocolAssignment, ConsumerProtocolSubscription};

use super::*;

/// What a consumer says that owns partitions of a topic.
fn said(topics: &[&str], owned: &[i32]) -> Bytes {
    let owned = OwnedPartition { topic: "t".into(), partitions: owned.to_vec() };
    let subscription = ConsumerProtocolSubscription {
        topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
        owned_partitions: vec![owned],
        ..Default::default()
    };
    encode_subscription(&subscription, 1).unwrap()
}

fn rejoin(member: &str, owned: &[i32]) -> Join {
    Join { protocols: vec![("range".into(), said(&["t"], owned))], ..join(member) }
}

fn assignment(indexes: &[i32]) -> Bytes {
    let topic = TopicPartition { topic: "t".into(), partitions: indexes.to_vec() };
    let assignment =
        ConsumerProtocolAssignment { assigned_partitions: vec![topic], user_data: None };
    encode_assignment(&assignment, 1).unwrap()
}

fn indexes(assignment: &Bytes) -> Vec<i32> {
    let (assignment, _) = decode_assignment(assignment.clone()).unwrap();
    assignment.assigned_partitions.into_iter().flat_map(|topic| topic.partitions).collect()
}

/// A classic group of one member that reads all four partitions of `t`.
pub(super) fn classic(world: &mut World) -> MemberId {
    let request = world.join(rejoin("", &[]));
    let id = world.join_answer(request).unwrap_err().member;
    let request = world.join(rejoin(&id, &[]));
    world.wait(GATHER_MS);
    assert_eq!(world.joined(request).generation, 1);
    let sync = Sync {
        caller: caller(&id, 1),
        protocol_type: None,
        protocol: None,
        assignments: vec![(Arc::clone(&id), assignment(&[0, 1, 2, 3]))],
    };
    let request = world.ask(Request::Sync(sync));
    assert_eq!(indexes(&world.assigned(request)), [0, 1, 2, 3]);
    id
}

fn world(policy: &str) -> World {
    World::with_topics(&[("t", 4)], |settings| settings.migration = Migration::named(policy))
}

/// A member of the classic protocol joins; gives its generation and what it is given.
pub(super) fn round(world: &mut World, id: &str, owned: &[i32]) -> (i32, Vec<i32>) {
    let request = world.join(rejoin(id, owned));
    let joined = world.joined(request);
    assert_eq!((&*joined.member, &*joined.leader, &*joined.protocol), (id, "", "range"));
    let request = world.sync(id, joined.generation, &[]);
    (joined.generation, indexes(&world.assigned(request)))
}

#[test]
fn a_classic_group_becomes_a_consumer_group_and_one_again() {
    let mut world = world("bidirectional");
    let id = classic(&mut world);
    let told = world.told(enter("new", &["t"]));
    assert_eq!((told.epoch, told.assigned), (2, Some(BTreeSet::new())));
    let upgrade = ["group", "member", "epoch", "target", "target epoch", "current"];
    assert_eq!(kinds(&world.last)[..6], upgrade);
    assert!(world.recorded().is_none());
    assert_eq!(world.owns(&id), parts("t", 0..4), "it keeps what it had");
    // The classic member goes on: it gives up two partitions and keeps two.
    assert_eq!(world.beat(&id, 1), ErrorCode::RebalanceInProgress);
    assert_eq!(world.commit(caller(&id, 1), 5), Ok(vec![ErrorCode::None]));
    assert_eq!(round(&mut world, &id, &[0, 1, 2, 3]), (1, vec![0, 1]));
    assert_eq!(world.beat(&id, 1), ErrorCode::RebalanceInProgress, "it has to say that it did");
    assert_eq!(round(&mut world, &id, &[0, 1]), (2, vec![0, 1]));
    assert_eq!(world.beat(&id, 2), ErrorCode::None);
    assert_eq!(world.news(beat("new", 2)), (2, Some(parts("t", 2..4))));
    assert_eq!(world.consumer_state(), ConsumerState::Stable);
    assert_eq!(world.beat(&id, 1), ErrorCode::IllegalGeneration);
    assert_eq!(world.beat("new", 2), ErrorCode::UnknownMemberId, "it speaks another protocol");
    world.restart();
    assert_eq!(world.beat(&id, 2), ErrorCode::None);
    // The last one of the new protocol leaves.
    world.told(beat("new", -1));
    assert_eq!(kinds(&world.last).last(), Some(&"group"));
    assert_eq!(world.state(), ClassicState::PreparingRebalance);
    assert_eq!(world.beat(&id, 3), ErrorCode::RebalanceInProgress);
    let request = world.join(rejoin(&id, &[0, 1]));
    assert_eq!(world.joined(request).generation, 4);
    assert_eq!(world.committed("t"), Some(5));
}

#[test]
fn the_policy_says_what_may_change() {
    for policy in ["disabled", "downgrade"] {
        let mut world = world(policy);
        classic(&mut world);
        assert_eq!(world.code(enter("new", &["t"])), ErrorCode::GroupIdNotFound, "{policy}");
        assert_eq!(world.state(), ClassicState::Stable);
    }
    let mut world = world("UPGRADE");
    let id = classic(&mut world);
    world.told(enter("new", &["t"]));
    world.told(beat("new", -1));
    assert_eq!(world.group().members().count(), 1, "it stays what it is");
    assert_eq!(round(&mut world, &id, &[0, 1, 2, 3]), (3, vec![0, 1, 2, 3]));
}

#[test]
fn groups_that_do_something_else_cannot_change() {
    let mut world = world("bidirectional");
    let connect = Join { protocol_type: "connect".into(), needs_member_id: false, ..join("") };
    world.join(connect);
    world.wait(GATHER_MS);
    assert_eq!(world.code(enter("new", &["t"])), ErrorCode::GroupIdNotFound);
}

#[test]
fn an_empty_group_is_of_the_next_members_protocol() {
    let mut world = world("disabled");
    let id = classic(&mut world);
    world.leave(&[(&id, None)]);
    assert_eq!(world.state(), ClassicState::Empty);
    assert_eq!(world.told(enter("new", &["t"])).epoch, 1);
    assert_eq!(kinds(&world.last)[0], "group");
    world.told(beat("new", -1));
    classic(&mut world);
    assert_eq!(world.state(), ClassicState::Stable);
}

#[test]
fn who_waits_in_a_join_comes_again() {
    let mut world = world("bidirectional");
    let request = world.join(Join { needs_member_id: false, ..rejoin("", &[]) });
    world.told(enter("new", &["t"]));
    let refusal = world.join_answer(request).unwrap_err();
    assert_eq!(refusal.code, ErrorCode::RebalanceInProgress);
    assert_eq!(round(&mut world, &refusal.member, &[]).1.len(), 2);
    world.settle_down(&["new"]);
}

#[test]
fn classic_members_join_consumer_groups_and_leave_them() {
    let mut world = world("upgrade");
    world.told(enter("new", &["t"]));
    let odd = Join { protocol_type: "connect".into(), ..rejoin("", &[]) };
    assert_eq!(world.refused(odd), ErrorCode::InconsistentGroupProtocol);
    assert_eq!(world.refused(rejoin("", &[])), ErrorCode::MemberIdRequired);
    let (generation, _) = round(&mut world, "old", &[]);
    let other = Join { protocols: vec![("other".into(), said(&["t"], &[]))], ..join("third") };
    assert_eq!(world.refused(other), ErrorCode::InconsistentGroupProtocol);
    assert_eq!(world.sync_code("old", generation + 1), ErrorCode::IllegalGeneration);
    assert_eq!(world.leave(&[("who", None), ("new", None)]), [ErrorCode::UnknownMemberId; 2]);
    assert_eq!(world.leave(&[("old", None), ("old", None)])[0], ErrorCode::None);
    assert_eq!(world.group().members().count(), 1);
}

#[test]
fn a_classic_member_that_does_not_come_when_it_is_told_is_out() {
    let mut world = world("upgrade");
    let id = classic(&mut world);
    world.told(enter("new", &["t"]));
    for _ in 0..7 {
        assert_eq!(world.beat(&id, 1), ErrorCode::RebalanceInProgress);
        world.wait(REBALANCE_MS / 7);
        let _ = world.beats(beat("new", 2));
    }
    world.wait(1_000);
    assert_eq!(world.beat(&id, 1), ErrorCode::UnknownMemberId);
    assert_eq!(world.news(beat("new", 2)), (3, Some(parts("t", 0..4))));
}

#[test]
fn the_last_consumer_of_an_instance_may_be_replaced_by_a_classic_one() {
    let mut world = world("bidirectional");
    let id = classic(&mut world);
    world.told(enter_as("i", "new", &["t"]));
    let request = world.join(Join { instance: Some("i".into()), ..rejoin("", &[]) });
    assert!(world.waits(request));
    assert_eq!(world.state(), ClassicState::PreparingRebalance);
    let other = world.join(rejoin(&id, &[]));
    assert_eq!(world.joined(request).generation, world.joined(other).generation);
}

impl World {
    #[track_caller]
    fn sync_code(&mut self, member: &str, generation: i32) -> ErrorCode {
        let request = self.sync(member, generation, &[]);
        self.synced(request).unwrap_err()
    }
}

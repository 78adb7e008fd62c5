use super::*;
use crate::{Action, Checker, Op};

fn key(partition: i32) -> Key {
    Key::new("t", partition)
}

struct History(Checker, u64);

impl History {
    fn new() -> Self {
        Self(Checker::new(), 0)
    }

    fn did(mut self, process: u64, action: GroupAction) -> Self {
        let action = Action::Group { group: "g".to_owned(), action };
        self.0.observe(&Op { process, time: self.1, action });
        self
    }

    fn after(mut self, ms: u64) -> Self {
        self.1 += ms * 1_000_000;
        self
    }

    fn asked(self, process: u64) -> Self {
        self.did(process, GroupAction::Asked)
    }

    fn joined(self, process: u64, generation: i32, member: &str) -> Self {
        let (member, id) = (member.to_owned(), member.to_owned());
        self.did(process, GroupAction::Joined { generation, member, id, members: None })
    }

    fn led(self, process: u64, generation: i32, member: &str, members: &[&str]) -> Self {
        let (member, id) = (member.to_owned(), member.to_owned());
        let members = members.iter().map(|id| ((*id).to_owned(), None)).collect();
        let members = Some(members);
        self.did(process, GroupAction::Joined { generation, member, id, members })
    }

    fn synced(self, process: u64, generation: i32, member: &str, owned: &[i32]) -> Self {
        let owned = owned.iter().map(|partition| key(*partition)).collect();
        self.did(process, GroupAction::Synced { generation, member: member.to_owned(), owned })
    }

    fn assigned(self, process: u64, epoch: i32, member: &str, owned: &[i32]) -> Self {
        let owned = owned.iter().map(|partition| key(*partition)).collect();
        let (member, id) = (member.to_owned(), member.to_owned());
        self.asked(process).did(process, GroupAction::Assigned { epoch, member, id, owned })
    }

    /// A generation that one member leads, alone.
    fn alone(self, process: u64, generation: i32, member: &str) -> Self {
        self.asked(process).led(process, generation, member, &[member]).asked(process).synced(
            process,
            generation,
            member,
            &[0],
        )
    }

    fn commit(self, process: u64, generation: i32, offset: i64) -> Self {
        let offsets = vec![(key(0), offset)];
        self.asked(process).did(process, GroupAction::Commit { generation, offsets })
    }

    fn ended(self, process: u64, accepted: bool) -> Self {
        self.did(process, GroupAction::Committed { keys: vec![key(0)], accepted })
    }

    fn committed(self, process: u64, generation: i32, offset: i64) -> Self {
        self.commit(process, generation, offset).ended(process, true)
    }

    fn told(self, process: u64, offset: Option<i64>) -> Self {
        self.did(process, GroupAction::Fetched(vec![(key(0), offset)]))
    }

    fn fetched(self, process: u64, offset: Option<i64>) -> Self {
        self.asked(process).told(process, offset)
    }

    fn finds(self, anomalies: &[Anomaly]) {
        assert_eq!(self.0.finish().anomalies, anomalies);
    }
}

fn group() -> String {
    "g".to_owned()
}

fn lost(committed: i64, told: Option<i64>) -> Anomaly {
    Anomaly::LostCommit { group: group(), key: key(0), committed, told }
}

#[test]
fn a_good_history_has_no_anomaly() {
    let history = History::new()
        .fetched(1, None)
        .alone(1, 1, "a")
        .committed(1, 1, 5)
        .fetched(2, Some(5))
        .alone(2, 2, "b")
        .committed(2, 2, 6)
        .fetched(1, Some(6));
    let counts = history.0.counts();
    assert_eq!((counts.commits, counts.commits_fetched, counts.generations), (2, 2, 2));
    history.finds(&[]);
}

#[test]
fn an_acknowledged_commit_that_is_not_told_is_lost() {
    let history = || History::new().committed(1, 1, 5).committed(1, 1, 6);
    history().fetched(1, Some(5)).finds(&[lost(6, Some(5))]);
    history().fetched(1, None).finds(&[lost(6, None)]);
}

#[test]
fn what_was_told_once_is_not_taken_back() {
    let history = History::new().committed(1, 1, 5).commit(1, 1, 6).fetched(1, Some(6));
    history.fetched(1, Some(5)).finds(&[lost(6, Some(5))]);
}

#[test]
fn an_answer_may_be_older_than_what_others_committed_meanwhile() {
    History::new().committed(1, 1, 5).asked(2).committed(1, 1, 6).told(2, Some(5)).finds(&[]);
}

#[test]
fn a_commit_of_unknown_fate_may_take_effect_late_in_its_generation() {
    let history = |later| History::new().commit(1, 1, 5).committed(1, later, 6);
    history(1).fetched(1, Some(5)).finds(&[]);
    history(2).fetched(1, Some(5)).finds(&[lost(6, Some(5))]);
}

#[test]
fn a_commit_that_was_forgotten_may_be_told_or_not() {
    let forgotten = || {
        let history = History::new().committed(1, 1, 5).committed(1, 1, 6);
        history.asked(2).did(0, GroupAction::Forgotten)
    };
    forgotten().told(2, Some(5)).finds(&[]);
    forgotten().fetched(1, None).finds(&[]);
    let kept = forgotten().fetched(1, Some(5)).committed(1, 1, 7);
    kept.fetched(1, Some(6)).finds(&[lost(7, Some(6))]);
}

#[test]
fn an_offset_that_nobody_committed_is_a_phantom() {
    let phantom = |offset| Anomaly::PhantomCommit { group: group(), key: key(0), offset };
    History::new().committed(1, 1, 5).fetched(1, Some(9)).finds(&[phantom(9)]);
    History::new().commit(1, 1, 5).ended(1, false).fetched(1, Some(5)).finds(&[phantom(5)]);
}

#[test]
fn a_commit_from_before_a_complete_generation_is_stale() {
    let stale = |offset| Anomaly::StaleCommit {
        group: group(),
        key: key(0),
        offset,
        generation: 1,
        known: 2,
    };
    let history = || History::new().alone(1, 1, "a");
    history().alone(2, 2, "b").committed(1, 1, 5).finds(&[stale(5)]);
    history().alone(2, 2, "b").commit(1, 1, 5).ended(1, false).finds(&[]);
    history().commit(1, 1, 5).alone(2, 2, "b").ended(1, true).finds(&[]);
}

#[test]
fn generations_do_not_go_back() {
    let back = Anomaly::GenerationBack { group: group(), known: 2, told: 1 };
    let history = || History::new().alone(1, 2, "a").committed(1, 2, 5);
    history().asked(1).led(1, 1, "a", &["a"]).finds(std::slice::from_ref(&back));
    history().asked(2).synced(2, 1, "b", &[]).finds(std::slice::from_ref(&back));
    history().did(0, GroupAction::Forgotten).alone(1, 1, "a").finds(&[]);
    // A group with neither members nor offsets begins anew, but not for one that is a member.
    let empty = || History::new().alone(1, 2, "a");
    empty().asked(2).joined(2, 1, "b").finds(&[]);
    empty().asked(1).led(1, 1, "a", &["a"]).finds(&[back]);
    history().did(0, GroupAction::Expires).alone(2, 1, "b").finds(&[]);
    // It was on its way when the next was made.
    let late = History::new().asked(2).alone(1, 2, "a").committed(1, 2, 5);
    late.joined(2, 1, "b").finds(&[]);
}

#[test]
fn what_a_coordinator_says_from_long_ago_does_not_tell_what_a_member_has() {
    let history = |forgets: bool, out: bool| {
        let history = History::new().assigned(1, 3, "a", &[0]);
        let history = if forgets { history.did(0, GroupAction::Forgotten) } else { history };
        let history = if out { history.did(1, GroupAction::Out) } else { history };
        // It knew of an earlier "a", which had nothing in that epoch.
        history.assigned(1, 4, "a", &[0]).assigned(2, 7, "b", &[0]).committed(1, 4, 5)
    };
    let stale = |generation| Anomaly::StaleCommit {
        group: group(),
        key: key(0),
        offset: 5,
        generation,
        known: 7,
    };
    history(true, false).finds(&[]);
    history(false, false).finds(&[stale(3)]);
    history(true, true).finds(&[stale(4)]);
}

#[test]
fn a_generation_is_not_given_to_others() {
    let twice = |member: &str| Anomaly::GenerationTwice {
        group: group(),
        generation: 1,
        member: member.to_owned(),
    };
    let history = || History::new().alone(1, 1, "a").committed(1, 1, 5);
    history().asked(1).led(1, 1, "a", &["a"]).finds(&[]);
    history().asked(2).joined(2, 1, "b").finds(&[twice("b")]);
    history().asked(2).led(2, 1, "b", &["b"]).finds(&[twice("b")]);
    history().asked(2).synced(2, 1, "b", &[]).finds(&[twice("b")]);
    // One that was never complete is not remembered.
    let never = || History::new().asked(1).led(1, 1, "a", &["a"]);
    never().alone(2, 1, "b").finds(&[]);
    let follows = never().asked(2).led(2, 1, "b", &["a2", "b"]).asked(1).joined(1, 1, "a2");
    follows.asked(2).synced(2, 1, "b", &[0]).asked(1).synced(1, 1, "a2", &[1]).finds(&[]);
}

#[test]
fn a_partition_has_one_owner_in_a_generation() {
    let history = || {
        let history =
            History::new().asked(1).led(1, 1, "a", &["a", "b"]).asked(2).joined(2, 1, "b");
        history.asked(1).synced(1, 1, "a", &[0, 1]).asked(2)
    };
    history().synced(2, 1, "b", &[2]).finds(&[]);
    let shared = Anomaly::SharedPartition {
        group: group(),
        generation: 1,
        key: key(1),
        first: "a".to_owned(),
        second: "b".to_owned(),
    };
    history().synced(2, 1, "b", &[1, 2]).finds(&[shared]);
}

#[test]
fn a_member_is_one_process() {
    let twice =
        Anomaly::MemberTwice { group: group(), member: "a".to_owned(), first: 1, second: 2 };
    let history = || History::new().asked(1).joined(1, 1, "a");
    history().asked(1).joined(1, 2, "a").asked(2).joined(2, 2, "b").finds(&[]);
    history().asked(2).joined(2, 1, "a").finds(&[twice]);
}

#[test]
fn a_group_waits_for_nobody_for_ever() {
    let stalls = || {
        let joined = History::new().asked(1).joined(1, 1, "a");
        joined.did(1, GroupAction::Stalls { limit_ms: 2_000 })
    };
    let alive = |history: History| history.asked(1).did(1, GroupAction::Alive);
    let overstays = Anomaly::Overstays { group: group(), process: 1 };
    alive(alive(stalls().after(5_000))).finds(&[]);
    alive(stalls().after(5_001)).finds(&[]);
    alive(alive(stalls().after(5_001))).finds(&[overstays]);
    let again = stalls().asked(1).joined(1, 2, "a").after(5_001);
    alive(alive(again)).finds(&[]);
    let hinders = |mut history: History, hindered| {
        let action = Action::Hindered(hindered);
        history.0.observe(&Op { process: 0, time: history.1, action });
        history
    };
    let stalls_meanwhile = hinders(stalls(), true).did(1, GroupAction::Stalls { limit_ms: 2_000 });
    alive(alive(hinders(stalls_meanwhile, false).after(5_001))).finds(&[]);
    let told_before = History::new().asked(1).joined(1, 1, "a").asked(1).joined(1, 1, "a");
    let told_before = told_before.did(1, GroupAction::Stalls { limit_ms: 2_000 });
    alive(alive(told_before.after(5_001))).finds(&[]);
    let back = stalls().did(1, GroupAction::Out).after(5_001);
    alive(alive(back)).finds(&[]);
}

#[test]
fn an_instance_is_one_member() {
    let joined = |second: &str| {
        let members = [("a", "first"), ("b", second)];
        let members = members.map(|(id, instance)| (id.to_owned(), Some(instance.to_owned())));
        let (member, id, members) = ("first".to_owned(), "a".to_owned(), Some(members.into()));
        let joined = GroupAction::Joined { generation: 1, member, id, members };
        History::new().asked(1).did(1, joined)
    };
    joined("second").finds(&[]);
    let instance = "first".to_owned();
    joined("first").finds(&[Anomaly::InstanceTwice { group: group(), generation: 1, instance }]);
}

#[test]
fn offsets_expire_only_while_there_is_no_member() {
    let history = |expires: bool| {
        let history = History::new();
        let history = if expires { history.did(0, GroupAction::Expires) } else { history };
        history.alone(1, 1, "a").committed(1, 1, 5)
    };
    history(false).fetched(1, None).finds(&[lost(5, None)]);
    // Nobody knows whether it still is a member.
    history(true).fetched(1, None).finds(&[]);
    history(true).fetched(1, None).did(1, GroupAction::Out).finds(&[]);
    history(true).fetched(1, None).did(1, GroupAction::Alive).finds(&[lost(5, None)]);
    // The group may have been without members before this one came.
    let later = history(true).alone(2, 2, "b").fetched(2, None);
    later.did(2, GroupAction::Alive).finds(&[]);
    // What expired may be committed anew, and counts again.
    let anew = history(true).fetched(2, None).committed(2, 1, 6);
    anew.fetched(2, Some(5)).finds(&[lost(6, Some(5))]);
}

#[test]
fn a_group_that_was_deleted_is_gone_until_somebody_comes() {
    let history = || {
        let history = History::new().alone(1, 3, "a").committed(1, 3, 5);
        history.did(2, GroupAction::Deleted)
    };
    let back = [Anomaly::Undeleted { group: group() }];
    let described = |exists| GroupAction::Described { exists };
    history().fetched(2, None).did(2, described(false)).finds(&[]);
    history().did(2, described(true)).finds(&back);
    history().fetched(2, Some(5)).finds(&back);
    history().alone(3, 1, "b").did(2, described(true)).finds(&[]);
}

#[test]
fn a_partition_has_one_owner_in_an_epoch() {
    let history = || {
        let history = History::new().assigned(1, 1, "a", &[0, 1]).committed(1, 1, 5);
        history.assigned(2, 2, "b", &[]).assigned(1, 1, "a", &[0])
    };
    history().assigned(1, 2, "a", &[0]).assigned(2, 2, "b", &[1]).finds(&[]);
    let shared = Anomaly::SharedPartition {
        group: group(),
        generation: 2,
        key: key(0),
        first: "a".to_owned(),
        second: "b".to_owned(),
    };
    history().assigned(1, 2, "a", &[0]).assigned(2, 2, "b", &[0, 1]).finds(&[shared]);
    // So does one whose members speak another protocol, when there is none left.
    let other = || History::new().did(0, GroupAction::Restarts).assigned(1, 5, "a", &[0]);
    other().committed(1, 5, 5).assigned(2, 1, "b", &[0]).committed(2, 1, 6).finds(&[]);
    // Whoever was to join again may be out by then.
    let rejoins = |history: History| history.did(1, GroupAction::Rejoins).alone(1, 1, "a");
    rejoins(History::new().did(0, GroupAction::Restarts).alone(1, 5, "a")).finds(&[]);
    let back = Anomaly::GenerationBack { group: group(), known: 5, told: 1 };
    rejoins(History::new().alone(1, 5, "a")).finds(&[back.clone(), back]);
    // A group that nobody was in and that committed nothing begins anew.
    let empty = History::new().assigned(1, 1, "a", &[0]).did(1, GroupAction::Out);
    empty.assigned(2, 1, "b", &[0]).finds(&[]);
}

#[test]
fn the_epoch_of_a_member_does_not_go_back() {
    let back = Anomaly::GenerationBack { group: group(), known: 2, told: 1 };
    let history = || History::new().assigned(1, 2, "a", &[0]);
    history().assigned(2, 1, "b", &[]).finds(&[]);
    history().did(1, GroupAction::Out).assigned(1, 1, "a", &[]).finds(&[]);
    history().assigned(1, 1, "a", &[0]).finds(&[back]);
}

#[test]
fn a_commit_for_what_another_member_was_given_is_stale() {
    let history = || History::new().assigned(1, 1, "a", &[0]).assigned(2, 2, "b", &[]);
    let stale = |known| Anomaly::StaleCommit {
        group: group(),
        key: key(0),
        offset: 5,
        generation: 1,
        known,
    };
    history().committed(1, 1, 5).finds(&[]);
    history().assigned(1, 2, "a", &[0]).committed(1, 2, 5).finds(&[]);
    let again = history().assigned(2, 2, "b", &[0]).assigned(1, 3, "a", &[0]);
    again.committed(1, 3, 5).finds(&[]);
    history().assigned(2, 2, "b", &[0]).committed(1, 1, 5).finds(&[stale(2)]);
    history().commit(1, 1, 5).assigned(2, 2, "b", &[0]).ended(1, true).finds(&[]);
}

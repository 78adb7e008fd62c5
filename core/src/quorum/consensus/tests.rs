//! The rules of elections and replication, one by one.

use dohle_wire::id::Timestamp;

use super::*;

const MS: u64 = 1_000_000;

/// A log of which only the epochs count.
#[derive(Clone, Debug, Default)]
struct Log {
    epochs: Vec<i32>,
    durable: usize,
}

impl LogView for Log {
    fn end(&self) -> Offset {
        Offset(self.epochs.len() as i64)
    }

    fn durable(&self) -> Offset {
        Offset(self.durable as i64)
    }

    fn last_epoch(&self) -> LeaderEpoch {
        LeaderEpoch(self.epochs.last().copied().unwrap_or(0))
    }

    fn end_of(&self, epoch: LeaderEpoch) -> (LeaderEpoch, Offset) {
        let end = self.epochs.partition_point(|found| *found <= epoch.0);
        let found = end.checked_sub(1).map_or(0, |at| self.epochs[at]);
        (LeaderEpoch(found), Offset(end as i64))
    }

    fn is_settled(&self) -> bool {
        self.durable == self.epochs.len()
    }
}

/// One node, node 1, whose writes end at once.
struct Bench {
    machine: Consensus,
    log: Log,
    ms: u64,
    told: Vec<Effect>,
    /// Writes of ballots do not end.
    slow: bool,
}

fn replica(node: i32) -> Replica {
    Replica { node: NodeId(node), directory: Uuid::ZERO }
}

fn now(ms: u64) -> Now {
    Now { mono: Instant(ms * MS), wall: Timestamp(0) }
}

fn settings(voters: &[i32]) -> Settings {
    Settings {
        own: replica(1),
        voters: voters.iter().copied().map(replica).collect(),
        election_ms: 1000,
        fetch_ms: 2000,
        backoff_ms: 1000,
        retry_ms: 20,
        wait_ms: 500,
        seed: 7,
    }
}

fn ballot(epoch: i32, leader: Option<i32>, voted: Option<i32>) -> Ballot {
    Ballot { epoch: LeaderEpoch(epoch), leader: leader.map(NodeId), voted: voted.map(replica) }
}

impl Bench {
    fn new(voters: &[i32]) -> Self {
        Self::with(voters, Ballot::default(), &[])
    }

    /// Comes up with that on its disk.
    fn with(voters: &[i32], stored: Ballot, epochs: &[i32]) -> Self {
        let log = Log { epochs: epochs.to_vec(), durable: epochs.len() };
        let machine = Consensus::new(settings(voters), stored, now(0));
        Self { machine, log, ms: 0, told: Vec::new(), slow: false }
    }

    /// Follows node 2 in epoch 3, and has fetched from it.
    fn following() -> Self {
        let mut bench = Self::with(&[1, 2, 3], ballot(3, Some(2), None), &[1, 3]);
        bench.tick(0);
        bench.answer(2, Kind::Fetch, records(3, 2, Some(2)));
        bench.told.clear();
        bench
    }

    /// Leads epoch 1 among three.
    fn leading() -> Self {
        let mut bench = Self::new(&[1, 2, 3]);
        bench.tick(2000);
        bench.answer(2, Kind::Vote, said(0, None, Outcome::Voted(true)));
        bench.answer(2, Kind::Vote, said(1, None, Outcome::Voted(true)));
        assert!(bench.machine.is_leader(), "{:?}", bench.machine);
        bench
    }

    fn input(&mut self, input: Input) {
        let mut fx = Fx::new();
        self.machine.step(now(self.ms), input, &self.log, &mut fx);
        let effects: Vec<Effect> = fx.drain().collect();
        for effect in effects {
            self.told.push(effect.clone());
            match effect {
                Effect::Store(_) if !self.slow => self.input(Input::Stored),
                Effect::Lead(epoch) => self.append(epoch.0),
                Effect::Truncate(to) => {
                    self.log.epochs.truncate(to.0 as usize);
                    self.log.durable = self.log.durable.min(to.0 as usize);
                    self.input(Input::Log);
                }
                _ => {}
            }
        }
    }

    fn append(&mut self, epoch: i32) {
        self.log.epochs.push(epoch);
        self.input(Input::Log);
    }

    fn sync(&mut self) {
        self.log.durable = self.log.epochs.len();
        self.input(Input::Log);
    }

    fn tick(&mut self, ms: u64) {
        self.ms += ms;
        self.input(Input::Tick);
    }

    fn answer(&mut self, from: i32, kind: Kind, answer: Answer) {
        self.input(Input::Answer(NodeId(from), kind, answer));
    }

    fn request(&mut self, request: Request) -> Option<Answer> {
        self.input(Input::Request(Token(9), request));
        let last = self.told.iter().rev().find_map(|effect| match effect {
            Effect::Answer(Token(9), answer) => Some(answer.clone()),
            _ => None,
        });
        self.told.retain(|effect| !matches!(effect, Effect::Answer(Token(9), _)));
        last
    }

    fn fetch(&mut self, from: i32, epoch: i32, at: i64, last: i32) -> Option<Answer> {
        self.request(Request::Fetch(Fetch {
            replica: replica(from),
            epoch: LeaderEpoch(epoch),
            from: Offset(at),
            last_epoch: LeaderEpoch(last),
            high_watermark: Offset(0),
        }))
    }

    /// What was sent since it was last asked.
    fn sent(&mut self) -> Vec<(i32, Request)> {
        let told = std::mem::take(&mut self.told);
        let sent = told.into_iter().filter_map(|effect| match effect {
            Effect::Send(to, request) => Some((to.0, request)),
            _ => None,
        });
        sent.collect()
    }

    fn committed(&self) -> Vec<i64> {
        let committed = self.told.iter().filter_map(|effect| match effect {
            Effect::Committed(high) => Some(high.0),
            _ => None,
        });
        committed.collect()
    }
}

fn said(epoch: i32, leader: Option<i32>, outcome: Outcome) -> Answer {
    Answer { epoch: LeaderEpoch(epoch), leader: leader.map(NodeId), outcome: Ok(outcome) }
}

fn records(epoch: i32, leader: i32, high: Option<i64>) -> Answer {
    let high_watermark = high.map(Offset);
    said(epoch, Some(leader), Outcome::Records { batches: Bytes::new(), high_watermark })
}

fn vote(candidate: i32, epoch: i32, last: (i32, i64), pre: bool) -> Request {
    Request::Vote(Vote {
        pre,
        candidate: replica(candidate),
        voter: replica(1),
        epoch: LeaderEpoch(epoch),
        last_epoch: LeaderEpoch(last.0),
        end: Offset(last.1),
    })
}

fn granted(answer: Option<Answer>) -> bool {
    matches!(answer, Some(Answer { outcome: Ok(Outcome::Voted(true)), .. }))
}

#[test]
fn a_sole_voter_leads_at_once() {
    let mut bench = Bench::new(&[1]);
    bench.tick(0);
    assert_eq!(bench.log.epochs, [1]);
    assert_eq!(bench.committed(), [0; 0]);
    bench.sync();
    assert_eq!(bench.committed(), [1]);
    bench.tick(1_000_000);
    assert!(bench.machine.is_leader(), "it waits for nobody");
}

#[test]
fn nobody_hears_of_a_vote_that_is_not_durable() {
    let mut bench = Bench::new(&[1, 2, 3]);
    bench.slow = true;
    assert_eq!(bench.request(vote(2, 1, (0, 0), false)), None);
    assert_eq!(bench.told, [Effect::Store(ballot(1, None, Some(2)))]);
    bench.input(Input::Stored);
    let answered = |effect: &Effect| matches!(effect, Effect::Answer(..));
    assert!(bench.told.iter().any(answered), "{:?}", bench.told);
    assert!(!granted(bench.request(vote(3, 1, (0, 0), false))), "one vote in an epoch");
}

#[test]
fn a_vote_goes_to_who_has_as_much() {
    let mut bench = Bench::with(&[1, 2, 3], ballot(3, None, None), &[1, 3]);
    for (last, given) in [((1, 9), false), ((3, 1), false), ((3, 2), true), ((4, 0), true)] {
        assert_eq!(granted(bench.request(vote(2, 5, last, true))), given, "{last:?}");
    }
    assert!(granted(bench.request(vote(2, 6, (3, 2), false))));
    assert!(granted(bench.request(vote(2, 6, (3, 2), false))), "asked again");
    assert_eq!(bench.machine.ballot(), ballot(6, None, Some(2)));
}

#[test]
fn odd_requests_are_refused() {
    let mut bench = Bench::with(&[1, 2, 3], ballot(3, Some(2), None), &[1, 3]);
    let mut refused = |request| bench.request(request).unwrap().outcome.unwrap_err();
    assert_eq!(refused(vote(2, 2, (1, 1), false)), Refusal::Fenced);
    assert_eq!(refused(vote(2, 4, (4, 1), false)), Refusal::Invalid);
    assert_eq!(refused(vote(2, 4, (5, 1), true)), Refusal::Invalid);
    let begin =
        |epoch, leader| Request::Begin { epoch: LeaderEpoch(epoch), leader: NodeId(leader) };
    assert_eq!(refused(begin(2, 3)), Refusal::Fenced);
    assert_eq!(refused(begin(3, 3)), Refusal::Invalid, "2 leads it");
    assert_eq!(refused(begin(9, 1)), Refusal::Invalid, "this is 1");
    let directory = Uuid::from_u128(5);
    let Request::Vote(other) = vote(2, 9, (3, 2), false) else { unreachable!() };
    bench.machine.settings.own.directory = Uuid::from_u128(4);
    let other = Vote { voter: Replica { directory, ..other.voter }, ..other };
    let answer = bench.request(Request::Vote(other)).unwrap();
    assert_eq!((answer.outcome, answer.epoch.0), (Err(Refusal::NotMeant), 3));
    assert_eq!(bench.fetch(2, 2, 0, 0).unwrap().outcome, Err(Refusal::Fenced));
    assert_eq!(bench.fetch(2, 3, 0, 0).unwrap().outcome, Err(Refusal::NotLeader));
    assert_eq!(bench.fetch(2, 4, 0, 0).unwrap().outcome, Err(Refusal::Unknown));
}

#[test]
fn nobody_is_voted_for_beside_a_leader_that_works() {
    let mut bench = Bench::following();
    assert!(!granted(bench.request(vote(3, 3, (3, 2), true))));
    assert_eq!(bench.machine.ballot(), ballot(3, Some(2), None), "and nobody gets another epoch");
    bench.input(Input::Failed { to: NodeId(2), kind: Kind::Fetch, refused: true });
    assert!(granted(bench.request(vote(3, 3, (3, 2), true))), "nobody listens there any more");
    bench.tick(0);
    let asked: Vec<i32> = bench.sent().iter().map(|(to, _)| *to).collect();
    assert_eq!(asked, [2, 3], "it stands at once");
}

#[test]
fn one_that_is_outvoted_follows_again() {
    let mut bench = Bench::following();
    bench.tick(2000);
    assert_eq!(bench.sent().len(), 2);
    bench.answer(3, Kind::Vote, said(3, Some(2), Outcome::Voted(false)));
    bench.answer(2, Kind::Vote, said(3, Some(2), Outcome::Voted(false)));
    assert_eq!(bench.machine.ballot(), ballot(3, Some(2), None));
    assert!(matches!(bench.machine.role, Role::Follower(_)), "{:?}", bench.machine.role);
}

#[test]
fn a_leader_that_restarts_has_resigned() {
    let mut bench = Bench::with(&[1, 2, 3], ballot(3, Some(1), Some(1)), &[1, 3]);
    bench.tick(0);
    let sent = bench.sent();
    assert!(matches!(sent[..], [(2, Request::End { .. }), (3, Request::End { .. })]), "{sent:?}");
    assert!(!granted(bench.request(vote(2, 3, (3, 2), true))), "not in that epoch");
    bench.tick(2000);
    assert_eq!(bench.machine.ballot(), ballot(4, None, None));
}

#[test]
fn the_leader_of_an_epoch_counts_what_is_durable_and_its_own() {
    let mut bench = Bench::leading();
    bench.append(1);
    assert_eq!(bench.fetch(2, 1, 2, 1), None);
    assert_eq!(bench.committed(), [0; 0], "its own log counts as little as is synced");
    bench.sync();
    assert_eq!(bench.committed(), [2]);
    assert_eq!(bench.fetch(3, 1, 1, 1), None);
    bench.append(1);
    bench.sync();
    assert_eq!(bench.committed(), [2], "a third of the voters is no majority");
    assert_eq!(bench.fetch(3, 1, 3, 1), None);
    assert_eq!(bench.committed(), [2, 3]);
}

#[test]
fn nothing_is_committed_before_a_record_of_the_own_epoch_is() {
    let mut bench = Bench::with(&[1, 2, 3], ballot(3, None, None), &[1, 3]);
    bench.tick(2000);
    bench.answer(2, Kind::Vote, said(3, None, Outcome::Voted(true)));
    bench.answer(2, Kind::Vote, said(4, None, Outcome::Voted(true)));
    assert_eq!(bench.log.epochs, [1, 3, 4]);
    bench.sync();
    bench.fetch(2, 4, 2, 3);
    assert_eq!(bench.committed(), [0; 0]);
    bench.fetch(2, 4, 3, 4);
    assert_eq!(bench.committed(), [3]);
}

#[test]
fn logs_that_differ_are_told_where() {
    let mut bench = Bench::with(&[1, 2, 3], ballot(3, None, None), &[1, 3, 3]);
    bench.tick(2000);
    bench.answer(2, Kind::Vote, said(3, None, Outcome::Voted(true)));
    bench.answer(2, Kind::Vote, said(4, None, Outcome::Voted(true)));
    let diverging =
        |epoch, end| Ok(Outcome::Diverging { epoch: LeaderEpoch(epoch), end: Offset(end) });
    assert_eq!(bench.fetch(2, 4, 5, 2).unwrap().outcome, diverging(1, 1));
    assert_eq!(bench.fetch(2, 4, 5, 3).unwrap().outcome, diverging(3, 3));
    assert_eq!(bench.fetch(2, 4, 3, 3), None);
}

#[test]
fn a_follower_cuts_what_its_leader_does_not_have() {
    let mut bench = Bench::with(&[1, 2, 3], ballot(5, Some(2), None), &[1, 3, 3, 4]);
    bench.tick(0);
    let diverging = Outcome::Diverging { epoch: LeaderEpoch(3), end: Offset(2) };
    bench.answer(2, Kind::Fetch, said(5, Some(2), diverging));
    assert_eq!(bench.log.epochs, [1, 3]);
    let (_, last) = bench.sent().pop().expect("it goes on");
    let Request::Fetch(fetch) = last else { panic!("{last:?}") };
    assert_eq!((fetch.from, fetch.last_epoch), (Offset(2), LeaderEpoch(3)));
}

#[test]
#[should_panic(expected = "Q8")]
fn what_is_committed_is_not_cut() {
    let mut bench = Bench::following();
    assert_eq!(bench.machine.high_watermark(), Some(Offset(2)));
    let diverging = Outcome::Diverging { epoch: LeaderEpoch(1), end: Offset(1) };
    bench.answer(2, Kind::Fetch, said(3, Some(2), diverging));
}

#[test]
fn a_follower_asks_when_what_it_has_is_durable() {
    let mut bench = Bench::following();
    let batches = Bytes::from_static(b"one");
    let answer = Outcome::Records { batches: batches.clone(), high_watermark: Some(Offset(3)) };
    bench.answer(2, Kind::Fetch, said(3, Some(2), answer));
    assert_eq!(bench.told, [Effect::Append(batches)]);
    bench.append(3);
    assert_eq!(bench.committed(), [3]);
    assert_eq!(bench.sent(), [], "the offset of a Fetch says that all below is durable");
    bench.sync();
    assert_eq!(bench.sent().len(), 1);
}

#[test]
fn a_leader_that_too_few_follow_resigns() {
    let mut bench = Bench::leading();
    bench.tick(2900);
    bench.fetch(2, 1, 0, 0);
    bench.tick(2900);
    assert!(bench.machine.is_leader(), "one of two others is enough");
    bench.told.clear();
    bench.tick(200);
    bench.tick(0);
    assert!(!bench.machine.is_leader());
    assert!(bench.told.contains(&Effect::Follow));
    let ends = bench.sent().iter().filter(|(_, r)| matches!(r, Request::End { .. })).count();
    assert_eq!(ends, 2);
}

#[test]
fn the_one_with_the_most_stands_first_when_a_leader_ends() {
    for (place, candidates) in [(0, [1, 3]), (1, [3, 1])] {
        let mut bench = Bench::following();
        let candidates = candidates.map(replica).to_vec();
        let end = Request::End { epoch: LeaderEpoch(3), leader: NodeId(2), candidates };
        assert_eq!(bench.request(end).unwrap().outcome, Ok(Outcome::Noted));
        bench.tick(0);
        let stands = bench.sent().iter().any(|(_, request)| matches!(request, Request::Vote(_)));
        assert_eq!(stands, place == 0);
        let (at, _) = bench.machine.deadline().expect("it waits");
        assert!(place == 0 || at <= Instant(40 * MS), "{at:?}");
    }
}

#[test]
fn one_that_is_no_voter_never_stands_and_finds_the_leader() {
    let mut bench = Bench::new(&[2, 3]);
    bench.tick(100_000);
    let sent = bench.sent();
    assert!(matches!(sent[..], [(_, Request::Fetch(_))]), "{sent:?}");
    let asked = sent[0].0;
    let refused = Err(Refusal::NotLeader);
    let answer =
        Answer { epoch: LeaderEpoch(7), leader: Some(NodeId(5 - asked)), outcome: refused };
    bench.answer(asked, Kind::Fetch, answer);
    let sent = bench.sent();
    assert!(matches!(sent[..], [(to, Request::Fetch(_))] if to == 5 - asked), "{sent:?}");
    bench.tick(100_000);
    assert!(bench.sent().iter().all(|(_, request)| matches!(request, Request::Fetch(_))));
}

#[test]
fn a_fetch_waits_for_records_or_for_what_is_committed() {
    let mut bench = Bench::leading();
    bench.sync();
    assert_eq!(bench.fetch(2, 1, 1, 1), None);
    let served = |bench: &mut Bench| {
        let told = std::mem::take(&mut bench.told);
        told.into_iter().find_map(|effect| match effect {
            Effect::Serve { from, answer, .. } => Some((from.0, answer.outcome)),
            _ => None,
        })
    };
    let nothing = |high| Ok(Outcome::Records { batches: Bytes::new(), high_watermark: high });
    assert_eq!(served(&mut bench), Some((1, nothing(Some(Offset(1))))), "1 is committed by it");
    let waits = |bench: &mut Bench| {
        bench.request(Request::Fetch(Fetch {
            replica: replica(2),
            epoch: LeaderEpoch(1),
            from: Offset(1),
            last_epoch: LeaderEpoch(1),
            high_watermark: Offset(1),
        }));
        served(bench)
    };
    assert_eq!(waits(&mut bench), None);
    bench.tick(500);
    assert!(served(&mut bench).is_some(), "half a second");
    assert_eq!(waits(&mut bench), None);
    bench.append(1);
    assert!(served(&mut bench).is_some(), "records");
}

#[test]
fn timeouts_are_drawn_between_one_and_two() {
    let mut seen = BTreeSet::new();
    for seed in 0..200 {
        let settings = Settings { seed, ..settings(&[1, 2, 3]) };
        let machine = Consensus::new(settings, Ballot::default(), now(0));
        let (at, _) = machine.deadline().expect("it stands some time");
        assert!((1000 * MS..2000 * MS).contains(&at.0), "{at:?}");
        seen.insert(at);
    }
    assert!(seen.len() > 150, "{}", seen.len());
}

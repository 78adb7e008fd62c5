//! Members that join, leave, vanish, come back, are slow to give up partitions and change what they
//! read, while topics grow and go and answers are lost, in schedules drawn from seeds, on a
//! coordinator that loses what it had not committed.
//!
//! Each step is held against the rules of who owns and commits what (G1 to G3, G5); in the end
//! everyone is well again and has to have its part (G6, G10), and then silent, and nothing is left.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;

const SEEDS: u64 = 40;
const STEPS: u32 = 400;
const CLIENTS: usize = 6;
const TOPICS: [&str; 4] = ["ta", "tb", "u", "v"];

struct Client {
    id: String,
    instance: Option<Arc<str>>,
    /// The epoch that it believes in; 0 before it has joined.
    epoch: i32,
    reads: BTreeSet<Arc<str>>,
    pattern: Option<Arc<str>>,
    /// What it may read, as far as it knows.
    assigned: BTreeSet<Part>,
    /// What it reads.
    owned: BTreeSet<Part>,
    /// Its heartbeat on the way.
    asked: Option<u64>,
    /// Whether it has to say everything, because an answer was lost or it has changed.
    whole: bool,
}

impl Client {
    fn beat(&self) -> ConsumerHeartbeat {
        let whole = self.whole || self.epoch == 0;
        let rebalance_timeout_ms = whole.then(|| i32::try_from(REVOKE_MS).unwrap());
        ConsumerHeartbeat {
            instance: self.instance.clone(),
            rebalance_timeout_ms,
            topics: whole.then(|| self.reads.clone()),
            pattern: whole.then(|| self.pattern.clone().unwrap_or_default()),
            ..beat_with(&self.id, self.epoch, self.owned.clone())
        }
    }

    /// An answer is lost. Its heartbeat has not named what it was given and has not taken yet, so
    /// that may be somebody else's by now.
    fn hear_nothing(&mut self) {
        self.assigned = self.owned.clone();
        self.whole = true;
    }

    fn abandon(&mut self) {
        self.epoch = 0;
        self.assigned.clear();
        self.owned.clear();
        self.asked = None;
        self.whole = true;
    }
}

struct Schedule {
    world: World,
    dice: ChaCha8Rng,
    clients: Vec<Client>,
    born: u32,
    epochs: BTreeMap<MemberId, i32>,
    seen: BTreeMap<&'static str, u32>,
}

impl Schedule {
    fn new(seed: u64) -> Self {
        let topics = [("ta", 3), ("u", 2), ("v", 1)];
        let mut world = World::with_topics(&topics, |settings| {
            settings.consumer_max_size = CLIENTS + 2;
            settings.consumer_assignment_interval_ms =
                if seed.is_multiple_of(2) { 0 } else { 1_000 };
        });
        world.hold = true;
        let mut schedule = Self {
            world,
            dice: ChaCha8Rng::seed_from_u64(seed),
            clients: Vec::new(),
            born: 0,
            epochs: BTreeMap::new(),
            seen: BTreeMap::new(),
        };
        for at in 0..CLIENTS {
            let client = schedule.born(at);
            schedule.clients.push(client);
        }
        schedule
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice.next_u64() % sides
    }

    fn saw(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    /// A client's process starts.
    fn born(&mut self, at: usize) -> Client {
        self.born += 1;
        let mut client = Client {
            id: format!("m{at}-{}", self.born),
            instance: (at < 2).then(|| format!("i{at}").into()),
            epoch: 0,
            reads: BTreeSet::new(),
            pattern: None,
            assigned: BTreeSet::new(),
            owned: BTreeSet::new(),
            asked: None,
            whole: true,
        };
        self.subscribe(&mut client);
        client
    }

    fn subscribe(&mut self, client: &mut Client) {
        let names = TOPICS.iter().filter(|_| self.dice.next_u64().is_multiple_of(2));
        client.reads = names.map(|name| Arc::from(*name)).collect();
        client.pattern = self.dice.next_u64().is_multiple_of(3).then(|| "t.*".into());
        if client.pattern.is_none() {
            client.reads.insert("u".into());
        }
        client.whole = true;
    }

    fn step(&mut self) {
        let at = usize::try_from(self.roll(CLIENTS as u64)).unwrap();
        match self.roll(200) {
            0..=109 => self.go_on(at),
            110..=149 => drop(self.world.commit_one()),
            150..=164 => {
                let ms = self.roll(3_000);
                self.world.wait(ms);
            }
            165 => {
                let ms = self.roll(90_000);
                self.world.wait(ms);
            }
            166..=170 => self.change(at),
            171..=173 => self.leave(at),
            174 => self.clients[at] = self.born(at),
            175..=178 => self.grow(),
            179 => self.restart(),
            180..=183 => self.lose(at),
            184..=195 => self.commit(at),
            _ => self.world.commit_all(),
        }
        self.check();
    }

    /// A client does what comes next: takes an answer in, works on what it was told, or asks.
    fn go_on(&mut self, at: usize) {
        if let Some(request) = self.clients[at].asked {
            if !self.world.waits(request) {
                self.take(at, request);
            }
            return;
        }
        let lazy = self.roll(4) == 0;
        let client = &mut self.clients[at];
        let kept: BTreeSet<Part> = client.owned.intersection(&client.assigned).copied().collect();
        match () {
            () if lazy => {}
            () if kept != client.owned => client.owned = kept,
            () => client.owned = client.assigned.clone(),
        }
        let beat = client.beat();
        client.asked = Some(self.world.ask(Request::ConsumerHeartbeat(Box::new(beat))));
    }

    fn take(&mut self, at: usize, request: u64) {
        let answer = self.world.answer(request);
        let client = &mut self.clients[at];
        client.asked = None;
        match answer {
            Answer::ConsumerBeaten(Ok(told)) => {
                client.whole = false;
                client.epoch = told.epoch;
                if let Some(assigned) = told.assigned {
                    client.assigned = assigned;
                    self.saw("assigned");
                }
            }
            Answer::ConsumerBeaten(Err(refusal)) => {
                client.abandon();
                self.saw(match refusal.code {
                    ErrorCode::FencedMemberEpoch => "fenced",
                    ErrorCode::UnknownMemberId => "unknown",
                    ErrorCode::UnreleasedInstanceId => "unreleased",
                    _ => "refused",
                });
            }
            _ => client.hear_nothing(),
        }
    }

    fn change(&mut self, at: usize) {
        let mut client = self.born(at);
        std::mem::swap(&mut client, &mut self.clients[at]);
        let new = &self.clients[at];
        let (reads, pattern) = (new.reads.clone(), new.pattern.clone());
        self.clients[at] = Client { reads, pattern, whole: true, ..client };
    }

    fn leave(&mut self, at: usize) {
        let client = &mut self.clients[at];
        if client.epoch == 0 {
            return;
        }
        let back = client.instance.is_some();
        let epoch = if back { -2 } else { -1 };
        let beat =
            ConsumerHeartbeat { instance: client.instance.clone(), ..beat(&client.id, epoch) };
        client.abandon();
        self.world.ask(Request::ConsumerHeartbeat(Box::new(beat)));
        self.clients[at] = self.born(at);
        self.saw(if back { "left for a while" } else { "left" });
    }

    fn grow(&mut self) {
        let topic = TOPICS[usize::try_from(self.roll(4)).unwrap()];
        let count = usize::try_from(self.roll(5)).unwrap();
        self.world.set_topic(topic, count);
    }

    /// An answer is lost.
    fn lose(&mut self, at: usize) {
        if self.clients[at].asked.take().is_some() {
            self.clients[at].hear_nothing();
            self.saw("lost");
        }
    }

    fn restart(&mut self) {
        self.world.restart();
        self.epochs.clear();
        self.saw("restart");
    }

    /// G3: a commit counts only of a member that owns the partition, in an epoch in which it did.
    fn commit(&mut self, at: usize) {
        let behind = i32::from(self.roll(6) == 0);
        let client = &self.clients[at];
        let claimed = client.epoch - behind;
        let Some((topic, index)) = client.owned.iter().next().copied() else { return };
        let caller = Caller { instance: client.instance.clone(), ..caller(&client.id, claimed) };
        let part = CommitPart { topic_id: Some(topic), ..part("u", index.0, 1, "") };
        let group = self.world.coordinator.groups.get(GROUP).and_then(Group::consumer);
        let member = group.and_then(|g| g.members().find(|(id, _)| ***id == client.id));
        let current = member.map(|(_, member)| member.current.clone()).unwrap_or_default();
        let owned = current.assigned.get(&(topic, index));
        let since = owned.or_else(|| current.revoking.get(&(topic, index)));
        let counts = member.is_some()
            && (current.epoch == claimed
                || claimed < current.epoch && since.is_some_and(|s| *s <= claimed));
        self.world.ask(Request::Commit(Commit { caller, knows_epochs: true, offsets: vec![part] }));
        assert_eq!(!self.world.last.is_empty(), counts, "G3: {}", self.clients[at].id);
        self.saw(if counts { "commit" } else { "commit refused" });
    }

    fn check(&mut self) {
        let Some(group) = self.world.coordinator.groups.get(GROUP).and_then(Group::consumer) else {
            return self.epochs.clear();
        };
        let mut readers: BTreeMap<Part, &str> = BTreeMap::new();
        for client in &self.clients {
            if group.members().any(|(id, _)| **id == client.id) {
                for part in &client.owned {
                    let other = readers.insert(*part, &client.id);
                    assert_eq!(other, None, "G1: {part:?} is read by {} too", client.id);
                }
            }
        }
        let before = std::mem::take(&mut self.epochs);
        for (id, member) in group.members() {
            // A static member that left, or is back, begins anew.
            let epoch = member.current.epoch;
            let last = before.get(id).copied().unwrap_or(epoch);
            assert!(epoch <= 0 || epoch >= last, "G2: {id} went from {last} to {epoch}");
            self.epochs.insert(Arc::clone(id), epoch.max(0));
        }
        let (name, epoch) = (Arc::clone(group.name()), group.epoch());
        assert!(before.get(&name).is_none_or(|last| *last <= epoch), "G2: the group");
        self.epochs.insert(name, epoch);
    }

    /// Everyone is well: all have to have their parts.
    fn heal(&mut self) {
        (self.world.hold, self.world.quick) = (false, true);
        for round in 0..60 {
            for at in 0..CLIENTS {
                self.world.commit_all();
                for _ in 0..2 {
                    let answered = &self.world.answers;
                    self.clients[at].asked.take_if(|request| answered.contains_key(request));
                    self.clients[at].whole |= round < 20;
                    self.go_on_well(at);
                }
                self.check();
            }
            self.world.wait(2_000);
        }
        self.world.audit();
        let group = self.world.group();
        assert_eq!(group.state(), ConsumerState::Stable, "G6, G10");
        let mut all = BTreeSet::new();
        for client in &self.clients {
            let (_, member) = group.members().find(|(id, _)| ***id == client.id).expect("in");
            let own: BTreeSet<Part> = member.current.assigned.keys().copied().collect();
            assert_eq!(own, client.owned, "{} reads what it may", client.id);
            assert_eq!(Some(&own), group.target(&client.id), "G6: {}", client.id);
            assert_eq!(member.current.epoch, group.epoch(), "G6: {}", client.id);
            for (topic, _) in &own {
                let name = &self.world.topics.by_id(*topic).expect("G5: a topic that is").name;
                let by_pattern = client.pattern.is_some() && name.starts_with('t');
                assert!(client.reads.contains(name) || by_pattern, "G5: {name}");
            }
            all.extend(own);
        }
        let read = |topic: &&Arc<Topic>| {
            let pattern = |client: &Client| client.pattern.is_some() && topic.name.starts_with('t');
            self.clients.iter().any(|client| client.reads.contains(&topic.name) || pattern(client))
        };
        let topics = self.world.topics.iter().filter(read);
        assert_eq!(all, topics.flat_map(|topic| topic.parts()).collect(), "G5: all is read");
    }

    fn go_on_well(&mut self, at: usize) {
        let client = &mut self.clients[at];
        client.owned = client.assigned.clone();
        let beat = client.beat();
        let request = self.world.ask(Request::ConsumerHeartbeat(Box::new(beat)));
        self.take(at, request);
    }

    /// Everyone is silent.
    fn end(mut self) -> BTreeMap<&'static str, u32> {
        self.heal();
        self.world.wait(60_000);
        assert_eq!(self.world.consumer_state(), ConsumerState::Empty, "G10");
        self.world.wait(8 * 24 * 3_600_000);
        assert!(self.world.log.is_empty(), "{:?}", self.world.log);
        self.check_replay();
        assert_eq!(self.world.replied, self.world.asked, "LV2: each request is answered");
        self.seen
    }

    /// The log as it was written, with all that is over, says the same.
    fn check_replay(&self) {
        let mut again = GroupCoordinator::new(Arc::clone(&self.world.settings), 3);
        self.world.raw.iter().for_each(|record| again.replay(record.clone()));
        assert_eq!(again.groups().count(), 0);
    }
}

#[test]
fn random_schedules() {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in 0..SEEDS {
        let mut schedule = Schedule::new(seed);
        (0..STEPS).for_each(|_| schedule.step());
        for (what, count) in schedule.end() {
            *seen.entry(what).or_default() += count;
        }
    }
    let least = [
        ("assigned", 500),
        ("commit", 150),
        ("commit refused", 20),
        ("fenced", 0),
        ("unknown", 10),
        ("restart", 20),
        ("lost", 50),
        ("left", 20),
        ("left for a while", 20),
    ];
    for (what, least) in least {
        assert!(seen.get(what).is_some_and(|count| *count > least), "too little {what}: {seen:?}");
    }
}

//! Clients that join, work, crash and lie, in schedules drawn from seeds, on a coordinator that
//! loses what it had not committed.
//!
//! Each step is held against the rules of who owns, commits and sees what (G1 to G4, G6, G7, G9);
//! [`World::audit`] compares what is remembered with what is known (G8); in the end everyone is
//! silent, and everything has to come to rest (G10).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::*;
use crate::group::classic::ClassicGroup;

const SEEDS: u64 = 100;
const STEPS: u32 = 500;
const GROUPS: [&str; 2] = ["g", "h"];
const PARTITIONS: usize = 6;
const ROUND_MS: i64 = 20_000;

/// This one of the clients never asks for its part, in every other schedule.
const LAZY: usize = 3;

/// Where a client is.
enum Doing {
    Nothing,
    Joining(u64),
    Joined(Box<Joined>),
    Syncing(u64),
    Working,
}

/// The last generation that was seen of a group, and who made it up.
type Generation = (i32, Option<BTreeSet<Arc<str>>>);

struct Client {
    group: &'static str,
    instance: Option<Arc<str>>,
    id: MemberId,
    generation: i32,
    doing: Doing,
}

impl Client {
    fn caller(&self) -> Caller {
        Caller {
            group: self.group.into(),
            member: Arc::clone(&self.id),
            instance: self.instance.clone(),
            generation: self.generation,
        }
    }

    /// What it does after an error.
    fn begin_anew(&mut self, code: ErrorCode) {
        if matches!(code, ErrorCode::UnknownMemberId | ErrorCode::FencedInstanceId) {
            self.id = "".into();
            self.generation = -1;
        }
        self.doing = Doing::Nothing;
    }
}

struct Schedule {
    world: World,
    dice: ChaCha8Rng,
    clients: Vec<Client>,
    lazy: bool,
    /// Fetches that wait.
    fetches: Vec<(u64, &'static str)>,
    generations: BTreeMap<&'static str, Generation>,
    /// How often something worth testing came about.
    seen: BTreeMap<&'static str, u32>,
}

impl Schedule {
    fn new(seed: u64) -> Self {
        let mut world = World::with(|settings| {
            settings.max_size = 4;
            settings.offsets_retention_ms = 90_000;
            settings.offsets_retention_check_interval_ms = 20_000;
        });
        world.hold = true;
        let clients = (0..8_usize).map(|number| Client {
            group: GROUPS[number % 2],
            instance: (number >= 4).then(|| format!("i{}", number % 3).into()),
            id: "".into(),
            generation: -1,
            doing: Doing::Nothing,
        });
        Self {
            world,
            dice: ChaCha8Rng::seed_from_u64(seed),
            clients: clients.collect(),
            lazy: seed % 2 == 1,
            fetches: Vec::new(),
            generations: BTreeMap::new(),
            seen: BTreeMap::new(),
        }
    }

    fn roll(&mut self, sides: u64) -> u64 {
        self.dice.next_u64() % sides
    }

    fn saw(&mut self, what: &'static str) {
        *self.seen.entry(what).or_default() += 1;
    }

    fn step(&mut self) {
        let number = usize::try_from(self.roll(8)).unwrap();
        match self.roll(400) {
            0..=259 => self.go_on(number),
            260..=309 => self.commit_some(),
            310..=339 => {
                let ms = self.roll(4_000);
                self.world.wait(ms);
            }
            340 => {
                let ms = self.roll(120_000);
                self.world.wait(ms);
            }
            341..=352 => self.lie(number),
            353..=357 => self.clients[number].begin_anew(ErrorCode::UnknownMemberId),
            358..=362 => self.leave(number),
            363..=380 => self.fetch(number),
            381..=384 => self.manage(number),
            385..=390 => self.by_hand(number),
            391 => self.restart(),
            _ => self.commit_all(),
        }
        self.check();
    }

    /// A client does what comes next.
    fn go_on(&mut self, number: usize) {
        let client = &mut self.clients[number];
        match std::mem::replace(&mut client.doing, Doing::Nothing) {
            Doing::Nothing => self.join(number),
            Doing::Joining(request) if self.world.waits(request) => {
                client.doing = Doing::Joining(request);
            }
            Doing::Joining(request) => self.on_joined(number, request),
            Doing::Joined(joined) if self.lazy && number == LAZY => {
                client.doing = Doing::Joined(joined);
                self.beat(number);
            }
            Doing::Joined(joined) => self.sync(number, &joined),
            Doing::Syncing(request) if self.world.waits(request) => {
                client.doing = Doing::Syncing(request);
            }
            Doing::Syncing(request) => self.on_synced(number, request),
            Doing::Working => self.work(number),
        }
    }

    fn join(&mut self, number: usize) {
        let sticky = self.roll(4) == 0;
        let topics: &[&str] = if self.roll(8) == 0 { &["t", "u"] } else { &["t"] };
        let mut protocols = vec![("range".into(), subscription(topics))];
        if sticky {
            protocols.insert(0, ("sticky".into(), subscription(topics)));
        }
        let client = &mut self.clients[number];
        let request = self.world.join(Join {
            group: client.group.into(),
            instance: client.instance.clone(),
            needs_member_id: number != 1,
            can_skip_assignment: number != 4,
            protocols,
            rebalance_timeout_ms: i32::try_from(ROUND_MS).unwrap(),
            ..join(&client.id)
        });
        client.doing = Doing::Joining(request);
    }

    fn on_joined(&mut self, number: usize, request: u64) {
        let answer = self.world.answer(request);
        let client = &mut self.clients[number];
        match answer {
            Answer::Joined(Ok(joined)) => {
                client.id = Arc::clone(&joined.member);
                client.generation = joined.generation;
                client.doing = Doing::Joined(Box::new(joined));
                self.saw("joined");
            }
            Answer::Joined(Err(refusal)) if refusal.code == ErrorCode::MemberIdRequired => {
                client.id = refusal.member;
            }
            Answer::Joined(Err(refusal)) => client.begin_anew(refusal.code),
            _ => client.begin_anew(ErrorCode::NotCoordinator),
        }
    }

    fn sync(&mut self, number: usize, joined: &Joined) {
        let client = &mut self.clients[number];
        let mut parts = vec![Vec::new(); joined.members.len()];
        if !joined.skip_assignment && !parts.is_empty() {
            let len = parts.len();
            (0..PARTITIONS).for_each(|partition| {
                parts[partition % len].push(u8::try_from(partition).unwrap());
            });
        }
        let members = joined.members.iter().map(|member| Arc::clone(&member.member));
        let assignments = members.zip(parts).map(|(id, part)| (id, part.into())).collect();
        let (protocol_type, protocol) = (Some("consumer".into()), Some(joined.protocol.clone()));
        let sync = Sync { caller: client.caller(), protocol_type, protocol, assignments };
        let request = self.world.ask(Request::Sync(sync));
        self.clients[number].doing = Doing::Syncing(request);
    }

    fn on_synced(&mut self, number: usize, request: u64) {
        let answer = self.world.answer(request);
        let client = &mut self.clients[number];
        match answer {
            Answer::Synced(Ok(synced)) => {
                client.doing = Doing::Working;
                let group = self.world.coordinator.groups.get(client.group);
                let group = group.and_then(Group::classic);
                let current = group.filter(|group| {
                    let stable = group.state() == ClassicState::Stable;
                    stable && group.generation() == client.generation
                });
                let member =
                    current.and_then(|group| group.members().find(|(id, _)| **id == client.id));
                if let Some((_, member)) = member {
                    assert_eq!(*member.assignment(), synced.assignment, "G1: it is told its part");
                    self.saw("synced");
                }
            }
            Answer::Synced(Err(code)) => client.begin_anew(code),
            _ => client.begin_anew(ErrorCode::NotCoordinator),
        }
    }

    fn work(&mut self, number: usize) {
        let caller = self.clients[number].caller();
        let roll = self.roll(8);
        if roll == 0 {
            return;
        }
        self.clients[number].doing = Doing::Working;
        if roll < 4 { self.commit(caller) } else { self.beat(number) }
    }

    fn beat(&mut self, number: usize) {
        let request = self.world.ask(Request::Heartbeat(self.clients[number].caller()));
        let Answer::Beaten(code) = self.world.answer(request) else { panic!("beaten") };
        if code != ErrorCode::None {
            self.clients[number].begin_anew(code);
        }
    }

    /// G3: a commit counts exactly if its caller is in the generation, or nobody is.
    fn commit(&mut self, caller: Caller) {
        let group = self.world.coordinator.groups.get(&caller.group).and_then(Group::classic);
        let state = group.map_or(ClassicState::Empty, |group| group.state());
        let member = group.and_then(|group| {
            let known = group.members().find(|(id, _)| **id == caller.member);
            known.filter(|(_, member)| {
                caller.instance.is_none() || member.instance() == caller.instance.as_ref()
            })
        });
        let current = group.is_some_and(|group| group.generation() == caller.generation);
        let counts = match state {
            ClassicState::Empty | ClassicState::Dead => caller.generation < 0,
            ClassicState::CompletingRebalance => false,
            ClassicState::PreparingRebalance | ClassicState::Stable => member.is_some() && current,
        };
        let partition = i32::try_from(self.roll(3)).unwrap();
        let topic = if self.roll(3) == 0 { "u" } else { "t" };
        let offset = i64::try_from(self.roll(1_000)).unwrap();
        let offsets = vec![part(topic, partition, offset, "")];
        self.world.ask(Request::Commit(Commit { caller, knows_epochs: true, offsets }));
        assert_eq!(!self.world.last.is_empty(), counts, "G3: in state {state:?}");
        self.saw(if counts { "commit" } else { "commit refused" });
    }

    /// Somebody speaks for a generation or member that it is not in.
    fn lie(&mut self, number: usize) {
        let generation = i32::try_from(self.roll(5)).unwrap() - 1;
        let other = usize::try_from(self.roll(8)).unwrap();
        let member = if self.roll(4) == 0 { "who".into() } else { self.clients[other].id.clone() };
        let caller = Caller { generation, member, ..self.clients[number].caller() };
        match self.roll(3) {
            0 => drop(self.world.ask(Request::Heartbeat(caller))),
            1 => self.commit(caller),
            _ => {
                let (protocol_type, protocol) = (None, None);
                let assignments = Vec::new();
                let sync = Sync { caller, protocol_type, protocol, assignments };
                self.world.ask(Request::Sync(sync));
            }
        }
    }

    fn leave(&mut self, number: usize) {
        let client = &self.clients[number];
        let by_instance = client.instance.is_some() && number < 6;
        let id = if by_instance { "".into() } else { Arc::clone(&client.id) };
        let members = vec![(id, client.instance.clone(), Some("bye".into()))];
        self.world.ask(Request::Leave(Leave { group: client.group.into(), members }));
    }

    fn fetch(&mut self, number: usize) {
        let group = GROUPS[number % 2];
        let fetch = Fetch { group: group.into(), member: None, partitions: None };
        let request = self.world.ask(Request::Fetch(fetch));
        self.fetches.push((request, group));
    }

    fn by_hand(&mut self, number: usize) {
        self.commit(Caller { group: GROUPS[number % 2].into(), ..nobody() });
    }

    fn manage(&mut self, number: usize) {
        let group: Arc<str> = GROUPS[number % 2].into();
        match self.roll(6) {
            0 => drop(self.world.ask(Request::Delete(group))),
            1 => self.world.step(Input::TopicsGone(vec!["t".into()])),
            2 => drop(self.world.ask(Request::Describe(group))),
            3 => drop(self.world.ask(Request::List)),
            _ => {
                let partitions =
                    vec![("t".into(), PartitionIndex(0)), ("u".into(), PartitionIndex(1))];
                self.world.ask(Request::DeleteOffsets(DeleteOffsets { group, partitions }));
            }
        }
    }

    fn restart(&mut self) {
        self.world.restart();
        self.fetches.clear();
        self.generations.clear();
        self.saw("restart");
    }

    fn commit_some(&mut self) {
        for _ in 0..=self.roll(4) {
            self.world.commit_one();
            self.check_fetches();
        }
    }

    fn commit_all(&mut self) {
        while self.world.commit_one() {
            self.check_fetches();
        }
    }

    /// G4: what is shown is what is committed at that point of the log.
    fn check_fetches(&mut self) {
        let mut answered = 0;
        self.fetches.retain(|(request, group)| {
            if self.world.waits(*request) {
                return true;
            }
            let Answer::Fetched(Ok(found)) = self.world.answer(*request) else { panic!("found") };
            let committed = self.world.log.values().filter_map(|record| match record {
                Record::Offset { group: of, topic, partition, value } if &**of == *group => {
                    Some((Arc::clone(topic), *partition, value.clone()))
                }
                Record::Offset { .. } | Record::Group { .. } | Record::Consumer { .. } => None,
            });
            assert_eq!(found, committed.collect::<Vec<_>>(), "G4: {group}");
            answered += u32::from(!found.is_empty());
            false
        });
        *self.seen.entry("fetch").or_default() += answered;
    }

    fn check(&mut self) {
        for name in GROUPS {
            match self.world.coordinator.groups.get(name) {
                Some(group) => {
                    self.generations.insert(name, self.check_group(group.classic().unwrap()))
                }
                None => self.generations.remove(name),
            };
        }
    }

    fn check_group(&self, group: &ClassicGroup) -> Generation {
        let (name, generation, state) = (group.name(), group.generation(), group.state());
        let together = matches!(state, ClassicState::CompletingRebalance | ClassicState::Stable);
        let names = group.members().map(|(id, member)| member.instance().unwrap_or(id).clone());
        let members = together.then(|| names.collect::<BTreeSet<_>>());
        let (last, made_of) = self.generations.get(&**name).cloned().unwrap_or_default();
        assert!(generation >= last, "G2: {name} went back from {last} to {generation}");
        let known = made_of.filter(|_| generation == last);
        if let (Some(known), Some(members)) = (&known, &members) {
            assert_eq!(known, members, "G2: {name} in generation {generation}");
        }
        if state == ClassicState::Stable {
            let parts = group.members().flat_map(|(_, member)| member.assignment().to_vec());
            let all: Vec<u8> = parts.collect();
            let distinct: BTreeSet<_> = all.iter().collect();
            assert_eq!(distinct.len(), all.len(), "G1: {name} has a partition with two owners");
        }
        let (now, since) = (self.world.now().wall, group.since().unwrap_or_default());
        let settled = matches!(state, ClassicState::Stable | ClassicState::Empty);
        assert!(settled || now.0 - since.0 <= ROUND_MS, "G10: {name} is {state:?} since {since}");
        assert!(!together || group.members().count() <= 4, "{name} has too many members");
        (generation, members.or(known))
    }

    /// Everyone is silent.
    fn end(mut self) -> BTreeMap<&'static str, u32> {
        for _ in 0..20 {
            self.world.wait(60_000);
            self.commit_all();
        }
        let left: Vec<_> = self.world.coordinator.groups().map(|(name, _)| name).collect();
        assert!(left.is_empty(), "G10: {left:?} did not come to rest");
        assert!(self.world.log.is_empty(), "{:?}", self.world.log);
        assert_eq!(self.world.replied, self.world.asked, "LV2: each request is answered");
        self.seen
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
    let least = [("restart", 50), ("commit", 500), ("commit refused", 500), ("fetch", 500)];
    for (what, least) in least.into_iter().chain([("joined", 500), ("synced", 500)]) {
        assert!(seen.get(what).is_some_and(|count| *count > least), "too little {what}: {seen:?}");
    }
}

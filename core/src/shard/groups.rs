//! The coordinators that live on the shard's partitions of `__consumer_offsets`.

use super::deadlines::Deadlines;
use super::ledger::{Ledger, Loaded, batches};
use super::*;
use crate::group::own_settings::OwnSettings;
use crate::group::place::OFFSETS_TOPIC;
use crate::group::request as group;
use crate::group::topics::Topics;
use crate::group::{self as coordinator, GroupSettings};
use crate::mail::Refusal;
use crate::mutant::Mutants;

/// Coordinators by the slot of their partition.
#[derive(Clone, Debug)]
pub(super) struct Ledgers {
    pub(super) settings: Arc<GroupSettings>,
    seed: u64,
    pub(super) topics: Arc<Topics>,
    pub(super) own: Arc<OwnSettings>,
    pub(super) held: BTreeMap<u32, Ledger>,
    /// How many coordinators have begun: none of them draws what another one drew.
    begun: u32,
    pub(super) deadlines: Deadlines,
    inner: Fx<coordinator::Effect>,
}

impl Ledgers {
    pub(super) fn new(config: &BrokerConfig, seed: u64) -> Self {
        Self {
            settings: Arc::new(GroupSettings::of(config)),
            seed,
            topics: Arc::default(),
            own: Arc::default(),
            held: BTreeMap::new(),
            begun: 0,
            deadlines: Deadlines::default(),
            inner: Fx::new(),
        }
    }

    /// Plants bugs in coordinators that begin from now on.
    pub(super) fn plant(&mut self, mutants: Mutants) {
        Arc::make_mut(&mut self.settings).mutants = mutants;
    }

    pub(super) fn get(&self, slot: u32) -> Option<&Ledger> {
        self.held.get(&slot)
    }

    pub(super) fn deadline(&self) -> Deadline {
        self.deadlines.first()
    }

    /// Each coordinator draws its own member ids, a new one at each beginning.
    fn seed_of(&self, slot: u32, generation: u32) -> u64 {
        let own = u64::from(slot) << 32 | u64::from(generation);
        self.seed ^ own.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

impl Shard {
    /// A partition is open, or its metadata changed: its leader coordinates groups.
    pub(super) fn follow_leadership(&mut self, now: Now, slot: u32, fx: &mut Fx<Effect>) {
        let Some(partition) = self.slots.get(slot).and_then(Slot::open) else { return };
        let name = &partition.log().folder().path;
        let coordinates = name.rsplit_once('-').is_some_and(|(topic, _)| topic == OFFSETS_TOPIC);
        match (coordinates && partition.leads(), self.ledgers.held.contains_key(&slot)) {
            (true, false) if self.holds_back(slot) => {}
            (true, false) => self.begin_ledger(now, slot, fx),
            (false, true) => self.end_ledger(slot, ErrorCode::NotCoordinator, fx),
            (true, true) | (false, false) => {}
        }
    }

    fn begin_ledger(&mut self, now: Now, slot: u32, fx: &mut Fx<Effect>) {
        let Some(partition) = self.slots.get(slot).and_then(Slot::open) else { return };
        self.ledgers.begun += 1;
        let generation = self.ledgers.begun;
        let seed = self.ledgers.seed_of(slot, generation);
        let settings = &self.ledgers.settings;
        let (mut ledger, loaded) = Ledger::begin(slot, generation, settings, seed, partition, fx);
        ledger.coordinator.know(&self.ledgers.topics, &self.ledgers.own);
        self.ledgers.held.insert(slot, ledger);
        self.on_loaded(now, slot, loaded, fx);
    }

    /// Nobody is coordinated here any more: whoever waits is told to ask elsewhere, or again.
    pub(super) fn end_ledger(&mut self, slot: u32, code: ErrorCode, fx: &mut Fx<Effect>) {
        let Some(mut ledger) = self.ledgers.held.remove(&slot) else { return };
        self.ledgers.deadlines.set(slot, None);
        for (reply, answer) in ledger.drain() {
            group_answer(reply, answer.refused(code), fx);
        }
        let mut effects = Fx::new();
        ledger.coordinator.abandon(code, &mut effects);
        for effect in effects.drain() {
            match effect {
                coordinator::Effect::Answer(reply, answer) => group_answer(reply, answer, fx),
                coordinator::Effect::Note(text) => note(Level::Info, text, fx),
                coordinator::Effect::Commit(..) => unreachable!("it appends nothing any more"),
            }
        }
    }

    /// Every coordinator ends, for example because the node stops.
    pub(super) fn end_ledgers(&mut self, code: ErrorCode, fx: &mut Fx<Effect>) {
        let slots: Vec<u32> = self.ledgers.held.keys().copied().collect();
        slots.into_iter().for_each(|slot| self.end_ledger(slot, code, fx));
    }

    pub(super) fn on_load(&mut self, now: Now, done: IoDone, fx: &mut Fx<Effect>) {
        let slot = done.id.owner;
        let Some(partition) = self.slots.get(slot).and_then(Slot::open) else { return };
        let Some(ledger) = self.ledgers.held.get_mut(&slot) else { return };
        let loaded = ledger.on_io(done, partition, &*self.codecs, fx);
        self.on_loaded(now, slot, loaded, fx);
    }

    fn on_loaded(&mut self, now: Now, slot: u32, loaded: Loaded, fx: &mut Fx<Effect>) {
        match loaded {
            Loaded::Working => {}
            Loaded::Done => {
                let mut gone = Vec::new();
                if let Some(ledger) = self.ledgers.held.get_mut(&slot) {
                    ledger.coordinator.begin(now);
                    self.ledgers.deadlines.set(slot, ledger.coordinator.deadline());
                    gone = std::mem::take(&mut ledger.gone);
                }
                if !gone.is_empty() {
                    self.step_ledger(now, slot, coordinator::Input::TopicsGone(gone), fx);
                }
                self.unpark(now, fx);
            }
            // Without what the log says nothing can be decided; its readers are told the same.
            Loaded::Failed(why) => {
                let open = self.slots.get(slot).and_then(Slot::open);
                let name = open.map_or_else(String::new, |p| p.log().folder().path.to_string());
                note(Level::Error, format!("{name}: groups cannot be coordinated: {why}"), fx);
                self.end_ledger(slot, ErrorCode::NotCoordinator, fx);
                self.unpark(now, fx);
            }
        }
    }

    pub(super) fn on_group(
        &mut self,
        now: Now,
        reply: ReplyTo,
        partition: &PartitionId,
        request: group::Request,
        fx: &mut Fx<Effect>,
    ) {
        let slot = self.by_id.get(partition).copied();
        let known = slot.filter(|slot| self.ledgers.held.contains_key(slot));
        let Some(slot) = known else {
            return group_answer(reply, request.refused(ErrorCode::NotCoordinator), fx);
        };
        self.step_ledger(now, slot, coordinator::Input::Request(reply, request), fx);
    }

    /// Lists the groups of all coordinators of the shard, in one answer.
    pub(super) fn on_list_groups(&mut self, reply: ReplyTo, fx: &mut Fx<Effect>) {
        let loaded = self.ledgers.held.values().filter(|ledger| !ledger.is_loading());
        let groups = loaded.flat_map(|ledger| ledger.coordinator.list()).collect();
        group_answer(reply, group::Answer::Listed(Ok(groups)), fx);
    }

    pub(super) fn tick_ledgers(&mut self, now: Now, fx: &mut Fx<Effect>) {
        for slot in self.ledgers.deadlines.due(now) {
            self.step_ledger(now, slot, coordinator::Input::Tick, fx);
        }
    }

    /// Topics are gone: what was committed for them is forgotten.
    pub(super) fn forget_topics(&mut self, now: Now, gone: &[Arc<str>], fx: &mut Fx<Effect>) {
        let slots: Vec<u32> = self.ledgers.held.keys().copied().collect();
        for slot in slots {
            match self.ledgers.held.get_mut(&slot) {
                // What it is about to read may be of them.
                Some(ledger) if ledger.is_loading() => ledger.gone.extend_from_slice(gone),
                _ => self.step_ledger(now, slot, coordinator::Input::TopicsGone(gone.to_vec()), fx),
            }
        }
    }

    /// There are other topics, or others of their partitions.
    pub(super) fn follow_topics(&mut self, now: Now, old: Option<&Image>, fx: &mut Fx<Effect>) {
        let Some(image) = &self.image else { return };
        let Some(topics) = self.ledgers.topics.follow(old, image) else { return };
        self.ledgers.topics = Arc::new(topics);
        let slots: Vec<u32> = self.ledgers.held.keys().copied().collect();
        for slot in slots {
            let topics = Arc::clone(&self.ledgers.topics);
            self.step_ledger(now, slot, coordinator::Input::Topics(topics), fx);
        }
    }

    /// Groups are set up otherwise, all of them or some.
    pub(super) fn follow_settings(&mut self, now: Now, old: Option<&Image>, fx: &mut Fx<Effect>) {
        let Some(image) = &self.image else { return };
        let Ledgers { own, settings, .. } = &mut self.ledgers;
        let next = match settings.follow(old, image) {
            // What groups do not set themselves is otherwise too.
            Some(all) => {
                *settings = Arc::new(all);
                Some(OwnSettings::default().follow(None, image, settings).unwrap_or_default())
            }
            None => own.follow(old, image, settings),
        };
        let Some(next) = next else { return };
        *own = Arc::new(next);
        let (settings, own) = (Arc::clone(settings), Arc::clone(own));
        let slots: Vec<u32> = self.ledgers.held.keys().copied().collect();
        for slot in slots {
            let input = coordinator::Input::Settings(Arc::clone(&settings), Arc::clone(&own));
            self.step_ledger(now, slot, input, fx);
        }
    }

    pub(super) fn step_ledger(
        &mut self,
        now: Now,
        slot: u32,
        input: coordinator::Input,
        fx: &mut Fx<Effect>,
    ) {
        if self.is_on_its_way(slot) {
            return self.step_later(slot, input);
        }
        if self.is_full(slot) {
            return self.step_silently(now, slot, input, fx);
        }
        let Some(ledger) = self.ledgers.held.get_mut(&slot) else { return };
        let mut effects = std::mem::take(&mut self.ledgers.inner);
        ledger.coordinator.step(now, input, &mut effects);
        self.ledgers.deadlines.set(slot, ledger.coordinator.deadline());
        let mut trouble = None;
        for effect in effects.drain() {
            match effect {
                coordinator::Effect::Answer(reply, answer) => group_answer(reply, answer, fx),
                coordinator::Effect::Commit(_, answers) if trouble.is_some() => {
                    refuse(answers, ErrorCode::NotCoordinator, fx);
                }
                coordinator::Effect::Commit(records, answers) => {
                    trouble = self.commit(now, slot, &records, answers, fx).err();
                }
                coordinator::Effect::Note(text) => note(Level::Info, text, fx),
            }
        }
        self.ledgers.inner = effects;
        match trouble {
            Some(why) => self.begin_again(now, slot, &why, fx),
            None => self.settle_ledger(slot, fx),
        }
    }

    /// Appends records; the answers wait until they are committed.
    fn commit(
        &mut self,
        now: Now,
        slot: u32,
        records: &[coordinator::record::Record],
        answers: Vec<(ReplyTo, group::Answer)>,
        fx: &mut Fx<Effect>,
    ) -> Result<(), Refusal> {
        let appended = self.append_records(now, slot, records, fx);
        let is_commit = |(_, answer): &_| matches!(answer, group::Answer::Committed(_));
        let early = self.mutants.has(Mutant::CommitBeforeCompletion);
        match (appended, self.ledgers.held.get_mut(&slot)) {
            (Ok(_), Some(_)) if early && answers.iter().any(is_commit) => {
                answers.into_iter().for_each(|(reply, answer)| group_answer(reply, answer, fx));
            }
            (Ok(upto), Some(ledger)) => ledger.wait(upto, answers),
            (Err(refusal), _) => {
                refuse(answers, refusal.code, fx);
                return Err(refusal);
            }
            // The disk failed under it, and everyone else was told.
            (Ok(_), None) => refuse(answers, ErrorCode::NotCoordinator, fx),
        }
        Ok(())
    }

    fn append_records(
        &mut self,
        now: Now,
        slot: u32,
        records: &[coordinator::record::Record],
        fx: &mut Fx<Effect>,
    ) -> Result<Offset, Refusal> {
        let most = usize::try_from(self.config.message_max_bytes).unwrap_or(usize::MAX);
        let batches = batches(now, records, most)
            .map_err(|why| Refusal::new(ErrorCode::RecordListTooLarge, why))?;
        let mut files = self.files.clone();
        let mut inner = std::mem::take(&mut self.inner);
        let appended = match self.slots.get_mut(slot).and_then(Slot::open_mut) {
            Some(partition) => partition.append_own(now, &batches, &mut files, &mut inner),
            None => Err(ErrorCode::NotLeaderOrFollower.into()),
        };
        self.files = files;
        self.slots.look_at(slot);
        self.carry_out(now, inner, fx);
        appended
    }

    /// What was decided could not be appended: it is forgotten, and the log read once more.
    fn begin_again(&mut self, now: Now, slot: u32, why: &Refusal, fx: &mut Fx<Effect>) {
        let reason = why.message.clone().unwrap_or_else(|| format!("{:?}", why.code));
        note(Level::Error, format!("records of groups cannot be appended: {reason}"), fx);
        self.end_ledger(slot, ErrorCode::NotCoordinator, fx);
        self.begin_ledger(now, slot, fx);
    }

    /// Lets the answers go that wait for nothing any more.
    pub(super) fn settle_ledger(&mut self, slot: u32, fx: &mut Fx<Effect>) {
        let Some(ledger) = self.ledgers.held.get_mut(&slot) else { return };
        let Some(partition) = self.slots.get(slot).and_then(Slot::open) else { return };
        while let Some((reply, answer)) = ledger.next_settled(partition.high_watermark()) {
            group_answer(reply, answer, fx);
        }
    }
}

pub(super) fn group_answer(reply: ReplyTo, answer: group::Answer, fx: &mut Fx<Effect>) {
    answer_to(reply, Answer::Group(Box::new(answer)), fx);
}

/// What could not be appended is not so.
fn refuse(answers: Vec<(ReplyTo, group::Answer)>, why: ErrorCode, fx: &mut Fx<Effect>) {
    for (reply, answer) in answers {
        let code = told(why, &answer);
        group_answer(reply, answer.refused(code), fx);
    }
}

/// Records that are too large would be so again: that is final (Kafka's GroupCoordinatorService).
/// Everything else may be tried once more.
fn told(why: ErrorCode, answer: &group::Answer) -> ErrorCode {
    match (why, answer) {
        (ErrorCode::RecordListTooLarge, group::Answer::Committed(_)) => {
            ErrorCode::InvalidCommitOffsetSize
        }
        (ErrorCode::RecordListTooLarge, _) => ErrorCode::UnknownServerError,
        _ => ErrorCode::NotCoordinator,
    }
}

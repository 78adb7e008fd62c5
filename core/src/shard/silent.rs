//! Coordinators that cannot append.
//!
//! On a full disk they answer what needs no record, and decide nothing else. A step is taken on a
//! copy first, and only kept if it has nothing to append: what a coordinator holds is never ahead
//! of its log for long, full disk or not.
//!
//! While their log changes its directory they decide nothing at all (requests wait, at most for a
//! second), and then go on as who they are: no member notices the move.

use super::groups::{Ledgers, group_answer};
use super::*;
use crate::group as coordinator;
use crate::mutant::Mutant;

/// A coordinator that has something to write tries again after this time.
const RETRY_MS: i64 = 1000;

impl Shard {
    /// Whether the log in `slot` is on its way to another directory, or being opened there.
    pub(super) fn is_on_its_way(&self, slot: u32) -> bool {
        self.holds_back(slot) || self.slots.get(slot).is_some_and(Slot::is_opening)
    }

    /// Nothing can be decided just now. What is told here is told once more by
    /// [`Self::resume_ledger`].
    pub(super) fn step_later(&mut self, slot: u32, input: coordinator::Input) {
        self.ledgers.deadlines.set(slot, None);
        match input {
            coordinator::Input::TopicsGone(topics) => {
                if let Some(ledger) = self.ledgers.held.get_mut(&slot) {
                    ledger.gone.extend(topics);
                }
            }
            coordinator::Input::Request(..) => unreachable!("requests wait for the log"),
            coordinator::Input::Tick
            | coordinator::Input::Topics(_)
            | coordinator::Input::Settings(..) => {}
        }
    }

    /// A log is about to move: what is read of it would be read where it was.
    pub(super) fn interrupt_loading(&mut self, slot: u32, fx: &mut Fx<Effect>) {
        let ends = self.mutants.has(Mutant::CoordinatorEndsInMove);
        if ends || self.ledgers.get(slot).is_some_and(Ledger::is_loading) {
            self.end_ledger(slot, ErrorCode::NotCoordinator, fx);
        }
    }

    /// Nothing can be appended: a step that would is not taken. Whoever asked for it asks again, and
    /// what it was about is told once more when there is space.
    pub(super) fn step_silently(
        &mut self,
        now: Now,
        slot: u32,
        input: coordinator::Input,
        fx: &mut Fx<Effect>,
    ) {
        let Some(ledger) = self.ledgers.held.get_mut(&slot) else { return };
        let mut trial = ledger.coordinator.clone();
        let mut effects = Fx::new();
        trial.step(now, input.clone(), &mut effects);
        let effects: Vec<_> = effects.drain().collect();
        let appends =
            |e: &_| matches!(e, coordinator::Effect::Commit(records, _) if !records.is_empty());
        if effects.iter().any(appends) {
            match input {
                coordinator::Input::Request(reply, request) => {
                    let refused = request.refused(ErrorCode::CoordinatorNotAvailable);
                    group_answer(reply, refused, fx);
                }
                coordinator::Input::TopicsGone(topics) => ledger.gone.extend(topics),
                coordinator::Input::Tick
                | coordinator::Input::Topics(_)
                | coordinator::Input::Settings(..) => {}
            }
            let later = now.mono.plus_ms(RETRY_MS);
            return self.ledgers.deadlines.set(slot, Some((later, "groups on a full disk")));
        }
        ledger.coordinator = trial;
        self.ledgers.deadlines.set(slot, ledger.coordinator.deadline());
        for effect in effects {
            match effect {
                coordinator::Effect::Answer(reply, answer) => group_answer(reply, answer, fx),
                coordinator::Effect::Note(text) => note(Level::Info, text, fx),
                coordinator::Effect::Commit(_, answers) => {
                    let upto = self.slots.get(slot).and_then(Slot::open).map(|p| p.log().end());
                    if let (Some(upto), Some(ledger)) = (upto, self.ledgers.held.get_mut(&slot)) {
                        ledger.wait(upto, answers);
                    }
                }
            }
        }
        self.settle_ledger(slot, fx);
    }

    /// There is space again: coordinators learn what they could not take notice of.
    pub(super) fn resume_ledgers(&mut self, now: Now, fx: &mut Fx<Effect>) {
        let slots: Vec<u32> = self.ledgers.held.keys().copied().collect();
        slots.into_iter().for_each(|slot| self.resume_ledger(now, slot, fx));
    }

    /// A coordinator goes on, if there is one.
    pub(super) fn resume_ledger(&mut self, now: Now, slot: u32, fx: &mut Fx<Effect>) {
        let Some(ledger) = self.ledgers.held.get_mut(&slot) else { return };
        if ledger.is_loading() {
            return;
        }
        let gone = std::mem::take(&mut ledger.gone);
        let Ledgers { topics, settings, own, .. } = &self.ledgers;
        let inputs = [
            coordinator::Input::TopicsGone(gone),
            coordinator::Input::Topics(Arc::clone(topics)),
            coordinator::Input::Settings(Arc::clone(settings), Arc::clone(own)),
        ];
        inputs.into_iter().for_each(|input| self.step_ledger(now, slot, input, fx));
    }
}

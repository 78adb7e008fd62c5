//! Coordinators on a full disk: they answer what needs no record, and decide nothing else.
//!
//! A step is taken on a copy first, and only kept if it has nothing to append: what a coordinator
//! holds is never ahead of its log for long, full disk or not.

use super::groups::{Ledgers, group_answer};
use super::*;
use crate::group as coordinator;

/// A coordinator that has something to write tries again after this time.
const RETRY_MS: i64 = 1000;

impl Shard {
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
        for slot in slots {
            let Some(ledger) = self.ledgers.held.get_mut(&slot) else { continue };
            if ledger.is_loading() {
                continue;
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
}

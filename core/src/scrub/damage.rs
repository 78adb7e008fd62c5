//! What the search for damage finds.

use dohle_wire::id::Offset;

use crate::log::names::FileKind;

/// Bytes of a file that are not what they were.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Which of the segment's files.
    pub kind: FileKind,
    /// First byte.
    pub from: u64,
    /// One past the last.
    pub upto: u64,
    /// First offset of the records that it may concern.
    pub first: Offset,
    /// One past the last of them.
    pub next: Offset,
    /// How it shows.
    pub why: String,
}

/// Most ranges of one segment that are told one by one.
const RANGES_MAX: usize = 16;

/// The damage in one segment: ranges that touch are one.
#[derive(Clone, Debug, Default)]
pub struct Damages {
    list: Vec<Damage>,
    /// Ranges beyond the limit.
    pub more: u64,
}

impl Damages {
    /// Adds one.
    pub fn push(&mut self, damage: Damage) {
        let touches = |known: &&mut Damage| {
            known.kind == damage.kind && damage.from <= known.upto && known.from <= damage.upto
        };
        if let Some(known) = self.list.iter_mut().rev().find(touches) {
            known.from = known.from.min(damage.from);
            known.upto = known.upto.max(damage.upto);
            known.first = known.first.min(damage.first);
            known.next = known.next.max(damage.next);
        } else if self.list.len() < RANGES_MAX {
            self.list.push(damage);
        } else {
            self.more += 1;
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The ranges that are told one by one.
    #[must_use]
    pub fn list(&self) -> &[Damage] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damage(kind: FileKind, from: u64, upto: u64) -> Damage {
        let (first, next) = (Offset(from.cast_signed()), Offset(upto.cast_signed()));
        Damage { kind, from, upto, first, next, why: String::new() }
    }

    #[test]
    fn ranges_that_touch_are_one() {
        let mut damages = Damages::default();
        damages.push(damage(FileKind::Log, 10, 20));
        damages.push(damage(FileKind::Index, 15, 17));
        damages.push(damage(FileKind::Log, 20, 30));
        damages.push(damage(FileKind::Log, 5, 12));
        let found: Vec<_> = damages.list().iter().map(|d| (d.kind, d.from, d.upto)).collect();
        assert_eq!(found, [(FileKind::Log, 5, 30), (FileKind::Index, 15, 17)]);
        assert_eq!((damages.list()[0].first, damages.list()[0].next), (Offset(5), Offset(30)));
        for at in 0..20 {
            damages.push(damage(FileKind::Log, 100 + at * 10, 101 + at * 10));
        }
        assert_eq!((damages.list().len(), damages.more), (RANGES_MAX, 6));
    }
}

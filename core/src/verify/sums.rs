//! Sums beside closed segments: whether they are whole, and whether the files are what they were.
//!
//! A file that is still the one that the sums were made of, and has other bytes, has decayed. One
//! that was written since, or is a copy, may have others for a good reason: that is worth a
//! warning, since whoever copied it will want to know.

use super::finding::{Problem, Problems, Severity};
use super::partition::{Scope, Side, Sides};
use super::{Files, Survey, join};
use crate::log::names::FileKind;
use crate::log::sums::{self, BLOCK, Sums};
use dohle_wire::id::Offset;

impl<F: Files> Survey<'_, F> {
    /// The sums of a closed segment, if they are its own.
    pub(super) fn sums(
        &mut self,
        scope: &Scope<'_>,
        base: Offset,
        sides: &Sides,
    ) -> Result<Option<Sums>, F::Error> {
        let Some(side) = sides.get(&FileKind::Sums) else { return Ok(None) };
        let path = join(scope.folder, &FileKind::Sums.name(base));
        let Some(bytes) = self.whole(&path, side.len)? else { return Ok(None) };
        let sums = match Sums::parse(&bytes) {
            Ok(sums) => sums,
            Err(error) => {
                let problem = Problem::new("sums", "the sums of a segment", error.to_string());
                self.tell(&path, problem.into());
                return Ok(None);
            }
        };
        let owner = sums.owner;
        let own = scope.topic.is_none_or(|topic| topic == owner.topic)
            && scope.partition.is_none_or(|partition| partition == owner.partition)
            && owner.base == base;
        if !own {
            let sums::Owner { topic, partition, base } = owner;
            let found = format!("those of topic {topic}, partition {partition}, offset {base}");
            let problem = Problem::new("sums", "the sums of this segment", found);
            self.tell(&path, problem.is(Severity::Warning).into());
        }
        Ok(Some(sums).filter(|_| own))
    }
}

/// Whether sums of the records as they are now say that there was a file of that kind with content.
pub(super) fn say(sums: &Sums, kind: FileKind, sides: &Sides) -> bool {
    let records = sides.get(&FileKind::Log);
    let still = |side: &Side| {
        sums.of(FileKind::Log, side.len).is_some_and(|file| file.stamp.is_still(side.stamp))
    };
    records.is_some_and(still) && sums.files.iter().any(|file| file.kind == kind && file.size > 0)
}

/// Holds the hashes of a file against the sums.
pub(super) fn compare(sums: &Sums, kind: FileKind, side: Side, hashes: &[u64]) -> Problems {
    let mut problems = Problems::default();
    // Of another size it was written to, or made anew.
    let Some(file) = sums.of(kind, side.len) else { return problems };
    let still = file.stamp.is_still(side.stamp);
    for (at, expected) in file.blocks.iter().enumerate() {
        let found = hashes.get(at);
        if found == Some(expected) {
            continue;
        }
        let from = at as u64 * u64::from(BLOCK);
        let last = (from + u64::from(BLOCK)).min(side.len) - 1;
        let since = if still { "" } else { "; the file was written or copied since" };
        let found = match found {
            Some(hash) => format!("{hash:#018x}{since}"),
            None => "fewer bytes".to_owned(),
        };
        let expected = format!("the hash {expected:#018x} of the bytes {from} to {last}");
        let problem = Problem::new("sums", expected, found).at(from);
        problems.push(if still { problem } else { problem.is(Severity::Warning) });
    }
    problems
}

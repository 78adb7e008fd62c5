//! Apache Kafka had the directory for a while, compacted the log, and was killed before it had
//! put its new segments in the place of the old ones.
//!
//! Nothing was compacted away: what the log holds is the same, in other files. Only segments that
//! are durable, and with which nothing is wrong, are written anew.

use bytes::Bytes;
use dohle_core::disk::FilePath;
use dohle_core::log::names::FileKind;
use dohle_wire::id::Offset;
use dohle_wire::record::split_batches;

use super::{LogWorld, folder};
use crate::choice::Stream;

impl LogWorld {
    /// While nobody has the log open, Kafka may have had it.
    pub(super) fn perhaps_compacted(&mut self) {
        let after_crash = self.expects.crashed && self.swarm.compactions;
        if !after_crash || !self.kernel.choices.chance(Stream::Faults, "compaction", 300_000) {
            return;
        }
        // One that was not finished is, before the next one begins.
        let names = self.disk.tree().names(&folder(), false);
        if names.iter().any(|name| name.ends_with(".swap") || name.ends_with(".cleaned")) {
            return;
        }
        let bases = self.whole_segments();
        if bases.len() < 3 {
            return;
        }
        let most = bases.len() as u64 - 2;
        let at = self.kernel.choices.below(Stream::Faults, "compacted", most) as usize;
        let pair = [bases[at], bases[at + 1]];
        // What came back after it had been removed is no part of the log.
        if [0, 1].iter().any(|which| self.next_of(bases[at + which]) != bases[at + which + 1]) {
            return;
        }
        self.tally.compacted += 1;
        match self.kernel.choices.chance(Stream::Faults, "compaction-complete", 500_000) {
            true => self.compact(pair),
            false => self.begin_compaction(pair),
        }
    }

    /// Bases of segments below the recovery point, the last of which only ends them.
    fn whole_segments(&self) -> Vec<i64> {
        let tree = self.disk.tree();
        let names = tree.names(&folder(), false);
        let logs = names.iter().filter_map(|name| FileKind::parse(name));
        let bases = logs.filter(|(kind, _)| *kind == FileKind::Log).map(|(_, base)| base.0);
        let told = self.told(self.saved_point, false).recovery_point.min(self.model.durable);
        let start = self.model.start;
        let sound = |base: &i64| tree.scars(&path(FileKind::Log, *base, "")).is_empty();
        bases.filter(|base| (start..=told).contains(base)).take_while(sound).collect()
    }

    /// The new segment, which stands for two, has only to get its name. Some of the old ones may
    /// be gone.
    fn compact(&mut self, [first, second]: [i64; 2]) {
        let content = [self.content(first), self.content(second)].concat();
        self.write(&path(FileKind::Log, first, ".swap"), content);
        let gone = self.kernel.choices.below(Stream::Faults, "compacted-gone", 3) as usize;
        for base in [first, second].into_iter().take(gone) {
            for kind in [FileKind::Log, FileKind::Index, FileKind::TimeIndex, FileKind::TxnIndex] {
                self.disk.take_away(&path(kind, base, ""));
            }
        }
    }

    /// The second of two new segments is written, and the first is not.
    fn begin_compaction(&mut self, [first, second]: [i64; 2]) {
        let whole = self.content(first);
        let (mut from, mut middle) = (0, None);
        for batch in split_batches(Bytes::from(whole.clone())).map_while(Result::ok) {
            if from > 0 {
                middle.get_or_insert((from, batch.header.base_offset.0));
            }
            from += batch.bytes.len();
        }
        let Some((from, middle)) = middle else { return };
        let content = [whole[from..].to_vec(), self.content(second)].concat();
        self.write(&path(FileKind::Log, middle, ".swap"), content);
        self.write(&path(FileKind::Log, first, ".cleaned"), whole[..from / 2].to_vec());
    }

    /// One past the last offset of a segment.
    fn next_of(&self, base: i64) -> i64 {
        let batches = split_batches(Bytes::from(self.content(base))).map_while(Result::ok);
        batches.last().map_or(base, |batch| batch.header.next_offset().0)
    }

    fn content(&self, base: i64) -> Vec<u8> {
        self.disk.tree().content(&path(FileKind::Log, base, "")).unwrap_or_default().to_vec()
    }

    fn write(&mut self, path: &FilePath, content: Vec<u8>) {
        let wall = self.now().wall;
        self.disk.leave(path, content.into(), wall);
    }
}

fn path(kind: FileKind, base: i64, ending: &str) -> FilePath {
    folder().join(&format!("{}{ending}", kind.name(Offset(base))))
}

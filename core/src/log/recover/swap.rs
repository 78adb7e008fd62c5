//! A compaction that Apache Kafka did not finish (LogLoader.removeTempFilesAndCollectSwapFiles).
//!
//! The cleaner writes segments anew beside the old ones (`.cleaned`), gives them the name `.swap`
//! once they are complete, takes the old ones away and gives the new ones their names. Files named
//! `.swap` are as good as the old ones, some of which may be gone: they take their place. Only
//! where a `.cleaned` one is left below them their group is not complete, and the old ones are.

use super::*;

const SWAP: &str = ".swap";
const CLEANED: &str = ".cleaned";
/// What ends so is swept away.
const LEFT_OVER: &str = ".tmp";

/// Segments that take the place of others, the last of which is read for its end.
#[derive(Clone, Debug)]
pub(super) struct Swap {
    names: Vec<String>,
    from: Offset,
    /// Files of segments; of some only side files may be left.
    old: Vec<(FileKind, Offset)>,
    file: FileId,
    scan: Scan,
}

/// Whether a file of this name is to take the place of others.
pub(super) fn is_swap(name: &str) -> bool {
    name.strip_suffix(SWAP).is_some_and(|plain| FileKind::parse(plain).is_some())
}

impl Recovery {
    pub(super) fn begin_swap<E: From<DiskOp>>(
        &mut self,
        names: &[DirEntry],
        ids: &mut FileIds,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        let ending = |ending: &'static str| {
            let kept = move |entry: &DirEntry| {
                FileKind::parse(entry.name.strip_suffix(ending)?)
                    .map(|(kind, base)| (kind, base, entry.len))
            };
            names.iter().filter_map(kept)
        };
        let incomplete = ending(CLEANED).map(|(_, base, _)| base).min();
        let hasty = self.plan.settings.mutants.has(Mutant::SwapNotComplete);
        if let Some(incomplete) = incomplete.filter(|_| !hasty) {
            return self.drop_swaps(names, incomplete, fx);
        }
        let old = names.iter().filter_map(|entry| FileKind::parse(&entry.name));
        let old: Vec<_> = old.filter(|(kind, _)| SEGMENT_FILES.contains(kind)).collect();
        let names: Vec<_> = ending(SWAP).map(|(kind, base, _)| kind.name(base)).collect();
        let logs: Vec<_> = ending(SWAP).filter(|(kind, ..)| *kind == FileKind::Log).collect();
        let [first, ..] = &logs[..] else { return self.swap_in(&names, fx) };
        let (_, base, len) = *logs.last().unwrap_or(first);
        let file = ids.fresh();
        let path = self.plan.folder.join(&format!("{}{SWAP}", FileKind::Log.name(base)));
        fx.push(E::from(DiskOp::Open { file, path }));
        let scan = Scan::new(0, len, base, true);
        self.find_end(Swap { names, from: first.1, old, file, scan }, fx)
    }

    /// What is not complete goes, and the next look finds the rest: first what would take the place
    /// of segments, durably, then what says that it must not. Else a loss of power could bring the
    /// former back without the latter.
    pub(super) fn drop_swaps<E: From<DiskOp>>(
        &mut self,
        names: &[DirEntry],
        incomplete: Offset,
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        self.step = Step::Swapped;
        let ends = |ending| {
            names.iter().filter(move |entry| {
                let base = entry.name.strip_suffix(ending).and_then(FileKind::parse);
                base.is_some_and(|(_, base)| base >= incomplete)
            })
        };
        let at_once = self.plan.settings.mutants.has(Mutant::SwapMarkFirst);
        for entry in ends(SWAP) {
            let from = self.plan.folder.join(&entry.name);
            let to = self.plan.folder.join(&format!("{}{LEFT_OVER}", entry.name));
            self.ask(fx, |id| match at_once {
                true => DiskOp::Remove { id, path: from },
                false => DiskOp::Rename { id, from, to },
            });
        }
        if self.pending == 0 || at_once {
            for entry in ends(CLEANED) {
                let path = self.plan.folder.join(&entry.name);
                self.ask(fx, |id| DiskOp::Remove { id, path });
            }
        }
        Ok(())
    }

    pub(super) fn on_swap<E: From<DiskOp>>(
        &mut self,
        mut swap: Swap,
        bytes: &[u8],
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        swap.scan.feed(bytes);
        self.find_end(swap, fx)
    }

    fn find_end<E: From<DiskOp>>(&mut self, mut swap: Swap, fx: &mut Fx<E>) -> Result<(), String> {
        loop {
            match swap.scan.advance() {
                Scanned::Batch(..) => {}
                Scanned::Need { position, len } => {
                    let file = swap.file;
                    self.step = Step::Swap(swap);
                    self.read(file, position, len, fx);
                    return Ok(());
                }
                Scanned::Damaged { position, why, .. } => {
                    return Err(format!(
                        "a segment that Apache Kafka compacted is damaged at position {position}: \
                         {why}. Nothing was changed"
                    ));
                }
                Scanned::End => return self.take_place(swap, fx),
            }
        }
    }

    /// Takes away what the new segments stand for.
    fn take_place<E: From<DiskOp>>(&mut self, swap: Swap, fx: &mut Fx<E>) -> Result<(), String> {
        fx.push(E::from(DiskOp::Close { file: swap.file }));
        let upto = swap.scan.next_offset().max(swap.from.plus(1));
        // All of them: an index that is left would be taken for one of the new segment.
        for (kind, base) in swap.old.iter().filter(|(_, base)| (swap.from..upto).contains(base)) {
            let path = self.plan.folder.join(&kind.name(*base));
            self.ask(fx, |id| DiskOp::Remove { id, path });
        }
        if self.pending == 0 {
            return self.swap_in(&swap.names, fx);
        }
        self.step = Step::SwapIn { names: swap.names };
        Ok(())
    }

    /// Gives the new segments their names, and looks again.
    pub(super) fn swap_in<E: From<DiskOp>>(
        &mut self,
        names: &[String],
        fx: &mut Fx<E>,
    ) -> Result<(), String> {
        self.step = Step::Swapped;
        for name in names {
            let from = self.plan.folder.join(&format!("{name}{SWAP}"));
            let to = self.plan.folder.join(name);
            self.ask(fx, |id| DiskOp::Rename { id, from, to });
        }
        Ok(())
    }
}

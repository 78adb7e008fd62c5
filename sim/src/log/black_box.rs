//! A checker that knows only what somebody outside can know: what was acknowledged and read, how
//! the process ended, and what the log was told to throw away.

use std::collections::BTreeMap;

use dohle_wire::record::BatchHeader;

/// What must not change about a batch.
pub(super) type Identity = (i64, u32, i32);

/// Its next offset, checksum and leader epoch.
pub(super) fn identity(header: &BatchHeader) -> Identity {
    (header.next_offset().0, header.crc, header.partition_leader_epoch.0)
}

/// Everything acknowledged or read, by base offset.
#[derive(Clone, Debug, Default)]
pub(super) struct BlackBox {
    seen: BTreeMap<i64, Identity>,
    start: i64,
    /// Batches that a loss of power took, as it may.
    pub(super) losses: u64,
}

impl BlackBox {
    /// A batch counts.
    pub(super) fn acknowledged(&mut self, header: &BatchHeader) -> Result<(), String> {
        self.see(header, "acknowledged")
    }

    fn see(&mut self, header: &BatchHeader, how: &str) -> Result<(), String> {
        let (base, new) = (header.base_offset.0, identity(header));
        match self.seen.insert(base, new) {
            Some(old) if old != new => {
                Err(format!("the batch at {base} was {old:?}, and is {how} as {new:?}"))
            }
            _ => Ok(()),
        }
    }

    /// A read from `from` gave these batches, where records below `upper` may be seen.
    pub(super) fn read(
        &mut self,
        from: i64,
        upper: i64,
        batches: &[BatchHeader],
    ) -> Result<(), String> {
        let mut next = from;
        for header in batches {
            if header.next_offset().0 > upper {
                return Err(format!("a read below {upper} shows {}", header.last_offset()));
            }
            self.nothing_between(next, header.base_offset.0)?;
            self.see(header, "read")?;
            next = header.next_offset().0;
        }
        Ok(())
    }

    /// Nothing that was seen lies from `from` up to `upto`.
    pub(super) fn nothing_between(&self, from: i64, upto: i64) -> Result<(), String> {
        let skipped = self.seen.range(from..upto.max(from)).next();
        match skipped.filter(|(base, _)| **base >= self.start) {
            Some((base, batch)) => Err(format!("the batch at {base}, {batch:?}, is gone")),
            None => Ok(()),
        }
    }

    /// No batch that was seen lies as a whole between a reader at `from` and its bound.
    pub(super) fn nothing_whole(&self, from: i64, upper: i64) -> Result<(), String> {
        let mut whole = self.seen.iter().filter(|(_, batch)| batch.0 > from && batch.0 <= upper);
        match whole.next() {
            Some((base, batch)) => Err(format!("the batch at {base}, {batch:?}, is gone")),
            None => Ok(()),
        }
    }

    /// A process that starts says that the log begins at `start`.
    pub(super) fn reopens(&mut self, start: i64) {
        self.start = start;
    }

    /// The log was told to begin at `start`.
    pub(super) fn starts(&mut self, start: i64) {
        self.start = self.start.max(start);
        self.seen.retain(|_, batch| batch.0 > start);
    }

    /// The log was told to end at `end`.
    pub(super) fn ends(&mut self, end: i64) {
        self.seen.retain(|_, batch| batch.0 <= end);
    }

    /// The log was told to be empty from `start` on.
    pub(super) fn empties(&mut self, start: i64) {
        self.seen.clear();
        self.start = start;
    }

    /// What lies past `end` was damaged, and the log says so.
    pub(super) fn damaged(&mut self, end: i64) {
        self.ends(end);
    }

    /// After a crash the log says that it ends at `end`. If `lossy`, its end may be gone.
    pub(super) fn opened(&mut self, end: i64, lossy: bool) -> Result<(), String> {
        if lossy {
            let before = self.seen.len();
            self.ends(end);
            self.losses += (before - self.seen.len()) as u64;
            return Ok(());
        }
        match self.seen.iter().find(|(_, batch)| batch.0 > end) {
            None => Ok(()),
            Some((base, batch)) => {
                Err(format!("the batch at {base}, {batch:?}, is lost: the log ends at {end}"))
            }
        }
    }
}

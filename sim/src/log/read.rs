//! Reads and look-ups, as a partition answers them: a place in a file that is known at once, or
//! one that the disk looks up first.

use bytes::Bytes;
use dohle_core::disk::{DiskOp, FileId, IoDone, IoError, IoId, IoOk, What};
use dohle_core::fx::Fx;
use dohle_core::log::locate::{LocatePlan, Located};
use dohle_core::log::tail::Span;
use dohle_core::log::{Log, Reading};
use dohle_wire::codec::Hole;
use dohle_wire::id::{Offset, Timestamp};
use dohle_wire::record::{BatchHeader, split_batches};

use super::black_box::identity;
use super::{LogWorld, Phase};
use crate::disk::Flaw;
use crate::oracle::Violation;

/// A look-up under way.
#[derive(Clone, Debug)]
pub(super) struct Wish {
    plan: LocatePlan,
    want: Want,
    upper: i64,
    generation: u32,
    /// Where the log started when it was made.
    start: i64,
    /// What is found may be wrong: a read was, or a segment is on the way.
    pub(super) lenient: bool,
}

#[derive(Copy, Clone, Debug)]
enum Want {
    Offset(i64),
    Time(i64),
}

impl LogWorld {
    pub(super) fn read(&mut self) -> Result<(), Violation> {
        let (low, high) = (self.model.start, self.watermark.max(self.model.start));
        let back = (high - low) as u64;
        let from = match self.draw("read-where", 3) {
            0 => high - self.draw("read-near", back.min(40) + 1) as i64,
            _ => high - self.draw("read-far", back + 1) as i64,
        };
        let upper = match self.draw("read-upper", 4) {
            0 => from + self.draw("read-span", (high - from) as u64 + 1) as i64,
            _ => high,
        };
        if self.draw("by-time", 4) == 0 { self.read_time(high) } else { self.read_at(from, upper) }
    }

    fn read_at(&mut self, from: i64, upper: i64) -> Result<(), Violation> {
        let Phase::Serving(log) = &self.phase else { return Ok(()) };
        match log.read(Offset(from), Offset(upper)) {
            Reading::Empty => self.nothing(from, upper),
            Reading::At(span) => self.on_span(from, upper, &span),
            Reading::Locate(plan) => {
                self.ask(plan, Want::Offset(from), upper, false);
                Ok(())
            }
        }
    }

    fn read_time(&mut self, upper: i64) -> Result<(), Violation> {
        let model = &self.model;
        let times: Vec<i64> = model.live().map(|header| header.max_timestamp.0).collect();
        if times.is_empty() {
            return Ok(());
        }
        let at = self.draw("time", times.len() as u64) as usize;
        let time = times[at] + self.draw("time-off", 3) as i64 - 1;
        let Phase::Serving(log) = &self.phase else { return Ok(()) };
        let plan = log.read_time(Timestamp(time), Offset(upper));
        self.tally.times += 1;
        let found = self.young_enough(log, (time, upper), plan.as_ref());
        if !self.opened_harmed {
            self.inside("L6", found)?;
        }
        if let Some(plan) = plan {
            self.ask(plan, Want::Time(time), upper, false);
        }
        Ok(())
    }

    /// The first segment is looked at that has a record of that time or later, unless it begins
    /// past the bound.
    fn young_enough(
        &self,
        log: &Log,
        (time, upper): (i64, i64),
        plan: Option<&LocatePlan>,
    ) -> Result<(), String> {
        let bases: Vec<i64> = log.segments().iter().map(|segment| segment.base.0).collect();
        let young = |header: &&BatchHeader| header.max_timestamp.0 >= time;
        let first = bases.first().copied().unwrap_or(i64::MAX);
        let in_file = self.model.batches.iter().filter(|header| header.base_offset.0 >= first);
        let expected = in_file
            .clone()
            .find(young)
            .and_then(|header| bases.iter().copied().rfind(|base| *base <= header.base_offset.0))
            .filter(|base| *base < upper);
        let found = plan.map(|plan| plan.base.0);
        match expected == found {
            true => Ok(()),
            false => Err(format!("time {time} is looked for in {found:?}, not {expected:?}")),
        }
    }

    fn ask(&mut self, plan: LocatePlan, want: Want, upper: i64, lenient: bool) {
        self.tokens += 1;
        let (token, generation) = (self.tokens, self.generation);
        let id = IoId { owner: 0, generation, what: What::Locate, end: token };
        let start = self.model.start;
        let wish = Wish { plan: plan.clone(), want, upper, generation, start, lenient };
        self.reads.insert(token, wish);
        let mut fx = Fx::new();
        fx.push(DiskOp::Locate { id, plan });
        self.submit(&mut fx);
    }

    pub(super) fn on_located(&mut self, done: &IoDone) -> Result<(), Violation> {
        let Some(wish) = self.reads.remove(&done.id.end) else { return Ok(()) };
        // What was looked for may be gone meanwhile.
        let same = wish.generation == self.generation && wish.start == self.model.start;
        let Phase::Serving(log) = &self.phase else { return Ok(()) };
        if !same {
            return Ok(());
        }
        let harmed = !self.disk.scars(wish.plan.file).is_empty();
        let lenient = wish.lenient || (harmed && !self.only_lost(wish.plan.file));
        let found = match &done.result {
            Ok(IoOk::Located(found)) => found,
            Err(IoError::Damaged(_)) if harmed || lenient => {
                self.tally.unread += 1;
                return Ok(());
            }
            other => return Err(Violation::new("R14", format!("a look-up ends with {other:?}"))),
        };
        match (wish.want, found) {
            (Want::Offset(_), Some(_)) if lenient => Ok(()),
            (Want::Offset(from), Some(found)) => {
                let span = Span::located(&wish.plan, found);
                self.on_span(from, wish.upper, &span)
            }
            (Want::Offset(from), None) => match log.read_further(&wish.plan, Offset(wish.upper)) {
                Some(plan) => {
                    self.ask(plan, wish.want, wish.upper, lenient);
                    Ok(())
                }
                None if lenient => Ok(()),
                None => self.nothing(from, wish.upper),
            },
            (Want::Time(_), _) if lenient || harmed => Ok(()),
            (Want::Time(time), found) => {
                let found = self.timed(&wish, time, found.as_ref());
                self.inside("L6", found)
            }
        }
    }

    fn timed(&self, wish: &Wish, time: i64, found: Option<&Located>) -> Result<(), String> {
        let (base, next) = (wish.plan.base.0, wish.plan.next.0);
        let expected = self.model.batches.iter().find(|header| {
            header.base_offset.0 >= base
                && header.next_offset().0 <= next.min(wish.upper)
                && header.max_timestamp.0 >= time
                && header.last_offset().0 >= wish.start
        });
        let (expected, got) =
            (expected.map(|header| header.base_offset.0), found.map(|found| found.base.0));
        match expected == got {
            true => Ok(()),
            false => Err(format!("time {time} is found at {got:?}, not at {expected:?}")),
        }
    }

    /// The log says that nothing lies from `from` up to `upper`.
    fn nothing(&mut self, from: i64, upper: i64) -> Result<(), Violation> {
        let visible = |header: &&BatchHeader| {
            header.next_offset().0 > from && header.next_offset().0 <= upper
        };
        let found = match self.model.live().find(visible) {
            None => Ok(()),
            Some(header) => Err(format!("nothing from {from} to {upper}, not {header:?}")),
        };
        self.inside("R14", found)?;
        // A batch that reaches past the bound is not seen.
        let seen = self.black_box.nothing_whole(from, upper);
        seen.map_err(|text| Violation::new("gone", text))
    }

    /// Reads what lies there, as much as a reader asks for.
    fn on_span(&mut self, from: i64, upper: i64, span: &Span) -> Result<(), Violation> {
        let most = [1, 300, 4_000, 1 << 20][self.draw("fetch-bytes", 4) as usize];
        self.fetch(from, upper, span, most).map(drop)
    }

    /// Reads up to `most` bytes of a place and checks them. One past the last offset there.
    fn fetch(&mut self, from: i64, upper: i64, span: &Span, most: u32) -> Result<i64, Violation> {
        let hole = span.hole(most);
        if !self.disk.scars(span.file).is_empty() {
            self.fetch_harmed(&hole);
            return Ok(upper);
        }
        // A sync has failed, and the log has not heard of it yet.
        if self.disk.failed().is_some() {
            return Ok(upper);
        }
        let fail = |name: &str, text: String| Err(Violation::new(name, text));
        let Some(bytes) = self.disk.hole(&hole) else {
            return fail("R14", format!("offset {from} is said to lie at {hole:?}: nothing there"));
        };
        self.tally.reads += 1;
        let headers = match batches(&bytes) {
            Ok(headers) => headers,
            Err(text) => return fail("L5", format!("read from {from}: {text}")),
        };
        let Some(next) = headers.last().map(|last| last.next_offset().0) else {
            return fail("R14", format!("a read from {from} to {upper} holds no whole batch"));
        };
        if headers[0].next_offset().0 <= from {
            return fail("R14", format!("a read from {from} begins at {}", headers[0].base_offset));
        }
        let seen = self.black_box.read(from, upper, &headers);
        seen.map_err(|text| Violation::new("read", text))?;
        let same = self.same(from, &headers);
        self.inside("L5", same)?;
        Ok(next)
    }

    /// Whether nothing else is wrong with a file than that something never got there: then no batch
    /// can be taken for another.
    fn only_lost(&self, file: FileId) -> bool {
        self.disk.scars(file).iter().all(|scar| scar.flaw == Flaw::LostWrite)
    }

    /// A client finds by checksums what is wrong.
    fn fetch_harmed(&mut self, hole: &Hole) {
        let bytes = self.disk.hole(hole).unwrap_or_default();
        self.tally.bad_crc += u64::from(batches(&bytes).is_err());
    }

    /// These are the model's batches from `from` on.
    fn same(&mut self, from: i64, headers: &[BatchHeader]) -> Result<(), String> {
        let expected = self.model.batches.iter().skip_while(|h| h.next_offset().0 <= from);
        let mut compared = 0;
        for (found, expected) in headers.iter().zip(expected) {
            compared += 1;
            if identity(found) != identity(expected) || found.base_offset != expected.base_offset {
                return Err(format!("read {found:?}, not {expected:?}"));
            }
        }
        self.tally.compared += compared;
        match compared == headers.len() as u64 {
            true => Ok(()),
            false => Err(format!("{} batches more than there are", headers.len())),
        }
    }

    /// Reads the whole log as its readers would.
    pub(super) fn read_all(&mut self) -> Result<(), Violation> {
        let upper = self.watermark;
        let mut from = self.model.start;
        while from < upper {
            let Phase::Serving(log) = &self.phase else { return Ok(()) };
            let found = look_up(log, &mut self.disk, from, upper);
            // Whoever reads past damage reads what nobody vouches for.
            if self.disk.take_misread() || !self.wounds().is_empty() {
                return Ok(());
            }
            let Some(span) = found? else {
                return self.nothing(from, upper);
            };
            from = self.fetch(from, upper, &span, 1 << 20)?;
        }
        Ok(())
    }
}

/// Where `from` lies, without waiting.
fn look_up(
    log: &Log,
    disk: &mut crate::disk::SimDisk,
    from: i64,
    upper: i64,
) -> Result<Option<Span>, Violation> {
    let mut reading = log.read(Offset(from), Offset(upper));
    loop {
        let plan = match reading {
            Reading::Empty => return Ok(None),
            Reading::At(span) => return Ok(Some(span)),
            Reading::Locate(plan) => plan,
        };
        match disk.look_up(&plan) {
            Err(error) => return Err(Violation::new("R14", format!("offset {from}: {error}"))),
            Ok(Some(found)) => return Ok(Some(Span::located(&plan, &found))),
            Ok(None) => match log.read_further(&plan, Offset(upper)) {
                Some(further) => reading = Reading::Locate(further),
                None => return Ok(None),
            },
        }
    }
}

/// The whole batches of a read; the last one may be cut off.
fn batches(bytes: &Bytes) -> Result<Vec<BatchHeader>, String> {
    let mut headers = Vec::new();
    for batch in split_batches(bytes.clone()) {
        match batch {
            Ok(batch) if batch.crc_ok() => headers.push(batch.header),
            Ok(batch) => return Err(format!("wrong checksum at {}", batch.header.base_offset)),
            Err(_) if !headers.is_empty() => break,
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(headers)
}

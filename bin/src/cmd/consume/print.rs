//! What is printed of the records that polls give.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, StdoutLock, Write};

use dohle_client::api::{Consumer, Polled};
use dohle_client::machine::TopicPartition;
use dohle_client::machine::consumer::ConsumedRecord;
use dohle_net::client::Tokio;
use dohle_wire::id::Offset;

use super::Args;
use super::format::{self, Format};
use crate::cmd::cluster::Failure;

/// What is printed, and how much of it is left.
pub(super) struct Printer<W: Write> {
    out: W,
    /// JSON without.
    format: Option<Format>,
    left: Option<u64>,
    /// Where to end in each partition; those that are read to their end are taken out.
    pub(super) ends: Option<Ends>,
}

/// Where partitions end.
pub(super) type Ends = BTreeMap<TopicPartition, Offset>;

impl Printer<BufWriter<StdoutLock<'static>>> {
    pub(super) fn new(args: &Args, ends: Option<Ends>) -> Self {
        Self {
            out: BufWriter::with_capacity(1 << 16, io::stdout().lock()),
            format: (!args.json).then(|| args.format.clone()),
            left: args.count,
            ends,
        }
    }
}

impl<W: Write> Printer<W> {
    /// Whether everything that was asked for is printed.
    pub(super) fn has_enough(&self) -> bool {
        self.left == Some(0)
    }

    pub(super) fn is_done(&mut self, consumer: &mut Consumer<Tokio>) -> bool {
        if self.has_enough() {
            return true;
        }
        let Some(ends) = &mut self.ends else { return false };
        let partitions: Vec<TopicPartition> = ends.keys().cloned().collect();
        for of in partitions {
            if consumer.known_position(&of).is_some_and(|at| at >= ends[&of]) {
                ends.remove(&of);
                consumer.pause(of);
            }
        }
        ends.is_empty()
    }

    /// Prints what is asked for, and flushes. `printed` is told how far each partition came.
    pub(super) fn print(
        &mut self,
        polled: Polled,
        mut printed: impl FnMut(TopicPartition, &ConsumedRecord),
    ) -> Result<(), Failure> {
        for (of, records) in polled.records {
            let asked = self.print_some(&of, &records)?;
            if let Some(last) = records[..asked].last() {
                printed(of, last);
            }
        }
        self.out.flush()?;
        match polled.failed.first() {
            Some((of, error)) => Err(Failure::Failed(format!("{of}: {error}"))),
            None => Ok(()),
        }
    }

    /// Prints what is asked for of these; gives how many that were.
    fn print_some(&mut self, of: &TopicPartition, records: &[ConsumedRecord]) -> io::Result<usize> {
        let end = self.ends.as_ref().map(|ends| ends.get(of).copied());
        // What came after the command began is not asked for.
        let late = |offset| end.is_some_and(|end| end.is_none_or(|end| offset >= end));
        let mut count = 0;
        for record in records {
            if self.has_enough() || late(record.offset) {
                break;
            }
            match &self.format {
                Some(format) => format.print(&mut self.out, of, record)?,
                None => writeln!(self.out, "{}", format::object(of, record))?,
            }
            self.left = self.left.map(|left| left - 1);
            count += 1;
        }
        Ok(count)
    }
}

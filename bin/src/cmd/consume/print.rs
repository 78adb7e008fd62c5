//! What is printed of the records that polls give.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Stdout, Write};

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

impl Printer<BufWriter<Stdout>> {
    pub(super) fn new(args: &Args, ends: Option<Ends>) -> Self {
        Self {
            out: BufWriter::with_capacity(1 << 16, io::stdout()),
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

    /// Prints what is asked for, and flushes. Then `printed` is told how far each partition came:
    /// what is only buffered may never be written.
    pub(super) fn print(
        &mut self,
        polled: Polled,
        mut printed: impl FnMut(TopicPartition, &ConsumedRecord),
    ) -> Result<(), Failure> {
        let mut reached = Vec::new();
        for (of, records) in &polled.records {
            let asked = self.print_some(of, records)?;
            reached.extend(records[..asked].last().map(|last| (of.clone(), last)));
        }
        self.out.flush()?;
        for (of, last) in reached {
            printed(of, last);
        }
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

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use dohle_wire::id::{LeaderEpoch, Timestamp};
    use dohle_wire::record::TimestampType;

    use super::*;

    /// A disk that is full after so many bytes.
    struct Small(usize);

    impl Write for Small {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            let fits = data.len().min(self.0);
            self.0 -= fits;
            if fits == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(fits) }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn polled(offsets: std::ops::Range<i64>) -> Polled {
        let record = |offset| ConsumedRecord {
            offset: Offset(offset),
            timestamp: Timestamp(0),
            timestamp_type: TimestampType::CreateTime,
            key: None,
            value: Some(Bytes::from_static(b"123456789")),
            headers: Vec::new(),
            leader_epoch: LeaderEpoch(0),
        };
        let records = offsets.map(record).collect();
        Polled { records: vec![(TopicPartition::new("t", 0), records)], ..Polled::default() }
    }

    #[test]
    fn only_what_was_written_counts_as_printed() {
        let mut printer = Printer {
            out: BufWriter::new(Small(40)),
            format: Some("%v\\n".parse().unwrap()),
            left: None,
            ends: None,
        };
        let mut reached = Vec::new();
        let mut print = |offsets| {
            let done = printer.print(polled(offsets), |_, last| reached.push(last.offset.0));
            done.is_ok()
        };
        assert!(print(0..3));
        assert!(!print(3..6), "the second record of these does not fit");
        assert_eq!(reached, [2]);
    }
}

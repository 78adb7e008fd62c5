//! `dohle consume --group`: reads as a member of a group, and commits what was printed.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dohle_client::api::{Consumer, ConsumerHandle, Listening, Polled, RebalanceListener};
use dohle_client::config::ConsumerConfig;
use dohle_client::machine::TopicPartition;
use dohle_client::machine::consumer::{ConsumedRecord, Start};
use dohle_client::machine::group::{GroupError, OffsetAndMetadata};
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;
use dohle_wire::id::Offset;

use super::print::{Ends, Printer};
use super::{Args, POLL, Reader};
use crate::cmd::cluster::{Failure, about_topic};
use crate::cmd::signals::Signals;
use crate::cmd::waiting::Waiting;

/// What was printed is committed at least so often.
const COMMIT_EVERY: Duration = Duration::from_secs(1);

/// How long leaving may take.
const LEAVE: Duration = Duration::from_secs(10);

/// How long what is being printed may take once the member is to leave.
const LAST_LINES: Duration = Duration::from_secs(1);

/// Adds what `--group` means to the settings.
pub(super) fn configure(args: &Args, config: &mut ConsumerConfig) -> Result<(), Failure> {
    let Some(group) = &args.group else { return Ok(()) };
    let named = args.property.iter().rev().find(|(name, _)| name == "group.id");
    if let Some((_, other)) = named.filter(|(_, other)| other != group) {
        return Err(Failure::Usage(format!(
            "group.id={other} contradicts {group}, given as --group; give one of them"
        )));
    }
    config.set("group.id", group)?;
    // Only what was printed is committed.
    config.set("enable.auto.commit", "false")?;
    let reset = match args.from.0 {
        Start::Earliest => "earliest",
        Start::Latest => "latest",
        Start::Reset | Start::Committed | Start::Offset(_) | Start::Timestamp(_) => {
            return Err(Failure::Usage(
                "with --group, --from says where to begin where nothing is committed: expected \
                 earliest or latest (`dohle group reset-offsets` moves a whole group)"
                    .to_owned(),
            ));
        }
    };
    if !args.property.iter().any(|(name, _)| name == "auto.offset.reset") {
        config.set("auto.offset.reset", reset)?;
    }
    Ok(())
}

/// What the member has, shared with whoever hears of rebalances.
#[derive(Default)]
struct Share {
    /// How far was printed what is not committed yet.
    printed: BTreeMap<TopicPartition, OffsetAndMetadata>,
    /// Where the assigned partitions ended when they were assigned, once there was an assignment.
    ends: Option<Ends>,
}

/// The share, for its owner and the listener.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Share>>);

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Share> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn on_printed(&self, of: TopicPartition, last: &ConsumedRecord) {
        let next = OffsetAndMetadata {
            leader_epoch: Some(last.leader_epoch),
            ..OffsetAndMetadata::at(last.offset.plus(1))
        };
        self.lock().printed.insert(of, next);
    }

    fn take_printed(&self) -> BTreeMap<TopicPartition, OffsetAndMetadata> {
        std::mem::take(&mut self.lock().printed)
    }
}

impl RebalanceListener<Tokio> for Shared {
    fn assigned<'a>(
        &'a mut self,
        consumer: &'a ConsumerHandle<Tokio>,
        partitions: &'a [TopicPartition],
    ) -> Listening<'a> {
        Box::pin(async move {
            eprintln!("dohle: assigned {}", named(partitions));
            // Where an end is not known the member reads on.
            let ends = consumer.end_offsets(partitions.iter().cloned()).await.unwrap_or_default();
            self.lock().ends.get_or_insert_default().extend(ends);
        })
    }

    fn revoked<'a>(
        &'a mut self,
        consumer: &'a ConsumerHandle<Tokio>,
        partitions: &'a [TopicPartition],
    ) -> Listening<'a> {
        Box::pin(async move {
            eprintln!("dohle: revoked {}", named(partitions));
            let printed = self.take_printed();
            if !printed.is_empty()
                && let Err(error) = consumer.commit_offsets(printed).await
            {
                eprintln!("dohle: some records will be printed again: {error}");
            }
            self.forget(partitions);
        })
    }

    fn lost<'a>(
        &'a mut self,
        _consumer: &'a ConsumerHandle<Tokio>,
        partitions: &'a [TopicPartition],
    ) -> Listening<'a> {
        Box::pin(async move {
            eprintln!("dohle: lost {}", named(partitions));
            self.lock().printed.clear();
            self.forget(partitions);
        })
    }
}

impl Shared {
    fn forget(&self, partitions: &[TopicPartition]) {
        if let Some(ends) = &mut self.lock().ends {
            ends.retain(|of, _| !partitions.contains(of));
        }
    }
}

fn named(partitions: &[TopicPartition]) -> String {
    let names: Vec<String> = partitions.iter().map(ToString::to_string).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

/// Prints records until enough is printed or somebody ends it, then leaves the group, so that nobody
/// has to wait for the end of its session.
pub(super) async fn consume(args: Args, config: ConsumerConfig) -> Result<(), Failure> {
    let topic = args.cluster.topic(&args.topic).await?;
    topic.map_err(|error| Failure::Failed(about_topic(&args.topic, &error)))?;
    let shared = Shared::default();
    let mut reader = Reader {
        consumer: Consumer::new(Tokio::new(), config, Arc::new(NativeCodecs))?,
        waiting: Waiting::default(),
    };
    reader.consumer.listen(shared.clone());
    reader.consumer.subscribe([Arc::clone(&args.topic)]).map_err(|error| about(&error))?;
    let signals = Signals::listen()?;
    let printed = print(&args, &mut reader, &shared, signals).await;
    let commit = reader.consumer.commit_offsets(shared.take_printed());
    let committed = tokio::time::timeout(LEAVE, commit).await;
    let left = reader.consumer.close(LEAVE).await;
    printed?;
    match committed {
        Ok(committed) => committed.and(left).map_err(|error| about(&error)),
        Err(_) => Err(about(&GroupError::TimedOut)),
    }
}

/// Prints until enough is printed or a signal comes.
async fn print(
    args: &Args,
    reader: &mut Reader,
    shared: &Shared,
    mut signals: Signals,
) -> Result<(), Failure> {
    let mut printer = Printer::new(args, None);
    let mut committed = Instant::now();
    loop {
        let polled = tokio::select! {
            polled = reader.consumer.poll(POLL) => polled,
            _ = signals.next() => return Ok(()),
        };
        reader.tell();
        if let Some(error) = &polled.group {
            return Err(about(error));
        }
        printer.ends = shared.lock().ends.clone().filter(|_| args.until_end);
        printer = match print_aside(printer, polled, shared, &mut signals).await? {
            Some(printer) => printer,
            None => return Ok(()),
        };
        if printer.has_enough() || args.until_end && is_at_end(&reader.consumer, shared) {
            return Ok(());
        }
        if committed.elapsed() >= COMMIT_EVERY {
            committed = Instant::now();
            drop(reader.consumer.commit_offsets(shared.take_printed()));
        }
    }
}

/// Prints on another thread: while nobody reads the output the member still sends heartbeats, and
/// can leave. Gives the printer back, unless a signal came.
async fn print_aside<W: Write + Send + 'static>(
    mut printer: Printer<W>,
    polled: Polled,
    shared: &Shared,
    signals: &mut Signals,
) -> Result<Option<Printer<W>>, Failure> {
    let shared = shared.clone();
    let mut printing = tokio::task::spawn_blocking(move || {
        printer.print(polled, |of, last| shared.on_printed(of, last)).map(|()| printer)
    });
    let (printed, ends) = tokio::select! {
        printed = &mut printing => (Ok(printed), false),
        _ = signals.next() => (tokio::time::timeout(LAST_LINES, printing).await, true),
    };
    match printed {
        Ok(Ok(printed)) => printed.map(|printer| (!ends).then_some(printer)),
        Ok(Err(panicked)) => Err(Failure::Failed(format!("printing: {panicked}"))),
        Err(_) => Ok(None),
    }
}

/// Whether everything was read that there was when the partitions were assigned.
fn is_at_end(consumer: &Consumer<Tokio>, shared: &Shared) -> bool {
    let share = shared.lock();
    let read = |(of, end): (&TopicPartition, &Offset)| {
        consumer.known_position(of).is_some_and(|position| position >= *end)
    };
    share.ends.as_ref().is_some_and(|ends| ends.iter().all(read))
}

fn about(error: &GroupError) -> Failure {
    Failure::Failed(format!("the group: {error}"))
}

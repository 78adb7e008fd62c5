//! `dohle log describe`: what is in each partition, by its files.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use dohle_core::verify::{Facts, Finding};
use dohle_wire::id::{ProducerId, Timestamp};
use serde_json::{Value, json};

use super::disk::Kind;
use super::verify::{Failure, progress, survey, targets};
use crate::cmd::time;

#[derive(clap::Args, Debug)]
pub(super) struct DescribeArgs {
    /// Data directories, or folders of partitions.
    #[arg(required = true)]
    pub(super) paths: Vec<PathBuf>,
    /// Print one JSON object for each partition.
    #[arg(long)]
    pub(super) json: bool,
}

pub(super) fn run(args: &DescribeArgs) -> ExitCode {
    match describe(args, BufWriter::new(io::stdout().lock())) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(damaged) => {
            eprintln!("dohle: {damaged} findings of damage; dohle log verify says which");
            ExitCode::from(1)
        }
        Err(failure) => failure.tell(),
    }
}

/// Prints the partitions at the paths; gives how many damages were seen on the way.
pub(super) fn describe(args: &DescribeArgs, mut to: impl Write) -> Result<u64, Failure> {
    let targets = targets(&args.paths)?;
    if let Some((path, _)) =
        args.paths.iter().zip(&targets).find(|(_, target)| target.kind == Kind::File)
    {
        return Err(Failure::Unknown(path.clone()));
    }
    let progress = progress(&targets);
    let mut damaged = 0;
    for (path, target) in args.paths.iter().zip(&targets) {
        let mut ignore = |_: Finding| ();
        let (logs, tally) = survey(path, target, false, &progress, &mut ignore)?;
        damaged += tally.damaged;
        for facts in logs {
            let text = if args.json { object(&facts).to_string() } else { paragraph(&facts) };
            progress.suspend(|| writeln!(to, "{text}")).map_err(Failure::Output)?;
        }
    }
    progress.finish_and_clear();
    to.flush().map_err(Failure::Output)?;
    Ok(damaged)
}

fn object(facts: &Facts) -> Value {
    let (topic, partition) = facts.key.clone().unzip();
    let iso = |time: Option<Timestamp>| time.map(|time| time::iso_of(time.0));
    let epochs =
        facts.epochs.iter().map(|(epoch, start)| json!({"epoch": epoch.0, "start": start.0}));
    let producers = facts.producers.iter().flat_map(|(_, table)| table.iter());
    let producers = producers.map(|(ProducerId(id), entry)| {
        let last = entry.batches.back();
        json!({
            "producerId": id,
            "epoch": entry.epoch.0,
            "lastSequence": last.map(|last| last.last_sequence.0),
            "lastOffset": last.map(|last| last.last_offset.0),
            "lastTimestamp": iso(Some(entry.last_timestamp)),
            "openTransaction": entry.open_transaction.map(|offset| offset.0),
        })
    });
    json!({
        "folder": facts.folder,
        "topic": topic,
        "partition": partition.map(|partition| partition.0),
        "topicId": facts.topic_id.map(|id| id.to_string()),
        "segments": facts.segments,
        "bytes": facts.bytes,
        "logStart": facts.log_start.0,
        "end": facts.end.0,
        "batches": facts.batches,
        "records": facts.records,
        "codecs": facts.codecs,
        "firstTimestamp": iso(facts.first_timestamp),
        "lastTimestamp": iso(facts.last_timestamp),
        "leaderEpochs": epochs.collect::<Vec<_>>(),
        "snapshot": facts.producers.as_ref().map(|(upto, _)| upto.0),
        "producers": producers.collect::<Vec<_>>(),
    })
}

fn paragraph(facts: &Facts) -> String {
    let iso = |time: Option<Timestamp>| time.map_or("none".to_owned(), |time| time::iso_of(time.0));
    let id = facts.topic_id.map_or("unknown".to_owned(), |id| id.to_string());
    let codecs = facts.codecs.iter().map(|(codec, count)| format!("{codec} {count}"));
    let epochs = facts.epochs.iter().map(|(epoch, start)| format!("{epoch} from {start}"));
    let mut lines = vec![
        facts.folder.clone(),
        format!("  topic id       {id}"),
        format!("  segments       {} ({} bytes)", facts.segments, facts.bytes),
        format!("  offsets        {} to {}", facts.log_start, facts.end),
        format!("  records        {} in {} batches", facts.records, facts.batches),
        format!("  codecs         {}", list(codecs)),
        format!("  timestamps     {} to {}", iso(facts.first_timestamp), iso(facts.last_timestamp)),
        format!("  leader epochs  {}", list(epochs)),
    ];
    if let Some((upto, table)) = &facts.producers {
        lines.push(format!("  producers      {} in the snapshot up to {upto}", table.len()));
        for (id, entry) in table.iter() {
            let last = entry.batches.back();
            let last = last.map_or_else(String::new, |last| {
                format!(", last sequence {} at offset {}", last.last_sequence, last.last_offset)
            });
            let open = entry.open_transaction;
            let open = open.map_or_else(String::new, |at| format!(", transaction from {at}"));
            lines.push(format!("    {id}, epoch {}{last}{open}", entry.epoch));
        }
    }
    lines.join("\n")
}

fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

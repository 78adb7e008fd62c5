//! `dohle log`: looks at the files of a data directory, offline. Never writes.

mod describe;
mod disk;
mod index;
mod out;
mod record;
mod segment;
mod snapshot;
mod text;
mod verify;

#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use dohle_core::verify::WHOLE_MAX;

use self::out::{Out, Row};
use self::segment::{Topic, Wish};

/// What to do with the files of a data directory.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Print what is in the files of logs; exit with 1 if anything in them is damaged.
    ///
    /// Understands segments (.log), their indexes (.index, .timeindex, .txnindex), snapshots of
    /// producers (.snapshot) and of the metadata log (.checkpoint), checkpoints of offsets and
    /// epochs, quorum-state, meta.properties and partition.metadata. A folder stands for all of
    /// these in it and below. Records of the metadata log are always decoded and printed, those of
    /// __consumer_offsets are decoded when records are printed.
    Dump(DumpArgs),
    /// Say what is damaged, and where; change nothing.
    ///
    /// Reads segments to the last record, indexes, snapshots of producers, checkpoints and the other
    /// files of a data directory, and holds them against each other. Prints a line for each finding:
    /// `damage` is what was there and is no more, `torn` what a crash leaves and the next start cuts
    /// off or makes anew, `warning` what does no harm. Exits with 0 when nothing is damaged, with 1
    /// when something is, with 2 when it could not look. What a running broker writes meanwhile may
    /// look torn: stop it first.
    Verify(verify::VerifyArgs),
    /// Print what is in each partition: offsets, records, codecs, times, leader epochs, producers.
    ///
    /// Reads the headers of batches, not the records. Exits with 1 when it came upon damage, with 2
    /// when it could not look.
    Describe(describe::DescribeArgs),
}

#[derive(clap::Args, Debug)]
struct DumpArgs {
    /// Files or folders.
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// Print the records of segments, not only their batches.
    #[arg(long)]
    print_data: bool,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
}

/// Runs `dohle log`.
pub(crate) fn run(args: &Args) -> ExitCode {
    match &args.command {
        Command::Verify(args) => verify::run(args),
        Command::Describe(args) => describe::run(args),
        Command::Dump(args) => match dump(args, BufWriter::new(io::stdout().lock())) {
            Ok(0) => ExitCode::SUCCESS,
            Ok(damages) => {
                eprintln!(
                    "dohle: {damages} damaged {}",
                    if damages == 1 { "place" } else { "places" }
                );
                ExitCode::from(1)
            }
            // Whoever read the output has seen enough.
            Err(Failure::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                ExitCode::SUCCESS
            }
            Err(Failure::Output(error)) => {
                failed(&format!("the output cannot be written: {error}"))
            }
            Err(Failure::Path(path, error)) => {
                failed(&format!("{} cannot be read: {error}", path.display()))
            }
            Err(Failure::Unknown(path)) => failed(&format!(
                "{} is no file of a log; expected one of .log .index .timeindex .txnindex \
                 .snapshot .checkpoint, a checkpoint, quorum-state, meta.properties, \
                 partition.metadata, or a folder",
                path.display()
            )),
        },
    }
}

fn failed(problem: &str) -> ExitCode {
    eprintln!("dohle: {problem}");
    ExitCode::from(1)
}

#[derive(Debug)]
enum Failure {
    Output(io::Error),
    Path(PathBuf, io::Error),
    Unknown(PathBuf),
}

/// Prints everything at `paths`; gives the number of damages.
fn dump(args: &DumpArgs, to: impl Write) -> Result<u64, Failure> {
    let mut out = Out::new(to, args.json);
    let mut before = None;
    for path in &args.paths {
        let unreadable = |error| Failure::Path(path.clone(), error);
        if fs::metadata(path).map_err(unreadable)?.is_dir() {
            for file in files_below(path).map_err(unreadable)? {
                one(&file, args, &mut before, &mut out)?;
            }
        } else if !one(path, args, &mut before, &mut out)? {
            return Err(Failure::Unknown(path.clone()));
        }
    }
    out.flush().map_err(Failure::Output)?;
    Ok(out.damages())
}

/// All files in and below a folder, sorted; links are not followed.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let (mut folders, mut files) = (vec![folder.to_owned()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// What a file is, by its name.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    Segment,
    OffsetIndex,
    TimeIndex,
    AbortedIndex,
    Producers,
    Offsets,
    Epochs,
    Json,
    Meta,
    Partition,
}

impl Kind {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        match name {
            "recovery-point-offset-checkpoint"
            | "log-start-offset-checkpoint"
            | "replication-offset-checkpoint"
            | "cleaner-offset-checkpoint" => Some(Self::Offsets),
            "leader-epoch-checkpoint" => Some(Self::Epochs),
            "quorum-state" | ".kafka_cleanshutdown" => Some(Self::Json),
            "meta.properties" => Some(Self::Meta),
            "partition.metadata" => Some(Self::Partition),
            _ => match path.extension()?.to_str()? {
                "log" | "checkpoint" => Some(Self::Segment),
                "index" => Some(Self::OffsetIndex),
                "timeindex" => Some(Self::TimeIndex),
                "txnindex" => Some(Self::AbortedIndex),
                "snapshot" => Some(Self::Producers),
                _ => None,
            },
        }
    }
}

/// The folder of a sound segment and the offset after it.
type Before = Option<(PathBuf, i64)>;

/// Prints one file; gives whether it is one of a kind that this command knows. `before` is the
/// segment that was printed last.
fn one<W: Write>(
    path: &Path,
    args: &DumpArgs,
    before: &mut Before,
    out: &mut Out<W>,
) -> Result<bool, Failure> {
    let Some(kind) = Kind::of(path) else { return Ok(false) };
    // What comes out of a read and what comes out of a write must be told apart: only the former
    // has to do with the file.
    let opened = fs::File::open(path).and_then(|file| file.metadata());
    let len = opened.map_err(|error| Failure::Path(path.to_owned(), error))?.len();
    out.file(&path.display().to_string()).map_err(Failure::Output)?;
    if len > WHOLE_MAX && kind != Kind::Segment {
        let problem = format!("{len} bytes: such a file has at most {WHOLE_MAX}");
        out.damage(0, &problem).map_err(Failure::Output)?;
        return Ok(true);
    }
    let base = base_offset(path);
    let printed = match kind {
        Kind::Segment => {
            let wish = Wish { data: args.print_data, topic: topic(path) };
            dump_segment(path, base, wish, before, out)
        }
        Kind::OffsetIndex => index::offsets(path, base, out),
        Kind::TimeIndex => index::times(path, base, out),
        Kind::AbortedIndex => index::aborted(path, out),
        Kind::Producers => snapshot::dump(path, out),
        Kind::Offsets => text::offsets(path, out),
        Kind::Epochs => text::epochs(path, out),
        Kind::Json => text::json(path, "state", out),
        Kind::Meta => text::properties(path, &["version", "cluster.id", "node.id"], out),
        Kind::Partition => text::properties(path, &["version", "topic_id"], out),
    };
    printed.map_err(Failure::Output)?;
    Ok(true)
}

/// Prints a segment, and how its place in the log fits the segment before it. Offsets that are
/// missing between the two may have been compacted away; a log that has any twice is damaged.
fn dump_segment<W: Write>(
    path: &Path,
    base: i64,
    wish: Wish,
    before: &mut Before,
    out: &mut Out<W>,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    let is_log = path.extension().is_some_and(|extension| extension == "log");
    match before.take().filter(|(of, _)| *of == folder && is_log) {
        Some((_, next)) if next < base => {
            let row =
                Row::new().with("firstMissingOffset", next).with("lastMissingOffset", base - 1);
            out.row("gap", 0, &row)?;
        }
        Some((_, next)) if next > base => {
            let problem = format!("begins at {base}, but the segment before ends before {next}");
            out.damage(0, &problem)?;
        }
        Some(_) | None => {}
    }
    let damages = out.damages();
    let next = segment::dump(path, wish, out)?;
    if is_log && out.damages() == damages {
        *before = Some((folder, next.unwrap_or(base)));
    }
    Ok(())
}

/// The topic whose records a file holds.
fn topic(path: &Path) -> Topic {
    let folder = path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    match folder.unwrap_or_default().rsplit_once('-') {
        Some(("__cluster_metadata", "0")) => Topic::Metadata,
        _ if path.extension().is_some_and(|extension| extension == "checkpoint") => Topic::Metadata,
        Some(("__consumer_offsets", _)) => Topic::Groups,
        _ => Topic::Other,
    }
}

/// The offset that the name of a file starts with; 0 without one.
fn base_offset(path: &Path) -> i64 {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    stem.parse().unwrap_or(0)
}

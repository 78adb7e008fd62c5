//! `dohle log verify`: says what is damaged, and where.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dohle_codec::NativeCodecs;
use dohle_core::verify::{Facts, Finding, Survey, Tally};
use indicatif::ProgressBar;
use serde_json::json;

use super::disk::{Disk, Kind, Target, Unreadable, target};
use crate::cmd::bar::bar;

#[derive(clap::Args, Debug)]
pub(super) struct VerifyArgs {
    /// Data directories, folders of partitions, or single files.
    #[arg(required = true)]
    pub(super) paths: Vec<PathBuf>,
    /// Print one JSON object for each finding, and one that sums up.
    #[arg(long)]
    pub(super) json: bool,
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum Failure {
    Output(io::Error),
    Unreadable(Unreadable),
    Unknown(PathBuf),
}

impl From<Unreadable> for Failure {
    fn from(error: Unreadable) -> Self {
        Self::Unreadable(error)
    }
}

impl Failure {
    /// Says what is wrong; the exit code.
    pub(super) fn tell(&self) -> ExitCode {
        match self {
            // Whoever read the output has seen enough.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return ExitCode::SUCCESS;
            }
            Self::Output(error) => eprintln!("dohle: the output cannot be written: {error}"),
            Self::Unreadable(Unreadable { path, error }) => {
                eprintln!("dohle: {} cannot be looked at: {error}", path.display());
            }
            Self::Unknown(path) => eprintln!(
                "dohle: {} is no file of a broker; expected a data directory, the folder of a \
                 partition, or a file of these",
                path.display()
            ),
        }
        ExitCode::from(2)
    }
}

pub(super) fn run(args: &VerifyArgs) -> ExitCode {
    match verify(args, BufWriter::new(io::stdout().lock())) {
        Ok(tally) if tally.damaged == 0 => ExitCode::SUCCESS,
        Ok(_) => ExitCode::from(1),
        Err(failure) => failure.tell(),
    }
}

/// Prints what is wrong at the paths; gives what was gone through.
pub(super) fn verify(args: &VerifyArgs, mut to: impl Write) -> Result<Tally, Failure> {
    let targets = targets(&args.paths)?;
    let progress = progress(&targets);
    let mut total = Tally::default();
    for (path, target) in args.paths.iter().zip(&targets) {
        let mut failed = None;
        let mut print = |finding: Finding| {
            let line = line(target, &finding, args.json);
            let printed = progress.suspend(|| writeln!(to, "{line}"));
            failed = failed.take().or(printed.err());
        };
        let (_, tally) = survey(path, target, true, &progress, &mut print)?;
        if let Some(error) = failed {
            return Err(Failure::Output(error));
        }
        add(&mut total, tally);
    }
    progress.finish_and_clear();
    writeln!(to, "{}", summary(&total, args.json)).map_err(Failure::Output)?;
    to.flush().map_err(Failure::Output)?;
    Ok(total)
}

/// What the paths stand for.
pub(super) fn targets(paths: &[PathBuf]) -> Result<Vec<Target>, Failure> {
    paths.iter().map(|path| target(path).map_err(Failure::from)).collect()
}

/// Goes through one target; gives what is in its logs.
pub(super) fn survey(
    path: &Path,
    target: &Target,
    deep: bool,
    progress: &ProgressBar,
    on_finding: &mut dyn FnMut(Finding),
) -> Result<(Vec<Facts>, Tally), Failure> {
    let mut disk = Disk::new(&target.root, progress.clone());
    let mut survey = Survey::new(&mut disk, &NativeCodecs, deep, on_finding);
    let logs = match target.kind {
        Kind::Directory => survey.directory()?,
        Kind::Partition => vec![survey.folder(&target.below)?],
        Kind::File if survey.file(&target.below)? => Vec::new(),
        Kind::File => return Err(Failure::Unknown(path.to_owned())),
    };
    Ok((logs, survey.tally()))
}

/// A bar over all bytes, where a person sees it.
pub(super) fn progress(targets: &[Target]) -> ProgressBar {
    let bytes = targets.iter().map(|target| target.bytes).sum();
    bar(bytes, "{wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left")
}

fn line(target: &Target, finding: &Finding, as_json: bool) -> String {
    let problem = &finding.problem;
    let file = target.root.join(&finding.file).display().to_string();
    let offset = problem.offset.map(|offset| offset.0);
    if as_json {
        let object = json!({
            "kind": problem.severity.name(),
            "file": file,
            "check": problem.check,
            "position": problem.position,
            "offset": offset,
            "expected": problem.expected,
            "found": problem.found,
        });
        return object.to_string();
    }
    let position = problem.position.map_or_else(String::new, |at| format!(" at byte {at}"));
    let offset = offset.map_or_else(String::new, |offset| format!(" (offset {offset})"));
    let (severity, check) = (problem.severity.name(), problem.check);
    let (expected, found) = (&problem.expected, &problem.found);
    format!("{file}: {severity}{position}{offset}: {check}: expected {expected}, found {found}")
}

fn add(total: &mut Tally, one: Tally) {
    total.files += one.files;
    total.bytes += one.bytes;
    total.batches += one.batches;
    total.records += one.records;
    total.damaged += one.damaged;
    total.torn += one.torn;
    total.warnings += one.warnings;
}

fn summary(total: &Tally, as_json: bool) -> String {
    let Tally { files, bytes, batches, records, damaged, torn, warnings } = *total;
    if as_json {
        let object = json!({
            "kind": "summary",
            "files": files,
            "bytes": bytes,
            "batches": batches,
            "records": records,
            "findings": damaged + torn + warnings,
            "damaged": damaged,
            "torn": torn,
            "warnings": warnings,
        });
        return object.to_string();
    }
    format!(
        "{files} files, {bytes} bytes, {batches} batches, {records} records: {damaged} damaged, \
         {torn} torn, {warnings} warnings"
    )
}

//! `dohle bench produce`: how fast records are acknowledged.

use std::sync::atomic::Ordering::Relaxed;

use super::load::{Load, LoadArgs};
use super::progress::Progress;
use super::summary::{add_rates, tell, unless};
use super::topic::{Topic, on_topic};
use crate::cmd::cluster::Failure;

/// Write records, and measure until they are acknowledged.
///
/// With --rate a record's time runs from the moment it was due, whether it could be sent then or
/// not; without, from the call that sends it. A rate that is out of reach is told.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    load: LoadArgs,
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    args.load.check()?;
    on_topic(&args.load, async |topic| measure(&args.load, topic).await).await
}

async fn measure(args: &LoadArgs, topic: &Topic) -> Result<(), Failure> {
    let progress = Progress::begin("records", args.records);
    let load = Load::new(args, &topic.name, &progress.done)?;
    let ran = load.run().await?;
    drop(progress);
    let acked = load.acked.load(Relaxed);
    let mut found = ran.measure.end(acked, acked * load.record_size(), ran.took, &load.latency);
    add_rates(&mut found, load.rates());
    tell(args.json, &mut found, ("records", "until acknowledged"), ran.problem.as_deref())?;
    unless(ran.problem)
}

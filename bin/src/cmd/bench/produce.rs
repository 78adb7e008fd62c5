//! `dohle bench produce`: how fast records are acknowledged.

use super::load::{Load, LoadArgs};
use super::progress::Progress;
use super::summary::tell;
use super::topic::{Topic, on_topic};
use crate::cmd::cluster::Failure;

/// Write records, and measure until they are acknowledged.
///
/// With --rate a record's time runs from the moment it was due, whether it could be sent then or
/// not; without, from the call that sends it.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    load: LoadArgs,
}

pub(super) async fn run(args: Args) -> Result<(), Failure> {
    on_topic(&args.load, async |topic| measure(&args.load, topic).await).await
}

async fn measure(args: &LoadArgs, topic: &Topic) -> Result<(), Failure> {
    let progress = Progress::begin("records", args.records);
    let load = Load::new(args, &topic.name, &progress.done);
    let (measure, took) = load.run().await?;
    drop(progress);
    let acked = load.acked.load(std::sync::atomic::Ordering::Relaxed);
    let found = measure.end(acked, acked * load.record_size(), took, &load.latency);
    tell(args.json, &found, "records", "until acknowledged")
}

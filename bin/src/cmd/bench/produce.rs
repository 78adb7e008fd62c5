//! `dohle bench produce`: how fast records are acknowledged.

use super::load::{Load, LoadArgs};
use super::progress::Progress;
use super::summary::tell;
use super::topic::Topic;
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
    let topic = Topic::of(&args.load).await?;
    let progress = Progress::begin("records", args.load.records);
    let load = Load::new(&args.load, &topic.name, &progress.done);
    let ran = load.run().await;
    drop(progress);
    topic.end().await?;
    let acked = load.acked.load(std::sync::atomic::Ordering::Relaxed);
    let (measure, took) = ran?;
    let found = measure.end(acked, acked * load.record_size(), took, &load.latency);
    tell(args.load.json, &found, "records", "until acknowledged")
}

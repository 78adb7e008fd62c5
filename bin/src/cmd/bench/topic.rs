//! The topic of a measurement: one that is there, or one that is made for it and goes with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dohle_client::machine::admin::{ItemError, NewTopic};
use dohle_wire::ErrorCode;

use super::load::LoadArgs;
use crate::cmd::cluster::{Cluster, Failure, about_topic};
use crate::cmd::signals::Signals;

/// How long the deletion of a topic may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// The same when something went wrong before, or somebody wants the command to end.
const IN_HASTE: Duration = Duration::from_secs(2);

/// A topic to write to.
pub(super) struct Topic {
    pub(super) name: Arc<str>,
    cluster: Cluster,
    named: bool,
    keep: bool,
    /// It was asked for, so that there is something to delete.
    made: AtomicBool,
}

/// Measures on the topic that was named, or on one that is made for it and deleted afterwards:
/// whatever comes of the measurement, and also after a signal.
pub(super) async fn on_topic(
    args: &LoadArgs,
    measure: impl AsyncFnOnce(&Topic) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut signals = Signals::listen()?;
    let topic = Topic::of(args);
    let measured = async {
        topic.prepare(args).await?;
        measure(&topic).await
    };
    let ended = tokio::select! {
        measured = measured => measured,
        code = signals.next() => Err(Failure::Signal(code, "ended by a signal".to_owned())),
    };
    let deleted = topic.delete(if ended.is_ok() { PATIENCE } else { IN_HASTE });
    let signal = async {
        match ended {
            Err(Failure::Signal(..)) => signals.second().await,
            _ => signals.next().await,
        }
    };
    let left = tokio::select! {
        deleted = deleted => deleted.err(),
        code = signal => Some(Failure::Signal(code, topic.is_left(&"a signal came"))),
    };
    match (ended, left) {
        (ended, None) => ended,
        (Ok(()), Some(left)) => Err(left),
        (Err(failure), Some(left)) => Err(failure.and(&left)),
    }
}

impl Topic {
    fn of(args: &LoadArgs) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let fresh = || format!("bench-{}-{}", std::process::id(), since.as_millis()).into();
        Self {
            name: args.topic.clone().unwrap_or_else(fresh),
            cluster: args.cluster.clone(),
            named: args.topic.is_some(),
            keep: args.keep,
            made: AtomicBool::new(false),
        }
    }

    /// Looks for the topic that was named, or makes one.
    async fn prepare(&self, args: &LoadArgs) -> Result<(), Failure> {
        let failed = |error: &ItemError| Failure::Failed(about_topic(&self.name, error));
        if self.named {
            return self.cluster.topic(&self.name).await?.map(drop).map_err(|why| failed(&why));
        }
        let mut new = NewTopic::new(Arc::clone(&self.name), args.partitions);
        new.configs.clone_from(&args.topic_config);
        let admin = self.cluster.admin().await?;
        self.made.store(true, Relaxed);
        let made = admin.create_topics(vec![new]).await;
        let made =
            made.map_err(|error| self.cluster.failed(&error, admin.last_connection_error()))?;
        for result in made.into_values() {
            if let Err(error) = result {
                self.made.store(false, Relaxed);
                return Err(failed(&error));
            }
        }
        Ok(())
    }

    /// Deletes it, if it was made for this.
    async fn delete(&self, patience: Duration) -> Result<(), Failure> {
        if !self.made.load(Relaxed) || self.keep {
            return Ok(());
        }
        let admin = self.cluster.admin_within(patience)?;
        let deleted = admin.delete_topics(vec![Arc::clone(&self.name)]).await;
        let left = |why: &dyn std::fmt::Display| Failure::Failed(self.is_left(why));
        let each = deleted.map_err(|error| left(&error))?;
        let gone = |error: &ItemError| error.code == ErrorCode::UnknownTopicOrPartition;
        match each.into_values().find_map(Result::err).filter(|error| !gone(error)) {
            Some(error) => Err(left(&error)),
            None => Ok(()),
        }
    }

    fn is_left(&self, why: &dyn std::fmt::Display) -> String {
        let name = &self.name;
        format!(
            "the topic {name} may be left, it could not be deleted ({why}); \
             `dohle topic delete {name}` deletes it"
        )
    }
}

//! The topic of a measurement: one that is there, or one that is made for it and goes with it.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use dohle_client::machine::admin::NewTopic;

use super::load::LoadArgs;
use crate::cmd::cluster::{Cluster, Failure, about_topic};

/// A topic to write to.
pub(super) struct Topic {
    pub(super) name: Arc<str>,
    cluster: Cluster,
    ours: bool,
}

impl Topic {
    /// The topic that was named, or a new one.
    pub(super) async fn of(args: &LoadArgs) -> Result<Self, Failure> {
        let cluster = args.cluster.clone();
        if let Some(name) = &args.topic {
            cluster
                .topic(name)
                .await?
                .map_err(|error| Failure::Failed(about_topic(name, &error)))?;
            return Ok(Self { name: Arc::clone(name), cluster, ours: false });
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let name: Arc<str> = format!("bench-{}-{}", std::process::id(), since.as_millis()).into();
        let mut new = NewTopic::new(Arc::clone(&name), args.partitions);
        new.configs.clone_from(&args.topic_config);
        let admin = cluster.admin().await?;
        let made = admin.create_topics(vec![new]).await;
        let made = made.map_err(|error| cluster.failed(&error, admin.last_connection_error()))?;
        for (name, result) in made {
            result.map_err(|error| Failure::Failed(about_topic(&name, &error)))?;
        }
        Ok(Self { name, cluster, ours: !args.keep })
    }

    /// Deletes it, if it was made for this.
    pub(super) async fn end(self) -> Result<(), Failure> {
        if !self.ours {
            return Ok(());
        }
        let admin = self.cluster.admin().await?;
        let gone = admin.delete_topics(vec![Arc::clone(&self.name)]).await;
        gone.map_err(|error| self.cluster.failed(&error, admin.last_connection_error()))?;
        Ok(())
    }
}

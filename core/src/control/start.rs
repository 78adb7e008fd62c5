//! From the data directories' identities to serving clients.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::id::{LeaderEpoch, NodeId, Offset};

use super::boot::Judged;
use super::io::{Token, id};
use super::node::{Node, Stage};
use super::reserve::Reserve;
use super::{ControlSettings, Effect, clean_stop, identity, note, warn};
use crate::config::broker::BrokerConfig;
use crate::config::topic::TopicConfig;
use crate::controller::brokers::{Registration, register};
use crate::controller::{Controller, Soft, features, local_epoch};
use crate::disk::{DiskOp, FileIds, FilePath, IoDone};
use crate::fx::Fx;
use crate::image::Image;
use crate::log::LogSettings;
use crate::mail::ShardId;
use crate::mutant::Mutants;
use crate::quorum::{self, FOLDER, Quorum, QuorumSettings};
use crate::shard::Level;
use crate::time::{Instant, Now};

/// Records of one batch at the start.
pub(super) const FIRST_BATCH: usize = 10_000;

impl Node {
    /// Writes the identity of new directories and opens the quorum, side by side.
    pub(super) fn open(
        now: Now,
        settings: &Arc<ControlSettings>,
        judged: Judged,
        fx: &mut Fx<Effect>,
    ) -> Result<Box<Self>, String> {
        let config = &settings.config;
        let image = Image::empty(Arc::clone(&judged.identity.cluster_id), Arc::clone(config));
        // Ids are drawn only after the election, from the epoch that it gives.
        let soft = Soft::new(settings.seed, settings.fresh.incarnation, LeaderEpoch(0));
        let quorum = Quorum::new(QuorumSettings {
            node: NodeId(config.node_id),
            dir: judged.metadata_dir,
            clean: judged.clean,
            recovery_point: judged.keeper.metadata_recovery_point(),
            generation: 0,
            log: log_settings(config),
        });
        remove_marks(&judged.marks, fx);
        let writes = write_identities(&judged.identity, fx);
        let mut node = Box::new(Self {
            settings: Arc::clone(settings),
            metadata_dir: judged.metadata_dir,
            who: Registration {
                incarnation: settings.fresh.incarnation,
                directories: judged.directories,
                clean: judged.clean,
            },
            clean_epochs: judged.clean_epochs,
            fresh_dirs: judged.identity.fresh,
            files: FileIds::of_unit(0),
            quorum,
            controller: Controller::new(image, soft),
            keeper: judged.keeper,
            stage: Stage::Opening { writes, elected: None },
            failed_dirs: BTreeSet::new(),
            lost_dirs: BTreeSet::new(),
            frozen: false,
            retry_metadata: None,
            full_dirs: BTreeMap::new(),
            reserve: Reserve::new(judged.metadata_dir),
            round: None,
            next_round: Instant(0),
            deletion: None,
        });
        for (dir, why) in &judged.failed {
            node.take_offline(*dir, why, fx);
        }
        node.drive(now, quorum::Input::Open, fx)?;
        Ok(node)
    }

    pub(super) fn on_identity_written(
        &mut self,
        now: Now,
        dir: u16,
        done: IoDone,
        fx: &mut Fx<Effect>,
    ) -> Result<(), String> {
        if let Err(error) = done.result {
            let path = self.path(dir);
            let file = identity::FILE;
            let why = format!("{path}/{file} cannot be written: {error}");
            if dir == self.metadata_dir {
                return Err(format!("{why}; see to the disk"));
            }
            self.take_offline(dir, &why, fx);
        }
        if let Stage::Opening { writes, .. } = &mut self.stage {
            *writes -= 1;
        }
        self.lead_if_elected(now, fx)
    }

    pub(super) fn on_elected(
        &mut self,
        now: Now,
        epoch: LeaderEpoch,
        fx: &mut Fx<Effect>,
    ) -> Result<(), String> {
        if self.stage == Stage::Running {
            return self.lead_again(now, epoch, fx);
        }
        if let Stage::Opening { elected, .. } = &mut self.stage {
            *elected = Some(epoch);
        }
        self.lead_if_elected(now, fx)
    }

    /// The metadata log was opened anew while the node serves.
    fn lead_again(
        &mut self,
        now: Now,
        epoch: LeaderEpoch,
        fx: &mut Fx<Effect>,
    ) -> Result<(), String> {
        let soft = Soft::new(self.settings.seed, self.who.incarnation, epoch);
        self.controller.begin(soft);
        self.drive(now, quorum::Input::Lead, fx)?;
        self.tell_offline(now, fx)?;
        self.flush(now, fx)
    }

    /// Appends the first records once the election is won and the node's identity durable.
    fn lead_if_elected(&mut self, now: Now, fx: &mut Fx<Effect>) -> Result<(), String> {
        let Stage::Opening { writes: 0, elected: Some(epoch) } = self.stage else { return Ok(()) };
        self.check_replayed(fx)?;
        self.note_missing_dirs(fx);
        let (seed, incarnation) = (self.settings.seed, self.who.incarnation);
        self.controller.begin(Soft::new(seed, incarnation, epoch));
        self.stage =
            Stage::Starting { last: Offset(i64::MAX), told: false, ready: BTreeSet::new() };
        self.drive(now, quorum::Input::Lead, fx)?;
        let image = self.controller.speculative();
        let base = image.offset.plus(1);
        let records = register(image, &self.who, base, self.controller.is_torn());
        for chunk in records.chunks(FIRST_BATCH) {
            let placed = self.propose(now, chunk.to_vec(), fx)?;
            placed.map_err(|refusal| format!("the first records do not fit: {refusal:?}"))?;
        }
        self.flush(now, fx)?;
        let last = self.controller.speculative().offset;
        if let Stage::Starting { last: unknown, .. } = &mut self.stage {
            *unknown = last;
        }
        Ok(())
    }

    /// Judges what was read from the metadata log before anything is added to it.
    fn check_replayed(&mut self, fx: &mut Fx<Effect>) -> Result<(), String> {
        let image = Arc::clone(self.controller.speculative());
        let path = self.path(self.metadata_dir).to_owned();
        if image.offset >= Offset(0) && self.fresh_dirs.contains(&self.metadata_dir) {
            return Err(format!(
                "{path} holds a metadata log but no {}, so nobody knows which cluster it belongs \
                 to. Restore that file, or start with an empty data directory.",
                identity::FILE
            ));
        }
        features::check(&image)?;
        if !self.controller.ignored().is_empty() {
            let kinds: Vec<&str> = self.controller.ignored().iter().copied().collect();
            warn(format!("{path}/{FOLDER}: nothing acts on records like {}", kinds.join(", ")), fx);
        }
        let unserved = features::unserved(&image);
        if !unserved.is_empty() {
            let list = unserved.join(", ");
            warn(format!("the cluster has finalized features that are not served: {list}"), fx);
        }
        self.check_clean_epochs(&image, fx);
        Ok(())
    }

    /// A mark left by another registration than the last one is an old copy.
    fn check_clean_epochs(&mut self, image: &Image, fx: &mut Fx<Effect>) {
        let Some(last) = local_epoch(image) else { return };
        if let Some(other) = self.clean_epochs.iter().find(|epoch| **epoch != last) {
            let file = clean_stop::FILE;
            warn(
                format!(
                    "{file} is of broker epoch {other}, the last one was {last}: logs are \
                         recovered as after a crash"
                ),
                fx,
            );
            self.who.clean = false;
        }
    }

    pub(super) fn on_ready(&mut self, now: Now, shard: ShardId, fx: &mut Fx<Effect>) {
        if let Stage::Starting { ready, .. } = &mut self.stage {
            ready.insert(shard);
        }
        self.run_if_ready(now, fx);
    }

    pub(super) fn run_if_ready(&mut self, now: Now, fx: &mut Fx<Effect>) {
        let committed = self.committed().offset;
        let Stage::Starting { last, ready, .. } = &self.stage else { return };
        if committed < *last || ready.len() < usize::from(self.settings.shards) {
            return;
        }
        self.stage = Stage::Running;
        self.schedule_round(now);
        self.reserve.keep(fx);
        let id = self.settings.config.node_id;
        let text = format!("[node {id}] Transitioning from RECOVERY to RUNNING.");
        note(Level::Info, text, fx);
        fx.push(Effect::Ready);
    }
}

fn remove_marks(marks: &[u16], fx: &mut Fx<Effect>) {
    for dir in marks {
        let path = FilePath::new(*dir, clean_stop::USED);
        fx.push(Effect::Disk(DiskOp::Remove { id: id(Token::Remains, *dir), path }));
    }
}

fn write_identities(identity: &identity::Identity, fx: &mut Fx<Effect>) -> usize {
    for (dir, content) in &identity.to_write {
        let path = FilePath::new(*dir, identity::FILE);
        let data = Bytes::from(content.clone());
        let id = id(Token::Identity, *dir);
        fx.push(Effect::Disk(DiskOp::Put { id, path, data, durable: true }));
    }
    identity.to_write.len()
}

/// The metadata log is kept by configs of its own (MetadataLogConfig).
fn log_settings(config: &BrokerConfig) -> LogSettings {
    let none = BTreeMap::new();
    let mut topic = TopicConfig::resolve(&none, &none, &none, config);
    topic.segment_ms = config.metadata_log_segment_ms;
    let mut log = LogSettings::from_topic(&topic, Mutants::default());
    log.segment_bytes = u64::try_from(config.metadata_log_segment_bytes).unwrap_or(1);
    log.flush_ms = i64::MAX;
    log.preallocate = false;
    log
}

//! The metadata log on a full disk: while nothing can be appended changes are refused, and once a
//! second the log is opened anew, as at a start. The node leads it in a next epoch then; what was
//! appended and not committed counts if it is on the disk, as after any change of the leader.

use super::node::{Node, Stage};
use super::{Effect, answer, note};
use crate::disk::IoError;
use crate::fx::Fx;
use crate::quorum::{self, FOLDER};
use crate::shard::Level;
use crate::time::{Instant, Now};

/// The log is opened anew this often.
const RETRY_INTERVAL_MS: i64 = 1000;

impl Node {
    /// The metadata log cannot be written. A full disk is no reason to stop serving what is
    /// there; anything else is.
    pub(super) fn on_disk_failed(
        &mut self,
        now: Now,
        error: &IoError,
        fx: &mut Fx<Effect>,
    ) -> Result<(), String> {
        let path = self.path(self.metadata_dir).to_owned();
        let full = matches!(error, IoError::NoSpace(_));
        let serves = matches!(self.stage, Stage::Running | Stage::Stopping { .. } | Stage::Closing);
        if !full || !serves {
            return Err(format!(
                "the metadata log in {path}/{FOLDER} cannot be written: {error}; see to the disk \
                 and start again"
            ));
        }
        self.retry_metadata = Some(now.mono.plus_ms(RETRY_INTERVAL_MS));
        self.want_reserve(&error.to_string(), fx);
        if !std::mem::replace(&mut self.frozen, true) {
            let text = format!(
                "the metadata log in {path}/{FOLDER} cannot be written: {error}; topics and \
                 configs cannot be changed until there is space"
            );
            note(Level::Error, text, fx);
        }
        let refusal = self.frozen_refusal();
        for (reply, what) in self.controller.give_up(&refusal) {
            answer(reply, what, fx);
        }
        if self.stage == Stage::Closing {
            self.leave_metadata_open(fx);
        }
        Ok(())
    }

    /// When the log is opened anew, if it has to be.
    pub(super) fn retry_due(&self) -> Option<Instant> {
        self.retry_metadata.filter(|_| self.stage == Stage::Running)
    }

    /// Opens the log anew when it is time.
    pub(super) fn retry_metadata(&mut self, now: Now, fx: &mut Fx<Effect>) -> Result<(), String> {
        if self.retry_due().is_none_or(|at| at > now.mono) {
            return Ok(());
        }
        self.retry_metadata = None;
        self.quorum = self.quorum.anew(self.keeper.metadata_recovery_point());
        self.drive(now, quorum::Input::Open, fx)
    }

    /// Something was committed: the log can be written.
    pub(super) fn thaw(&mut self, fx: &mut Fx<Effect>) {
        if self.quorum.leads().is_some() && std::mem::take(&mut self.frozen) {
            let text = "the metadata log can be written again: topics and configs can be changed";
            note(Level::Info, text.to_owned(), fx);
        }
    }
}

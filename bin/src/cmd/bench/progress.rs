//! How far a measurement is: a bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tokio::task::JoinHandle;

const BAR_EVERY: Duration = Duration::from_millis(200);
const LINE_EVERY: Duration = Duration::from_secs(5);

/// Counts what is done, and shows it until it is dropped.
pub(super) struct Progress {
    pub(super) done: Arc<AtomicU64>,
    show: JoinHandle<()>,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// `all`: how many there will be, if that is known.
    pub(super) fn begin(what: &'static str, all: Option<u64>) -> Self {
        let done = Arc::new(AtomicU64::new(0));
        let bar = std::io::stderr().is_terminal().then(|| bar(what, all));
        let show = match bar.clone() {
            Some(bar) => tokio::spawn(move_bar(bar, Arc::clone(&done))),
            None => tokio::spawn(lines(what, Arc::clone(&done))),
        };
        Self { done, show, bar }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.show.abort();
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(what: &'static str, all: Option<u64>) -> ProgressBar {
    let (bar, template) = match all {
        Some(all) => {
            (ProgressBar::new(all), "{wide_bar} {human_pos} of {human_len} {msg}, {per_sec}")
        }
        None => (ProgressBar::new_spinner(), "{spinner} {elapsed} {human_pos} {msg}, {per_sec}"),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.with_message(what)
}

async fn move_bar(bar: ProgressBar, done: Arc<AtomicU64>) {
    loop {
        bar.set_position(done.load(Relaxed));
        tokio::time::sleep(BAR_EVERY).await;
    }
}

async fn lines(what: &'static str, done: Arc<AtomicU64>) {
    let began = Instant::now();
    loop {
        tokio::time::sleep(LINE_EVERY).await;
        eprintln!("{:.0} s: {} {what}", began.elapsed().as_secs_f64(), done.load(Relaxed));
    }
}

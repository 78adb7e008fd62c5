//! A progress bar where a person sees it, and nothing elsewhere.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar of so many steps, drawn by `template` if standard error is a terminal.
pub(crate) fn bar(steps: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(steps);
    if !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    } else if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

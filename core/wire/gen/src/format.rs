//! Runs rustfmt over generated source.

use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use crate::Error;

/// Options of the workspace's rustfmt configuration, repeated because rustfmt reads from a pipe.
const OPTIONS: &str = "max_width=100,use_small_heuristics=Max";

/// `text` as rustfmt lays it out.
pub fn format(text: &str) -> Result<String, Error> {
    let mut rustfmt = Command::new("rustfmt")
        .args(["--edition", "2024", "--config", OPTIONS])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let stdin = rustfmt.stdin.take();
    let output = thread::scope(|scope| {
        // A second thread feeds the pipe, so that neither side waits for a full one.
        let feeder =
            scope.spawn(|| stdin.map_or(Ok(()), |mut pipe| pipe.write_all(text.as_bytes())));
        let output = rustfmt.wait_with_output();
        feeder.join().unwrap_or(Ok(())).and(output)
    })?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(Error::Format(String::from_utf8_lossy(&output.stderr).into_owned()))
    }
}

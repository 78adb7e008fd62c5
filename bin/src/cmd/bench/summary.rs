//! What a measurement found, for a person or for a program.

use std::io::{self, Write as _};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};

use super::latency::{Latency, spoken};
use crate::cmd::cluster::Failure;

/// CPU time of this process, or of this thread.
pub(super) fn cpu(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Less than this part of a rate that was asked for does not reach it.
const REACHED: f64 = 0.99;

/// Begins with the first record that counts.
#[derive(Clone, Copy)]
pub(super) struct Measure {
    cpu: Duration,
}

impl Measure {
    pub(super) fn begin() -> Self {
        Self { cpu: cpu(ClockId::ProcessCPUTime) }
    }

    /// So many records and bytes within `wall`.
    pub(super) fn end(&self, records: u64, bytes: u64, wall: Duration, latency: &Latency) -> Value {
        let (wall_s, cpu) = (wall.as_secs_f64().max(1e-9), cpu(ClockId::ProcessCPUTime) - self.cpu);
        let cpu_us = cpu.as_secs_f64() * 1e6 / (records as f64);
        json!({
            "records": records,
            "bytes": bytes,
            "wall_s": rounded(wall_s),
            "records_s": rounded(records as f64 / wall_s),
            "mb_s": rounded(bytes as f64 / 1e6 / wall_s),
            "latency_ms": latency.json(),
            "client_cpu_us": (records > 0).then(|| rounded(cpu_us)),
        })
    }
}

pub(super) fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

/// Adds how many a second were asked for, and how many there were.
pub(super) fn add_rates(found: &mut Value, rates: Option<(u64, f64)>) {
    if let Some((asked, reached)) = rates {
        found["rate"] = json!({ "asked": asked, "reached": rounded(reached) });
    }
}

/// Tells what was found, in spite of a `problem` if there is one: `unit` is what there is so many of,
/// `time` what was measured of each.
pub(super) fn tell(
    json: bool,
    found: &mut Value,
    (unit, time): (&str, &str),
    problem: Option<&str>,
) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    if json {
        if let Some(problem) = problem {
            found["error"] = json!(problem);
        }
        writeln!(out, "{found}")?;
        return Ok(());
    }
    let of = |name: &str| found[name].as_f64().unwrap_or(0.0);
    write!(
        out,
        "{} {unit} in {:.2} s: {:.0} a second, {:.1} MB/s",
        found["records"],
        of("wall_s"),
        of("records_s"),
        of("mb_s")
    )?;
    if let Some(cpu) = found["client_cpu_us"].as_f64() {
        write!(out, ", {cpu:.3} µs of this process's CPU each")?;
    }
    writeln!(out)?;
    if !found["latency_ms"].is_null() {
        writeln!(out, "{time}: {}", spoken(&found["latency_ms"]))?;
    }
    Ok(writeln_rate(&mut out, &found["rate"])?)
}

/// Says so if a rate was not reached.
fn writeln_rate(out: &mut impl io::Write, rate: &Value) -> io::Result<()> {
    match (rate["asked"].as_f64(), rate["reached"].as_f64()) {
        (Some(asked), Some(reached)) if reached < asked * REACHED => {
            writeln!(out, "{asked} a second were not reached: {reached:.0} a second were sent")
        }
        _ => Ok(()),
    }
}

/// Success, unless there was a problem.
pub(super) fn unless(problem: Option<String>) -> Result<(), Failure> {
    problem.map_or(Ok(()), |problem| Err(Failure::Failed(problem)))
}

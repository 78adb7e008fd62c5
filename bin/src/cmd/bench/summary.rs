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

/// Begins with the first record that counts.
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
        json!({
            "records": records,
            "bytes": bytes,
            "wall_s": rounded(wall_s),
            "records_s": rounded(records as f64 / wall_s),
            "mb_s": rounded(bytes as f64 / 1e6 / wall_s),
            "latency_ms": latency.json(),
            "client_cpu_us": rounded(cpu.as_secs_f64() * 1e6 / (records.max(1) as f64)),
        })
    }
}

pub(super) fn rounded(number: f64) -> f64 {
    (number * 1e6).round() / 1e6
}

/// Tells what was found: `unit` is what there is so many of, `time` what was measured of each.
pub(super) fn tell(json: bool, found: &Value, unit: &str, time: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    if json {
        writeln!(out, "{found}")?;
        return Ok(());
    }
    let of = |name: &str| found[name].as_f64().unwrap_or(0.0);
    writeln!(
        out,
        "{} {unit} in {:.2} s: {:.0} a second, {:.1} MB/s, {:.3} µs of this process's CPU each",
        found["records"],
        of("wall_s"),
        of("records_s"),
        of("mb_s"),
        of("client_cpu_us")
    )?;
    if !found["latency_ms"].is_null() {
        writeln!(out, "{time}: {}", spoken(&found["latency_ms"]))?;
    }
    Ok(())
}

//! What the operating system says of this process.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Nothing is known where there is no `/proc`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Process {
    pub(super) cpu_seconds: Option<f64>,
    pub(super) resident_bytes: Option<f64>,
    pub(super) descriptors: Option<f64>,
    pub(super) started_at: Option<f64>,
}

impl Process {
    /// As it is now; it has run for `age`.
    pub(super) fn now(age: Duration) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok();
        let started = since.and_then(|since| since.checked_sub(age));
        let read = |name: &str| std::fs::read_to_string(format!("/proc/self/{name}")).ok();
        Self {
            cpu_seconds: read("stat").and_then(|text| cpu_seconds(&text)),
            resident_bytes: read("statm").and_then(|text| resident_bytes(&text)),
            descriptors: std::fs::read_dir("/proc/self/fd").ok().map(|fds| fds.count() as f64),
            started_at: started.map(|started| started.as_secs_f64()),
        }
    }
}

/// Fields 14 and 15 (proc(5)), behind the name in parentheses, which may hold anything.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    let (user, system): (f64, f64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) / rustix::param::clock_ticks_per_second() as f64)
}

fn resident_bytes(statm: &str) -> Option<f64> {
    let pages: f64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_knows_itself() {
        let process = Process::now(Duration::from_secs(1));
        assert!(process.cpu_seconds.is_some_and(|seconds| seconds >= 0.0));
        assert!(process.resident_bytes.is_some_and(|bytes| bytes > 1e6));
        assert!(process.descriptors.is_some_and(|count| count >= 3.0));
    }

    #[test]
    fn a_name_with_parentheses_does_not_shift_fields() {
        let stat = "7 (a) b (c) R 1 2 3 4 5 6 7 8 9 10 250 150 0 0 20";
        let ticks = rustix::param::clock_ticks_per_second() as f64;
        assert_eq!(cpu_seconds(stat), Some(400.0 / ticks));
    }
}

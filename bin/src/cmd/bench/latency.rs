//! Times that were measured, and what is told of them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

/// Significant digits that are kept of each time.
const DIGITS: u8 = 3;
/// No time is longer than this.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// Times from several threads.
#[derive(Clone)]
pub(super) struct Latency(Arc<Mutex<Histogram<u64>>>);

impl Latency {
    pub(super) fn new() -> Self {
        let times = Histogram::new_with_bounds(1, LONGEST_NS, DIGITS);
        Self(Arc::new(Mutex::new(times.expect("the bounds are sound"))))
    }

    pub(super) fn note(&self, time: Duration) {
        let ns = u64::try_from(time.as_nanos()).unwrap_or(LONGEST_NS);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).saturating_record(ns.max(1));
    }

    /// Milliseconds at the percentiles people ask for; null when nothing was measured.
    pub(super) fn json(&self) -> Value {
        let times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if times.is_empty() {
            return Value::Null;
        }
        let ms = |ns: u64| (ns as f64 / 1e3).round() / 1e3;
        let at = |quantile: f64| ms(times.value_at_quantile(quantile));
        json!({ "p50": at(0.5), "p99": at(0.99), "p999": at(0.999), "max": ms(times.max()) })
    }
}

/// The percentiles in one line.
pub(super) fn spoken(latency: &Value) -> String {
    let of = |name: &str| latency[name].as_f64().unwrap_or(0.0);
    format!(
        "p50 {:.3} ms, p99 {:.3} ms, p99.9 {:.3} ms, max {:.3} ms",
        of("p50"),
        of("p99"),
        of("p999"),
        of("max")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_times() {
        let latency = Latency::new();
        assert_eq!(latency.json(), Value::Null);
        for ms in 1..=1000 {
            latency.note(Duration::from_millis(ms));
        }
        let told = latency.json();
        for (name, ms) in [("p50", 500.0), ("p99", 990.0), ("p999", 999.0), ("max", 1000.0)] {
            let found = told[name].as_f64().expect("a number");
            assert!((found - ms).abs() <= ms / 500.0, "{name}: {found}");
        }
        latency.note(Duration::from_secs(1_000_000));
        assert!(spoken(&latency.json()).contains("max 36"), "what is too long is the longest");
    }
}

//! What is told of a command that waits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dohle_client::machine::Trouble;

/// How long something lasts before a person hears of it: a leader that moves is no news.
pub(crate) const SOON: Duration = Duration::from_secs(3);

/// Tells what holds a command up: what lasts, and each thing once until it has passed.
#[derive(Default)]
pub(crate) struct Waiting {
    /// When each trouble began, and whether it was told.
    lasting: BTreeMap<String, (Instant, bool)>,
}

impl Waiting {
    /// Tells of `troubles`, as they are now. `connection` is why the last connection ended.
    pub(crate) fn tell(&mut self, troubles: &[Trouble], connection: Option<Arc<str>>) {
        let connection = connection.filter(|_| troubles.contains(&Trouble::NoBroker));
        let connection = connection.map_or_else(String::new, |why| format!(" ({why})"));
        for trouble in self.news(Instant::now(), troubles) {
            eprintln!("dohle: {trouble}{connection}; trying again");
        }
    }

    fn news(&mut self, now: Instant, troubles: &[Trouble]) -> Vec<String> {
        let current: BTreeSet<String> = troubles.iter().map(Trouble::to_string).collect();
        self.lasting.retain(|trouble, _| current.contains(trouble));
        let mut news = Vec::new();
        for trouble in current {
            let (since, told) = self.lasting.entry(trouble.clone()).or_insert((now, false));
            if !*told && now.duration_since(*since) >= SOON {
                *told = true;
                news.push(trouble);
            }
        }
        news
    }
}

/// What is known of why something did not come, to be added to what is said of that.
pub(crate) fn because(troubles: &[Trouble], connection: Option<Arc<str>>) -> String {
    // All partitions of a topic may have the same one.
    let troubles: BTreeSet<String> = troubles.iter().map(Trouble::to_string).collect();
    let connection = connection.map(|why| format!("last connection: {why}"));
    troubles.into_iter().chain(connection).map(|why| format!("; {why}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lasts_is_told_once_until_it_passes() {
        let (mut waiting, start) = (Waiting::default(), Instant::now());
        let trouble = [Trouble::NoBroker];
        let mut check = |seconds: u64, troubles: &[Trouble], news: usize| {
            let now = start + Duration::from_secs(seconds);
            assert_eq!(waiting.news(now, troubles).len(), news, "after {seconds} s");
        };
        check(0, &trouble, 0);
        check(1, &[], 0);
        check(2, &trouble, 0);
        check(4, &trouble, 0);
        check(5, &trouble, 1);
        check(60, &trouble, 0);
        check(61, &[], 0);
        check(62, &trouble, 0);
        check(65, &trouble, 1);
    }
}

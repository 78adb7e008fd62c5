//! Which partitions of a group are meant.

use std::collections::BTreeSet;
use std::str::FromStr;
use std::sync::Arc;

use dohle_client::machine::TopicPartition;
use dohle_client::machine::admin::GroupOffsets;

use super::quoted;
use crate::cmd::client::{Client, none_of};
use crate::cmd::cluster::{Failure, about_partition, about_topic};

/// A topic, or some of its partitions, as written on a command line: `orders`, `orders:0,2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Part {
    topic: Arc<str>,
    /// All for none.
    partitions: Vec<i32>,
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (topic, numbers) = text.split_once(':').map_or((text, None), |(t, n)| (t, Some(n)));
        let number = |text: &str| text.trim().parse::<i32>().ok().filter(|number| *number >= 0);
        let partitions = numbers.map_or(Some(Vec::new()), |n| n.split(',').map(number).collect());
        match partitions {
            Some(partitions) if !topic.is_empty() => Ok(Self { topic: topic.into(), partitions }),
            _ => Err(format!("expected TOPIC or TOPIC:0,1,2, found `{text}`")),
        }
    }
}

/// Which partitions are meant.
#[derive(clap::Args, Debug)]
#[group(required = true, multiple = false)]
pub(super) struct Scope {
    /// A topic, or some of its partitions; may be repeated.
    #[arg(long = "topic", value_name = "TOPIC[:P,P]")]
    topics: Vec<Part>,
    /// Every partition that the group has committed an offset of.
    #[arg(long)]
    all_topics: bool,
}

impl Scope {
    /// The partitions, in order; each exists, or at least has an offset.
    pub(super) async fn partitions(
        &self,
        client: &Client,
        group: &str,
        committed: &GroupOffsets,
    ) -> Result<Vec<TopicPartition>, Failure> {
        if self.all_topics {
            // A negative offset, which counts as none, is there to be changed.
            let has = committed.iter().filter(|(_, found)| found.is_ok());
            let all: Vec<TopicPartition> = has.map(|(at, _)| at.clone()).collect();
            if all.is_empty() {
                let group = quoted(group);
                return Err(Failure::Failed(format!(
                    "group {group} has committed no offsets; name topics with --topic instead of \
                     --all-topics"
                )));
            }
            return Ok(all);
        }
        let names: BTreeSet<Arc<str>> = self.topics.iter().map(|p| Arc::clone(&p.topic)).collect();
        let found = client.admin.describe_topics(names.into_iter().collect()).await;
        let found = client.or_failed(found)?;
        let missing = found
            .iter()
            .filter_map(|(topic, found)| Some(about_topic(topic, found.as_ref().err()?)));
        none_of(&missing.collect::<Vec<_>>())?;
        let mut all = BTreeSet::new();
        for part in &self.topics {
            let count = found.get(&part.topic).and_then(|found| found.as_ref().ok());
            let count = count.map_or(0, |topic| topic.partitions.len());
            let exists = |at: &i32| usize::try_from(*at).is_ok_and(|at| at < count);
            if let Some(missing) = part.partitions.iter().find(|at| !exists(at)) {
                return Err(about_partition(&part.topic, count, *missing));
            }
            let every = (0..).take(if part.partitions.is_empty() { count } else { 0 });
            let numbers = part.partitions.iter().copied().chain(every);
            all.extend(numbers.map(|at| TopicPartition::new(Arc::clone(&part.topic), at)));
        }
        Ok(all.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_and_partitions_are_told_apart() {
        let check = |text: &str, expected: Option<(&str, &[i32])>| {
            let found = text.parse::<Part>().ok();
            let found = found.as_ref().map(|part| (&*part.topic, &part.partitions[..]));
            assert_eq!(found, expected, "{text}");
        };
        check("orders", Some(("orders", &[])));
        check("orders:0", Some(("orders", &[0])));
        check("orders:2, 0", Some(("orders", &[2, 0])));
        for text in ["", ":1", "orders:", "orders:x", "orders:-1", "orders:1,,2"] {
            check(text, None);
        }
    }
}

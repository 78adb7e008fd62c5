//! How long members of a group take to share a topic:
//! `rebalance SERVERS classic|consumer MEMBERS PARTITIONS`.
//!
//! Starts MEMBERS at once; then, in other groups, two that start within 50 ms, and a third that
//! comes later. Prints one JSON object: seconds from the start of the last one until every partition
//! has one reader and shares differ by at most one, for good.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use dohle_client::api::{Admin, Consumer, ConsumerHandle, Listening, RebalanceListener};
use dohle_client::config::{AdminConfig, ConsumerConfig};
use dohle_client::machine::TopicPartition;
use dohle_client::machine::admin::NewTopic;
use dohle_codec::NativeCodecs;
use dohle_net::client::Tokio;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Shares have to stay as they are for so long to count.
const STEADY: Duration = Duration::from_secs(2);

/// Longer than anything may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Who has what, and since when.
#[derive(Default)]
struct State {
    shares: BTreeMap<usize, BTreeSet<i32>>,
    changed: Option<Instant>,
}

#[derive(Clone, Default)]
struct Group(Arc<Mutex<State>>);

impl Group {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// When the shares became what they are, if they are as they should be.
    fn fair_since(&self, members: usize, partitions: i32) -> Option<Instant> {
        let state = self.lock();
        let sizes = state.shares.values().map(BTreeSet::len);
        let all: BTreeSet<i32> = state.shares.values().flatten().copied().collect();
        let (sum, expected) = (sizes.clone().sum::<usize>(), usize::try_from(partitions).ok()?);
        let spread = sizes.clone().max()? - sizes.clone().min()?;
        let fair = sum == expected && all.len() == expected && spread <= 1;
        (fair && state.shares.len() == members).then_some(state.changed).flatten()
    }
}

/// One member's ears.
struct Ears(Group, usize);

impl Ears {
    fn change(&self, change: impl Fn(&mut BTreeSet<i32>)) -> Listening<'static> {
        let mut state = self.0.lock();
        change(state.shares.entry(self.1).or_default());
        state.changed = Some(Instant::now());
        Box::pin(std::future::ready(()))
    }
}

impl RebalanceListener<Tokio> for Ears {
    fn assigned<'a>(
        &'a mut self,
        _: &'a ConsumerHandle<Tokio>,
        partitions: &'a [TopicPartition],
    ) -> Listening<'a> {
        self.change(|share| share.extend(partitions.iter().map(|at| at.partition)))
    }

    fn revoked<'a>(
        &'a mut self,
        _: &'a ConsumerHandle<Tokio>,
        partitions: &'a [TopicPartition],
    ) -> Listening<'a> {
        self.change(|share| {
            share.retain(|index| !partitions.iter().any(|at| at.partition == *index));
        })
    }
}

/// What all phases have in common.
struct Setup {
    servers: String,
    protocol: String,
    runtime: Tokio,
}

impl Setup {
    /// A name for a topic and its group that no earlier run has used.
    fn name(&self, what: &str) -> String {
        format!("{what}-{}-{}", self.protocol, std::process::id())
    }

    async fn topic(&self, name: &str, partitions: i32) -> Result<(), Failure> {
        let admin = Admin::new(self.runtime, AdminConfig::to(&self.servers)?)?;
        admin.create_topics(vec![NewTopic::new(name, partitions)]).await?;
        Ok(())
    }

    fn join(&self, name: &str, group: &Group, number: usize) -> Result<(), Failure> {
        let mut config = ConsumerConfig::to(&self.servers)?;
        config.set("group.id", name)?;
        config.set("group.protocol", &self.protocol)?;
        let mut consumer = Consumer::new(self.runtime, config, Arc::new(NativeCodecs))?;
        consumer.listen(Ears(group.clone(), number));
        consumer.subscribe([name])?;
        tokio::spawn(async move {
            loop {
                let polled = consumer.poll(Duration::from_secs(1)).await;
                if let Some(error) = polled.group {
                    eprintln!("member {number}: {error}");
                }
            }
        });
        Ok(())
    }

    async fn settled(
        &self,
        group: &Group,
        members: usize,
        partitions: i32,
    ) -> Result<Instant, Failure> {
        let end = Instant::now() + LIMIT;
        while Instant::now() < end {
            tokio::time::sleep(Duration::from_millis(20)).await;
            if let Some(since) = group.fair_since(members, partitions)
                && since.elapsed() >= STEADY
            {
                return Ok(since);
            }
        }
        Err(format!("{members} members did not share {partitions} partitions in {LIMIT:?}").into())
    }

    /// Many at once.
    async fn crowd(&self, members: usize, partitions: i32) -> Result<f64, Failure> {
        let (name, group) = (self.name("crowd"), Group::default());
        self.topic(&name, partitions).await?;
        let start = Instant::now();
        (0..members).try_for_each(|number| self.join(&name, &group, number))?;
        let settled = self.settled(&group, members, partitions).await?;
        Ok(settled.duration_since(start).as_secs_f64())
    }

    /// Two, then a third.
    async fn few(&self) -> Result<(f64, f64), Failure> {
        let (name, group) = (self.name("few"), Group::default());
        self.topic(&name, 6).await?;
        self.join(&name, &group, 0)?;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let second = Instant::now();
        self.join(&name, &group, 1)?;
        let pair = self.settled(&group, 2, 6).await?.duration_since(second);
        let third = Instant::now();
        self.join(&name, &group, 2)?;
        let later = self.settled(&group, 3, 6).await?.duration_since(third);
        Ok((pair.as_secs_f64(), later.as_secs_f64()))
    }
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [servers, protocol, members, partitions] = &args[..] else {
        return Err("usage: rebalance SERVERS classic|consumer MEMBERS PARTITIONS".into());
    };
    let setup =
        Setup { servers: servers.clone(), protocol: protocol.clone(), runtime: Tokio::new() };
    let (pair, later) = setup.few().await?;
    let crowd = setup.crowd(members.parse()?, partitions.parse()?).await?;
    println!(
        "{{\"protocol\":\"{protocol}\",\"members\":{members},\"partitions\":{partitions},\
         \"two_s\":{pair:.3},\"later_s\":{later:.3},\"crowd_s\":{crowd:.3}}}"
    );
    Ok(())
}

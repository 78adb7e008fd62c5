//! A broker for one test, and clients of it.

use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dohle_client::api::{Admin, Consumer, Producer};
use dohle_client::config::{AdminConfig, ConsumerConfig, ProducerConfig};
use dohle_client::machine::TopicPartition;
use dohle_client::machine::admin::{NewTopic, TopicDescription};
use dohle_client::machine::consumer::{ConsumedRecord, Start};
use dohle_codec::NativeCodecs;
use dohle_core::config::broker::BrokerConfig;
use dohle_net::client::Tokio;
use dohle_net::{Node, StartOptions};

/// Longest time that a test may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// The broker, and what makes the names of a test its own.
pub(crate) struct Cluster {
    pub(crate) servers: String,
    run: u128,
}

/// Runs a test on a broker.
pub(crate) fn on_a_broker<F: Future<Output = ()>>(name: &str, test: impl FnOnce(Cluster) -> F) {
    let run = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let test = |servers| {
        let ended = runtime.block_on(async {
            tokio::time::timeout(PATIENCE, test(Cluster { servers, run })).await
        });
        ended.expect("a test ends within its time");
    };
    match std::env::var("DOHLE_TEST_BOOTSTRAP") {
        Ok(servers) => test(servers),
        Err(_) => {
            let own = Own::start(name);
            test(own.node.address().to_string());
            own.stop();
        }
    }
}

/// A broker of this process.
struct Own {
    node: Node,
    data: PathBuf,
}

impl Own {
    fn start(name: &str) -> Self {
        let data = std::env::temp_dir().join(format!("dohle-client-{name}-{}", std::process::id()));
        let properties = BTreeMap::from([
            ("listeners".to_owned(), "PLAINTEXT://127.0.0.1:0".to_owned()),
            ("log.dirs".to_owned(), data.display().to_string()),
            ("group.initial.rebalance.delay.ms".to_owned(), "0".to_owned()),
        ]);
        let (config, _) = BrokerConfig::from_properties(&properties).expect("valid");
        let node = Node::start(StartOptions { config, cluster_id: None, signals: false });
        Self { node: node.expect("it starts"), data }
    }

    fn stop(self) {
        self.node.stop().expect("it stops");
        std::fs::remove_dir_all(&self.data).expect("the test's own folder");
    }
}

impl Cluster {
    /// A name of a topic or a group that nobody else uses.
    pub(crate) fn name(&self, what: &str) -> Arc<str> {
        format!("{what}-{}-{}", std::process::id(), self.run).into()
    }

    pub(crate) fn admin(&self) -> Admin<Tokio> {
        let mut config = AdminConfig::to(&self.servers).expect("an address");
        config.api_timeout = Duration::from_secs(30);
        Admin::new(Tokio::new(), config).expect("valid settings")
    }

    /// A new topic.
    pub(crate) async fn topic(&self, what: &str, partitions: i32) -> Arc<str> {
        self.topic_with(what, partitions, &[]).await
    }

    /// A new topic with settings.
    pub(crate) async fn topic_with(
        &self,
        what: &str,
        partitions: i32,
        configs: &[(&str, &str)],
    ) -> Arc<str> {
        let name = self.name(what);
        let mut topic = NewTopic::new(Arc::clone(&name), partitions);
        let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        topic.configs = configs.iter().map(owned).collect();
        let each = self.admin().create_topics(vec![topic]).await.expect("an answer");
        assert_eq!(each[&name], Ok(()));
        let admin = self.admin();
        let led = async || {
            let found = admin.describe_topics(vec![Arc::clone(&name)]).await.expect("an answer");
            let led =
                |topic: &TopicDescription| topic.partitions.iter().all(|p| p.leader.is_some());
            found[&name].as_ref().is_ok_and(led)
        };
        becomes(led, true).await;
        name
    }

    /// Settings of a producer.
    pub(crate) fn producing(&self, settings: &[(&str, &str)]) -> ProducerConfig {
        let mut config = ProducerConfig::to(&self.servers).expect("an address");
        settings.iter().for_each(|(key, value)| config.set(key, value).expect("a setting"));
        config
    }

    pub(crate) fn producer(&self, settings: &[(&str, &str)]) -> Producer<Tokio> {
        let config = self.producing(settings);
        Producer::new(Tokio::new(), config, Arc::new(NativeCodecs)).expect("valid settings")
    }

    pub(crate) fn consumer(&self, settings: &[(&str, &str)]) -> Consumer<Tokio> {
        let mut config = ConsumerConfig::to(&self.servers).expect("an address");
        settings.iter().for_each(|(key, value)| config.set(key, value).expect("a setting"));
        Consumer::new(Tokio::new(), config, Arc::new(NativeCodecs)).expect("valid settings")
    }

    /// The first `count` records of a partition.
    pub(crate) async fn read(
        &self,
        topic: &Arc<str>,
        partition: i32,
        count: usize,
    ) -> Vec<ConsumedRecord> {
        let at = TopicPartition::new(Arc::clone(topic), partition);
        let mut consumer = self.consumer(&[]);
        consumer.assign([(at, Start::Earliest)]);
        read_on(&mut consumer, count).await
    }
}

/// Waits until something is as expected: what a controller has decided reaches a broker a little
/// later than the client.
pub(crate) async fn becomes<T: PartialEq + std::fmt::Debug>(
    look: impl AsyncFn() -> T,
    expected: T,
) {
    let mut seen = look().await;
    for _ in 0..100 {
        if seen == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        seen = look().await;
    }
    assert_eq!(seen, expected, "and so for ten seconds");
}

/// The next `count` records of a consumer, in the order given out.
pub(crate) async fn read_on(consumer: &mut Consumer<Tokio>, count: usize) -> Vec<ConsumedRecord> {
    let mut read = Vec::new();
    while read.len() < count {
        let polled = consumer.poll(Duration::from_secs(1)).await;
        assert_eq!(polled.failed, []);
        read.extend(polled.records.into_iter().flat_map(|(_, records)| records));
    }
    read
}

/// The value of a record as text.
pub(crate) fn text(record: &ConsumedRecord) -> &str {
    std::str::from_utf8(record.value.as_deref().expect("a value")).expect("text")
}

//! What `/metrics` says, in the text format of OpenMetrics.
//!
//! Where Kafka has the like, names are those that its JMX exporters make, so that dashboards work;
//! durations are in milliseconds there, as Kafka's are, and in seconds everywhere else. What only
//! this broker has begins with `dohle_`, what any process has with `process_`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dohle_core::image::{Image, PartitionImage, TopicImage};
use dohle_core::mail::{LogStatistics, ShardStatistics};
use dohle_wire::id::{NodeId, TopicId};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::process::Process;
use crate::books::{Books, Requests, Traffic};
use crate::times::Seen;

/// What was seen of the node for one answer.
pub(super) struct Scrape {
    pub(super) books: Arc<Books>,
    pub(super) image: Option<Arc<Image>>,
    /// Of shards that answered in time.
    pub(super) shards: Vec<ShardStatistics>,
    /// How many did not.
    pub(super) silent: usize,
    pub(super) connections: usize,
    pub(super) running: bool,
    pub(super) syncs: Seen,
    pub(super) process: Process,
}

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("scrape")
    }
}

impl Scrape {
    /// The answer's text.
    pub(super) fn text(self) -> Result<String, fmt::Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self));
        let mut text = String::new();
        text::encode(&mut text, &registry)?;
        Ok(text)
    }
}

impl Collector for Scrape {
    fn encode(&self, encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut page = Page { encoder };
        page.of_requests(self)?;
        page.of_traffic(self)?;
        page.of_logs(self)?;
        page.of_cluster(self)?;
        page.of_process(self)
    }
}

type Labels<'a> = [(&'static str, &'a str)];

struct Page<'a> {
    encoder: DescriptorEncoder<'a>,
}

impl Page<'_> {
    fn begin<'s>(
        &'s mut self,
        name: &'s str,
        help: &'s str,
        kind: MetricType,
    ) -> Result<MetricEncoder<'s>, fmt::Error> {
        self.encoder.encode_descriptor(name, help, None, kind)
    }

    fn gauge(&mut self, name: &str, help: &str, value: f64) -> fmt::Result {
        self.begin(name, help, MetricType::Gauge)?.encode_gauge(&value)
    }

    fn of_requests(&mut self, scrape: &Scrape) -> fmt::Result {
        let all: Vec<_> = scrape.books.requests().collect();
        let name = "kafka_network_requestmetrics_requests";
        let mut family = self.begin(name, "Requests that are over", MetricType::Counter)?;
        for (key, requests) in &all {
            for (version, count) in requests.versions.iter().enumerate() {
                let (count, version) = (get(count), version.to_string());
                if count > 0 {
                    let labels: &Labels<'_> = &[("request", key.name()), ("version", &version)];
                    counter(&mut family, labels, count)?;
                }
            }
        }
        let name = "kafka_network_requestmetrics_totaltimems";
        let help = "From a request's last byte until its answer could leave (ms)";
        let mut family = self.begin(name, help, MetricType::Histogram)?;
        for (key, requests) in &all {
            histogram(&mut family, &[("request", key.name())], &requests.times.seen(), 1e3)?;
        }
        for (name, help, bytes) in BYTES {
            let name = format!("kafka_network_requestmetrics_{name}");
            let mut family = self.begin(&name, help, MetricType::Counter)?;
            for (key, requests) in &all {
                counter(&mut family, &[("request", key.name())], bytes(requests))?;
            }
        }
        let name = "kafka_server_socket_server_metrics_connection_count";
        self.gauge(name, "Connections of clients", scrape.connections as f64)?;
        let name = "kafka_server_socket_server_metrics_connection_creation";
        let mut family = self.begin(name, "Connections that were accepted", MetricType::Counter)?;
        family.encode_counter::<NoLabelSet, _, u64>(&get(&scrape.books.accepted), None)
    }

    /// By topic, as Kafka has it; sums are the reader's.
    fn of_traffic(&mut self, scrape: &Scrape) -> fmt::Result {
        let name_of = |topic: TopicId| {
            scrape.image.as_ref().and_then(|image| image.topic_names.get(&topic)).cloned()
        };
        let topics = scrape.books.topics(|topic| name_of(topic).is_some());
        let topics: Vec<_> =
            topics.iter().filter_map(|(id, traffic)| Some((name_of(*id)?, traffic))).collect();
        for (name, help, value, nowhere) in TRAFFIC {
            let name = format!("kafka_server_brokertopicmetrics_{name}");
            let mut family = self.begin(&name, help, MetricType::Counter)?;
            for (topic, traffic) in &topics {
                counter(&mut family, &[("topic", topic)], value(traffic))?;
            }
            if nowhere {
                counter(&mut family, &[("topic", "")], value(&scrape.books.nowhere))?;
            }
        }
        Ok(())
    }

    fn of_logs(&mut self, scrape: &Scrape) -> fmt::Result {
        let logs = named_logs(scrape);
        for (name, help, value) in LOGS {
            let name = format!("kafka_log_log_{name}");
            let mut family = self.begin(&name, help, MetricType::Gauge)?;
            for (topic, index, log) in &logs {
                let labels: &Labels<'_> = &[("topic", topic), ("partition", index)];
                family.encode_family(&labels)?.encode_gauge(&value(log))?;
            }
        }
        let sum =
            |of: fn(&ShardStatistics) -> usize| scrape.shards.iter().map(of).sum::<usize>() as f64;
        let open = sum(|shard| shard.logs.len());
        self.gauge("kafka_server_replicamanager_partitioncount", "Logs that are open", open)?;
        self.gauge("dohle_log_opening", "Logs that are being opened", sum(|shard| shard.opening))?;
        let name = "kafka_server_replicamanager_offlinereplicacount";
        self.gauge(name, "Logs that cannot be used", sum(|shard| shard.offline))?;
        let failed = scrape.shards.iter().map(|shard| shard.failed_dirs.len()).max();
        let name = "kafka_log_logmanager_offlinelogdirectorycount";
        self.gauge(name, "Data directories that failed", failed.unwrap_or(0) as f64)?;
        let mut waiting: BTreeMap<u16, u64> = BTreeMap::new();
        for (dir, bytes) in scrape.shards.iter().flat_map(|shard| &shard.unflushed) {
            *waiting.entry(*dir).or_default() += bytes;
        }
        let help = "Written bytes that wait for a sync";
        let mut family = self.begin("dohle_log_unflushed_bytes", help, MetricType::Gauge)?;
        for (dir, bytes) in waiting {
            let dirs = scrape.image.as_ref().map(|image| &image.local.log_dirs);
            let Some(path) = dirs.and_then(|dirs| dirs.get(usize::from(dir))) else { continue };
            let labels: &Labels<'_> = &[("directory", path)];
            family.encode_family(&labels)?.encode_gauge(&(bytes as f64))?;
        }
        let name = "dohle_disk_sync_seconds";
        let mut family = self.begin(name, "How long syncs of logs took", MetricType::Histogram)?;
        plain_histogram(&mut family, &scrape.syncs, 1.0)
    }

    fn of_cluster(&mut self, scrape: &Scrape) -> fmt::Result {
        let Some(image) = &scrape.image else { return Ok(()) };
        let own = NodeId(image.local.node_id);
        let led = |of: &PartitionImage| of.leader == Some(own);
        let partitions = || {
            let topics = image.topics.values();
            topics.flat_map(|topic| topic.partitions.iter().map(move |one| (topic, one)))
        };
        let count = |which: &dyn Fn(&TopicImage, &PartitionImage) -> bool| {
            partitions().filter(|(topic, one)| which(topic, one)).count() as f64
        };
        let few = |topic: &TopicImage, one: &PartitionImage| {
            let least = usize::try_from(topic.config.min_insync_replicas).unwrap_or(1);
            led(one) && one.isr.len() < least.min(one.replicas.len())
        };
        let active = if image.controller == Some(own) { 1.0 } else { 0.0 };
        let (replicas, controller) =
            ("kafka_server_replicamanager", "kafka_controller_kafkacontroller");
        for (group, name, help, value) in [
            (replicas, "leadercount", "Partitions that this node leads", count(&|_, one| led(one))),
            (
                replicas,
                "underreplicatedpartitions",
                "Partitions led here of which a replica is not in sync",
                count(&|_, one| led(one) && one.isr.len() < one.replicas.len()),
            ),
            (
                replicas,
                "underminisrpartitioncount",
                "Partitions led here with fewer replicas in sync than min.insync.replicas",
                count(&few),
            ),
            (controller, "activecontrollercount", "1 on the controller that leads", active),
            (controller, "globaltopiccount", "Topics", image.topics.size() as f64),
            (controller, "globalpartitioncount", "Partitions", partitions().count() as f64),
            (
                controller,
                "offlinepartitionscount",
                "Partitions that nobody leads",
                count(&|_, one| one.leader.is_none()),
            ),
            (
                controller,
                "preferredreplicaimbalancecount",
                "Partitions that their first replica does not lead",
                count(&|_, one| {
                    one.leader.is_some() && one.leader != one.replicas.first().copied()
                }),
            ),
            (controller, "activebrokercount", "Brokers that serve", {
                image.brokers.values().filter(|broker| !broker.fenced).count() as f64
            }),
            (controller, "fencedbrokercount", "Brokers that do not serve", {
                image.brokers.values().filter(|broker| broker.fenced).count() as f64
            }),
        ] {
            self.gauge(&format!("{group}_{name}"), help, value)?;
        }
        Ok(())
    }

    fn of_process(&mut self, scrape: &Scrape) -> fmt::Result {
        let help = "The version that runs";
        let labels = [("version", env!("CARGO_PKG_VERSION"))];
        let mut family = self.begin("dohle_build", help, MetricType::Info)?;
        family.encode_info(&labels.as_slice())?;
        // As Kafka's BrokerState: 1 starting, 2 recovery, 3 running.
        let state = if scrape.running { 3.0 } else { 2.0 };
        let help = "2 while logs are being opened, 3 when clients are served";
        self.gauge("kafka_server_kafkaserver_brokerstate", help, state)?;
        let help = "Shards that did not answer in time for this page";
        self.gauge("dohle_scrape_silent_shards", help, scrape.silent as f64)?;
        let process = &scrape.process;
        if let Some(seconds) = process.cpu_seconds {
            let name = "process_cpu_seconds";
            let help = "CPU time of the process, of user and system";
            let mut family = self.begin(name, help, MetricType::Counter)?;
            family.encode_counter::<NoLabelSet, _, f64>(&seconds, None)?;
        }
        for (name, help, value) in [
            ("process_resident_memory_bytes", "Memory of the process", process.resident_bytes),
            ("process_open_fds", "Open file descriptors", process.descriptors),
            ("process_start_time_seconds", "Since 1970-01-01", process.started_at),
        ] {
            if let Some(value) = value {
                self.gauge(name, help, value)?;
            }
        }
        Ok(())
    }
}

type BytesLine = (&'static str, &'static str, fn(&Requests) -> u64);

const BYTES: [BytesLine; 2] = [
    ("requestbytes", "Bytes of requests", |it| get(&it.request_bytes)),
    ("responsebytes", "Bytes of answers", |it| get(&it.answer_bytes)),
];

type TrafficLine = (&'static str, &'static str, fn(&Traffic) -> u64, bool);

/// What is told of each topic, and whether also of topics that there are not.
const TRAFFIC: [TrafficLine; 7] = [
    ("messagesin", "Records that producers wrote", |it| get(&it.records_in), false),
    ("bytesin", "Bytes of batches that producers wrote", |it| get(&it.bytes_in), false),
    ("bytesout", "Bytes of batches that were read", |it| get(&it.bytes_out), false),
    (
        "totalproducerequests",
        "Batches that producers sent",
        |it| get(&it.appends) + get(&it.refused),
        true,
    ),
    ("failedproducerequests", "Batches that were refused", |it| get(&it.refused), true),
    (
        "totalfetchrequests",
        "Reads of a partition that gave or failed",
        |it| get(&it.reads) + get(&it.unread),
        true,
    ),
    ("failedfetchrequests", "Reads of a partition that failed", |it| get(&it.unread), true),
];

type LogLine = (&'static str, &'static str, fn(&LogStatistics) -> i64);

const LOGS: [LogLine; 5] = [
    ("size", "Bytes of a log", |log| i64::try_from(log.bytes).unwrap_or(i64::MAX)),
    ("logstartoffset", "The first offset of a log", |log| log.start.0),
    ("logendoffset", "One past the last offset of a log", |log| log.end.0),
    ("highwatermark", "Everybody sees the offsets below", |log| log.high_watermark.0),
    ("numlogsegments", "Segments of a log", |log| i64::try_from(log.segments).unwrap_or(i64::MAX)),
];

fn named_logs(scrape: &Scrape) -> Vec<(Arc<str>, String, &LogStatistics)> {
    let Some(image) = &scrape.image else { return Vec::new() };
    let logs = scrape.shards.iter().flat_map(|shard| &shard.logs);
    let mut named: Vec<_> = logs
        .filter_map(|log| {
            let topic = image.topic_names.get(&log.partition.topic)?;
            Some((Arc::clone(topic), log))
        })
        .collect();
    named.sort_by(|(a, x), (b, y)| (a, x.partition.index).cmp(&(b, y.partition.index)));
    named.into_iter().map(|(topic, log)| (topic, log.partition.index.to_string(), log)).collect()
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn counter(family: &mut MetricEncoder<'_>, labels: &Labels<'_>, value: u64) -> fmt::Result {
    family.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&value, None)
}

fn histogram(
    family: &mut MetricEncoder<'_>,
    labels: &Labels<'_>,
    seen: &Seen,
    scale: f64,
) -> fmt::Result {
    plain_histogram(&mut family.encode_family(&labels)?, seen, scale)
}

fn plain_histogram(family: &mut MetricEncoder<'_>, seen: &Seen, scale: f64) -> fmt::Result {
    let buckets: Vec<_> = seen.buckets.iter().map(|(at, count)| (at * scale, *count)).collect();
    family.encode_histogram::<NoLabelSet>(seen.sum * scale, seen.count, &buckets, None)
}

//! Administration of topics, settings, offsets and the cluster.

use std::sync::Arc;

use dohle_client::machine::TopicPartition;
use dohle_client::machine::admin::{
    ConfigChange, ConfigEntry, ConfigResource, ConfigSource, NewTopic, OffsetSpec,
};
use dohle_client::machine::producer::ProducerRecord;
use dohle_wire::ErrorCode;
use dohle_wire::id::{Offset, Timestamp};

use crate::cluster::{becomes, on_a_broker};

#[test]
fn topics_are_created_described_grown_and_deleted() {
    on_a_broker("topics", async |cluster| {
        let admin = cluster.admin();
        let name = cluster.topic("topic", 2).await;
        let again = admin.create_topics(vec![NewTopic::new(Arc::clone(&name), 1)]).await;
        let again = again.expect("an answer").remove(&name).expect("asked for");
        assert_eq!(again.map_err(|e| e.code), Err(ErrorCode::TopicAlreadyExists));
        let bad = admin.create_topics(vec![NewTopic::new("no such name!", 1)]).await;
        let bad = bad.expect("an answer")["no such name!"].clone();
        assert_eq!(bad.map_err(|e| e.code), Err(ErrorCode::InvalidTopicException));
        let described = admin.describe_topics(vec![Arc::clone(&name)]).await.expect("an answer");
        let topic = described[&name].as_ref().expect("it exists");
        assert_eq!((topic.partitions.len(), topic.internal), (2, false));
        assert!(topic.partitions.iter().all(|part| part.leader.is_some()));
        let grown = admin.create_partitions(vec![(Arc::clone(&name), 3)]).await;
        assert_eq!(grown.expect("an answer")[&name], Ok(()));
        let shrunk = admin.create_partitions(vec![(Arc::clone(&name), 1)]).await;
        let shrunk = shrunk.expect("an answer")[&name].clone().map_err(|e| e.code);
        assert_eq!(shrunk, Err(ErrorCode::InvalidPartitions));
        let count = async || {
            let all = admin.list_topics().await.expect("an answer");
            all[&name].as_ref().map_or(0, |topic| topic.partitions.len())
        };
        becomes(count, 3).await;
        let gone = admin.delete_topics(vec![Arc::clone(&name), cluster.name("none")]).await;
        let gone = gone.expect("an answer");
        assert_eq!(gone[&name], Ok(()));
        let missing = gone[&cluster.name("none")].clone().map_err(|e| e.code);
        assert_eq!(missing, Err(ErrorCode::UnknownTopicOrPartition));
        let code = async || {
            let found = admin.describe_topics(vec![Arc::clone(&name)]).await.expect("an answer");
            found[&name].clone().map_err(|e| e.code).err()
        };
        becomes(code, Some(ErrorCode::UnknownTopicOrPartition)).await;
    });
}

#[test]
fn settings_are_read_and_changed() {
    on_a_broker("configs", async |cluster| {
        let admin = cluster.admin();
        let name = cluster.topic_with("configs", 1, &[("retention.ms", "3600000")]).await;
        let resource = ConfigResource::Topic(Arc::clone(&name));
        let value = async |key: &str| {
            let found = admin.describe_configs(vec![resource.clone()]).await.expect("an answer");
            let entries = found[&resource].clone().expect("it exists");
            let entry: ConfigEntry =
                entries.into_iter().find(|entry| entry.name == key).expect("a setting");
            (entry.value.unwrap_or_default(), entry.source)
        };
        let own = |text: &str| (text.to_owned(), ConfigSource::Topic);
        becomes(async || value("retention.ms").await, own("3600000")).await;
        assert_eq!(value("cleanup.policy").await.1, ConfigSource::Default);
        let change = async |change: ConfigChange| {
            let changes = vec![(resource.clone(), vec![change])];
            admin.alter_configs(changes).await.expect("an answer")[&name].clone()
        };
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let (key, text) = pair("retention.ms", "7200000");
        assert_eq!(change(ConfigChange::Set(key, text)).await, Ok(()));
        becomes(async || value("retention.ms").await, own("7200000")).await;
        assert_eq!(change(ConfigChange::Delete("retention.ms".to_owned())).await, Ok(()));
        becomes(async || value("retention.ms").await.1 == ConfigSource::Topic, false).await;
        let (key, text) = pair("cleanup.policy", "compact");
        assert_eq!(change(ConfigChange::Append(key, text)).await, Ok(()));
        becomes(async || value("cleanup.policy").await, own("delete,compact")).await;
        let (key, text) = pair("cleanup.policy", "delete");
        assert_eq!(change(ConfigChange::Subtract(key, text)).await, Ok(()));
        becomes(async || value("cleanup.policy").await, own("compact")).await;
        let (key, text) = pair("retention.ms", "soon");
        let refused = change(ConfigChange::Set(key, text)).await.map_err(|e| e.code);
        assert_eq!(refused, Err(ErrorCode::InvalidConfig));
        let missing = ConfigResource::Topic(cluster.name("none"));
        let found = admin.describe_configs(vec![missing.clone()]).await.expect("an answer");
        let code = found[&missing].clone().map_err(|e| e.code).err();
        assert_eq!(code, Some(ErrorCode::UnknownTopicOrPartition));
    });
}

#[test]
fn offsets_are_found_and_records_deleted() {
    on_a_broker("offsets", async |cluster| {
        let admin = cluster.admin();
        let topic = cluster.topic("offsets", 1).await;
        let producer = cluster.producer(&[]);
        for time in [1000, 5000, 3000] {
            let mut record = ProducerRecord::new(Arc::clone(&topic), "v");
            record.timestamp = Some(Timestamp(1_700_000_000_000 + time));
            producer.send(record).await.expect("written");
        }
        let at = TopicPartition::new(Arc::clone(&topic), 0);
        let find = async |spec: OffsetSpec| {
            let found = admin.list_offsets(vec![(at.clone(), spec)]).await.expect("an answer");
            found[&at].clone().expect("it exists").offset.0
        };
        assert_eq!(find(OffsetSpec::Earliest).await, 0);
        assert_eq!(find(OffsetSpec::Latest).await, 3);
        assert_eq!(find(OffsetSpec::MaxTimestamp).await, 1);
        assert_eq!(find(OffsetSpec::Timestamp(Timestamp(1_700_000_002_000))).await, 1);
        assert_eq!(find(OffsetSpec::Timestamp(Timestamp(1_700_000_009_000))).await, -1);
        let delete = async |before: i64| {
            let before = vec![(at.clone(), Offset(before))];
            let found = admin.delete_records(before).await.expect("an answer");
            found[&at].clone().map(|found| found.offset.0).map_err(|e| e.code)
        };
        assert_eq!(delete(2).await, Ok(2));
        assert_eq!(find(OffsetSpec::Earliest).await, 2);
        assert_eq!(delete(9).await, Err(ErrorCode::OffsetOutOfRange));
        assert_eq!(delete(-1).await, Ok(3));
        let missing = TopicPartition::new(cluster.name("none"), 0);
        let found = admin.list_offsets(vec![(missing.clone(), OffsetSpec::Latest)]).await;
        let code = found.expect("an answer")[&missing].clone().map_err(|e| e.code).err();
        assert_eq!(code, Some(ErrorCode::UnknownTopicOrPartition));
    });
}

#[test]
fn the_cluster_describes_itself() {
    on_a_broker("cluster", async |cluster| {
        let found = cluster.admin().describe_cluster().await.expect("an answer");
        assert!(found.id.is_some_and(|id| !id.is_empty()));
        assert!(found.controller.is_some());
        let port = cluster.servers.rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        assert!(found.brokers.iter().any(|broker| Some(broker.port) == port));
        let resource = ConfigResource::Broker(Some(found.brokers[0].id));
        let found = cluster.admin().describe_configs(vec![resource.clone()]).await;
        let entries = found.expect("an answer")[&resource].clone().expect("the broker's settings");
        assert!(entries.iter().any(|entry| entry.name == "log.retention.hours"));
    });
}

//! A producer of typed keys and values.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use dohle_wire::id::Timestamp;
use thiserror::Error;

use super::{Delivery, Producer, RecordMetadata, Runtime};
use crate::machine::producer::{ProduceError, ProducerRecord, RecordHeader};
use crate::serde::{SerdeError, Serializer};

/// A record whose key and value are not bytes yet.
#[derive(Debug)]
pub struct TypedRecord<'a, K: ?Sized, V: ?Sized> {
    /// Name of the topic.
    pub topic: Arc<str>,
    /// The partition; `None` lets the key or the partitioner choose.
    pub partition: Option<i32>,
    /// The key.
    pub key: Option<&'a K>,
    /// The value; `None` is a tombstone on a compacted topic.
    pub value: Option<&'a V>,
    /// The headers, in order.
    pub headers: Vec<RecordHeader>,
    /// The timestamp; `None` takes the wall clock.
    pub timestamp: Option<Timestamp>,
}

impl<'a, K: ?Sized, V: ?Sized> TypedRecord<'a, K, V> {
    /// A record without key for `topic`.
    pub fn new(topic: impl Into<Arc<str>>, value: &'a V) -> Self {
        Self { value: Some(value), ..Self::empty(topic.into()) }
    }

    /// A record that says that its key is no more, in a compacted topic.
    pub fn tombstone(topic: impl Into<Arc<str>>, key: &'a K) -> Self {
        Self { key: Some(key), ..Self::empty(topic.into()) }
    }

    fn empty(topic: Arc<str>) -> Self {
        Self {
            topic,
            partition: None,
            key: None,
            value: None,
            headers: Vec::new(),
            timestamp: None,
        }
    }

    /// The same record with this key.
    #[must_use]
    pub const fn with_key(mut self, key: &'a K) -> Self {
        self.key = Some(key);
        self
    }

    /// The same record for this partition.
    #[must_use]
    pub const fn with_partition(mut self, partition: i32) -> Self {
        self.partition = Some(partition);
        self
    }
}

/// Why a typed record is not known to be in the log.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TypedError {
    /// The key cannot be turned into bytes; nothing was sent.
    #[error("the key cannot be serialized: {0}")]
    Key(SerdeError),
    /// The value cannot be turned into bytes; nothing was sent.
    #[error("the value cannot be serialized: {0}")]
    Value(SerdeError),
    /// As with a record of bytes.
    #[error(transparent)]
    Produce(#[from] ProduceError),
}

/// Writes records with keys of type `K` and values of type `V`. Clones share everything.
///
/// ```no_run
/// # use dohle_client::api::{Producer, Runtime, TypedError, TypedProducer, TypedRecord};
/// # use dohle_client::serde::{LongSerde, StringSerde};
/// # async fn example<R: Runtime>(producer: Producer<R>) -> Result<(), TypedError> {
/// let counts: TypedProducer<R, str, i64> = TypedProducer::new(producer, StringSerde, LongSerde);
/// counts.send(TypedRecord::new("counts", &42).with_key("apples")).await?;
/// counts.send(TypedRecord::tombstone("counts", "pears")).await?;
/// # Ok(())
/// # }
/// ```
pub struct TypedProducer<R: Runtime, K: ?Sized, V: ?Sized> {
    producer: Producer<R>,
    keys: Arc<dyn Serializer<K>>,
    values: Arc<dyn Serializer<V>>,
}

impl<R: Runtime, K: ?Sized, V: ?Sized> Clone for TypedProducer<R, K, V> {
    fn clone(&self) -> Self {
        Self {
            producer: self.producer.clone(),
            keys: Arc::clone(&self.keys),
            values: Arc::clone(&self.values),
        }
    }
}

impl<R: Runtime, K: ?Sized, V: ?Sized> fmt::Debug for TypedProducer<R, K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TypedProducer").field("producer", &self.producer).finish_non_exhaustive()
    }
}

impl<R: Runtime, K: ?Sized, V: ?Sized> TypedProducer<R, K, V> {
    /// Writes through `producer`.
    pub fn new(
        producer: Producer<R>,
        keys: impl Serializer<K> + 'static,
        values: impl Serializer<V> + 'static,
    ) -> Self {
        Self { producer, keys: Arc::new(keys), values: Arc::new(values) }
    }

    /// The producer of bytes underneath.
    pub const fn producer(&self) -> &Producer<R> {
        &self.producer
    }

    /// The record as bytes.
    pub fn serialize(&self, record: TypedRecord<'_, K, V>) -> Result<ProducerRecord, TypedError> {
        let TypedRecord { topic, partition, key, value, headers, timestamp } = record;
        let key = bytes_of(&*self.keys, &topic, key).map_err(TypedError::Key)?;
        let value = bytes_of(&*self.values, &topic, value).map_err(TypedError::Value)?;
        Ok(ProducerRecord { topic, partition, key, value, headers, timestamp })
    }

    /// As [`Producer::send`].
    pub async fn send(&self, record: TypedRecord<'_, K, V>) -> Result<RecordMetadata, TypedError> {
        let record = self.serialize(record)?;
        Ok(self.producer.send(record).await?)
    }

    /// As [`Producer::queue`].
    pub async fn queue(&self, record: TypedRecord<'_, K, V>) -> Result<Delivery, TypedError> {
        let record = self.serialize(record)?;
        Ok(self.producer.queue(record).await?)
    }

    /// As [`Producer::send_with`].
    pub async fn send_with(
        &self,
        record: TypedRecord<'_, K, V>,
        callback: impl FnOnce(Result<RecordMetadata, ProduceError>) + Send + 'static,
    ) -> Result<(), TypedError> {
        let record = self.serialize(record)?;
        Ok(self.producer.send_with(record, callback).await?)
    }

    /// As [`Producer::send_and_forget`].
    pub fn send_and_forget(&self, record: TypedRecord<'_, K, V>) -> Result<(), TypedError> {
        Ok(self.producer.send_and_forget(self.serialize(record)?)?)
    }
}

fn bytes_of<T: ?Sized>(
    serializer: &dyn Serializer<T>,
    topic: &str,
    value: Option<&T>,
) -> Result<Option<Bytes>, SerdeError> {
    value.map_or(Ok(None), |value| serializer.serialize(topic, value))
}

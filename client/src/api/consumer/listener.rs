//! Who hears of rebalances.

use std::future::{Future, ready};
use std::pin::Pin;

use super::handle::ConsumerHandle;
use crate::api::runtime::Runtime;
use crate::machine::TopicPartition;

/// What a listener does, until it is done.
pub type Listening<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Hears which partitions come and go. It is called inside of [`super::Consumer::poll`] and of what
/// leaves the group; records wait until it is done.
///
/// ```no_run
/// use dohle_client::api::{ConsumerHandle, Listening, RebalanceListener, Runtime};
/// use dohle_client::machine::TopicPartition;
///
/// struct Journal;
///
/// impl<R: Runtime> RebalanceListener<R> for Journal {
///     fn revoked<'a>(
///         &'a mut self,
///         consumer: &'a ConsumerHandle<R>,
///         partitions: &'a [TopicPartition],
///     ) -> Listening<'a> {
///         Box::pin(async move {
///             if let Err(error) = consumer.commit().await {
///                 eprintln!("{partitions:?} may be read again: {error}");
///             }
///         })
///     }
/// }
/// ```
pub trait RebalanceListener<R: Runtime>: Send {
    /// These partitions are read from now on, in addition to what is read already.
    fn assigned<'a>(
        &'a mut self,
        consumer: &'a ConsumerHandle<R>,
        partitions: &'a [TopicPartition],
    ) -> Listening<'a> {
        let _ = (consumer, partitions);
        Box::pin(ready(()))
    }

    /// These partitions are given up. Nobody else reads them before this ends, and offsets can be
    /// committed.
    fn revoked<'a>(
        &'a mut self,
        consumer: &'a ConsumerHandle<R>,
        partitions: &'a [TopicPartition],
    ) -> Listening<'a> {
        let _ = (consumer, partitions);
        Box::pin(ready(()))
    }

    /// These partitions are gone: others may read them already, and nothing can be committed.
    fn lost<'a>(
        &'a mut self,
        consumer: &'a ConsumerHandle<R>,
        partitions: &'a [TopicPartition],
    ) -> Listening<'a> {
        self.revoked(consumer, partitions)
    }
}

/// Listens to nothing.
pub(super) struct Deaf;

impl<R: Runtime> RebalanceListener<R> for Deaf {}

//! Asking the shards what their logs amount to.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use dohle_core::mail::{Answer, ReplyTo, SessionId, ShardId, ShardStatistics, ToSession, ToShard};

use crate::mailbox::Mailbox;
use crate::post::Post;
use crate::rt;

/// How long shards may take.
const LIMIT: Duration = Duration::from_secs(3);

/// What the shards say, and how many of them said nothing in time.
pub(super) async fn statistics(post: &Arc<Post>) -> (Vec<ShardStatistics>, usize) {
    let desk = Desk::enter(post);
    let mut asked = 0;
    for shard in (0..).map(ShardId) {
        let reply = ReplyTo { session: desk.id, request: 0, part: 0 };
        let Some(unit) = post.to_shard(shard, ToShard::Statistics { reply }) else { break };
        unit.helper().poke();
        asked += 1;
    }
    let mut found = Vec::with_capacity(asked);
    // Out of time, what has come by then is what there is.
    let _ = rt::timeout(LIMIT, async {
        while found.len() < asked {
            found.extend(desk.letters().await.into_iter().filter_map(statistics_in));
        }
    })
    .await;
    let silent = asked - found.len();
    (found, silent)
}

fn statistics_in(letter: ToSession) -> Option<ShardStatistics> {
    match letter {
        ToSession::Answer { answer: Answer::Statistics(statistics), .. } => Some(*statistics),
        ToSession::Answer { .. } | ToSession::Wake { .. } => None,
    }
}

/// A place in the register of sessions for as long as answers are waited for.
struct Desk {
    post: Arc<Post>,
    id: SessionId,
    mailbox: Arc<Mailbox>,
}

impl Desk {
    fn enter(post: &Arc<Post>) -> Self {
        let (id, mailbox) = post.sessions.enter();
        Self { post: Arc::clone(post), id, mailbox }
    }

    /// The letters that have come; waits for the first.
    async fn letters(&self) -> VecDeque<ToSession> {
        poll_fn(|cx| {
            self.mailbox.awake();
            let mut letters = VecDeque::new();
            // Letters are lost only when far more of them come than are asked for here.
            let _ = self.mailbox.take_into(&mut letters);
            match letters.is_empty() && self.mailbox.sleep(cx.waker()) {
                true => Poll::Pending,
                false => Poll::Ready(letters),
            }
        })
        .await
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        self.post.sessions.leave(self.id);
    }
}

//! What machines and drivers say to each other about connections.
//!
//! Contract with a driver:
//! * [`NetEffect::Connect`] is answered by one [`NetInput::Up`] or by [`NetInput::Down`].
//! * Frames of one connection are sent in the order emitted and received in the order they came.
//! * A frame with `told` is answered by one [`NetInput::Sent`], in the order of such frames, once all
//!   of it was handed to the operating system: Kafka's completed send.
//! * A connection that broke is reported by [`NetInput::Down`], once, after all its frames. Frames
//!   that were emitted for it and not sent are dropped: the machine repeats what must be repeated.
//! * After [`NetEffect::Disconnect`] the machine has forgotten the connection: whatever the driver
//!   still reports of it is ignored. What had been reported as sent is not taken back: it arrives if
//!   the other side takes it in time.
//! * Ids of connections are never used again.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use dohle_wire::Part;

/// One connection, from the attempt to its end. Chosen by the machine.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnId(pub u64);

/// What happened to a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetInput {
    /// The connection is there.
    Up {
        /// Which one.
        conn: ConnId,
    },
    /// The connection could not be made, or it broke.
    Down {
        /// Which one.
        conn: ConnId,
    },
    /// A whole frame came, without its length prefix.
    Frame {
        /// On which connection.
        conn: ConnId,
        /// The frame.
        bytes: Bytes,
    },
    /// The next frame of which this was to be told was handed over completely.
    Sent {
        /// On which connection.
        conn: ConnId,
    },
}

/// What is wanted of connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NetEffect {
    /// Open a connection.
    Connect {
        /// Its id from now on.
        conn: ConnId,
        /// Host name or address, without brackets.
        host: Arc<str>,
        /// TCP port.
        port: u16,
    },
    /// Close a connection, whatever its state.
    Disconnect {
        /// Which one.
        conn: ConnId,
    },
    /// Send a frame.
    Transmit {
        /// On which connection.
        conn: ConnId,
        /// The frame.
        frame: Frame,
        /// Whether [`NetInput::Sent`] is to tell when all of it was handed over.
        told: bool,
    },
}

/// One outgoing frame, its length prefix included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    parts: Vec<Bytes>,
}

impl Frame {
    /// The frame whose content, without prefix, is `parts`.
    ///
    /// # Panics
    /// If a part is not in memory, or the length does not fit its prefix: a machine never makes
    /// such a request.
    pub(crate) fn new(parts: Vec<Part>) -> Self {
        let len: usize = parts.iter().map(Part::len).sum();
        let len = i32::try_from(len).expect("a request is far below 2 GiB");
        let mut frame = vec![Bytes::copy_from_slice(&len.to_be_bytes())];
        frame.extend(parts.into_iter().map(|part| match part {
            Part::Bytes(bytes) => bytes,
            Part::Hole(_) => unreachable!("requests of a client have no holes"),
        }));
        Self { parts: frame }
    }

    /// The pieces of the frame, to be sent one after the other. The first is the length prefix.
    pub fn parts(&self) -> &[Bytes] {
        &self.parts
    }

    /// Bytes on the wire, prefix included.
    pub fn len(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    /// Whether there is nothing to send; never the case.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The content in one piece, without the length prefix: what the other side takes as a frame.
    pub fn content(&self) -> Bytes {
        let mut whole = BytesMut::with_capacity(self.len());
        self.parts.iter().skip(1).for_each(|part| whole.put_slice(part));
        whole.freeze()
    }
}

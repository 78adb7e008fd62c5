//! What a connection needs of a stream: reading, writing parts, shutting down.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::pin;
use std::task::{Context, Poll, ready};

use bytes::buf::BufMut;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};

use crate::rt::{self, AsyncReadExt, Interest};
use crate::send::{Outgoing, Piece};

/// A stream in both directions.
pub trait Transport: Send + 'static {
    /// Reads some bytes; zero is the end of the stream.
    ///
    /// # Errors
    /// The stream is broken.
    fn poll_read<B: BufMut>(&mut self, cx: &mut Context<'_>, to: &mut B)
    -> Poll<io::Result<usize>>;

    /// Sends some of what waits first and takes it off `out`. A range that comes first is warm.
    ///
    /// # Errors
    /// The stream is broken.
    fn poll_send(&mut self, cx: &mut Context<'_>, out: &mut Outgoing) -> Poll<io::Result<()>>;

    /// Says that nothing more will be sent.
    ///
    /// # Errors
    /// The stream is broken.
    fn shutdown(&mut self) -> io::Result<()>;
}

/// A TCP connection without encryption.
pub struct Plain(pub(crate) rt::TcpStream);

impl Transport for Plain {
    fn poll_read<B: BufMut>(
        &mut self,
        cx: &mut Context<'_>,
        to: &mut B,
    ) -> Poll<io::Result<usize>> {
        // A read that fills less than the buffer tells the runtime that the socket is empty: no
        // second read only to learn that.
        pin!(self.0.read_buf(to)).poll(cx)
    }

    fn poll_send(&mut self, cx: &mut Context<'_>, out: &mut Outgoing) -> Poll<io::Result<()>> {
        loop {
            ready!(self.0.poll_write_ready(cx))?;
            let sent = match out.first() {
                None => return Poll::Ready(Ok(())),
                Some(Piece::Bytes(_)) => self.send_memory(out),
                Some(Piece::Range(_)) => self.send_range(out),
            };
            match sent {
                Ok(count) => {
                    out.sent(count as u64);
                    return Poll::Ready(Ok(()));
                }
                Err(why) if why.kind() == io::ErrorKind::WouldBlock => {}
                Err(why) if why.kind() == io::ErrorKind::Interrupted => {}
                Err(why) => return Poll::Ready(Err(why)),
            }
        }
    }

    fn shutdown(&mut self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.0, rustix::net::Shutdown::Write)?)
    }
}

impl Plain {
    fn send_memory(&self, out: &Outgoing) -> io::Result<usize> {
        let mut slices: Vec<IoSlice<'_>> = Vec::new();
        let more = out.gather(&mut slices);
        let flags = if more { SendFlags::MORE } else { SendFlags::empty() } | SendFlags::NOSIGNAL;
        self.0.try_io(Interest::WRITABLE, || {
            Ok(sendmsg(&self.0, &slices, &mut SendAncillaryBuffer::default(), flags)?)
        })
    }

    fn send_range(&self, out: &Outgoing) -> io::Result<usize> {
        let Some(Piece::Range(range)) = out.first() else { return Ok(0) };
        let len = usize::try_from(out.warm_len()).unwrap_or(usize::MAX);
        let file = range.file()?;
        self.0.try_io(Interest::WRITABLE, || {
            let mut position = range.position;
            match rustix::fs::sendfile(&self.0, &file, Some(&mut position), len)? {
                0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "a segment is too short")),
                count => Ok(count),
            }
        })
    }
}

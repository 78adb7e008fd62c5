//! Whether a broker listens at an address. Asked before anything else: a client goes on trying, but
//! a person wants to hear at once of an address that is none of a broker.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use dohle_wire::header::decode_response_header;
use dohle_wire::message::{ApiVersionsRequest, ApiVersionsResponse};
use dohle_wire::{ApiKey, Message as _, Reader, RequestHeader, Writer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::waiting::SOON;

/// How long a person waits to hear that nobody is there.
const CONNECT: Duration = Duration::from_secs(5);
/// How long a person waits for an answer.
const ANSWER: Duration = Duration::from_secs(15);
/// More than any broker says in answer to the first question.
const ANSWER_MAX: usize = 1 << 20;
/// Repeated in the answer.
const CORRELATION: i32 = 0x646f_686c;
/// Every broker speaks it.
const VERSION: i16 = 0;

/// Connects and asks for the versions that the broker speaks.
pub(super) async fn greet(host: &str, port: u16) -> io::Result<()> {
    let connecting = TcpStream::connect((host, port));
    let stream = patient(&format!("a connection to {host}:{port}"), CONNECT, connecting).await?;
    patient(&format!("an answer of {host}:{port}"), ANSWER, ask(stream)).await
}

/// Waits up to `limit`; says what for when it takes long.
async fn patient<T>(
    what: &str,
    limit: Duration,
    work: impl Future<Output = io::Result<T>>,
) -> io::Result<T> {
    let mut work = pin!(timeout(limit, work));
    let done = match timeout(SOON, &mut work).await {
        Ok(done) => done,
        Err(_) => {
            eprintln!("dohle: waiting for {what}");
            work.await
        }
    };
    done.unwrap_or_else(|_| {
        let problem = format!("no answer within {} s", limit.as_secs());
        Err(io::Error::new(io::ErrorKind::TimedOut, problem))
    })
}

async fn ask(mut stream: TcpStream) -> io::Result<()> {
    stream.write_all(&request()).await?;
    let mut prefix = [0; 4];
    stream.read_exact(&mut prefix).await.map_err(closed)?;
    let len = usize::try_from(i32::from_be_bytes(prefix)).ok().filter(|len| *len <= ANSWER_MAX);
    let mut answer = vec![0; len.ok_or_else(foreign)?];
    stream.read_exact(&mut answer).await.map_err(closed)?;
    let mut reader = Reader::new(Bytes::from(answer));
    let correlation = decode_response_header(&mut reader, ApiKey::ApiVersions, VERSION);
    let understood = ApiVersionsResponse::decode(&mut reader, VERSION).is_ok();
    if correlation == Ok(CORRELATION) && understood { Ok(()) } else { Err(foreign()) }
}

fn request() -> Bytes {
    let header = RequestHeader {
        api_key: ApiKey::ApiVersions.code(),
        api_version: VERSION,
        correlation_id: CORRELATION,
        client_id: Some("dohle-cli".to_owned()),
    };
    let mut content = Writer::new();
    header.encode(&mut content).expect("a known request");
    ApiVersionsRequest::default().encode(&mut content, VERSION).expect("a known version");
    let content = content.into_bytes().expect("bytes");
    let len = i32::try_from(content.len()).expect("a short request");
    [&len.to_be_bytes()[..], &content].concat().into()
}

fn foreign() -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        "the answer is none of a broker: this is not a broker, or not a plaintext port",
    )
}

fn closed(error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::UnexpectedEof {
        return error;
    }
    io::Error::new(
        error.kind(),
        "closed without an answer: this is not a broker, or not a plaintext port",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of somebody who answers with these bytes and hangs up.
    fn greeted(answer: &'static [u8]) -> String {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
            let port = listener.local_addr().unwrap().port();
            let answering = async {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut asked = [0; 8];
                stream.read_exact(&mut asked).await.unwrap();
                stream.write_all(answer).await.unwrap();
                stream.shutdown().await.unwrap();
                // Reset by what is left unread, the connection would lose the answer.
                let _ = stream.read_to_end(&mut Vec::new()).await;
            };
            let (greeted, ()) = tokio::join!(greet("127.0.0.1", port), answering);
            greeted.err().map_or_else(String::new, |error| error.to_string())
        })
    }

    #[test]
    fn what_is_no_broker_is_told_apart() {
        let check = |answer: &'static [u8], said: &str| {
            let found = greeted(answer);
            assert!(found.contains(said), "{answer:?}: {found}");
        };
        check(b"HTTP/1.1 400 Bad Request\r\n\r\n", "not a plaintext port");
        check(b"\x15\x03\x03\x00\x02\x02\x28", "not a plaintext port");
        check(b"", "closed without an answer");
        check(b"\x00\x00\x00\x0aUUUUUUUUUU", "not a broker");
        check(b"\x7f\xff\xff\xffx", "not a broker");
        assert_eq!(greeted(b"\x00\x00\x00\x0adohl\x00\x00\x00\x00\x00\x00"), "");
    }
}

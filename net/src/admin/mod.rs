//! The admin port: `/metrics` for Prometheus, `/health/live` and `/health/ready`.
//!
//! It has a thread and a runtime of its own: a page over ten thousand logs takes none of the time
//! in which clients are served, and a node whose workers hang still says so.
//!
//! Bounds: connections at once, the time a request may take to come and its answer to leave. Who
//! comes when all seats are taken does not wait for those that have said nothing yet: the one of
//! them that has been there longest leaves. Nothing can be changed here.

mod gather;
mod metrics;
mod process;
mod seats;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};

use self::metrics::Scrape;
use self::process::Process;
use self::seats::{Guest, Seats};
use crate::clock::Clock;
use crate::post::{Phase, Post};
use crate::rt;
use crate::server::Bound;

/// How long a request may take to come.
const REQUEST_LIMIT: Duration = Duration::from_secs(5);
/// How long a connection may last: one request and its answer.
const CONNECTION_LIMIT: Duration = Duration::from_secs(10);
/// Pause after the operating system refused to accept.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Stack of the thread.
const STACK_BYTES: usize = 512 * 1024;

const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");
const OPEN_METRICS: HeaderValue =
    HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");

const INDEX: &str = "\
/metrics       what this node does, for Prometheus
/health/live   200 while the process can go on
/health/ready  200 while clients are served
";

type Page = Response<Full<Bytes>>;

/// The admin port of a node, until it is dropped.
pub(crate) struct Admin {
    stop: Arc<rt::Notify>,
    thread: Option<JoinHandle<()>>,
}

impl Admin {
    /// Serves on these sockets.
    pub(crate) fn start(post: Arc<Post>, clock: Clock, bound: Vec<Bound>) -> std::io::Result<Self> {
        let stop = Arc::<rt::Notify>::default();
        let stopped = Arc::clone(&stop);
        let runtime = rt::Builder::new_current_thread().enable_all().build()?;
        let thread = std::thread::Builder::new()
            .name("dohle-admin".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || {
                let office = Arc::new(Office { post, clock });
                runtime.block_on(async {
                    for Bound { socket, address, .. } in bound {
                        match rt::TcpListener::from_std(socket) {
                            Ok(socket) => drop(rt::spawn(Arc::clone(&office).serve(socket))),
                            Err(why) => tracing::error!("the admin port {address}: {why}"),
                        }
                    }
                    stopped.notified().await;
                });
            })?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic there has told of itself, and nothing depends on the thread.
            let _ = thread.join();
        }
    }
}

/// What requests are answered with.
struct Office {
    post: Arc<Post>,
    clock: Clock,
}

impl Office {
    async fn serve(self: Arc<Self>, socket: rt::TcpListener) {
        let mut seats = Seats::new();
        loop {
            match socket.accept().await {
                Ok((stream, peer)) => {
                    let office = Arc::clone(&self);
                    seats
                        .take(|guest| async move { office.attend(stream, peer, guest).await })
                        .await;
                }
                Err(why) => {
                    tracing::warn!("cannot accept connections on the admin port: {why}");
                    rt::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn attend(self: Arc<Self>, stream: rt::TcpStream, peer: SocketAddr, guest: Guest) {
        let answer = service_fn(|request| {
            let office = Arc::clone(&self);
            guest.has_asked();
            async move { Ok::<_, Infallible>(office.answer(&request).await) }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(REQUEST_LIMIT)
            .keep_alive(false)
            .serve_connection(TokioIo::new(stream), answer);
        match rt::timeout(CONNECTION_LIMIT, connection).await {
            Ok(Ok(())) => {}
            Ok(Err(why)) => tracing::debug!("admin connection of {peer}: {why}"),
            Err(_) => tracing::debug!("admin connection of {peer} took too long"),
        }
    }

    async fn answer(&self, request: &Request<Incoming>) -> Page {
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let mut page = page(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD\n");
            page.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
            return page;
        }
        match request.uri().path() {
            "/" => page(StatusCode::OK, INDEX),
            "/metrics" => self.metrics().await,
            "/health/live" => self.live(),
            "/health/ready" => self.ready(),
            _ => page(StatusCode::NOT_FOUND, INDEX),
        }
    }

    fn live(&self) -> Page {
        match self.post.life.phase() {
            Phase::Failed(why) => page(StatusCode::SERVICE_UNAVAILABLE, format!("{why}\n")),
            Phase::Starting | Phase::Running | Phase::Stopped => page(StatusCode::OK, "live\n"),
        }
    }

    fn ready(&self) -> Page {
        let why = match self.post.life.phase() {
            Phase::Running if !self.post.life.is_leaving() => {
                return page(StatusCode::OK, "ready\n");
            }
            Phase::Starting => "starting\n".to_owned(),
            Phase::Running | Phase::Stopped => "stopping\n".to_owned(),
            Phase::Failed(why) => format!("{why}\n"),
        };
        page(StatusCode::SERVICE_UNAVAILABLE, why)
    }

    async fn metrics(&self) -> Page {
        let (shards, silent) = gather::statistics(&self.post).await;
        let mut seen = 0;
        let scrape = Scrape {
            books: Arc::clone(&self.post.books),
            image: self.post.image.newer(&mut seen),
            shards,
            silent,
            connections: self.post.limits.connections(),
            running: self.post.life.phase() == Phase::Running,
            syncs: self.post.files.syncs().seen(),
            process: Process::now(Duration::from_nanos(self.clock.mono().0)),
        };
        match scrape.text() {
            Ok(text) => {
                let mut page = page(StatusCode::OK, text);
                page.headers_mut().insert(CONTENT_TYPE, OPEN_METRICS);
                page
            }
            Err(why) => page(StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n")),
        }
    }
}

fn page(status: StatusCode, text: impl Into<Bytes>) -> Page {
    let mut page = Response::new(Full::new(text.into()));
    *page.status_mut() = status;
    page.headers_mut().insert(CONTENT_TYPE, TEXT);
    page
}

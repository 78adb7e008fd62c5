//! Listening sockets: accepting connections and making sessions for them.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use dohle_core::config::{BrokerConfig, Listener};
use dohle_core::count::Count;
use dohle_core::disk::FileId;
use dohle_core::image::Image;
use dohle_core::mail::{SessionId, ShardId, ToControl, ToShard};
use dohle_core::session::{CloseReason, Session, SessionSettings};
use dohle_wire::record::Codecs;
use rustix::net::sockopt;

use crate::budget::Budget;
use crate::clock::Clock;
use crate::connection::{Connection, End, Parts};
use crate::desk::Switch;
use crate::disk::{Handed, Pool};
use crate::entropy;
use crate::frame::Fault;
use crate::hosts::{ControlUnit, ShardUnit};
use crate::limits::Seat;
use crate::note::{More, Seldom};
use crate::post::Post;
use crate::rt;
use crate::transport::Plain;

/// Pause after the operating system refused to accept (no descriptors left, for example).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Log lines about strangers: one in so much time.
const STRANGERS: Duration = Duration::from_secs(10);

/// Each kind for itself: one must not hide another.
static SELDOM_TLS: Seldom = Seldom::new(STRANGERS);
static SELDOM_HTTP: Seldom = Seldom::new(STRANGERS);
static SELDOM_SIZE: Seldom = Seldom::new(STRANGERS);
static SELDOM_REQUEST: Seldom = Seldom::new(STRANGERS);
static SELDOM_SHARE: Seldom = Seldom::new(STRANGERS);
static SELDOM_ACCEPT: Seldom = Seldom::new(STRANGERS);

/// What every connection of a node needs.
pub struct Server {
    /// The post.
    pub post: Arc<Post>,
    /// The shards.
    pub shards: Vec<Arc<ShardUnit>>,
    /// Control.
    pub control: Arc<ControlUnit>,
    /// The node's clock.
    pub clock: Clock,
    /// The node's configuration.
    pub config: Arc<BrokerConfig>,
    /// Compression.
    pub codecs: Arc<dyn Codecs>,
    /// Threads that wait for disks.
    pub pool: Arc<Pool>,
    /// Memory for requests.
    pub budget: Arc<Budget>,
}

/// A listener that is bound.
pub struct Bound {
    /// Its name.
    pub name: Arc<str>,
    /// The socket.
    pub socket: StdListener,
    /// Its address.
    pub address: SocketAddr,
}

/// Binds a listener; an empty host means every address, of both IP versions if the machine has
/// them.
///
/// # Errors
/// What the operating system said.
pub fn bind(listener: &Listener, backlog: i32) -> io::Result<Bound> {
    let socket = if listener.any_host() && listener.host != "0.0.0.0" {
        listen((IpAddr::from([0; 16]), listener.port).into(), backlog).or_else(|why| {
            match why.kind() {
                io::ErrorKind::AddrInUse | io::ErrorKind::PermissionDenied => Err(why),
                _ => listen(([0, 0, 0, 0], listener.port).into(), backlog),
            }
        })?
    } else {
        bind_named(&listener.host, listener.port, backlog)?
    };
    let address = socket.local_addr()?;
    Ok(Bound { name: listener.name.as_str().into(), socket, address })
}

/// Binds a port at the first address of a host that can be had.
///
/// # Errors
/// What the operating system said.
pub fn bind_host(name: &str, host: &str, port: u16, backlog: i32) -> io::Result<Bound> {
    let socket = bind_named(host, port, backlog)?;
    let address = socket.local_addr()?;
    Ok(Bound { name: name.into(), socket, address })
}

fn bind_named(host: &str, port: u16, backlog: i32) -> io::Result<StdListener> {
    let mut failure = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match listen(address, backlog) {
            Ok(socket) => return Ok(socket),
            Err(why) => failure = why,
        }
    }
    Err(failure)
}

fn listen(address: SocketAddr, backlog: i32) -> io::Result<StdListener> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, false)?;
    }
    rustix::net::bind(&socket, &address)?;
    rustix::net::listen(&socket, backlog)?;
    Ok(socket.into())
}

impl Server {
    /// Accepts connections until the task is dropped, once clients are served.
    pub async fn serve(self: Arc<Self>, name: Arc<str>, socket: rt::TcpListener) {
        if !self.post.life.running().await {
            return;
        }
        loop {
            self.post.limits.room().await;
            match socket.accept().await {
                Ok((stream, peer)) => self.accept(stream, peer, &name),
                Err(why) => {
                    if let Some(left_out) = SELDOM_ACCEPT.now() {
                        tracing::warn!(
                            "cannot accept connections on {name}: {why}{}",
                            More(left_out)
                        );
                    }
                    rt::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn accept(self: &Arc<Self>, stream: rt::TcpStream, peer: SocketAddr, name: &Arc<str>) {
        let ip = peer.ip().to_canonical();
        let Some(seat) = self.post.limits.seat(ip) else {
            if let Some(left_out) = SELDOM_SHARE.now() {
                tracing::warn!(
                    "{ip} has max.connections.per.ip connections: refused{}",
                    More(left_out)
                );
            }
            return;
        };
        // Both only make things better: a socket that refuses them works.
        let _ = stream.set_nodelay(true);
        let _ = sockopt::set_socket_keepalive(&stream, true);
        let Ok(local) = stream.local_addr() else { return };
        self.post.books.accepted.fetch_add(1, Ordering::Relaxed);
        let (id, mailbox) = self.post.sessions.enter();
        let settings = self.settings(ip, local, name);
        let session = Session::new(id, settings, self.clock.now());
        let connection = Connection::new(Parts {
            transport: Plain(stream),
            session,
            switch: Arc::clone(self),
            mailbox,
            clock: self.clock,
            budget: Arc::clone(&self.budget),
            frame_max: usize::try_from(self.config.socket_request_max_bytes).unwrap_or(0),
        });
        let guest = Guest { server: Arc::clone(self), id, _seat: seat };
        rt::spawn(async move {
            let end = connection.await;
            drop(guest);
            log_end(&end, peer);
        });
    }

    fn settings(&self, ip: IpAddr, local: SocketAddr, name: &Arc<str>) -> SessionSettings {
        SessionSettings {
            shards: u16::try_from(self.shards.len()).unwrap_or(u16::MAX),
            codecs: Arc::clone(&self.codecs),
            config: Arc::clone(&self.config),
            peer: ip.to_string().into(),
            local: (local.ip().to_canonical().to_string().into(), local.port()),
            listener: Arc::clone(name),
            seed: entropy::seed(),
        }
    }
}

/// A connection in the books of the node.
struct Guest {
    server: Arc<Server>,
    id: SessionId,
    _seat: Seat,
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.server.post.sessions.leave(self.id);
    }
}

impl Switch for Arc<Server> {
    fn image(&self, seen: &mut u64) -> Option<Arc<Image>> {
        self.post.image.newer(seen)
    }

    fn to_shard(&self, shard: ShardId, mail: ToShard) {
        self.shards[usize::from(shard.0)].push(dohle_core::shard::Input::Mail(mail));
    }

    fn drive(&self, shard: ShardId) {
        self.shards[usize::from(shard.0)].drive();
    }

    fn to_control(&self, mail: ToControl) {
        self.control.push(dohle_core::control::Input::Mail(mail));
        self.control.helper().poke();
    }

    fn file(&self, id: FileId) -> io::Result<Handed> {
        self.post.files.handed_out(id)
    }

    fn count(&self, count: &Count) {
        self.post.books.enter(count);
    }

    fn offload(&self, job: Box<dyn FnOnce() + Send>) {
        self.pool.run(job);
    }
}

fn log_end(end: &End, peer: SocketAddr) {
    match end {
        End::Peer => tracing::debug!("{peer} closed its connection"),
        End::Broken(why) => tracing::debug!("connection of {peer} broke: {why}"),
        End::Session(CloseReason::BadRequest(why)) => strange(&SELDOM_REQUEST, peer, why),
        End::Session(reason) => tracing::debug!("closed the connection of {peer}: {reason:?}"),
        End::Fault(fault) => strange(seldom_of(fault), peer, fault),
        End::Slow => tracing::warn!("closed the connection of {peer}: its request came too slowly"),
        End::File(why) => tracing::warn!("closed the connection of {peer}: cannot send: {why}"),
        End::Mail => tracing::error!("closed the connection of {peer}: too much mail"),
    }
}

fn seldom_of(fault: &Fault) -> &'static Seldom {
    match fault {
        Fault::Tls => &SELDOM_TLS,
        Fault::Http(_) => &SELDOM_HTTP,
        Fault::TooLarge { .. } | Fault::TooSmall(_) => &SELDOM_SIZE,
    }
}

fn strange(seldom: &Seldom, peer: SocketAddr, what: &dyn std::fmt::Display) {
    if let Some(left_out) = seldom.now() {
        tracing::warn!("closed the connection of {peer}: {what}{}", More(left_out));
    }
}

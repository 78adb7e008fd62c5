//! Assembling a node out of configuration, and taking it apart again.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use dohle_codec::NativeCodecs;
use dohle_core::config::{BrokerConfig, SecurityProtocol};
use dohle_core::control::{Control, ControlSettings, FreshIds, Input};
use dohle_core::mail::ShardId;
use dohle_core::shard::Shard;
use dohle_wire::id::Uuid;
use dohle_wire::record::Codecs;

use crate::admin::Admin;
use crate::budget::Budget;
use crate::clock::Clock;
use crate::descriptors::{Shares, TooFew};
use crate::disk::{DirLock, Files, LockError, Pool, UnitDisk, lock_dir};
use crate::entropy;
use crate::helper::{TaskPoke, ThreadPoke};
use crate::hosts::{ControlHost, ControlUnit, ShardHost, ShardUnit};
use crate::limits::Limits;
use crate::post::{Phase, Post};
use crate::rt;
use crate::server::{Bound, Server, bind, bind_host};
use crate::signal::Signals;
use crate::unit::Poke;

/// Threads that wait for data disks.
const DATA_THREADS: usize = 4;
/// Threads that wait for the disk of control: its few files are made durable side by side.
const CONTROL_THREADS: usize = 3;
/// Memory for requests when `queued.max.request.bytes` says nothing.
const REQUEST_BYTES: usize = 128 * 1024 * 1024;
/// More shards than this help no machine.
const SHARDS_MAX: u16 = 64;
/// Length of a listener's queue of connections that are not accepted yet.
const BACKLOG: i32 = 1024;
/// Stack of a worker thread and of control's.
const STACK_BYTES: usize = 1024 * 1024;
/// How long connections may take to notice the end.
const FAREWELL: Duration = Duration::from_millis(200);

/// What a node is started with.
#[derive(Clone, Debug)]
pub struct StartOptions {
    /// The configuration; ports may be 0.
    pub config: BrokerConfig,
    /// The cluster's id, should this node have to form a new one; none for a random id.
    pub cluster_id: Option<Uuid>,
    /// Whether SIGINT and SIGTERM stop the node (a second one, at least a second later, ends the
    /// process at once).
    pub signals: bool,
}

/// Why a node did not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// A data directory cannot be used.
    #[error(transparent)]
    Directory(#[from] LockError),
    /// The configuration asks for something that there is not.
    #[error("{0}")]
    Unsupported(String),
    /// It would not have files enough.
    #[error(transparent)]
    Descriptors(#[from] TooFew),
    /// A listener cannot be bound.
    #[error(
        "cannot listen on {address} (listener {name}): {why}; choose another address with \
         --listen HOST:PORT, or listeners"
    )]
    Bind {
        /// The listener's name.
        name: String,
        /// Where it should have listened.
        address: String,
        /// What the operating system said.
        why: std::io::Error,
    },
    /// The admin port cannot be bound.
    #[error(
        "cannot serve metrics and health on {address}: {why}; choose another address with \
         --admin HOST:PORT, or dohle.admin.listeners"
    )]
    BindAdmin {
        /// Where it should have listened.
        address: String,
        /// What the operating system said.
        why: std::io::Error,
    },
    /// The operating system refused something else.
    #[error("{what}: {why}")]
    System {
        /// What was tried.
        what: &'static str,
        /// What it said.
        why: std::io::Error,
    },
    /// The node itself cannot go on.
    #[error("{0}")]
    Fatal(String),
}

/// A node that serves clients. Dropped without [`Node::stop`] it ends as a killed process would.
pub struct Node {
    post: Arc<Post>,
    control: Arc<ControlUnit>,
    control_poke: Arc<ThreadPoke>,
    control_thread: Option<JoinHandle<()>>,
    shard_pokes: Vec<Arc<TaskPoke>>,
    pools: Vec<Arc<Pool>>,
    runtime: Option<rt::Runtime>,
    listening: Vec<(Arc<str>, SocketAddr)>,
    admin: Option<Admin>,
    admin_listening: Vec<SocketAddr>,
    config: Arc<BrokerConfig>,
    _locks: Vec<DirLock>,
}

impl Node {
    /// Starts a node and waits until it serves clients.
    ///
    /// # Errors
    /// [`NodeError`]; nothing runs then.
    pub fn start(options: StartOptions) -> Result<Self, NodeError> {
        let clock = Clock::start();
        let mut config = options.config;
        check(&config)?;
        let (locks, unusable) = lock_dirs(&config)?;
        let shards = shard_count(&config);
        // A worker for each shard, and the thread of control.
        let threads = usize::from(shards) + 1 + DATA_THREADS + CONTROL_THREADS;
        let shares = Shares::of_process(&config, threads)?;
        let bound = bind_all(&mut config)?;
        let admin = bind_admin(&mut config)?;
        let config = Arc::new(config);
        let runtime = runtime(usize::from(shards))?;
        let ids = FreshIds {
            cluster: options.cluster_id.unwrap_or_else(entropy::uuid),
            directories: config.log_dirs.iter().map(|_| entropy::uuid()).collect(),
            incarnation: entropy::uuid(),
        };
        let settings = ControlSettings {
            config: Arc::clone(&config),
            shards,
            fresh: ids,
            seed: entropy::seed(),
            unusable,
        };
        let units = Units::new(settings, clock, shares);
        let mut node = units.run(&config, clock, &runtime, locks)?;
        let served = node.serve(units, clock, &runtime, bound, options.signals);
        node.runtime = Some(runtime);
        served?;
        node.serve_admin(clock, admin)?;
        node.control.push(Input::Boot);
        node.control_poke.poke();
        match node.post.life.wait_while(&Phase::Starting, None) {
            Phase::Failed(why) => Err(NodeError::Fatal(why)),
            Phase::Stopped => Err(NodeError::Fatal("stopped while it started".to_owned())),
            Phase::Starting | Phase::Running => Ok(node),
        }
    }

    /// The listeners that serve clients: name and address.
    #[must_use]
    pub fn listening(&self) -> &[(Arc<str>, SocketAddr)] {
        &self.listening
    }

    /// The address of the first listener.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.listening[0].1
    }

    /// Where metrics and health are served.
    #[must_use]
    pub fn admin_listening(&self) -> &[SocketAddr] {
        &self.admin_listening
    }

    /// The configuration, with the ports that were chosen.
    #[must_use]
    pub fn config(&self) -> &BrokerConfig {
        &self.config
    }

    /// Asks the node to stop cleanly.
    pub fn shut_down(&self) {
        self.post.life.leave();
        self.control.push(Input::Shutdown);
        self.control_poke.poke();
    }

    /// Waits until the node has ended.
    ///
    /// # Errors
    /// Why it could not go on.
    pub fn wait(mut self) -> Result<(), NodeError> {
        let phase = self.post.life.wait_while(&Phase::Running, None);
        self.dismantle();
        match phase {
            Phase::Failed(why) => Err(NodeError::Fatal(why)),
            Phase::Starting | Phase::Running | Phase::Stopped => Ok(()),
        }
    }

    /// Stops the node cleanly.
    ///
    /// # Errors
    /// Why it could not.
    pub fn stop(self) -> Result<(), NodeError> {
        self.shut_down();
        self.wait()
    }

    fn serve(
        &mut self,
        units: Units,
        clock: Clock,
        runtime: &rt::Runtime,
        bound: Vec<Bound>,
        signals: bool,
    ) -> Result<(), NodeError> {
        let _on_runtime = runtime.enter();
        if signals {
            self.obey_signals(runtime)?;
        }
        let config = Arc::clone(&self.config);
        let budget = config.queued_max_request_bytes.and_then(|bytes| usize::try_from(bytes).ok());
        let server = Arc::new(Server {
            post: Arc::clone(&self.post),
            shards: units.shards.into_iter().map(|(unit, _)| unit).collect(),
            control: Arc::clone(&self.control),
            clock,
            codecs: units.codecs,
            pool: Arc::clone(&self.pools[0]),
            budget: Budget::new(budget.unwrap_or(REQUEST_BYTES)),
            config,
        });
        for Bound { name, socket, address } in bound {
            let socket = rt::TcpListener::from_std(socket);
            let socket = socket.map_err(|why| NodeError::System { what: "listening", why })?;
            self.listening.push((Arc::clone(&name), address));
            runtime.spawn(Arc::clone(&server).serve(name, socket));
        }
        Ok(())
    }

    fn serve_admin(&mut self, clock: Clock, bound: Vec<Bound>) -> Result<(), NodeError> {
        if bound.is_empty() {
            return Ok(());
        }
        self.admin_listening = bound.iter().map(|bound| bound.address).collect();
        let admin = Admin::start(Arc::clone(&self.post), clock, bound);
        let what = "starting the admin port";
        self.admin = Some(admin.map_err(|why| NodeError::System { what, why })?);
        Ok(())
    }

    fn obey_signals(&self, runtime: &rt::Runtime) -> Result<(), NodeError> {
        let mut signals = Signals::listen()
            .map_err(|why| NodeError::System { what: "listening for signals", why })?;
        let (control, poke) = (Arc::clone(&self.control), Arc::clone(&self.control_poke));
        let post = Arc::clone(&self.post);
        runtime.spawn(async move {
            let first = signals.next().await.name();
            tracing::info!("{first}: stopping; another one, later, ends the process at once");
            post.life.leave();
            control.push(Input::Shutdown);
            poke.poke();
            let second = signals.second().await;
            tracing::warn!("{} again: ending without a clean stop", second.name());
            std::process::exit(second.exit_code());
        });
        Ok(())
    }

    /// Ends tasks and threads, connections first: they hold on to everything else.
    fn dismantle(&mut self) {
        self.admin = None;
        for poke in &self.shard_pokes {
            poke.stop();
        }
        if let Some(runtime) = self.runtime.take() {
            // On a thread of its own: the caller may be a task of another runtime, and those must
            // not wait.
            let ended = std::thread::spawn(move || runtime.shutdown_timeout(FAREWELL)).join();
            debug_assert!(ended.is_ok(), "the runtime ends without a panic");
        }
        self.control_poke.stop();
        if let Some(thread) = self.control_thread.take() {
            // A panic in it has ended the process already.
            let _ = thread.join();
        }
        for pool in &self.pools {
            pool.close();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.dismantle();
    }
}

/// The units of a node before they run.
struct Units {
    post: Arc<Post>,
    codecs: Arc<dyn Codecs>,
    shards: Vec<(Arc<ShardUnit>, Arc<TaskPoke>)>,
    control: Arc<ControlUnit>,
    control_poke: Arc<ThreadPoke>,
    pools: Vec<Arc<Pool>>,
}

impl Units {
    fn new(settings: ControlSettings, clock: Clock, shares: Shares) -> Self {
        let (config, shards) = (&Arc::clone(&settings.config), settings.shards);
        let codecs: Arc<dyn Codecs> = Arc::new(NativeCodecs);
        let roots = config.log_dirs.iter().map(PathBuf::from).collect();
        let files = Arc::new(Files::new(roots, shares.files));
        let post = Post::new(files, Limits::new(config, addresses_of, shares.connections));
        let data_pool = Arc::new(Pool::new("dohle-disk", DATA_THREADS));
        let control_pool = Arc::new(Pool::new("dohle-meta", CONTROL_THREADS));
        let units = (0..shards)
            .map(|shard| {
                let id = ShardId(shard);
                let machine = Shard::new(
                    id,
                    shards,
                    Arc::clone(config),
                    Arc::clone(&codecs),
                    entropy::seed(),
                );
                let disk = shard_disk(&post, &data_pool, clock, id);
                let host = ShardHost::new(Arc::clone(&post), disk);
                let poke = Arc::<TaskPoke>::default();
                let helper: Arc<dyn Poke> = Arc::clone(&poke) as Arc<dyn Poke>;
                (Arc::new(ShardUnit::new(machine, host, clock, helper)), poke)
            })
            .collect::<Vec<_>>();
        let host = ControlHost::new(Arc::clone(&post), control_disk(&post, &control_pool, clock));
        let control_poke = Arc::<ThreadPoke>::default();
        let helper: Arc<dyn Poke> = Arc::clone(&control_poke) as Arc<dyn Poke>;
        let control = Arc::new(ControlUnit::new(Control::new(settings), host, clock, helper));
        let shards_only: Vec<_> = units.iter().map(|(unit, _)| Arc::clone(unit)).collect();
        post.connect(&shards_only, &control);
        let pools = vec![data_pool, control_pool];
        Self { post, codecs, shards: units, control, control_poke, pools }
    }

    /// Starts the helpers.
    fn run(
        &self,
        config: &Arc<BrokerConfig>,
        clock: Clock,
        runtime: &rt::Runtime,
        locks: Vec<DirLock>,
    ) -> Result<Node, NodeError> {
        for (unit, poke) in &self.shards {
            runtime.spawn(Arc::clone(poke).attend(Arc::clone(unit), clock));
        }
        let (unit, poke) = (Arc::clone(&self.control), Arc::clone(&self.control_poke));
        let thread = std::thread::Builder::new()
            .name("dohle-control".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || poke.attend(&unit, clock))
            .map_err(|why| NodeError::System { what: "starting a thread", why })?;
        Ok(Node {
            post: Arc::clone(&self.post),
            control: Arc::clone(&self.control),
            control_poke: Arc::clone(&self.control_poke),
            control_thread: Some(thread),
            shard_pokes: self.shards.iter().map(|(_, poke)| Arc::clone(poke)).collect(),
            pools: self.pools.clone(),
            runtime: None,
            listening: Vec::new(),
            admin: None,
            admin_listening: Vec::new(),
            config: Arc::clone(config),
            _locks: locks,
        })
    }
}

fn shard_disk(post: &Arc<Post>, pool: &Arc<Pool>, clock: Clock, id: ShardId) -> UnitDisk {
    let weak = Arc::downgrade(post);
    let tell = move |finished| {
        let Some(unit) = weak.upgrade().and_then(|post| post.shard(id)) else { return };
        unit.push_event(finished);
        unit.drive();
    };
    UnitDisk::new(Arc::clone(&post.files), Arc::clone(pool), clock, Arc::new(tell))
}

fn control_disk(post: &Arc<Post>, pool: &Arc<Pool>, clock: Clock) -> UnitDisk {
    let weak = Arc::downgrade(post);
    let tell = move |finished| {
        let Some(unit) = weak.upgrade().and_then(|post| post.control()) else { return };
        unit.push_event(finished);
        unit.helper().poke();
    };
    UnitDisk::new(Arc::clone(&post.files), Arc::clone(pool), clock, Arc::new(tell))
}

/// Refuses what this version cannot do, before anything is touched.
fn check(config: &BrokerConfig) -> Result<(), NodeError> {
    let protected =
        client_listeners(config).find(|listener| listener.protocol != SecurityProtocol::Plaintext);
    if let Some(listener) = protected {
        return Err(NodeError::Unsupported(format!(
            "listener {} has security protocol {}, which this version does not have: expected \
             PLAINTEXT (listeners, listener.security.protocol.map)",
            listener.name,
            listener.protocol.name()
        )));
    }
    if client_listeners(config).next().is_none() {
        return Err(NodeError::Unsupported(
            "listeners names no listener for clients: expected at least one that is not in \
             controller.listener.names, for example PLAINTEXT://:9092"
                .to_owned(),
        ));
    }
    Ok(())
}

/// The listeners that clients use. Those of controllers are not bound: a quorum of one node has
/// nobody to talk to.
fn client_listeners(config: &BrokerConfig) -> impl Iterator<Item = &dohle_core::config::Listener> {
    let controllers = &config.controller_listener_names;
    config.listeners.iter().filter(|listener| !controllers.contains(&listener.name))
}

/// Takes the locks of all data directories. One that cannot be used is no reason not to start,
/// unless another process has it, or it is the one with the metadata.
fn lock_dirs(config: &BrokerConfig) -> Result<(Vec<DirLock>, BTreeMap<u16, String>), NodeError> {
    let (mut locks, mut unusable) = (Vec::new(), BTreeMap::new());
    for (at, dir) in (0..).zip(&config.log_dirs) {
        match lock_dir(dir.as_ref()) {
            Ok(lock) => locks.push(lock),
            Err(why @ LockError::Held { .. }) => return Err(why.into()),
            Err(why) if *dir == config.metadata_log_dir => return Err(why.into()),
            Err(why) => {
                unusable.insert(at, why.to_string());
            }
        }
    }
    Ok((locks, unusable))
}

/// Binds what clients use and puts the ports that were chosen into the configuration.
fn bind_all(config: &mut BrokerConfig) -> Result<Vec<Bound>, NodeError> {
    let mut bound = Vec::new();
    let controllers = &config.controller_listener_names;
    for listener in &mut config.listeners {
        if controllers.contains(&listener.name) {
            continue;
        }
        let one = bind(listener, BACKLOG).map_err(|why| NodeError::Bind {
            name: listener.name.clone(),
            address: format!("{}:{}", listener.host, listener.port),
            why,
        })?;
        listener.port = one.address.port();
        bound.push(one);
    }
    Ok(bound)
}

/// Binds the admin port and puts the ports that were chosen into the configuration.
fn bind_admin(config: &mut BrokerConfig) -> Result<Vec<Bound>, NodeError> {
    let mut bound = Vec::new();
    for (host, port) in &mut config.admin_listeners {
        let one = bind_host("admin", host, *port, BACKLOG)
            .map_err(|why| NodeError::BindAdmin { address: format!("{host}:{port}"), why })?;
        *port = one.address.port();
        bound.push(one);
    }
    Ok(bound)
}

fn shard_count(config: &BrokerConfig) -> u16 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let wanted = match config.shards {
        0 => cores,
        shards => shards as usize,
    };
    u16::try_from(wanted).unwrap_or(u16::MAX).clamp(1, SHARDS_MAX)
}

fn runtime(workers: usize) -> Result<rt::Runtime, NodeError> {
    rt::Builder::new_multi_thread()
        .worker_threads(workers)
        .max_blocking_threads(1)
        .thread_name("dohle-net")
        .thread_stack_size(STACK_BYTES)
        .enable_all()
        .build()
        .map_err(|why| NodeError::System { what: "starting the runtime", why })
}

fn addresses_of(host: &str) -> Vec<IpAddr> {
    let found = (host, 0).to_socket_addrs();
    found.map(|all| all.map(|address| address.ip().to_canonical()).collect()).unwrap_or_default()
}

//! `dohle start`: one broker in the foreground.
//!
//! Settings come from, each over the one before: defaults, the file of `--config`, `KAFKA_…`
//! environment variables, the other flags. Kafka's container image has it like that: variables
//! mend what a mounted file says.

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use dohle_core::config::def::host_port;
use dohle_core::config::{BrokerConfig, properties};
use dohle_net::{Node, NodeError, StartOptions};
use dohle_wire::id::Uuid;
use tracing::{error, info, warn};
use tracing_subscriber::EnvFilter;

/// Exit code for settings that make no sense.
const USAGE: u8 = 2;

/// Where a broker listens that was not told: on this machine alone.
const LISTENER: &str = "PLAINTEXT://127.0.0.1:9092";

/// Run a broker in the foreground, until SIGINT or SIGTERM.
///
/// Without any option it serves 127.0.0.1:9092 and keeps its data in ./dohle-data. Keys are
/// those of Kafka's server.properties. Settings come from --config, then from KAFKA_… environment
/// variables (KAFKA_NUM_PARTITIONS is num.partitions), then from the other options; later ones
/// win.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A server.properties file.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Data directory (log.dirs).
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// Address to serve clients on; port 0 takes a free one (listeners).
    #[arg(long, value_name = "HOST:PORT")]
    listen: Option<String>,
    /// Address to serve /metrics and /health on, over HTTP (dohle.admin.listeners).
    #[arg(long, value_name = "HOST:PORT")]
    admin: Option<String>,
    /// This node's id (node.id).
    #[arg(long, value_name = "N")]
    node_id: Option<i32>,
    /// Any other setting.
    #[arg(long = "override", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
}

pub(crate) fn run(args: &Args) -> ExitCode {
    start_logging();
    let (problem, code) = match settings(args).and_then(|settings| options(&settings)) {
        Err(problem) => (problem, ExitCode::from(USAGE)),
        Ok(options) => match serve(options) {
            Ok(()) => return ExitCode::SUCCESS,
            Err(why @ NodeError::Unsupported(_)) => (why.to_string(), ExitCode::from(USAGE)),
            Err(why) => (why.to_string(), ExitCode::FAILURE),
        },
    };
    error!("{problem}");
    code
}

/// Log lines go to standard error; `DOHLE_LOG` chooses which, `info` by default.
fn start_logging() {
    let filter = EnvFilter::try_from_env("DOHLE_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(colours)
        .with_target(false)
        .init();
}

/// All settings given, by key.
fn settings(args: &Args) -> Result<BTreeMap<String, String>, String> {
    let mut settings = args.config.as_deref().map_or(Ok(BTreeMap::new()), read_file)?;
    let environment = properties::from_kafka_env(environment());
    if !environment.is_empty() {
        let keys = environment.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        info!("set by KAFKA_... environment variables: {keys}");
    }
    settings.extend(environment);
    let mut set = |key: &str, value: String| drop(settings.insert(key.to_owned(), value));
    if let Some(data) = &args.data {
        set("log.dirs", data.clone());
    }
    if let Some(listen) = &args.listen {
        if host_port(listen).is_none() {
            return Err(format!(
                "--listen {listen}: expected HOST:PORT, for example 127.0.0.1:9092"
            ));
        }
        set("listeners", format!("PLAINTEXT://{listen}"));
    }
    if let Some(admin) = &args.admin {
        if host_port(admin).is_none() {
            return Err(format!("--admin {admin}: expected HOST:PORT, for example 127.0.0.1:9644"));
        }
        set("dohle.admin.listeners", admin.clone());
    }
    if let Some(id) = args.node_id {
        set("node.id", id.to_string());
    }
    for pair in &args.overrides {
        let (key, value) =
            pair.split_once('=').ok_or_else(|| format!("--override {pair}: expected KEY=VALUE"))?;
        set(key.trim(), value.to_owned());
    }
    settings.entry("listeners".to_owned()).or_insert_with(|| LISTENER.to_owned());
    Ok(settings)
}

fn read_file(path: &Path) -> Result<BTreeMap<String, String>, String> {
    let name = path.display();
    let bytes = std::fs::read(path)
        .map_err(|why| format!("--config {name}: {why}; expected a server.properties file"))?;
    let text = String::from_utf8_lossy(&bytes);
    properties::parse(&text).map_err(|why| format!("--config {name}: {why}"))
}

/// The environment's variables, but for those that are no text.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

fn options(settings: &BTreeMap<String, String>) -> Result<StartOptions, String> {
    let (config, warnings) =
        BrokerConfig::from_properties(settings).map_err(|problem| problem.to_string())?;
    for warning in warnings {
        warn!("{warning}");
    }
    Ok(StartOptions { config, cluster_id: cluster_id()?, signals: true })
}

fn serve(options: StartOptions) -> Result<(), NodeError> {
    let node = Node::start(options)?;
    let listening = node.listening().iter().map(|(_, address)| address.to_string());
    let listening = listening.collect::<Vec<_>>().join(", ");
    let (dirs, id) = (node.config().log_dirs.join(", "), node.config().node_id);
    let version = env!("CARGO_PKG_VERSION");
    let ready = format!("dohle {version} ready on {listening} (data in {dirs}, node {id})\n");
    // Who closed our standard output does not want to know.
    let _ = std::io::stdout().write_all(ready.as_bytes());
    node.wait()
}

/// The id for a new cluster, as Kafka's container image takes it.
fn cluster_id() -> Result<Option<Uuid>, String> {
    let Ok(text) = std::env::var("CLUSTER_ID") else { return Ok(None) };
    let id = text.parse().map_err(|why| format!("CLUSTER_ID={text}: {why}"))?;
    Ok(Some(id))
}

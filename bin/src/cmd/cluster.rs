//! What the commands that talk to a cluster have in common: where it is, and how failures end.

use std::future::Future;
use std::io;
use std::net::{TcpStream, ToSocketAddrs as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use dohle_client::api::Admin;
use dohle_client::config::{AdminConfig, ConfigError};
use dohle_client::machine::admin::{AdminError, ItemError};
use dohle_net::client::Tokio;
use dohle_wire::ErrorCode;

/// How long a person waits for an answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long a person waits to hear that nobody is there.
const CONNECT: Duration = Duration::from_secs(5);

/// The cluster to talk to.
#[derive(clap::Args, Debug, Clone)]
pub(crate) struct Cluster {
    /// Brokers to ask first, separated by commas.
    #[arg(short, long, value_name = "HOST:PORT", default_value = "127.0.0.1:9092")]
    pub(crate) bootstrap: String,
}

/// Why a command ends without success.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments make no sense.
    Usage(String),
    /// What was asked for could not be done.
    Failed(String),
    /// The output cannot be written.
    Output(io::Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl Failure {
    /// Tells it, and gives the exit code.
    fn end(&self) -> ExitCode {
        let (code, problem) = match self {
            Self::Usage(problem) => (2, problem.clone()),
            Self::Failed(problem) => (1, problem.clone()),
            // Whoever read the output has seen enough.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return ExitCode::SUCCESS;
            }
            Self::Output(error) => (1, format!("the output cannot be written: {error}")),
        };
        eprintln!("dohle: {problem}");
        ExitCode::from(code)
    }
}

/// Runs a command to its end.
pub(crate) fn run(command: impl Future<Output = Result<(), Failure>>) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let ended = match runtime {
        Ok(runtime) => runtime.block_on(command),
        Err(error) => Err(Failure::Failed(format!("no runtime: {error}"))),
    };
    ended.map_or_else(|failure| failure.end(), |()| ExitCode::SUCCESS)
}

impl Cluster {
    /// Checks that somebody listens, so that a person need not wait for many attempts in vain.
    pub(crate) fn reach(&self) -> Result<(), Failure> {
        let config = AdminConfig::to(&self.bootstrap)?;
        let mut problems = Vec::new();
        for (host, port) in &config.connection.bootstrap_servers {
            match connect(host, *port) {
                Ok(()) => return Ok(()),
                Err(error) => problems.push(format!("{host}:{port}: {error}")),
            }
        }
        Err(Failure::Failed(format!(
            "no broker can be reached ({}). Is one running there? `dohle start` runs one, \
             `--bootstrap HOST:PORT` names another",
            problems.join("; ")
        )))
    }

    /// An admin client.
    pub(crate) fn admin(&self) -> Result<Admin<Tokio>, Failure> {
        self.reach()?;
        let mut config = AdminConfig::to(&self.bootstrap)?;
        "dohle-cli".clone_into(&mut config.connection.client_id);
        config.api_timeout = PATIENCE;
        Ok(Admin::new(Tokio::new(), config)?)
    }

    /// What to say about a call that failed as a whole.
    pub(crate) fn failed(&self, error: &AdminError, connection: Option<Arc<str>>) -> Failure {
        let last = connection.map_or_else(String::new, |text| format!("; last connection: {text}"));
        Failure::Failed(format!("{}: {error}{last}", self.bootstrap))
    }
}

fn connect(host: &str, port: u16) -> io::Result<()> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(_) => return Ok(()),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// What to say about a topic that something could not be done with.
pub(crate) fn about_topic(topic: &str, error: &ItemError) -> String {
    match error.code {
        ErrorCode::UnknownTopicOrPartition => format!(
            "there is no topic {topic}; `dohle topic create {topic}` makes it, \
             `dohle topic list` shows those that exist"
        ),
        ErrorCode::TopicAlreadyExists => {
            format!("topic {topic} exists already; `dohle topic describe {topic}` shows it")
        }
        ErrorCode::InvalidReplicationFactor => format!(
            "topic {topic}: {error}; there must be as many brokers as replicas \
             (--replication-factor)"
        ),
        _ => format!("topic {topic}: {error}"),
    }
}

/// A `name=value` argument.
pub(crate) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.to_owned()))
        }
        _ => Err(format!("expected name=value, found `{text}`")),
    }
}

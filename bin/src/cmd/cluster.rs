//! What the commands that talk to a cluster have in common: where it is, and how failures end.

use std::fmt;
use std::future::Future;
use std::io;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use dohle_client::api::Admin;
use dohle_client::config::{AdminConfig, ConfigError};
use dohle_client::machine::admin::{AdminError, ItemError, TopicDescription};
use dohle_net::client::Tokio;
use dohle_wire::ErrorCode;
use tokio::runtime::Builder;

use super::greeting::greet;
use super::table::{harmless, shown};

/// How long a person waits for an answer.
const PATIENCE: Duration = Duration::from_secs(15);
/// Where a broker is when nothing else is said.
const HERE: &str = "127.0.0.1:9092";

/// The cluster to talk to.
#[derive(clap::Args, Debug, Clone)]
pub(crate) struct Cluster {
    /// Brokers to ask first, separated by commas [default: 127.0.0.1:9092].
    #[arg(short, long, value_name = "HOST:PORT")]
    bootstrap: Option<String>,
}

/// Why a command ends without success.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments make no sense.
    Usage(String),
    /// What was asked for could not be done.
    Failed(String),
    /// A signal ended it: the exit code, and what is to be said.
    Signal(u8, String),
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

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(problem) | Self::Failed(problem) | Self::Signal(_, problem) => {
                f.write_str(problem)
            }
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

impl Failure {
    /// The same failure, and what else went wrong.
    pub(crate) fn and(self, other: &Self) -> Self {
        let both = |problem: String| format!("{problem}\n{other}");
        match self {
            Self::Usage(problem) => Self::Usage(both(problem)),
            Self::Failed(problem) => Self::Failed(both(problem)),
            Self::Signal(code, problem) => Self::Signal(code, both(problem)),
            Self::Output(error) => Self::Output(error),
        }
    }

    /// Tells it, and gives the exit code.
    fn end(&self) -> ExitCode {
        let code = match self {
            Self::Usage(_) => 2,
            Self::Signal(code, _) => *code,
            // Whoever read the output has seen enough.
            Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                return ExitCode::SUCCESS;
            }
            Self::Failed(_) | Self::Output(_) => 1,
        };
        // Several problems come on a line each.
        let lines: Vec<String> = self.to_string().split('\n').map(harmless).collect();
        eprintln!("dohle: {}", lines.join("\n"));
        ExitCode::from(code)
    }
}

/// Runs a command to its end.
pub(crate) fn run(command: impl Future<Output = Result<(), Failure>>) -> ExitCode {
    run_on(&mut Builder::new_current_thread(), command)
}

/// Runs a command to its end, its tasks on several threads.
pub(crate) fn run_in_parallel(command: impl Future<Output = Result<(), Failure>>) -> ExitCode {
    run_on(&mut Builder::new_multi_thread(), command)
}

fn run_on(builder: &mut Builder, command: impl Future<Output = Result<(), Failure>>) -> ExitCode {
    let ended = match builder.enable_all().build() {
        Ok(runtime) => {
            let ended = runtime.block_on(command);
            // A name that is still being looked up holds nobody up.
            runtime.shutdown_background();
            ended
        }
        Err(error) => Err(Failure::Failed(format!("no runtime: {error}"))),
    };
    ended.map_or_else(|failure| failure.end(), |()| ExitCode::SUCCESS)
}

impl Cluster {
    /// Where the cluster is.
    pub(crate) fn servers(&self) -> &str {
        self.bootstrap.as_deref().unwrap_or(HERE)
    }

    /// The same cluster, or the one that `bootstrap.servers` among the settings names: that is
    /// `--bootstrap` under Kafka's name.
    pub(crate) fn or_set(&self, settings: &[(String, String)]) -> Result<Self, Failure> {
        let mut bootstrap = self.bootstrap.clone();
        for (_, servers) in settings.iter().filter(|(name, _)| name == "bootstrap.servers") {
            match &bootstrap {
                Some(other) if other != servers => {
                    return Err(Failure::Usage(format!(
                        "bootstrap.servers={servers} contradicts {other}, given as --bootstrap or \
                         before; give one of them"
                    )));
                }
                Some(_) => {}
                None => bootstrap = Some(servers.clone()),
            }
        }
        Ok(Self { bootstrap })
    }

    /// Checks that a broker listens, so that a person need not wait for many attempts in vain.
    pub(crate) async fn reach(&self) -> Result<(), Failure> {
        let config = AdminConfig::to(self.servers())?;
        let mut problems = Vec::new();
        for (host, port) in &config.connection.bootstrap_servers {
            match greet(host, *port).await {
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
    pub(crate) async fn admin(&self) -> Result<Admin<Tokio>, Failure> {
        self.reach().await?;
        self.admin_within(PATIENCE)
    }

    /// An admin client that gives up on a call after `patience`.
    pub(crate) fn admin_within(&self, patience: Duration) -> Result<Admin<Tokio>, Failure> {
        let mut config = AdminConfig::to(self.servers())?;
        "dohle-cli".clone_into(&mut config.connection.client_id);
        config.api_timeout = patience;
        Ok(Admin::new(Tokio::new(), config)?)
    }

    /// What to say about a call that failed as a whole.
    pub(crate) fn failed(&self, error: &AdminError, connection: Option<Arc<str>>) -> Failure {
        let last = connection.map_or_else(String::new, |text| format!("; last connection: {text}"));
        Failure::Failed(format!("{}: {error}{last}", self.servers()))
    }

    /// A topic, or why it cannot be described.
    pub(crate) async fn topic(
        &self,
        name: &Arc<str>,
    ) -> Result<Result<TopicDescription, ItemError>, Failure> {
        let admin = self.admin().await?;
        let topics = admin.describe_topics(vec![Arc::clone(name)]).await;
        let mut topics =
            topics.map_err(|error| self.failed(&error, admin.last_connection_error()))?;
        topics.remove(name).ok_or_else(|| Failure::Failed(format!("no broker describes {name}")))
    }
}

/// What to say about a partition that a topic does not have.
pub(crate) fn about_partition(topic: &str, count: usize, partition: i32) -> Failure {
    let topic = shown(topic);
    Failure::Failed(format!(
        "{topic} has {count} partitions, numbered from 0; there is no partition {partition}"
    ))
}

/// What to say about a topic that something could not be done with.
pub(crate) fn about_topic(topic: &str, error: &ItemError) -> String {
    let topic = shown(topic);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_come_from_the_flag_or_the_setting() {
        let check = |flag: Option<&str>, settings: &[&str], expected: Option<&str>| {
            let cluster = Cluster { bootstrap: flag.map(str::to_owned) };
            let setting = |servers: &&str| ("bootstrap.servers".to_owned(), (*servers).to_owned());
            let mut settings: Vec<_> = settings.iter().map(setting).collect();
            settings.push(("linger.ms".to_owned(), "1".to_owned()));
            let found = cluster.or_set(&settings).map(|cluster| cluster.servers().to_owned());
            assert_eq!(found.ok().as_deref(), expected, "{flag:?} {settings:?}");
        };
        check(None, &[], Some(HERE));
        check(Some("a:1"), &[], Some("a:1"));
        check(None, &["b:2"], Some("b:2"));
        check(Some("b:2"), &["b:2"], Some("b:2"));
        check(Some("a:1"), &["b:2"], None);
        check(None, &["a:1", "b:2"], None);
    }
}

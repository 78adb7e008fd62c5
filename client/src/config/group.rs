//! Settings of consumers that read as a group.

use std::time::Duration;

use super::{ConfigError, value};

/// How members of a group agree on who reads what.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub enum GroupProtocol {
    /// One of the members assigns, and all stop for it: JoinGroup and SyncGroup.
    #[default]
    Classic,
    /// The broker assigns, and partitions move one by one (KIP-848).
    Consumer,
}

/// How the leader of a classic group assigns.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Strategy {
    /// Neighbouring partitions of each topic to one member.
    Range,
    /// One partition after the other to one member after the other.
    RoundRobin,
    /// Evenly, and to whom had it before.
    Sticky,
    /// As [`Self::Sticky`], and only what moves is taken away.
    CooperativeSticky,
}

impl Strategy {
    const ALL: [Self; 4] = [Self::Range, Self::RoundRobin, Self::Sticky, Self::CooperativeSticky];

    /// The name by which members speak of it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Range => "range",
            Self::RoundRobin => "roundrobin",
            Self::Sticky => "sticky",
            Self::CooperativeSticky => "cooperative-sticky",
        }
    }

    /// The class that has the strategy in Kafka.
    const fn class(self) -> &'static str {
        match self {
            Self::Range => "RangeAssignor",
            Self::RoundRobin => "RoundRobinAssignor",
            Self::Sticky => "StickyAssignor",
            Self::CooperativeSticky => "CooperativeStickyAssignor",
        }
    }

    /// The strategy with a name, or of a class of Kafka's.
    pub fn from_name(text: &str) -> Option<Self> {
        let class = text.strip_prefix("org.apache.kafka.clients.consumer.").unwrap_or(text);
        Self::ALL.into_iter().find(|each| each.name() == text || each.class() == class)
    }
}

/// Settings of a member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupConfig {
    /// `group.id`; without one there is no group, and offsets are not committed.
    pub id: Option<String>,
    /// `group.instance.id`: name of a static member, which keeps its partitions over a restart.
    pub instance_id: Option<String>,
    /// `group.protocol`.
    pub protocol: GroupProtocol,
    /// `group.remote.assignor`: the broker's assignor, for `group.protocol=consumer`.
    pub remote_assignor: Option<String>,
    /// `partition.assignment.strategy`: preferred first, for `group.protocol=classic`.
    pub strategies: Vec<Strategy>,
    /// `session.timeout.ms`: a member that is silent for so long is taken for dead.
    pub session_timeout: Duration,
    /// `heartbeat.interval.ms`.
    pub heartbeat_interval: Duration,
    /// `max.poll.interval.ms`: a member that does not poll for so long leaves the group.
    pub max_poll_interval: Duration,
    /// `enable.auto.commit`: what polls gave out is committed by and by.
    pub auto_commit: bool,
    /// `auto.commit.interval.ms`.
    pub auto_commit_interval: Duration,
    /// `exclude.internal.topics`: a pattern does not match topics that serve the cluster itself.
    pub exclude_internal_topics: bool,
}

impl Default for GroupConfig {
    fn default() -> Self {
        Self {
            id: None,
            instance_id: None,
            protocol: GroupProtocol::Classic,
            remote_assignor: None,
            strategies: vec![Strategy::Range, Strategy::CooperativeSticky],
            session_timeout: Duration::from_millis(45_000),
            heartbeat_interval: Duration::from_millis(3_000),
            max_poll_interval: Duration::from_millis(300_000),
            auto_commit: true,
            auto_commit_interval: Duration::from_millis(5_000),
            exclude_internal_topics: true,
        }
    }
}

impl GroupConfig {
    /// Changes one setting by its Kafka name; gives whether there is such a setting.
    pub(super) fn set(&mut self, key: &str, text: &str) -> Result<bool, ConfigError> {
        match key {
            "group.id" => self.id = Some(value::name("group.id", text)?),
            "group.instance.id" => {
                self.instance_id = Some(value::name("group.instance.id", text)?);
            }
            "group.protocol" => {
                let text = text.to_ascii_lowercase();
                let choices =
                    [("classic", GroupProtocol::Classic), ("consumer", GroupProtocol::Consumer)];
                let expected = "classic or consumer";
                self.protocol = value::choice("group.protocol", expected, &text, &choices)?;
            }
            "group.remote.assignor" => {
                self.remote_assignor = Some(value::name("group.remote.assignor", text)?);
            }
            "partition.assignment.strategy" => self.strategies = strategies(text)?,
            "session.timeout.ms" => {
                self.session_timeout = value::millis("session.timeout.ms", text)?;
            }
            "heartbeat.interval.ms" => {
                self.heartbeat_interval = value::millis("heartbeat.interval.ms", text)?;
            }
            "max.poll.interval.ms" => {
                self.max_poll_interval = value::millis("max.poll.interval.ms", text)?;
            }
            "enable.auto.commit" => self.auto_commit = value::flag("enable.auto.commit", text)?,
            "auto.commit.interval.ms" => {
                self.auto_commit_interval = value::millis("auto.commit.interval.ms", text)?;
            }
            "exclude.internal.topics" => {
                self.exclude_internal_topics = value::flag("exclude.internal.topics", text)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether offsets are committed without being asked.
    pub(crate) const fn commits_itself(&self) -> bool {
        self.auto_commit && self.id.is_some()
    }

    pub(super) fn validate(&self) -> Result<(), ConfigError> {
        let default = Self::default();
        let ms = |span: Duration| span.as_millis().to_string();
        let classic_only = "group.protocol=consumer leaves it to the broker";
        let consumer = self.protocol == GroupProtocol::Consumer;
        let fits = |span: Duration| i32::try_from(span.as_millis()).is_ok();
        let rules = [
            (
                self.heartbeat_interval < self.session_timeout,
                ("heartbeat.interval.ms", ms(self.heartbeat_interval)),
                "it must be less than session.timeout.ms",
            ),
            (
                !self.heartbeat_interval.is_zero(),
                ("heartbeat.interval.ms", ms(self.heartbeat_interval)),
                "it must be more than 0",
            ),
            (
                fits(self.session_timeout),
                ("session.timeout.ms", ms(self.session_timeout)),
                "it must be at most 2147483647",
            ),
            (
                fits(self.max_poll_interval) && !self.max_poll_interval.is_zero(),
                ("max.poll.interval.ms", ms(self.max_poll_interval)),
                "it must be from 1 to 2147483647",
            ),
            (
                !self.strategies.is_empty(),
                ("partition.assignment.strategy", String::new()),
                "at least one strategy is needed",
            ),
            (
                !consumer || self.strategies == default.strategies,
                ("partition.assignment.strategy", String::new()),
                classic_only,
            ),
            (
                !consumer || self.session_timeout == default.session_timeout,
                ("session.timeout.ms", ms(self.session_timeout)),
                classic_only,
            ),
            (
                !consumer || self.heartbeat_interval == default.heartbeat_interval,
                ("heartbeat.interval.ms", ms(self.heartbeat_interval)),
                classic_only,
            ),
            (
                consumer || self.remote_assignor.is_none(),
                ("group.remote.assignor", self.remote_assignor.clone().unwrap_or_default()),
                "only group.protocol=consumer has the broker assign",
            ),
        ];
        match rules.into_iter().find(|(holds, ..)| !holds) {
            None => Ok(()),
            Some((_, (key, found), rule)) => Err(ConfigError::Conflict { key, found, rule }),
        }
    }
}

fn strategies(text: &str) -> Result<Vec<Strategy>, ConfigError> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    let parsed: Option<Vec<Strategy>> = parts.map(Strategy::from_name).collect();
    let distinct = |list: &Vec<Strategy>| {
        let mut seen = list.clone();
        seen.sort_unstable();
        seen.dedup();
        !list.is_empty() && seen.len() == list.len()
    };
    parsed.filter(distinct).ok_or_else(|| ConfigError::BadValue {
        key: "partition.assignment.strategy",
        expected: "a list of range, roundrobin, sticky and cooperative-sticky, or of their classes",
        found: text.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Result<GroupConfig, ConfigError> {
        let mut config = GroupConfig::default();
        for (key, text) in pairs {
            assert!(config.set(key, text)?, "{key} is a setting");
        }
        config.validate().map(|()| config)
    }

    #[test]
    fn settings_have_the_names_of_kafka() {
        let config = of(&[
            ("group.id", "g"),
            ("group.instance.id", "i"),
            ("group.protocol", "classic"),
            (
                "partition.assignment.strategy",
                "sticky, org.apache.kafka.clients.consumer.RoundRobinAssignor",
            ),
            ("session.timeout.ms", "9000"),
            ("heartbeat.interval.ms", "1000"),
            ("max.poll.interval.ms", "8000"),
            ("enable.auto.commit", "false"),
            ("auto.commit.interval.ms", "7"),
            ("exclude.internal.topics", "false"),
        ]);
        let expected = GroupConfig {
            id: Some("g".to_owned()),
            instance_id: Some("i".to_owned()),
            protocol: GroupProtocol::Classic,
            remote_assignor: None,
            strategies: vec![Strategy::Sticky, Strategy::RoundRobin],
            session_timeout: Duration::from_secs(9),
            heartbeat_interval: Duration::from_secs(1),
            max_poll_interval: Duration::from_secs(8),
            auto_commit: false,
            auto_commit_interval: Duration::from_millis(7),
            exclude_internal_topics: false,
        };
        assert_eq!(config, Ok(expected));
    }

    #[test]
    fn contradictions_are_refused() {
        let refused = |pairs: &[(&str, &str)], culprit: &str| match of(pairs) {
            Err(ConfigError::Conflict { key, .. } | ConfigError::BadValue { key, .. }) => {
                assert_eq!(key, culprit);
            }
            other => panic!("{pairs:?}: {other:?}"),
        };
        refused(&[("heartbeat.interval.ms", "45000")], "heartbeat.interval.ms");
        refused(&[("heartbeat.interval.ms", "0")], "heartbeat.interval.ms");
        refused(&[("max.poll.interval.ms", "0")], "max.poll.interval.ms");
        refused(&[("group.remote.assignor", "range")], "group.remote.assignor");
        refused(&[("group.id", " ")], "group.id");
        refused(
            &[("partition.assignment.strategy", "range,range")],
            "partition.assignment.strategy",
        );
        refused(&[("partition.assignment.strategy", "best")], "partition.assignment.strategy");
        let consumer = ("group.protocol", "CONSUMER");
        refused(&[consumer, ("session.timeout.ms", "9000")], "session.timeout.ms");
        refused(&[consumer, ("heartbeat.interval.ms", "900")], "heartbeat.interval.ms");
        let strategy = ("partition.assignment.strategy", "sticky");
        refused(&[consumer, strategy], "partition.assignment.strategy");
        assert!(of(&[consumer, ("group.remote.assignor", "range")]).is_ok());
    }
}

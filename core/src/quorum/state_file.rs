//! `quorum-state`: what a voter must never forget, as Kafka's FileQuorumStateStore writes it.
//!
//! One line of JSON. Version 0 belongs to a static set of voters (`kraft.version` 0) and names
//! it; version 1 belongs to a dynamic one and names the directory that was voted for instead.

use dohle_wire::id::{LeaderEpoch, NodeId, Uuid};
use serde_json::Value;

/// Content of `quorum-state`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredState {
    /// The epoch.
    pub epoch: LeaderEpoch,
    /// Its leader, as far as known.
    pub leader: Option<NodeId>,
    /// Who got this node's vote in the epoch.
    pub voted: Option<NodeId>,
    /// What else the file's version holds.
    pub voters: StoredVoters,
}

/// What the versions of the file differ in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoredVoters {
    /// Version 0: the static voters.
    Static(Vec<NodeId>),
    /// Version 1: the directory of the voter that was voted for, zero for none.
    Dynamic {
        /// Its id.
        voted_directory: Uuid,
    },
}

impl StoredState {
    /// The file's content.
    #[must_use]
    pub fn encode(&self) -> String {
        let id = |node: Option<NodeId>| node.map_or(-1, |node| node.0);
        let (leader, epoch, voted) = (id(self.leader), self.epoch, id(self.voted));
        match &self.voters {
            StoredVoters::Static(voters) => {
                let voters: Vec<String> =
                    voters.iter().map(|voter| format!("{{\"voterId\":{voter}}}")).collect();
                format!(
                    "{{\"clusterId\":\"\",\"leaderId\":{leader},\"leaderEpoch\":{epoch},\
                     \"votedId\":{voted},\"appliedOffset\":0,\"currentVoters\":[{}],\
                     \"data_version\":0}}",
                    voters.join(",")
                )
            }
            StoredVoters::Dynamic { voted_directory } => format!(
                "{{\"leaderId\":{leader},\"leaderEpoch\":{epoch},\"votedId\":{voted},\
                 \"votedDirectoryId\":\"{voted_directory}\",\"data_version\":1}}"
            ),
        }
    }

    /// Reads the file.
    ///
    /// # Errors
    /// What is wrong with it, for the operator.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let root: Value = serde_json::from_slice(bytes).map_err(|e| format!("not JSON: {e}"))?;
        let version = int(&root, "data_version")?;
        let voters = match version {
            0 => StoredVoters::Static(voters(&root)?),
            1 => StoredVoters::Dynamic { voted_directory: directory(&root)? },
            _ => return Err(format!("data_version {version}; versions 0 and 1 are known")),
        };
        let epoch = int(&root, "leaderEpoch")?;
        if epoch < 0 {
            return Err(format!("leaderEpoch {epoch} is negative"));
        }
        let leader = node(int(&root, "leaderId")?);
        let voted = node(int(&root, "votedId")?);
        Ok(Self { epoch: LeaderEpoch(epoch), leader, voted, voters })
    }
}

fn node(id: i32) -> Option<NodeId> {
    (id >= 0).then_some(NodeId(id))
}

fn int(object: &Value, key: &str) -> Result<i32, String> {
    let value = object.get(key).ok_or_else(|| format!("{key} is missing"))?;
    let number = value.as_i64().and_then(|number| i32::try_from(number).ok());
    number.ok_or_else(|| format!("{key} is {value}, not a 32-bit number"))
}

fn voters(root: &Value) -> Result<Vec<NodeId>, String> {
    match root.get("currentVoters") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(list)) => {
            list.iter().map(|voter| int(voter, "voterId").map(NodeId)).collect()
        }
        Some(other) => Err(format!("currentVoters is {other}, not a list")),
    }
}

fn directory(root: &Value) -> Result<Uuid, String> {
    let text = root.get("votedDirectoryId").and_then(Value::as_str).unwrap_or_default();
    if text.is_empty() { Ok(Uuid::ZERO) } else { text.parse().map_err(|e| format!("{e}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The very bytes that Apache Kafka 4.4.0 wrote.
    const KAFKAS: &str = "{\"clusterId\":\"\",\"leaderId\":1,\"leaderEpoch\":1,\"votedId\":-1,\
        \"appliedOffset\":0,\"currentVoters\":[{\"voterId\":1}],\"data_version\":0}";

    fn check_refused(text: &str, reason: &str) {
        let error = StoredState::parse(text.as_bytes()).unwrap_err();
        assert!(error.contains(reason), "{text}: {error}");
    }

    #[test]
    fn version_0_is_kafkas_to_the_byte() {
        let state = StoredState {
            epoch: LeaderEpoch(1),
            leader: Some(NodeId(1)),
            voted: None,
            voters: StoredVoters::Static(vec![NodeId(1)]),
        };
        assert_eq!(state.encode(), KAFKAS);
        assert_eq!(StoredState::parse(KAFKAS.as_bytes()), Ok(state));
    }

    #[test]
    fn version_1_names_the_directory_voted_for() {
        let state = StoredState {
            epoch: LeaderEpoch(7),
            leader: None,
            voted: Some(NodeId(3)),
            voters: StoredVoters::Dynamic { voted_directory: Uuid::from_u128(300) },
        };
        assert_eq!(
            state.encode(),
            "{\"leaderId\":-1,\"leaderEpoch\":7,\"votedId\":3,\
             \"votedDirectoryId\":\"AAAAAAAAAAAAAAAAAAABLA\",\"data_version\":1}"
        );
        assert_eq!(StoredState::parse(state.encode().as_bytes()), Ok(state));
    }

    #[test]
    fn damage_is_told_not_guessed() {
        check_refused("", "not JSON");
        check_refused(&KAFKAS[..60], "not JSON");
        check_refused("[]", "data_version is missing");
        check_refused("{\"data_version\":9}", "versions 0 and 1");
        check_refused("{\"data_version\":0,\"leaderEpoch\":\"x\"}", "not a 32-bit number");
        check_refused("{\"data_version\":0,\"leaderEpoch\":-4}", "negative");
        check_refused("{\"data_version\":0,\"leaderEpoch\":99999999999}", "not a 32-bit");
        check_refused("{\"data_version\":0,\"currentVoters\":7}", "not a list");
        check_refused(&"[".repeat(100_000), "not JSON");
    }
}

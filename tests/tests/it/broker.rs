//! A broker in this process, with files and sockets.

use std::collections::BTreeMap;
use std::path::PathBuf;

use dohle_core::config::broker::BrokerConfig;
use dohle_net::{Node, StartOptions};

/// Stops and cleans up when it is dropped.
pub(crate) struct Broker {
    node: Option<Node>,
    data: PathBuf,
}

impl Broker {
    /// One with an empty folder of its own and the defaults otherwise.
    pub(crate) fn start(name: &str) -> Self {
        let data = std::env::temp_dir().join(format!("dohle-{name}-{}", std::process::id()));
        let properties = BTreeMap::from([
            ("listeners".to_owned(), "PLAINTEXT://127.0.0.1:0".to_owned()),
            ("log.dirs".to_owned(), data.display().to_string()),
        ]);
        let (config, _) = BrokerConfig::from_properties(&properties).expect("valid");
        let node = Node::start(StartOptions { config, cluster_id: None, signals: false });
        Self { node: Some(node.expect("it starts")), data }
    }

    pub(crate) fn servers(&self) -> String {
        self.node.as_ref().map(|node| node.address().to_string()).unwrap_or_default()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if let Some(node) = self.node.take() {
            node.stop().expect("it stops");
        }
        std::fs::remove_dir_all(&self.data).expect("the test's own folder");
    }
}

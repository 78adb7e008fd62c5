//! A broker in this process, with files and sockets.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use dohle_core::config::broker::BrokerConfig;
use dohle_net::{Node, NodeError, StartOptions};

/// Stops and cleans up when it is dropped.
pub(crate) struct Broker {
    node: Option<Node>,
    folder: PathBuf,
    dirs: Vec<PathBuf>,
}

impl Broker {
    /// One with an empty folder of its own and the defaults otherwise.
    pub(crate) fn start(name: &str) -> Self {
        Self::with_dirs(name, &["data"])
    }

    /// One with several data directories, of these names in its folder.
    pub(crate) fn with_dirs(name: &str, dirs: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("dohle-{name}-{}", std::process::id()));
        let dirs = dirs.iter().map(|dir| folder.join(dir)).collect();
        let mut broker = Self { node: None, folder, dirs };
        broker.start_again().expect("it starts");
        broker
    }

    /// Starts it, on another port.
    pub(crate) fn start_again(&mut self) -> Result<(), NodeError> {
        let dirs: Vec<String> = self.dirs.iter().map(|dir| dir.display().to_string()).collect();
        let properties = BTreeMap::from([
            ("listeners".to_owned(), "PLAINTEXT://127.0.0.1:0".to_owned()),
            ("log.dirs".to_owned(), dirs.join(",")),
            ("dohle.admin.listeners".to_owned(), "127.0.0.1:0".to_owned()),
        ]);
        let (config, _) = BrokerConfig::from_properties(&properties).expect("valid");
        let node = Node::start(StartOptions { config, cluster_id: None, signals: false });
        self.node = Some(node?);
        Ok(())
    }

    /// Stops it cleanly.
    pub(crate) fn stop(&mut self) {
        if let Some(node) = self.node.take() {
            node.stop().expect("it stops");
        }
    }

    /// A data directory.
    pub(crate) fn dir(&self, at: usize) -> &PathBuf {
        &self.dirs[at]
    }

    /// Where metrics and health are served.
    pub(crate) fn admin(&self) -> SocketAddr {
        self.node.as_ref().expect("it runs").admin_listening()[0]
    }

    pub(crate) fn servers(&self) -> String {
        self.node.as_ref().map(|node| node.address().to_string()).unwrap_or_default()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        if let Some(node) = self.node.take() {
            let stopped = node.stop();
            assert!(stopped.is_ok() || std::thread::panicking(), "{stopped:?}");
        }
        let removed = std::fs::remove_dir_all(&self.folder);
        assert!(removed.is_ok() || std::thread::panicking(), "{removed:?}");
    }
}

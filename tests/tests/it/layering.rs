//! Dependencies only point downwards, and the pure crates stay pure.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// What each crate of the workspace may depend on among the others.
const ALLOWED: &[(&str, &[&str])] = &[
    ("dohle-wire", &[]),
    ("dohle-wire-gen", &[]),
    ("dohle-codec", &["dohle-wire"]),
    ("dohle-core", &["dohle-wire"]),
    ("dohle-client", &["dohle-wire"]),
    ("dohle-jepsen", &[]),
    ("dohle-net", &["dohle-wire", "dohle-codec", "dohle-core", "dohle-client"]),
    ("dohle-sim", &["dohle-wire", "dohle-codec", "dohle-core", "dohle-client", "dohle-jepsen"]),
    (
        "dohle",
        &[
            "dohle-wire",
            "dohle-codec",
            "dohle-core",
            "dohle-client",
            "dohle-net",
            "dohle-sim",
            "dohle-jepsen",
        ],
    ),
    ("dohle-tests", &[]),
];

/// Crates that no pure crate reaches, however far down: runtimes, the operating system, clocks,
/// randomness.
const IMPURE: &[&str] = &[
    "tokio",
    "mio",
    "libc",
    "rustix",
    "nix",
    "socket2",
    "getrandom",
    "rand",
    "chrono",
    "time",
    "parking_lot",
    "crossbeam",
    "futures",
    "async-std",
    "rayon",
    "uuid",
    "ahash",
    "zstd",
    "lz4",
];

const PURE: &[&str] = &["dohle-wire", "dohle-core", "dohle-client", "dohle-jepsen"];

/// Packages by id, and what each needs in a normal build with its default features.
struct Graph {
    names: BTreeMap<String, String>,
    needs: BTreeMap<String, BTreeSet<String>>,
}

impl Graph {
    fn of_workspace() -> Self {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        // Crates for other systems are not downloaded, so they are not looked at.
        let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let output = Command::new(cargo)
            .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &platform])
            .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
            .output()
            .expect("cargo runs");
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "cargo metadata: {problem}");
        let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        Self::read(&metadata)
    }

    fn read(metadata: &Value) -> Self {
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let names = list(&metadata["packages"])
            .iter()
            .map(|package| (text(&package["id"]), text(&package["name"])))
            .collect();
        let is_normal = |dep: &Value| list(&dep["dep_kinds"]).iter().any(|k| k["kind"].is_null());
        let needs = list(&metadata["resolve"]["nodes"])
            .iter()
            .map(|node| {
                let deps = list(&node["deps"]);
                let normal = deps.iter().filter(|dep| is_normal(dep));
                (text(&node["id"]), normal.map(|dep| text(&dep["pkg"])).collect())
            })
            .collect();
        Self { names, needs }
    }

    fn id(&self, name: &str) -> Option<&String> {
        self.names.iter().find(|(_, known)| *known == name).map(|(id, _)| id)
    }

    fn direct(&self, id: &str) -> Vec<&str> {
        self.needs[id].iter().map(|dep| self.names[dep].as_str()).collect()
    }

    fn reached(&self, id: &str) -> BTreeSet<&str> {
        let mut seen = BTreeSet::new();
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            for dep in &self.needs[id] {
                if seen.insert(dep.as_str()) {
                    todo.push(dep);
                }
            }
        }
        seen.into_iter().map(|id| self.names[id].as_str()).collect()
    }
}

#[test]
fn dependencies_only_point_downwards() {
    let graph = Graph::of_workspace();
    let ours: BTreeSet<_> =
        graph.names.values().filter(|n| n.as_str() == "dohle" || n.starts_with("dohle-")).collect();
    let listed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    for name in ours {
        let allowed = listed.get(name.as_str());
        let allowed = allowed.unwrap_or_else(|| panic!("{name} is new: say what it may use"));
        let id = graph.id(name).expect("a package has an id");
        let direct = graph.direct(id);
        let wrong: Vec<_> = direct
            .iter()
            .filter(|dep| listed.contains_key(*dep) && !allowed.contains(dep))
            .collect();
        assert!(wrong.is_empty(), "{name} must not depend on {wrong:?}");
    }
}

#[test]
fn pure_crates_reach_no_runtime_and_no_operating_system() {
    let graph = Graph::of_workspace();
    for name in PURE {
        let Some(id) = graph.id(name) else { panic!("{name} is not in the workspace") };
        let reached = graph.reached(id);
        let wrong: Vec<_> = IMPURE.iter().filter(|crate_| reached.contains(*crate_)).collect();
        assert!(wrong.is_empty(), "{name} reaches {wrong:?}");
    }
    let net = graph.reached(graph.id("dohle-net").expect("net"));
    assert!(net.contains("tokio"), "the check sees what it looks for");
}

//! Rules of the house that no compiler knows.

use std::fs;
use std::path::{Path, PathBuf};

/// Hand-written Rust files stay below this many lines, except those listed, which may only
/// shrink.
const LINES_MAX: usize = 800;
const TABLES: &[&str] = &["core/src/config/broker_table.rs", "core/src/config/topic_table.rs"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn files(ending: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    walk(&root(), "", ending, &mut found);
    assert!(!found.is_empty(), "no {ending} file found: the walk is broken");
    found
}

fn walk(root: &Path, below: &str, ending: &str, found: &mut Vec<(String, String)>) {
    let Ok(entries) = fs::read_dir(root.join(below)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        let skipped = name.starts_with('.') || name == "target" || name == "dohle-data";
        if entry.path().is_dir() && !skipped {
            walk(root, &path, ending, found);
        } else if name.ends_with(ending) {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            found.push((path, text));
        }
    }
}

/// A word that this file may name without containing it.
fn word(parts: &[&str]) -> String {
    parts.concat()
}

#[test]
fn files_stay_small() {
    for (path, text) in files(".rs") {
        let generated = path.starts_with("core/wire/src/message/");
        if generated || TABLES.contains(&path.as_str()) {
            continue;
        }
        let lines = text.lines().count();
        assert!(lines <= LINES_MAX, "{path} has {lines} lines: cut it along its handlers");
    }
}

#[test]
fn every_module_says_what_it_is() {
    for (path, text) in files(".rs") {
        let first = text.lines().next().unwrap_or_default();
        // The module under test has said it already; generated files say where they come from.
        if path.ends_with("/tests.rs") || first.starts_with("// Generated") {
            continue;
        }
        assert!(first.starts_with("//!"), "{path} does not begin with a module doc: {first:?}");
    }
}

#[test]
fn nothing_is_left_for_later() {
    let banned = [
        word(&["FIX", "ME"]),
        word(&["TO", "DO"]),
        word(&["XX", "X"]),
        word(&["unimpl", "emented!"]),
        word(&["dbg", "!("]),
        word(&["#[ig", "nore"]),
    ];
    for (path, text) in files(".rs").into_iter().chain(files(".md")).chain(files(".py")) {
        for (number, line) in text.lines().enumerate() {
            let hit = banned.iter().find(|word| line.contains(word.as_str()));
            assert!(hit.is_none(), "{path}:{}: {line}", number + 1);
        }
    }
}

#[test]
fn pure_crates_use_no_clock_no_files_no_threads() {
    let banned = [
        "std::fs",
        "std::net",
        "std::thread",
        "std::env",
        "SystemTime",
        "std::time::Instant",
        "HashMap",
        "HashSet",
        "thread_local",
        "static mut",
        "f32",
        "println!",
    ];
    let pure = ["core/src/", "core/wire/src/", "client/src/", "jepsen/src/"];
    for (path, text) in files(".rs") {
        if !pure.iter().any(|folder| path.starts_with(folder)) || path.contains("/tests") {
            continue;
        }
        let code = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]"));
        for (number, line) in code.enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            // Mutant builds alone switch assertions off, for the thread that measures.
            let allowed = |word: &str| path == "core/src/mutant.rs" && word == "thread_local";
            let hit = banned.iter().find(|word| code.contains(*word) && !allowed(word));
            assert!(hit.is_none(), "{path}:{}: {line}", number + 1);
        }
    }
}

#[test]
fn unsafe_code_is_in_net_alone_and_argued_for() {
    let keyword = word(&["uns", "afe {"]);
    for (path, text) in files(".rs") {
        let lines: Vec<_> = text.lines().collect();
        for (number, line) in lines.iter().enumerate() {
            if !line.contains(&keyword) || line.trim_start().starts_with("//") {
                continue;
            }
            assert!(path.starts_with("net/src/"), "{path}:{}: {line}", number + 1);
            let before = &lines[number.saturating_sub(8)..number];
            let argued = before.iter().any(|line| line.contains("SAFETY:"));
            assert!(argued, "{path}:{}: without its argument", number + 1);
        }
    }
}

#[test]
fn the_code_map_names_every_crate_and_core_module() {
    let map = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let modules = fs::read_to_string(root().join("core/src/lib.rs")).expect("core's root");
    let names = modules.lines().filter_map(|line| line.strip_prefix("pub mod "));
    for name in names.map(|name| name.trim_end_matches(';')) {
        assert!(map.contains(&format!("`{name}`")), "ARCHITECTURE.md does not name {name}");
    }
    let workspace = fs::read_to_string(root().join("Cargo.toml")).expect("Cargo.toml");
    let members = workspace.lines().find(|line| line.starts_with("members")).expect("members");
    for member in members.split('"').skip(1).step_by(2) {
        assert!(map.contains(&format!("`{member}/`")), "ARCHITECTURE.md does not name {member}/");
    }
}

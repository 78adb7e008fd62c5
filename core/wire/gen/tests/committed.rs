//! The committed files are what the table says.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use dohle_wire_gen::{File, format, generate};

fn wire() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn generated() -> Vec<File> {
    generate(&wire().join("schema")).unwrap()
}

/// Files in the folder that say they are generated.
fn committed(folder: &str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(wire().join(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let marked = paths.filter(|path| fs::read_to_string(path).unwrap().starts_with("// Generated"));
    marked.map(move |path| Path::new(folder).join(path.file_name().unwrap()))
}

#[test]
fn committed_files_are_up_to_date() {
    for file in generated() {
        let committed = fs::read_to_string(wire().join(&file.path)).unwrap_or_default();
        let fresh = format(&file.text).unwrap();
        assert!(committed == fresh, "{} is stale: run the generator", file.path.display());
    }
}

#[test]
fn no_file_is_left_over() {
    let generated: BTreeSet<_> = generated().into_iter().map(|file| file.path).collect();
    let committed = committed("src/message").chain(committed("tests/wire/support/values"));
    assert_eq!(committed.collect::<BTreeSet<_>>(), generated);
}

//! Writes the generated files of `dohle-wire`: `cargo run -p dohle-wire-gen`.

#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;

use dohle_wire_gen::{Error, format, generate};

fn main() -> Result<(), Error> {
    let wire = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for file in generate(&wire.join("schema"))? {
        let path = wire.join(&file.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, format(&file.text)?)?;
    }
    Ok(())
}

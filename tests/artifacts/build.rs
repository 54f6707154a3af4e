//! Builds every guest program below `tests/guests`.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    // Relative: a build script runs in its package's folder, and a binary kept from another checkout must not look there.
    let workspace = Path::new("../..");
    let guests = Path::new("tests/guests");
    let entries = fs::read_dir(workspace.join(guests)).expect("the guests stand beside this package");
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the folder of guests can be listed").path())
        .filter(|path| path.join("plugin.toml").is_file())
        .map(|path| guests.join(path.file_name().expect("a folder has a name")))
        .collect();
    folders.sort();
    homeagent_component_builder::build(workspace, &folders, "guest-");
}

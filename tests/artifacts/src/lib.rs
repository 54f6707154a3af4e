//! The guest programs that tests load. Each stands for one behaviour; see `tests/guests`.

use std::fs;
use std::path::{Path, PathBuf};

const GUESTS: &[(&str, &str, &[u8], &str)] = include!(concat!(env!("OUT_DIR"), "/components.rs"));

/// A guest program: the text of its `plugin.toml` and the component.
///
/// # Panics
/// When there is no guest of this name.
pub fn guest(name: &str) -> (&'static str, &'static [u8]) {
    let found = GUESTS.iter().find(|(known, ..)| *known == name);
    let (_, manifest, component, _) = found.unwrap_or_else(|| panic!("there is no guest {name} below tests/guests"));
    (manifest, component)
}

/// Installs a guest into a folder of plugins, under a folder of the name `as_folder`, in the place of what was there.
///
/// # Panics
/// When the files can't be written.
pub fn install(plugins: &Path, name: &str, as_folder: &str) -> PathBuf {
    let (manifest, component) = guest(name);
    let folder = plugins.join(as_folder);
    fs::create_dir_all(&folder).expect("the folder of plugins takes folders");
    let file = manifest
        .lines()
        .find_map(|line| line.strip_prefix("component"))
        .and_then(|rest| rest.split('"').nth(1))
        .expect("a guest's manifest names its component");
    fs::write(folder.join(file), component).expect("the folder takes files");
    fs::write(folder.join("plugin.toml"), manifest).expect("the folder takes files");
    folder
}

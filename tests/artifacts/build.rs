//! Builds every guest program below `tests/guests`, the examples that do what those in other languages do, and the channel
//! that is installed by hand.

use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    // Relative: a build script runs in its package's folder, and a binary kept from another checkout must not look there.
    let workspace = Path::new("../..");
    let guests = Path::new("tests/guests");
    let entries = fs::read_dir(workspace.join(guests)).expect("the guests stand beside this package");
    let mut components: Vec<(PathBuf, String)> = entries
        .map(|entry| entry.expect("the folder of guests can be listed").path())
        .filter(|path| path.join("plugin.toml").is_file())
        .map(|path| {
            let name = path.file_name().expect("a folder has a name").to_string_lossy().into_owned();
            (guests.join(&name), format!("guest-{name}"))
        })
        .collect();
    components.sort();
    components.push((PathBuf::from("examples/adapter-rust"), "adapter-rust".to_owned()));
    components.push((PathBuf::from("examples/greeter-rust"), "greeter-rust".to_owned()));
    components.push((PathBuf::from("components/qq"), "qq".to_owned()));
    homeagent_component_builder::build(workspace, &components);
}

//! Builds the components that come with homed.

use std::path::{Path, PathBuf};

fn main() {
    // Relative: a build script runs in its package's folder, and a binary kept from another checkout must not look there.
    let workspace = Path::new("../..");
    let folders = ["plugins/calc", "components/cli", "components/openai", "components/rehearsal"].map(PathBuf::from);
    homeagent_component_builder::build(workspace, &folders, "");
}

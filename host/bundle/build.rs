//! Builds the components that come with homed.

use std::path::{Path, PathBuf};

fn main() {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["plugins/calc", "components/cli", "components/openai", "components/rehearsal"].map(PathBuf::from);
    homeagent_component_builder::build(&workspace, &folders, "");
}

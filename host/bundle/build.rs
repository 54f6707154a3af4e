//! Builds the components that come with homed.

use std::path::{Path, PathBuf};

fn main() {
    // Relative: a build script runs in its package's folder, and a binary kept from another checkout must not look there.
    let workspace = Path::new("../..");
    let folders = [
        "components/anthropic",
        "plugins/calc",
        "components/cli",
        "components/deepseek",
        "components/gemini",
        "components/interpreter-lua",
        "components/ollama",
        "components/openai",
        "components/openai-responses",
        "components/qq",
        "components/qwen",
        "components/rehearsal",
        "plugins/timer",
        "components/zhipu",
    ];
    let components = folders.map(|folder| {
        let folder = PathBuf::from(folder);
        let package = folder.file_name().expect("a folder has a name").to_string_lossy().into_owned();
        (folder, package)
    });
    homeagent_component_builder::build(workspace, &components);
}

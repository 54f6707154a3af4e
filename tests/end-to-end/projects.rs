//! `waiter plugin new`: what it makes is a plugin, by the one command that its README names.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::process::Command;

use crate::adapters;
use crate::daemon::{self, Daemon, Home};

/// Makes a project in the folder of plugins of a fresh data folder.
async fn project(language: &str) -> (Arc<Home>, PathBuf) {
    let home = Arc::new(Home::new());
    let plugins = home.path().join("plugins");
    std::fs::create_dir_all(&plugins).expect("a folder");
    let made = Command::new(daemon::waiter())
        .args(["plugin", "new", "my-plugin", "--lang", language, "--source"])
        .arg(std::fs::canonicalize("../..").expect("the source tree"))
        .current_dir(&plugins)
        .output()
        .await
        .expect("waiter can be started");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    (home, plugins.join("my-plugin"))
}

async fn greets(home: &Arc<Home>) -> Daemon {
    let daemon = home.start().await;
    daemon.waiter(&["plugin", "grant", "my-plugin", "tools"]).await.ok();
    let call = ["tools", "call", "my-plugin_greet", r#"{"name": "Ada"}"#];
    assert_eq!(daemon.waiter(&call).await.ok(), "Hello, Ada!");
    daemon
}

#[tokio::test]
async fn a_project_in_lua_is_a_plugin_as_it_is_and_a_saved_change_runs_after_a_reload() {
    let (home, folder) = project("lua").await;
    let daemon = greets(&home).await;
    let main = std::fs::read_to_string(folder.join("main.lua")).expect("its script");
    std::fs::write(folder.join("main.lua"), main.replace("\"!\"", "\"?\"")).expect("the folder takes files");
    daemon.waiter(&["plugin", "reload", "my-plugin"]).await.ok();
    let call = ["tools", "call", "my-plugin_greet", r#"{"name": "Ada"}"#];
    assert_eq!(daemon.waiter(&call).await.ok(), "Hello, Ada?");
}

#[tokio::test]
async fn a_project_in_rust_is_a_plugin_when_it_is_built() {
    let (home, folder) = project("rust").await;
    // The versions that this workspace has, so that nothing has to be fetched.
    std::fs::copy("../../Cargo.lock", folder.join("Cargo.lock")).expect("the workspace has a lock");
    build(&folder).await;
    greets(&home).await;
}

#[tokio::test]
async fn a_project_for_an_adapter_in_rust_speaks_chat_completions_when_it_is_built() {
    let home = adapters::project("rust").await;
    let folder = home.path().join("plugins/my-vendor");
    std::fs::copy("../../Cargo.lock", folder.join("Cargo.lock")).expect("the workspace has a lock");
    build(&folder).await;
    adapters::speaks_chat_completions(&home).await;
}

async fn build(folder: &Path) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("projects");
    let mut command = Command::new(folder.join("build.sh"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_") {
            command.env_remove(name);
        }
    }
    if let Some(home) = std::env::var_os("CARGO_HOME") {
        command.env("CARGO_HOME", home);
    }
    // Where `.ci/components` keeps the tools that it installs.
    if let (Some(home), Some(path)) = (std::env::var_os("HOME"), std::env::var_os("PATH")) {
        let kept = ["homeagent-python-venv/bin", "homeagent-c-tools/bin"];
        let kept = kept.map(|folder| Path::new(&home).join(".cache").join(folder));
        let all = kept.into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(all).expect("no colon in the home's path"));
    }
    let built = command.env("CARGO_TARGET_DIR", target).output().await.expect("the script can be started");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// Needs what `.ci/components` installs; where that has not run, this says so and does nothing.
#[tokio::test]
async fn projects_in_c_and_python_are_plugins_when_they_are_built() {
    if std::env::var_os("HOMEAGENT_OPTIONAL_PACKAGES").is_none() {
        eprintln!("their tools are not there: run .ci/components, and set HOMEAGENT_OPTIONAL_PACKAGES");
        return;
    }
    for language in ["c", "python"] {
        let (home, folder) = project(language).await;
        build(&folder).await;
        greets(&home).await;
    }
}

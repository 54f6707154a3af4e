//! What plugins keep and touch on this machine, whatever becomes of the daemon.

use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::Signal;

use crate::daemon::{Daemon, Home, within};

const MANIFEST: &str = "\n[wants.timers]\n[wants.process]\nprograms = [\"/bin/sh\"]\n";

/// Asks the plugin; its answer.
async fn tenant(daemon: &Daemon, tool: &str, act: &str) -> String {
    daemon.waiter(&["tools", "call", tool, act]).await.ok()
}

/// The number of the program that the plugin ran, once it has written it, and whether that runs still.
fn program(home: &Home) -> Option<(String, bool)> {
    let file: PathBuf = home.path().join("plugins-data/tenant/pid");
    let pid = std::fs::read_to_string(file).ok().filter(|pid| pid.ends_with('\n'))?;
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    let runs = stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']));
    Some((pid, runs))
}

#[tokio::test]
async fn a_daemon_that_is_killed_while_a_timer_is_handled_ends_what_it_left_and_tells_of_the_timer_once_more() {
    let home = Arc::new(Home::new());
    let manifest = home.install("tenant", "tenant").join("plugin.toml");
    let text = std::fs::read_to_string(&manifest).expect("it was written");
    std::fs::write(&manifest, text + MANIFEST).expect("the folder takes files");
    let mut daemon = home.start().await;
    daemon.grant_all().await;
    tenant(&daemon, "kv", r#"{"do":"set","key":"kept","value":"蛋"}"#).await;
    tenant(&daemon, "timers", r#"{"do":"set","name":"eggs","at":1,"payload":"run once"}"#).await;
    within("the program to be run", async {
        while !program(&home).is_some_and(|(_, runs)| runs) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    daemon.signal(Signal::KILL);
    daemon.child.wait().await.expect("it ends");

    let daemon = home.start().await;
    within("the timer to be told of once more", async {
        while tenant(&daemon, "timers", r#"{"do":"list"}"#).await.trim() != "[]" {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let told = tenant(&daemon, "timers", r#"{"do":"told"}"#).await;
    let told: Vec<(String, String, u64, String)> = serde_json::from_str(&told).expect("a list");
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!(told[0].0, told[1].0, "it is the same firing");
    within("the program to be ended", async {
        while program(&home).is_some_and(|(_, runs)| runs) {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(tenant(&daemon, "kv", r#"{"do":"get","key":"kept"}"#).await.trim(), "蛋");
}

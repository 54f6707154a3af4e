//! Starts and requests that are refused, in words.

use std::process::Stdio;
use std::sync::Arc;

use crate::daemon::{Home, with_vendor};

#[tokio::test]
async fn a_second_daemon_on_a_home_is_refused_with_the_firsts_number() {
    let home = Arc::new(Home::new());
    let daemon = home.start().await;
    let pid = daemon.child.id().expect("it runs").to_string();
    let second = home.homed().stdout(Stdio::piped()).stderr(Stdio::piped()).output().await.expect("it can be started");
    assert!(!second.status.success());
    let words = String::from_utf8_lossy(&second.stderr).into_owned();
    assert!(words.contains(&pid), "{words}");
    assert!(daemon.waiter(&["status"]).await.ok().contains(&pid), "it goes on");
}

#[tokio::test]
async fn the_api_wants_the_token_and_a_host_of_its_own() {
    let (daemon, _vendor) = with_vendor().await;
    assert_eq!(daemon.get("/api/v1/ping").await.0, 200);
    assert_eq!(daemon.get("/api/v1/status").await.0, 200);
    let wrong = [("authorization", "Bearer wrong")];
    let (status, problem) = daemon.request("GET", "/api/v1/status", &wrong, String::new()).await;
    assert_eq!((status, &problem["status"]), (401, &401.into()));
    let (status, _) = daemon.request("GET", "/api/v1/nothing", &[], String::new()).await;
    assert_eq!(status, 404);
    let (status, _) = daemon.request("POST", "/api/v1/chat", &[("content-type", "application/json")], "{".into()).await;
    assert!((400..500).contains(&status), "{status}");
    let evil = [("origin", "http://evil.example")];
    let (status, _) = daemon.request("GET", "/api/v1/status", &evil, String::new()).await;
    assert_eq!(status, 403);
}

#[tokio::test]
async fn waiter_says_when_there_is_no_daemon_and_when_it_is_used_wrongly() {
    let home = tempfile::tempdir().expect("a folder");
    let run = async |args: &[&str]| {
        let mut command = tokio::process::Command::new(crate::daemon::waiter());
        command.arg("--home").arg(home.path()).args(args).output().await.expect("waiter can be started")
    };
    let unreachable = run(&["status"]).await;
    assert_eq!(unreachable.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&unreachable.stderr).contains("homed"));
    assert_eq!(run(&["dance"]).await.status.code(), Some(2));
}

#[tokio::test]
async fn settings_are_listed_set_and_checked() {
    let (daemon, _vendor) = with_vendor().await;
    daemon.waiter(&["settings", "set", "core.agent.rounds", "3"]).await.ok();
    assert!(daemon.waiter(&["settings", "get", "core.agent.rounds"]).await.ok().contains('3'));
    let wrong = daemon.waiter(&["settings", "set", "core.agent.rounds", "many"]).await;
    assert_eq!(wrong.status.code(), Some(1));
    assert!(wrong.stderr.contains("core.agent.rounds"), "{}", wrong.stderr);
    let unknown = daemon.waiter(&["settings", "set", "core.agent.ruonds", "3"]).await;
    assert!(unknown.stderr.contains("core.agent.rounds"), "the nearest key is named: {}", unknown.stderr);
    assert!(daemon.waiter(&["settings", "list", "core.model"]).await.ok().contains("temperature"));
}

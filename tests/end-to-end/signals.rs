//! Signals that end the daemon.

use std::process::Stdio;
use std::sync::Arc;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use crate::chat::Chat;
use crate::daemon::{Home, with_vendor, within};
use crate::vendor::{Reply, text_event};

#[tokio::test]
async fn a_signal_while_it_starts_ends_what_has_begun_in_order() {
    let home = Home::new();
    let mut child = home.homed().stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it can be started");
    let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let pid = Pid::from_raw(child.id().expect("it runs").cast_signed()).expect("a process");
    let mut log = String::new();
    while let Some(line) = within("the end of the log", lines.next_line()).await.expect("it is text") {
        if line.contains("starting") {
            kill_process(pid, Signal::TERM).expect("it is ours");
        }
        log.extend([&line, "\n"]);
    }
    assert!(child.wait().await.expect("it ends").success(), "{log}");
    assert!(log.contains("the agent is stopped") && log.contains("homeagent_homed::daemon: stopped"), "{log}");
}

#[tokio::test]
async fn a_terminal_that_closes_ends_it_in_order() {
    let home = Arc::new(Home::new());
    let mut daemon = home.start().await;
    daemon.signal(Signal::HUP);
    assert!(within("its end", daemon.child.wait()).await.expect("it ends").success());
    assert!(home.log().contains("homeagent_homed::daemon: stopped"), "{}", home.log());
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    let (mut daemon, vendor) = with_vendor().await;
    daemon.waiter(&["settings", "set", "core.agent.drain_ms", "600000"]).await.ok();
    let mut chat = Chat::open(&daemon).await;
    vendor.script([Reply::Open(vec![text_event("On and on")])]);
    chat.say("talk").await;
    chat.until("delta").await;
    daemon.signal(Signal::TERM);
    daemon.logged("homeagent_homed::daemon: stopping").await;
    daemon.signal(Signal::TERM);
    let status = within("its end", daemon.child.wait()).await.expect("it ends");
    assert_eq!(status.code(), Some(1), "{status}");
}

#[tokio::test]
async fn a_log_level_that_can_not_be_read_is_said_and_an_empty_one_is_none() {
    let home = Arc::new(Home::new());
    let daemon = home.start_with(&[("HOMEAGENT_LOG", "=debug=,")]).await;
    let log = daemon.logged("starting").await;
    assert!(log.contains("HOMEAGENT_LOG can't be read"), "{log}");
    let home = Arc::new(Home::new());
    let daemon = home.start_with(&[("HOMEAGENT_LOG", "")]).await;
    // An empty filter would let errors through alone.
    daemon.logged("starting").await;
}

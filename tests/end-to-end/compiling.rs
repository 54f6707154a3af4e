//! Components are compiled in a child, whose memory and whose failures are not the daemon's.

use std::fs;
use std::process::Stdio;
use std::sync::Arc;

use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::daemon::Home;

/// The processor time of children that have ended, in ticks: the fields `cutime` and `cstime` of `/proc/PID/stat`.
fn of_children(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("the process is there");
    // The program's name may hold anything, in brackets.
    let (_, fields) = stat.rsplit_once(')').expect("the name stands in brackets");
    fields.split_whitespace().skip(13).take(2).map(|field| field.parse::<u64>().expect("it is a number")).sum()
}

#[tokio::test]
async fn a_daemon_that_finds_nothing_compiled_has_a_child_compile_and_keeps_the_code() {
    let home = Arc::new(Home::new());
    let cache = home.path().join("cache");
    fs::remove_file(&cache).expect("it is a link");
    let daemon = home.start().await;
    let said = daemon.waiter(&["tools", "call", "mul", r#"{"numbers": [6, 7]}"#]).await.ok();
    assert!(said.contains("42"), "{said}");
    let pid = daemon.child.id().expect("it runs");
    assert!(of_children(pid) > 0, "no child of the daemon's has worked");
    let entries = fs::read_dir(&cache).expect("the daemon made it").filter_map(Result::ok);
    let code = entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == "cwasm")).count();
    assert!(code >= 4, "{code} components' code is kept");
}

#[tokio::test]
async fn what_can_t_be_compiled_ends_the_child_with_a_sentence() {
    let mut compile = Command::new(env!("CARGO_BIN_EXE_homed"));
    compile.arg("compile").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = compile.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    stdin.write_all(b"no component").await.expect("it reads");
    drop(stdin);
    let ended = child.wait_with_output().await.expect("it ends");
    let words = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{words}");
    assert!(ended.stdout.is_empty() && words.lines().count() == 1 && words.contains("magic"), "{words}");
}

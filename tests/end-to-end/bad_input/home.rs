//! Data folders that can't be used: at the start, and when the disk gives out while the daemon works.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use rustix::process::{Pid, Resource, Rlimit, prlimit};
use serde_json::json;
use tokio::process::Command;

use super::{assert_answers, assert_reads, fifo};
use crate::daemon::{Daemon, Home, start};
use crate::events::Following;
use crate::vendor::{Reply, Vendor, finish, text_event};

/// What is done to a fresh data folder before the daemon starts on it.
struct Row {
    name: &'static str,
    spoil: fn(&Path),
    /// Parts of the sentence with which the start is refused; none where the daemon starts all the same.
    reads: &'static [&'static str],
}

const fn row(name: &'static str, spoil: fn(&Path), reads: &'static [&'static str]) -> Row {
    Row { name, spoil, reads }
}

const ROWS: &[Row] = &[
    row("the folder is a file", |home| replace(home, write), &["data folder", "--home"]),
    row(
        "the folder is a link to nowhere",
        |home| replace(home, |home| symlink("/nowhere/at/all", home).expect("a link")),
        &["data folder", "--home"],
    ),
    row(
        "the folder is a link to itself",
        |home| replace(home, |home| symlink(home, home).expect("a link")),
        &["data folder", "--home"],
    ),
    row("homed.lock is a folder", |home| folder(&home.join("homed.lock")), &["homed.lock", "writable"]),
    row("homed.lock is a pipe", |home| fifo(&home.join("homed.lock")), &["homed.lock"]),
    row("homed.sock is a file", |home| write(&home.join("homed.sock")), &["homed.sock", "move it elsewhere"]),
    row("homeagent.db is a folder", |home| folder(&home.join("homeagent.db")), &["homeagent.db"]),
    row("api-token is a folder", |home| folder(&home.join("api-token")), &["api-token"]),
    row("api-token is a pipe", |home| fifo(&home.join("api-token")), &["api-token", "it is not a file"]),
    row("cache is a file", |home| replace(&home.join("cache"), write), &["cache", "belongs to you"]),
    row("personal.md is a pipe", |home| fifo(&home.join("personal.md")), &[]),
    row("personal.md is a folder", |home| folder(&home.join("personal.md")), &[]),
    row("personal.md is no UTF-8", |home| fs::write(home.join("personal.md"), [0xff; 100]).expect("a file"), &[]),
    row("plugins is a file", |home| write(&home.join("plugins")), &[]),
    row("logs is a file", |home| write(&home.join("logs")), &[]),
];

fn write(path: &Path) {
    fs::write(path, "something else\n").expect("the folder takes files");
}

fn folder(path: &Path) {
    fs::create_dir(path).expect("the folder takes folders");
}

fn replace(path: &Path, make: fn(&Path)) {
    if path.is_symlink() {
        fs::remove_file(path).expect("it is ours");
    } else {
        fs::remove_dir_all(path).expect("it is ours");
    }
    make(path);
}

/// What a daemon says that does not start.
async fn refusal(command: &mut Command) -> String {
    let output = command.stdout(Stdio::piped()).stderr(Stdio::piped()).output().await.expect("it can be started");
    assert!(!output.status.success(), "it has started: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).lines().last().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_folder_that_cannot_be_used_is_named_with_what_to_do() {
    let vendor = Vendor::start().await;
    for Row { name, spoil, reads } in ROWS {
        let home = Arc::new(Home::new());
        spoil(home.path());
        if reads.is_empty() {
            let daemon = home.start().await;
            daemon.use_vendor(&vendor).await;
            assert_answers(name, &daemon, &vendor).await;
        } else {
            let words = refusal(&mut home.homed()).await;
            assert_reads(name, &words, &["homed can't start", reads[0]]);
            assert_reads(name, &words, reads);
        }
    }
}

#[tokio::test]
async fn a_port_in_use_and_an_address_that_is_none_are_named_with_what_to_do() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken_address = taken.local_addr().expect("it has one").to_string();
    let home = Home::new();
    for (address, words) in [
        (taken_address.as_str(), "another program listens on"),
        ("192.0.2.1:80", "choose an address of this machine"),
        ("nowhere", "choose an address of this machine"),
        ("127.0.0.1:99999", "choose an address of this machine"),
    ] {
        let refused = refusal(&mut home.homed_at(address)).await;
        assert_reads(address, &refused, &["homed can't start", address, words, "--listen", "core.gateway.listen"]);
    }
}

/// A data folder on a small file system of its own, which only the daemon sees. Nothing where this machine lets nobody
/// mount one.
async fn on_small_disk(home: &Home, prepare: &str) -> Option<Command> {
    let allowed = async |flags: &str| {
        let tried = Command::new("unshare").args([flags, "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).output().await;
        tried.is_ok_and(|output| output.status.success())
    };
    let flags = if allowed("-m").await {
        "-m"
    } else if allowed("-rm").await {
        "-rm"
    } else {
        println!("skipped: this machine lets nobody mount a file system (unshare -m, unshare -rm)");
        return None;
    };
    let cache = fs::read_link(home.path().join("cache")).expect("it is a link");
    let script = format!(
        "mount -t tmpfs -o size=4m tmpfs '{home}' && ln -s '{cache}' '{home}/cache' && {prepare} && exec \"$@\"",
        home = home.path().display(),
        cache = cache.display()
    );
    let mut command = home.homed_by("unshare", &[flags, "sh", "-c", &script, "sh"]);
    command.current_dir("/");
    Some(command)
}

#[tokio::test]
async fn a_disk_that_is_full_or_read_only_at_the_start_is_named() {
    let rows = [
        ("full", "head -c 8m /dev/zero >\"$HOMEAGENT_HOME/filler\" 2>/dev/null; true", "No space left"),
        ("read-only", "mount -o remount,ro \"$HOMEAGENT_HOME\"", "Read-only file system"),
    ];
    for (name, prepare, words) in rows {
        let home = Home::new();
        let Some(mut command) = on_small_disk(&home, prepare).await else { return };
        let read = refusal(command.env("HOMEAGENT_HOME", home.path())).await;
        assert_reads(name, &read, &["homed can't start", "has room", &home.path().display().to_string(), words]);
    }
}

/// Asks in a conversation of its own and returns the status and the text of what comes.
async fn ask(daemon: &Daemon, text: &str) -> (u16, String) {
    let (status, body) = daemon.post("/api/v1/chat", &json!({ "text": text, "conversation": "full" })).await;
    (status, body.to_string())
}

#[tokio::test]
async fn a_disk_that_fills_up_refuses_what_is_new_keeps_what_was_taken_and_works_again_with_room() {
    let home = Arc::new(Home::new());
    let Some(command) = on_small_disk(&home, "true").await else { return };
    let vendor = Vendor::start().await;
    let seen = |pid: u32| PathBuf::from(format!("/proc/{pid}/root{}", home.path().display()));
    let daemon = start(command, Arc::clone(&home), seen).await;
    daemon.use_vendor(&vendor).await;
    vendor.script([Reply::text("taken")]);
    assert_eq!(ask(&daemon, "before").await.0, 200);

    let filler = daemon.folder.join("filler");
    let mut file = fs::File::create(&filler).expect("there is room yet");
    while std::io::Write::write_all(&mut file, &[0; 4096]).is_ok() {}
    drop(file);
    vendor.always("squeezed in");
    // What is left in the journal's own pages may take a few more.
    let mut answers = 0;
    let refused = loop {
        let (status, body) = ask(&daemon, &"a question of some length ".repeat(2000)).await;
        match status {
            200 if answers < 100 => answers += 1,
            _ => break (status, body),
        }
    };
    assert_eq!(refused.0, 507, "{}", refused.1);
    assert_reads("a full disk", &refused.1, &["was not taken", "homeagent.db is full", "free some space"]);
    assert_eq!(daemon.get("/api/v1/status").await.0, 200, "it still tells how it is");
    let (status, body) = daemon
        .request(
            "PUT",
            "/api/v1/settings/core.agent.rounds",
            &[("content-type", "application/json")],
            json!({ "value": 4 }).to_string(),
        )
        .await;
    assert!(status == 507 || status == 200, "{status} {body}");

    fs::remove_file(&filler).expect("it is ours");
    assert_answers("the disk has room again", &daemon, &vendor).await;
    let (_, runs) = daemon.get("/api/v1/runs").await;
    assert!(runs.to_string().contains("completed"), "what was taken is there: {runs}");
}

#[tokio::test]
async fn a_disk_that_refuses_to_write_in_the_middle_of_a_turn_is_said_and_nothing_acknowledged_is_lost() {
    let home = Arc::new(Home::new());
    // A limit on the size of files stands for a disk that turned read-only: each write of the journal fails.
    let command = home.homed();
    let mut daemon = start(command, Arc::clone(&home), |_| home.path().to_owned()).await;
    let vendor = Vendor::start().await;
    daemon.use_vendor(&vendor).await;
    vendor.script([Reply::Paused(vec![text_event("The first half")], vec![text_event(", the other"), finish("stop")])]);
    let pid = Pid::from_raw(daemon.child.id().expect("it runs").cast_signed()).expect("it runs");
    let limit = |size| prlimit(Some(pid), Resource::Fsize, Rlimit { current: size, maximum: None });
    let spoil = async {
        vendor.asked(1).await;
        limit(Some(1)).expect("it is ours");
        let refused = ask(&daemon, "meanwhile").await;
        vendor.go_on();
        refused
    };
    let (ended, refused) = tokio::join!(daemon.ask("begin"), spoil);
    assert_eq!(refused.0, 507, "{}", refused.1);
    assert_reads("a disk that does not write", &refused.1, &["was not taken", "homeagent.db", "read-only", "quota"]);
    assert_reads("the turn under way", &ended.to_string(), &["I can't write my journal", "homeagent.db"]);
    let run = ended["run"].as_str().expect("it had begun");
    assert_eq!(daemon.get(&format!("/api/v1/runs/{run}")).await.1["status"], "open", "its end can't be written yet");

    limit(None).expect("it is ours");
    let ends = format!("?after=0&hidden=true&kind=run_failed&run={run}");
    let mut following = Following::open(&daemon, &ends, &[]).await;
    assert_answers("the disk writes again", &daemon, &vendor).await;
    following.until(|name, _| name == "run_failed").await;
    let (_, closed) = daemon.get(&format!("/api/v1/runs/{run}")).await;
    assert_eq!(closed["status"], "failed", "{closed}");
    assert_reads("the run's end", closed["error"].as_str().unwrap_or_default(), &["I can't write my journal"]);
    daemon.signal(rustix::process::Signal::TERM);
    daemon.child.wait().await.expect("it ends");
    let daemon = home.start().await;
    let (_, runs) = daemon.get("/api/v1/runs").await;
    let open = runs.to_string().matches("\"open\"").count();
    assert_eq!(open, 0, "each run has an end: {runs}");
}

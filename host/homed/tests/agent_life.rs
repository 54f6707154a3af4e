//! The agent is stopped and started again and again inside one daemon, and leaves nothing behind. A binary of its own:
//! it counts what the whole process holds.

use std::alloc::System;
use std::path::Path;
use std::time::Duration;

use homeagent_homed::{Daemon, Launch};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use tokio::net::UnixStream;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const TIMES: usize = 50;

/// The first rounds fill what a process keeps for good: thread-local buffers, caches of compiled patterns.
const FIRST: usize = 5;

/// What one round may leave behind on average, in bytes: less than the smallest part of an agent takes, more than a
/// hash table that grows once.
const LEFT: usize = 2048;

/// Asks over the unix socket; the answer's text.
async fn post(home: &Path, path: &str, body: &str) -> String {
    let stream = UnixStream::connect(home.join("homed.sock")).await.expect("homed listens");
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.expect("homed speaks HTTP");
    let driver = tokio::spawn(connection);
    let request = Request::builder().method(Method::POST).uri(format!("/api/v1/{path}"));
    let request = request.header("host", "localhost").header("content-type", "application/json");
    let request = request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).expect("a valid request");
    let response = sender.send_request(request).await.expect("homed answers");
    let ok = response.status().is_success();
    let body = response.into_body().collect().await.expect("a whole body").to_bytes();
    let text = String::from_utf8_lossy(&body).into_owned();
    assert!(ok, "{path}: {text}");
    drop(sender);
    let _ = driver.await;
    text
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("the system lists them").count()
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").expect("the system lists them").count()
}

fn allocated() -> usize {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated.saturating_sub(stats.bytes_deallocated)
}

/// Reads a figure until it is no higher than it may be, as threads and tasks that were told to end do so at their own
/// pace; gives up after a time that no healthy machine needs.
async fn settles(figure: fn() -> usize, at_most: usize) -> usize {
    for _ in 0..600 {
        if figure() <= at_most {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    figure()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_stops_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path();
    let launch = Launch { listen: Some("127.0.0.1:0".to_owned()), quiet: true, compiler: None };
    let daemon = Daemon::start(home, launch).await.expect("it starts");
    let (mut files, mut tasks, mut bytes) = (0, 0, 0);
    for round in 0..TIMES {
        let reply = post(home, "chat", r#"{"text": "hello"}"#).await;
        assert!(reply.contains("\"reply\":"), "{reply}");
        post(home, "agent/stop", "").await;
        if round < FIRST {
            files = files.max(descriptors());
            tasks = tasks.max(threads());
            bytes = bytes.max(allocated());
        }
        post(home, "agent/start", "").await;
    }
    post(home, "agent/stop", "").await;
    let most = bytes + LEFT * (TIMES - FIRST);
    assert!(settles(descriptors, files).await <= files, "file descriptors: {files} before, {} now", descriptors());
    assert!(settles(threads, tasks).await <= tasks, "threads: {tasks} before, {} now", threads());
    assert!(settles(allocated, most).await <= most, "allocated: {bytes} before, {} now", allocated());
    post(home, "agent/start", "").await;
    daemon.stop().await;
}

//! How the daemon tells of itself: its log, and `waiter status`.

use std::sync::Arc;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::Signal;

use crate::daemon::{self, Home, with_vendor, within};
use crate::vendor::Reply;

/// As much as a pipe holds that nobody reads from.
const PIPE_BYTES: usize = 64 << 10;

#[tokio::test]
async fn each_line_of_a_turn_names_its_run_at_a_level_that_changes_while_the_daemon_runs() {
    let (mut daemon, vendor) = with_vendor().await;
    let ask = async || {
        vendor.script([Reply::text("hello")]);
        daemon.ask("a question in my own words").await["run"].as_str().expect("a turn has a run").to_owned()
    };
    ask().await;
    assert!(!daemon.home.log().contains("DEBUG"), "nothing is logged at debug level before it is asked for");
    daemon.waiter(&["settings", "set", "core.log.level", "debug"]).await.ok();
    // The change holds from some moment after the answer on.
    let run = within("a line at debug level", async {
        loop {
            let run = ask().await;
            if daemon.home.log().contains("resident_bytes=") {
                break run;
            }
        }
    })
    .await;
    let run = format!("run=\"{run}\"");
    daemon.signal(Signal::TERM);
    daemon.child.wait().await.expect("it ends");
    let log = daemon.home.log();
    let own: Vec<&str> = log.lines().filter(|line| line.contains(&run)).collect();
    for part in ["turn ended", "model answered", "memory after=\"turn\""] {
        assert!(own.iter().any(|line| line.contains(part)), "no line of the run says {part}: {own:#?}");
    }
    assert!(!log.contains("in my own words"), "what people write is not in the log");
}

#[tokio::test]
async fn a_log_that_nobody_reads_holds_nobody_up() {
    let home = Arc::new(Home::new());
    let pipe = home.path().join("unread");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("the folder takes pipes");
    // Open at both ends, as `homed run 2>&1 | less` that shows its first page.
    let unread = std::fs::File::options().read(true).write(true).open(&pipe).expect("a pipe opens");
    let mut command = home.homed_by("sh", &["-c", r#"exec "$@" 2>"$UNREAD""#, "sh"]);
    command.env("UNREAD", &pipe).env("HOMEAGENT_LOG", "trace");
    let mut daemon = daemon::start(command, Arc::clone(&home), |_| home.path().to_owned()).await;
    while home.log().len() < 8 * PIPE_BYTES {
        assert_eq!(daemon.get("/api/v1/status").await.0, 200);
    }
    daemon.signal(Signal::TERM);
    assert!(daemon.child.wait().await.expect("it ends").success());
    drop(unread);
}

#[tokio::test]
async fn status_shows_what_went_wrong_last_and_what_was_used() {
    let (daemon, vendor) = with_vendor().await;
    vendor.script([Reply::text("hello")]);
    daemon.ask("hi").await;
    vendor.script([Reply::Status(401, serde_json::json!({ "error": { "message": "no such key" } }))]);
    let run = daemon.ask("hi").await["run"].as_str().expect("a turn has a run").to_owned();
    let status = daemon.waiter_json(&["status"]).await;
    assert!(status["process"]["resident_bytes"].as_u64() > Some(1 << 20), "{status}");
    assert!(status["disk_free_bytes"].is_u64(), "{status}");
    let problems = status["problems"].as_array().expect("a list");
    let failed = problems.iter().find(|problem| problem["text"].to_string().contains("model source failed"));
    let failed = failed.expect("the failure is among them");
    assert_eq!((&failed["level"], &failed["run"]), (&"warn".into(), &run.as_str().into()));
    let shown = daemon.waiter(&["status"]).await.ok();
    assert!(shown.contains("model source failed") && shown.contains("of memory"), "{shown}");
    assert!(shown.contains(&format!("(run {run})")), "{shown}");
}

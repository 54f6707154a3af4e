//! Timers: set by the model, kept through kills and replacements, looked after by people.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use crate::chat::Chat;
use crate::daemon::{Daemon, Home, with_vendor, within};
use crate::vendor::{Reply, Vendor};

/// How many timers are due while the daemon is killed, or its plugin replaced.
const MANY: usize = 40;

fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("it is later");
    u64::try_from(since.as_millis()).expect("not that late")
}

/// A moment so long from now, in ISO 8601.
fn from_now(milliseconds: u64) -> String {
    let at = i64::try_from(now_ms() + milliseconds).expect("not that late");
    jiff::Timestamp::from_millisecond(at).expect("a moment").to_string()
}

async fn call(daemon: &Daemon, tool: &str, arguments: &Value) -> Value {
    let (status, body) = daemon.post(&format!("/api/v1/tools/{tool}"), arguments).await;
    assert_eq!(status, 200, "{body}");
    body["value"].clone()
}

/// How often the journal has each run of a timer.
fn runs(home: &Home) -> BTreeMap<String, usize> {
    let database = rusqlite::Connection::open(home.path().join("homeagent.db")).expect("it opens");
    let sql = "SELECT payload FROM events WHERE kind = 'input_accepted'";
    let mut statement = database.prepare(sql).expect("the journal has events");
    let rows = statement.query_map([], |row| row.get::<_, String>(0)).expect("they can be read");
    let mut runs = BTreeMap::new();
    for row in rows {
        let input: Value = serde_json::from_str(&row.expect("a payload")).expect("it is JSON");
        let meta = input["meta"].as_array().expect("an input has meta");
        let claim = meta.iter().find(|entry| entry[0] == "homeagent.errand");
        if let Some(claim) = claim.filter(|_| input["kind"] == "timer") {
            *runs.entry(claim[1].as_str().expect("a text").to_owned()).or_default() += 1;
        }
    }
    runs
}

/// Waits until the journal has so many runs.
async fn until_run(home: &Home, count: usize) {
    within("the runs of the timers", async {
        while runs(home).len() < count {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

async fn none_left(daemon: &Daemon) {
    within("the timers to be over", async {
        while call(daemon, "timer_list", &json!({})).await["total"] != 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn a_timer_that_the_model_set_speaks_once_in_its_conversation() {
    let (daemon, vendor) = with_vendor().await;
    let mut chat = Chat::open(&daemon).await;
    vendor.script([
        Reply::calls(&[("timer_set", r#"{"name":"tea","when":"in 1 second","message":"the tea is ready"}"#)]),
        Reply::text("I will tell you."),
        Reply::text("Your tea is ready."),
    ]);
    chat.say("tell me when the tea is ready").await;
    assert_eq!(chat.until("reply").await.0["text"], "I will tell you.");
    assert_eq!(chat.until("reply").await.0["text"], "Your tea is ready.");
    let asked = vendor.asked(3).await;
    assert!(asked[1].tool_results()[0].contains("tea"), "{:?}", asked[1].tool_results());
    assert!(asked[2].says("the tea is ready") && asked[2].says("tell me when the tea is ready"), "it has the window");
    none_left(&daemon).await;
    assert_eq!(runs(&daemon.home).into_values().collect::<Vec<_>>(), [1]);
}

#[tokio::test]
async fn a_timer_runs_a_tool_whose_result_is_sent_as_it_is() {
    let (daemon, vendor) = with_vendor().await;
    let mut chat = Chat::open(&daemon).await;
    let set = json!({
        "when": "in 1 second", "tool": "add", "arguments": { "numbers": [40, 2] }, "report": false, "urgent": true,
    });
    vendor.script([Reply::calls(&[("timer_set", &set.to_string())]), Reply::text("set")]);
    chat.say("add these later").await;
    assert_eq!(chat.until("reply").await.0["text"], "set");
    assert_eq!(chat.until("reply").await.0["text"], "42");
    assert_eq!(vendor.asked_so_far().len(), 2, "the model was not asked");
}

#[tokio::test]
async fn killed_while_many_timers_fire_it_has_exactly_one_input_for_each() {
    let home = Arc::new(Home::new());
    let vendor = Vendor::start().await;
    vendor.always("noted");
    let mut daemon = home.start().await;
    daemon.use_vendor(&vendor).await;
    // Far enough away that all are set by then, also where other tests are at work.
    let due = from_now(15_000);
    for number in 0..MANY {
        call(&daemon, "timer_set", &json!({ "name": format!("t{number}"), "when": due, "message": "go" })).await;
    }
    let mut kills = 0;
    while runs(&home).len() < MANY {
        // Killed when some more have been claimed: whatever the others are at then, they are at any moment of it.
        until_run(&home, MANY.min(runs(&home).len() + 3)).await;
        let pid = rustix::process::Pid::from_raw(daemon.child.id().expect("it runs").cast_signed()).expect("a process");
        rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is ours");
        daemon.child.wait().await.expect("it ends");
        kills += 1;
        daemon = home.start().await;
    }
    assert!(kills >= 3, "it was killed {kills} times");
    none_left(&daemon).await;
    let runs = runs(&home);
    assert_eq!((runs.len(), runs.values().max()), (MANY, Some(&1)), "{runs:?}");
}

#[tokio::test]
async fn the_plugin_is_replaced_between_setting_and_firing_and_in_the_second_in_which_it_fires() {
    let (daemon, vendor) = with_vendor().await;
    vendor.always("noted");
    let reload = async || {
        let (status, body) = daemon.post("/api/v1/plugins/timer/reload", &json!({})).await;
        assert_eq!(status, 200, "{body}");
    };
    for number in 0..MANY as u64 {
        let when = from_now(1_000 + number * 25);
        call(&daemon, "timer_set", &json!({ "name": format!("t{number}"), "when": when, "message": "go" })).await;
    }
    reload().await;
    while runs(&daemon.home).len() < MANY {
        reload().await;
    }
    none_left(&daemon).await;
    let runs = runs(&daemon.home);
    assert_eq!((runs.len(), runs.values().max()), (MANY, Some(&1)), "{runs:?}");
}

#[tokio::test]
async fn people_list_pause_resume_and_cancel_timers() {
    let (daemon, _vendor) = with_vendor().await;
    daemon.waiter(&["settings", "set", "plugin.timer.time_zone", "Asia/Shanghai"]).await.ok();
    let set = json!({ "name": "站会", "when": "每个工作日18:30", "message": "stand up" });
    let set = call(&daemon, "timer_set", &set).await;
    assert_eq!(set["when"], "30 18 * * 1,2,3,4,5");
    assert!(set["next"].as_str().is_some_and(|next| next.ends_with("T18:30:00+08:00")), "{set}");
    assert!(daemon.waiter(&["timers"]).await.ok().contains("站会"));
    assert_eq!(daemon.waiter(&["timers", "pause", "站会"]).await.ok(), "站会 is paused");
    assert_eq!(daemon.waiter_json(&["timers", "list"]).await["timers"][0]["paused"], true);
    assert!(daemon.waiter(&["timers", "resume", "站会"]).await.ok().starts_with("站会 is due at "));
    assert_eq!(daemon.waiter(&["timers", "cancel", "站会"]).await.ok(), "cancelled 站会");
    assert_eq!(daemon.waiter(&["timers"]).await.ok(), "no timers");
    let (status, problem) = daemon.post("/api/v1/tools/timer_set", &json!({ "when": "soon", "message": "x" })).await;
    assert_eq!(status, 422);
    assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains("ISO 8601")), "{problem}");
}

//! A clock that jumps between two starts of the daemon, or while it works: what is in the journal was written in the
//! future, or a year ago.

use std::sync::Arc;

use serde_json::json;

use super::assert_answers;
use crate::daemon::{Home, with_vendor};
use crate::vendor::{Reply, Vendor, finish, text_event};

const HOUR_MS: i64 = 3600 * 1000;
const YEAR_MS: i64 = 365 * 24 * HOUR_MS;

/// Moves every time in the journal.
fn shift(home: &Home, by_ms: i64) {
    let database = rusqlite::Connection::open(home.path().join("homeagent.db")).expect("it opens");
    for column in [
        "sessions.started_at",
        "sessions.ended_at",
        "runs.started_at",
        "runs.ended_at",
        "events.at_ms",
        "input_keys.at_ms",
    ] {
        let (table, column) = column.split_once('.').expect("a table and a column");
        database.execute(&format!("UPDATE {table} SET {column} = {column} + ?1"), [by_ms]).expect("it is written");
    }
}

#[tokio::test]
async fn a_clock_that_jumps_loses_and_reorders_nothing() {
    let rows =
        [("an hour back", HOUR_MS), ("an hour ahead", -HOUR_MS), ("a year back", YEAR_MS), ("a year ahead", -YEAR_MS)];
    for (row, by_ms) in rows {
        let home = Arc::new(Home::new());
        let vendor = Vendor::start().await;
        let mut daemon = home.start().await;
        daemon.use_vendor(&vendor).await;
        vendor.script([Reply::text("Noted."), Reply::text("Green.")]);
        let first = daemon.ask("My favourite colour is green").await;
        daemon.signal(rustix::process::Signal::TERM);
        daemon.child.wait().await.expect("it ends");
        shift(&home, by_ms);

        let daemon = home.start().await;
        let second = daemon.ask("Which is it?").await;
        assert_eq!(second["reply"], "Green.", "after {row}: {second}");
        assert!(vendor.asked(2).await[1].says("My favourite colour is green"), "after {row}, the window holds it");
        let runs = daemon.waiter_json(&["runs", "list"]).await;
        let runs = runs.as_array().or_else(|| runs["runs"].as_array()).expect("a list");
        let ids: Vec<_> = runs.iter().map(|run| &run["id"]).collect();
        assert_eq!(json!(ids), json!([second["run"], first["run"]]), "after {row}, the newest run comes first");
        assert!(daemon.waiter(&["runs", "show", second["run"].as_str().expect("an id")]).await.status.success());
        assert_answers(row, &daemon, &vendor).await;
    }
}

/// The journal alone remembers what the clock said before it jumped, so moving its times while the daemon works is as
/// good as moving the clock: `host/homed/tests/architecture.rs` holds that nothing else reads it.
#[tokio::test]
async fn a_clock_that_jumps_in_the_middle_of_a_turn_neither_ends_it_nor_the_daemon() {
    let (daemon, vendor) = with_vendor().await;
    for (row, by_ms) in [("a year back", YEAR_MS), ("two years ahead", -2 * YEAR_MS), ("an hour back", HOUR_MS)] {
        let first = vec![text_event("The first half")];
        vendor.script([Reply::Paused(first, vec![text_event(", the other"), finish("stop")])]);
        let asked = vendor.asked_so_far().len();
        let jump = async {
            vendor.asked(asked + 1).await;
            shift(&daemon.home, by_ms);
            vendor.go_on();
        };
        let (result, ()) = tokio::join!(daemon.ask("begin"), jump);
        assert_eq!(result["reply"], "The first half, the other", "after {row}: {result}");
        let (_, runs) = daemon.get("/api/v1/runs").await;
        assert_eq!(runs[0]["id"], result["run"], "after {row}, the newest run comes first: {runs}");
        assert_eq!(runs[0]["status"], "completed", "after {row}: {runs}");
        assert_answers(row, &daemon, &vendor).await;
    }
}

//! A clock that jumps between two starts of the daemon: what is in the journal was written in the future, or a year ago.

use std::sync::Arc;

use serde_json::json;

use super::assert_answers;
use crate::daemon::Home;
use crate::vendor::{Reply, Vendor};

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

//! What an acknowledged event costs: the journal's group commit against one transaction per event.
//!
//! The numbers are those of the disk below the temporary folder (`TMPDIR`); one `fsync` is most of a single append.

use std::sync::{Arc, Mutex};

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use homeagent_journal::{EventKind, Journal, NewEvent};
use homeagent_settings::Database;
use rusqlite::{Connection, params};
use serde_json::json;
use tempfile::TempDir;
use tokio::runtime::Runtime;

const CONCURRENT: usize = 64;
const CONVERSATION: &str = "qq:private:10001";

fn message(session: &str) -> NewEvent {
    NewEvent {
        session: session.to_owned(),
        run: None,
        conversation: CONVERSATION.to_owned(),
        kind: EventKind::UserMessageAdded,
        audience: CONVERSATION.to_owned(),
        payload: json!({ "text": "今天晚上想吃什么？".repeat(10) }),
    }
}

/// What one would write without the journal: a connection behind a lock, and a transaction for each event.
fn insert_plainly(connection: &mut Connection, event: &NewEvent) {
    let transaction = connection.transaction().expect("begins");
    transaction
        .prepare_cached(
            "INSERT INTO events (at_ms, session, run, conversation, kind, hidden, audience, payload)
             VALUES (0, ?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )
        .expect("prepares")
        .execute(params![
            event.session,
            event.run,
            event.conversation,
            event.kind.as_str(),
            event.kind.hidden(),
            event.audience,
            event.payload.to_string(),
        ])
        .expect("inserts");
    transaction.commit().expect("commits");
}

struct Setup {
    runtime: Runtime,
    _folder: TempDir,
    database: Database,
    journal: Journal,
    session: String,
}

fn setup() -> Setup {
    let runtime = Runtime::new().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let database = Database::open(folder.path().join("homeagent.db")).expect("opens");
    let journal = Journal::open(&database).expect("opens");
    let session = runtime.block_on(journal.current_session(CONVERSATION)).expect("a session");
    Setup { runtime, _folder: folder, database, journal, session }
}

fn journal_append(criterion: &mut Criterion) {
    let Setup { runtime, database, journal, session, _folder } = setup();
    let plain = Arc::new(Mutex::new(database.writer().expect("a connection")));

    let mut single = criterion.benchmark_group("journal_append/1");
    single.throughput(Throughput::Elements(1));
    single.bench_function("journal", |bencher| {
        bencher.to_async(&runtime).iter(|| journal.append(message(&session)));
    });
    single.bench_function("transaction per event", |bencher| {
        let mut connection = plain.lock().expect("the lock");
        bencher.iter(|| insert_plainly(&mut connection, &message(&session)));
    });
    single.finish();

    let mut concurrent = criterion.benchmark_group(format!("journal_append/{CONCURRENT}"));
    concurrent.throughput(Throughput::Elements(CONCURRENT as u64));
    concurrent.bench_function("journal", |bencher| {
        bencher.to_async(&runtime).iter(|| {
            let appends = (0..CONCURRENT).map(|_| {
                let (journal, event) = (journal.clone(), message(&session));
                tokio::spawn(async move { journal.append(event).await.expect("appends") })
            });
            futures::future::join_all(appends)
        });
    });
    concurrent.bench_function("transaction per event", |bencher| {
        bencher.to_async(&runtime).iter(|| {
            let inserts = (0..CONCURRENT).map(|_| {
                let (plain, event) = (Arc::clone(&plain), message(&session));
                tokio::task::spawn_blocking(move || {
                    insert_plainly(&mut plain.lock().expect("the lock"), &event);
                })
            });
            futures::future::join_all(inserts)
        });
    });
    concurrent.finish();
}

criterion_group!(benches, journal_append);
criterion_main!(benches);

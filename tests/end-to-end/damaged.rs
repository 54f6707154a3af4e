//! Data that is damaged or from elsewhere: what can go on without it goes on and says so, what can't be done without is
//! refused in a sentence, and nothing of it is replaced.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use rusqlite::Connection;
use rustix::process::Signal;
use serde_json::json;

use crate::daemon::{Daemon, Home, with_vendor};
use crate::vendor::{Reply, Vendor};

/// A home that was in use: a source with its key, a setting, a turn.
async fn used_home() -> Arc<Home> {
    let (daemon, vendor) = with_vendor().await;
    vendor.script([Reply::text("hello")]);
    daemon.reply("hello").await;
    daemon.waiter(&["settings", "set", "core.agent.rounds", "3"]).await.ok();
    let home = Arc::clone(&daemon.home);
    stop(daemon).await;
    home
}

async fn stop(mut daemon: Daemon) {
    daemon.signal(Signal::TERM);
    daemon.child.wait().await.expect("it ends");
}

fn tamper(home: &Home, sql: &str) {
    let database = Connection::open(home.path().join("homeagent.db")).expect("it is a database");
    database.execute_batch(sql).expect("the tampering works");
}

/// What a daemon that does not start says.
async fn refusal(home: &Home) -> String {
    let refused = home.homed().stdout(Stdio::piped()).stderr(Stdio::piped()).output().await.expect("it can be started");
    let words = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success(), "it started: {words}");
    assert!(!words.contains("panicked"), "{words}");
    words
}

fn assert_says(words: &str, parts: &[&str]) {
    for part in parts {
        assert!(words.contains(part), "\"{part}\" is missing in: {words}");
    }
}

#[tokio::test]
async fn damaged_rows_keep_no_daemon_from_starting_and_each_is_said_with_what_to_do() {
    let home = used_home().await;
    home.install("probe", "probe");
    tamper(
        &home,
        "UPDATE settings SET value = x'00ff17' WHERE key = 'core.agent.rounds';
         INSERT INTO settings (key, value) VALUES ('plugin.probe.script', 'not JSON');
         UPDATE sources SET options = '{' WHERE name = 'fake';
         INSERT INTO grants (plugin, capability, detail) VALUES ('web', 'http', '{\"hosts\":');
         INSERT INTO bindings (namespace, user, role) VALUES ('qq', '10001', 'emperor');
         UPDATE secrets SET sealed = x'0011223344'",
    );
    let daemon = home.start().await;
    assert_eq!(daemon.waiter(&["settings", "get", "core.agent.rounds"]).await.ok(), "10", "the default stands");
    assert_says(&daemon.waiter(&["settings", "list"]).await.ok(), &["core.agent.rounds", "stored value"]);
    daemon.waiter(&["settings", "set", "core.agent.rounds", "4"]).await.ok();
    daemon.waiter(&["settings", "unset", "plugin.probe.script"]).await.ok();
    assert!(!daemon.waiter(&["settings", "list"]).await.ok().contains("stored value"), "setting it repairs it");
    stop(daemon).await;
    assert_says(
        &home.log(),
        &[
            "waiter settings set core.agent.rounds",
            "waiter settings set plugin.probe.script",
            "the stored source \"fake\" is damaged",
            "waiter plugin grant web http",
            "\"emperor\" of \"10001\"",
            "can't be decrypted",
        ],
    );
}

#[tokio::test]
async fn a_capability_that_was_taken_from_a_bundled_plugin_does_not_come_back_when_its_row_is_damaged() {
    let home = Arc::new(Home::new());
    let daemon = home.start().await;
    daemon.waiter(&["plugin", "revoke", "cli", "output"]).await.ok();
    stop(daemon).await;
    tamper(&home, "UPDATE grants SET detail = '{\"revok'");
    let daemon = home.start().await;
    let plugins = daemon.plugins().await;
    let cli = plugins.iter().find(|plugin| plugin["name"] == "cli").expect("it is bundled");
    assert_eq!(cli["missing"], serde_json::json!(["output"]), "{cli}");
    daemon.logged("waiter plugin grant cli output").await;
    daemon.waiter(&["plugin", "grant", "cli", "output"]).await.ok();
    stop(daemon).await;
}

#[tokio::test]
async fn tables_of_a_newer_program_are_refused_with_both_versions() {
    for component in ["settings", "secrets", "sources", "bindings", "grants", "journal"] {
        let home = Arc::new(Home::new());
        stop(home.start().await).await;
        let versions = Connection::open(home.path().join("homeagent.db")).expect("it is a database");
        let own: u32 = versions
            .query_row("SELECT version FROM schema_versions WHERE component = ?1", [component], |row| row.get(0))
            .expect("it has one");
        drop(versions);
        tamper(&home, &format!("UPDATE schema_versions SET version = 99 WHERE component = '{component}'"));
        let words = refusal(&home).await;
        assert_says(&words, &[&format!("the {component} tables"), "version 99", "up to", "newer program", "backup"]);
        tamper(&home, &format!("UPDATE schema_versions SET version = {own} WHERE component = '{component}'"));
        stop(home.start().await).await;
    }
}

#[tokio::test]
async fn a_damaged_database_is_named_and_left_as_it_is() {
    let home = used_home().await;
    let path = home.path().join("homeagent.db");
    let whole = fs::read(&path).expect("it is there");
    let mut header = whole.clone();
    header[..100].fill(0xff);
    let mut pages = whole.clone();
    pages[4096..].fill(0xff);
    let cases = [("a header overwritten", header), ("pages overwritten", pages), ("cut off", whole[..6000].to_vec())];
    for (what, bytes) in cases {
        fs::write(&path, &bytes).expect("it can be written");
        let words = refusal(&home).await;
        assert!(words.contains("homeagent.db is damaged") && words.contains("backup"), "{what}: {words}");
        assert_eq!(fs::read(&path).expect("it is there"), bytes, "{what}: the file is left as it is");
    }
    fs::write(&path, whole).expect("it can be written");
    let daemon = home.start().await;
    assert_eq!(daemon.waiter(&["settings", "get", "core.agent.rounds"]).await.ok(), "3", "the backup has everything");
}

#[tokio::test]
async fn a_damaged_page_in_the_middle_of_the_journal_is_named_and_what_lies_elsewhere_is_served() {
    const PAGE: usize = 4096;
    const MARK: &str = "this page is going to be lost";
    let (daemon, vendor) = with_vendor().await;
    vendor.always("Noted.");
    let mut runs = Vec::new();
    for number in 0..9 {
        let text = if number == 4 { MARK.to_owned() } else { "something to remember ".repeat(200) };
        let said = json!({ "text": text, "conversation": format!("c{number}") });
        let (status, result) = daemon.post("/api/v1/chat", &said).await;
        assert_eq!(status, 200, "{result}");
        runs.push(format!("/api/v1/runs/{}", result["run"].as_str().expect("a turn has a run")));
    }
    let home = Arc::clone(&daemon.home);
    stop(daemon).await;

    let path = home.path().join("homeagent.db");
    let mut bytes = fs::read(&path).expect("it is there");
    let holds = |page: &[u8]| page.windows(MARK.len()).any(|window| window == MARK.as_bytes());
    // The last: an earlier one may hold the input before the run took it.
    let place = bytes.chunks(PAGE).rposition(holds).expect("what was said is in the journal");
    assert!(place > 1 && place + 2 < bytes.len() / PAGE, "page {place} of {} is in the middle", bytes.len() / PAGE);
    bytes[place * PAGE..(place + 1) * PAGE].fill(0xa5);
    fs::write(&path, &bytes).expect("it can be written");

    let daemon = home.start().await;
    let what_to_do = ["the table events", "homeagent.db is damaged", "backup", ".recover"];
    let log = daemon.logged("the table events").await;
    assert_says(&log, &what_to_do);
    assert_says(&daemon.waiter(&["status"]).await.ok(), &["the table events"]);
    let (status, lost) = daemon.get(&runs[4]).await;
    assert_eq!(status, 500, "{lost}");
    assert_says(lost["detail"].as_str().unwrap_or_default(), &["homeagent.db is damaged", "backup"]);
    for whole in [&runs[0], &runs[8]] {
        let (status, run) = daemon.get(whole).await;
        assert_eq!((status, &run["status"]), (200, &"completed".into()), "{run}");
        assert!(run["events"].as_array().is_some_and(|events| !events.is_empty()), "{run}");
    }
    assert_eq!(daemon.get("/api/v1/runs").await.1.as_array().map(Vec::len), Some(9), "each run is still listed");
    let (_, answered) = daemon.post("/api/v1/chat", &json!({ "text": "go on", "conversation": "later" })).await;
    assert_eq!(answered["reply"], "Noted.", "{answered}");
    stop(daemon).await;
    let left = fs::read(&path).expect("it is there");
    assert!(left[place * PAGE..(place + 1) * PAGE].iter().all(|&byte| byte == 0xa5), "nothing is made up in its place");
}

#[tokio::test]
async fn a_key_file_that_does_not_fit_is_never_replaced() {
    let home = used_home().await;
    let path = home.path().join("secret.key");
    let key = fs::read(&path).expect("it was made for the source's key");
    let put = |bytes: &[u8], mode| {
        fs::write(&path, bytes).expect("it can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is ours");
    };

    fs::remove_file(&path).expect("it is there");
    assert_says(&refusal(&home).await, &["secret.key", "missing", "backup"]);
    assert!(!path.exists(), "no other key takes its place");

    put(&key[..7], 0o600);
    assert_says(&refusal(&home).await, &["secret.key", "7 bytes instead of 32", "backup"]);
    assert_eq!(fs::read(&path).expect("it is there"), &key[..7]);

    put(&key, 0o644);
    assert_says(&refusal(&home).await, &["secret.key", "chmod 600"]);

    put(&[7; 32], 0o600);
    stop(home.start().await).await;
    assert_says(&home.log(), &["can't be decrypted", "set it again", "key file"]);
    assert_eq!(fs::read(&path).expect("it is there"), [7; 32]);

    put(&key, 0o600);
    let before = home.log().matches("can't be decrypted").count();
    stop(home.start().await).await;
    assert_eq!(home.log().matches("can't be decrypted").count(), before, "the right key opens everything again");
}

#[tokio::test]
async fn files_a_daemon_can_do_without_are_said_or_made_again() {
    let home = used_home().await;
    let vendor = Vendor::start().await;
    vendor.always("well enough");
    let persona = home.path().join("personal.md");
    for (what, damage) in PERSONAS {
        remove(&persona);
        damage(&persona);
        let daemon = home.start().await;
        daemon.use_vendor(&vendor).await;
        assert_eq!(daemon.reply("hello").await, "well enough", "{what}");
        stop(daemon).await;
    }
    assert_says(&home.log(), &["personal.md can't be read", "make it a text file in UTF-8"]);
    remove(&persona);

    fs::write(home.path().join("homed.lock"), [0xff, 0x00, b'x']).expect("it can be written");
    fs::write(home.path().join("api-token"), "").expect("it can be written");
    let daemon = home.start().await;
    assert_eq!(daemon.get("/api/v1/status").await.0, 200, "an empty token is made again");
    stop(daemon).await;
    for garbage in [&b"short"[..], &[0xff, 0xfe, 0x00], "两个 词".as_bytes()] {
        fs::write(home.path().join("api-token"), garbage).expect("it can be written");
        assert_says(&refusal(&home).await, &["api-token", "remove the file"]);
    }
}

type Damage = fn(&Path);

const PERSONAS: [(&str, Damage); 3] = [
    ("not UTF-8", |path| fs::write(path, [0xff, 0xfe, b'x']).expect("it can be written")),
    ("huge", |path| fs::write(path, "长".repeat(1 << 20)).expect("it can be written")),
    ("a folder", |path| fs::create_dir(path).expect("it can be made")),
];

fn remove(path: &Path) {
    if path.is_dir() {
        fs::remove_dir(path).expect("it is empty");
    } else {
        fs::remove_file(path).expect("it is there");
    }
}

#[tokio::test]
async fn damaged_compiled_code_is_compiled_anew_and_a_cache_that_is_a_file_is_said() {
    let home = Arc::new(Home::new());
    let cache = home.path().join("cache");
    fs::remove_file(&cache).expect("it is a link");
    stop(home.start().await).await;
    let damaged = damage_compiled_code(&cache);
    assert!(damaged > 0, "compiled code is kept in {}", cache.display());
    let daemon = home.start().await;
    let plugins = daemon.plugins().await;
    assert!(plugins.iter().any(|plugin| plugin["name"] == "cli"), "{plugins:?}");
    stop(daemon).await;
    assert_says(&home.log(), &["an entry of the code cache is damaged"]);

    fs::remove_dir_all(&cache).expect("it is ours");
    fs::write(&cache, "x").expect("it can be written");
    assert_says(&refusal(&home).await, &["cache"]);
}

fn damage_compiled_code(folder: &Path) -> usize {
    let mut damaged = 0;
    for entry in fs::read_dir(folder).expect("it can be listed") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            damaged += damage_compiled_code(&path);
        } else if path.extension().is_some_and(|extension| extension == "cwasm") {
            let mut bytes = fs::read(&path).expect("it can be read");
            let middle = bytes.len() / 2;
            bytes[middle] ^= 0xff;
            fs::write(&path, bytes).expect("it can be written");
            damaged += 1;
        }
    }
    damaged
}

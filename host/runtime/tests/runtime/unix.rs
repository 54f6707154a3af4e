//! Unix sockets: of a plugin's own, and of others.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use homeagent_types::ports::{Haste, PluginAdmin as _};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};

use crate::house::{self, House, soon};

fn socket(house: &House, file: &str) -> PathBuf {
    house.folder.path().join("sockets/switchboard").join(file)
}

async fn switchboard() -> House {
    let house = house::with(&["switchboard"]).await;
    house::until(|| house.status("switchboard").sockets.len() == 2).await;
    house
}

async fn connect(path: &Path) -> BufReader<UnixStream> {
    BufReader::new(UnixStream::connect(path).await.expect("the daemon listens"))
}

async fn say(client: &mut BufReader<UnixStream>, text: &str) -> String {
    client.write_all(format!("{text}\n").as_bytes()).await.expect("the daemon reads");
    let mut line = String::new();
    soon(client.read_line(&mut line)).await.expect("the daemon answers");
    line
}

async fn ends(mut client: BufReader<UnixStream>) {
    let mut rest = Vec::new();
    // A connection that is cut is over, too.
    let _ = soon(client.read_to_end(&mut rest)).await;
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[tokio::test]
async fn a_plugin_s_own_socket_is_this_user_s_alone_and_stays_open_while_its_code_is_replaced() {
    let house = switchboard().await;
    let path = socket(&house, "wire.sock");
    assert_eq!((mode(&path), mode(path.parent().expect("a folder"))), (0o600, 0o700));
    let mut client = connect(&path).await;
    assert_eq!(say(&mut client, "who").await, "resumed false [(\"file\", \"wire.sock\")]\n");
    for round in 0..3 {
        house.runtime.reload("switchboard", Haste::default()).await.expect("the code is good");
        assert_eq!(say(&mut client, &format!("{round} 你好")).await, format!("{round} 你好\n"));
    }
    assert!(say(&mut client, "who").await.starts_with("resumed true"));
    let mut pieces = connect(&socket(&house, "raw.sock")).await;
    pieces.write_all(&[0, 255, 10]).await.expect("the daemon reads");
    let mut back = [0; 3];
    soon(pieces.read_exact(&mut back)).await.expect("the daemon answers");
    assert_eq!(back, [0, 255, 10]);
}

#[tokio::test]
async fn the_socket_goes_with_its_grant_with_its_plugin_and_with_the_daemon() {
    let house = switchboard().await;
    let path = socket(&house, "wire.sock");
    let mut client = connect(&path).await;
    say(&mut client, "hello").await;
    house.runtime.revoke("switchboard", "listen").await.expect("it has it");
    ends(client).await;
    house::until(|| !path.exists() && house.status("switchboard").sockets.is_empty()).await;
    house.runtime.grant("switchboard", "listen").await.expect("it asks for it");
    house::until(|| path.exists()).await;
    let mut client = connect(&path).await;
    say(&mut client, "hello").await;
    house.runtime.unload("switchboard").await.expect("it runs");
    ends(client).await;
    house::until(|| !path.exists()).await;
    house.runtime.load("switchboard").await.expect("it is installed");
    house::until(|| path.exists()).await;
    house.runtime.shutdown().await;
    assert!(!path.exists(), "nobody is left to listen");
}

#[tokio::test]
async fn a_dead_socket_is_replaced_and_a_file_that_is_none_is_left_and_said() {
    let house = house::empty();
    house.install("switchboard", "switchboard");
    let (dead, file) = (socket(&house, "wire.sock"), socket(&house, "raw.sock"));
    std::fs::create_dir_all(dead.parent().expect("a folder")).expect("the folder takes folders");
    drop(UnixListener::bind(&dead).expect("a socket"));
    std::fs::write(&file, "mine").expect("the folder takes files");
    house.runtime.load_all().await;
    house.grant_all().await;
    house::until(|| house.status("switchboard").sockets.len() == 2).await;
    let sockets = house.status("switchboard").sockets;
    let problem =
        |listener: &str| sockets.iter().find(|it| it.listener == listener).expect("it has it").problem.clone();
    assert_eq!(problem("wire"), None);
    assert!(problem("raw").expect("it is said").contains("raw.sock is in the way: it is not a socket"), "{sockets:?}");
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), "mine");
    assert_eq!(say(&mut connect(&dead).await, "hello").await, "hello\n");
}

#[tokio::test]
async fn hostile_clients_are_bounded() {
    let house = switchboard().await;
    let path = socket(&house, "wire.sock");
    let mut long = connect(&path).await;
    let line = vec![b'x'; (1 << 20) + 1];
    // It may be cut before all of it was written.
    let _ = long.write_all(&line).await;
    ends(long).await;
    let mut clients = Vec::new();
    while clients.len() < 32 {
        let mut client = connect(&path).await;
        // The place of the one before may not be free yet.
        client.write_all(b"hello\n").await.ok();
        let mut back = String::new();
        if soon(client.read_line(&mut back)).await.is_ok_and(|length| length > 0) {
            clients.push(client);
        }
    }
    ends(connect(&path).await).await;
    assert!(house.status("switchboard").last_error.expect("it is said").contains("has 32 already"));
    assert_eq!(say(&mut clients[0], "still here").await, "still here\n");
}

/// A house whose `dialler` may connect to these sockets.
async fn dialler(house: House, sockets: &[&Path]) -> House {
    let manifest = house.install("dialler", "dialler").join("plugin.toml");
    let text = std::fs::read_to_string(&manifest).expect("it was written");
    let listed = format!("[wants.connect]\nsockets = {}", json!(sockets));
    std::fs::write(&manifest, text.replace("[wants.connect]", &listed)).expect("the folder takes files");
    house.runtime.load_all().await;
    house.grant_all().await;
    house
}

async fn call(house: &House, tool: &str, arguments: Value) -> Value {
    let answer = house.call("dialler", tool, &arguments.to_string()).await.expect("the guest tells what came of it");
    serde_json::from_str(&answer).expect("it tells it in JSON")
}

/// Waits until the guest has seen so many things of a kind.
async fn seen(house: &House, key: &str, count: usize) -> Value {
    soon(async {
        loop {
            let seen = call(house, "seen", json!({})).await;
            if seen[key].as_array().is_some_and(|list| list.len() >= count) {
                return seen;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

fn open(path: &Path) -> Value {
    json!({ "name": "player", "url": format!("unix:{}", path.display()), "lines": true })
}

#[tokio::test]
async fn a_connection_to_a_socket_outlives_the_code_and_comes_back_when_it_is_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    // Longer than the address of a socket.
    let path = folder.path().join("long".repeat(30));
    std::fs::create_dir(&path).expect("the folder takes folders");
    let path = path.join("player.sock");
    let listener = homeagent_home::bind(&path).expect("a socket");
    listener.set_nonblocking(true).expect("a socket");
    let listener = UnixListener::from_std(listener).expect("a socket");
    let house = dialler(house::empty(), &[&path]).await;
    let mut asked = open(&path);
    asked["reconnect"] = json!(true);
    assert_eq!(call(&house, "open", asked).await, Value::Null);
    let (stream, _) = soon(listener.accept()).await.expect("the daemon connects");
    let mut player = BufReader::new(stream);
    seen(&house, "opened", 1).await;
    call(&house, "send", json!({ "text": "play" })).await;
    let mut line = String::new();
    soon(player.read_line(&mut line)).await.expect("the daemon sends");
    assert_eq!(line, "play\n");
    player.write_all(b"OK\r\nplaying 1\n").await.expect("the daemon reads");
    assert_eq!(seen(&house, "frames", 2).await["frames"], json!(["OK", "playing 1"]));
    house.runtime.reload("dialler", Haste::default()).await.expect("the code is good");
    assert_eq!(seen(&house, "opened", 1).await["opened"], json!([["player", true]]));
    player.write_all(b"stopped\n").await.expect("the daemon reads");
    assert_eq!(seen(&house, "frames", 1).await["frames"], json!(["stopped"]));
    drop(player);
    let (stream, _) = soon(listener.accept()).await.expect("the daemon connects again");
    assert_eq!(seen(&house, "opened", 2).await["opened"][1], json!(["player", false]));
    assert_eq!(call(&house, "close", json!({ "text": "player" })).await, Value::Null);
    ends(BufReader::new(stream)).await;
}

#[tokio::test]
async fn a_connection_leads_to_listed_sockets_and_never_into_the_daemon_s_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let house = house::empty();
    let home = house.folder.path().to_owned();
    let (own, link, hard, file) =
        (home.join("homed.sock"), folder.path().join("link"), folder.path().join("hard"), folder.path().join("file"));
    let _listener = UnixListener::bind(&own).expect("a socket");
    std::os::unix::fs::symlink(&own, &link).expect("the folder takes links");
    // In one file system a second name may stand beside the first.
    let is_linked = std::fs::hard_link(&own, &hard).is_ok();
    std::fs::write(&file, "").expect("the folder takes files");
    let gone = folder.path().join("gone");
    let house = dialler(house, &[&own, &link, &hard, &file, &gone]).await;
    let mut rows = vec![
        (own, "denied", "the daemon's own folder"),
        (link, "denied", "the daemon's own folder"),
        (file, "other", "not a socket"),
        (gone, "other", "no connection to"),
        (folder.path().join("unlisted"), "denied", "sockets of [wants.connect]"),
        (folder.path().join("../x"), "invalid", "whole path"),
        ("socket".into(), "invalid", "whole path"),
    ];
    if is_linked {
        rows.push((hard, "denied", "the daemon's own folder"));
    }
    for (path, kind, words) in rows {
        let answer = call(&house, "open", open(&path)).await;
        assert_eq!(answer["kind"], kind, "{}: {answer}", path.display());
        assert!(answer["message"].as_str().expect("words").contains(words), "{}: {answer}", path.display());
    }
    let mut with_secret = open(&folder.path().join("gone"));
    with_secret["secrets"] = json!(["api_key"]);
    assert_eq!(call(&house, "open", with_secret).await["kind"], "invalid");
    house.runtime.revoke("dialler", "connect").await.expect("it has it");
    let answer = call(&house, "open", open(&folder.path().join("gone"))).await;
    assert!(answer["message"].as_str().expect("words").contains("waiter plugin grant dialler connect"), "{answer}");
}

/// One of many frames, long enough that the system's buffers hold few of them.
fn long_line(number: usize) -> String {
    format!("{number} {}\n", "x".repeat(8 << 10))
}

/// Writes such lines, and counts those that were written, until it has so many or nobody is there any more.
async fn flood(to_daemon: &mut (impl tokio::io::AsyncWrite + Unpin), most: usize, written: &AtomicUsize) {
    for number in 0..most {
        if to_daemon.write_all(long_line(number).as_bytes()).await.is_err() {
            return;
        }
        written.store(number + 1, Ordering::Release);
    }
}

#[tokio::test]
async fn frames_wait_in_order_for_a_plugin_that_does_not_return_and_none_is_lost() {
    const MANY: usize = 600;
    let house = switchboard().await;
    let mut client = connect(&socket(&house, "wire.sock")).await;
    say(&mut client, "hello").await;
    let mut last = connect(&socket(&house, "wire.sock")).await;
    say(&mut last, "hello").await;
    client.write_all(b"ask the last\n").await.expect("the daemon reads");
    let mut asked = String::new();
    soon(last.read_line(&mut asked)).await.expect("it asks");
    assert!(asked.contains("from-the-handler"), "{asked}");
    let (from_daemon, mut to_daemon) = client.into_inner().into_split();
    let mut from_daemon = BufReader::new(from_daemon);
    let written = AtomicUsize::new(0);
    let answers = async {
        // As many as the queue has places, and no end of others: the daemon stops to read.
        house::until(|| written.load(Ordering::Acquire) >= 64).await;
        for _ in 0..1000 {
            tokio::task::yield_now().await;
        }
        assert!(written.load(Ordering::Acquire) < MANY / 2, "it reads on, and keeps what nobody takes");
        last.write_all(b"{\"echo\":\"from-the-handler\"}\n").await.expect("the daemon reads");
        let mut line = String::new();
        soon(from_daemon.read_line(&mut line)).await.expect("it goes on");
        assert!(line.starts_with("it said"), "{line}");
        for number in 0..MANY {
            line.clear();
            soon(from_daemon.read_line(&mut line)).await.expect("the next one");
            assert_eq!(line, long_line(number));
        }
    };
    tokio::join!(flood(&mut to_daemon, MANY, &written), answers);
}

#[tokio::test]
async fn a_client_whose_frames_are_not_taken_is_closed_and_the_owner_is_told() {
    let house = switchboard().await;
    house.settings.set("core.plugin.full_queue_ms", 1).expect("it is allowed");
    let mut client = connect(&socket(&house, "wire.sock")).await;
    assert!(say(&mut client, "ask back").await.contains("from-the-handler"));
    let written = AtomicUsize::new(0);
    soon(flood(&mut client, usize::MAX, &written)).await;
    assert!(written.into_inner() >= 64, "the queue alone has so many places");
    let said = || house.status("switchboard").last_error;
    house::until(|| said().is_some_and(|it| it.contains("switchboard took in nothing for 1 ms"))).await;
    assert_eq!(say(&mut connect(&socket(&house, "wire.sock")).await, "hello").await, "hello\n");
}

#[tokio::test]
async fn a_connection_to_another_whose_frames_are_not_taken_is_closed_after_what_waits_and_that_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("player.sock");
    let listener = UnixListener::bind(&path).expect("a socket");
    let house = dialler(house::empty(), &[&path]).await;
    house.settings.set("core.plugin.full_queue_ms", 1).expect("it is allowed");
    assert_eq!(call(&house, "open", open(&path)).await, Value::Null);
    let (stream, _) = soon(listener.accept()).await.expect("the daemon connects");
    let mut player = BufReader::new(stream);
    assert_eq!(say(&mut player, "ask back").await, "asked\n");
    let written = AtomicUsize::new(0);
    soon(flood(&mut player, usize::MAX, &written)).await;
    let told = seen(&house, "closed", 1).await;
    assert!(told["closed"][0].as_str().expect("a reason").contains("dialler took in nothing for 1 ms"), "the reason");
    let frames = told["frames"].as_array().expect("a list");
    let numbers = frames[1..].iter().map(|it| it.as_str().and_then(|it| it.split(' ').next()?.parse().ok()));
    let in_order = (0..frames.len() - 1).map(Some).collect::<Vec<Option<usize>>>();
    assert_eq!(numbers.collect::<Vec<Option<usize>>>(), in_order, "in order, without a gap");
    assert!(frames.len() > 64, "what waited comes before the end");
    assert!(house.status("dialler").last_error.expect("it is said").contains("what was sent after that is lost"));
}

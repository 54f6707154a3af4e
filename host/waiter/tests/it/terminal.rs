//! The chat on a terminal, which `script` makes.

use std::process::Stdio;
use std::time::Duration;

use homeagent_types::ports::{Frame, ToPeer};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::unix::pipe;
use tokio::process::{Child, ChildStdin, Command};
use tokio::sync::{mpsc, watch};

use crate::fakes::{ChatEnd, FakeListeners};
use crate::house::House;

/// What an editor asks a terminal: where the cursor is.
const WHERE: &str = "\u{1b}[6n";

/// A terminal with `waiter` in it. Closed when it is dropped.
struct Terminal {
    keys: mpsc::UnboundedSender<String>,
    screen: watch::Receiver<String>,
    script: Child,
}

impl Terminal {
    fn open(house: &House) -> Self {
        Self::open_where(house, "", "")
    }

    /// With shell words before and after the program.
    fn open_where(house: &House, before: &str, after: &str) -> Self {
        let program = env!("CARGO_BIN_EXE_waiter");
        let line = format!("{before} exec {program} --home {} {after}", house.home.path().display());
        let mut command = Command::new("script");
        command.args(["-qefc", &line, "/dev/null"]).env("TERM", "xterm").env_remove("HOMEAGENT_HOME");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().expect("script(1) is there");
        let (keys, pressed) = mpsc::unbounded_channel();
        tokio::spawn(press(child.stdin.take().unwrap(), pressed));
        let mut output = child.stdout.take().unwrap();
        let (shown, screen) = watch::channel(String::new());
        let answers = keys.clone();
        tokio::spawn(async move {
            let mut piece = vec![0; 64 << 10];
            while let Ok(length @ 1..) = output.read(&mut piece).await {
                let text = String::from_utf8_lossy(&piece[..length]).into_owned();
                for _ in text.matches(WHERE) {
                    let _ = answers.send("\u{1b}[1;1R".to_owned());
                }
                shown.send_modify(|screen| screen.push_str(&text));
            }
        });
        Self { keys, screen, script: child }
    }

    fn press(&self, keys: &str) {
        self.keys.send(keys.to_owned()).unwrap();
    }

    /// Waits until the screen has shown this.
    async fn shows(&mut self, text: &str) {
        let shown = self.screen.wait_for(|screen| without_sequences(screen).contains(text));
        // Generous: it only gives a test that would hang a name.
        let shown = tokio::time::timeout(Duration::from_secs(60), shown).await;
        assert!(matches!(shown, Ok(Ok(_))), "\"{text}\" was never shown");
    }
}

/// What a terminal is told, without colours and movements of the cursor.
fn without_sequences(screen: &str) -> String {
    let mut parts = screen.split('\u{1b}');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = match part.strip_prefix('[') {
            Some(rest) => rest.find(|c: char| c.is_ascii_alphabetic()).map(|end| end + 2),
            None => part.chars().next().map(char::len_utf8),
        };
        text.push_str(end.map_or("", |end| &part[end..]));
    }
    text
}

async fn press(mut stdin: ChildStdin, mut keys: mpsc::UnboundedReceiver<String>) {
    while let Some(keys) = keys.recv().await {
        if stdin.write_all(keys.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn say(slot: &ChatEnd, frame: &Value) {
    slot.say(&frame.to_string());
}

async fn heard(slot: &mut ChatEnd) -> Value {
    match slot.next().await.unwrap() {
        Frame::Text(text) => serde_json::from_str(&text).unwrap(),
        Frame::Binary(_) => panic!("the chat sends text"),
    }
}

/// A chat in which a turn is being watched, and a run of the journal that it could be.
async fn in_a_turn() -> (House, Terminal, ChatEnd, String) {
    let (listeners, mut ends) = FakeListeners::new(16);
    let house = House::with(listeners).await;
    house.settings.set("core.discovery.adopt", false).unwrap();
    let run = house.journal.start_run("cli:owner", "cli:owner", &[]).await.unwrap().run;
    let mut terminal = Terminal::open(&house);
    let mut slot = ends.recv().await.unwrap();
    say(&slot, &json!({"type": "hello", "conversation": "owner"}));
    // Keys that are pressed before it has its prompt are none to an editor.
    terminal.shows("> ").await;
    terminal.press("tell me more\r");
    assert_eq!(heard(&mut slot).await["text"], "tell me more");
    say(&slot, &json!({"type": "delta", "run": run, "kind": "text", "text": "It begins"}));
    terminal.shows("It begins").await;
    (house, terminal, slot, run)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_connection_is_read_while_somebody_types() {
    let (_house, mut terminal, mut slot, run) = in_a_turn().await;
    terminal.press("n");
    terminal.shows("interrupt> ").await;
    let piece = "and on ".repeat(16 << 10);
    for _ in 0..64 {
        say(&slot, &json!({"type": "delta", "run": run, "kind": "text", "text": piece}));
    }
    slot.to_peer.send(ToPeer::Close("all was taken".into())).unwrap();
    assert_eq!(slot.next().await.unwrap_err(), "all was taken");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_that_is_refused_does_not_end_the_watching() {
    let (_house, mut terminal, mut slot, run) = in_a_turn().await;
    terminal.press("n");
    terminal.shows("interrupt> ").await;
    terminal.press("o\r");
    let said = heard(&mut slot).await;
    assert_eq!((said["type"].as_str(), said["text"].as_str()), (Some("interrupt"), Some("no")));
    say(&slot, &json!({"type": "notice", "run": run, "code": "refused", "text": "not that word"}));
    terminal.shows("not that word").await;
    say(&slot, &json!({"type": "delta", "run": run, "kind": "text", "text": "the rest of it"}));
    terminal.shows("the rest of it").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_answer_to_somebody_else_does_not_end_the_watching() {
    let (listeners, mut ends) = FakeListeners::new(16);
    let house = House::with(listeners).await;
    house.settings.set("core.discovery.adopt", false).unwrap();
    house.journal.accept_input("cli:owner", "mine", None, json!({}), "person:cli:owner").await.unwrap();
    let other = house.journal.start_run("cli:owner", "cli:owner", &[]).await.unwrap().run;
    let own = house.journal.start_run("cli:owner", "cli:owner", &["mine".to_owned()]).await.unwrap().run;
    let mut terminal = Terminal::open(&house);
    let mut slot = ends.recv().await.unwrap();
    say(&slot, &json!({"type": "hello", "conversation": "owner"}));
    terminal.shows("> ").await;
    terminal.press("tell me more\r");
    let said = heard(&mut slot).await;
    say(&slot, &json!({"type": "accepted", "input": "mine", "id": said["id"]}));
    say(&slot, &json!({"type": "reply", "run": other, "text": "that is for another"}));
    terminal.shows("that is for another").await;
    // Pieces are shown only while a turn is watched.
    say(&slot, &json!({"type": "delta", "run": own, "kind": "text", "text": "It begins"}));
    terminal.shows("It begins").await;
}

/// A chat that goes on where its terminal's end would end it, and a pipe that ends when it does.
async fn ignoring_hangups() -> (House, Terminal, ChatEnd, pipe::Receiver) {
    let (listeners, mut ends) = FakeListeners::new(16);
    let house = House::with(listeners).await;
    house.settings.set("core.discovery.adopt", false).unwrap();
    let lives = house.home.path().join("lives");
    mknodat(CWD, &lives, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let pipe = pipe::OpenOptions::new().open_receiver(&lives).unwrap();
    let mut terminal = Terminal::open_where(&house, "trap '' HUP;", &format!("9>{}", lives.display()));
    let slot = ends.recv().await.unwrap();
    say(&slot, &json!({"type": "hello", "conversation": "owner"}));
    terminal.shows("Ctrl-D ends the chat").await;
    terminal.press("n");
    (house, terminal, slot, pipe)
}

async fn assert_ends(mut pipe: pipe::Receiver) {
    let ended = tokio::time::timeout(Duration::from_secs(60), pipe.read(&mut [0])).await;
    assert_eq!(ended.expect("it ends").unwrap(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_its_terminal_the_chat_ends_also_where_that_signal_was_ignored() {
    let (_house, mut terminal, _slot, pipe) = ignoring_hangups().await;
    terminal.script.kill().await.unwrap();
    assert_ends(pipe).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_daemon_and_terminal_the_chat_ends() {
    let (house, mut terminal, slot, pipe) = ignoring_hangups().await;
    drop((slot, house));
    terminal.script.kill().await.unwrap();
    assert_ends(pipe).await;
}

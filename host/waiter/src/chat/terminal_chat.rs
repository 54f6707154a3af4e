//! A chat with somebody who sits at a terminal.
//!
//! It is always in one of two states. While somebody types, what arrives is printed above the line by the editor. While
//! a turn is watched, its pieces are printed as they arrive; the first key pressed brings the editor back, and what
//! arrives waits until the line is entered. So nothing is ever printed into what is being typed.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::JoinHandle;

use super::editor::{Editor, Typed};
use super::frames::{FromServer, ToServer};
use super::kept::Kept;
use super::line::{Event, Line};
use super::screen::Screen;
use super::turn::TurnWatch;
use crate::client::Client;
use crate::failure::Failure;
use crate::terminal::{Hush, key_pressed, wants_colours};

const PROMPT: &str = "";
/// Said when the connection took no frame.
const NOT_SENT: &str = "there is no connection to homed right now; that was not sent";

/// The prompt for what is said to a turn that runs.
const INTERRUPT_PROMPT: &str = "interrupt";

/// How often a key watch looks whether it is still wanted.
const GLANCE_MS: i64 = 50;

struct Chat {
    client: Client,
    line: Line,
    editor: Editor,
    screen: Screen,
}

/// Runs until the user ends it.
pub(super) async fn run(home: &Path, client: Client, line: Line) -> Result<(), Failure> {
    let mut chat = Chat { client, line, editor: Editor::start(home), screen: Screen::new(wants_colours()) };
    let greeting = chat.screen.remark("Ctrl-C stops a turn, typing during one interrupts it, Ctrl-D ends the chat.");
    put(&greeting);
    let mut next = chat.read().await;
    while let Some(text) = next {
        let begun = match chat.say(&text).await {
            Some(id) => chat.watch(TurnWatch::of(id)).await?,
            None => None,
        };
        next = match begun {
            Some(text) => Some(text),
            None => chat.read().await,
        };
    }
    let Chat { line, editor, .. } = chat;
    drop(editor);
    line.close().await;
    Ok(())
}

/// How watching a turn goes on.
enum Watched {
    /// The turn has ended, or is not to be waited for.
    Done,
    /// A key was pressed.
    Key,
}

impl Chat {
    /// Reads a line that is not empty; `None` ends the chat.
    async fn read(&mut self) -> Option<String> {
        loop {
            self.editor.ask(PROMPT);
            let typed = loop {
                tokio::select! {
                    typed = self.editor.typed() => break typed,
                    event = self.line.next() => self.show_above(&event),
                }
            };
            match typed {
                Typed::Line(text) if !text.trim().is_empty() => return Some(text),
                Typed::Line(_) => {}
                Typed::Cancel => put(&self.screen.remark("Ctrl-D ends the chat.")),
                Typed::End => return None,
            }
        }
    }

    /// Shows what happens while somebody types. Pieces are left out: the whole answer follows.
    fn show_above(&mut self, event: &Event) {
        let text = match event {
            Event::Frame(FromServer::Delta { .. }) => return,
            Event::Frame(frame) => self.screen.show(frame),
            Event::Lost(reason) => self.screen.remark(&lost(reason)),
            Event::Back => self.screen.remark(BACK),
        };
        self.editor.print(&text);
    }

    /// Says it; returns what it was called, where it was sent.
    async fn say(&mut self, text: &str) -> Option<String> {
        let id = uuid::Uuid::now_v7().to_string();
        let said = self.line.send(&ToServer::Say { text, id: &id }).await;
        if !said {
            put(&self.screen.remark(NOT_SENT));
        }
        said.then_some(id)
    }

    /// Shows a turn until it has ended. What was typed too late to interrupt it is returned, to be said.
    async fn watch(&mut self, mut turn: TurnWatch) -> Result<Option<String>, Failure> {
        let mut stopping = false;
        loop {
            match self.watch_until_key(&mut turn, &mut stopping).await? {
                Watched::Done => break,
                Watched::Key => {}
            }
            put(self.screen.break_line());
            self.editor.ask(INTERRUPT_PROMPT);
            // A connection that nobody reads is cut.
            let mut kept = Kept::default();
            let typed = loop {
                tokio::select! {
                    typed = self.editor.typed() => break typed,
                    event = self.line.next() => kept.push(event),
                }
            };
            let over = self.catch_up(kept, &mut turn).await;
            match typed {
                Typed::Line(text) if text.trim().is_empty() => {}
                Typed::Line(text) if over => return Ok(Some(text)),
                Typed::Line(text) => {
                    let id = uuid::Uuid::now_v7().to_string();
                    if !self.line.send(&ToServer::Interrupt { text: &text, id: &id }).await {
                        put(&self.screen.remark(NOT_SENT));
                    }
                }
                Typed::Cancel if !over => self.stop(&mut stopping).await,
                Typed::Cancel => {}
                Typed::End => break,
            }
            if over {
                break;
            }
        }
        put(self.screen.break_line());
        Ok(None)
    }

    /// Shows what has arrived while somebody typed; returns whether there is nothing more to wait for.
    async fn catch_up(&mut self, kept: Kept, turn: &mut TurnWatch) -> bool {
        let mut over = false;
        for event in kept.into_events() {
            over |= self.show(&event, turn).await;
        }
        over
    }

    async fn stop(&mut self, stopping: &mut bool) {
        *stopping = true;
        self.line.send(&ToServer::Stop).await;
        put(&self.screen.remark("stopping; Ctrl-C again stops waiting for it"));
    }

    async fn watch_until_key(&mut self, turn: &mut TurnWatch, stopping: &mut bool) -> Result<Watched, Failure> {
        let mut keys = KeyWatch::start();
        loop {
            let next = tokio::time::timeout(turn.patience(), self.line.next());
            tokio::select! {
                event = next => match event {
                    Ok(event) => {
                        if self.show(&event, turn).await {
                            return Ok(Watched::Done);
                        }
                    }
                    Err(_) if turn.is_over(&self.client).await => return Ok(Watched::Done),
                    Err(_) => {}
                },
                () = keys.pressed() => return Ok(Watched::Key),
                heard = tokio::signal::ctrl_c() => {
                    heard.map_err(|error| {
                        Failure::Failed(format!("Ctrl-C can't be heard: {error}"))
                    })?;
                    if *stopping {
                        return Ok(Watched::Done);
                    }
                    self.stop(stopping).await;
                }
            }
        }
    }

    /// Shows what happens while a turn is watched; returns whether there is nothing more to wait for.
    async fn show(&mut self, event: &Event, turn: &mut TurnWatch) -> bool {
        match event {
            Event::Frame(frame) => {
                let own = turn.saw(frame, &self.client).await;
                put(&self.screen.show(frame));
                own && frame.ends_waiting() && (!frame.may_leave_the_turn() || turn.is_over(&self.client).await)
            }
            Event::Lost(reason) => {
                put(&self.screen.remark(&lost(reason)));
                true
            }
            Event::Back => {
                put(&self.screen.remark(BACK));
                false
            }
        }
    }
}

const BACK: &str = "homed is back.";

fn lost(reason: &str) -> String {
    format!("The connection to homed is gone ({reason}); trying to get it back.")
}

fn put(text: &str) {
    let mut stdout = std::io::stdout().lock();
    // A terminal that is gone ends the chat at the next line read.
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

/// Waits for a key without reading it, with the terminal hushed meanwhile.
struct KeyWatch {
    wanted: Arc<AtomicBool>,
    watching: Option<JoinHandle<bool>>,
    _hush: Option<Hush>,
}

impl KeyWatch {
    fn start() -> Self {
        let hush = Hush::keys();
        let wanted = Arc::new(AtomicBool::new(true));
        let still = Arc::clone(&wanted);
        let watching = tokio::task::spawn_blocking(move || {
            while still.load(Ordering::Relaxed) {
                match key_pressed(GLANCE_MS) {
                    Ok(false) => {}
                    Ok(true) => return true,
                    Err(_) => return false,
                }
            }
            false
        });
        Self { wanted, watching: Some(watching), _hush: hush }
    }

    /// Waits for a key. Cancel-safe.
    async fn pressed(&mut self) {
        if let Some(watching) = &mut self.watching {
            let pressed = watching.await.unwrap_or(false);
            self.watching = None;
            if pressed {
                return;
            }
        }
        std::future::pending::<()>().await;
    }
}

impl Drop for KeyWatch {
    fn drop(&mut self) {
        self.wanted.store(false, Ordering::Relaxed);
    }
}

//! The line editor. It blocks while it reads, so it has a thread of its own.

use std::borrow::Cow;
use std::fs::{OpenOptions, Permissions};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::time::Duration;

use reedline::{ExternalPrinter, FileBackedHistory, Prompt, PromptEditMode, PromptHistorySearch, Reedline, Signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const KEPT_LINES: usize = 1000;
/// How long the thread that reads is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// How many lines may wait for the printer while somebody types.
const PRINTED_AT_ONCE: usize = 1024;

/// What came of reading a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A line.
    Line(String),
    /// Ctrl-C.
    Cancel,
    /// Ctrl-D, or the terminal is gone.
    End,
}

pub(crate) struct Editor {
    /// A prompt for each line to read. Dropped, it ends the thread.
    asks: Option<std::sync::mpsc::Sender<&'static str>>,
    answers: UnboundedReceiver<Typed>,
    printer: SyncSender<String>,
    give_up: Arc<AtomicBool>,
    /// Ends with the thread.
    ended: Receiver<()>,
}

impl Editor {
    /// An editor with the lines typed earlier, which are kept in the data folder.
    pub(crate) fn start(home: &Path) -> Self {
        let printer = ExternalPrinter::new(PRINTED_AT_ONCE);
        let sender = printer.sender();
        let give_up = Arc::new(AtomicBool::new(false));
        let mut editor = Reedline::create().with_external_printer(printer).with_break_signal(Arc::clone(&give_up));
        // Without a history there is still an editor.
        if let Some(history) = history(home) {
            editor = editor.with_history(Box::new(history));
        }
        let (asks, to_ask) = std::sync::mpsc::channel();
        let (answer, answers) = unbounded_channel();
        let (ends, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            read_lines(editor, &to_ask, &answer);
            drop(ends);
        });
        Self { asks: Some(asks), answers, printer: sender, give_up, ended }
    }

    /// Begins to read a line; [`Editor::typed`] has what came of it.
    pub(crate) fn ask(&self, prompt: &'static str) {
        if let Some(asks) = &self.asks {
            // A thread that has ended answers with the end of its channel.
            let _ = asks.send(prompt);
        }
    }

    /// Waits for the line. Cancel-safe.
    pub(crate) async fn typed(&mut self) -> Typed {
        self.answers.recv().await.unwrap_or(Typed::End)
    }

    /// Prints above the line that is being typed.
    pub(crate) fn print(&self, text: &str) {
        for line in text.lines() {
            // Somebody who leaves a thousand lines waiting loses the next one.
            let _ = self.printer.try_send(line.to_owned());
        }
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.asks = None;
        self.give_up.store(true, Ordering::SeqCst);
        // It ends within a tenth of a second, and puts the terminal back as it was; but where the terminal is gone it reads
        // from nowhere without end, and is left behind.
        let _ = self.ended.recv_timeout(PATIENCE);
    }
}

fn read_lines(mut editor: Reedline, asks: &Receiver<&'static str>, answers: &UnboundedSender<Typed>) {
    while let Ok(prompt) = asks.recv() {
        let typed = match editor.read_line(&Plain(prompt)) {
            Ok(Signal::Success(line)) => Typed::Line(line),
            Ok(Signal::CtrlC) => Typed::Cancel,
            Ok(Signal::ExternalBreak(_)) => return,
            Ok(_) | Err(_) => Typed::End,
        };
        if answers.send(typed).is_err() {
            return;
        }
    }
}

fn history(home: &Path) -> Option<FileBackedHistory> {
    let path = home.join("waiter-history");
    // What one types is one's own: the file is closed to others before there is anything in it.
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path).ok()?;
    file.set_permissions(Permissions::from_mode(0o600)).ok()?;
    FileBackedHistory::with_file(KEPT_LINES, path).ok()
}

/// A prompt that is a text and nothing else.
struct Plain(&'static str);

impl Prompt for Plain {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("> ")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("  ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!("(search: {}) ", search.term))
    }
}

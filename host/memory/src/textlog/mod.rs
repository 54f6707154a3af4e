//! The raw dialogue as lines of JSON under `logs/dialogue/`, for people and their programs. Nothing is ever read back
//! from it: the journal is what counts.

mod files;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use homeagent_journal::Event;
use homeagent_settings::{Settings, SettingsError};
use serde::Serialize;
use tokio::sync::oneshot;

use crate::said::{Said, Speaker};
use files::Files;

/// How many lines may wait for the disk; what comes beyond that is not logged, and counted.
const WAITING: usize = 1024;

const MIB: u64 = 1 << 20;
const DAY_MS: i64 = 24 * 3_600_000;

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Keeping {
    /// Whether anything is written.
    on: bool,
    /// How large a file becomes before another is begun.
    file_bytes: u64,
    /// How old a file becomes before it is removed.
    age_ms: i64,
}

impl Keeping {
    fn read(settings: &Settings) -> Result<Self, SettingsError> {
        Ok(Self {
            on: settings.boolean("core.memory.text_log")?,
            file_bytes: u64::try_from(settings.integer("core.memory.text_log_mib")?).unwrap_or(1).saturating_mul(MIB),
            age_ms: settings.integer("core.memory.text_log_days")?.saturating_mul(DAY_MS),
        })
    }
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    /// When it was said: RFC 3339, in UTC.
    pub at: String,
    /// Its place in the journal.
    pub seq: i64,
    /// Where.
    pub conversation: String,
    /// The session.
    pub session: String,
    /// Who may see it.
    pub audience: String,
    /// `user` or `assistant`.
    pub role: &'static str,
    /// Who said it; none: the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speaker: Option<String>,
    /// What was said.
    pub text: String,
}

/// The log. Clones share it; its thread ends, after what it was told, when the last is dropped.
#[derive(Clone)]
pub struct TextLog {
    tell: SyncSender<Told>,
    folder: PathBuf,
    lost: Arc<Mutex<u64>>,
}

/// What becomes of a line; none: it goes.
pub(crate) type Rewriting = Box<dyn Fn(&str) -> Option<String> + Send>;

enum Told {
    Line(Box<Line>, i64),
    Flush(oneshot::Sender<()>),
    Rewrite(Rewriting, bool, oneshot::Sender<std::io::Result<usize>>),
}

impl TextLog {
    /// Starts the log of a home folder. The settings count from line to line.
    ///
    /// # Errors
    ///
    /// A thread that can't be started.
    pub fn start(home: &Path, settings: Settings) -> std::io::Result<Self> {
        let folder = home.join("logs").join("dialogue");
        let (tell, told) = sync_channel(WAITING);
        let files = Files::new(folder.clone());
        std::thread::Builder::new().name("text-log".to_owned()).spawn(move || write(&told, files, &settings))?;
        Ok(Self { tell, folder, lost: Arc::default() })
    }

    /// Where its files are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Logs what an event of the journal says that was said; other events are not logged. Never waits: where the disk
    /// does not keep up, a line is lost, and that is said.
    pub fn note(&self, event: &Event) {
        let Some(said) = Said::read(event) else { return };
        let at = jiff::Timestamp::from_millisecond(said.at_ms).map_or_else(|_| String::new(), |at| at.to_string());
        let speaker = said.account();
        let line = Line {
            at,
            seq: said.seq,
            role: if said.speaker == Speaker::Agent { "assistant" } else { "user" },
            speaker,
            audience: said.audience.to_string(),
            conversation: said.conversation,
            session: said.session,
            text: said.text,
        };
        self.put(line, said.at_ms);
    }

    fn put(&self, line: Line, at_ms: i64) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        match self.tell.try_send(Told::Line(Box::new(line), at_ms)) {
            Ok(()) if *lost > 0 => {
                tracing::warn!(lines = *lost, "lines of the text log were lost: the disk did not keep up");
                *lost = 0;
            }
            Ok(()) => {}
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => *lost += 1,
        }
    }

    /// Has each line of all files become what `change` says. Returns how many are others now, or gone; in a
    /// dry run how many would be.
    ///
    /// # Errors
    ///
    /// What the file system answers; files before that are rewritten.
    pub(crate) async fn rewrite(&self, change: Rewriting, dry_run: bool) -> std::io::Result<usize> {
        let (done, wait) = oneshot::channel();
        let tell = self.tell.clone();
        let told = tokio::task::spawn_blocking(move || tell.send(Told::Rewrite(change, dry_run, done)).is_ok()).await;
        let gone = || std::io::Error::other("the thread of the text log is gone; restart the daemon");
        if !told.unwrap_or(false) {
            return Err(gone());
        }
        wait.await.map_err(|_| gone())?
    }

    /// Returns once all that was logged is written, or could not be.
    pub async fn flush(&self) {
        let (done, wait) = oneshot::channel();
        let tell = self.tell.clone();
        let told = tokio::task::spawn_blocking(move || tell.send(Told::Flush(done)).is_ok()).await;
        if told.unwrap_or(false) {
            // An error says that the thread is gone.
            let _ = wait.await;
        }
    }
}

/// Writes lines until nobody logs any more.
fn write(told: &Receiver<Told>, mut files: Files, settings: &Settings) {
    let mut failing = false;
    while let Ok(told) = told.recv() {
        match told {
            Told::Flush(done) => drop(done.send(())),
            Told::Rewrite(change, dry_run, done) => drop(done.send(files.rewrite(&change, dry_run))),
            Told::Line(line, at_ms) => {
                let Ok(keeping) = Keeping::read(settings) else { continue };
                if !keeping.on {
                    files.close();
                    continue;
                }
                let written = serde_json::to_string(&*line)
                    .map_err(std::io::Error::other)
                    .and_then(|text| files.append(&text, at_ms, keeping.file_bytes, keeping.age_ms));
                match written {
                    Err(error) if !failing => {
                        tracing::warn!(%error, "the text log is not written; all that was said is in the journal");
                        failing = true;
                    }
                    Err(_) => {}
                    Ok(()) => failing = false,
                }
            }
        }
    }
}

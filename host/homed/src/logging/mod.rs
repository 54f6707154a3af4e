//! The log: files below `logs/`, the standard error of a daemon that nobody chats in, the last problems for whoever asks
//! how the daemon is, and spans for a collector.

mod files;
mod otel;
mod problems;

use std::io::IsTerminal as _;
use std::path::Path;

use homeagent_settings::{Secrets, Settings};
use tokio::sync::broadcast::error::RecvError;
use tokio_util::task::AbortOnDropHandle;
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::{EnvFilter, LevelFilter};
use tracing_subscriber::layer::{Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Registry, reload};

use self::files::{Bounds, LogFiles};
use self::otel::Export;
pub(crate) use self::problems::Problems;
use crate::complain;

/// In place of the setting.
const VARIABLE: &str = "HOMEAGENT_LOG";

/// The setting of how much is logged.
const LEVEL: &str = "core.log.level";

/// Lines that may wait for the disk, or for whoever reads the standard error; further ones are dropped rather than hold
/// up whoever logs.
const WAITING_LINES: usize = 16_384;

/// A part of what the log goes to.
pub(crate) type Sink = Box<dyn Layer<Registry> + Send + Sync>;

/// The log at work. What still waits is written when it is dropped.
pub(crate) struct Log {
    /// The last warnings and errors.
    pub(crate) problems: Problems,
    /// Lines that were dropped because too many waited for the disk.
    pub(crate) dropped: ErrorCounter,
    spans: Export,
    _level: Option<AbortOnDropHandle<()>>,
    _writers: Vec<WorkerGuard>,
}

impl Log {
    /// Starts to log as `core.log.level` says, also when that changes, or as `HOMEAGENT_LOG` said at the start. `quiet`
    /// keeps the standard error for a chat.
    pub(crate) fn start(home: &Path, settings: &Settings, secrets: &Secrets, quiet: bool) -> Self {
        let files = LogFiles::new(home.join("logs"), bounds(settings));
        let builder = || NonBlockingBuilder::default().buffered_lines_limit(WAITING_LINES).thread_name("log");
        let (writer, guard) = builder().finish(files);
        let dropped = writer.error_counter();
        let mut writers = vec![guard];
        let mut sinks: Vec<Sink> = vec![tracing_subscriber::fmt::layer().with_ansi(false).with_writer(writer).boxed()];
        if !quiet {
            let ansi = std::io::stderr().is_terminal();
            let (writer, guard) = builder().finish(std::io::stderr());
            writers.push(guard);
            sinks.push(tracing_subscriber::fmt::layer().with_ansi(ansi).with_writer(writer).boxed());
        }
        let given = given_level();
        let fixed = given.is_some();
        let (filter, handle) = reload::Layer::new(given.unwrap_or_else(|| at_level(settings)));
        let problems = Problems::default();
        let (spans, switch) = otel::layer();
        let all: Vec<Sink> =
            vec![sinks.with_filter(filter).boxed(), problems.layer().with_filter(LevelFilter::WARN).boxed(), spans];
        if let Err(error) = tracing_subscriber::registry().with(all).try_init() {
            complain(&format!("there will be no log: {error}"));
        }
        let level = (!fixed).then(|| AbortOnDropHandle::new(tokio::spawn(follow(settings.clone(), handle))));
        let spans = Export::start(switch, settings, secrets);
        Self { problems, dropped, spans, _level: level, _writers: writers }
    }

    /// Hands over the last spans, within a few seconds. Files are written until the log is dropped.
    pub(crate) async fn finish_spans(&mut self) {
        self.spans.finish().await;
    }
}

/// What the environment says; nothing where it is empty or can't be read.
fn given_level() -> Option<EnvFilter> {
    let given = std::env::var(VARIABLE).ok().filter(|given| !given.trim().is_empty())?;
    let read = EnvFilter::try_new(&given);
    let not_read = |error: &dyn std::fmt::Display| {
        complain(&format!("{VARIABLE} can't be read, and {LEVEL} says how much is logged: {error}"));
    };
    read.inspect_err(|error| not_read(error)).ok()
}

fn at_level(settings: &Settings) -> EnvFilter {
    // A value that can't be read means a damaged row, for which the default stands.
    EnvFilter::new(settings.text(LEVEL).unwrap_or_else(|_| "info".to_owned()))
}

fn bounds(settings: &Settings) -> impl Fn() -> Bounds + Send + 'static {
    let settings = settings.clone();
    move || {
        let number =
            |key, fallback| settings.integer(key).ok().and_then(|value| u64::try_from(value).ok()).unwrap_or(fallback);
        Bounds {
            days: number("core.log.days", 14),
            file: number("core.log.file_mib", 64) << 20,
            total: number("core.log.total_mib", 512) << 20,
        }
    }
}

/// Logs at another level as soon as the setting says so.
async fn follow(settings: Settings, handle: reload::Handle<EnvFilter, Registry>) {
    let mut changes = settings.subscribe();
    loop {
        match changes.recv().await {
            Ok(key) if *key != *LEVEL => {}
            Ok(_) | Err(RecvError::Lagged(_)) => {
                if let Err(error) = handle.reload(at_level(&settings)) {
                    tracing::warn!(%error, "the log's level can't be changed before the next start");
                }
            }
            Err(RecvError::Closed) => return,
        }
    }
}

/// Runs `work` with this subscriber, and with no other at the same time: what one wants is kept for the whole process.
#[cfg(test)]
fn alone_with<T>(subscriber: impl tracing::Subscriber + Send + Sync + 'static, work: impl FnOnce() -> T) -> T {
    static ALONE: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _alone = ALONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    tracing::subscriber::with_default(subscriber, work)
}

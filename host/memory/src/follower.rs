//! Follows the journal: what was said becomes passages that can be found, and who was heard where is noted.
//!
//! How far it is stands in the database. It is written after what it counts, so that whatever was read when the daemon died
//! is read once more: putting a passage twice changes nothing.

use std::time::Duration;

use homeagent_journal::{Event, EventFilter, EventKind, Journal, JournalError, Seq};
use homeagent_settings::{Database, DatabaseError, Settings};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use rusqlite::OptionalExtension as _;
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use crate::Audiences;
use crate::index::{Index, Passage, PassageKind};
use crate::said::{Said, Speaker};
use crate::textlog::TextLog;
use crate::zone::zone;

const MIGRATIONS: &[&str] = &["
-- Up to which event of the journal each part has read.
CREATE TABLE followers (
    name TEXT PRIMARY KEY,
    seq INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"];

/// Its own name among those that follow.
const NAME: &str = "passages";

/// How long it waits after an error.
const PAUSE: Duration = Duration::from_secs(10);

/// How far it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Following {
    /// The last event that it has read.
    pub reached: Seq,
    /// The last event there is.
    pub tip: Seq,
    /// What went wrong last, if it did not go well since.
    pub error: Option<String>,
}

/// Why it does not go on.
#[derive(Debug, thiserror::Error)]
enum FollowError {
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("the work was broken off: {0}")]
    Broken(#[from] JoinError),
}

/// Reads the journal for the index.
pub(crate) struct Follower {
    database: Database,
    journal: Journal,
    settings: Settings,
    index: Index,
    audiences: Audiences,
    text_log: TextLog,
    state: watch::Sender<Following>,
}

/// What a stretch of the journal says.
#[derive(Default)]
pub(crate) struct Stretch {
    said: Vec<Said>,
    /// The events of runs whose inputs were given back: another run says them again.
    returned: Vec<String>,
    /// What is said in them goes into the text log.
    events: Vec<Event>,
    /// Its last event; the one after which was asked where there is no more.
    pub(crate) reached: Seq,
}

impl Stretch {
    /// What the journal has after an event, a stretch of it.
    pub(crate) async fn read(journal: &Journal, after: Seq) -> Result<Self, JournalError> {
        let kinds = vec![EventKind::UserMessageAdded, EventKind::AssistantMessageAdded, EventKind::RunFailed];
        let filter = EventFilter { kinds, hidden: true, ..EventFilter::default() };
        let tail = journal.events_after(after, filter).await?;
        let mut stretch = Self { reached: tail.reached, ..Self::default() };
        for event in &tail.events {
            stretch.said.extend(Said::read(event));
            if let Some(run) = returned(event) {
                let events = journal.run_events(run).await?;
                stretch.returned.extend(events.iter().map(|event| event.seq.to_string()));
            }
        }
        stretch.events = tail.events;
        Ok(stretch)
    }

    /// Has the index hold what it says: what is there already changes nothing. Blocks.
    pub(crate) fn index(&self, index: &Index, audiences: &Audiences, zone: &TimeZone) -> Result<(), DatabaseError> {
        for said in &self.said {
            if let Speaker::Person(who) = &said.speaker {
                audiences.heard(who, &said.audience)?;
            }
        }
        let passages: Vec<Passage> = self.said.iter().map(|said| passage(said, zone)).collect();
        index.put(&passages)?;
        if !self.returned.is_empty() {
            for kind in [PassageKind::Said, PassageKind::Answered] {
                index.remove(kind, &self.returned)?;
            }
        }
        Ok(())
    }
}

impl Follower {
    pub(crate) fn open(
        database: &Database,
        journal: Journal,
        settings: Settings,
        index: Index,
        audiences: Audiences,
        text_log: TextLog,
    ) -> Result<Self, DatabaseError> {
        database.migrate("followers", MIGRATIONS)?;
        let reached = database.read("reading how far the journal was read", |connection| {
            let sql = "SELECT seq FROM followers WHERE name = ?1";
            connection.query_row(sql, [NAME], |row| row.get::<_, Seq>(0)).optional()
        })?;
        let state = Following { reached: reached.unwrap_or(0), ..Following::default() };
        Ok(Self {
            database: database.clone(),
            journal,
            settings,
            index,
            audiences,
            text_log,
            state: watch::Sender::new(state),
        })
    }

    /// How far it is.
    pub(crate) fn state(&self) -> watch::Receiver<Following> {
        self.state.subscribe()
    }

    /// Follows until it is told to stop.
    pub(crate) async fn run(self, stop: CancellationToken) {
        let mut tip = self.journal.tip();
        loop {
            let end = *tip.borrow_and_update();
            self.state.send_modify(|state| state.tip = end);
            let advanced = tokio::select! {
                () = stop.cancelled() => return,
                advanced = self.advance() => advanced,
            };
            let error = match advanced {
                Ok(true) => continue,
                Ok(false) => None,
                Err(error) => Some(error.to_string()),
            };
            if let Some(error) = &error {
                tracing::warn!(error, "what was said lately can't be indexed; it is tried again");
            }
            let failed = error.is_some();
            self.state.send_modify(|state| state.error = error);
            tokio::select! {
                () = stop.cancelled() => return,
                changed = tip.changed(), if !failed => if changed.is_err() { return },
                () = tokio::time::sleep(PAUSE), if failed => {}
            }
        }
    }

    /// Takes the next stretch in; false: there is none.
    async fn advance(&self) -> Result<bool, FollowError> {
        let after = self.state.borrow().reached;
        let mut stretch = Stretch::read(&self.journal, after).await?;
        if stretch.reached == after {
            return Ok(false);
        }
        let (reached, events) = (stretch.reached, std::mem::take(&mut stretch.events));
        let (database, index, audiences) = (self.database.clone(), self.index.clone(), self.audiences.clone());
        let zone = zone(&self.settings);
        let text_log = self.text_log.clone();
        let work = move || {
            stretch.index(&index, &audiences, &zone)?;
            note_reached(&database, stretch.reached)?;
            // Not before: a stretch that can't be taken in is read again. And on this thread, which a stop does not end.
            for event in &events {
                text_log.note(event);
            }
            Ok::<_, DatabaseError>(())
        };
        tokio::task::spawn_blocking(work).await??;
        if reached < *self.journal.tip().borrow() {
            // While it catches up it is faster than the disk.
            self.text_log.flush().await;
        }
        self.state.send_modify(|state| state.reached = reached);
        Ok(true)
    }
}

/// The run that gave its inputs back, where an event says so.
fn returned(event: &Event) -> Option<&str> {
    let gave_back = event.payload["result"]["inputs_returned"].as_array().is_some_and(|inputs| !inputs.is_empty());
    event.run.as_deref().filter(|_| event.kind == EventKind::RunFailed && gave_back)
}

fn note_reached(database: &Database, reached: Seq) -> Result<(), DatabaseError> {
    database.write("noting how far the journal was read", |transaction| {
        let sql = "INSERT INTO followers (name, seq) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET seq = ?2";
        transaction.execute(sql, (NAME, reached)).map(drop)
    })
}

/// What is found of it later.
pub(crate) fn passage(said: &Said, zone: &TimeZone) -> Passage {
    let at = Timestamp::from_millisecond(said.at_ms).unwrap_or(Timestamp::UNIX_EPOCH);
    // A session of the journal may go on for months: what belongs together was said on one day.
    let day = at.to_zoned(zone.clone()).date();
    Passage {
        kind: if said.speaker == Speaker::Agent { PassageKind::Answered } else { PassageKind::Said },
        origin: said.seq.to_string(),
        part: 0,
        conversation: said.conversation.clone(),
        session: format!("{}/{day}", said.session),
        position: said.seq,
        speaker: said.name().unwrap_or_default(),
        audience: said.audience.clone(),
        at_ms: said.at_ms,
        text: said.text.clone(),
    }
}

//! Following the journal: whoever knows up to where they have read gets what came after, however slow they are.

use std::collections::BTreeSet;

use rusqlite::{Connection, params};
use tokio::sync::watch;

use crate::error::JournalError;
use crate::event::{COLUMNS, Event, EventKind, Seq, read_rows, say_damaged};
use crate::journal::Journal;

/// How many events one reading looks at, at most.
const MOST_ROWS: u32 = 256;

/// How many bytes of payload one reading collects before it stops; the event that passes it is the last.
const MOST_BYTES: usize = 1 << 20;

/// Which events somebody wants to follow. The default takes all but the hidden ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only those of this conversation.
    pub conversation: Option<String>,
    /// Only those of this run.
    pub run: Option<String>,
    /// Only these kinds, unless empty.
    pub kinds: Vec<EventKind>,
    /// Hidden ones too.
    pub hidden: bool,
}

impl EventFilter {
    fn takes(&self, event: &Event) -> bool {
        (self.hidden || !event.hidden)
            && self.conversation.as_ref().is_none_or(|wanted| *wanted == event.conversation)
            && self.run.as_ref().is_none_or(|wanted| event.run.as_ref() == Some(wanted))
            && (self.kinds.is_empty() || self.kinds.contains(&event.kind))
    }
}

/// A stretch of the journal.
#[derive(Clone, Debug, PartialEq)]
pub struct Tail {
    /// The wanted events in it, in order.
    pub events: Vec<Event>,
    /// Up to where it goes; the next one begins after that.
    pub reached: Seq,
}

impl Journal {
    /// The place of the last event on the disk, 0 in an empty journal; the receiver is told of each later one.
    #[must_use]
    pub fn tip(&self) -> watch::Receiver<Seq> {
        self.writer.tip()
    }

    /// The next events after the place `after`, of some hundred events and about a mebibyte of payload at most. When
    /// `reached` is `after` there are none yet. An event that is damaged is left out, and said in the log.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub async fn events_after(&self, after: Seq, filter: EventFilter) -> Result<Tail, JournalError> {
        self.readers.read("following the journal", move |connection| read(connection, after, &filter)).await
    }
}

impl Journal {
    /// The events at these places, in the order of the journal; those that are not there, or are damaged, are left out.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub async fn events_at(&self, places: Vec<Seq>) -> Result<Vec<Event>, JournalError> {
        let read = move |connection: &Connection| {
            let sql = format!("SELECT {COLUMNS} FROM events WHERE seq = ?1");
            let mut statement = connection.prepare_cached(&sql)?;
            let places: BTreeSet<Seq> = places.into_iter().collect();
            let mut events = Vec::with_capacity(places.len());
            for place in places {
                events.append(&mut read_rows(statement.query([place])?, Event::read)?);
            }
            Ok(events)
        };
        self.readers.read("reading events", read).await
    }
}

fn read(connection: &Connection, after: Seq, filter: &EventFilter) -> rusqlite::Result<Tail> {
    let mut tail = Tail { events: Vec::new(), reached: after };
    let mut bytes = 0;
    let mut statement =
        connection.prepare_cached(&format!("SELECT {COLUMNS} FROM events WHERE seq > ?1 ORDER BY seq LIMIT ?2"))?;
    let mut rows = statement.query(params![after, MOST_ROWS])?;
    while let Some(row) = rows.next()?
        && bytes < MOST_BYTES
    {
        tail.reached = row.get(0)?;
        match Event::read(row) {
            Ok(event) if filter.takes(&event) => {
                bytes += row.get_ref(8)?.as_bytes().map_or(0, <[u8]>::len);
                tail.events.push(event);
            }
            Ok(_) => {}
            Err(error) => say_damaged(row, &error),
        }
    }
    Ok(tail)
}

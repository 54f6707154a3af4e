//! The append-only record of everything that happened: sessions, runs and events, in the daemon's database.
//!
//! It is the only source of truth for history. Windows, documents and graphs are views over it: pruning them loses
//! nothing. What is acknowledged here is on the disk. One thread writes; it puts whatever waits into one transaction,
//! so that many conversations share one `fsync`.
//!
//! Payloads are JSON whose shape is the agent's matter. The journal looks at three fields only: [`INPUT_ID`],
//! [`OUTPUT_ID`] and [`EFFECT`].

mod checkpoint;
mod error;
mod event;
mod forget;
mod input;
mod journal;
mod meters;
mod readers;
mod recovery;
mod rename;
mod run;
mod schema;
mod session;
mod tail;
mod writer;

pub use error::JournalError;
pub use event::{EFFECT, Event, EventKind, INPUT_ID, NewEvent, OUTPUT_ID, Seq};
pub use forget::{Blank, FORGOTTEN};
pub use input::Acceptance;
pub use journal::Journal;
pub use meters::describe as describe_metrics;
pub use recovery::{PendingInput, RETURNED_BY_RUN, Recovery, STOPPED_DURING_RUN, UnknownOutput};
pub use rename::RenamedIn;
pub use run::{Run, RunStatus, Started};
pub use session::Session;
pub use tail::{EventFilter, Tail};

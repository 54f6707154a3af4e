//! The ledger: every call of a model with what it used and cost, and whether one more may be made.
//!
//! What was spent is summed up in memory, under one lock with what is set aside for calls that run; so however many calls
//! begin at one time, together they stay within the limits. The disk follows, written by a thread of its own.
//!
//! That thread's commits do not wait for the disk. They outlive the daemon as they are; of a computer that loses its power
//! they are whole up to the journal's last commit, which goes to the same file and does wait.

mod call;
mod report;
mod sums;
mod writer;

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use homeagent_types::Role;
use homeagent_types::money::Amount;
use jiff::civil::Date;
use tokio::sync::oneshot;

use crate::database::{Database, DatabaseError};

pub use self::call::{Call, CallState, Charge, Usage};
pub use self::report::{CostKey, CostLine, CostSpan};
use self::sums::Sums;
use self::writer::{Job, Writer};

const MIGRATIONS: &[&str] = &["
CREATE TABLE model_calls (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,          -- milliseconds since 1970
    day TEXT NOT NULL,            -- of the user, as it was then
    source TEXT NOT NULL,
    model TEXT NOT NULL,
    line TEXT NOT NULL,
    run TEXT NOT NULL,            -- in this and the next columns '' is none
    conversation TEXT NOT NULL,
    principal TEXT NOT NULL,
    role TEXT NOT NULL,
    plugin TEXT NOT NULL,
    state TEXT NOT NULL,          -- reserved, settled, cancelled, lost
    failure TEXT NOT NULL,        -- the class of the failure it ended with
    local INTEGER NOT NULL,       -- costs nothing and counts for no limit
    counted INTEGER NOT NULL,     -- the vendor counted the tokens; else they are estimated
    input INTEGER NOT NULL,
    cached INTEGER NOT NULL,
    written INTEGER NOT NULL,
    output INTEGER NOT NULL,
    currency TEXT NOT NULL,       -- '' where no price is known
    cost INTEGER NOT NULL         -- billionths of the currency's unit
) STRICT;
CREATE INDEX model_calls_by_day ON model_calls (day);
CREATE INDEX model_calls_by_run ON model_calls (run) WHERE run <> '';
CREATE INDEX model_calls_open ON model_calls (id) WHERE state = 'reserved';
CREATE TABLE model_days (
    day TEXT NOT NULL, source TEXT NOT NULL, model TEXT NOT NULL, line TEXT NOT NULL, conversation TEXT NOT NULL,
    principal TEXT NOT NULL, role TEXT NOT NULL, plugin TEXT NOT NULL, local INTEGER NOT NULL, currency TEXT NOT NULL,
    calls INTEGER NOT NULL, estimated INTEGER NOT NULL,
    input INTEGER NOT NULL, cached INTEGER NOT NULL, written INTEGER NOT NULL, output INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    PRIMARY KEY (day, source, model, line, conversation, principal, role, plugin, local, currency)
) STRICT, WITHOUT ROWID;
CREATE VIEW model_costs AS
    SELECT day, source, model, line, run, conversation, principal, role, plugin, local, currency,
        1 AS calls, 1 - counted AS estimated, input, cached, written, output, cost FROM model_calls
    UNION ALL
    SELECT day, source, model, line, '', conversation, principal, role, plugin, local, currency,
        calls, estimated, input, cached, written, output, cost FROM model_days;"];

/// The ledger. Clones share it.
#[derive(Clone)]
pub struct Ledger {
    shared: Arc<Shared>,
}

struct Shared {
    database: Database,
    sums: Mutex<Sums>,
    next: AtomicI64,
    writer: Writer,
}

/// A limit on what may be spent on some days.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CostLimit {
    /// Whose calls count; everybody's where it is none. Beside guests, the role `guest` means plugins that ask by
    /// themselves: nobody whom the owner has named stands behind those.
    pub role: Option<Role>,
    /// The first day.
    pub since: Date,
    /// The last day.
    pub until: Date,
    /// The most.
    pub most: Amount,
}

impl CostLimit {
    /// Whether calls by this role count.
    fn concerns(&self, role: Role) -> bool {
        match self.role {
            None => true,
            Some(Role::Guest) => matches!(role, Role::Guest | Role::Plugin),
            Some(only) => only == role,
        }
    }
}

/// A limit leaves too little for a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitReached {
    /// The place of the limit among those that were given.
    pub limit: usize,
    /// What is spent, with what is set aside for calls that run.
    pub spent: Amount,
    /// What the call may take.
    pub wanted: Amount,
}

/// What is set aside for a call. It has to be settled; see [`Ledger::settle`].
#[derive(Debug)]
pub struct Reserved {
    id: i64,
    day: Date,
    role: Role,
    local: bool,
    charge: Charge,
}

impl Ledger {
    /// Reads what was spent of late. Calls that were under way when the daemon ended count as spent, since nobody knows
    /// what became of them.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(database: &Database) -> Result<Self, DatabaseError> {
        database.migrate("ledger", MIGRATIONS)?;
        let lost = database.write("closing what the last run left open", |transaction| {
            transaction.execute("UPDATE model_calls SET state = 'lost' WHERE state = 'reserved'", [])
        })?;
        if lost > 0 {
            database
                .remark(format!("calls of models that were under way when the daemon ended count as spent: {lost}"));
        }
        let last: i64 = database.read("reading the ledger", |connection| {
            connection.query_row("SELECT COALESCE(MAX(id), 0) FROM model_calls", [], |row| row.get(0))
        })?;
        let sums = Sums::read(database)?;
        let writer = Writer::start(database)?;
        let next = AtomicI64::new(last.saturating_add(1));
        Ok(Self { shared: Arc::new(Shared { database: database.clone(), sums: Mutex::new(sums), next, writer }) })
    }

    /// Sets aside what a call may take, unless a limit leaves less: then nothing changes. What comes of writing it down is
    /// told by the receiver; the limits hold whatever that is.
    ///
    /// # Errors
    ///
    /// The first limit that leaves too little.
    pub fn reserve(
        &self,
        call: &Call,
        limits: &[CostLimit],
    ) -> Result<(Reserved, oneshot::Receiver<Result<(), DatabaseError>>), LimitReached> {
        let mut sums = self.sums();
        if !call.local {
            for (place, limit) in limits.iter().enumerate() {
                let concerned = limit.concerns(call.role) && (limit.since..=limit.until).contains(&call.day);
                let wanted = call.charge.of(&limit.most).filter(|_| concerned);
                let Some(wanted) = wanted else { continue };
                let spent = sums.spent(limit);
                if spent.saturating_add(wanted) > limit.most.count() {
                    let amount = |count| limit.most.with_count(count);
                    return Err(LimitReached { limit: place, spent: amount(spent), wanted: amount(wanted) });
                }
            }
        }
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let Call { day, role, local, .. } = *call;
        let reserved = Reserved { id, day, role, local, charge: call.charge.clone() };
        sums.add(&reserved);
        // In the order of the ids, so before the lock is given back.
        let (tell, told) = oneshot::channel();
        self.shared.writer.send(Job::Reserve { id, call: Box::new(call.clone()), tell: Some(tell) });
        Ok((reserved, told))
    }

    /// Puts what a call really took in the place of what was set aside. Never waits.
    pub fn settle(&self, mut reserved: Reserved, state: CallState, failure: &str, counted: bool, charge: Charge) {
        let mut sums = self.sums();
        sums.take(&reserved);
        reserved.charge = charge;
        sums.add(&reserved);
        let Reserved { id, charge, .. } = reserved;
        self.shared.writer.send(Job::Settle { id, state, failure: failure.to_owned(), counted, charge });
    }

    /// What is spent of a limit, with what is set aside, in its own unit. Answered from memory.
    #[must_use]
    pub fn spent(&self, limit: &CostLimit) -> Amount {
        limit.most.with_count(self.sums().spent(limit))
    }

    /// Everything spent on a day: the sum of each currency, and the tokens; without calls that cost nothing.
    #[must_use]
    pub fn of_day(&self, day: Date) -> Charge {
        self.sums().of_day(day)
    }

    /// Adds up calls of days before this one by all but their runs, and keeps the sums alone. Never waits.
    pub fn fold(&self, before: Date) {
        self.shared.writer.send(Job::Fold { before: before.to_string() });
    }

    /// What was spent, by a key, with everything that was settled before this was called. Waits for the disk.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn report(&self, by: CostKey, span: &CostSpan) -> Result<Vec<CostLine>, DatabaseError> {
        self.shared.writer.flush();
        report::read(&self.shared.database, by, span)
    }

    /// Gives a name another spelling among those who asked and where: `renamed` says what a text becomes in which it stands.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn rename(&self, renamed: &dyn Fn(&str) -> Option<String>) -> Result<(), DatabaseError> {
        self.shared.writer.flush();
        self.shared.database.write("renaming in the ledger", |transaction| {
            for (table, column) in ["model_calls", "model_days"]
                .into_iter()
                .flat_map(|table| ["conversation", "principal"].map(|column| (table, column)))
            {
                let mut statement = transaction.prepare(&format!("SELECT DISTINCT {column} FROM {table}"))?;
                let texts = statement.query_map([], |row| row.get::<_, String>(0))?.collect::<Result<Vec<_>, _>>()?;
                for (text, other) in texts.iter().filter_map(|text| renamed(text).map(|other| (text, other))) {
                    let sql = format!("UPDATE {table} SET {column} = ?2 WHERE {column} = ?1");
                    transaction.execute(&sql, [text, &other])?;
                }
            }
            Ok(())
        })
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.shared.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The model that the memory asks about what it keeps, as much as a day's budget allows.

use std::sync::{Arc, PoisonError, RwLock, Weak};

use homeagent_settings::{Database, DatabaseError, Settings};
use homeagent_types::memory::Advice;
use homeagent_types::ports::Adviser;
use homeagent_types::{CallError, tokens};
use jiff::Timestamp;
use rusqlite::{OptionalExtension as _, params};

use crate::context::now_ms;
use crate::zone::zone;

const MIGRATIONS: &[&str] = &["
-- How many tokens the memory's own questions took, by day.
CREATE TABLE own_tokens (
    day TEXT PRIMARY KEY,
    tokens INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"];

/// Asks whoever asks models, once there is somebody. Clones share it.
#[derive(Clone)]
pub(crate) struct OwnModel {
    database: Database,
    settings: Settings,
    adviser: Arc<RwLock<Option<Weak<dyn Adviser>>>>,
}

impl OwnModel {
    pub(crate) fn open(database: &Database, settings: Settings) -> Result<Self, DatabaseError> {
        database.migrate("own model", MIGRATIONS)?;
        Ok(Self { database: database.clone(), settings, adviser: Arc::default() })
    }

    /// From now on this one is asked, for as long as it lives.
    pub(crate) fn set_adviser(&self, adviser: Weak<dyn Adviser>) {
        *self.adviser.write().unwrap_or_else(PoisonError::into_inner) = Some(adviser);
    }

    /// Asks; none when the day's budget is used up. The last question of a day may take more than is left. What a question is
    /// about counts before it is asked, and stays counted where no answer comes.
    ///
    /// # Errors
    ///
    /// As for [`Adviser::advise`]; [`CallError::NotLive`] while there is nobody to ask.
    pub(crate) async fn ask(&self, advice: Advice) -> Result<Option<String>, CallError> {
        let budget = self.settings.integer("core.memory.own_tokens").map_err(failed)?;
        let day = today(&self.settings);
        if self.used(day.clone()).await? >= budget {
            return Ok(None);
        }
        let adviser = self.adviser.read().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(Weak::upgrade);
        let adviser = adviser.ok_or(CallError::NotLive)?;
        let estimate = signed(tokens::of_text(&advice.rules).saturating_add(tokens::of_text(&advice.text)));
        self.count(day.clone(), estimate).await?;
        let advised = adviser.advise(advice).await?;
        self.count(day, signed(advised.tokens).saturating_sub(estimate)).await?;
        Ok(Some(advised.text))
    }

    async fn used(&self, day: String) -> Result<i64, CallError> {
        self.blocking(move |database| {
            database.read("reading what the memory's questions took", |connection| {
                let sql = "SELECT tokens FROM own_tokens WHERE day = ?1";
                Ok(connection.query_row(sql, [day], |row| row.get(0)).optional()?.unwrap_or(0))
            })
        })
        .await
    }

    /// Adds to what a day's questions took, or takes from it what an estimate was too much.
    async fn count(&self, day: String, tokens: i64) -> Result<(), CallError> {
        self.blocking(move |database| {
            database.write("counting what the memory's questions took", |transaction| {
                transaction.execute("DELETE FROM own_tokens WHERE day < ?1", [&day])?;
                let sql = "INSERT INTO own_tokens (day, tokens) VALUES (?1, ?2)
                           ON CONFLICT (day) DO UPDATE SET tokens = tokens + ?2";
                transaction.execute(sql, params![day, tokens]).map(drop)
            })
        })
        .await
    }

    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, DatabaseError> + Send + 'static,
    ) -> Result<T, CallError> {
        let database = self.database.clone();
        tokio::task::spawn_blocking(move || work(&database)).await.map_err(failed)?.map_err(failed)
    }
}

fn signed(tokens: u64) -> i64 {
    i64::try_from(tokens).unwrap_or(i64::MAX)
}

fn failed(error: impl std::fmt::Display) -> CallError {
    CallError::Other(error.to_string())
}

/// The day it is for the owner.
fn today(settings: &Settings) -> String {
    let now = Timestamp::from_millisecond(now_ms()).unwrap_or(Timestamp::UNIX_EPOCH);
    now.to_zoned(zone(settings)).date().to_string()
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use homeagent_settings::Secrets;
    use homeagent_types::memory::Advised;

    use super::*;

    struct Talker;

    /// Somebody always comes between.
    struct Interrupted;

    #[async_trait]
    impl Adviser for Interrupted {
        async fn advise(&self, _: Advice) -> Result<Advised, CallError> {
            Err(CallError::Busy)
        }
    }

    #[tokio::test]
    async fn a_question_that_is_cut_off_counts_too() {
        let home = tempfile::tempdir().expect("a folder");
        let database = Database::open(home.path().join("memory.db")).expect("a new database");
        let secrets = Secrets::open(&database, home.path()).expect("new secrets");
        let settings = Settings::open(&database, &secrets).expect("new settings");
        settings.set("core.memory.own_tokens", 10).expect("it is set");
        let model = OwnModel::open(&database, settings).expect("it opens");
        let interrupted: Arc<dyn Adviser> = Arc::new(Interrupted);
        model.set_adviser(Arc::downgrade(&interrupted));
        let advice = || Advice { rules: String::new(), text: "the same people? ".repeat(20), most_tokens: 9 };
        assert_eq!(model.ask(advice()).await, Err(CallError::Busy));
        assert_eq!(model.ask(advice()).await, Ok(None));
    }

    #[async_trait]
    impl Adviser for Talker {
        async fn advise(&self, advice: Advice) -> Result<Advised, CallError> {
            Ok(Advised { text: advice.text, tokens: 60 })
        }
    }

    #[tokio::test]
    async fn a_days_budget_is_kept_over_a_restart_and_nobody_to_ask_is_an_error() {
        let home = tempfile::tempdir().expect("a folder");
        let database = Database::open(home.path().join("memory.db")).expect("a new database");
        let secrets = Secrets::open(&database, home.path()).expect("new secrets");
        let settings = Settings::open(&database, &secrets).expect("new settings");
        settings.set("core.memory.own_tokens", 100).expect("it is set");
        let advice = || Advice { rules: String::new(), text: "same?".to_owned(), most_tokens: 9 };
        let talker: Arc<dyn Adviser> = Arc::new(Talker);
        let open = || OwnModel::open(&database, settings.clone()).expect("it opens");
        let model = open();
        assert_eq!(model.ask(advice()).await, Err(CallError::NotLive));
        model.set_adviser(Arc::downgrade(&talker));
        assert_eq!(model.ask(advice()).await, Ok(Some("same?".to_owned())));
        let model = open();
        model.set_adviser(Arc::downgrade(&talker));
        assert_eq!(model.ask(advice()).await, Ok(Some("same?".to_owned())), "the last may take more than is left");
        assert_eq!(model.ask(advice()).await, Ok(None));
        settings.set("core.memory.own_tokens", 1000).expect("it is set");
        drop(talker);
        assert_eq!(model.ask(advice()).await, Err(CallError::NotLive));
    }
}

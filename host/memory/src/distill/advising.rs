//! Judging by the agent's model, within a day's budget.

use std::sync::Arc;

use async_trait::async_trait;
use homeagent_settings::{Database, Settings};
use homeagent_types::memory::Advice;
use homeagent_types::now;
use homeagent_types::ports::Adviser;

use super::DistillError;
use super::judge::{Judge, JudgeError, Question};
use super::progress::Progress;

/// A day, in milliseconds. A budget's day is that of UTC.
const DAY: u64 = 86_400_000;

/// Asks the agent's model, as long as `core.memory.own_tokens` allows it.
pub struct Advising {
    adviser: Arc<dyn Adviser>,
    settings: Settings,
    progress: Progress,
}

impl Advising {
    /// Opens it; what was used today is kept in `database`.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn open(adviser: Arc<dyn Adviser>, settings: Settings, database: &Database) -> Result<Self, DistillError> {
        Ok(Self { adviser, settings, progress: Progress::open(database)? })
    }

    async fn used(&self, day: i64) -> Result<u64, JudgeError> {
        let progress = self.progress.clone();
        let used = tokio::task::spawn_blocking(move || progress.used(day)).await;
        used.map_err(|error| JudgeError::Unavailable(error.to_string()))?
            .map_err(|error| JudgeError::Unavailable(error.to_string()))
    }

    async fn note(&self, day: i64, tokens: u64) -> Result<(), JudgeError> {
        let progress = self.progress.clone();
        let noted = tokio::task::spawn_blocking(move || progress.use_up(day, tokens)).await;
        noted
            .map_err(|error| JudgeError::Unavailable(error.to_string()))?
            .map_err(|error| JudgeError::Unavailable(error.to_string()))
    }
}

#[async_trait]
impl Judge for Advising {
    async fn ask(&self, question: &Question) -> Result<Option<String>, JudgeError> {
        let budget = self
            .settings
            .integer("core.memory.own_tokens")
            .map_err(|error| JudgeError::Unavailable(error.to_string()))?;
        let budget = u64::try_from(budget).unwrap_or(0);
        let day = i64::try_from(now() / DAY).unwrap_or(0);
        if self.used(day).await? >= budget {
            return Ok(None);
        }
        let advice = Advice {
            rules: question.instructions.clone(),
            text: question.material.clone(),
            most_tokens: question.tokens,
        };
        let advised = self.adviser.advise(advice).await.map_err(|error| JudgeError::Unavailable(error.to_string()))?;
        self.note(day, advised.tokens).await?;
        Ok(Some(advised.text))
    }
}

//! How the parts of the memory serve each other: what one of them wants of the others, in its own words.

use std::sync::Weak;

use async_trait::async_trait;
use homeagent_settings::Settings;
use homeagent_types::memory::Advice;
use homeagent_types::{Audience, CallError, Cause};

use crate::distill::{ColdDocument, ColdDocuments, Judge, JudgeError, Question};
use crate::documents::{Document, Documents};
use crate::memory::Memory;
use crate::own_model::OwnModel;
use crate::recollection::Recalled;
use crate::tools::Recaller;

const HOUR_MS: i64 = 3_600_000;

/// The distiller's questions go to the memory's own model.
#[async_trait]
impl Judge for OwnModel {
    async fn ask(&self, question: &Question) -> Result<Option<String>, JudgeError> {
        let Question { instructions, material, tokens } = question.clone();
        let advice = Advice { rules: instructions, text: material, most_tokens: tokens };
        OwnModel::ask(self, advice).await.map_err(|error| match error {
            CallError::NotLive => JudgeError::NotLive,
            error => JudgeError::Unavailable(error.to_string()),
        })
    }
}

/// The documents that have gone cold, by the settings.
pub(crate) struct Cold {
    pub(crate) documents: Documents,
    pub(crate) settings: Settings,
}

impl ColdDocuments for Cold {
    fn cold(&self, now_ms: i64, limit: usize) -> Result<Vec<ColdDocument>, String> {
        let said = |error: &dyn std::fmt::Display| error.to_string();
        let hours = self.settings.integer("core.memory.cold_hours").map_err(|error| said(&error))?;
        let reads = self.settings.integer("core.memory.cold_reads").map_err(|error| said(&error))?;
        let before = now_ms.saturating_sub(hours.saturating_mul(HOUR_MS));
        let listed = self.documents.cold(before, u32::try_from(reads).unwrap_or(u32::MAX), limit);
        let mut cold = Vec::new();
        for listed in listed.map_err(|error| said(&error))? {
            // What others wrote is nothing that is known, and what can't be read is nothing to be tried for ever.
            let document = (!listed.foreign).then(|| self.documents.read(&listed.id).ok()).flatten();
            match document {
                Some(document) => cold.push(cold_document(&document)),
                None => self.documents.distilled(&listed.id, now_ms).map_err(|error| said(&error))?,
            }
        }
        Ok(cold)
    }

    fn distilled(&self, id: &str, now_ms: i64) -> Result<(), String> {
        self.documents.distilled(id, now_ms).map_err(|error| error.to_string())
    }
}

fn cold_document(document: &Document) -> ColdDocument {
    ColdDocument {
        id: document.id.clone(),
        // Not its talk: the agent's answers repeat what was recalled into them.
        text: document.text.clone(),
        audience: Audience::parse(&document.audience),
        at_ms: document.to_ms,
    }
}

/// The memory, for its own tools: it is not kept alive by them.
pub(crate) struct OwnRecall(pub(crate) Weak<Memory>);

#[async_trait]
impl Recaller for OwnRecall {
    async fn passages(&self, text: &str, limit: usize, cause: &Cause) -> Result<Vec<Recalled>, CallError> {
        let memory = self.0.upgrade().ok_or(CallError::NotLive)?;
        memory.passages_for(text, limit, cause).await.map_err(|error| CallError::Other(error.to_string()))
    }
}

//! The documents of the memory as a source of triples.

use homeagent_settings::Settings;
use homeagent_types::Audience;

use super::{ColdDocument, ColdDocuments};
use crate::documents::{Documents, Kind};

/// An hour, in milliseconds.
const HOUR: i64 = 3_600_000;

/// Notes that nobody read for a while. Documents of talk give none: what people said in them was read in the journal, and
/// the agent's answers repeat what it knew. Nor do notes that others may have written.
pub struct ColdNotes {
    documents: Documents,
    settings: Settings,
}

impl ColdNotes {
    /// Looks at `documents`, as `core.memory.cold_hours` and `core.memory.cold_reads` say.
    #[must_use]
    pub fn new(documents: Documents, settings: Settings) -> Self {
        Self { documents, settings }
    }
}

impl ColdDocuments for ColdNotes {
    fn cold(&self, now_ms: i64, limit: usize) -> Result<Vec<ColdDocument>, String> {
        let number = |setting: &str| self.settings.integer(setting).map_err(|error| error.to_string());
        let before = now_ms.saturating_sub(number("core.memory.cold_hours")?.saturating_mul(HOUR));
        let reads = u32::try_from(number("core.memory.cold_reads")?).unwrap_or(u32::MAX);
        let listed = self.documents.cold(before, reads, limit).map_err(|error| error.to_string())?;
        let mut cold = Vec::new();
        for listed in listed {
            let text = if listed.kind == Kind::Note && !listed.foreign {
                // One that can't be read says so elsewhere, and holds nobody up here.
                self.documents.read(&listed.id).map(|document| document.text).unwrap_or_default()
            } else {
                String::new()
            };
            cold.push(ColdDocument {
                id: listed.id,
                text,
                audience: Audience::parse(&listed.audience),
                at_ms: listed.to_ms,
            });
        }
        Ok(cold)
    }

    fn distilled(&self, id: &str, now_ms: i64) -> Result<(), String> {
        self.documents.distilled(id, now_ms).map_err(|error| error.to_string())
    }
}

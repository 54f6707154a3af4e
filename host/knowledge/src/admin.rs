//! The knowledge base as its owner looks after it.

use async_trait::async_trait;
use homeagent_types::CallError;
use homeagent_types::knowledge::{Changed, Found, Import, Listing, Outline, Query, SectionText, Status};
use homeagent_types::ports::KnowledgeAdmin;

use crate::{Ask, Circle, Knowledge};

#[async_trait]
impl KnowledgeAdmin for Knowledge {
    async fn list(&self) -> Result<Listing, CallError> {
        Ok(Knowledge::list(self, Circle::Owner).await?)
    }

    async fn show(&self, base: &str) -> Result<Outline, CallError> {
        Ok(self.outline(base, Circle::Owner).await?)
    }

    async fn section(&self, base: &str, heading: &str) -> Result<SectionText, CallError> {
        Ok(Knowledge::section(self, base, heading, Circle::Owner).await?)
    }

    async fn search(&self, query: Query) -> Result<Found, CallError> {
        let Query { text, base, audience, limit } = query;
        let circle = match audience {
            Some(word) => Circle::parse(&word).ok_or_else(|| {
                CallError::Invalid(format!("`audience` is {word:?}; it is owner, members or everyone"))
            })?,
            None => Circle::Owner,
        };
        Ok(Knowledge::search(self, Ask { text, circle, base, limit }).await?)
    }

    async fn import(&self, file: &str, bytes: Vec<u8>, base: Option<&str>, how: Import) -> Result<Changed, CallError> {
        Ok(Knowledge::import(self, file, bytes, base, how).await?)
    }

    async fn remove(&self, base: &str) -> Result<String, CallError> {
        Ok(Knowledge::remove(self, base).await?)
    }

    async fn reindex(&self, base: Option<&str>) -> Result<Status, CallError> {
        Ok(Knowledge::reindex(self, base).await?)
    }

    fn largest_file(&self) -> u64 {
        self.store.most()
    }
}

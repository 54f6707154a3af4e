//! Making every index anew from its source: passages from the journal and the documents, their terms, the terms of documents
//! and of the graph, and the documents of what the graph knows. What lacks a vector afterwards gets one in the background.
//!
//! Each step may be done again. Recall goes on meanwhile: what is there stays until what takes its place is there.

use homeagent_journal::Seq;
use homeagent_types::CallError;
use homeagent_types::memory::MemoryRebuilding;

use crate::documents::Kind;
use crate::follower::Stretch;
use crate::index::PassageKind;
use crate::memory::Memory;
use crate::said::Said;
use crate::transfer::{blocking, failed};
use crate::zone::zone;

/// Passages that are looked at together.
const PAGE: u32 = 500;

impl Memory {
    /// Makes every index anew. When this returns, all that the sources have can be found by its words, and nothing else.
    ///
    /// # Errors
    ///
    /// What the journal, the database and the file system answer; asking again begins anew.
    pub async fn reindex(&self) -> Result<(), CallError> {
        // What is being forgotten is not to be put in again, nor the other way round.
        let _one_at_a_time = self.forgetting.lock().await;
        let done = self.rebuild().await;
        self.rebuilding().send_replace(None);
        done
    }

    async fn rebuild(&self) -> Result<(), CallError> {
        let part = |part: &str| self.now_at(part, 0, 0);
        // Before passages go or change: that takes their terms out of the index, which have to be right.
        part("terms");
        let index = self.index().clone();
        blocking(move || index.feed_anew()).await?;
        self.read_journal_again().await?;
        self.remove_unfounded().await?;
        part("documents");
        let documents = self.context().documents().clone();
        blocking(move || documents.look_through().and_then(|_| documents.feed_anew())).await?;
        part("graph");
        let graph = self.graph().clone();
        blocking(move || graph.feed_anew()).await?;
        part("known");
        let known = self.known().clone();
        blocking(move || known.begin_anew()).await?;
        loop {
            let known = self.known().clone();
            if !blocking(move || known.write_on()).await? {
                return Ok(());
            }
        }
    }

    fn now_at(&self, part: &str, done: u64, of: u64) {
        self.rebuilding().send_replace(Some(MemoryRebuilding { part: part.to_owned(), done, of }));
    }

    async fn read_journal_again(&self) -> Result<(), CallError> {
        let mut after: Seq = 0;
        loop {
            let tip = *self.journal().tip().borrow();
            self.now_at("journal", after.unsigned_abs(), tip.unsigned_abs());
            let stretch = Stretch::read(self.journal(), after).await.map_err(failed)?;
            if stretch.reached == after {
                return Ok(());
            }
            after = stretch.reached;
            let (index, audiences, zone) = (self.index().clone(), self.audiences().clone(), zone(self.settings()));
            blocking(move || stretch.index(&index, &audiences, &zone)).await?;
        }
    }

    /// Removes the passages of which the journal or the documents have nothing.
    async fn remove_unfounded(&self) -> Result<(), CallError> {
        let (mut after, mut looked_at) = (0, 0);
        loop {
            self.now_at("passages", looked_at, 0);
            let index = self.index().clone();
            let page = blocking(move || index.origins_after(after, PAGE)).await?;
            let Some((origins, last)) = page else { return Ok(()) };
            after = last;
            looked_at += origins.len() as u64;
            let places: Vec<Seq> = origins
                .iter()
                .filter(|(kind, _)| matches!(kind, PassageKind::Said | PassageKind::Answered))
                .filter_map(|(_, origin)| origin.parse().ok())
                .collect();
            let events = self.journal().events_at(places).await.map_err(failed)?;
            let said: Vec<String> = events.iter().filter_map(Said::read).map(|said| said.seq.to_string()).collect();
            let (index, documents) = (self.index().clone(), self.context().documents().clone());
            blocking(move || {
                for (kind, origin) in origins {
                    let is_founded = match kind {
                        PassageKind::Said | PassageKind::Answered => said.contains(&origin),
                        PassageKind::Document => {
                            documents.listed(&origin)?.is_some_and(|listed| listed.kind != Kind::Talk)
                        }
                        PassageKind::Sentence => true,
                    };
                    if !is_founded {
                        index.remove(kind, &[origin])?;
                    }
                }
                Ok::<_, homeagent_settings::DatabaseError>(())
            })
            .await?;
        }
    }
}

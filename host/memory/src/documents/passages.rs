//! Notes and what is known as passages of the index, so that the one recall finds them. Talk is there as it was said.

use homeagent_types::Audience;

use super::document::{Document, Kind};
use super::store::{DocumentError, Documents, terms_of};
use super::table;
use crate::index::{Index, Passage, PassageKind};

/// How many documents are looked at before others get their turn.
const PAGE: usize = 64;

impl Documents {
    /// Has the index hold what is written down, from now on and for all clones.
    pub fn set_index(&self, index: Index) {
        // Whoever comes second has the same file.
        let _ = self.index().set(index);
    }

    /// Puts documents into the index as they are now. They are kept where that fails, and offered again at the next start.
    pub(super) fn offer(&self, documents: &[Document]) {
        let Some(index) = self.index().get() else { return };
        let passages: Vec<Passage> = documents.iter().filter_map(passage).collect();
        if !passages.is_empty()
            && let Err(error) = index.put(&passages)
        {
            tracing::warn!(%error, "what was written down is not found by recall yet");
        }
    }

    /// Puts into the index what it lacks. Reads the list of all documents; for a thread of its own.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn offer_missing(&self) -> Result<(), DocumentError> {
        let Some(index) = self.index().get() else { return Ok(()) };
        self.each(|listed| {
            let is_there = !index.ids(PassageKind::Document, std::slice::from_ref(&listed.id))?.is_empty();
            if listed.kind != Kind::Talk
                && !is_there
                && let Ok(document) = self.read(&listed.id)
            {
                self.offer(&[document]);
            }
            Ok(())
        })
    }

    /// Makes the terms of all documents anew from their files; they are found meanwhile.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn feed_anew(&self) -> Result<(), DocumentError> {
        self.each(|listed| {
            if let Ok(document) = self.read(&listed.id) {
                let terms = terms_of(&document);
                self.write("listing a document anew", |connection| table::feed(connection, listed.number, &terms))?;
                self.offer(&[document]);
            }
            Ok(())
        })
    }

    fn each(&self, mut work: impl FnMut(&table::Listed) -> Result<(), DocumentError>) -> Result<(), DocumentError> {
        let mut after = 0;
        loop {
            let listed = self.after(after, PAGE)?;
            let Some(last) = listed.last() else { return Ok(()) };
            after = last.number;
            listed.iter().try_for_each(&mut work)?;
        }
    }
}

/// What is found of a document; nothing of talk.
fn passage(document: &Document) -> Option<Passage> {
    let title = document.title.iter().map(String::as_str);
    let text: Vec<&str> = title.chain([document.text.as_str()]).filter(|text| !text.is_empty()).collect();
    (document.kind != Kind::Talk && !text.is_empty()).then(|| Passage {
        kind: PassageKind::Document,
        origin: document.id.clone(),
        part: 0,
        conversation: format!("document/{}", document.id),
        session: String::new(),
        position: 0,
        speaker: String::new(),
        audience: Audience::parse(&document.audience),
        at_ms: document.to_ms,
        text: text.join("\n"),
    })
}

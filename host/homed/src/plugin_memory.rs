//! What plugins reach of the memory and the knowledge base: always as far as those may know it who read what comes of it.

use std::sync::Arc;

use async_trait::async_trait;
use homeagent_knowledge::{Ask, Circle, Edit, Error, Knowledge};
use homeagent_memory::documents::Document;
use homeagent_memory::index::PassageKind;
use homeagent_memory::social::{Person, Social};
use homeagent_types::ports::PluginMemory;
use homeagent_types::recollection::{KnowledgeBase, KnowledgePassage, KnownPerson, Remembered};
use homeagent_types::{Audience, CallError, Cause, Viewer, now};

use crate::knowing::Knowing;

/// How many people one question looks at.
const MOST_PEOPLE: u32 = 100;

impl Knowing {
    /// Who reads what comes of it: those before whom the call is made, or the owner.
    fn viewer(&self, cause: Option<&Cause>) -> Viewer {
        let audiences = self.memory.audiences();
        cause.map_or_else(|| audiences.owner(), |cause| audiences.viewer_of(cause))
    }

    fn bases_of(&self, cause: Option<&Cause>) -> Result<(&Arc<Knowledge>, Circle), CallError> {
        let knowledge = self.base()?;
        Ok((knowledge, cause.map_or(Circle::Owner, |cause| knowledge.circle_of(cause))))
    }

    fn base(&self) -> Result<&Arc<Knowledge>, CallError> {
        let missing = || CallError::NotStored("the knowledge base can't be used; the log says why".to_owned());
        self.knowledge.as_ref().ok_or_else(missing)
    }
}

#[async_trait]
impl PluginMemory for Knowing {
    async fn recall(
        &self,
        question: String,
        limit: usize,
        cause: Option<&Cause>,
    ) -> Result<Vec<Remembered>, CallError> {
        let asks = cause.map(|cause| {
            let who = &cause.principal;
            who.display_name.clone().unwrap_or_else(|| who.user.clone())
        });
        let found =
            self.memory.find(&question, self.viewer(cause), limit, Vec::new(), asks, None).await.map_err(failed)?;
        let one = |hit: homeagent_memory::recall::Hit| {
            let (passage, score) = (hit.passage, f64::from(hit.score));
            Remembered {
                id: format!("{}/{}", passage.kind.as_str(), passage.origin),
                kind: passage.kind.as_str().to_owned(),
                speaker: (!passage.speaker.is_empty()).then_some(passage.speaker),
                // Documents have a place of their own, which is no conversation's.
                conversation: matches!(passage.kind, PassageKind::Said | PassageKind::Answered)
                    .then_some(passage.conversation),
                text: passage.text,
                at: u64::try_from(passage.at_ms).unwrap_or_default(),
                score,
            }
        };
        Ok(found.into_iter().map(one).collect())
    }

    async fn note(&self, plugin: &str, text: String, cause: Option<&Cause>) -> Result<String, CallError> {
        let audience = match cause {
            Some(cause) => cause.audience.clone(),
            None => first_account(&self.memory.audiences().owner()),
        };
        let conversation = cause.and_then(|cause| cause.conversation.as_ref());
        let conversation = conversation.map(ToString::to_string).unwrap_or_default();
        let at = i64::try_from(now()).unwrap_or(i64::MAX);
        let mut note = Document::note(Some(format!("Noted by {plugin}")), text, conversation, &audience, at);
        // What a plugin brings by itself may be anybody's words.
        note.foreign = cause.is_none_or(Cause::is_foreign);
        let (id, memory) = (note.id.clone(), Arc::clone(&self.memory));
        blocking(move || memory.context().documents().put(&note, None)).await?;
        Ok(format!("document/{id}"))
    }

    async fn search_knowledge(
        &self,
        question: String,
        base: Option<String>,
        limit: usize,
        cause: Option<&Cause>,
    ) -> Result<Vec<KnowledgePassage>, CallError> {
        let (knowledge, circle) = self.bases_of(cause)?;
        let found = knowledge.search(Ask { text: question, circle, base, limit }).await?;
        let one = |passage: homeagent_types::knowledge::Passage| KnowledgePassage {
            base: passage.base,
            headings: passage.headings,
            text: passage.text,
            line: passage.first_line,
            score: passage.score,
        };
        Ok(found.passages.into_iter().map(one).collect())
    }

    async fn bases(&self, cause: Option<&Cause>) -> Result<Vec<KnowledgeBase>, CallError> {
        let (knowledge, circle) = self.bases_of(cause)?;
        let listing = knowledge.list(circle).await?;
        Ok(listing.bases.into_iter().map(|base| KnowledgeBase { name: base.name, size: base.bytes }).collect())
    }

    async fn append_knowledge(&self, base: &str, text: String) -> Result<(), CallError> {
        let knowledge = self.base()?;
        let edit = Edit::Append { heading: None, text: text.clone() };
        match knowledge.update(base, edit, None, Circle::Owner).await {
            Ok(_) => Ok(()),
            Err(Error::Unknown { .. }) => Ok(knowledge.create(base, &text, Circle::Members).await.map(drop)?),
            Err(error) => Err(error.into()),
        }
    }

    async fn people(&self, name: &str, cause: Option<&Cause>) -> Result<Vec<KnownPerson>, CallError> {
        let (viewer, graph, name) = (self.viewer(cause), self.memory.graph().clone(), name.trim().to_owned());
        blocking(move || {
            let social = Social::new(graph.clone());
            let found =
                if name.is_empty() { social.people(MOST_PEOPLE, &viewer)? } else { graph.named(&name, &viewer)? };
            let people = found.into_iter().map(|entity| social.person(entity.id, &viewer));
            people.map(|person| person.map(known)).collect::<Result<Vec<_>, _>>()
        })
        .await
    }
}

fn known(person: Person) -> KnownPerson {
    let Person { entity, traits, people, facts } = person;
    let facts = facts.into_iter().map(|fact| (fact.predicate, fact.object));
    let traits = traits.into_iter().map(|one| (one.key, one.value)).chain(facts).collect();
    let is_of_him = |subject: i64| subject == entity.id;
    let relations = people.into_iter().map(|relation| {
        let other = if is_of_him(relation.subject.0) { relation.object } else { relation.subject.1 };
        (relation.predicate, other)
    });
    KnownPerson {
        relations: relations.collect(),
        name: entity.name,
        aliases: entity.aliases,
        accounts: entity.accounts,
        traits,
    }
}

/// An account of the owner's, before whom what a plugin notes by itself is told again; nobody where none was heard.
fn first_account(owner: &Viewer) -> Audience {
    let persons = match owner {
        Viewer::Only(audiences) => audiences.iter().find(|audience| matches!(audience, Audience::Person(_))),
        Viewer::Everything => None,
    };
    persons.cloned().unwrap_or(Audience::Agent)
}

/// On a thread that may wait for the disk.
async fn blocking<T: Send + 'static, E: std::fmt::Display + Send + 'static>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, CallError> {
    let done = tokio::task::spawn_blocking(work).await.map_err(failed)?;
    done.map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> CallError {
    CallError::Other(error.to_string())
}

//! Taking claims: each becomes a relation, or counts as another mention of one that is known.

use homeagent_language::text;
use homeagent_types::Role;
use rusqlite::{OptionalExtension as _, params};

use super::error::{GraphError, Stop};
use super::model::{Claim, Closing, Committed, EntityKind, Holding, Node, Refusal, Source};
use super::predicate::{self, ObjectForm};
use super::resolve::{Context, End, clean, proper_name};
use super::tombstones::Grave;
use super::writing::Writing;
use super::{Graph, terms};

/// The longest sentence that is kept, in characters.
const LONGEST_SENTENCE: usize = 1000;

/// A relation of which it is known what stands at its ends.
pub(super) struct Told<'a> {
    pub(super) claim: &'a Claim,
    pub(super) key: String,
    pub(super) subject: i64,
    pub(super) object: Option<i64>,
    pub(super) literal: Option<String>,
    pub(super) object_key: String,
    /// Until when it held, where it no longer does.
    pub(super) valid_to: Option<i64>,
}

/// What became of a claim.
struct Taken {
    relation: i64,
    fresh: bool,
    closed: Vec<Closing>,
}

impl Graph {
    /// Takes claims of one source, in one transaction: they are on the disk when this returns. A claim that is refused
    /// leaves the others as they are. Claims that were taken before, from the same sentence, change nothing.
    ///
    /// # Errors
    ///
    /// What the database answers; then none was taken.
    pub fn commit(&self, source: &Source, claims: &[Claim]) -> Result<Committed, GraphError> {
        self.write("keeping what was told", |writing| self.take(writing, source, claims))
    }

    /// The same for claims of many sources at once, which takes little longer than for one.
    ///
    /// # Errors
    ///
    /// As for [`Graph::commit`].
    pub fn commit_all(&self, told: &[(Source, Vec<Claim>)]) -> Result<Vec<Committed>, GraphError> {
        self.write("keeping what was told", |writing| {
            told.iter().map(|(source, claims)| self.take(writing, source, claims)).collect()
        })
    }

    pub(super) fn take(&self, writing: &mut Writing<'_>, source: &Source, claims: &[Claim]) -> Result<Committed, Stop> {
        let context = Context::new(writing, self, source)?;
        let mut committed = Committed::default();
        let mut made = Vec::new();
        for claim in claims {
            match writing.take(&context, claim) {
                Ok(taken) => {
                    committed.relations.push(Ok(taken.relation));
                    committed.closed.extend(taken.closed);
                    if taken.fresh {
                        committed.fresh += 1;
                        made.push(taken.relation);
                    }
                }
                Err(Stop::Graph(GraphError::Refused(refusal))) => committed.relations.push(Err(refusal)),
                Err(stop) => return Err(stop),
            }
        }
        if source.undoable && !made.is_empty() {
            let actor = source.speaker.as_ref().map(ToString::to_string);
            let change = writing.change("commit", source.at_ms, actor.as_deref(), context.audience)?;
            for relation in made {
                writing.step(change, "made", relation, None)?;
            }
            committed.change = Some(change);
        }
        Ok(committed)
    }
}

impl Writing<'_> {
    fn take(&mut self, context: &Context<'_>, claim: &Claim) -> Result<Taken, Stop> {
        self.check_rights(context, claim)?;
        let key = predicate::key(&claim.predicate).ok_or(GraphError::Refused(Refusal::NoPredicate))?;
        if matches!(claim.subject, Node::Literal(_)) {
            return Err(GraphError::Refused(Refusal::LiteralSubject).into());
        }
        let object = in_form(&key, &claim.object);
        let words = sentence_of(context, claim, &key, &object);
        self.check_graves(context, claim, &key, &object, &words)?;
        if claim.holding == Holding::Denied && !self.is_known(context, claim, &key, &object)? {
            return Err(GraphError::Refused(Refusal::NothingDenied).into());
        }
        let subject = self.resolve(context, &claim.subject)?;
        let object = self.resolve(context, &object)?;
        let End::Entity { id: subject_id, name: subject_name, kind } = subject else {
            return Err(GraphError::Refused(Refusal::LiteralSubject).into());
        };
        let told = Told::new(context, claim, key, subject_id, &object);
        let (relation, fresh) = self.upsert(context, &told)?;
        let is_said_anew = self.prove(context, relation, &words, fresh)?;
        if is_said_anew {
            subject_name.into_iter().for_each(|name| self.mention(name));
            if let End::Entity { name: Some(name), .. } = object {
                self.mention(name);
            }
        }
        if told.valid_to.is_none() {
            self.take_name(context, &told, kind)?;
        }
        let closed = self.close_others(context, &told, relation)?;
        Ok(Taken { relation, fresh, closed })
    }

    /// A guest may speak of himself, a plugin for nobody.
    fn check_rights(&self, context: &Context<'_>, claim: &Claim) -> Result<(), Stop> {
        let Some(speaker) = &context.source.speaker else { return Ok(()) };
        let own = speaker.to_string();
        let of_oneself = match &claim.subject {
            Node::Speaker => true,
            Node::Account(account) => *account == own,
            Node::Entity(id) => {
                self.entity_of_account(&own)?.is_some_and(|mine| self.merged.root(mine) == self.merged.root(*id))
            }
            Node::Named(..) | Node::Literal(_) => false,
        };
        let may = match speaker.role {
            Role::Owner | Role::Member => true,
            Role::Guest => of_oneself,
            Role::Plugin => false,
        };
        if may { Ok(()) } else { Err(GraphError::Refused(Refusal::OfOthers).into()) }
    }

    /// What was deleted stays so.
    fn check_graves(
        &self,
        context: &Context<'_>,
        claim: &Claim,
        key: &str,
        object: &Node,
        words: &str,
    ) -> Result<(), Stop> {
        if self.tombstones.is_empty() {
            return Ok(());
        }
        let at = context.source.at_ms;
        let (subject, object) = (context.label(&claim.subject), context.label(object));
        let relation = subject.zip(object).is_some_and(|(subject, object)| {
            let audience = &context.audience_text;
            let grave = Grave::Relation { subject: &subject, predicate: key, object: &object, audience };
            self.tombstones.forbid(grave, at)
        });
        let forbidden = relation
            || self.tombstones.forbid(Grave::Origin(&context.source.origin), at)
            || self.tombstones.forbid(Grave::Sentence(&text::fold(words)), at);
        if forbidden { Err(GraphError::Refused(Refusal::Forgotten).into()) } else { Ok(()) }
    }

    /// Whether there is a relation in this audience's sight that a denial is about. Makes nothing.
    fn is_known(&mut self, context: &Context<'_>, claim: &Claim, key: &str, object: &Node) -> Result<bool, Stop> {
        let before =
            self.connection.query_row("SELECT max(id) FROM entities", [], |row| row.get::<_, Option<i64>>(0))?;
        self.connection.execute_batch("SAVEPOINT denial")?;
        let ends =
            self.resolve(context, &claim.subject).and_then(|subject| Ok((subject, self.resolve(context, object)?)));
        let known = match ends {
            Ok((End::Entity { id, .. }, object)) => {
                let told = Told::new(context, claim, key.to_owned(), id, &object);
                let made = [Some(told.subject), told.object].into_iter().flatten().any(|id| Some(id) > before);
                Ok(!made && !self.of_same_object(context, &told)?.is_empty())
            }
            Ok(_) => Ok(false),
            Err(stop) => Err(stop),
        };
        self.connection.execute_batch("ROLLBACK TO denial; RELEASE denial")?;
        self.met.clear();
        known
    }

    /// The row of the relation, and whether it is new.
    fn upsert(&mut self, context: &Context<'_>, told: &Told<'_>) -> Result<(i64, bool), Stop> {
        let at = context.source.at_ms;
        if let Some(known) = self.standing(context, told)? {
            let sql = "UPDATE relations SET last_at = max(last_at, ?2), learnt_at = min(learnt_at, ?2),
                           confidence = max(confidence, ?3), valid_from = coalesce(valid_from, ?4)
                       WHERE id = ?1";
            let row = params![known, at, told.claim.confidence, told.claim.valid_from];
            self.connection.prepare_cached(sql)?.execute(row)?;
            return Ok((known, false));
        }
        let sql = "INSERT INTO relations (subject, predicate, object, literal, object_key, kinds, audience, confidence,
                       mentions, valid_from, valid_to, learnt_at, last_at)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, ?9, ?10, ?11, ?11)";
        let confidence = told.claim.confidence.clamp(0.0, 1.0);
        let kinds = labels(&told.claim.kinds);
        let ends = (told.subject, &told.key, told.object, &told.literal, &told.object_key);
        let row = params![
            ends.0,
            ends.1,
            ends.2,
            ends.3,
            ends.4,
            kinds,
            context.audience,
            confidence,
            told.claim.valid_from,
            told.valid_to,
            at
        ];
        self.connection.prepare_cached(sql)?.execute(row)?;
        let relation = self.connection.last_insert_rowid();
        if let Some(literal) = &told.literal {
            terms::put_literal(self.connection, relation, literal)?;
        }
        Ok((relation, true))
    }

    /// The row to which the claim is another mention: one that stands, or one that no longer does but did when it was said.
    pub(super) fn standing(&self, context: &Context<'_>, told: &Told<'_>) -> Result<Option<i64>, Stop> {
        let closer = context.seen.closer("relations");
        let sql = format!(
            "SELECT id, retracted_at, valid_to IS NOT NULL, last_at, (SELECT max(closer.last_at) FROM {closer})
             FROM relations WHERE subject = ?1 AND predicate = ?2 AND object_key = ?3 AND audience = ?4
             AND (superseded_at IS NULL OR superseded_at >= ?5) ORDER BY id DESC"
        );
        let at = context.source.at_ms;
        let mut statement = self.connection.prepare_cached(&sql)?;
        // What was over by then is passed over by the index: it takes no mention of a later time.
        let mut rows = statement.query(params![told.subject, told.key, told.object_key, context.audience, at])?;
        while let Some(row) = rows.next()? {
            let (id, retracted, ended): (i64, Option<i64>, bool) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let (last_at, closed): (i64, Option<i64>) = (row.get(3)?, row.get(4)?);
            match retracted {
                Some(retracted) if at <= retracted => {
                    return Err(GraphError::Refused(Refusal::Forgotten).into());
                }
                Some(_) => continue,
                None => {}
            }
            let joins = match (told.valid_to.is_some(), ended) {
                (true, ended) => ended,
                (false, true) => at <= last_at,
                (false, false) => closed.is_none_or(|closed| at <= closed),
            };
            if joins {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Notes the sentence behind a relation; whether it was not known before.
    fn prove(&self, context: &Context<'_>, relation: i64, words: &str, fresh: bool) -> Result<bool, Stop> {
        let source = context.source;
        let hash = self.tombstones.hash(Grave::Sentence(&text::fold(words)));
        let sql = "SELECT id FROM sentences WHERE origin = ?1 AND hash = ?2 AND audience = ?3";
        let key = params![source.origin, hash, context.audience];
        let known = self.connection.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()?;
        let sentence: i64 = match known {
            Some(known) => known,
            None => {
                let sql = "INSERT INTO sentences (text, hash, origin, speaker, audience, at)
                           VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
                let speaker = source.speaker.as_ref().map(ToString::to_string);
                let row = params![words, hash, source.origin, speaker, context.audience, source.at_ms];
                self.connection.prepare_cached(sql)?.execute(row)?;
                self.connection.last_insert_rowid()
            }
        };
        let sql = "INSERT OR IGNORE INTO evidence (relation, sentence) VALUES (?1, ?2)";
        let added = self.connection.prepare_cached(sql)?.execute([relation, sentence])? > 0;
        if added {
            let sql = "UPDATE relations SET mentions = mentions + 1 WHERE id = ?1";
            self.connection.prepare_cached(sql)?.execute([relation])?;
        }
        Ok(added || fresh)
    }

    /// Whoever says what he is called is called so from then on.
    fn take_name(&mut self, context: &Context<'_>, told: &Told<'_>, kind: EntityKind) -> Result<(), Stop> {
        let Some(name) = told.literal.as_deref().filter(|_| matches!(told.key.as_str(), "name" | "nickname")) else {
            return Ok(());
        };
        let Ok(name) = proper_name(name) else { return Ok(()) };
        let row = self.name(context, told.subject, &name, kind)?;
        if told.key == "name" {
            // What was chosen by hand before this was said gives way to it, too.
            let sql = "UPDATE names SET preferred = (id = ?1) WHERE entity = ?2 AND audience = ?3";
            self.connection.prepare_cached(sql)?.execute([row, told.subject, context.audience])?;
        }
        Ok(())
    }
}

impl<'a> Told<'a> {
    pub(super) fn new(context: &Context<'_>, claim: &'a Claim, key: String, subject: i64, object: &End) -> Self {
        let (object, literal, object_key) = match object {
            End::Entity { id, .. } => (Some(*id), None, id.to_string()),
            End::Literal(value) => (None, Some(value.clone()), format!("={}", text::fold(value))),
        };
        let valid_to = match claim.holding {
            Holding::Now => claim.valid_to,
            Holding::Ended | Holding::Denied => Some(claim.valid_to.unwrap_or(context.source.at_ms)),
        };
        Self { claim, key, subject, object, literal, object_key, valid_to }
    }
}

/// The object as its predicate wants it: a home is a place, an age is a value, however it was told.
fn in_form(key: &str, object: &Node) -> Node {
    match (predicate::find(key).map(|known| known.object), object) {
        (Some(ObjectForm::Entity(kind)), Node::Literal(value)) => Node::Named(value.clone(), kind),
        (Some(ObjectForm::Entity(kind)), Node::Named(name, EntityKind::Thing)) => Node::Named(name.clone(), kind),
        (Some(ObjectForm::Literal), Node::Named(name, _)) => Node::Literal(name.clone()),
        _ => object.clone(),
    }
}

/// The words to be kept: those that were said, else the relation in short.
fn sentence_of(context: &Context<'_>, claim: &Claim, key: &str, object: &Node) -> String {
    let said = claim.sentence.as_deref().map(clean).filter(|said| !said.is_empty());
    let words = said.unwrap_or_else(|| {
        let named = |node: &Node| match node {
            Node::Named(name, _) | Node::Literal(name) => clean(name),
            Node::Entity(id) => format!("#{id}"),
            Node::Speaker | Node::Account(_) => context.label(node).unwrap_or_default(),
        };
        predicate::sentence(&named(&claim.subject), key, &named(object))
    });
    words.chars().take(LONGEST_SENTENCE).collect()
}

/// Labels as they are stored: parted by spaces.
fn labels(kinds: &[String]) -> String {
    let is_plain =
        |kind: &&String| !kind.is_empty() && kind.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
    kinds.iter().filter(is_plain).take(8).map(String::as_str).collect::<Vec<_>>().join(" ")
}

//! Who or what is meant by a name, an account or an id.
//!
//! Two people of one name stay two: the name of a person, an animal or a thing means what it meant before in the same
//! context alone - private talk with one human, or one group - and where it means several, none of those whose account is
//! known. A name of which there is one in the world, such as a city's, means what it means to all who hear it. What is one
//! entity all the same is for a merge to say.

use homeagent_language::text;
use homeagent_types::{Audience, Principal};
use rusqlite::{OptionalExtension as _, params};

use super::error::{GraphError, Stop};
use super::model::{EntityKind, Node, Refusal, Source};
use super::seen::{self, Seen};
use super::terms;
use super::tombstones::Grave;
use super::writing::{Met, Writing};

/// The longest name, in characters.
const LONGEST_NAME: usize = 100;

/// The longest value, in characters.
const LONGEST_LITERAL: usize = 500;

/// Words that name whoever is meant from case to case.
const PRONOUNS: &[&str] = &[
    "我", "我们", "咱", "咱们", "你", "您", "你们", "他", "她", "它", "他们", "她们", "它们", "自己", "这", "那",
    "这个", "那个", "谁", "大家", "别人", "什么", "i", "me", "my", "we", "us", "you", "he", "him", "she", "her", "it",
    "they", "them", "this", "that", "these", "those", "who", "what", "someone", "somebody", "everyone", "myself",
    "himself", "herself",
];

/// Where claims are read.
pub(super) struct Context<'a> {
    pub(super) source: &'a Source,
    /// The audience's id.
    pub(super) audience: i64,
    pub(super) audience_text: String,
    /// The audiences in which names mean the same.
    pub(super) scope: Vec<i64>,
    /// What all who heard it may see.
    pub(super) seen: Seen,
}

/// What a name may mean.
struct Candidate {
    entity: i64,
    kind: EntityKind,
    has_account: bool,
}

/// An end of a relation.
#[derive(Clone, Debug)]
pub(super) enum End {
    Entity {
        id: i64,
        /// The name's row by which it was found.
        name: Option<i64>,
        kind: EntityKind,
    },
    Literal(String),
}

impl<'a> Context<'a> {
    pub(super) fn new(writing: &mut Writing<'_>, graph: &super::Graph, source: &'a Source) -> rusqlite::Result<Self> {
        let viewer = writing.shared.audiences.viewer(&source.audience);
        let audience = writing.audience(&source.audience)?;
        let known = seen::context(&source.audience, &viewer);
        let scope = known.iter().filter_map(|audience| writing.known_audience(&audience.to_string())).collect();
        let seen = match graph.seen(&viewer) {
            Seen::Only(mut ids) => {
                ids.push(audience);
                ids.sort_unstable();
                ids.dedup();
                Seen::Only(ids)
            }
            Seen::All => Seen::All,
        };
        Ok(Self { source, audience, audience_text: source.audience.to_string(), scope, seen })
    }

    /// The text by which a node is known to tombstones.
    pub(super) fn label(&self, node: &Node) -> Option<String> {
        match node {
            Node::Speaker => self.source.speaker.as_ref().map(ToString::to_string),
            Node::Account(account) => Some(account.clone()),
            Node::Named(name, _) => Some(text::fold(&clean(name))),
            Node::Literal(value) => Some(text::fold(&clean(value))),
            Node::Entity(_) => None,
        }
    }
}

/// A text in one line, without space around it.
pub(super) fn clean(text: &str) -> String {
    text.split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

impl Writing<'_> {
    /// Finds what a node means, and makes it where it is new.
    pub(super) fn resolve(&mut self, context: &Context<'_>, node: &Node) -> Result<End, Stop> {
        let refused = |refusal| Stop::Graph(GraphError::Refused(refusal));
        match node {
            Node::Speaker => {
                let speaker = context.source.speaker.as_ref().ok_or_else(|| refused(Refusal::NoSpeaker))?;
                self.person_of(context, &speaker.to_string(), Some(speaker))
            }
            Node::Account(account) => {
                let speaker = context.source.speaker.as_ref().filter(|speaker| speaker.to_string() == *account);
                self.person_of(context, account, speaker)
            }
            Node::Entity(id) => {
                let (id, kind) = self.visible(*id, &context.seen)?.ok_or_else(|| refused(Refusal::NoEntity(*id)))?;
                Ok(End::Entity { id, name: None, kind })
            }
            Node::Named(name, kind) => {
                let name = proper_name(name).map_err(refused)?;
                let folded = text::fold(&name);
                self.check_name(context, &folded)?;
                let Met { entity, name } = self.named(context, &name, folded, *kind)?;
                Ok(End::Entity { id: entity, name: Some(name), kind: *kind })
            }
            Node::Literal(value) => {
                let value = clean(value);
                if value.is_empty() || value.chars().count() > LONGEST_LITERAL {
                    return Err(refused(Refusal::NoName(shortened(&value))));
                }
                Ok(End::Literal(value))
            }
        }
    }

    fn check_name(&self, context: &Context<'_>, folded: &str) -> Result<(), Stop> {
        let grave = Grave::Name { folded, audience: &context.audience_text };
        if self.tombstones.forbid(grave, context.source.at_ms) {
            return Err(Stop::Graph(GraphError::Refused(Refusal::Forgotten)));
        }
        Ok(())
    }

    /// An entity by its id, where something of it may be seen, and its kind.
    fn visible(&self, id: i64, seen: &Seen) -> rusqlite::Result<Option<(i64, EntityKind)>> {
        let cluster = self.merged.cluster(id);
        let sql = format!(
            "SELECT kind FROM names WHERE entity = ?1 AND {} ORDER BY mentions DESC LIMIT 1",
            seen.condition("audience")
        );
        let account = format!("SELECT 1 FROM entity_accounts WHERE entity = ?1 AND {}", seen.condition("audience"));
        // The entity itself first, so that what is said of a merged one stays its own.
        for entity in std::iter::once(id).chain(cluster.into_iter().filter(|other| *other != id)) {
            let kind: Option<String> =
                self.connection.prepare_cached(&sql)?.query_row([entity], |row| row.get(0)).optional()?;
            if let Some(kind) = kind {
                return Ok(Some((id, EntityKind::parse(&kind))));
            }
            if self.connection.prepare_cached(&account)?.exists([entity])? {
                return Ok(Some((id, EntityKind::Person)));
            }
        }
        Ok(None)
    }

    /// The person of an account: one for all accounts of a human.
    fn person_of(&mut self, context: &Context<'_>, account: &str, speaker: Option<&Principal>) -> Result<End, Stop> {
        if self.tombstones.forbid(Grave::Account(account), context.source.at_ms) {
            return Err(Stop::Graph(GraphError::Refused(Refusal::Forgotten)));
        }
        let entity = match self.entity_of_account(account)? {
            Some(entity) => entity,
            None => self.make_entity(context.source.at_ms)?,
        };
        let sql = "INSERT OR IGNORE INTO entity_accounts (account, audience, entity) VALUES (?1, ?2, ?3)";
        self.connection.prepare_cached(sql)?.execute(params![account, context.audience, entity])?;
        let shown = speaker.and_then(|speaker| speaker.display_name.as_deref());
        let name = match shown.and_then(|shown| proper_name(shown).ok()) {
            Some(shown) if self.check_name(context, &text::fold(&shown)).is_ok() => {
                Some(self.name(context, entity, &shown, EntityKind::Person)?)
            }
            _ => None,
        };
        Ok(End::Entity { id: entity, name, kind: EntityKind::Person })
    }

    /// The entity of an account, or of another account of the same human.
    pub(super) fn entity_of_account(&self, account: &str) -> rusqlite::Result<Option<i64>> {
        let audience = Audience::Person(account.to_owned());
        let viewer = self.shared.audiences.viewer(&audience);
        let sql = "SELECT entity FROM entity_accounts WHERE account = ?1 ORDER BY entity LIMIT 1";
        let mut statement = self.connection.prepare_cached(sql)?;
        for own in seen::context(&audience, &viewer) {
            let Audience::Person(own) = own else { continue };
            if let Some(entity) = statement.query_row([own], |row| row.get(0)).optional()? {
                return Ok(Some(entity));
            }
        }
        Ok(None)
    }

    fn make_entity(&self, at_ms: i64) -> rusqlite::Result<i64> {
        let sql = "INSERT INTO entities (created_at, updated_at) VALUES (?1, ?1)";
        self.connection.prepare_cached(sql)?.execute([at_ms])?;
        Ok(self.connection.last_insert_rowid())
    }

    /// What a name means in its context.
    fn named(&mut self, context: &Context<'_>, name: &str, folded: String, kind: EntityKind) -> rusqlite::Result<Met> {
        let key = (context.audience, kind, folded);
        if let Some(met) = self.met.get(&key) {
            return Ok(*met);
        }
        let entity = match self.meant(context, &key.2, kind)? {
            Some(entity) => entity,
            None => self.make_entity(context.source.at_ms)?,
        };
        let met = Met { entity, name: self.name(context, entity, name, kind)? };
        self.met.insert(key, met);
        Ok(met)
    }

    /// The entity that a name means, of those that are known to all who hear it.
    fn meant(&self, context: &Context<'_>, folded: &str, kind: EntityKind) -> rusqlite::Result<Option<i64>> {
        let sql = format!(
            "SELECT entity, kind, audience,
                 EXISTS (SELECT 1 FROM entity_accounts AS own WHERE own.entity = names.entity AND {})
             FROM names WHERE folded = ?1 AND {} ORDER BY mentions DESC, entity",
            context.seen.condition("own.audience"),
            context.seen.condition("names.audience")
        );
        let mut statement = self.connection.prepare_cached(&sql)?;
        let mut rows = statement.query([folded])?;
        let (mut here, mut elsewhere): (Vec<Candidate>, Vec<Candidate>) = Default::default();
        while let Some(row) = rows.next()? {
            let kind = EntityKind::parse(row.get_ref(1)?.as_str()?);
            let candidate = Candidate { entity: row.get(0)?, kind, has_account: row.get(3)? };
            let of = if context.scope.contains(&row.get(2)?) { &mut here } else { &mut elsewhere };
            of.push(candidate);
        }
        here.retain(|candidate| candidate.kind.fits(kind));
        elsewhere.retain(|candidate| kind.is_shared() && candidate.kind == kind);
        let mut candidates = if here.is_empty() { elsewhere } else { here };
        let mut roots: Vec<i64> = candidates.iter().map(|candidate| self.merged.root(candidate.entity)).collect();
        roots.sort_unstable();
        roots.dedup();
        if roots.len() > 1 {
            // Which of them is meant can't be known; none is taken for somebody whose account is.
            candidates.retain(|candidate| !candidate.has_account);
        }
        let best = candidates.iter().find(|candidate| candidate.kind == kind).or(candidates.first());
        Ok(best.map(|candidate| candidate.entity))
    }

    /// The row of an entity's name in an audience, which is made where it is new.
    pub(super) fn name(
        &mut self,
        context: &Context<'_>,
        entity: i64,
        name: &str,
        kind: EntityKind,
    ) -> rusqlite::Result<i64> {
        let folded = text::fold(name);
        let sql = "SELECT id, kind FROM names WHERE entity = ?1 AND folded = ?2 AND audience = ?3";
        let known: Option<(i64, String)> = self
            .connection
            .prepare_cached(sql)?
            .query_row(params![entity, folded, context.audience], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if let Some((id, known)) = known {
            if EntityKind::parse(&known) == EntityKind::Thing && kind != EntityKind::Thing {
                let sql = "UPDATE names SET kind = ?2 WHERE id = ?1";
                self.connection.prepare_cached(sql)?.execute(params![id, kind.as_str()])?;
            }
            return Ok(id);
        }
        let sql =
            "INSERT INTO names (entity, text, folded, kind, audience, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let row = params![entity, name, folded, kind.as_str(), context.audience, context.source.at_ms];
        self.connection.prepare_cached(sql)?.execute(row)?;
        let id = self.connection.last_insert_rowid();
        terms::put_name(self.connection, id, name)?;
        Ok(id)
    }
}

/// A name, in one line.
pub(super) fn proper_name(name: &str) -> Result<String, Refusal> {
    let name = clean(name);
    let folded = text::fold(&name);
    let is_long = name.chars().count() > LONGEST_NAME;
    if folded.trim().is_empty() || is_long || PRONOUNS.contains(&folded.trim()) {
        return Err(Refusal::NoName(shortened(&name)));
    }
    Ok(name)
}

fn shortened(text: &str) -> String {
    text.chars().take(40).collect()
}

//! What is told to the graph, and what it answers.

use homeagent_types::{Audience, Principal};
use serde::Serialize;

/// The label of a relation that others may have written than whom it is said to come from.
pub const FOREIGN_LABEL: &str = "foreign";

/// What kind of thing an entity is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntityKind {
    /// A human.
    Person,
    /// A pet or another animal.
    Animal,
    /// A city, a street, a room.
    Place,
    /// A firm, a school, a club.
    Organisation,
    /// Something that happens.
    Event,
    /// A day, a year, a season.
    Time,
    /// A topic, an activity, a kind of thing.
    Concept,
    /// Anything else, and what is not known to be one of the others.
    Thing,
}

impl EntityKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Person,
        Self::Animal,
        Self::Place,
        Self::Organisation,
        Self::Event,
        Self::Time,
        Self::Concept,
        Self::Thing,
    ];

    /// Its name, as it is stored and as tools have it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Animal => "animal",
            Self::Place => "place",
            Self::Organisation => "organisation",
            Self::Event => "event",
            Self::Time => "time",
            Self::Concept => "concept",
            Self::Thing => "thing",
        }
    }

    /// Reads what [`EntityKind::as_str`] wrote; anything else is a thing.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text).unwrap_or(Self::Thing)
    }

    /// Whether a name of this kind means the same wherever it is said: there is one Beijing, and many a Xiao Ming.
    pub(super) fn is_shared(self) -> bool {
        matches!(self, Self::Place | Self::Organisation | Self::Time | Self::Concept)
    }

    /// A condition for rows whose kind stands in `column`: those of which [`EntityKind::is_shared`] holds.
    pub(super) fn shared_condition(column: &str) -> String {
        let shared: Vec<String> =
            Self::ALL.iter().filter(|kind| kind.is_shared()).map(|kind| format!("'{}'", kind.as_str())).collect();
        format!("{column} IN ({})", shared.join(","))
    }

    /// Whether two mentions may be of one thing.
    pub(super) fn fits(self, other: Self) -> bool {
        self == other || self == Self::Thing || other == Self::Thing
    }
}

/// What stands at an end of a relation that is told.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// Whoever speaks: 我, "I".
    Speaker,
    /// The person of an account, `namespace:user`.
    Account(String),
    /// Whatever is called this in the source's context.
    Named(String, EntityKind),
    /// An entity that is known.
    Entity(i64),
    /// A value: a number, a date, words. Only as an object.
    Literal(String),
}

/// Whether what is told holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Holding {
    /// It holds.
    #[default]
    Now,
    /// It held and no longer does: 以前, "used to".
    Ended,
    /// It does not hold. Ends what says that it does, and is not kept itself otherwise.
    Denied,
}

/// A relation as it is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Of what something is said.
    pub subject: Node,
    /// What relates them, in Chinese or English; see [`super::predicate`].
    pub predicate: String,
    /// To what, or the value.
    pub object: Node,
    /// Labels, such as `trait`; letters, digits, `-` and `_`.
    pub kinds: Vec<String>,
    /// From 0 to 1.
    pub confidence: f32,
    /// Whether it holds.
    pub holding: Holding,
    /// Since when it holds, in milliseconds since 1970 UTC, if that was said.
    pub valid_from: Option<i64>,
    /// Until when.
    pub valid_to: Option<i64>,
    /// The words from which this was drawn; the relation in short where there are none.
    pub sentence: Option<String>,
}

impl Claim {
    /// A claim that holds, as sure as somebody's own words.
    #[must_use]
    pub fn new(subject: Node, predicate: impl Into<String>, object: Node) -> Self {
        Self {
            subject,
            predicate: predicate.into(),
            object,
            kinds: Vec::new(),
            confidence: 0.9,
            holding: Holding::Now,
            valid_from: None,
            valid_to: None,
            sentence: None,
        }
    }
}

/// Where claims come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Who heard them, and so may be told.
    pub audience: Audience,
    /// Who said them, with the role that counts; none for what nobody in particular said, such as a document of the
    /// agent's own.
    pub speaker: Option<Principal>,
    /// Where they stand: `journal:<seq>`, `document:<id>`, `run:<id>`.
    pub origin: String,
    /// When they were said, in milliseconds since 1970 UTC.
    pub at_ms: i64,
    /// That the claims as a whole can be taken back: for a tool's call, not for what is distilled.
    pub undoable: bool,
}

/// Why a claim was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A guest speaks of others.
    #[error("a guest may only say things of himself; the owner or a member of the house can say this")]
    OfOthers,
    /// Nobody in particular said it.
    #[error("it says \"I\", and it is not known who speaks")]
    NoSpeaker,
    /// A name that names nobody.
    #[error("\"{0}\" is no name: say who or what is meant, or \"I\" for whoever speaks")]
    NoName(String),
    /// Nothing that is said of the subject.
    #[error("the predicate is empty or too long")]
    NoPredicate,
    /// A subject that is a value.
    #[error("the subject must be somebody or something, not a value")]
    LiteralSubject,
    /// There is no such entity, or it may not be seen here.
    #[error("there is no entity {0} here")]
    NoEntity(i64),
    /// It denies what nobody said.
    #[error("there is nothing that it denies")]
    NothingDenied,
    /// It was deleted or taken back after this was said.
    #[error("it was deleted or taken back after it was said")]
    Forgotten,
}

/// A relation that no longer holds because of a newer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Closing {
    /// What no longer holds.
    pub relation: i64,
    /// What holds instead.
    pub by: i64,
    /// The change by which it can be undone.
    pub change: i64,
}

/// What came of claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// For each claim its relation, or why there is none.
    pub relations: Vec<Result<i64, Refusal>>,
    /// How many relations were not known before.
    pub fresh: usize,
    /// Which relations no longer hold.
    pub closed: Vec<Closing>,
    /// The change by which an undoable source's claims can be taken back, where they brought anything.
    pub change: Option<i64>,
}

/// What an entity looks like to a reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entity {
    /// Its id. Those that were merged into it are it.
    pub id: i64,
    /// What it is called.
    pub name: String,
    /// What kind of thing it is.
    pub kind: EntityKind,
    /// What else it is called.
    pub aliases: Vec<String>,
    /// Accounts of a person, `namespace:user`.
    pub accounts: Vec<String>,
    /// How often it was spoken of.
    pub mentions: i64,
}

/// What a relation looks like to a reader.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Relation {
    /// Its id.
    pub id: i64,
    /// The subject's id and name.
    pub subject: (i64, String),
    /// The predicate's key.
    pub predicate: String,
    /// The object's id, where it is an entity.
    pub object_entity: Option<i64>,
    /// The object's name, or the value.
    pub object: String,
    /// The whole as a short sentence.
    pub text: String,
    /// Labels.
    pub kinds: Vec<String>,
    /// From 0 to 1.
    pub confidence: f32,
    /// In how many sentences it was said.
    pub mentions: i64,
    /// Since when it holds, if that was said; in milliseconds since 1970 UTC, as all times.
    pub valid_from: Option<i64>,
    /// Until when it held, where it no longer does.
    pub valid_to: Option<i64>,
    /// When it was first said.
    pub learnt_at: i64,
    /// When it was last said.
    pub last_at: i64,
    /// When it was taken back.
    pub retracted_at: Option<i64>,
    /// The relation that closed it.
    pub closed_by: Option<i64>,
    /// Who heard it, in text form; those before whom it was told last, where the reader is of several audiences that did.
    pub audience: String,
    /// Where else it was told before an audience that the reader is of. Times, mentions and confidence are of all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub told_also: Vec<Telling>,
}

/// A relation's row before one audience.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Telling {
    /// Its id.
    pub relation: i64,
    /// Who heard it, in text form.
    pub audience: String,
}

impl Relation {
    /// Whether it holds now, as far as is known.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.retracted_at.is_none() && self.valid_to.is_none() && self.closed_by.is_none()
    }
}

/// Where a relation was said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sentence {
    /// Its id.
    pub id: i64,
    /// The words; empty where they were to be forgotten.
    pub text: String,
    /// Where they stand: `journal:<seq>`, `document:<id>`, `run:<id>`.
    pub origin: String,
    /// The account that said them.
    pub speaker: Option<String>,
    /// When.
    pub at: i64,
}

//! The shape of a personal fact.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::text::fold;

/// Whom a fact is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// Whoever said it.
    Speaker,
    /// Somebody, or some animal, of the speaker's.
    Relative {
        /// What they are to the speaker, in English: `mother`, `wife`, `friend`, `dog`.
        relation: String,
        /// Their name where it was said with it.
        name: Option<String>,
    },
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Speaker => f.write_str("speaker"),
            Self::Relative { relation, name: None } => write!(f, "{relation} of speaker"),
            Self::Relative { relation, name: Some(name) } => write!(f, "{relation} {name} of speaker"),
        }
    }
}

/// When something held, seen from the moment it was said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum When {
    /// Once, and not any more.
    Past,
    /// Now.
    Current,
    /// It is to come.
    Future,
}

macro_rules! predicates {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// What is said of somebody.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Predicate {
            $($(#[$doc])* $name,)*
        }

        impl Predicate {
            /// The name under which it is kept, which stays the same whatever language it was said in.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $text,)*
                }
            }
        }
    };
}

predicates! {
    /// The name somebody goes by.
    Name = "name",
    /// A family name said alone.
    Surname = "surname",
    /// What others call somebody.
    Nickname = "nickname",
    /// Where somebody lives.
    Home = "home",
    /// Where somebody comes from or grew up.
    Hometown = "hometown",
    /// Where somebody was born.
    Birthplace = "birthplace",
    /// An address by street.
    Address = "address",
    /// Of which country somebody is.
    Nationality = "nationality",
    /// In whole years.
    Age = "age",
    /// `1990-05-04`, `05-04`, `1990` or as said, for a day of the lunar calendar.
    Birthday = "birthday",
    /// What somebody does for a living.
    Job = "job",
    /// For whom or in which field somebody works.
    Workplace = "workplace",
    /// Where somebody learns.
    School = "school",
    /// What somebody learns.
    Studies = "studies",
    /// What somebody likes; denied where they do not.
    Likes = "likes",
    /// What somebody likes best of a kind, which is the fact's detail.
    Favourite = "favourite",
    /// An instrument or a sport.
    Plays = "plays",
    /// A language.
    Speaks = "speaks",
    /// What somebody knows how to do.
    Can = "can",
    /// What somebody can't take.
    Allergy = "allergy",
    /// A way of eating: vegetarian, vegan, halal.
    Diet = "diet",
    /// A food; mostly denied.
    Eats = "eats",
    /// A drink; mostly denied.
    Drinks = "drinks",
    /// Tobacco.
    Smokes = "smokes",
    /// A lasting condition.
    Health = "health",
    /// Whom somebody has in the family; how many is the fact's detail.
    Family = "family",
    /// `married`, `single`, `divorced`, `engaged`, `widowed`.
    MaritalStatus = "marital_status",
    /// The kind of an animal of somebody's; how many is the fact's detail.
    Pet = "pet",
    /// What somebody is afraid of.
    Fears = "fears",
    /// A number to call.
    Phone = "phone",
    /// An address for mail.
    Email = "email",
    /// What somebody is going to do.
    Plan = "plan",
}

/// One thing that was said of somebody.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// Whom it is about.
    pub subject: Subject,
    /// What is said.
    pub predicate: Predicate,
    /// The rest of it: a place, a thing, a number. Never empty.
    pub value: String,
    /// What narrows it: the kind of a favourite ("colour"), how many of a family or of pets.
    pub detail: Option<String>,
    /// That it is not so: "I don't like cats".
    pub negated: bool,
    /// When it held or will hold.
    pub when: When,
    /// The sentence it was said in: bytes of the text.
    pub span: Range<usize>,
    /// From 0 to 1: how plainly it was said.
    pub confidence: f32,
}

impl Fact {
    /// Whether another fact says nothing more than this one.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        self.subject == other.subject
            && self.predicate == other.predicate
            && self.negated == other.negated
            && self.when == other.when
            && self.detail == other.detail
            && fold(&self.value) == fold(&other.value)
    }
}

/// A line for people and tests: `speaker likes: tea`, `mother of speaker home: Paris (past)`.
impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let not = if self.negated { " not" } else { "" };
        write!(f, "{}{not} {}", self.subject, self.predicate.as_str())?;
        if let Some(detail) = &self.detail {
            write!(f, " {detail}")?;
        }
        write!(f, ": {}", self.value)?;
        match self.when {
            When::Past => f.write_str(" (past)"),
            When::Current => Ok(()),
            When::Future => f.write_str(" (future)"),
        }
    }
}

//! For whom a base is, and who asks.

use std::fmt;

use homeagent_types::{Audience, Cause, Role};
use serde::{Deserialize, Serialize};

/// A circle of readers, each within the next. A base is for one; who asks belongs to one, and sees the bases of that and
/// of all around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Circle {
    /// Everybody whom the agent talks with, guests among them.
    Everyone,
    /// Those of the house: what a base is for where nothing else is said.
    Members,
    /// The owner alone.
    Owner,
}

impl Circle {
    /// The word for it in a file.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Everyone => "everyone",
            Self::Members => "members",
            Self::Owner => "owner",
        }
    }

    /// Reads that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        let word = word.trim().trim_matches(['"', '\'']);
        [Self::Everyone, Self::Members, Self::Owner]
            .into_iter()
            .find(|circle| word.eq_ignore_ascii_case(circle.as_str()))
    }

    /// The circle of all who read what comes of a call: that of who asks where they alone read it. In a group anybody may
    /// read, so only what is for everyone is told there; `groups_are_home` says that the owner takes groups for members of
    /// the house.
    #[must_use]
    pub fn of(cause: &Cause, groups_are_home: bool) -> Self {
        let who = &cause.principal;
        let own = match who.role {
            Role::Owner => Self::Owner,
            Role::Member => Self::Members,
            Role::Guest | Role::Plugin => Self::Everyone,
        };
        match &cause.audience {
            // On a channel that is the owner's own, such as the terminal, each conversation is.
            Audience::Person(person)
                if *person == who.to_string()
                    || (who.attested
                        && person.split_once(':').is_some_and(|(channel, _)| channel == who.namespace)) =>
            {
                own
            }
            // Nobody reads it but the agent.
            Audience::Agent => own,
            Audience::Group(_) if groups_are_home => own.min(Self::Members),
            _ => Self::Everyone,
        }
    }

    /// Whether whoever belongs to this circle may read a base that is for `base`.
    #[must_use]
    pub fn may_read(self, base: Self) -> bool {
        base <= self
    }
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use homeagent_types::Principal;

    use super::*;

    fn cause(role: Role, attested: bool, audience: Audience) -> Cause {
        let principal = Principal { namespace: "qq".into(), user: "1".into(), role, display_name: None, attested };
        Cause {
            run: None,
            conversation: None,
            principal,
            audience,
            deadline_ms: 0,
            chain: Vec::new(),
            meta: Vec::new(),
        }
    }

    #[test]
    fn what_is_told_is_what_all_who_read_it_may_know() {
        let person = |who: &str| Audience::Person(who.to_owned());
        let group = Audience::Group("qq:7".to_owned());
        let cases = [
            (Role::Owner, false, person("qq:1"), false, Circle::Owner),
            (Role::Member, false, person("qq:1"), false, Circle::Members),
            (Role::Guest, false, person("qq:1"), true, Circle::Everyone),
            (Role::Owner, false, person("qq:2"), false, Circle::Everyone),
            (Role::Owner, true, person("qq:den"), false, Circle::Owner),
            (Role::Owner, true, person("other:1"), false, Circle::Everyone),
            (Role::Owner, false, group.clone(), false, Circle::Everyone),
            (Role::Owner, false, group.clone(), true, Circle::Members),
            (Role::Guest, false, group, true, Circle::Everyone),
        ];
        for (role, attested, audience, home, circle) in cases {
            assert_eq!(Circle::of(&cause(role, attested, audience.clone()), home), circle, "{role:?} {audience}");
        }
        assert!(Circle::Members.may_read(Circle::Everyone) && !Circle::Members.may_read(Circle::Owner));
    }
}

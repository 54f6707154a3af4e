//! Who speaks, where, and who may read it.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Meta;

/// A right to act. Ordered: a greater role may do what a lesser one may, except `plugin`, which stands lowest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A plugin that acts by itself.
    Plugin,
    /// Somebody the owner has not named.
    Guest,
    /// Somebody of the house.
    Member,
    /// The owner.
    Owner,
}

impl Role {
    /// The name as it is stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Owner => "owner",
            Role::Member => "member",
            Role::Guest => "guest",
            Role::Plugin => "plugin",
        }
    }

    /// Reads what [`Role::as_str`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        [Role::Owner, Role::Member, Role::Guest, Role::Plugin].into_iter().find(|role| role.as_str() == text)
    }
}

/// Who caused an input: a channel's namespace and a user in it, mapped by the host to a role.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    /// The channel (or plugin) in whose naming `user` is unique.
    pub namespace: String,
    /// The account within the namespace.
    pub user: String,
    /// What the host maps that account to.
    pub role: Role,
    /// A name for people to read.
    pub display_name: Option<String>,
    /// The host itself knows that it is this one, so that the role stands without a binding.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub attested: bool,
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.namespace, self.user)
    }
}

/// The other side of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Peer {
    /// One person, by account.
    Person(String),
    /// A group, by its id.
    Group(String),
    /// A kind of peer this version does not know.
    Other(String),
}

/// A channel and a peer or group on it. Its text form is `channel:person`, `channel:group/<id>` or
/// `channel:other/<id>`, with `/` and `%` in a person's account written `%2F` and `%25`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Conversation {
    /// The channel's name.
    pub channel: String,
    /// The other side.
    pub peer: Peer,
}

impl Conversation {
    /// A conversation with one person.
    pub fn person(channel: impl Into<String>, user: impl Into<String>) -> Self {
        Self { channel: channel.into(), peer: Peer::Person(user.into()) }
    }

    /// Reads the text form; `None` when there is no channel in it.
    pub fn parse(text: &str) -> Option<Self> {
        let (channel, peer) = text.split_once(':').filter(|(channel, _)| !channel.is_empty())?;
        let peer = match peer.split_once('/') {
            Some(("group", id)) => Peer::Group(id.to_owned()),
            Some(("other", id)) => Peer::Other(id.to_owned()),
            _ => Peer::Person(peer.replace("%2F", "/").replace("%25", "%")),
        };
        Some(Self { channel: channel.to_owned(), peer })
    }

    /// Everyone who reads what is said in it.
    pub fn audience(&self) -> Audience {
        match &self.peer {
            Peer::Person(user) => Audience::Person(format!("{}:{user}", self.channel)),
            Peer::Group(group) => Audience::Group(format!("{}:{group}", self.channel)),
            Peer::Other(other) => Audience::Other(format!("{}:{other}", self.channel)),
        }
    }
}

impl fmt::Display for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.peer {
            Peer::Person(user) => write!(f, "{}:{}", self.channel, user.replace('%', "%25").replace('/', "%2F")),
            Peer::Group(group) => write!(f, "{}:group/{group}", self.channel),
            Peer::Other(other) => write!(f, "{}:other/{other}", self.channel),
        }
    }
}

/// Who may read what was said. Its text form is `person:<namespace>:<user>`, `group:<channel>:<group>`, `agent` or
/// `other:<name>`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Audience {
    /// One principal, written `namespace:user`.
    Person(String),
    /// The members of a group conversation, written `channel:group`.
    Group(String),
    /// The agent alone.
    Agent,
    /// An audience this version does not know; to be treated as [`Audience::Agent`].
    Other(String),
}

impl Audience {
    /// Reads the text form; what this version does not know is an [`Audience::Other`].
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text.split_once(':') {
            Some(("person", person)) => Self::Person(person.to_owned()),
            Some(("group", group)) => Self::Group(group.to_owned()),
            Some(("other", other)) => Self::Other(other.to_owned()),
            _ if text == "agent" => Self::Agent,
            _ => Self::Other(text.to_owned()),
        }
    }
}

impl fmt::Display for Audience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Person(person) => write!(f, "person:{person}"),
            Self::Group(group) => write!(f, "group:{group}"),
            Self::Agent => f.write_str("agent"),
            Self::Other(other) => write!(f, "other:{other}"),
        }
    }
}

/// What may be shown to somebody: that of which each reader of a reply was, or could have been, a reader anyway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Viewer {
    /// Everything: whoever looks after the machine, and the memory's own work, which shows nothing to anybody.
    Everything,
    /// What was said before exactly one of these audiences.
    Only(BTreeSet<Audience>),
}

impl Viewer {
    /// Whether what has this audience may be shown.
    #[must_use]
    pub fn may_see(&self, audience: &Audience) -> bool {
        match self {
            Self::Everything => true,
            Self::Only(audiences) => {
                matches!(audience, Audience::Person(_) | Audience::Group(_)) && audiences.contains(audience)
            }
        }
    }
}

/// What a call comes from; handed along with each call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The turn, when there is one.
    pub run: Option<String>,
    /// Where the turn's input was said.
    pub conversation: Option<Conversation>,
    /// Whose rights the call has.
    pub principal: Principal,
    /// Who reads what comes of it.
    pub audience: Audience,
    /// How long the callee has, in milliseconds from the moment of the call.
    pub deadline_ms: u64,
    /// The slots this call has come through, outermost first.
    pub chain: Vec<String>,
    /// Additions by name.
    pub meta: Meta,
}

/// Among a cause's additions: others may have written what the call is made for. The host alone sets it, and believes no
/// plugin's cause.
const FOREIGN: &str = "homeagent.foreign";

impl Cause {
    /// Whether others may have written what the call is made for.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.meta.iter().any(|(key, _)| key == FOREIGN)
    }

    /// Says that others may have written what the call is made for.
    pub fn mark_foreign(&mut self) {
        if !self.is_foreign() {
            self.meta.push((FOREIGN.to_owned(), "true".to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversations_read_back_as_they_were_written() {
        let peers = [
            Peer::Person("7".into()),
            Peer::Person("group/7".into()),
            Peer::Person("50%2F:张三".into()),
            Peer::Group("7".into()),
            Peer::Group("a/b".into()),
            Peer::Other("x".into()),
        ];
        for peer in peers {
            let conversation = Conversation { channel: "qq".into(), peer };
            assert_eq!(Conversation::parse(&conversation.to_string()), Some(conversation));
        }
        assert_eq!(Conversation::parse("nothing"), None);
    }

    #[test]
    fn audiences_read_back_as_they_were_written() {
        let audiences = [
            Audience::Person("qq:1:2".into()),
            Audience::Group("qq:7".into()),
            Audience::Agent,
            Audience::Other("agent".into()),
        ];
        for audience in audiences {
            assert_eq!(Audience::parse(&audience.to_string()), audience);
        }
        assert_eq!(Audience::parse("planet:7"), Audience::Other("planet:7".into()));
    }

    #[test]
    fn a_viewer_sees_what_was_said_before_them_and_nothing_that_is_the_agents() {
        let [mine, theirs] = ["qq:1", "qq:2"].map(|who| Audience::Person(who.to_owned()));
        let viewer = Viewer::Only([mine.clone(), Audience::Agent, Audience::Other("x".into())].into());
        assert!(viewer.may_see(&mine));
        for hidden in [theirs, Audience::Agent, Audience::Other("x".into())] {
            assert!(!viewer.may_see(&hidden), "{hidden}");
            assert!(Viewer::Everything.may_see(&hidden));
        }
    }

    #[test]
    fn an_owner_may_what_a_member_may_and_a_plugin_may_least() {
        assert!(Role::Owner > Role::Member && Role::Member > Role::Guest && Role::Guest > Role::Plugin);
        for role in [Role::Owner, Role::Member, Role::Guest, Role::Plugin] {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
    }
}

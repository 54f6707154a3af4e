//! Which role somebody has at this moment, and whose words are nobody's here. Roles come from the owner's bindings only.

use homeagent_settings::Bindings;
use homeagent_types::{Conversation, Input, Offers, Payload, Peer, Principal, Role};

use crate::errands;

/// The role of an account, for which nobody but the channel vouches. A plugin that names itself is a plugin.
pub(crate) fn role_now(bindings: &Bindings, namespace: &str, user: &str) -> Role {
    let itself = user.is_empty() || user == namespace;
    let bound = bindings.role_of(namespace, user).and_then(|role| Role::parse(&role));
    bound.unwrap_or(if itself { Role::Plugin } else { Role::Guest })
}

/// What somebody may do now who was known before: what the owner took from them meanwhile they do not have, and what they
/// were given later they had not then.
pub(crate) fn standing(bindings: &Bindings, who: &Principal) -> Role {
    if who.attested { who.role } else { who.role.min(role_now(bindings, &who.namespace, &who.user)) }
}

/// Gives the speaker of an input that waited the role they have now: what the owner gave or took meanwhile counts at once.
/// An errand keeps to the rights with which it was given.
pub(crate) fn refresh(bindings: &Bindings, input: &mut Input) {
    let who = &input.principal;
    input.principal.role = match errands::is_errand(input) || who.attested {
        true => standing(bindings, who),
        false => role_now(bindings, &who.namespace, &who.user),
    };
}

/// What the speaker of an input said in their own words. A channel that puts before them what is quoted says them apart,
/// in `text`; where it forwards what others wrote, without that, there are none.
pub(crate) fn own_words(input: &Input) -> Option<&str> {
    let Payload::Text(text) = &input.payload else { return None };
    match input.meta.iter().find(|(key, _)| key == "text") {
        Some((_, said)) => Some(said),
        None => (!is_forwarded(input)).then_some(text),
    }
}

/// The key of an input's `meta` by which a channel says that others wrote what it says, or a part of it.
pub(crate) const FORWARDED: &str = "forwarded";

pub(crate) fn is_forwarded(input: &Input) -> bool {
    input.meta.iter().any(|(key, value)| key == FORWARDED && value == "true")
}

/// Whether nobody reads and writes in a conversation but one person and the agent.
pub(crate) fn is_private(conversation: &Conversation) -> bool {
    matches!(conversation.peer, Peer::Person(_))
}

/// Whether others may have written what an input says: it was said in a group, or in somebody else's conversation, it was
/// forwarded, a plugin that reaches the network says it, or it is the errand of a timer that was set for such a text.
pub(crate) fn is_foreign(input: &Input, offers: &Offers) -> bool {
    let by_plugin = input.principal.role == Role::Plugin || errands::is_errand(input);
    let is_outward = by_plugin && offers.outward.contains(&input.source);
    is_forwarded(input) || is_outward || errands::is_foreign(input) || !is_at_home(input)
}

/// Whether the speaker of an input is in a conversation of their own. Channels may know an owner's conversation by another
/// name than their account; what is below an owner may be a stranger whose words a channel brings before the owner.
fn is_at_home(input: &Input) -> bool {
    let who = &input.principal;
    match &input.conversation.peer {
        Peer::Person(person) => who.attested || who.role == Role::Owner || *person == who.user,
        _ => false,
    }
}

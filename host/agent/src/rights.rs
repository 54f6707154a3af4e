//! Which role somebody has at this moment. Roles come from the owner's bindings only.

use homeagent_settings::Bindings;
use homeagent_types::{Principal, Role};

/// The role of an account, for which nobody but the channel vouches. A plugin that names itself is a plugin.
pub(crate) fn role_now(bindings: &Bindings, namespace: &str, user: &str) -> Role {
    let itself = user.is_empty() || user == namespace;
    let bound = bindings.role_of(namespace, user).and_then(|role| Role::parse(&role));
    bound.unwrap_or(if itself { Role::Plugin } else { Role::Guest })
}

/// Gives somebody who waited the role they have now: what the owner gave or took meanwhile counts at once.
pub(crate) fn refresh(bindings: &Bindings, principal: &mut Principal) {
    principal.role = role_now(bindings, &principal.namespace, &principal.user);
}

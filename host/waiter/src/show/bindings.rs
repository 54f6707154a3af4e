//! Accounts and their roles.

use serde::Deserialize;

use crate::client::read;
use crate::failure::Failure;
use crate::plain::plain_line;
use crate::table::Table;

#[derive(Deserialize)]
struct Binding {
    channel: String,
    user: String,
    role: String,
}

/// All accounts that have a role.
pub(crate) fn list(answer: &str) -> Result<String, Failure> {
    let bindings: Vec<Binding> = read(answer)?;
    let mut table = Table::new(&["CHANNEL", "ACCOUNT", "ROLE"]);
    for binding in &bindings {
        table.row(&[&binding.channel, &binding.user, &binding.role]);
    }
    Ok(table.or("no account has a role; `waiter owner pair` makes one yours"))
}

/// An account that has a role now.
pub(crate) fn one(answer: &str) -> Result<String, Failure> {
    let Binding { channel, user, role } = read(answer)?;
    Ok(plain_line(&format!("{user} on {channel} is {role}")) + "\n")
}

/// An account that has none any more.
pub(crate) fn unbound(answer: &str) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Unbound {
        channel: String,
        user: String,
    }
    let Unbound { channel, user } = read(answer)?;
    Ok(plain_line(&format!("{user} on {channel} is a guest")) + "\n")
}

#[derive(Deserialize)]
struct Pairing {
    channel: Option<String>,
    user: Option<String>,
    name: Option<String>,
    reason: Option<String>,
}

/// Which account is paired.
pub(crate) fn paired(answer: &str) -> Result<String, Failure> {
    let pairing: Pairing = read(answer)?;
    let (channel, user) = (pairing.channel.unwrap_or_default(), pairing.user.unwrap_or_default());
    let name = pairing.name.map_or_else(String::new, |name| format!(" ({name})"));
    Ok(plain_line(&format!("paired: {user}{name} on {channel} is the owner's")) + "\n")
}

/// Why nobody is paired.
pub(crate) fn ended(answer: &str) -> Result<String, Failure> {
    let pairing: Pairing = read(answer)?;
    let reason = pairing.reason.unwrap_or_else(|| "the agent was stopped meanwhile".to_owned());
    Ok(plain_line(&format!("nobody is paired: {reason}; `waiter owner pair` gives another code")))
}

//! `[wants.timers]`: how many timers a package wants to have.

use serde::Deserialize;

use super::Want;

/// The most that any plugin may have.
const MOST: u32 = 10_000;

/// How many.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TimersWant {
    /// Nothing: as many as the setting `core.plugin.timers` says.
    pub(crate) most: Option<u32>,
}

impl Want for TimersWant {
    const CAPABILITY: &'static str = "timers";

    fn check(&self) -> Result<(), String> {
        match self.most {
            Some(0) => Err("most = 0 are none".to_owned()),
            Some(most) if most > MOST => Err(format!("most = {most}; no plugin has more than {MOST}")),
            _ => Ok(()),
        }
    }
}

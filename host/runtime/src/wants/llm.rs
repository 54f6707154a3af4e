//! `[wants.llm]`: how much a plugin may ask of the model.

use serde::Deserialize;

use super::Want;

/// The most tokens a day that a package can ask for.
const MOST: u64 = 1_000_000_000;

/// The budget of a plugin.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Llm {
    /// Tokens of requests and answers together, in one day.
    pub(crate) tokens_per_day: u64,
}

impl Want for Llm {
    const CAPABILITY: &'static str = "llm";

    fn check(&self) -> Result<(), String> {
        if (1..=MOST).contains(&self.tokens_per_day) {
            return Ok(());
        }
        Err(format!("tokens_per_day has to be 1 to {MOST}"))
    }
}

//! `[wants.memory]`, `[wants.knowledge]` and `[wants.social]`: how far a plugin reaches into what the agent remembers.

use serde::Deserialize;

use super::Want;

/// How far into the memory.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct MemoryWant {
    /// Texts may be added.
    pub(crate) write: bool,
    /// Also of the plugin's own accord, when nobody's call is under way.
    pub(crate) anytime: bool,
}

impl Want for MemoryWant {
    const CAPABILITY: &'static str = "memory";

    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// How far into the knowledge base.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct KnowledgeWant {
    /// Texts may be added.
    pub(crate) write: bool,
    /// Also of the plugin's own accord, when nobody's call is under way.
    pub(crate) anytime: bool,
}

impl Want for KnowledgeWant {
    const CAPABILITY: &'static str = "knowledge";

    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

/// How far into what is known of people.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct SocialWant {
    /// Also of the plugin's own accord, when nobody's call is under way.
    pub(crate) anytime: bool,
}

impl Want for SocialWant {
    const CAPABILITY: &'static str = "social";

    fn check(&self) -> Result<(), String> {
        Ok(())
    }
}

//! The settings a turn reads, as of its beginning.

use std::time::Duration;

use homeagent_memory::context::Most;
use homeagent_settings::{Settings, SettingsError};

/// What bounds a turn.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// How often a turn goes back to the model after tool calls.
    pub(crate) rounds: u32,
    /// Wall time of a turn.
    pub(crate) turn: Duration,
    /// Identical calls in a row before a turn stops.
    pub(crate) identical_calls: u32,
    /// Tokens that the model calls of a turn may take together.
    pub(crate) turn_tokens: u64,
    pub(crate) reply_bytes: usize,
    pub(crate) reasoning_bytes: usize,
    pub(crate) arguments_bytes: usize,
    pub(crate) result_bytes: usize,
    /// What of a conversation the model is shown.
    pub(crate) window: Most,
    /// Turns in which the model is shown what came with a message.
    pub(crate) media_turns: usize,
    pub(crate) stage_timeout: Duration,
    pub(crate) tool_timeout: Duration,
}

impl Limits {
    pub(crate) fn read(settings: &Settings) -> Result<Self, SettingsError> {
        let size = |key: &str| settings.integer(key).map(|value| usize::try_from(value).unwrap_or(usize::MAX));
        let count = |key: &str| settings.integer(key).map(|value| u32::try_from(value).unwrap_or(u32::MAX));
        Ok(Self {
            rounds: count("core.agent.rounds")?,
            turn: settings.duration("core.agent.turn_seconds")?,
            identical_calls: count("core.agent.identical_calls")?,
            turn_tokens: settings
                .integer("core.agent.turn_tokens")
                .map(|most| u64::try_from(most).unwrap_or(u64::MAX))?,
            reply_bytes: size("core.agent.max_reply_bytes")?,
            reasoning_bytes: size("core.agent.max_reasoning_bytes")?,
            arguments_bytes: size("core.agent.max_arguments_bytes")?,
            result_bytes: size("core.agent.max_tool_result_bytes")?,
            window: Most::read(settings)?,
            media_turns: size("core.media.show_turns")?,
            stage_timeout: settings.duration("core.agent.stage_timeout_ms")?,
            tool_timeout: settings.duration("core.agent.tool_timeout_ms")?,
        })
    }
}

/// What the scheduler reads each time it chooses.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    /// Conversations that run a turn at once.
    pub(crate) parallel: usize,
    /// Messages of one person that lie closer together are answered together.
    pub(crate) merge: Duration,
}

impl Pace {
    pub(crate) fn read(settings: &Settings) -> Result<Self, SettingsError> {
        let parallel = settings.integer("core.agent.parallel_conversations")?;
        Ok(Self {
            parallel: usize::try_from(parallel).unwrap_or(usize::MAX),
            merge: settings.duration("core.agent.merge_ms")?,
        })
    }
}

/// The longest prefix of `text` of at most `limit` bytes that ends at a character's end.
pub(crate) fn prefix(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

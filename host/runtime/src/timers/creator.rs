//! For whom a timer was set: what the host itself knew of the call it was set in.

use homeagent_types::ports::Mind;
use homeagent_types::{Audience, CallError, Cause, Conversation, Principal};
use serde::{Deserialize, Serialize};

/// Kept with the timer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Creator {
    principal: Principal,
    conversation: Option<Conversation>,
    audience: Audience,
    /// Others may have written what it was set for, or what it was changed to since.
    #[serde(default)]
    foreign: bool,
}

impl From<Cause> for Creator {
    fn from(cause: Cause) -> Self {
        let foreign = cause.is_foreign();
        Self { principal: cause.principal, conversation: cause.conversation, audience: cause.audience, foreign }
    }
}

impl Creator {
    pub(super) fn read(written: &str) -> Result<Self, CallError> {
        let broken = |error| CallError::Other(format!("for whom it was set can't be read: {error}"));
        serde_json::from_str(written).map_err(broken)
    }

    pub(super) fn written(&self) -> Result<String, CallError> {
        serde_json::to_string(self).map_err(|error| CallError::Invalid(error.to_string()))
    }

    /// Has a call act for whoever set the timer, with what they may do now.
    pub(super) fn lend(self, cause: &mut Cause, mind: &dyn Mind) {
        let role = mind.standing(&self.principal);
        cause.principal = Principal { role, ..self.principal };
        cause.conversation = self.conversation;
        cause.audience = self.audience;
        if self.foreign {
            cause.mark_foreign();
        }
    }

    /// What is written of a creator whose timer is changed to what others may have written.
    pub(super) fn made_foreign(written: &str) -> Result<String, CallError> {
        Self { foreign: true, ..Self::read(written)? }.written()
    }
}

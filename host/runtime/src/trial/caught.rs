//! What takes the agent's place while a channel is tried.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use homeagent_types::ports::Mind;
use homeagent_types::{Accepted, CallError, Cause, Errand, Principal, Role, Submission, ToolOutput};

/// The inputs that a channel has submitted, in order.
#[derive(Default)]
pub(crate) struct Caught(Mutex<Vec<Submission>>);

impl Caught {
    pub(crate) fn take(&self) -> Vec<Submission> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes an input, once by the platform's id, as the agent does.
    fn catch(&self, submission: Submission) -> Accepted {
        let mut caught = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |before: &Submission| before.platform_id.is_some() && before.platform_id == submission.platform_id;
        if let Some(at) = caught.iter().position(same) {
            return Accepted { input: at.to_string(), duplicate: true };
        }
        caught.push(submission);
        Accepted { input: (caught.len() - 1).to_string(), duplicate: false }
    }
}

#[async_trait]
impl Mind for Caught {
    async fn submit(&self, _: &str, _: Option<Principal>, submission: Submission) -> Result<Accepted, CallError> {
        Ok(self.catch(submission))
    }

    async fn interrupt(&self, _: &str, _: Option<Principal>, submission: Submission) -> Result<Accepted, CallError> {
        Ok(self.catch(submission))
    }

    async fn errand(&self, _: &str, errand: Errand) -> Result<Accepted, CallError> {
        Ok(self.catch(errand.submission))
    }

    fn standing(&self, who: &Principal) -> Role {
        who.role
    }

    async fn stop(&self, _: &str, _: Option<Principal>, _: Submission) -> Result<bool, CallError> {
        Ok(false)
    }

    async fn call_tool(&self, _: &str, name: &str, _: String, _: Cause) -> Result<ToolOutput, CallError> {
        Err(CallError::NotFound(format!("there is no tool {name} while a channel is tried")))
    }
}

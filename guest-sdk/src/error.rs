//! The one error of the contract.

use crate::{Denial, Error};

impl Error {
    /// The arguments are wrong; the text says which and how.
    pub fn invalid(what: impl Into<String>) -> Self {
        Self::Invalid(what.into())
    }

    /// There is nothing of that name; the text says of which.
    pub fn not_found(what: impl Into<String>) -> Self {
        Self::NotFound(what.into())
    }

    /// Anything else, in words that the model or a person can act on.
    pub fn other(what: impl Into<String>) -> Self {
        Self::Other(what.into())
    }

    /// The answer to a call of a tool that the plugin does not have.
    pub fn no_tool(name: &str) -> Self {
        Self::NotFound(format!("there is no tool `{name}` here"))
    }

    /// A grant is missing.
    pub fn denied(capability: &str, attempt: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Denied(Denial { capability: capability.to_owned(), attempt: attempt.into(), remedy: remedy.into() })
    }

    /// The error as a sentence for people.
    pub fn message(&self) -> String {
        match self {
            Self::Denied(denial) => {
                format!(
                    "{} is not granted (it takes the grant `{}`). {}",
                    denial.attempt, denial.capability, denial.remedy
                )
            }
            Self::Invalid(what) | Self::NotFound(what) | Self::Other(what) => what.clone(),
            Self::NotLive => "this instance is not the one that serves".to_owned(),
            Self::Busy => "busy, try again later".to_owned(),
            Self::Timeout => "the time is over".to_owned(),
            Self::Retryable => {
                "the callee was started anew before it answered, the same call may succeed a moment later".to_owned()
            }
        }
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        Self::Other(format!("JSON: {error}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_says_what_to_do() {
        let error = Error::denied("tools", "calling `add`", "Run `waiter plugin grant speaker tools`.");
        assert_eq!(
            error.message(),
            "calling `add` is not granted (it takes the grant `tools`). Run `waiter plugin grant speaker tools`."
        );
    }
}

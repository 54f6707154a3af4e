//! What can go wrong, and the exit codes that scripts rely on.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::json;

use crate::plain::plain;

/// Why a command did not do what it was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Failure {
    /// The daemon refused, or could not do it.
    #[error("{}", refusal(detail, errors, hint.as_deref()))]
    Refused {
        /// What went wrong.
        detail: String,
        /// Everything that is wrong, where it is more than one thing.
        errors: Vec<String>,
        /// What can be done about it.
        hint: Option<String>,
        /// The problem document as the daemon sent it.
        document: String,
    },
    /// There is no daemon to talk to.
    #[error(
        "no daemon answers at {socket} ({why}); is `homed` running? `homed run --home {home}` starts it, and --home or \
         HOMEAGENT_HOME say which data folder is meant",
        socket = socket.display(),
        home = socket.parent().unwrap_or(socket).display()
    )]
    Unreachable {
        /// The socket.
        socket: PathBuf,
        /// What the system said.
        why: String,
    },
    /// The command line is not one.
    #[error("{0}")]
    Usage(String),
    /// Anything else, as a sentence.
    #[error("{0}")]
    Failed(String),
}

#[derive(Deserialize)]
struct Problem {
    title: Option<String>,
    detail: Option<String>,
    hint: Option<String>,
    #[serde(default)]
    errors: Vec<Fault>,
}

/// Something that is wrong in a document that was sent.
#[derive(Deserialize)]
struct Fault {
    line: usize,
    reason: String,
}

impl Failure {
    /// Reads a problem document.
    pub(crate) fn from_problem(status: u16, body: &[u8]) -> Self {
        let text = String::from_utf8_lossy(body).into_owned();
        match serde_json::from_slice::<Problem>(body) {
            Ok(problem) => Self::Refused {
                detail: problem.detail.or(problem.title).unwrap_or_else(|| format!("the daemon answered {status}")),
                errors: problem.errors.iter().map(|fault| format!("line {}: {}", fault.line, fault.reason)).collect(),
                hint: problem.hint,
                document: text,
            },
            Err(_) => Self::Failed(format!("the daemon answered {status}: {text}")),
        }
    }

    /// The exit code: 1 failed, 2 usage, 3 daemon not reachable.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Self::Refused { .. } | Self::Failed(_) => 1,
            Self::Usage(_) => 2,
            Self::Unreachable { .. } => 3,
        }
    }

    /// For people, harmless to print.
    #[must_use]
    pub fn sentence(&self) -> String {
        plain(&self.to_string())
    }

    /// For programs: the daemon's problem document, or one like it.
    #[must_use]
    pub fn document(&self) -> String {
        let kind = match self {
            Self::Refused { document, .. } => return document.clone(),
            Self::Unreachable { .. } => "unreachable",
            Self::Usage(_) => "usage",
            Self::Failed(_) => "failed",
        };
        json!({
            "type": format!("urn:homeagent:problem:{kind}"),
            "title": kind,
            "detail": self.to_string(),
        })
        .to_string()
    }
}

fn refusal(detail: &str, errors: &[String], hint: Option<&str>) -> String {
    let hint = hint.map(|hint| format!("hint: {hint}"));
    let lines = std::iter::once(detail).chain(errors.iter().map(String::as_str)).chain(hint.as_deref());
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_shown_with_its_hint_and_kept_for_programs() {
        let body = br#"{"type":"urn:x","title":"Forbidden","status":403,"detail":"no\u001b[2J","hint":"ask"}"#;
        let failure = Failure::from_problem(403, body);
        assert_eq!(failure.sentence(), "no␛[2J\nhint: ask");
        assert_eq!(failure.document().as_bytes(), body);
        assert_eq!(failure.code(), 1);
    }

    #[test]
    fn an_answer_that_is_no_problem_document_is_told_as_it_is() {
        let failure = Failure::from_problem(502, b"bad gateway");
        assert_eq!(failure.sentence(), "the daemon answered 502: bad gateway");
    }
}

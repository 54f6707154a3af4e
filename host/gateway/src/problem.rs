//! Errors as clients see them: problem details for HTTP APIs (RFC 9457).

use std::borrow::Cow;

use axum::http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use homeagent_settings::{
    BindingError, DatabaseError, Fault, ImportError, PriceError, SecretsError, SettingsError, SourceError,
};
use homeagent_types::CallError;
use serde::Serialize;
use utoipa::ToSchema;

/// An error that a client gets. `type` is a name for programs, the rest is for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct Problem {
    /// A URN that names the kind of problem.
    #[serde(rename = "type")]
    pub kind: Cow<'static, str>,
    /// The kind of problem, for people; the same for all problems of the kind.
    pub title: Cow<'static, str>,
    /// The HTTP status code.
    pub status: u16,
    /// What went wrong this time.
    pub detail: String,
    /// What can be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Everything that is wrong, where it is more than one thing.
    #[serde(skip_serializing_if = "<[Fault]>::is_empty")]
    #[schema(value_type = Vec<Fault>)]
    pub errors: Box<[Fault]>,
}

impl Problem {
    /// A problem of this status; its kind and title follow from that.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Problem");
        let name = title.to_ascii_lowercase().replace(' ', "-");
        Self {
            kind: format!("urn:homeagent:problem:{name}").into(),
            title: title.into(),
            status: status.as_u16(),
            detail: detail.into(),
            hint: None,
            errors: Box::default(),
        }
    }

    /// There is nothing of that name.
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, detail)
    }

    /// The request is understood, and what it asks can't be.
    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// The request can't be understood.
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// What is asked for is not there while the agent is stopped.
    pub(crate) fn agent_stopped() -> Self {
        let mut problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, "the agent is stopped");
        problem.kind = "urn:homeagent:problem:agent-stopped".into();
        problem.hint("`waiter agent start` starts it")
    }

    /// The connection makes room for another one.
    pub(crate) fn closing() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "this connection was idle for too long and is being closed")
            .hint("send the request again on another one")
    }

    /// Something failed that is not the client's doing.
    pub fn internal(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, detail)
    }

    /// The same, with what can be done about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        // A struct of texts and a number is always JSON.
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"homed\""));
        }
        if matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        response
    }
}

impl From<CallError> for Problem {
    fn from(error: CallError) -> Self {
        let status = match &error {
            CallError::Denied(_) => StatusCode::FORBIDDEN,
            CallError::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            CallError::NotFound(_) => StatusCode::NOT_FOUND,
            CallError::Conflict(_) => StatusCode::CONFLICT,
            CallError::Busy => StatusCode::TOO_MANY_REQUESTS,
            CallError::NotLive | CallError::Retryable => StatusCode::SERVICE_UNAVAILABLE,
            CallError::Unreachable(_) => StatusCode::BAD_GATEWAY,
            CallError::Timeout => StatusCode::GATEWAY_TIMEOUT,
            CallError::NotStored(_) => StatusCode::INSUFFICIENT_STORAGE,
            CallError::Other(_) => StatusCode::INTERNAL_SERVER_ERROR,
        };
        let mut problem = Self::new(status, error.to_string());
        problem.kind = format!("urn:homeagent:problem:{}", error.code()).into();
        if let CallError::Denied(denial) = error {
            problem.detail = format!("{} is not granted: {}", denial.capability, denial.attempt);
            problem.hint = Some(denial.remedy);
        }
        problem
    }
}

impl From<SettingsError> for Problem {
    fn from(error: SettingsError) -> Self {
        match &error {
            SettingsError::UnknownKey { .. } => {
                Self::not_found(error.to_string()).hint("`waiter settings list` shows all settings")
            }
            SettingsError::NotAllowed { .. } => Self::invalid(error.to_string()),
            SettingsError::Secrets(inner) => secrets_problem(inner),
            SettingsError::Database(inner) => database_problem(inner),
            _ => Self::internal(error.to_string()),
        }
    }
}

impl From<ImportError> for Problem {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Document { faults } => {
                let count = faults.len();
                let detail = match count {
                    1 => "the document has a fault; nothing was changed".to_owned(),
                    _ => format!("the document has {count} faults; nothing was changed"),
                };
                Self { errors: faults.into(), ..Self::invalid(detail) }
            }
            ImportError::Database(inner) => database_problem(&inner),
            error => Self::internal(error.to_string()),
        }
    }
}

impl From<BindingError> for Problem {
    fn from(error: BindingError) -> Self {
        match &error {
            BindingError::UnknownRole { .. } | BindingError::Nobody => Self::invalid(error.to_string()),
            BindingError::Database(inner) => database_problem(inner),
            _ => Self::internal(error.to_string()),
        }
    }
}

impl From<DatabaseError> for Problem {
    fn from(error: DatabaseError) -> Self {
        database_problem(&error)
    }
}

impl From<SecretsError> for Problem {
    fn from(error: SecretsError) -> Self {
        secrets_problem(&error)
    }
}

impl From<PriceError> for Problem {
    fn from(error: PriceError) -> Self {
        match &error {
            PriceError::Bad { .. } => Self::invalid(error.to_string()),
            PriceError::Unknown { .. } => {
                Self::not_found(error.to_string()).hint("`waiter cost price` shows all that are set")
            }
            PriceError::Database(inner) => database_problem(inner),
            _ => Self::internal(error.to_string()),
        }
    }
}

impl From<SourceError> for Problem {
    fn from(error: SourceError) -> Self {
        match &error {
            SourceError::Unknown { .. } => Self::not_found(error.to_string()),
            SourceError::BadField { .. } | SourceError::BadOption { .. } | SourceError::Reserved { .. } => {
                Self::invalid(error.to_string())
            }
            SourceError::Database(inner) => database_problem(inner),
            _ => Self::internal(error.to_string()),
        }
    }
}

fn secrets_problem(error: &SecretsError) -> Problem {
    match error {
        SecretsError::BadName { .. } | SecretsError::Empty { .. } => Problem::invalid(error.to_string()),
        SecretsError::Database(inner) => database_problem(inner),
        _ => Problem::internal(error.to_string()),
    }
}

fn database_problem(error: &DatabaseError) -> Problem {
    let status = match error {
        DatabaseError::DiskFull { .. } | DatabaseError::ReadOnly { .. } | DatabaseError::Disk { .. } => {
            StatusCode::INSUFFICIENT_STORAGE
        }
        DatabaseError::Busy { .. } => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    Problem::new(status, error.to_string())
}

#[cfg(test)]
mod tests {
    use homeagent_types::Denial;

    use super::*;

    #[test]
    fn every_call_error_has_a_status_and_a_name() {
        let denial = Denial {
            capability: "http".into(),
            attempt: "GET https://example.org".into(),
            remedy: "waiter plugin grant web http".into(),
        };
        let cases = [
            (CallError::Denied(denial), 403, "denied"),
            (CallError::Invalid("no".into()), 422, "invalid"),
            (CallError::NotFound("no".into()), 404, "not-found"),
            (CallError::NotLive, 503, "not-live"),
            (CallError::Busy, 429, "busy"),
            (CallError::Timeout, 504, "timeout"),
            (CallError::Retryable, 503, "retryable"),
            (CallError::NotStored("no".into()), 507, "not-stored"),
            (CallError::Conflict("no".into()), 409, "conflict"),
            (CallError::Unreachable("no".into()), 502, "unreachable"),
            (CallError::Other("no".into()), 500, "other"),
        ];
        for (error, status, name) in cases {
            let problem = Problem::from(error);
            assert_eq!((problem.status, &*problem.kind), (status, &*format!("urn:homeagent:problem:{name}")));
        }
    }

    #[test]
    fn a_denial_says_the_command_as_its_hint() {
        let denial = Denial {
            capability: "http".into(),
            attempt: "GET https://example.org".into(),
            remedy: "waiter plugin grant web http".into(),
        };
        let problem = Problem::from(CallError::Denied(denial));
        assert_eq!(problem.detail, "http is not granted: GET https://example.org");
        assert_eq!(problem.hint.as_deref(), Some("waiter plugin grant web http"));
    }
}

//! Reading requests: every part that can't be read is a [`Problem`] like all others.

use std::time::Duration;

use axum::body::{Bytes, to_bytes};
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use http_body_util::LengthLimitError;
use serde::de::DeserializeOwned;

use crate::Problem;
use crate::core::Shared;

/// The largest recorded answer that can be tried, in bytes.
const LARGEST_RECORDING: usize = 64 * 1024 * 1024;

/// What bodies of JSON say that they are.
const JSON: &str = "application/json";

/// What bodies of any bytes are described as. What they say that they are is not looked at.
pub(crate) const ANY_BYTES: &str = "application/octet-stream";

/// What settings say that they are, on their way in and out.
pub(crate) const TOML: &str = "application/toml";

/// How long a body may take to arrive.
const SLOWEST: Duration = Duration::from_secs(60);

/// Names in the path.
pub(crate) struct Named<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Named<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Path(names) = Path::from_request_parts(parts, state)
            .await
            .map_err(|rejection: PathRejection| Problem::bad_request(format!("the path can't be read: {rejection}")))?;
        Ok(Self(names))
    }
}

/// What stands behind the `?`.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Query(asked) = Query::from_request_parts(parts, state).await.map_err(|rejection: QueryRejection| {
            Problem::bad_request(format!("the query can't be read: {}", rejection.body_text()))
        })?;
        Ok(Self(asked))
    }
}

/// A body of JSON.
pub(crate) struct Document<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Shared> for Document<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, core: &Shared) -> Result<Self, Problem> {
        check_type(request.headers(), JSON)?;
        let body = read(request, usual_limit(core)).await?;
        parse(&body).map(Self)
    }
}

/// A body of JSON, or an empty one.
pub(crate) struct MaybeDocument<T>(pub(crate) Option<T>);

impl<T: DeserializeOwned> FromRequest<Shared> for MaybeDocument<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, core: &Shared) -> Result<Self, Problem> {
        let typed = check_type(request.headers(), JSON);
        let body = read(request, usual_limit(core)).await?;
        if body.trim_ascii().is_empty() {
            return Ok(Self(None));
        }
        typed?;
        parse(&body).map(Some).map(Self)
    }
}

/// A body of TOML, as a text.
pub(crate) struct Toml(pub(crate) String);

impl FromRequest<Shared> for Toml {
    type Rejection = Problem;

    async fn from_request(request: Request, core: &Shared) -> Result<Self, Problem> {
        check_type(request.headers(), TOML)?;
        let body = read(request, usual_limit(core)).await?;
        let text = String::from_utf8(body.into()).map_err(|_| Problem::bad_request("the body is not UTF-8"))?;
        Ok(Self(text))
    }
}

/// A body of any bytes, which may be large.
pub(crate) struct Recording(pub(crate) Bytes);

impl FromRequest<Shared> for Recording {
    type Rejection = Problem;

    async fn from_request(request: Request, core: &Shared) -> Result<Self, Problem> {
        let limit = usual_limit(core).max(LARGEST_RECORDING);
        read(request, limit).await.map(Self).map_err(|problem| match problem.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                problem.hint("more than 64 MiB are read where the setting core.gateway.body_bytes allows more")
            }
            _ => problem,
        })
    }
}

/// Fails where the body says that it is something else than `wanted`, or not what it is.
fn check_type(headers: &HeaderMap, wanted: &str) -> Result<(), Problem> {
    let given = headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or("unreadable"));
    // Parameters, such as a charset, change nothing: JSON and TOML are UTF-8.
    let kind = given.and_then(|given| given.split(';').next()).unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case(wanted) {
        return Ok(());
    }
    let detail = match given {
        Some(given) => format!("the body is said to be {given:?}, and {wanted} is read here"),
        None => format!("the request does not say what its body is, and {wanted} is read here"),
    };
    Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail)
        .hint(format!("send it with the header \"Content-Type: {wanted}\"")))
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(body).map_err(|error| {
        let detail = format!("the body is not the JSON that belongs here: {error}");
        if error.is_data() { Problem::invalid(detail) } else { Problem::bad_request(detail) }
    })
}

/// A number of the query, where it is one from `least` to `most` (any from `least` on where there is no `most`).
pub(crate) fn within<T: TryFrom<i64>>(name: &str, given: i64, least: i64, most: Option<i64>) -> Result<T, Problem> {
    let fits = given >= least && most.is_none_or(|most| given <= most);
    T::try_from(given).ok().filter(|_| fits).ok_or_else(|| {
        let allowed = most.map_or_else(|| format!("{least} or more"), |most| format!("{least} to {most}"));
        Problem::invalid(format!("`{name}` is {given}; it has to be {allowed}"))
    })
}

fn usual_limit(core: &Shared) -> usize {
    let limit = core.parts.settings.integer("core.gateway.body_bytes");
    limit.ok().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(1024 * 1024)
}

/// A whole body of at most `limit` bytes, which may take a minute to arrive.
pub(crate) async fn read(request: Request, limit: usize) -> Result<Bytes, Problem> {
    let announced = request.headers().get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
    if announced.is_some_and(|length| length > limit) {
        return Err(too_large(limit));
    }
    match tokio::time::timeout(SLOWEST, to_bytes(request.into_body(), limit)).await {
        Ok(Ok(body)) => Ok(body),
        Ok(Err(error)) => {
            let error = error.into_inner();
            if error.is::<LengthLimitError>() {
                Err(too_large(limit))
            } else {
                Err(Problem::bad_request(format!("the body broke off: {error}")))
            }
        }
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            format!("the body took longer than {} s to arrive", SLOWEST.as_secs()),
        )),
    }
}

fn too_large(limit: usize) -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body has more than {limit} bytes"))
        .hint("the setting core.gateway.body_bytes says how large a body may be")
}

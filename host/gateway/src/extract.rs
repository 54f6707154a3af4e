//! Reading requests: every part that can't be read is a [`Problem`] like all others.

use std::time::Duration;

use axum::body::{Bytes, to_bytes};
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_LENGTH;
use axum::http::request::Parts;
use http_body_util::LengthLimitError;
use serde::de::DeserializeOwned;

use crate::Problem;
use crate::core::Shared;

/// The largest recorded answer that can be tried, in bytes.
const LARGEST_RECORDING: usize = 64 * 1024 * 1024;

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
        let body = read(request, usual_limit(core)).await?;
        serde_json::from_slice(&body).map(Self).map_err(|error| {
            let detail = format!("the body is not the JSON that belongs here: {error}");
            if error.is_data() { Problem::invalid(detail) } else { Problem::bad_request(detail) }
        })
    }
}

/// A body that is a text.
pub(crate) struct Text(pub(crate) String);

impl FromRequest<Shared> for Text {
    type Rejection = Problem;

    async fn from_request(request: Request, core: &Shared) -> Result<Self, Problem> {
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
        read(request, limit).await.map(Self)
    }
}

fn usual_limit(core: &Shared) -> usize {
    let limit = core.parts.settings.integer("core.gateway.body_bytes");
    limit.ok().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(1024 * 1024)
}

async fn read(request: Request, limit: usize) -> Result<Bytes, Problem> {
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

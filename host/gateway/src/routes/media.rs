//! Media: handing them over, looking at what is kept, and the file route that serves them.

use axum::Json;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use homeagent_media::{Address, Error, Listed, Medium, is_shown, served_as};
use homeagent_types::{Media, MediaSource};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Problem;
use crate::core::Shared;
use crate::document::{Conflict, DiskFailures, Invalid, NotFound};
use crate::extract::{self, Named};

/// Where files are served.
const PLACE: &str = "/media/";

/// What may be done with a file that somebody has sent: nothing but looking at it.
const NOTHING: &str = "default-src 'none'; sandbox";

/// A medium that was handed over.
#[derive(Serialize, ToSchema)]
pub(crate) struct Taken {
    /// Its address: the SHA-256 of its bytes, in hexadecimal digits.
    address: String,
    /// What it is, by its bytes.
    mime: String,
    /// Its size.
    bytes: u64,
}

/// Hands over a picture, a sound, a film or a file.
///
/// The same bytes are kept once. What it is follows from the bytes; the header `Content-Type` counts for texts alone.
#[utoipa::path(
    post,
    path = "/media",
    operation_id = "addMedium",
    tag = "media",
    request_body(content = String, content_type = "application/octet-stream", description = "The bytes"),
    responses(
        (status = OK, body = Taken, description = "It is kept"),
        Invalid,
        DiskFailures,
    )
)]
pub(crate) async fn add(State(core): State<Shared>, request: Request) -> Result<Json<Taken>, Problem> {
    let store = &core.parts.media;
    let said = request.headers().get(CONTENT_TYPE).and_then(|said| said.to_str().ok()).unwrap_or_default().to_owned();
    let most = usize::try_from(store.limits().one).unwrap_or(usize::MAX);
    let body = extract::read(request, most).await.map_err(|problem| match problem.status() {
        StatusCode::PAYLOAD_TOO_LARGE => problem.hint("the setting core.media.file_mib says how large it may be"),
        _ => problem,
    })?;
    let kept = store.put(body.into(), &said).await?;
    Ok(Json(Taken { address: kept.address.to_string(), mime: kept.mime, bytes: kept.bytes }))
}

/// Lists what is kept, with what was used last first.
#[utoipa::path(
    get,
    path = "/media",
    operation_id = "listMedia",
    tag = "media",
    responses((status = OK, body = Vec<Listed>, description = "All media"))
)]
pub(crate) async fn list(State(core): State<Shared>) -> Result<Json<Vec<Listed>>, Problem> {
    Ok(Json(core.parts.media.list().await?))
}

/// A medium that is gone.
#[derive(Serialize, ToSchema)]
pub(crate) struct RemovedMedium {
    /// Its address.
    removed: String,
}

/// Removes a medium, wherever it is mentioned.
#[utoipa::path(
    delete,
    path = "/media/{address}",
    operation_id = "removeMedium",
    tag = "media",
    params(("address" = String, Path, description = "The address, or its first 16 digits or more")),
    responses(
        (status = OK, body = RemovedMedium, description = "It is gone"),
        NotFound,
        Conflict,
        DiskFailures,
    )
)]
pub(crate) async fn remove(
    State(core): State<Shared>,
    Named(address): Named<String>,
) -> Result<Json<RemovedMedium>, Problem> {
    let address = core.parts.media.find(&address)?;
    core.parts.media.remove(address).await?;
    Ok(Json(RemovedMedium { removed: address.to_string() }))
}

/// The bytes of a medium.
///
/// Whoever has a link that the daemon made needs no token: it is good for one address and for a time. What a browser
/// would run is served as a text.
#[utoipa::path(
    get,
    path = "/media/{address}",
    operation_id = "getMedium",
    tag = "media",
    params(("address" = String, Path, description = "The address, or its first 16 digits or more")),
    responses(
        (status = OK, body = String, content_type = "*/*", description = "The bytes, with the type that they are of"),
        (status = NOT_MODIFIED, description = "The client has it"),
        NotFound,
        Conflict,
    )
)]
pub(crate) async fn serve(
    State(core): State<Shared>,
    Named(address): Named<String>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let medium = core.parts.media.get(core.parts.media.find(&address)?).await?;
    let tag = format!("\"{}\"", medium.address);
    if headers.get(IF_NONE_MATCH).is_some_and(|known| known.to_str().is_ok_and(|known| known.contains(&tag))) {
        return Ok((StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response());
    }
    let Medium { mime, bytes, address } = medium;
    let place = if is_shown(&mime) { "inline" } else { "attachment" };
    let headers = [
        (CONTENT_TYPE, served_as(&mime).to_owned()),
        (CONTENT_DISPOSITION, format!("{place}; filename=\"{}\"", address.short())),
        (X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (CONTENT_SECURITY_POLICY, NOTHING.to_owned()),
        (REFERRER_POLICY, "no-referrer".to_owned()),
        (CACHE_CONTROL, "private, max-age=3600, immutable".to_owned()),
        (ACCEPT_RANGES, "none".to_owned()),
        (ETAG, tag),
    ];
    Ok((headers, Body::from(bytes)).into_response())
}

#[derive(Deserialize)]
struct Link {
    until: u64,
    mac: String,
}

/// Whether a request has a link to the medium it asks for that is still good. It needs neither the token nor a name of
/// the daemon's: nobody has such a link but whom it was given.
pub(crate) fn has_link(core: &Shared, request: &Request) -> bool {
    let uri = request.uri();
    let address = uri.path().strip_prefix(PLACE).and_then(|address| address.parse::<Address>().ok());
    let query: Option<Link> = axum::extract::Query::try_from_uri(uri).ok().map(|query| query.0);
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    match (reads, address, query) {
        (true, Some(address), Some(Link { until, mac })) => core.parts.media.is_good_link(&address, until, &mac),
        _ => false,
    }
}

/// Something that goes along with what is said.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Attachment {
    /// The address of a medium that was handed over, or its first 16 digits or more.
    address: String,
    /// A file name.
    #[serde(default)]
    name: Option<String>,
}

/// What goes along, as the agent takes it.
pub(super) async fn attached(core: &Shared, attachments: Vec<Attachment>) -> Result<Vec<Media>, Problem> {
    let mut media = Vec::new();
    for Attachment { address, name } in attachments {
        let found = async { core.parts.media.get(core.parts.media.find(&address)?).await };
        let medium = found.await.map_err(|error| Problem::invalid(format!("the medium {address:?}: {error}")))?;
        let source = MediaSource::Stored(medium.address.to_string());
        media.push(Media { mime: medium.mime, name, source, meta: Vec::new() });
    }
    Ok(media)
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let status = match &error {
            Error::Missing | Error::Damaged => StatusCode::NOT_FOUND,
            Error::Ambiguous => StatusCode::CONFLICT,
            Error::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Error::Empty | Error::Fetch { .. } => StatusCode::UNPROCESSABLE_ENTITY,
            Error::Full | Error::Disk(_) => StatusCode::INSUFFICIENT_STORAGE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem::new(status, format!("the medium: {error}"))
    }
}

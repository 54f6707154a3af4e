//! Who may come in: the checks every request passes before anything else looks at it.

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::Problem;
use crate::core::Shared;
use crate::meters;

/// The one path that needs no token.
pub(crate) const PING: &str = "/api/v1/ping";

/// The longest path with its query, in bytes.
const LONGEST_TARGET: usize = 16 * 1024;

/// How many headers a request may have.
const MOST_HEADERS: usize = 100;

/// How long a request's headers may be together, names and values, in bytes.
const LARGEST_HEADERS: usize = 64 * 1024;

/// How many headers are read at all. It leaves room above [`MOST_HEADERS`], since what hyper refuses has no problem
/// document; its own limits for the target (64 KiB) and the whole head (408 KiB) do so too.
pub(crate) const HEADERS_READ: usize = 256;

/// How a connection came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    /// Over TCP.
    Network,
    /// Over the unix socket. The system says whose process the other side is.
    Socket {
        /// It is the daemon's own user.
        owner: bool,
    },
}

pub(crate) async fn check(
    State(core): State<Shared>,
    Extension(door): Extension<Door>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let refused = |reason| move |_: &Problem| meters::refused(reason);
    let checked = check_size(&request)
        .inspect_err(refused(meters::SIZE))
        .and_then(|()| check_host(&core.parts.listen, door, headers).inspect_err(refused(meters::HOST)))
        .and_then(|()| check_origin(headers).inspect_err(refused(meters::ORIGIN)))
        .and_then(|()| check_token(&core, door, &request).inspect_err(refused(meters::TOKEN)));
    match checked {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn check_size(request: &Request) -> Result<(), Problem> {
    if request.uri().path_and_query().is_some_and(|target| target.as_str().len() > LONGEST_TARGET) {
        let detail = format!("the path with its query has more than {LONGEST_TARGET} bytes");
        return Err(Problem::new(StatusCode::URI_TOO_LONG, detail).hint("what is long belongs into a body"));
    }
    let headers = request.headers();
    let detail = if headers.len() > MOST_HEADERS {
        format!("the request has {} headers; {MOST_HEADERS} are read", headers.len())
    } else if headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum::<usize>() > LARGEST_HEADERS {
        format!("the headers have more than {LARGEST_HEADERS} bytes together")
    } else {
        return Ok(());
    };
    Err(Problem::new(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, detail)
        .hint("leave out those that this API has no use for"))
}

/// A page of a foreign site whose name was made to point here would send that name: only names that can't be made to
/// point here pass.
fn check_host(listen: &str, door: Door, headers: &HeaderMap) -> Result<(), Problem> {
    if door != Door::Network {
        return Ok(());
    }
    let given = host(headers).ok_or_else(|| Problem::bad_request("the request has no usable Host header"))?;
    let name = given.host();
    let literal = name.trim_start_matches('[').trim_end_matches(']');
    let bound = listen.rsplit_once(':').map_or(listen, |(host, _)| host);
    let known = literal.parse::<std::net::IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || name.eq_ignore_ascii_case(bound);
    if known {
        return Ok(());
    }
    Err(Problem::new(StatusCode::MISDIRECTED_REQUEST, format!("this daemon is not called \"{name}\"")).hint(
        "use its IP address, or put the name into the setting core.gateway.listen, such as \
         homebox.lan:8686",
    ))
}

/// Browsers say which site a request comes from; only our own pages may.
fn check_origin(headers: &HeaderMap) -> Result<(), Problem> {
    let Some(origin) = headers.get(ORIGIN) else {
        return Ok(());
    };
    let origin = origin.to_str().unwrap_or_default();
    let from = ["http://", "https://"]
        .iter()
        .find_map(|scheme| origin.strip_prefix(scheme))
        .and_then(|rest| rest.parse::<Authority>().ok());
    match (from, host(headers)) {
        (Some(from), Some(to)) if from == to => Ok(()),
        _ => Err(Problem::new(StatusCode::FORBIDDEN, format!("pages of \"{origin}\" may not use this API"))),
    }
}

fn check_token(core: &Shared, door: Door, request: &Request) -> Result<(), Problem> {
    let owner = door == Door::Socket { owner: true };
    if owner || request.uri().path() == PING || bears_token(core, request.headers()) {
        return Ok(());
    }
    let given = request.headers().contains_key(AUTHORIZATION);
    let detail =
        if given { "the token in the Authorization header is not this daemon's" } else { "the request has no token" };
    // Where that folder is, is nothing for strangers.
    Err(Problem::new(StatusCode::UNAUTHORIZED, detail)
        .hint("send \"Authorization: Bearer TOKEN\" with the token in the file api-token of homed's data folder"))
}

fn bears_token(core: &Shared, headers: &HeaderMap) -> bool {
    let value = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    match value.and_then(|value| value.split_once(' ')) {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => core.token.matches(token.trim()),
        _ => false,
    }
}

fn host(headers: &HeaderMap) -> Option<Authority> {
    headers.get(HOST)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn headers(host: &'static str, origin: Option<&'static str>) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, HeaderValue::from_static(host));
        if let Some(origin) = origin {
            headers.insert(ORIGIN, HeaderValue::from_static(origin));
        }
        headers
    }

    #[test]
    fn only_names_that_cannot_be_made_to_point_here_pass() {
        let allowed = |listen, host| check_host(listen, Door::Network, &headers(host, None)).is_ok();
        for host in ["127.0.0.1:8686", "localhost", "LOCALHOST:1", "[::1]:8686", "192.168.1.5"] {
            assert!(allowed("0.0.0.0:8686", host), "{host}");
        }
        for host in ["evil.example:8686", "127.0.0.1.evil.example", "localhost.evil.example", ""] {
            assert!(!allowed("127.0.0.1:8686", host), "{host}");
        }
        assert!(allowed("homebox.lan:8686", "homebox.lan:8686"));
        assert!(check_host("x", Door::Socket { owner: true }, &HeaderMap::new()).is_ok());
    }

    #[test]
    fn only_pages_of_our_own_pass() {
        let allowed = |host, origin| check_origin(&headers(host, Some(origin))).is_ok();
        assert!(allowed("127.0.0.1:8686", "http://127.0.0.1:8686"));
        assert!(allowed("homebox.lan", "https://homebox.lan"));
        for origin in ["http://127.0.0.1:9999", "http://evil.example", "null", "file://127.0.0.1:8686", ""] {
            assert!(!allowed("127.0.0.1:8686", origin), "{origin}");
        }
        assert!(check_origin(&headers("127.0.0.1", None)).is_ok());
    }
}

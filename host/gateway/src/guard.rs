//! Who may come in: the checks every request passes before anything else looks at it.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use homeagent_types::ports::ServedPath;

use crate::Problem;
use crate::core::Shared;
use crate::meters;
use crate::routes::media;
use crate::token;

/// Says where the page lies that sends a request; pages can't set it.
const SEC_FETCH_SITE: &str = "sec-fetch-site";

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

/// An address of a plugin's own, which its requests have as an extension.
#[derive(Debug)]
pub(crate) struct OwnDoor {
    pub(crate) plugin: String,
    /// The key of the setting that holds the address.
    pub(crate) setting: String,
    /// The address, as it is set.
    pub(crate) listen: String,
}

impl OwnDoor {
    fn leads_to(&self, path: &ServedPath) -> bool {
        path.plugin == self.plugin && path.address.as_ref() == Some(&self.setting)
    }
}

/// Where a connection over TCP comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) IpAddr);

pub(crate) async fn check(
    State(core): State<Shared>,
    Extension(door): Extension<Door>,
    mut request: Request,
    next: Next,
) -> Response {
    let path = match door {
        Door::Network => core.parts.keeper.live().and_then(|live| live.listeners.served(request.uri().path())),
        Door::Socket { .. } => None,
    };
    let own = request.extensions().get::<Arc<OwnDoor>>().cloned();
    let path = path.filter(|path| own.as_ref().is_none_or(|own| own.leads_to(path)));
    let checked = match (&path, &own) {
        (Some(path), own) => {
            let listen = own.as_ref().map_or(&core.parts.listen, |own| &own.listen);
            admit_to_path(&core, path, listen, &request)
        }
        // At an address of a plugin's own there is nothing else, not even the API.
        (None, Some(_)) => Err(Problem::not_found(format!("there is nothing at {}", request.uri().path()))),
        (None, None) if media::has_link(&core, &request) => check_size(&request).inspect_err(refused(meters::SIZE)),
        (None, None) => admit(&core, door, &request),
    };
    if let Err(problem) = checked {
        return problem.into_response();
    }
    if let Some(path) = path {
        request.extensions_mut().insert(path);
    }
    next.run(request).await
}

/// To the API.
fn admit(core: &Shared, door: Door, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    check_size(request).inspect_err(refused(meters::SIZE))?;
    check_host(&core.parts.listen, door, headers).inspect_err(refused(meters::HOST))?;
    check_origin(headers).inspect_err(refused(meters::ORIGIN))?;
    check_token(core, door, request).inspect_err(refused(meters::TOKEN))
}

/// To a path of a plugin's, which has a secret of its own. Its clients may call this machine what they like, as long as
/// they bring that; without one they have to be on it, and then a page that a browser was led to must not pass either.
fn admit_to_path(core: &Shared, path: &ServedPath, listen: &str, request: &Request) -> Result<(), Problem> {
    let headers = request.headers();
    check_size(request).inspect_err(refused(meters::SIZE))?;
    check_origin(headers).inspect_err(refused(meters::ORIGIN))?;
    let secret = path.token.as_deref().map(|key| core.parts.secrets.get(key)).transpose()?.flatten();
    let Some(secret) = secret else {
        check_host(listen, Door::Network, headers).inspect_err(refused(meters::HOST))?;
        check_site(headers).inspect_err(refused(meters::ORIGIN))?;
        return check_near(path, request).inspect_err(refused(meters::TOKEN));
    };
    let given = given_token(request);
    let checked = match given {
        Some(token) if token::same(&token, secret.expose()) => Ok(()),
        Some(_) => Err((StatusCode::FORBIDDEN, "the access token is not this one's")),
        None => Err((StatusCode::UNAUTHORIZED, "the request has no access token")),
    };
    let hint = "send \"Authorization: Bearer TOKEN\", or ?access_token=TOKEN, with the token that the plugin was given";
    checked.map_err(|(status, detail)| Problem::new(status, detail).hint(hint)).inspect_err(refused(meters::TOKEN))
}

fn refused(reason: &'static str) -> impl Fn(&Problem) {
    move |_| meters::refused(reason)
}

/// Whether a page of another site sends this. With the simplest requests, such as that for a picture, browsers say no
/// origin; all of today's say this.
fn check_site(headers: &HeaderMap) -> Result<(), Problem> {
    let site = headers.get(SEC_FETCH_SITE).map(|site| site.to_str().unwrap_or_default());
    match site {
        None | Some("same-origin" | "none") => Ok(()),
        Some(_) => Err(Problem::new(StatusCode::FORBIDDEN, "pages of other sites may not use this path")),
    }
}

/// Whether the client is on this machine.
fn check_near(path: &ServedPath, request: &Request) -> Result<(), Problem> {
    let near = request.extensions().get::<Peer>().is_some_and(|peer| peer.0.to_canonical().is_loopback());
    if near {
        return Ok(());
    }
    let detail = "only clients on the daemon's own machine may connect here";
    Err(Problem::new(StatusCode::UNAUTHORIZED, detail).hint(match &path.token {
        Some(key) => format!("others may once there is an access token: waiter settings set {key} -"),
        None => format!("the plugin {} has no access token to ask for", path.plugin),
    }))
}

/// The token of a request to a plugin's path: in the header, or in the query for clients that can't send one.
fn given_token(request: &Request) -> Option<String> {
    let header = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = header.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| {
        // `Token` is what some clients of OneBot send.
        scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("token")
    });
    if let Some((_, token)) = bearer {
        return Some(token.trim().to_owned());
    }
    let query = url::form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes());
    query.into_iter().find(|(name, _)| name == "access_token").map(|(_, token)| token.into_owned())
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
    let known =
        literal.parse::<IpAddr>().is_ok() || name.eq_ignore_ascii_case("localhost") || name.eq_ignore_ascii_case(bound);
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
    use homeagent_types::ports::Speaks;

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

    #[test]
    fn without_a_token_only_clients_of_this_machine_get_to_a_plugin_s_path() {
        let path = ServedPath {
            plugin: "qq".to_owned(),
            listener: "onebot".to_owned(),
            token: Some("plugin.qq.access_token".to_owned()),
            speaks: Speaks::WebSocket { protocols: Vec::new() },
            address: None,
        };
        let near = |peer: Option<&str>| {
            let mut request = Request::new(axum::body::Body::empty());
            if let Some(peer) = peer {
                request.extensions_mut().insert(Peer(peer.parse().expect("an address")));
            }
            check_near(&path, &request).is_ok()
        };
        assert!(near(Some("127.0.0.1")) && near(Some("::1")) && near(Some("::ffff:127.0.0.1")));
        assert!(!near(Some("192.168.1.5")) && !near(Some("::ffff:203.0.113.5")) && !near(None));
    }
}

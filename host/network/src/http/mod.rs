//! Requests over HTTP/1.1, one connection each.
//!
//! A connection is not kept for a later request: it would have to be known that the later one may go where this one
//! went. No cookie is kept, no proxy of the environment asked, and a redirect is a new request to which all rules apply
//! anew.

mod answer;
mod exchange;
mod headers;
mod redirect;

use std::time::Duration;

use bytes::Bytes;
use homeagent_types::CallError;
use url::Url;

pub use hyper::header::{HeaderMap, HeaderName, HeaderValue};
pub use hyper::{Method, StatusCode};

pub use self::headers::header;
use crate::{Error, Hold, Network, Reach};

/// The longest URL, in bytes.
pub const LONGEST_URL: usize = 8 << 10;
/// Redirects that are followed.
const MOST_REDIRECTS: usize = 3;

/// What is to be sent.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Where to; see [`target`].
    pub url: Url,
    /// Headers that passed [`header`].
    pub headers: HeaderMap,
    /// The body; empty for none.
    pub body: Bytes,
}

/// What came back.
#[derive(Clone, Debug)]
pub struct Response {
    /// The status code.
    pub status: u16,
    /// Header names in lower case, and values.
    pub headers: Vec<(String, Vec<u8>)>,
    /// The body, decoded.
    pub body: Vec<u8>,
    /// Where it came from, without what [`Rules::equip`] added.
    pub url: Url,
}

/// How much and how long.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The largest body, as it comes and decoded.
    pub response_bytes: usize,
    /// All hops together.
    pub timeout: Duration,
}

/// Who may go where, and with what. Asked anew with each hop.
pub trait Rules: Send + Sync {
    /// Whether this may be asked there, and which addresses the host may have.
    ///
    /// # Errors
    /// Why it may not.
    fn reach(&self, method: &Method, url: &Url) -> Result<Reach, CallError>;

    /// Adds what only the host knows, such as a key, to a request that is about to go out to `url`.
    ///
    /// # Errors
    /// Why it can't be sent.
    fn equip(&self, url: &mut Url, headers: &mut HeaderMap) -> Result<(), CallError>;

    /// Looks at where a redirect leads, before anybody is asked there: the other side has seen what was added, and may
    /// have written it into the URL.
    ///
    /// # Errors
    /// Why nobody goes there.
    fn follow(&self, url: &mut Url) -> Result<(), CallError>;
}

/// A URL that a request can be sent to.
///
/// # Errors
/// With what is wrong: no URL, no host, a user, characters that would be dropped without a word.
pub fn target(text: &str) -> Result<Url, String> {
    checked(read(text)?, ["https", "http"])
}

/// The same for the URL of a WebSocket.
///
/// # Errors
/// As for [`target`].
pub fn socket_target(text: &str) -> Result<Url, String> {
    checked(read(text)?, ["wss", "ws"])
}

fn read(text: &str) -> Result<Url, String> {
    if text.len() > LONGEST_URL {
        return Err(format!("the URL has {} bytes; {LONGEST_URL} are the most", text.len()));
    }
    if text.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return Err("the URL has a space or a control character in it; write it in percent notation".into());
    }
    Url::parse(text).map_err(|error| format!("the URL is none: {error}"))
}

/// A redirect's URL, likewise.
fn redirected(url: Url) -> Result<Url, String> {
    checked(url, ["https", "http"])
}

fn checked(mut url: Url, schemes: [&str; 2]) -> Result<Url, String> {
    if !schemes.contains(&url.scheme()) || !url.has_host() {
        let [one, other] = schemes;
        return Err(format!("the URL does not begin with {one}:// or {other}:// and a host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the URL has a user or a password in it; a secret belongs into [wants.secrets]".into());
    }
    if url.port() == Some(0) {
        return Err("the URL has the port 0, which nobody listens on".into());
    }
    if url.as_str().len() > LONGEST_URL {
        return Err(format!("the URL has more than {LONGEST_URL} bytes"));
    }
    url.set_fragment(None);
    Ok(url)
}

/// Scheme, host and port of a URL, as rules and people look at them.
#[must_use]
pub fn place(url: &Url) -> String {
    let host = crate::place::bare(url).map(|host| host.to_string()).unwrap_or_default();
    let port = url.port().map_or_else(String::new, |port| format!(":{port}"));
    format!("{}://{host}{port}", url.scheme())
}

/// A URL's host, without a dot at its end, and its port.
#[must_use]
pub fn host_and_port(url: &Url) -> Option<(url::Host, u16)> {
    Some((crate::place::bare(url)?, url.port_or_known_default()?))
}

impl Network {
    /// Sends a request and follows redirects. Dropping the future ends the connection.
    ///
    /// # Errors
    /// As [`Error`] says.
    pub async fn send(
        &self,
        request: Request,
        rules: &dyn Rules,
        limits: Limits,
        hold: &Hold,
    ) -> Result<Response, Error> {
        let all = self.follow(request, rules, limits, hold);
        tokio::time::timeout(limits.timeout, all).await.unwrap_or(Err(Error::Timeout))
    }

    async fn follow(
        &self,
        mut request: Request,
        rules: &dyn Rules,
        limits: Limits,
        hold: &Hold,
    ) -> Result<Response, Error> {
        for _ in 0..=MOST_REDIRECTS {
            let answer = exchange::exchange(self, &request, rules, limits, hold).await?;
            match redirect::next(&request, &answer)? {
                None => return Ok(answer),
                Some(mut next) => {
                    rules.follow(&mut next.url).map_err(Error::Refused)?;
                    request = next;
                }
            }
        }
        let reason = format!("redirects more than {MOST_REDIRECTS} times");
        Err(Error::Protocol { place: place(&request.url), reason })
    }
}

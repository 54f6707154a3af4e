//! Redirects: what is asked next, if anything.

use bytes::Bytes;
use hyper::Method;
use hyper::header::{self, HeaderName};
use url::Url;

use super::{Request, Response, headers, place, redirected};
use crate::Error;

/// Headers that say something of a body.
const OF_BODY: [HeaderName; 4] =
    [header::CONTENT_TYPE, header::CONTENT_ENCODING, header::CONTENT_LANGUAGE, header::CONTENT_LOCATION];

/// The request that an answer leads to; nothing where it is the answer itself.
pub(super) fn next(request: &Request, answer: &Response) -> Result<Option<Request>, Error> {
    if !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
        return Ok(None);
    }
    let Some((_, location)) = answer.headers.iter().find(|(name, _)| name == "location") else { return Ok(None) };
    let failed = |reason: String| Error::Protocol { place: place(&request.url), reason };
    let location = std::str::from_utf8(location).map_err(|_| failed("redirects to what is no URL".into()))?;
    let url = request.url.join(location).map_err(|error| failed(format!("redirects to what is no URL: {error}")))?;
    let url = redirected(url).map_err(|reason| failed(format!("redirects to where nothing is sent: {reason}")))?;
    let mut next = Request { url, ..request.clone() };
    let reads_on = match answer.status {
        303 => request.method != Method::HEAD,
        301 | 302 => request.method == Method::POST,
        _ => false,
    };
    if reads_on {
        next.method = Method::GET;
        next.body = Bytes::new();
        OF_BODY.iter().for_each(|name| drop(next.headers.remove(name)));
    }
    if !is_same(&request.url, &next.url) {
        if !next.body.is_empty() {
            let to = place(&next.url);
            return Err(failed(format!("redirects a request with a body to {to}; a body is sent to one host alone")));
        }
        next.headers = headers::for_another_host(&next.headers);
    }
    Ok(Some(next))
}

/// The same scheme, host and port.
fn is_same(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}

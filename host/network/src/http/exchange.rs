//! One request and its answer, over a connection of its own.

use std::sync::atomic::{AtomicUsize, Ordering};

use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{self, HeaderValue};
use hyper_util::rt::TokioIo;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::{Limits, Request, Response, Rules, answer, headers, host_and_port, place};
use crate::{Error, Hold, Network};

/// The head of an answer, in bytes.
const LARGEST_HEAD: usize = 64 << 10;

/// How many heads may come before the answer's own, such as `100 Continue`. A server can send them for ever, and reading
/// them takes a processor.
const MOST_INTERIM: usize = 16;

/// One hop.
pub(super) async fn exchange(
    network: &Network,
    request: &Request,
    rules: &dyn Rules,
    limits: Limits,
    hold: &Hold,
) -> Result<Response, Error> {
    let reach = rules.reach(&request.method, &request.url).map_err(Error::Refused)?;
    let mut outgoing = outgoing(request, rules)?;
    let endless = count_interim(&mut outgoing);
    let (host, port) = host_and_port(&request.url).ok_or_else(|| Error::Unsendable("the URL has no host".into()))?;
    let failed = |error: &hyper::Error| Error::Protocol { place: place(&request.url), reason: reason(error) };
    let stream = network.dial(&host, port, request.url.scheme() == "https", reach, hold).await?;
    let mut builder = http1::Builder::new();
    builder.max_headers(headers::MOST).max_buf_size(LARGEST_HEAD).max_header_size(LARGEST_HEAD);
    let handshake = builder.handshake(TokioIo::new(stream)).await;
    let (mut sender, connection) = handshake.map_err(|error| failed(&error))?;
    // It ends with this function, however that ends.
    let _connection = AbortOnDropHandle::new(tokio::spawn(connection));
    let answer = tokio::select! {
        answer = sender.send_request(outgoing) => answer.map_err(|error| failed(&error))?,
        () = endless.cancelled() => {
            let reason = format!("does not speak HTTP as it should: more than {MOST_INTERIM} heads before its answer");
            return Err(Error::Protocol { place: place(&request.url), reason });
        }
    };
    let (head, body) = answer.into_parts();
    if head.status.is_informational() {
        let reason = "wants to speak something else than HTTP".to_owned();
        return Err(Error::Protocol { place: place(&request.url), reason });
    }
    let body = whole(body, request, limits.response_bytes).await?;
    answer::decoded(head, body, request, limits.response_bytes).await
}

/// Cancelled once the server has sent too many heads that are no answer.
fn count_interim(request: &mut hyper::Request<Full<bytes::Bytes>>) -> CancellationToken {
    let (endless, seen) = (CancellationToken::new(), AtomicUsize::new(0));
    let token = endless.clone();
    hyper::ext::on_informational(request, move |_| {
        if seen.fetch_add(1, Ordering::Relaxed) >= MOST_INTERIM {
            token.cancel();
        }
    });
    endless
}

/// The request as it goes out.
fn outgoing(request: &Request, rules: &dyn Rules) -> Result<hyper::Request<Full<bytes::Bytes>>, Error> {
    let unsendable = |what: &str| Error::Unsendable(format!("the URL has {what} that can't be sent"));
    let (mut url, mut headers) = (request.url.clone(), request.headers.clone());
    rules.equip(&mut url, &mut headers).map_err(Error::Refused)?;
    let authority = request.url.authority();
    headers.insert(header::HOST, HeaderValue::from_str(authority).map_err(|_| unsendable("a host"))?);
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(answer::READABLE));
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    let agent = HeaderValue::from_static(concat!("homeagent/", env!("CARGO_PKG_VERSION")));
    headers.entry(header::USER_AGENT).or_insert(agent);
    let target = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    let target: hyper::http::uri::PathAndQuery = target.parse().map_err(|_| unsendable("a path"))?;
    let mut outgoing = hyper::Request::new(Full::new(request.body.clone()));
    *outgoing.method_mut() = request.method.clone();
    *outgoing.uri_mut() = target.into();
    *outgoing.headers_mut() = headers;
    Ok(outgoing)
}

/// The body as it came, if it is not too large.
async fn whole(mut body: Incoming, request: &Request, most: usize) -> Result<Vec<u8>, Error> {
    let too_large = || Error::TooLarge { place: place(&request.url), most };
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Error::Protocol { place: place(&request.url), reason: reason(&error) })?;
        // What comes behind the body is nobody's.
        let Ok(piece) = frame.into_data() else { continue };
        if whole.len() + piece.len() > most {
            return Err(too_large());
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole)
}

fn reason(error: &hyper::Error) -> String {
    if error.is_parse_too_large() {
        return format!("sent an answer with more than {} headers or {LARGEST_HEAD} bytes of them", headers::MOST);
    }
    if error.is_parse() {
        return format!("does not speak HTTP as it should: {error}");
    }
    let mut innermost: &dyn std::error::Error = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    format!("broke the connection: {innermost}")
}

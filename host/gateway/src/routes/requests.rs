//! HTTP requests at the routes of plugins, and their answers.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::{ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use axum::http::header::{CONNECTION, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse as _, Response};
use futures::stream;
use homeagent_types::ports::{Connection, Frame, ServedPath, ToPeer};
use homeagent_types::{RouteContent, RouteRequest, RouteResponse};

use crate::Problem;
use crate::connections::{Connections, OpenStream, StreamKind};
use crate::core::Shared;
use crate::extract;
use crate::guard::Peer;

/// The largest body, in bytes.
const LARGEST: usize = 1 << 20;

/// How often a client that follows events is told that there is still somebody, so that it and whatever is between keep
/// the connection.
const BEAT: Duration = Duration::from_secs(15);

/// What a browser makes of a plugin's page has an origin of its own: at this address it could otherwise act as the API's
/// own pages.
const SANDBOX: HeaderValue = HeaderValue::from_static("sandbox allow-scripts allow-forms allow-popups");

/// Headers that are the connection's, or that let the client in.
const UNTOLD: [HeaderName; 7] = [AUTHORIZATION, CONNECTION, HOST, TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// The parameter that may hold the token.
const TOKEN: &str = "access_token";

/// Hands a request to the plugin whose route it is at. Who may come in has been checked.
pub(super) async fn answer(
    core: &Shared,
    connections: &Arc<Connections>,
    path: ServedPath,
    methods: &[String],
    peer: Option<Peer>,
    request: Request,
) -> Result<Response, Problem> {
    let method = request.method().as_str().to_owned();
    // Who takes GET takes HEAD: the server leaves the body out.
    let takes = |wanted: &str| methods.iter().any(|method| method == wanted);
    if !takes(if method == "HEAD" && !takes("HEAD") { "GET" } else { &method }) {
        let detail = format!("{} does not take {method}", request.uri().path());
        let mut refused = Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail).into_response();
        if let Ok(allow) = HeaderValue::from_str(&methods.join(", ")) {
            refused.headers_mut().insert(ALLOW, allow);
        }
        return Ok(refused);
    }
    let uri = request.uri().clone();
    let headers = told(request.headers());
    let body = extract::read(request, LARGEST).await?;
    let asked = RouteRequest {
        route: path.listener,
        method,
        path: uri.path().to_owned(),
        query: uri.query().map(without_token).filter(|query| !query.is_empty()),
        headers,
        body: body.into(),
        meta: peer.map(|peer| ("peer".to_owned(), peer.0.to_string())).into_iter().collect(),
    };
    let listeners = Arc::clone(&core.live()?.listeners);
    let response = listeners.answer(&path.plugin, asked).await?;
    drop(listeners);
    match response.content {
        RouteContent::Bytes(_) => respond(response, None),
        RouteContent::Events(_) => {
            let open = connections.stream(StreamKind::Plugin)?;
            respond(response, Some((core, open)))
        }
    }
}

/// The answer as it is sent.
fn respond(response: RouteResponse, stream: Option<(&Shared, OpenStream)>) -> Result<Response, Problem> {
    let RouteResponse { status, headers, content } = response;
    let is_stream = stream.is_some();
    let unsendable = || Problem::internal("the plugin's answer can't be sent");
    let body = match (content, stream) {
        (RouteContent::Events(events), Some((core, open))) => follow(core, events, open),
        (RouteContent::Bytes(bytes), _) => Body::from(bytes),
        (RouteContent::Events(_), None) => return Err(unsendable()),
    };
    let mut answer = Response::new(body);
    *answer.status_mut() = StatusCode::from_u16(status).map_err(|_| unsendable())?;
    let all = answer.headers_mut();
    for (name, value) in headers {
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unsendable())?;
        all.append(name, HeaderValue::from_str(&value).map_err(|_| unsendable())?);
    }
    if is_stream {
        all.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        all.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    all.append(CONTENT_SECURITY_POLICY, SANDBOX);
    all.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(answer)
}

/// Events as they come, until the plugin or the daemon ends them. Dropping it tells the plugin that the client is gone.
fn follow(core: &Shared, events: Box<dyn Connection>, open: OpenStream) -> Body {
    let (stopping, working) = (core.stopping.clone(), core.tasks.token());
    let state = (events, open, stopping, working);
    let pieces = stream::unfold(state, |(events, open, stopping, working)| async move {
        let next = tokio::select! {
            () = stopping.cancelled() => return None,
            next = tokio::time::timeout(BEAT, events.next()) => next,
        };
        let piece = match next {
            // A line that is a comment.
            Err(_) => Bytes::from_static(b":\n\n"),
            Ok(Some(ToPeer::Frame(frame))) => event(&frame).into(),
            Ok(Some(ToPeer::Close(_) | ToPeer::GivenUp(_)) | None) => return None,
        };
        Some((Ok::<_, Infallible>(piece), (events, open, stopping, working)))
    });
    Body::from_stream(pieces)
}

/// A frame as an event. Every line has the mark of data, however lines end, so that none is taken for another field.
fn event(frame: &Frame) -> String {
    let text = match frame {
        Frame::Text(text) => text.as_str().into(),
        Frame::Binary(bytes) => String::from_utf8_lossy(bytes),
    };
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut event: String = text.split('\n').flat_map(|line| ["data: ", line, "\n"]).collect();
    event.push('\n');
    event
}

/// The headers that the plugin is told.
fn told(headers: &HeaderMap) -> Vec<(String, String)> {
    let readable = headers.iter().filter(|(name, _)| !UNTOLD.contains(name) && !name.as_str().starts_with("proxy-"));
    let told = readable.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
    told.collect()
}

/// A query as it came, but for the token in it.
fn without_token(query: &str) -> String {
    let is_token = |pair: &&str| {
        let mut read = url::form_urlencoded::parse(pair.as_bytes());
        read.next().is_some_and(|(name, _)| name == TOKEN)
    };
    query.split('&').filter(|pair| !is_token(pair)).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_one_event_whatever_is_in_it() {
        let text = |text: &str| event(&Frame::Text(text.to_owned()));
        assert_eq!(text("one"), "data: one\n\n");
        assert_eq!(
            text("one\ntwo\r\nthree\rid: 4\n\n"),
            "data: one\ndata: two\ndata: three\ndata: id: 4\ndata: \ndata: \n\n"
        );
        assert_eq!(text(""), "data: \n\n");
        assert_eq!(event(&Frame::Binary(vec![0x61, 0xff])), "data: a\u{fffd}\n\n");
    }

    #[test]
    fn the_token_is_not_told() {
        assert_eq!(without_token("a=1&access_token=x&b=2"), "a=1&b=2");
        assert_eq!(without_token("access%5Ftoken=x"), "");
        assert_eq!(without_token("a=1&&b"), "a=1&&b");
    }
}

//! What the gateway counts. How many connections are open is state and counted nowhere: see `routes::metrics`.

use axum::extract::{MatchedPath, Request};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use metrics::{counter, describe_counter};

const REQUESTS: &str = "homeagent_http_requests_total";
const REFUSED: &str = "homeagent_http_refused_total";

/// The `Host` is none of the daemon's names.
pub(crate) const HOST: &str = "host";
/// A page of another site asks.
pub(crate) const ORIGIN: &str = "origin";
/// There is no token, or a wrong one.
pub(crate) const TOKEN: &str = "token";
/// The path or a header is too long.
pub(crate) const SIZE: &str = "size";
/// Connections of other users take all places.
pub(crate) const NO_PLACE: &str = "no-place";
/// The connection had to make room for another one.
pub(crate) const CLOSING: &str = "closing";
/// As many streams as may be are open.
pub(crate) const STREAMS: &str = "streams";

/// Says what each of the gateway's metrics means, and begins those at zero whose labels are known.
pub fn describe() {
    describe_counter!(REQUESTS, "Requests that were answered, by method, route and status");
    describe_counter!(REFUSED, "Requests and connections that were turned away, by reason");
    for reason in [HOST, ORIGIN, TOKEN, SIZE, NO_PLACE, CLOSING, STREAMS] {
        counter!(REFUSED, "reason" => reason).increment(0);
    }
}

/// Counts somebody who is turned away, for one of the reasons above.
pub(crate) fn refused(reason: &'static str) {
    counter!(REFUSED, "reason" => reason).increment(1);
}

/// Counts each answer when its head is known, so that a stream counts when it begins.
pub(crate) async fn count(request: Request, next: Next) -> Response {
    let method = known(request.method());
    // The route's template: what stands in its place in the path is the client's and could be anything.
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let response = next.run(request).await;
    let status = response.status().as_str().to_owned();
    counter!(REQUESTS, "method" => method, "route" => route, "status" => status).increment(1);
    response
}

/// The name of a standard method; clients may make up others.
fn known(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        Method::PATCH => "PATCH",
        _ => "other",
    }
}

//! HTTP requests on their way to the plugins whose routes they are at.

use homeagent_network::http::{self as wire, HeaderMap};
use homeagent_types::{CallError, Cause, RouteContent, RouteRequest, RouteResponse};

use super::{Inner, SlotCore, deadline};
use crate::bindings::route::exports::homeagent::plugin::route_handler::{Content, Response};
use crate::host::own_cause;
use crate::slot::job::Work;
use crate::slot::{Line, connection, lock};

/// The largest additions that come back with `on-open`, in bytes.
const LARGEST_META: usize = 8 << 10;

impl Inner {
    /// Has a plugin answer a request, as long as it may serve routes at all.
    pub(super) async fn answer(&self, plugin: &str, request: RouteRequest) -> Result<RouteResponse, CallError> {
        let slot = self.running(plugin)?;
        slot.core.allow("listen", format!("answering requests at {}", request.route))?;
        let route = request.route.clone();
        let cause = cause(&slot.core, self.services.milliseconds("core.plugin.call_timeout_ms", 30_000).as_millis());
        let until = deadline(&cause);
        let work = |reply| Work::Route { request: Box::new(request), cause, reply };
        let response = slot.call(until, work).await?;
        checked(&slot, &route, response).inspect_err(|error| {
            slot.core.tell_owner(&format!("an answer at the route {route} was not sent: {error}"));
        })
    }
}

/// What comes in by a route comes from nobody whom the host knows, so it has no rights but the plugin's own.
fn cause(slot: &SlotCore, deadline_ms: u128) -> Cause {
    // The plugin did not ask for it itself.
    Cause { chain: Vec::new(), ..own_cause(slot, u64::try_from(deadline_ms).unwrap_or(u64::MAX)) }
}

/// An answer that can be sent, without secrets.
fn checked(slot: &Line, route: &str, response: Response) -> Result<RouteResponse, CallError> {
    let wrong = |what: String| CallError::Other(format!("the plugin {} answered with {what}", slot.core.name));
    let Response { status, headers, content } = response;
    if !(200..=599).contains(&status) {
        return Err(wrong(format!("the status {status}; it has to be one from 200 to 599")));
    }
    let secrets = &slot.core.secrets;
    let headers: Vec<_> =
        headers.into_iter().map(|(name, value)| (name, secrets.redact(&value).into_owned())).collect();
    let mut all = HeaderMap::new();
    for (name, value) in &headers {
        wire::header(&mut all, name, value.as_bytes()).map_err(|reason| wrong(format!("a bad header: {reason}")))?;
    }
    let content = match content {
        Content::Bytes(bytes) if matches!(status, 204 | 304) && !bytes.is_empty() => {
            return Err(wrong(format!("a body, which an answer of {status} has not")));
        }
        Content::Bytes(bytes) => RouteContent::Bytes(secrets.redact_bytes(&bytes).into_owned()),
        Content::Events(meta) => {
            if !lock(&slot.state).prepared.indices.has_sockets() {
                return Err(wrong("a stream of events, and does not export socket-handler to feed it".to_owned()));
            }
            if meta.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>() > LARGEST_META {
                return Err(wrong(format!("more than {LARGEST_META} bytes of meta")));
            }
            RouteContent::Events(Box::new(connection::open(slot.clone(), route, None, meta)))
        }
    };
    Ok(RouteResponse { status, headers, content })
}

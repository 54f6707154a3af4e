//! Paths that plugins serve: a WebSocket whose frames belong to the plugin, or a route whose requests it answers.

use std::sync::Arc;

use axum::Extension;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts as _, Request, State};
use axum::http::header::{SEC_WEBSOCKET_PROTOCOL, USER_AGENT};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use homeagent_types::Meta;
use homeagent_types::ports::{ServedPath, Speaks};

use super::{relay, requests, unknown};
use crate::Problem;
use crate::connections::{Connections, StreamKind};
use crate::core::Shared;
use crate::guard::Peer;

/// As many headers of a request are told to the plugin.
const MOST_HEADERS: usize = 32;
/// What is longer is not told, in bytes.
const LONGEST_HEADER: usize = 256;

/// What is at a path that is none of the API's. Who may come in has been checked: see [`crate::guard`].
pub(super) async fn serve(
    State(core): State<Shared>,
    Extension(connections): Extension<Arc<Connections>>,
    path: Option<Extension<ServedPath>>,
    peer: Option<Extension<Peer>>,
    request: Request,
) -> Response {
    let Some(Extension(path)) = path else { return unknown(request).await.into_response() };
    let protocols = match path.speaks.clone() {
        Speaks::Http { methods } => {
            let answered =
                requests::answer(&core, &connections, path, &methods, peer.map(|Extension(peer)| peer), request);
            return answered.await.unwrap_or_else(|problem| problem.into_response());
        }
        Speaks::WebSocket { protocols } => protocols,
    };
    let (mut parts, _) = request.into_parts();
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &core).await;
    let opened = async {
        let upgrade = upgrade.map_err(|rejection| {
            Problem::new(StatusCode::UPGRADE_REQUIRED, rejection.body_text())
                .hint(format!("this path speaks WebSocket, to the plugin {}", path.plugin))
        })?;
        let open = connections.stream(StreamKind::Plugin)?;
        let upgrade = upgrade.protocols(protocols);
        let mut meta = told(&parts.headers);
        meta.push(("path".to_owned(), parts.uri.path().to_owned()));
        meta.extend(peer.map(|Extension(peer)| ("peer".to_owned(), peer.0.to_string())));
        let slot = core.live()?.listeners.connect(&path.listener, None, meta).await?;
        tracing::info!(plugin = %path.plugin, path = parts.uri.path(), "a client connects");
        Ok(relay::upgrade(upgrade, slot, core, open, relay::Pings::Regularly))
    };
    opened.await.unwrap_or_else(|problem: Problem| problem.into_response())
}

/// The headers that a plugin is told, by their lower-case names: those of protocols above HTTP, and nothing that is a
/// secret.
fn told(headers: &HeaderMap) -> Meta {
    let wanted = headers
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("x-") || [USER_AGENT, SEC_WEBSOCKET_PROTOCOL].contains(name));
    let readable = wanted.filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
    readable.filter(|(_, value)| value.len() <= LONGEST_HEADER).take(MOST_HEADERS).collect()
}

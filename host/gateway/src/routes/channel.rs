//! Connections of the unix socket whose frames belong to the plugin that holds the listener.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::http::StatusCode;
use axum::response::Response;
use homeagent_types::CallError;
use serde::Deserialize;

use super::chat::{conversation_name, owner};
use super::relay;
use crate::Problem;
use crate::connections::{Connections, StreamKind};
use crate::core::Shared;
use crate::extract::Asked;

const LISTENER: &str = "chat";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Whose {
    conversation: Option<String>,
}

/// `GET /channels/chat?conversation=NAME`.
pub(crate) async fn chat(
    State(core): State<Shared>,
    Extension(connections): Extension<Arc<Connections>>,
    Asked(whose): Asked<Whose>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let name = conversation_name(whose.conversation)?;
    let upgrade = upgrade.map_err(|rejection| {
        Problem::new(StatusCode::UPGRADE_REQUIRED, rejection.body_text())
            .hint("this path speaks WebSocket; `waiter` is a client for it")
    })?;
    let open = connections.stream(StreamKind::Chat)?;
    let meta = vec![("conversation".to_owned(), name.clone()), ("user".to_owned(), name.clone())];
    let principal = owner("cli", name);
    let live = core.live()?;
    let connected = live.listeners.connect(LISTENER, Some(principal), meta);
    let slot = connected.await.map_err(|error| match error {
        CallError::NotFound(_) => {
            Problem::from(error).hint("`waiter plugin list` shows how the plugin `cli` is, which holds the chat")
        }
        error => error.into(),
    })?;
    Ok(relay::upgrade(upgrade, slot, core, open, relay::Pings::Never))
}

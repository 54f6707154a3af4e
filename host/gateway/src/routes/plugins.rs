//! The plugins, as their keeper sees them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use homeagent_types::CallError;
use homeagent_types::ports::PluginStatus;

use crate::Problem;
use crate::core::Shared;
use crate::document::{AgentStopped, CallFailures};
use crate::extract::Named;

/// Lists all plugins and adapters, sorted by name.
#[utoipa::path(
    get,
    path = "/plugins",
    operation_id = "listPlugins",
    tag = "plugins",
    responses(
        (status = OK, body = Vec<PluginStatus>, description = "The plugins"),
        AgentStopped,
    )
)]
pub(crate) async fn list(State(core): State<Shared>) -> Result<Json<Vec<PluginStatus>>, Problem> {
    Ok(Json(core.live()?.plugins.list()))
}

/// Puts what the package holds now in the place of what runs.
///
/// On failure the old code goes on.
#[utoipa::path(
    post,
    path = "/plugins/{name}/reload",
    operation_id = "reloadPlugin",
    tag = "plugins",
    params(("name" = String, Path, description = "The plugin", example = "calc")),
    responses(
        (status = OK, body = PluginStatus, description = "The plugin"),
        CallFailures,
    )
)]
pub(crate) async fn reload(
    State(core): State<Shared>,
    Named(name): Named<String>,
) -> Result<Json<PluginStatus>, Problem> {
    let plugins = Arc::clone(&core.live()?.plugins);
    to_the_end("reload", async move { plugins.reload(&name).await }).await.map(Json)
}

/// Starts a package that is not loaded.
#[utoipa::path(
    post,
    path = "/plugins/{name}/load",
    operation_id = "loadPlugin",
    tag = "plugins",
    params(("name" = String, Path, description = "The plugin", example = "calc")),
    responses(
        (status = OK, body = PluginStatus, description = "The plugin"),
        CallFailures,
    )
)]
pub(crate) async fn load(
    State(core): State<Shared>,
    Named(name): Named<String>,
) -> Result<Json<PluginStatus>, Problem> {
    let plugins = Arc::clone(&core.live()?.plugins);
    to_the_end("load", async move { plugins.load(&name).await }).await.map(Json)
}

/// Stops a plugin and takes back what it offered.
#[utoipa::path(
    post,
    path = "/plugins/{name}/unload",
    operation_id = "unloadPlugin",
    tag = "plugins",
    params(("name" = String, Path, description = "The plugin", example = "calc")),
    responses(
        (status = OK, body = PluginStatus, description = "The plugin"),
        CallFailures,
    )
)]
pub(crate) async fn unload(
    State(core): State<Shared>,
    Named(name): Named<String>,
) -> Result<Json<PluginStatus>, Problem> {
    let (plugins, of) = (Arc::clone(&core.live()?.plugins), name.clone());
    to_the_end("unload", async move { plugins.unload(&of).await }).await?;
    find(&core, &name).map(Json)
}

/// Works in a task of its own: a client that goes away in the middle, of a swap or of a tool's call with its handlers,
/// does not leave half of it.
pub(super) async fn to_the_end<T: Send + 'static>(
    action: &str,
    work: impl Future<Output = Result<T, CallError>> + Send + 'static,
) -> Result<T, Problem> {
    let done = tokio::spawn(work).await;
    Ok(done.map_err(|_| Problem::internal(format!("the {action} broke off; the log says more")))??)
}

/// Gives a plugin a capability.
#[utoipa::path(
    post,
    path = "/plugins/{name}/grant/{capability}",
    operation_id = "grantCapability",
    tag = "plugins",
    params(
        ("name" = String, Path, description = "The plugin", example = "calc"),
        ("capability" = String, Path, description = "The capability", example = "http"),
    ),
    responses(
        (status = OK, body = PluginStatus, description = "The plugin"),
        CallFailures,
    )
)]
pub(crate) async fn grant(
    State(core): State<Shared>,
    Named((name, capability)): Named<(String, String)>,
) -> Result<Json<PluginStatus>, Problem> {
    let (plugins, of) = (Arc::clone(&core.live()?.plugins), name.clone());
    to_the_end("grant", async move { plugins.grant(&of, &capability).await }).await?;
    find(&core, &name).map(Json)
}

/// Takes a capability from a plugin.
#[utoipa::path(
    post,
    path = "/plugins/{name}/revoke/{capability}",
    operation_id = "revokeCapability",
    tag = "plugins",
    params(
        ("name" = String, Path, description = "The plugin", example = "calc"),
        ("capability" = String, Path, description = "The capability", example = "http"),
    ),
    responses(
        (status = OK, body = PluginStatus, description = "The plugin"),
        CallFailures,
    )
)]
pub(crate) async fn revoke(
    State(core): State<Shared>,
    Named((name, capability)): Named<(String, String)>,
) -> Result<Json<PluginStatus>, Problem> {
    let (plugins, of) = (Arc::clone(&core.live()?.plugins), name.clone());
    to_the_end("revoke", async move { plugins.revoke(&of, &capability).await }).await?;
    find(&core, &name).map(Json)
}

fn find(core: &Shared, name: &str) -> Result<PluginStatus, Problem> {
    let mut all = core.live()?.plugins.list().into_iter();
    all.find(|plugin| plugin.name == name).ok_or_else(|| Problem::not_found(format!("there is no plugin \"{name}\"")))
}

//! The plugins, as their keeper sees them.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use homeagent_types::ports::PluginStatus;

use crate::Problem;
use crate::core::Shared;
use crate::extract::Named;

/// `GET plugins`.
pub(crate) async fn list(State(core): State<Shared>) -> Result<Json<Vec<PluginStatus>>, Problem> {
    Ok(Json(core.live()?.plugins.list()))
}

/// `POST plugins/{name}/reload`, `load` or `unload`.
pub(crate) async fn act(
    State(core): State<Shared>,
    Named((name, action)): Named<(String, String)>,
) -> Result<Json<PluginStatus>, Problem> {
    // Tasks of their own: a client that goes away in the middle of a swap does not leave half of it.
    let plugins = Arc::clone(&core.live()?.plugins);
    let of = name.clone();
    let done = match action.as_str() {
        "reload" => tokio::spawn(async move { plugins.reload(&of).await.map(Some) }),
        "load" => tokio::spawn(async move { plugins.load(&of).await.map(Some) }),
        "unload" => tokio::spawn(async move { plugins.unload(&of).await.map(|()| None) }),
        _ => {
            return Err(Problem::not_found(format!(
                "a plugin can't be told to \"{action}\": it is reload, load or unload"
            )));
        }
    };
    let status = done.await.map_err(|_| Problem::internal(format!("the {action} broke off; the log says more")))??;
    match status {
        Some(status) => Ok(Json(status)),
        None => find(&core, &name).map(Json),
    }
}

/// `POST plugins/{name}/grant/{capability}`.
pub(crate) async fn grant(
    State(core): State<Shared>,
    Named((name, capability)): Named<(String, String)>,
) -> Result<Json<PluginStatus>, Problem> {
    core.live()?.plugins.grant(&name, &capability).await?;
    find(&core, &name).map(Json)
}

/// `POST plugins/{name}/revoke/{capability}`.
pub(crate) async fn revoke(
    State(core): State<Shared>,
    Named((name, capability)): Named<(String, String)>,
) -> Result<Json<PluginStatus>, Problem> {
    core.live()?.plugins.revoke(&name, &capability).await?;
    find(&core, &name).map(Json)
}

fn find(core: &Shared, name: &str) -> Result<PluginStatus, Problem> {
    let mut all = core.live()?.plugins.list().into_iter();
    all.find(|plugin| plugin.name == name).ok_or_else(|| Problem::not_found(format!("there is no plugin \"{name}\"")))
}

//! The plugins, as their keeper sees them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use homeagent_types::CallError;
use homeagent_types::ports::{Haste, PluginFolders, PluginStatus, Removed};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::Problem;
use crate::core::Shared;
use crate::document::{AgentStopped, CallFailures, Conflict};
use crate::extract::{Asked, Document, Named, within};

/// The longest time that a replacement waits for calls, in seconds.
const LONGEST_WAIT: i64 = 600;

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

/// How a replacement treats calls that are under way.
#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Patience {
    /// How long they may take to end, in seconds.
    #[param(default = 2, minimum = 0, maximum = 600)]
    wait: Option<i64>,
    /// When they take longer, let their callers go rather than give up the replacement.
    #[param(default = false)]
    force: Option<bool>,
}

impl TryFrom<Patience> for Haste {
    type Error = Problem;

    fn try_from(patience: Patience) -> Result<Self, Problem> {
        let seconds = patience.wait.map(|seconds| within("wait", seconds, 0, Some(LONGEST_WAIT))).transpose()?;
        Ok(Self { wait: seconds.map(Duration::from_secs), force: patience.force.unwrap_or(false) })
    }
}

/// Puts what the package holds now in the place of what runs.
///
/// On failure the old code goes on. While calls are under way that do not end in time, that is 409.
#[utoipa::path(
    post,
    path = "/plugins/{name}/reload",
    operation_id = "reloadPlugin",
    tag = "plugins",
    params(("name" = String, Path, description = "The plugin", example = "calc"), Patience),
    responses(
        (status = OK, body = PluginStatus, description = "The plugin"),
        CallFailures,
        Conflict,
    )
)]
pub(crate) async fn reload(
    State(core): State<Shared>,
    Named(name): Named<String>,
    Asked(patience): Asked<Patience>,
) -> Result<Json<PluginStatus>, Problem> {
    let haste = Haste::try_from(patience)?;
    let plugins = Arc::clone(&core.live()?.plugins);
    to_the_end("reload", async move { plugins.reload(&name, haste).await }).await.map(Json)
}

/// Where packages are looked for, and what became of each that lies there.
#[utoipa::path(
    get,
    path = "/plugin-folders",
    operation_id = "listPluginFolders",
    tag = "plugins",
    responses(
        (status = OK, body = PluginFolders, description = "The folder of packages, looked at now"),
        AgentStopped,
    )
)]
pub(crate) async fn folders(State(core): State<Shared>) -> Result<Json<PluginFolders>, Problem> {
    let plugins = Arc::clone(&core.live()?.plugins);
    let folders = tokio::task::spawn_blocking(move || plugins.folders()).await;
    folders.map(Json).map_err(|_| Problem::internal("looking at the folders broke off; the log says more"))
}

/// Where the package to install lies; one of the two.
#[derive(Deserialize, ToSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "the body has to say where the package lies: folder or archive, an absolute path"
)]
pub(crate) enum NewPlugin {
    /// A package as a folder.
    Folder {
        /// The absolute path of a folder on the daemon's machine, with `plugin.toml` and the component.
        #[schema(value_type = String, example = "/home/ada/hello")]
        folder: PathBuf,
    },
    /// A package as one file.
    Archive {
        /// The absolute path of an archive on the daemon's machine that `waiter plugin pack` made.
        #[schema(value_type = String, example = "/home/ada/hello-0.1.0.tar")]
        archive: PathBuf,
    },
}

/// Copies a package into the data folder and loads it.
///
/// One of its name that is installed is replaced, and stays when the new one can't be loaded. What the package asks for
/// is not granted by this; the answer says what is missing, and by whom the package is signed. A signed one that is not
/// as it was signed is refused.
#[utoipa::path(
    post,
    path = "/plugins",
    operation_id = "installPlugin",
    tag = "plugins",
    request_body = NewPlugin,
    responses(
        (status = OK, body = PluginStatus, description = "The plugin"),
        CallFailures,
        Conflict,
    )
)]
pub(crate) async fn install(
    State(core): State<Shared>,
    Document(new): Document<NewPlugin>,
) -> Result<Json<PluginStatus>, Problem> {
    let plugins = Arc::clone(&core.live()?.plugins);
    let (NewPlugin::Folder { folder: from } | NewPlugin::Archive { archive: from }) = new;
    to_the_end("installation", async move { plugins.install(&from).await }).await.map(Json)
}

/// Ends an installed plugin and deletes its package, its grants and what it kept: keys, timers, its own folder.
///
/// A bundled plugin of its name runs again.
#[utoipa::path(
    delete,
    path = "/plugins/{name}",
    operation_id = "removePlugin",
    tag = "plugins",
    params(("name" = String, Path, description = "The plugin", example = "hello")),
    responses(
        (status = OK, body = Removed, description = "What was removed"),
        CallFailures,
        Conflict,
    )
)]
pub(crate) async fn remove(State(core): State<Shared>, Named(name): Named<String>) -> Result<Json<Removed>, Problem> {
    let plugins = Arc::clone(&core.live()?.plugins);
    to_the_end("removal", async move { plugins.remove(&name).await }).await.map(Json)
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

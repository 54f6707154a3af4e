//! The settings. A secret can be set and unset here, and is never shown.

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use homeagent_settings::{Entry, Import, Kind};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::Problem;
use crate::core::{Shared, on_disk};
use crate::document::{DiskFailures, Invalid, NotFound};
use crate::extract::{Asked, Document, Named, TOML, Toml};

/// Lists all settings.
#[utoipa::path(
    get,
    path = "/settings",
    operation_id = "listSettings",
    tag = "settings",
    responses(
        (status = OK, body = Vec<Entry>, description = "The settings"),
    )
)]
pub(crate) async fn list(State(core): State<Shared>) -> Json<Vec<Entry>> {
    let entries = core.parts.settings.list().into_iter();
    Json(entries.map(without_secret).collect())
}

/// Shows a setting.
#[utoipa::path(
    get,
    path = "/settings/{key}",
    operation_id = "getSetting",
    tag = "settings",
    params(("key" = String, Path, description = "The setting", example = "core.agent.rounds")),
    responses(
        (status = OK, body = Entry, description = "The setting"),
        NotFound,
    )
)]
pub(crate) async fn get(State(core): State<Shared>, Named(key): Named<String>) -> Result<Json<Entry>, Problem> {
    Ok(Json(without_secret(core.parts.settings.entry(&key)?)))
}

/// What a setting is set to.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewValue {
    /// As the setting's kind has it; a text is read as a person types it.
    value: Value,
}

/// Sets a setting.
#[utoipa::path(
    put,
    path = "/settings/{key}",
    operation_id = "setSetting",
    tag = "settings",
    params(("key" = String, Path, description = "The setting", example = "core.agent.rounds")),
    request_body(content = NewValue),
    responses(
        (status = OK, body = Entry, description = "The setting as it stands now"),
        NotFound,
        Invalid,
        DiskFailures,
    )
)]
pub(crate) async fn set(
    State(core): State<Shared>,
    Named(key): Named<String>,
    Document(NewValue { value }): Document<NewValue>,
) -> Result<Json<Entry>, Problem> {
    let (settings, of) = (core.parts.settings.clone(), key.clone());
    on_disk(move || match value {
        Value::String(text) => settings.set_text(&of, &text),
        value => settings.set(&of, value),
    })
    .await?;
    get(State(core), Named(key)).await
}

/// Puts a setting back to its default.
#[utoipa::path(
    delete,
    path = "/settings/{key}",
    operation_id = "unsetSetting",
    tag = "settings",
    params(("key" = String, Path, description = "The setting", example = "core.agent.rounds")),
    responses(
        (status = OK, body = Option<Entry>, description = "The setting with its default; `null` where nobody declares it any more"),
        NotFound,
        DiskFailures,
    )
)]
pub(crate) async fn unset(
    State(core): State<Shared>,
    Named(key): Named<String>,
) -> Result<Json<Option<Entry>>, Problem> {
    let (settings, of) = (core.parts.settings.clone(), key.clone());
    on_disk(move || settings.unset(&of)).await?;
    // What a plugin left behind is gone altogether, everything else has its default.
    Ok(Json(core.parts.settings.entry(&key).map(without_secret).ok()))
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extent {
    /// Also what has its default, and comments on everything.
    #[serde(default)]
    all: bool,
}

/// Writes the settings as a TOML document.
#[utoipa::path(
    get,
    path = "/settings/export",
    operation_id = "exportSettings",
    tag = "settings",
    params(Extent),
    responses(
        (status = OK, body = String, content_type = "application/toml", description = "The document"),
    )
)]
pub(crate) async fn export(State(core): State<Shared>, Asked(extent): Asked<Extent>) -> Response {
    ([(CONTENT_TYPE, TOML)], core.parts.settings.to_toml(extent.all)).into_response()
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manner {
    /// Only tell what would change.
    #[serde(default)]
    dry_run: bool,
}

/// Sets what a TOML document says: all of it, or nothing.
#[utoipa::path(
    post,
    path = "/settings/import",
    operation_id = "importSettings",
    tag = "settings",
    params(Manner),
    request_body(content = String, content_type = "application/toml", description = "The document"),
    responses(
        (status = OK, body = Import, description = "What changed, or would change"),
        Invalid,
        DiskFailures,
    )
)]
pub(crate) async fn import(
    State(core): State<Shared>,
    Asked(manner): Asked<Manner>,
    Toml(document): Toml,
) -> Result<Json<Import>, Problem> {
    let settings = core.parts.settings.clone();
    on_disk(move || settings.apply_toml(&document, manner.dry_run)).await.map(Json)
}

fn without_secret(mut entry: Entry) -> Entry {
    if entry.declaration.kind == Kind::Secret {
        let set = !entry.value.is_null();
        entry.value = if set { "set" } else { "not set" }.into();
    }
    entry
}

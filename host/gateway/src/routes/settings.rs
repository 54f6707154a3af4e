//! The settings. A secret can be set and unset here, and is never shown.

use axum::Json;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use homeagent_settings::{Entry, Import, Kind};
use serde::Deserialize;
use serde_json::Value;

use crate::Problem;
use crate::core::{Shared, on_disk};
use crate::extract::{Asked, Document, Named, Text};

/// `GET settings`.
pub(crate) async fn list(State(core): State<Shared>) -> Json<Vec<Entry>> {
    let entries = core.parts.settings.list().into_iter();
    Json(entries.map(without_secret).collect())
}

/// `GET settings/{key}`.
pub(crate) async fn get(State(core): State<Shared>, Named(key): Named<String>) -> Result<Json<Entry>, Problem> {
    Ok(Json(without_secret(core.parts.settings.entry(&key)?)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewValue {
    value: Value,
}

/// `PUT settings/{key}` with `{"value": ...}`; a text is read as the setting's kind.
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

/// `DELETE settings/{key}`: back to the default.
pub(crate) async fn unset(State(core): State<Shared>, Named(key): Named<String>) -> Result<Json<Value>, Problem> {
    let (settings, of) = (core.parts.settings.clone(), key.clone());
    on_disk(move || settings.unset(&of)).await?;
    // What a plugin left behind is gone altogether, everything else has its default.
    let entry = core.parts.settings.entry(&key).map(without_secret).ok();
    serde_json::to_value(entry).map(Json).map_err(|error| Problem::internal(error.to_string()))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Extent {
    /// Also what has its default, and comments on everything.
    #[serde(default)]
    all: bool,
}

/// `GET settings/export`: a TOML document.
pub(crate) async fn export(State(core): State<Shared>, Asked(extent): Asked<Extent>) -> Response {
    ([(CONTENT_TYPE, "application/toml")], core.parts.settings.to_toml(extent.all)).into_response()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Manner {
    /// Only tell what would change.
    #[serde(default)]
    dry_run: bool,
}

/// `POST settings/import` with a TOML document: all of it, or nothing.
pub(crate) async fn import(
    State(core): State<Shared>,
    Asked(manner): Asked<Manner>,
    Text(document): Text,
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

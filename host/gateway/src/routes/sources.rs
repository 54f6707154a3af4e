//! The sources: configured endpoints of models. A key goes into the secrets and never comes out here.

use std::collections::BTreeMap;
use std::time::Instant;

use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use homeagent_providers::SourceState;
use homeagent_providers::discovery::ADOPT;
use homeagent_settings::{Secret, SourceChange, SourceError, SourceLine, SourceRecord, Sources};
use homeagent_types::model::{AdapterDescriptor, Usage};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Problem;
use crate::core::{Core, Shared, on_disk};
use crate::document::{AgentStopped, DiskFailures, Invalid, NotFound};
use crate::extract::{Document, Named};

/// What stands for an address where an adapter needs none.
const OFFLINE: &str = "offline:";

/// A source and how it stands.
#[derive(Serialize, ToSchema)]
pub(crate) struct Source {
    #[serde(flatten)]
    record: SourceRecord,
    /// `set` or `not set`.
    key: &'static str,
    /// How it stands at work.
    state: Option<SourceState>,
}

/// Lists the sources, in the order in which they are tried.
#[utoipa::path(
    get,
    path = "/sources",
    operation_id = "listSources",
    tag = "sources",
    responses(
        (status = OK, body = Vec<Source>, description = "The sources"),
    )
)]
pub(crate) async fn list(State(core): State<Shared>) -> Json<Vec<Source>> {
    let states = states(&core);
    let records = core.parts.sources.list();
    Json(records.iter().map(|record| shown(&core, record, &states)).collect())
}

/// How the sources stand at work: nobody knows while the agent is stopped.
fn states(core: &Core) -> Vec<SourceState> {
    core.parts.keeper.live().map(|live| live.providers.states()).unwrap_or_default()
}

fn shown(core: &Core, record: &SourceRecord, states: &[SourceState]) -> Source {
    let secret = record.secret.as_deref();
    let set = secret.is_some_and(|name| core.parts.secrets.contains(name));
    Source {
        record: record.clone(),
        key: if set { "set" } else { "not set" },
        state: states.iter().find(|state| state.name == record.name).cloned(),
    }
}

pub(super) fn find(core: &Core, name: &str) -> Result<Json<Source>, Problem> {
    match core.parts.sources.get(name) {
        Some(record) => Ok(Json(shown(core, &record, &states(core)))),
        None => Err(unknown(&core.parts.sources, name).into()),
    }
}

fn unknown(sources: &Sources, name: &str) -> SourceError {
    let known = sources.list().iter().map(|record| record.name.clone()).collect();
    SourceError::Unknown { name: name.to_owned(), known }
}

/// A source to be added.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewSource {
    adapter: String,
    base_url: Option<String>,
    model: Option<String>,
    line: Option<SourceLine>,
    /// Kept as it is where none is given.
    key: Option<String>,
    #[serde(default)]
    options: BTreeMap<String, String>,
    #[serde(default = "enabled")]
    enabled: bool,
}

fn enabled() -> bool {
    true
}

/// Adds or replaces a source.
///
/// What is not said comes from the adapter.
#[utoipa::path(
    put,
    path = "/sources/{name}",
    operation_id = "putSource",
    tag = "sources",
    params(("name" = String, Path, description = "The source", example = "main")),
    request_body(content = NewSource),
    responses(
        (status = OK, body = Source, description = "The source"),
        Invalid,
        DiskFailures,
        AgentStopped,
    )
)]
pub(crate) async fn add(
    State(core): State<Shared>,
    Named(name): Named<String>,
    Document(new): Document<NewSource>,
) -> Result<Json<Source>, Problem> {
    let adapters = &core.live()?.adapters;
    let descriptor = adapters.descriptor(&new.adapter).ok_or_else(|| {
        Problem::invalid(format!("there is no adapter \"{}\"", new.adapter))
            .hint(format!("there are: {}", adapters.names().join(", ")))
    })?;
    let base_url = base_url(new.base_url, &descriptor)?;
    let model = new
        .model
        .or(descriptor.default_model)
        .ok_or_else(|| Problem::invalid(format!("the adapter \"{}\" has no usual model, so say which", new.adapter)))?;
    let secret = SourceRecord::key_secret(&name);
    let (sources, secrets) = (core.parts.sources.clone(), core.parts.secrets.clone());
    let of = name.clone();
    on_disk(move || -> Result<(), Problem> {
        let has_key = new.key.is_some() || secrets.contains(&secret);
        let record = SourceRecord {
            name: of,
            line: new.line.unwrap_or(SourceLine::Main),
            adapter: new.adapter,
            base_url,
            model,
            secret: has_key.then(|| secret.clone()),
            options: new.options,
            position: 0,
            enabled: new.enabled,
        };
        // What is refused leaves the key that works; else the key comes first: a source that is told to use it has to
        // find it.
        record.check()?;
        if let Some(key) = new.key {
            secrets.set(&secret, Secret::from(key.trim()))?;
        }
        Ok(sources.add(&record)?)
    })
    .await?;
    find(&core, &name)
}

fn base_url(given: Option<String>, descriptor: &AdapterDescriptor) -> Result<String, Problem> {
    let Some(url) = given.or_else(|| descriptor.default_base_url.clone()) else {
        if descriptor.offline {
            return Ok(OFFLINE.to_owned());
        }
        return Err(Problem::invalid(format!(
            "the adapter \"{}\" has no usual address, so say the base URL",
            descriptor.name
        )));
    };
    if descriptor.offline {
        return Ok(url);
    }
    let usable = url.parse::<Uri>().is_ok_and(|parsed| {
        let web = matches!(parsed.scheme_str(), Some("http" | "https"));
        web && parsed.authority().is_some_and(|authority| !authority.as_str().contains('@'))
    });
    if usable {
        return Ok(url.trim_end_matches('/').to_owned());
    }
    // It is not repeated: a URL with a password in it is one of those refused.
    Err(Problem::invalid("the base URL has to begin with http:// or https://, name a host, and hold no password"))
}

/// Removes a source and its key.
///
/// No source that is found is taken by itself from then on.
#[utoipa::path(
    delete,
    path = "/sources/{name}",
    operation_id = "removeSource",
    tag = "sources",
    params(("name" = String, Path, description = "The source", example = "main")),
    responses(
        (status = OK, body = Source, description = "The source that was"),
        NotFound,
        DiskFailures,
    )
)]
pub(crate) async fn remove(State(core): State<Shared>, Named(name): Named<String>) -> Result<Json<Source>, Problem> {
    let removed = find(&core, &name)?;
    let (sources, secrets) = (core.parts.sources.clone(), core.parts.secrets.clone());
    let settings = core.parts.settings.clone();
    on_disk(move || -> Result<(), Problem> {
        // First: a start between the two must not bring back what the owner wants gone.
        settings.set(ADOPT, false)?;
        sources.remove(&name)?;
        secrets.remove(&SourceRecord::key_secret(&name))?;
        Ok(())
    })
    .await?;
    Ok(removed)
}

/// Changes a source.
///
/// What is not said stays as it is; an option that is `null` is taken away. It counts from the next call of the model on,
/// also in a turn that runs.
#[utoipa::path(
    patch,
    path = "/sources/{name}",
    operation_id = "changeSource",
    tag = "sources",
    params(("name" = String, Path, description = "The source", example = "main")),
    request_body(content = SourceChange),
    responses(
        (status = OK, body = Source, description = "The source"),
        Invalid,
        NotFound,
        DiskFailures,
    )
)]
pub(crate) async fn change(
    State(core): State<Shared>,
    Named(name): Named<String>,
    Document(change): Document<SourceChange>,
) -> Result<Json<Source>, Problem> {
    let (sources, of) = (core.parts.sources.clone(), name.clone());
    on_disk(move || sources.edit(&of, &change)).await?;
    find(&core, &name)
}

/// Puts a source to the front of its line and switches it on.
#[utoipa::path(
    post,
    path = "/sources/{name}/use",
    operation_id = "useSource",
    tag = "sources",
    params(("name" = String, Path, description = "The source", example = "main")),
    responses(
        (status = OK, body = Source, description = "The source"),
        NotFound,
        DiskFailures,
    )
)]
pub(crate) async fn use_first(State(core): State<Shared>, Named(name): Named<String>) -> Result<Json<Source>, Problem> {
    let (sources, of) = (core.parts.sources.clone(), name.clone());
    on_disk(move || sources.use_first(&of)).await?;
    find(&core, &name)
}

/// How the test of a source went. That it failed is an answer, not an error.
#[derive(Serialize, ToSchema)]
#[schema(as = SourceReport)]
pub(crate) struct Report {
    ok: bool,
    took_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// What the model answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
    /// Why it failed, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    /// Why it failed, as a class.
    #[serde(skip_serializing_if = "Option::is_none")]
    class: Option<&'static str>,
}

/// Asks a source for a word.
#[utoipa::path(
    post,
    path = "/sources/{name}/test",
    operation_id = "testSource",
    tag = "sources",
    params(("name" = String, Path, description = "The source", example = "main")),
    responses(
        (status = OK, body = Report, description = "How it went"),
        NotFound,
        AgentStopped,
    )
)]
pub(crate) async fn test(State(core): State<Shared>, Named(name): Named<String>) -> Result<Json<Report>, Problem> {
    let providers = &core.live()?.providers;
    if !providers.states().iter().any(|state| state.name == name) {
        return Err(unknown(&core.parts.sources, &name).into());
    }
    let began = Instant::now();
    let answer = providers.test(&name).await;
    let took_ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let report =
        Report { ok: answer.is_ok(), took_ms, model: None, reply: None, usage: None, detail: None, class: None };
    Ok(Json(match answer {
        Ok(completion) => Report {
            model: Some(completion.model),
            reply: Some(completion.answer.text),
            usage: completion.answer.usage,
            ..report
        },
        Err(failure) => Report {
            class: failure.tried.last().map(|(_, last)| last.class.as_str()),
            detail: Some(failure.sentence),
            ..report
        },
    }))
}

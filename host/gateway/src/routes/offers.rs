//! Sources that were found and are not configured.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use homeagent_providers::discovery::{Discovery, DiscoveryError, Found, process_environment};
use serde::Deserialize;
use utoipa::ToSchema;

use super::sources::{Source, find};
use crate::Problem;
use crate::core::{Core, Shared};
use crate::document::{Conflict, DiskFailures, Invalid, NotFound};
use crate::extract::{MaybeDocument, Named};

fn discovery(core: &Core) -> Discovery {
    let parts = &core.parts;
    Discovery::new(parts.settings.clone(), parts.secrets.clone(), parts.sources.clone(), process_environment)
}

/// Looks for sources that are not configured.
///
/// It looks in the environment and on this machine, now.
#[utoipa::path(
    get,
    path = "/sources/offers",
    operation_id = "listOffers",
    tag = "sources",
    responses(
        (status = OK, body = Found, description = "What is found"),
        Conflict,
        DiskFailures,
    )
)]
pub(crate) async fn list(State(core): State<Shared>) -> Result<Json<Found>, Problem> {
    Ok(Json(discovery(&core).look().await?))
}

/// How an offer is taken.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Choice {
    /// The model, in the place of the one that is offered.
    model: Option<String>,
}

/// Takes an offer: it becomes a source.
///
/// An empty body takes it as it is.
#[utoipa::path(
    post,
    path = "/sources/offers/{name}/accept",
    operation_id = "acceptOffer",
    tag = "sources",
    params(("name" = String, Path, description = "The offer")),
    request_body(content = Option<Choice>),
    responses(
        (status = OK, body = Source, description = "The source"),
        NotFound,
        Conflict,
        Invalid,
        DiskFailures,
    )
)]
pub(crate) async fn accept(
    State(core): State<Shared>,
    Named(name): Named<String>,
    MaybeDocument(choice): MaybeDocument<Choice>,
) -> Result<Json<Source>, Problem> {
    discovery(&core).accept(&name, choice.and_then(|choice| choice.model)).await?;
    find(&core, &name)
}

impl From<DiscoveryError> for Problem {
    fn from(error: DiscoveryError) -> Self {
        let sentence = error.to_string();
        match error {
            DiscoveryError::Off => Self::new(StatusCode::CONFLICT, sentence)
                .hint("`waiter settings set core.discovery.enabled on` has them looked for"),
            DiscoveryError::Taken { .. } => Self::new(StatusCode::CONFLICT, sentence),
            DiscoveryError::Unknown { .. } => {
                Self::not_found(sentence).hint("`waiter source offers` looks again and shows what is found")
            }
            DiscoveryError::NoModel { .. } => Self::invalid(sentence),
            DiscoveryError::Secrets(inner) => inner.into(),
            DiscoveryError::Source(inner) => inner.into(),
            DiscoveryError::Settings(inner) => inner.into(),
            _ => Self::internal(sentence),
        }
    }
}

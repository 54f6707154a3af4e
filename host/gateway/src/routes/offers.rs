//! Sources that were found and are not configured.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use homeagent_providers::discovery::{Discovery, DiscoveryError, Found, process_environment};
use serde::Deserialize;

use super::sources::{Source, find};
use crate::Problem;
use crate::core::{Core, Shared};
use crate::extract::{Named, Text};

fn discovery(core: &Core) -> Discovery {
    let parts = &core.parts;
    Discovery::new(parts.settings.clone(), parts.secrets.clone(), parts.sources.clone(), process_environment)
}

/// `GET sources/offers`: looks now.
pub(crate) async fn list(State(core): State<Shared>) -> Result<Json<Found>, Problem> {
    Ok(Json(discovery(&core).look().await?))
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Choice {
    model: Option<String>,
}

/// `POST sources/offers/{name}/accept`: an empty body takes the offer as it is.
pub(crate) async fn accept(
    State(core): State<Shared>,
    Named(name): Named<String>,
    Text(body): Text,
) -> Result<Json<Source>, Problem> {
    let choice = if body.trim().is_empty() {
        Choice::default()
    } else {
        serde_json::from_str(&body)
            .map_err(|error| Problem::bad_request(format!("the body is not the JSON that belongs here: {error}")))?
    };
    discovery(&core).accept(&name, choice.model).await?;
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

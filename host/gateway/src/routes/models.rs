//! The models that vendors offer.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use homeagent_providers::ListingError;
use homeagent_types::model::{FailureClass, ModelInfo};
use serde::Serialize;
use utoipa::ToSchema;

use crate::Problem;
use crate::core::Shared;
use crate::document::{AgentStopped, Invalid, NotFound, VendorFailures};
use crate::extract::Named;

/// The models of a source's vendor.
#[derive(Serialize, ToSchema)]
#[schema(as = SourceModels)]
pub(crate) struct Models {
    /// The model that the source asks for.
    current: String,
    /// In the order of their names.
    models: Vec<ModelInfo>,
}

/// Lists the models of a source's vendor.
///
/// The vendor is asked now, with the source's key.
#[utoipa::path(
    get,
    path = "/sources/{name}/models",
    operation_id = "listModels",
    tag = "sources",
    params(("name" = String, Path, description = "The source", example = "main")),
    responses(
        (status = OK, body = Models, description = "The models"),
        NotFound,
        Invalid,
        VendorFailures,
        AgentStopped,
    )
)]
pub(crate) async fn list(State(core): State<Shared>, Named(name): Named<String>) -> Result<Json<Models>, Problem> {
    let live = core.live()?;
    let models = live.providers.models(&name).await?;
    let current = core.parts.sources.get(&name).map(|record| record.model).unwrap_or_default();
    Ok(Json(Models { current, models }))
}

impl From<ListingError> for Problem {
    fn from(error: ListingError) -> Self {
        let sentence = error.to_string();
        match error {
            ListingError::Unknown(_) => Self::not_found(sentence),
            ListingError::NotListed { .. } => Self::invalid(sentence),
            ListingError::Failed { class: FailureClass::Timeout, .. } => {
                Self::new(StatusCode::GATEWAY_TIMEOUT, sentence)
            }
            _ => Self::new(StatusCode::BAD_GATEWAY, sentence),
        }
    }
}

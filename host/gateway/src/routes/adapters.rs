//! Trying adapters without a vendor.

use axum::Json;
use axum::extract::State;
use homeagent_providers::{CaseAnswer, try_adapter};
use serde::Deserialize;

use crate::Problem;
use crate::core::Shared;
use crate::document::CallFailures;
use crate::extract::{Asked, Named, Recording, within};

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cut {
    /// How many bytes the adapter gets at a time; all at once if it is not said.
    #[param(minimum = 1)]
    chunk: Option<i64>,
}

/// Puts a recorded answer through an adapter.
#[utoipa::path(
    post,
    path = "/adapters/{name}/try",
    operation_id = "tryAdapter",
    tag = "adapters",
    params(("name" = String, Path, description = "The adapter", example = "rehearsal"), Cut),
    request_body(content = String, content_type = "application/octet-stream", description = "The recorded answer"),
    responses(
        (status = OK, body = CaseAnswer, description = "The assembled message"),
        CallFailures,
    )
)]
pub(crate) async fn try_recording(
    State(core): State<Shared>,
    Named(name): Named<String>,
    Asked(Cut { chunk }): Asked<Cut>,
    Recording(recorded): Recording,
) -> Result<Json<CaseAnswer>, Problem> {
    let size = chunk.map_or(Ok(0), |chunk| within("chunk", chunk, 1, None))?;
    let live = core.live()?;
    let adapters = live.adapters.as_ref();
    let answer = try_adapter(adapters, &name, &recorded, size).await?;
    Ok(Json(answer.into()))
}

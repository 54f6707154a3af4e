//! Trying adapters without a vendor.

use axum::Json;
use axum::extract::State;
use homeagent_providers::{CaseAnswer, try_adapter};
use serde::Deserialize;

use crate::Problem;
use crate::core::Shared;
use crate::extract::{Asked, Named, Recording};

#[derive(Deserialize)]
pub(crate) struct Cut {
    chunk: Option<usize>,
}

/// `POST adapters/{name}/try?chunk=N`: the body is a recorded answer.
pub(crate) async fn try_recording(
    State(core): State<Shared>,
    Named(name): Named<String>,
    Asked(Cut { chunk }): Asked<Cut>,
    Recording(recorded): Recording,
) -> Result<Json<CaseAnswer>, Problem> {
    if chunk == Some(0) {
        return Err(Problem::invalid("a chunk has at least one byte"));
    }
    let live = core.live()?;
    let adapters = live.adapters.as_ref();
    let answer = try_adapter(adapters, &name, &recorded, chunk.unwrap_or(0)).await?;
    Ok(Json(answer.into()))
}

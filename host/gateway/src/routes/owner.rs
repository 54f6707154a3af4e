//! Pairing: how an account of a channel becomes the owner's.

use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::extract::State;
use homeagent_agent::{PairingCode, PairingStatus};
use serde::Deserialize;

use crate::Problem;
use crate::core::Shared;
use crate::document::{AgentStopped, Invalid};
use crate::extract::{Asked, within};

/// How long the end of a pairing may be waited for, in seconds.
const LONGEST_WAIT: i64 = 10;

/// Makes a one-time code. Whoever sends it to the agent, alone and in private, from an account of a channel, makes that
/// account the owner's.
///
/// It counts for ten minutes, and until another one is made.
#[utoipa::path(
    post,
    path = "/owner/pair",
    operation_id = "pairOwner",
    tag = "rights",
    responses(
        (status = OK, body = PairingCode, description = "The code, which is shown here and nowhere else"),
        AgentStopped,
    )
)]
pub(crate) async fn pair(State(core): State<Shared>) -> Result<Json<PairingCode>, Problem> {
    Ok(Json(core.live()?.turns.pair()?))
}

#[derive(Deserialize, utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Patience {
    /// How long to wait for the code to be used or to end, in seconds, 0 to 10.
    #[serde(default)]
    wait: i64,
}

/// How the last pairing stands.
#[utoipa::path(
    get,
    path = "/owner/pair",
    operation_id = "pairingStatus",
    tag = "rights",
    params(Patience),
    responses(
        (status = OK, body = PairingStatus, description = "How it stands, as soon as the code does not wait any more"),
        Invalid,
        AgentStopped,
    )
)]
pub(crate) async fn status(
    State(core): State<Shared>,
    Asked(patience): Asked<Patience>,
) -> Result<Json<PairingStatus>, Problem> {
    let wait = Duration::from_secs(within("wait", patience.wait, 0, Some(LONGEST_WAIT))?);
    let turns = Arc::clone(&core.live()?.turns);
    tokio::select! {
        status = turns.pairing(wait) => Ok(Json(status)),
        () = core.stopping.cancelled() => Ok(Json(turns.pairing(Duration::ZERO).await)),
    }
}

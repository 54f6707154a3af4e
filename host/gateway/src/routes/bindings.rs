//! Who has which role: accounts of channels, bound by the owner.

use axum::Json;
use axum::extract::State;
use homeagent_settings::{Binding, Bindings};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::Problem;
use crate::core::{Shared, on_disk};
use crate::document::{DiskFailures, Invalid, NotFound};
use crate::extract::{Document, Named};

/// Lists the accounts that have a role, by channel.
#[utoipa::path(
    get,
    path = "/bindings",
    operation_id = "listBindings",
    tag = "rights",
    responses(
        (status = OK, body = Vec<Binding>, description = "The accounts; all others are guests"),
    )
)]
pub(crate) async fn list(State(core): State<Shared>) -> Json<Vec<Binding>> {
    Json(core.parts.bindings.list())
}

/// An account and the role it is to have.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewBinding {
    /// The channel's name.
    #[schema(example = "qq")]
    channel: String,
    /// The account there.
    #[schema(example = "10001")]
    user: String,
    /// `owner`, `member` or `guest`.
    #[schema(example = "member")]
    role: String,
}

/// Gives an account a role, in place of an earlier one. It counts at once, also for what waits already.
#[utoipa::path(
    post,
    path = "/bindings",
    operation_id = "bind",
    tag = "rights",
    request_body(content = NewBinding),
    responses(
        (status = OK, body = Binding, description = "The account with its role"),
        Invalid,
        DiskFailures,
    )
)]
pub(crate) async fn bind(
    State(core): State<Shared>,
    Document(NewBinding { channel, user, role }): Document<NewBinding>,
) -> Result<Json<Binding>, Problem> {
    let bindings: Bindings = core.parts.bindings.clone();
    let bound = Binding { namespace: channel, user, role };
    let to_bind = bound.clone();
    on_disk(move || bindings.bind(&to_bind.namespace, &to_bind.user, &to_bind.role)).await?;
    Ok(Json(bound))
}

/// An account that has no role any more.
#[derive(Serialize, ToSchema)]
pub(crate) struct Unbound {
    channel: String,
    user: String,
}

/// Takes an account's role away. It counts at once, also for what waits or runs already.
#[utoipa::path(
    delete,
    path = "/bindings/{channel}/{user}",
    operation_id = "unbind",
    tag = "rights",
    params(
        ("channel" = String, Path, description = "The channel", example = "qq"),
        ("user" = String, Path, description = "The account", example = "10001"),
    ),
    responses(
        (status = OK, body = Unbound, description = "The account, a guest now"),
        NotFound,
        DiskFailures,
    )
)]
pub(crate) async fn unbind(
    State(core): State<Shared>,
    Named((channel, user)): Named<(String, String)>,
) -> Result<Json<Unbound>, Problem> {
    let bindings = core.parts.bindings.clone();
    let unbound = Unbound { channel: channel.clone(), user: user.clone() };
    if on_disk(move || bindings.unbind(&channel, &user)).await? {
        return Ok(Json(unbound));
    }
    let Unbound { channel, user } = unbound;
    Err(Problem::not_found(format!("the account \"{user}\" of the channel \"{channel}\" has no role")))
}

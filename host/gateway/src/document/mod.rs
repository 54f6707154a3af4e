//! The OpenAPI document of the API. Operations and schemas come from the handlers and the types themselves; what all
//! operations have in common is added here.

mod problems;

use std::sync::LazyLock;

use axum::body::Bytes;
use utoipa::OpenApi as _;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{OpenApi, RefOr};

use crate::Problem;
use crate::extract::ANY_BYTES;
use crate::routes;

pub(crate) use self::problems::{
    AgentStopped, CallFailures, Conflict, DiskFailures, Invalid, NotFound, VendorFailures,
};
use self::problems::{EveryOperation, WithBody, WithToken, WithType};

/// The name of the security scheme.
const TOKEN: &str = "token";

/// What stands above all operations.
#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "HomeAgent",
        description = "The API of `homed`, over TCP for whoever has the token in `$HOMEAGENT_HOME/api-token`, and over \
                       the unix socket `$HOMEAGENT_HOME/homed.sock` for the daemon's own user, without a token. Times \
                       are milliseconds since 1970. Every error is a problem document (RFC 9457)."
    ),
    servers((url = "/")),
    security(("token" = [])),
    components(schemas(Problem)),
    tags(
        (name = "daemon", description = "The daemon as a whole"),
        (name = "agent", description = "The agent's life inside the daemon"),
        (name = "chat", description = "Turns: beginning and ending them"),
        (name = "runs", description = "What happened"),
        (name = "tools", description = "The tools, as the owner sees and calls them"),
        (name = "timers", description = "The timers of the plugin `timer`; their times are texts in ISO 8601"),
        (name = "plugins", description = "The plugins, their states and grants"),
        (name = "settings", description = "The settings; secrets go in and never come out"),
        (name = "sources", description = "The endpoints of models, in the order in which they are tried"),
        (name = "models", description = "The models on this machine that make vectors of texts"),
        (name = "costs", description = "What models cost: the ledger, the prices, and the limits as they stand"),
        (name = "rights", description = "Who may do what: accounts and their roles"),
        (name = "adapters", description = "What speaks the vendors' protocols"),
        (name = "media", description = "Pictures, sounds, films and files that were handed over"),
        (name = "memory", description = "What was said and done before; whoever has the token is the owner"),
        (name = "knowledge", description = "The knowledge base: texts of the household that people edit"),
        (name = "channels", description = "What carries people's messages"),
    )
)]
struct Frame;

/// The document as it is served.
pub(crate) fn json() -> Bytes {
    static DOCUMENT: LazyLock<Bytes> = LazyLock::new(|| {
        let mut document = routes::described(Frame::openapi()).1;
        complete(&mut document);
        // A tree of texts, whose maps are sorted.
        serde_json::to_vec(&document).unwrap_or_default().into()
    });
    DOCUMENT.clone()
}

/// Adds what holds for operations whatever they do.
fn complete(document: &mut OpenApi) {
    let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some("The daemon's API token")).build();
    document.components.get_or_insert_default().add_security_scheme(TOKEN, SecurityScheme::Http(scheme));
    for operation in document.paths.paths.values_mut().flat_map(operations) {
        let responses = &mut operation.responses;
        add::<EveryOperation>(responses);
        if operation.security.is_none() {
            add::<WithToken>(responses);
        }
        if let Some(body) = &operation.request_body {
            add::<WithBody>(responses);
            let any = matches!(body, RefOr::T(body) if body.content.contains_key(ANY_BYTES));
            if !any {
                add::<WithType>(responses);
                // What is of the right type may still not be what belongs there.
                add::<Invalid>(responses);
            }
        }
    }
}

/// Adds responses; those an operation describes itself stay as they are.
fn add<T: utoipa::IntoResponses>(responses: &mut utoipa::openapi::Responses) {
    for (status, response) in T::responses() {
        let response: RefOr<_> = response;
        responses.responses.entry(status).or_insert(response);
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, options, head, patch, trace, .. } = item;
    [get, put, post, delete, options, head, patch, trace].into_iter().flatten()
}

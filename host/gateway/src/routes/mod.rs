//! The operations, each a small function from a request to JSON or a [`Problem`].

mod adapters;
mod agent;
mod channel;
mod chat;
mod events;
mod offers;
mod plugins;
mod runs;
mod settings;
mod sources;
mod status;
mod tools;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, post, put};

use crate::Problem;
use crate::core::Shared;
use crate::guard;

/// The API, as TCP serves it.
pub(crate) fn api(core: &Shared) -> Router {
    finish(operations(), core)
}

/// The API and what only the unix socket has.
pub(crate) fn api_and_channels(core: &Shared) -> Router {
    finish(operations().route("/channels/chat", get(channel::chat)), core)
}

fn operations() -> Router<Shared> {
    let operations = Router::new()
        .route("/ping", get(status::ping))
        .route("/status", get(status::status))
        .route("/agent/stop", post(agent::stop))
        .route("/agent/start", post(agent::start))
        .route("/chat", post(chat::chat))
        .route("/events", get(events::follow))
        .route("/stop", post(chat::stop))
        .route("/runs", get(runs::list))
        .route("/runs/{id}", get(runs::show))
        .route("/runs/{id}/cancel", post(chat::cancel))
        .route("/tools", get(tools::list))
        .route("/tools/{name}", post(tools::call))
        .route("/plugins", get(plugins::list))
        .route("/plugins/{name}/{action}", post(plugins::act))
        .route("/plugins/{name}/grant/{capability}", post(plugins::grant))
        .route("/plugins/{name}/revoke/{capability}", post(plugins::revoke))
        .route("/settings", get(settings::list))
        .route("/settings/export", get(settings::export))
        .route("/settings/import", post(settings::import))
        .route("/settings/{key}", get(settings::get).put(settings::set).delete(settings::unset))
        .route("/sources", get(sources::list))
        .route("/sources/offers", get(offers::list))
        .route("/sources/offers/{name}/accept", post(offers::accept))
        .route("/sources/{name}", put(sources::add))
        .route("/sources/{name}", delete(sources::remove))
        .route("/sources/{name}/use", post(sources::use_first))
        .route("/sources/{name}/test", post(sources::test))
        .route("/adapters/{name}/try", post(adapters::try_recording));
    Router::new().nest("/api/v1", operations)
}

fn finish(router: Router<Shared>, core: &Shared) -> Router {
    router
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(core.clone(), guard::check))
        .with_state(core.clone())
}

async fn unknown(request: Request) -> Problem {
    Problem::not_found(format!("there is nothing at {}", request.uri().path()))
}

async fn wrong_method(request: Request) -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, format!("{} does not take {}", request.uri().path(), request.method()))
}

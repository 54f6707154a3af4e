//! The operations, each a small function from a request to JSON or a [`Problem`].

mod adapters;
mod agent;
mod bindings;
mod channel;
mod channels;
mod chat;
mod costs;
mod embedders;
mod events;
mod knowledge;
pub(crate) mod media;
mod memory;
mod metrics;
mod models;
mod offers;
mod owner;
mod paths;
mod plugins;
mod questions;
mod relay;
mod requests;
mod runs;
mod settings;
mod sources;
mod status;
mod timers;
mod tools;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};
use utoipa_axum::routes;

use crate::Problem;
use crate::core::Shared;
use crate::{guard, meters};

/// The API, as TCP serves it.
pub(crate) fn api(core: &Shared) -> Router {
    finish(described(OpenApi::default()).0.fallback(paths::serve), core)
}

/// The API and what only the unix socket has.
pub(crate) fn api_and_channels(core: &Shared) -> Router {
    let (router, _) = described(OpenApi::default());
    finish(router.route("/channels/chat", get(channel::chat)).fallback(unknown), core)
}

/// The operations and, put into `frame`, their description. Both come from the one list below.
pub(crate) fn described(frame: OpenApi) -> (Router<Shared>, OpenApi) {
    let operations = operations().into_iter().fold(OpenApiRouter::new(), OpenApiRouter::routes);
    // Where whoever scrapes looks by default.
    OpenApiRouter::with_openapi(frame)
        .nest("/api/v1", operations)
        .routes(routes!(metrics::metrics))
        .routes(routes!(media::serve))
        .split_for_parts()
}

/// Every operation; one without a description can't stand here.
fn operations() -> Vec<UtoipaMethodRouter<Shared>> {
    vec![
        routes!(status::ping),
        routes!(status::openapi),
        routes!(status::status),
        routes!(agent::stop),
        routes!(agent::start),
        routes!(chat::chat),
        routes!(events::follow),
        routes!(chat::stop),
        routes!(runs::list),
        routes!(runs::show),
        routes!(chat::cancel),
        routes!(costs::costs),
        routes!(costs::prices, costs::set, costs::remove),
        routes!(timers::list),
        routes!(timers::cancel),
        routes!(timers::pause),
        routes!(timers::resume),
        routes!(tools::list),
        routes!(tools::call),
        routes!(plugins::list, plugins::install),
        routes!(plugins::folders),
        routes!(plugins::remove),
        routes!(plugins::reload),
        routes!(plugins::load),
        routes!(plugins::unload),
        routes!(plugins::grant),
        routes!(plugins::revoke),
        routes!(settings::list),
        routes!(settings::export),
        routes!(settings::import),
        routes!(settings::get, settings::set, settings::unset),
        routes!(sources::list),
        routes!(offers::list),
        routes!(offers::accept),
        routes!(sources::add, sources::remove, sources::change),
        routes!(sources::use_first),
        routes!(sources::test),
        routes!(models::list),
        routes!(embedders::list, embedders::install),
        routes!(embedders::choose),
        routes!(embedders::test),
        routes!(adapters::try_recording),
        routes!(owner::pair, owner::status),
        routes!(bindings::list, bindings::bind),
        routes!(bindings::unbind),
        routes!(channels::try_recording),
        routes!(media::add, media::list),
        routes!(media::remove),
        routes!(memory::state),
        routes!(memory::search),
        routes!(memory::show),
        routes!(memory::graph),
        routes!(memory::explain),
        routes!(memory::forget),
        routes!(memory::reindex),
        routes!(memory::export),
        routes!(memory::import),
        routes!(knowledge::list),
        routes!(knowledge::search),
        routes!(knowledge::show, knowledge::remove),
        routes!(knowledge::section),
        routes!(knowledge::import),
        routes!(knowledge::reindex),
        routes!(questions::list),
        routes!(questions::answer),
    ]
}

/// What is served at an address of a plugin's own: its paths.
pub(crate) fn paths_of_plugins(core: &Shared) -> Router {
    finish(Router::new().fallback(paths::serve), core)
}

fn finish(router: Router<Shared>, core: &Shared) -> Router {
    router
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(core.clone(), guard::check))
        .layer(from_fn(meters::count))
        .with_state(core.clone())
}

pub(crate) async fn unknown(request: Request) -> Problem {
    Problem::not_found(format!("there is nothing at {}", request.uri().path()))
}

async fn wrong_method(request: Request) -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, format!("{} does not take {}", request.uri().path(), request.method()))
}

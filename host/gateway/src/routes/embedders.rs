//! The embedding models: what makes vectors of texts.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use homeagent_types::embedding::{EmbedderStatus, Embedders, EmbeddingTrial, InstalledModel};
use serde::Deserialize;
use utoipa::ToSchema;

use super::plugins::to_the_end;
use crate::Problem;
use crate::core::Shared;
use crate::document::{CallFailures, Conflict, DiskFailures, Invalid, NotFound, VendorFailures};
use crate::extract::Document;

/// Lists the embedding models, the best first, and says which is used and why.
#[utoipa::path(
    get,
    path = "/models",
    operation_id = "listEmbeddingModels",
    tag = "models",
    responses((status = OK, body = Embedders, description = "The models"))
)]
pub(crate) async fn list(State(core): State<Shared>) -> Json<Embedders> {
    Json(core.parts.models.list().await)
}

/// A model to be installed.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewModel {
    /// The absolute path of a model's folder, or of a file of word vectors, on the daemon's machine; or the name of one of
    /// the models that are offered.
    #[schema(example = "multilingual-e5-small")]
    from: String,
}

/// Puts a model into the folder of models.
///
/// It is opened and has to make a vector before it is there. One that is offered is fetched from the Internet, which takes
/// minutes; nothing else is.
#[utoipa::path(
    post,
    path = "/models",
    operation_id = "installEmbeddingModel",
    tag = "models",
    request_body(content = NewModel),
    responses(
        (status = OK, body = InstalledModel, description = "The model, with the digests of its files"),
        CallFailures,
        Conflict,
        VendorFailures,
        DiskFailures,
    )
)]
pub(crate) async fn install(
    State(core): State<Shared>,
    Document(new): Document<NewModel>,
) -> Result<Json<InstalledModel>, Problem> {
    let models = Arc::clone(&core.parts.models);
    to_the_end("install", async move { models.install(&new.from).await }).await.map(Json)
}

/// Which model is to be used.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChosenModel {
    /// Its name; `null` for the best there is.
    name: Option<String>,
}

/// Has vectors made by this model from now on.
///
/// It is loaded in the background; until then the one before goes on. All that has vectors gets new ones by and by.
#[utoipa::path(
    put,
    path = "/models/used",
    operation_id = "useEmbeddingModel",
    tag = "models",
    request_body(content = ChosenModel),
    responses(
        (status = OK, body = EmbedderStatus, description = "How it stands"),
        NotFound,
        DiskFailures,
    )
)]
pub(crate) async fn choose(
    State(core): State<Shared>,
    Document(chosen): Document<ChosenModel>,
) -> Result<Json<EmbedderStatus>, Problem> {
    Ok(Json(core.parts.models.choose(chosen.name.as_deref()).await?))
}

/// Texts to try a model with.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TriedTexts {
    /// A text, embedded as a question.
    text: String,
    /// Another one, embedded as what might answer it.
    other: Option<String>,
}

/// Makes vectors of a text or two, and says how long that took and how near they are.
#[utoipa::path(
    post,
    path = "/models/test",
    operation_id = "testEmbeddingModel",
    tag = "models",
    request_body(content = TriedTexts),
    responses(
        (status = OK, body = EmbeddingTrial, description = "What came of it"),
        CallFailures,
        Conflict,
        Invalid,
    )
)]
pub(crate) async fn test(
    State(core): State<Shared>,
    Document(tried): Document<TriedTexts>,
) -> Result<Json<EmbeddingTrial>, Problem> {
    Ok(Json(core.parts.models.try_texts(tried.text, tried.other).await?))
}

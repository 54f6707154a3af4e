//! The LLM adapter for the GLM models of Zhipu: chat completions with the vendor's own rules.

mod request;

use homeagent_adapters::completions::Completions;
use homeagent_adapters::{embeddings, errors, listing};
use homeagent_sdk::State;
use homeagent_sdk::adapter::{
    Adapter, Delta, Descriptor, EmbeddingRequest, Embeddings, Failure, Features, HttpRequest, HttpResponse,
    KeyPlacement, Meta, ModelInfo, ModelRequest, StreamEvent,
};

pub use self::request::build;

/// The adapter.
pub struct Zhipu;

/// Reads one answer.
pub type Reader = homeagent_adapters::Reader<Completions>;

/// One instance serves one model call, so there is one answer to read.
static READER: State<Reader> = State::new(Reader::new);

impl Adapter for Zhipu {
    fn describe() -> Descriptor {
        Descriptor::new("zhipu", env!("CARGO_PKG_VERSION"))
            .summary("GLM by Zhipu, with thinking on and off, and calls of tools as they are written")
            .base_url("https://open.bigmodel.cn/api/paas/v4")
            .model("glm-4.7-flash")
            .key(KeyPlacement::Bearer)
            .features(
                Features::TOOLS
                    | Features::IMAGES
                    | Features::STREAMING
                    | Features::REASONING
                    | Features::MODEL_LISTING
                    | Features::EMBEDDINGS,
            )
            .with_meta(embeddings::batch(64))
    }

    fn build_request(request: ModelRequest) -> Result<HttpRequest, String> {
        build(&request)
    }

    fn parse_response(response: HttpResponse) -> Vec<Delta> {
        Reader::new().whole(&response)
    }

    fn classify_error(response: HttpResponse) -> Failure {
        errors::of_response(&response)
    }

    fn step(events: Vec<StreamEvent>) -> Vec<Delta> {
        READER.with(|reader| reader.step(&events))
    }

    fn end() -> Vec<Delta> {
        READER.with(Reader::end)
    }

    fn build_models_request(options: Meta) -> Result<HttpRequest, String> {
        listing::request(&options, "/models")
    }

    fn parse_models(response: HttpResponse) -> Result<Vec<ModelInfo>, Failure> {
        listing::models(&response, listing::COMPLETIONS, listing::completions)
    }

    fn build_embedding_request(request: EmbeddingRequest) -> Result<HttpRequest, String> {
        embeddings::completions_request(&request, false)
    }

    fn parse_embeddings(response: HttpResponse) -> Result<Embeddings, Failure> {
        embeddings::completions(&response)
    }
}

homeagent_sdk::export_adapter!(Zhipu);

//! The LLM adapter for Qwen, by the DashScope protocol.

mod answer;
mod embedding;
mod messages;
mod models;
mod request;

use homeagent_adapters::{embeddings, errors};
use homeagent_sdk::State;
use homeagent_sdk::adapter::{
    Adapter, Delta, Descriptor, EmbeddingRequest, Embeddings, Failure, Features, HttpRequest, HttpResponse,
    KeyPlacement, Meta, ModelInfo, ModelRequest, StreamEvent,
};

pub use self::request::build;

/// The adapter.
pub struct Qwen;

/// Reads one answer.
pub type Reader = homeagent_adapters::Reader<answer::Generation>;

/// One instance serves one model call, so there is one answer to read.
static READER: State<Reader> = State::new(Reader::new);

impl Adapter for Qwen {
    fn describe() -> Descriptor {
        Descriptor::new("qwen", env!("CARGO_PKG_VERSION"))
            .summary("Qwen by Alibaba's own protocol, DashScope, with pictures, sounds and thinking")
            .base_url("https://dashscope.aliyuncs.com/api/v1")
            .model("qwen-plus")
            .key(KeyPlacement::Bearer)
            .features(
                Features::TOOLS
                    | Features::IMAGES
                    | Features::AUDIO
                    | Features::STREAMING
                    | Features::REASONING
                    | Features::MODEL_LISTING
                    | Features::EMBEDDINGS,
            )
            .with_meta(embeddings::batch(10))
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
        models::request(&options)
    }

    fn parse_models(response: HttpResponse) -> Result<Vec<ModelInfo>, Failure> {
        models::read(&response)
    }

    fn build_embedding_request(request: EmbeddingRequest) -> Result<HttpRequest, String> {
        embedding::build(&request)
    }

    fn parse_embeddings(response: HttpResponse) -> Result<Embeddings, Failure> {
        embedding::read(&response)
    }
}

homeagent_sdk::export_adapter!(Qwen);

//! The LLM adapter for Ollama, by its own protocol: one JSON document a line.

mod answer;
mod embedding;
mod messages;
mod models;
mod request;

use homeagent_adapters::{embeddings, errors, listing};
use homeagent_sdk::State;
use homeagent_sdk::adapter::{
    Adapter, Delta, Descriptor, EmbeddingRequest, Embeddings, Failure, Features, Framing, HttpRequest, HttpResponse,
    KeyPlacement, Meta, ModelInfo, ModelRequest, StreamEvent,
};

pub use self::request::build;

/// The adapter.
pub struct Ollama;

/// Reads one answer.
pub type Reader = homeagent_adapters::Reader<answer::Chat>;

/// One instance serves one model call, so there is one answer to read.
static READER: State<Reader> = State::new(Reader::new);

impl Adapter for Ollama {
    fn describe() -> Descriptor {
        Descriptor::new("ollama", env!("CARGO_PKG_VERSION"))
            .summary("Ollama at home or in its cloud, by its own protocol, with the size of the window to choose")
            .base_url("http://127.0.0.1:11434")
            .key(KeyPlacement::Bearer)
            .framing(Framing::Ndjson)
            .features(
                Features::TOOLS
                    | Features::IMAGES
                    | Features::STREAMING
                    | Features::REASONING
                    | Features::MODEL_LISTING
                    | Features::EMBEDDINGS,
            )
            .with_meta(embeddings::batch(512))
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
        listing::request(&options, "/api/tags")
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

homeagent_sdk::export_adapter!(Ollama);

//! The LLM adapter for Gemini, by the generateContent protocol.

mod answer;
mod contents;
mod embedding;
mod errors;
mod model;
mod models;
mod request;
mod signatures;

use homeagent_adapters::embeddings;
use homeagent_sdk::State;
use homeagent_sdk::adapter::{
    Adapter, Delta, Descriptor, EmbeddingRequest, Embeddings, Failure, Features, HttpRequest, HttpResponse,
    KeyPlacement, Meta, ModelInfo, ModelRequest, StreamEvent,
};

pub use self::request::build;

/// The adapter.
pub struct Gemini;

/// Reads one answer.
pub type Reader = homeagent_adapters::Reader<answer::Candidates>;

/// One instance serves one model call, so there is one answer to read.
static READER: State<Reader> = State::new(Reader::new);

impl Adapter for Gemini {
    fn describe() -> Descriptor {
        Descriptor::new("gemini", env!("CARGO_PKG_VERSION"))
            .summary("Gemini, by Google's own protocol, with pictures, sounds and thought signatures that are kept")
            .base_url("https://generativelanguage.googleapis.com/v1beta")
            .model("gemini-3.5-flash-lite")
            .key(KeyPlacement::Header("x-goog-api-key".to_owned()))
            .features(
                Features::TOOLS
                    | Features::IMAGES
                    | Features::AUDIO
                    | Features::STREAMING
                    | Features::REASONING
                    | Features::MODEL_LISTING
                    | Features::EMBEDDINGS,
            )
            .with_meta(embeddings::batch(100))
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

homeagent_sdk::export_adapter!(Gemini);

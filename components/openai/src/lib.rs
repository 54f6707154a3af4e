//! The LLM adapter for every endpoint that speaks the chat completions protocol.

mod dialect;
mod models;
mod preset;
mod request;

use homeagent_adapters::completions::Completions;
use homeagent_adapters::{embeddings, errors, listing};
use homeagent_sdk::State;
use homeagent_sdk::adapter::{
    Adapter, Delta, Descriptor, EmbeddingRequest, Embeddings, Failure, Features, HttpRequest, HttpResponse,
    KeyPlacement, Meta, ModelInfo, ModelRequest, StreamEvent,
};

pub use self::request::build;

/// Reads one answer.
pub type Reader = homeagent_adapters::Reader<Completions>;

/// The adapter.
pub struct OpenAi;

/// One instance serves one model call, so there is one answer to read.
static READER: State<Reader> = State::new(Reader::new);

impl Adapter for OpenAi {
    fn describe() -> Descriptor {
        Descriptor::new("openai", env!("CARGO_PKG_VERSION"))
            .summary("Chat completions, for OpenAI, DeepSeek, Qwen, Kimi, GLM, vLLM, Ollama and everything compatible")
            .base_url("https://api.openai.com/v1")
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
            .with_meta(embeddings::batch(2048))
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

    fn build_models_request(options: Meta) -> Result<HttpRequest, String> {
        listing::request(&options, "/models")
    }

    fn parse_models(response: HttpResponse) -> Result<Vec<ModelInfo>, Failure> {
        listing::models(&response, listing::COMPLETIONS, listing::completions)
    }

    fn build_embedding_request(request: EmbeddingRequest) -> Result<HttpRequest, String> {
        embeddings::completions_request(&request, true)
    }

    fn parse_embeddings(response: HttpResponse) -> Result<Embeddings, Failure> {
        embeddings::completions(&response)
    }
}

homeagent_sdk::export_adapter!(OpenAi);

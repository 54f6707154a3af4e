//! The LLM adapter for the messages protocol of Anthropic.

mod answer;
mod blocks;
mod cache;
mod model;
mod models;
mod request;
mod thoughts;

use homeagent_adapters::errors;
use homeagent_sdk::State;
use homeagent_sdk::adapter::{
    Adapter, Delta, Descriptor, Failure, Features, HttpRequest, HttpResponse, KeyPlacement, Meta, ModelInfo,
    ModelRequest, StreamEvent,
};

pub use self::request::build;

/// The adapter.
pub struct Anthropic;

/// Reads one answer.
pub type Reader = homeagent_adapters::Reader<answer::Messages>;

/// One instance serves one model call, so there is one answer to read.
static READER: State<Reader> = State::new(Reader::new);

impl Adapter for Anthropic {
    fn describe() -> Descriptor {
        Descriptor::new("anthropic", env!("CARGO_PKG_VERSION"))
            .summary("Claude, by Anthropic's own protocol, with thinking that is kept and prompts that are cached")
            .base_url("https://api.anthropic.com/v1")
            .model("claude-haiku-5-5")
            .key(KeyPlacement::Header("x-api-key".to_owned()))
            .features(
                Features::TOOLS
                    | Features::IMAGES
                    | Features::STREAMING
                    | Features::REASONING
                    | Features::MODEL_LISTING,
            )
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
}

homeagent_sdk::export_adapter!(Anthropic);

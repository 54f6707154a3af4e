//! The LLM adapter for DeepSeek: chat completions with the vendor's own rules for thinking.

mod request;

use homeagent_adapters::completions::Completions;
use homeagent_adapters::{errors, listing};
use homeagent_sdk::State;
use homeagent_sdk::adapter::{
    Adapter, Delta, Descriptor, Failure, Features, HttpRequest, HttpResponse, KeyPlacement, Meta, ModelInfo,
    ModelRequest, StreamEvent,
};

pub use self::request::build;

/// The adapter.
pub struct DeepSeek;

/// Reads one answer.
pub type Reader = homeagent_adapters::Reader<Completions>;

/// One instance serves one model call, so there is one answer to read.
static READER: State<Reader> = State::new(Reader::new);

impl Adapter for DeepSeek {
    fn describe() -> Descriptor {
        Descriptor::new("deepseek", env!("CARGO_PKG_VERSION"))
            .summary("DeepSeek, with thinking on and off, and thoughts sent back as its rules say")
            .base_url("https://api.deepseek.com")
            .model("deepseek-v4-flash")
            .key(KeyPlacement::Bearer)
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
        listing::request(&options, "/models")
    }

    fn parse_models(response: HttpResponse) -> Result<Vec<ModelInfo>, Failure> {
        listing::models(&response, listing::COMPLETIONS, listing::completions)
    }
}

homeagent_sdk::export_adapter!(DeepSeek);

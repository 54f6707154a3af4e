//! The LLM adapter for every endpoint that speaks the chat completions protocol.

mod dialect;
mod request;

use homeagent_adapters::completions::Completions;
use homeagent_adapters::errors;
use homeagent_sdk::State;
use homeagent_sdk::adapter::{
    Adapter, Delta, Descriptor, Failure, Features, HttpRequest, HttpResponse, KeyPlacement, ModelRequest, StreamEvent,
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
            .features(Features::TOOLS | Features::IMAGES | Features::AUDIO | Features::STREAMING | Features::REASONING)
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
}

homeagent_sdk::export_adapter!(OpenAi);

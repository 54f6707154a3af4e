//! The LLM adapter for the responses protocol of OpenAI.

mod answer;
mod input;
mod places;
mod request;

use homeagent_adapters::errors;
use homeagent_sdk::State;
use homeagent_sdk::adapter::{
    Adapter, Delta, Descriptor, Failure, Features, HttpRequest, HttpResponse, KeyPlacement, ModelRequest, StreamEvent,
};

pub use self::request::build;

/// The adapter.
pub struct Responses;

/// Reads one answer.
pub type Reader = homeagent_adapters::Reader<answer::Output>;

/// One instance serves one model call, so there is one answer to read.
static READER: State<Reader> = State::new(Reader::new);

impl Adapter for Responses {
    fn describe() -> Descriptor {
        Descriptor::new("openai-responses", env!("CARGO_PKG_VERSION"))
            .summary("OpenAI by its newer protocol, in which models think and call tools in one turn")
            .base_url("https://api.openai.com/v1")
            .model("gpt-6-luna")
            .key(KeyPlacement::Bearer)
            .features(Features::TOOLS | Features::IMAGES | Features::STREAMING | Features::REASONING)
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
}

homeagent_sdk::export_adapter!(Responses);

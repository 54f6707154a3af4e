//! The LLM adapter for Qwen, by the DashScope protocol.

mod answer;
mod messages;
mod request;

use homeagent_adapters::errors;
use homeagent_sdk::State;
use homeagent_sdk::adapter::{
    Adapter, Delta, Descriptor, Failure, Features, HttpRequest, HttpResponse, KeyPlacement, ModelRequest, StreamEvent,
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

    fn end() -> Vec<Delta> {
        READER.with(Reader::end)
    }
}

homeagent_sdk::export_adapter!(Qwen);

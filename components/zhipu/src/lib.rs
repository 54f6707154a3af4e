//! The LLM adapter for the GLM models of Zhipu: chat completions with the vendor's own rules.

mod request;

use homeagent_adapters::completions::Completions;
use homeagent_adapters::errors;
use homeagent_sdk::State;
use homeagent_sdk::adapter::{
    Adapter, Delta, Descriptor, Failure, Features, HttpRequest, HttpResponse, KeyPlacement, ModelRequest, StreamEvent,
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

homeagent_sdk::export_adapter!(Zhipu);

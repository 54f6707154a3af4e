//! A HomeAgent adapter. This vendor speaks chat completions; change what yours does otherwise.

use homeagent_adapters::completions::{self, Completions, Style, Thoughts};
use homeagent_adapters::{Reader, content, errors};
use homeagent_sdk::State;
use homeagent_sdk::adapter::{
    Adapter, Delta, Descriptor, Failure, Features, HttpRequest, HttpResponse, KeyPlacement, ModelRequest, StreamEvent,
};

struct ThisAdapter;

/// One instance serves one model call, so there is one answer to read.
static READER: State<Reader<Completions>> = State::new(Reader::new);

impl Adapter for ThisAdapter {
    fn describe() -> Descriptor {
        Descriptor::new("NAME", env!("CARGO_PKG_VERSION"))
            .summary("A vendor that nearly speaks chat completions")
            .base_url("https://api.example.com/v1")
            .key(KeyPlacement::Bearer)
            .features(Features::TOOLS | Features::IMAGES | Features::STREAMING | Features::REASONING)
    }

    fn build_request(request: ModelRequest) -> Result<HttpRequest, String> {
        let style = Style { thoughts: Thoughts::Never, images: true, ..Style::default() };
        let body = completions::body(&request, &style)?;
        Ok(content::post("/chat/completions", body, &request))
    }

    fn parse_response(response: HttpResponse) -> Vec<Delta> {
        Reader::<Completions>::new().whole(&response)
    }

    fn step(events: Vec<StreamEvent>) -> Vec<Delta> {
        READER.with(|reader| reader.step(&events))
    }

    fn end() -> Vec<Delta> {
        READER.with(Reader::end)
    }

    fn classify_error(response: HttpResponse) -> Failure {
        errors::of_response(&response)
    }
}

homeagent_sdk::export_adapter!(ThisAdapter);

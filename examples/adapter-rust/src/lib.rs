//! The adapter of Lantern, a vendor made up for this example: `docs/adapters.md` walks through it. The same in Lua and in
//! JavaScript is beside it.

use homeagent_adapters::content::{self, as_text};
use homeagent_adapters::lenient::{count, items, some_text};
use homeagent_adapters::{Answer, Protocol, Reader, errors, schema};
use homeagent_sdk::State;
use homeagent_sdk::adapter::{
    Adapter, Delta, Descriptor, Failure, FailureClass, Features, FinishReason, HttpRequest, HttpResponse, KeyPlacement,
    Message, Meta, ModelInfo, ModelRequest, StreamEvent, ToolCallDelta, Usage,
};
use serde_json::{Map, Value, json};

/// The adapter.
pub struct Lantern;

/// One instance serves one model call, so there is one answer to read.
static READER: State<Reader<Parts>> = State::new(Reader::new);

impl Adapter for Lantern {
    fn describe() -> Descriptor {
        Descriptor::new("lantern", env!("CARGO_PKG_VERSION"))
            .summary("Lantern, a vendor made up for an example")
            .base_url("https://api.lantern.example/v1")
            .model("alto")
            .key(KeyPlacement::Header("x-lantern-key".to_owned()))
            .features(Features::TOOLS | Features::STREAMING | Features::REASONING | Features::MODEL_LISTING)
    }

    fn build_request(request: ModelRequest) -> Result<HttpRequest, String> {
        let mut body = Map::new();
        body.insert("voice".to_owned(), request.model.as_str().into());
        body.insert("dialogue".to_owned(), request.messages.iter().map(line).collect());
        let gadget = |tool| {
            let form = schema::parameters(tool)?;
            Ok(json!({ "name": tool.name, "about": tool.description, "form": form }))
        };
        let gadgets: Result<Vec<Value>, String> = content::offered(&request).map(gadget).collect();
        body.insert("gadgets".to_owned(), gadgets?.into());
        body.insert("live".to_owned(), request.stream.into());
        Ok(content::post("/talk", body, &request))
    }

    fn parse_response(response: HttpResponse) -> Vec<Delta> {
        Reader::<Parts>::new().whole(&response)
    }

    fn step(events: Vec<StreamEvent>) -> Vec<Delta> {
        READER.with(|reader| reader.step(&events))
    }

    fn classify_error(response: HttpResponse) -> Failure {
        let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
        // What is not the vendor's own, such as a page of a proxy on the way, its status says.
        body.get("trouble").map_or_else(|| errors::of_response(&response), trouble)
    }

    fn build_models_request(_options: Meta) -> Result<HttpRequest, String> {
        Ok(HttpRequest::get("/voices"))
    }

    fn parse_models(response: HttpResponse) -> Result<Vec<ModelInfo>, Failure> {
        let body: Value = serde_json::from_slice(&response.body).map_err(|error| {
            Failure::new(FailureClass::Protocol, format!("the list of voices is not JSON: {error}"))
        })?;
        let voice = |voice: &Value| {
            let reach = voice.get("reach").and_then(count).and_then(|reach| u32::try_from(reach).ok());
            Some(ModelInfo {
                id: some_text(voice, "name")?.to_owned(),
                display_name: None,
                context_window: reach,
                max_output: None,
                meta: Vec::new(),
            })
        };
        Ok(items(&body["voices"]).iter().filter_map(voice).collect())
    }
}

/// A message as a line of the dialogue.
fn line(message: &Message) -> Value {
    let text = |parts: &[_]| parts.iter().map(as_text).collect::<Vec<_>>().join("\n");
    match message {
        Message::System(text) => json!({ "who": "guide", "says": text }),
        Message::User(parts) => json!({ "who": "guest", "says": text(parts) }),
        Message::Tool(result) => json!({ "who": "gadget", "ref": result.call, "says": text(&result.content) }),
        Message::Assistant(said) => {
            let calls = said.tool_calls.iter();
            let uses = calls.map(|call| json!({ "ref": call.id, "gadget": call.name, "with": call.arguments }));
            json!({ "who": "me", "says": said.text, "uses": uses.collect::<Vec<_>>() })
        }
    }
}

/// What the vendor answers: parts, one in each event of a stream, or all of them in a list.
#[derive(Default)]
struct Parts;

impl Protocol for Parts {
    fn chunk(&mut self, _event: &str, part: &Value, answer: &mut Answer) {
        answer.reasoning(some_text(part, "muse").unwrap_or_default());
        answer.text(some_text(part, "say").unwrap_or_default());
        if let Some(call) = part.get("use") {
            let text = |field| some_text(call, field).map(str::to_owned);
            let (id, name, arguments) = (text("ref"), text("gadget"), text("with").unwrap_or_default());
            answer.tool_call(ToolCallDelta { index: None, id, name, arguments });
        }
        if let Some(spent) = part.get("spent") {
            let tokens = |field| spent.get(field).and_then(count).unwrap_or(0);
            let (input, output) = (tokens("heard"), tokens("spoken"));
            answer.usage(Usage { input, output, cached: None, cache_written: None });
        }
        match some_text(part, "done") {
            None => {}
            Some("settled") => answer.finish(FinishReason::Stop),
            Some("gadget") => answer.finish(FinishReason::ToolCalls),
            Some("full") => answer.finish(FinishReason::Length),
            Some("forbidden") => answer.finish(FinishReason::ContentFilter),
            Some(_) => answer.finish(FinishReason::Other),
        }
        if let Some(told) = part.get("trouble") {
            answer.failed(trouble(told));
        }
    }

    fn whole(&mut self, value: &Value, answer: &mut Answer) {
        match value.get("parts") {
            Some(parts) => items(parts).iter().for_each(|part| self.chunk("", part, answer)),
            None => answer.fail(FailureClass::Protocol, "the answer has no parts"),
        }
    }
}

/// What an error means is said by its class: the host decides by it what to do.
fn trouble(told: &Value) -> Failure {
    let class = match some_text(told, "code") {
        Some("no-entry") => FailureClass::Auth,
        Some("slow-down") => FailureClass::RateLimited,
        Some("tired") => FailureClass::Overloaded,
        _ => FailureClass::BadRequest,
    };
    Failure::new(class, some_text(told, "text").unwrap_or("it gave no reason"))
}

homeagent_sdk::export_adapter!(Lantern);

#[cfg(test)]
mod tests {
    use homeagent_adapters::testing::{self, events, foreign_history, lines, response, tool};

    use super::*;

    #[test]
    fn a_request_has_the_vendors_words() {
        let mut request = testing::request("alto", foreign_history());
        request.tools = vec![tool("look", &json!({ "type": "object" }))];
        let http = Lantern::build_request(request).expect("it can be said");
        let body = testing::body(&http);
        assert_eq!((http.path.as_str(), &body["voice"], &body["live"]), ("/talk", &json!("alto"), &json!(true)));
        assert_eq!(body["dialogue"][0], json!({ "who": "guide", "says": "You are kind." }));
        assert_eq!(body["dialogue"][2]["uses"][0]["gadget"], "look");
        assert_eq!(body["gadgets"][0]["form"], json!({ "type": "object" }));
    }

    #[test]
    fn a_stream_and_a_whole_answer_say_the_same() {
        let parts = [
            r#"{"muse":"Tea?"}"#,
            r#"{"say":"I look."}"#,
            r#"{"use":{"ref":"1","gadget":"look","with":"{}"}}"#,
            r#"{"done":"gadget","spent":{"heard":9,"spoken":4}}"#,
        ];
        let expected = ["reasoning Tea?", "text I look.", "call - 1 look {}", "usage 9 4 None", "finish ToolCalls"];
        assert_eq!(lines(Lantern::step(events(&parts))), expected);
        let whole = format!(r#"{{"parts":[{}]}}"#, parts.join(","));
        assert_eq!(lines(Lantern::parse_response(response(200, &whole))), expected);
    }

    #[test]
    fn the_vendors_troubles_have_their_classes_and_others_that_of_their_status() {
        let class = |status, body| Lantern::classify_error(response(status, body)).class;
        assert_eq!(class(400, r#"{"trouble":{"code":"slow-down","text":"please"}}"#), FailureClass::RateLimited);
        assert_eq!(class(502, "<html>"), FailureClass::Overloaded);
    }
}

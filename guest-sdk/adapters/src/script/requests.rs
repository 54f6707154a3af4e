//! Requests to a model as scripts have them, from the contract's records and back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use homeagent_sdk::Error;
use homeagent_sdk::adapter::{
    AssistantMessage, ContentPart, Media, Message, ModelRequest, Opaque, ToolCall, ToolChoice, ToolMessage, ToolSpec,
};
use homeagent_sdk::script::{from_json, list};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::schema;

#[derive(Deserialize, Serialize)]
struct Form {
    model: String,
    #[serde(deserialize_with = "list")]
    messages: Vec<MessageForm>,
    #[serde(default, deserialize_with = "list")]
    tools: Vec<ToolForm>,
    #[serde(default)]
    tool_choice: ChoiceForm,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<bool>,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    options: Map<String, Value>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum MessageForm {
    System(String),
    User(#[serde(deserialize_with = "list")] Vec<PartForm>),
    Assistant(AssistantForm),
    Tool(ResultForm),
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum PartForm {
    Text(String),
    Image(MediaForm),
    Audio(MediaForm),
    Other(MediaForm),
}

#[derive(Deserialize, Serialize)]
pub(super) struct MediaForm {
    mime: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// In Base64; not there where the vendor is to fetch it.
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

#[derive(Deserialize, Serialize)]
struct AssistantForm {
    #[serde(default)]
    text: String,
    #[serde(default)]
    reasoning: String,
    #[serde(default, deserialize_with = "list")]
    tool_calls: Vec<CallForm>,
    #[serde(default, deserialize_with = "list")]
    opaque: Vec<OpaqueForm>,
}

#[derive(Deserialize, Serialize)]
struct CallForm {
    id: String,
    name: String,
    arguments: String,
}

#[derive(Deserialize, Serialize)]
struct OpaqueForm {
    kind: String,
    value: String,
}

#[derive(Deserialize, Serialize)]
struct ResultForm {
    call: String,
    name: String,
    #[serde(default, deserialize_with = "list")]
    content: Vec<PartForm>,
    #[serde(default)]
    failed: bool,
}

#[derive(Deserialize, Serialize)]
struct ToolForm {
    name: String,
    description: String,
    parameters: Value,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum ChoiceForm {
    #[default]
    Auto,
    None,
    Required,
    Named(String),
}

/// A request as a script is handed it.
///
/// # Errors
/// The schema of a tool is not JSON.
pub(super) fn to_json(request: &ModelRequest) -> Result<Value, String> {
    let tools: Result<Vec<_>, String> = request.tools.iter().map(tool_form).collect();
    let form = Form {
        model: request.model.clone(),
        messages: request.messages.iter().map(message_form).collect(),
        tools: tools?,
        tool_choice: match &request.tool_choice {
            ToolChoice::Auto => ChoiceForm::Auto,
            ToolChoice::None => ChoiceForm::None,
            ToolChoice::Required => ChoiceForm::Required,
            ToolChoice::Named(name) => ChoiceForm::Named(name.clone()),
        },
        temperature: request.temperature,
        max_tokens: request.max_tokens,
        thinking: request.thinking,
        stream: request.stream,
        options: request.options.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect(),
    };
    serde_json::to_value(form).map_err(|error| error.to_string())
}

/// A request that a script hands back.
pub(super) fn from_form(request: Value) -> Result<ModelRequest, Error> {
    let form: Form = from_json("the request", request)?;
    let messages: Result<_, Error> = form.messages.into_iter().map(message).collect();
    let option = |(name, value): (String, Value)| match value {
        Value::String(text) => (name, text),
        other => (name, other.to_string()),
    };
    Ok(ModelRequest {
        model: form.model,
        messages: messages?,
        tools: form.tools.into_iter().map(tool_spec).collect(),
        tool_choice: match form.tool_choice {
            ChoiceForm::Auto => ToolChoice::Auto,
            ChoiceForm::None => ToolChoice::None,
            ChoiceForm::Required => ToolChoice::Required,
            ChoiceForm::Named(name) => ToolChoice::Named(name),
        },
        temperature: form.temperature,
        max_tokens: form.max_tokens,
        thinking: form.thinking,
        stream: form.stream,
        options: form.options.into_iter().map(option).collect(),
    })
}

fn tool_form(tool: &ToolSpec) -> Result<ToolForm, String> {
    let parameters = without_empty_lists(schema::parameters(tool)?);
    Ok(ToolForm { name: tool.name.clone(), description: tool.description.clone(), parameters })
}

fn tool_spec(form: ToolForm) -> ToolSpec {
    ToolSpec { name: form.name, description: form.description, parameters: form.parameters.to_string() }
}

/// A schema without its empty lists, which say nothing (`"required": []`): a script hands the schema on, and not every
/// language can tell them from an empty object.
fn without_empty_lists(schema: Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let said = fields.into_iter().filter(|(_, value)| value.as_array().is_none_or(|list| !list.is_empty()));
            said.map(|(keyword, value)| (keyword, without_empty_lists(value))).collect()
        }
        Value::Array(values) => values.into_iter().map(without_empty_lists).collect(),
        other => other,
    }
}

fn message_form(message: &Message) -> MessageForm {
    match message {
        Message::System(text) => MessageForm::System(text.clone()),
        Message::User(parts) => MessageForm::User(parts.iter().map(part_form).collect()),
        Message::Assistant(said) => {
            let call = |call: &ToolCall| CallForm {
                id: call.id.clone(),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
            };
            let opaque = |it: &Opaque| OpaqueForm { kind: it.kind.clone(), value: it.value.clone() };
            MessageForm::Assistant(AssistantForm {
                text: said.text.clone(),
                reasoning: said.reasoning.clone(),
                tool_calls: said.tool_calls.iter().map(call).collect(),
                opaque: said.opaque.iter().map(opaque).collect(),
            })
        }
        Message::Tool(result) => MessageForm::Tool(ResultForm {
            call: result.call.clone(),
            name: result.name.clone(),
            content: result.content.iter().map(part_form).collect(),
            failed: result.failed,
        }),
    }
}

fn message(form: MessageForm) -> Result<Message, Error> {
    Ok(match form {
        MessageForm::System(text) => Message::System(text),
        MessageForm::User(parts) => Message::User(content(parts)?),
        MessageForm::Assistant(said) => {
            let call = |CallForm { id, name, arguments }| ToolCall { id, name, arguments };
            let opaque = |OpaqueForm { kind, value }| Opaque { kind, value };
            Message::Assistant(AssistantMessage {
                text: said.text,
                reasoning: said.reasoning,
                tool_calls: said.tool_calls.into_iter().map(call).collect(),
                opaque: said.opaque.into_iter().map(opaque).collect(),
            })
        }
        MessageForm::Tool(ResultForm { call, name, content: parts, failed }) => {
            Message::Tool(ToolMessage { call, name, content: content(parts)?, failed })
        }
    })
}

fn part_form(part: &ContentPart) -> PartForm {
    let media = |media: &Media| MediaForm {
        mime: media.mime.clone(),
        name: media.name.clone(),
        data: (!media.data.is_empty()).then(|| STANDARD.encode(&media.data)),
        url: media.url.clone(),
    };
    match part {
        ContentPart::Text(text) => PartForm::Text(text.clone()),
        ContentPart::Image(it) => PartForm::Image(media(it)),
        ContentPart::Audio(it) => PartForm::Audio(media(it)),
        ContentPart::Other(it) => PartForm::Other(media(it)),
    }
}

/// Parts of a message that a script hands back.
pub(super) fn content(parts: Vec<PartForm>) -> Result<Vec<ContentPart>, Error> {
    let media = |form: MediaForm| {
        let data = STANDARD.decode(form.data.unwrap_or_default());
        let data = data.map_err(|error| Error::invalid(format!("the data of a medium is not Base64: {error}")))?;
        Ok(Media { mime: form.mime, name: form.name, data, url: form.url })
    };
    let part = |form| match form {
        PartForm::Text(text) => Ok(ContentPart::Text(text)),
        PartForm::Image(it) => media(it).map(ContentPart::Image),
        PartForm::Audio(it) => media(it).map(ContentPart::Audio),
        PartForm::Other(it) => media(it).map(ContentPart::Other),
    };
    parts.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{self, foreign_history, options, tool};

    #[test]
    fn a_request_comes_back_from_a_script_as_it_went() {
        let mut request = testing::request("m", foreign_history());
        request.messages.push(Message::User(vec![testing::picture(), testing::distant_picture()]));
        request.tools =
            vec![tool("look", &json!({ "type": "object", "properties": { "where": { "type": "string" } } }))];
        request.tool_choice = ToolChoice::Named("look".to_owned());
        request.options = options(&[("a", "1")]);
        request.temperature = Some(0.5);
        let back = from_form(to_json(&request).expect("JSON")).expect("it is as it went");
        assert_eq!(back, request);
    }

    #[test]
    fn a_schema_says_the_same_without_its_empty_lists() {
        let mut request = testing::request("m", Vec::new());
        let schema =
            json!({ "type": "object", "required": [], "properties": { "a": { "enum": ["x"], "required": [] } } });
        request.tools = vec![tool("look", &schema)];
        let form = to_json(&request).expect("JSON");
        let said = json!({ "type": "object", "properties": { "a": { "enum": ["x"] } } });
        assert_eq!(form["tools"][0]["parameters"], said);
    }
}

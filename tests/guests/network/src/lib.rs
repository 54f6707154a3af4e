//! Sends what it is told to, and tells what came of it: the answer, or the error as it was handed to it.

use homeagent_sdk::http::Request;
use homeagent_sdk::inputs::{self, Submission};
use homeagent_sdk::secrets::{self, Algorithm};
use homeagent_sdk::{
    Arguments, Cause, Descriptor, Effect, Error, Peer, Plugin, Tool, ToolOutput, Tools, log, script, settings,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

#[derive(Deserialize, JsonSchema)]
struct Fetch {
    url: String,
    #[serde(default = "get")]
    method: String,
    #[serde(default)]
    headers: Vec<(String, String)>,
    #[serde(default)]
    body: String,
    /// How often the body is repeated.
    #[serde(default = "once")]
    times: usize,
    timeout_ms: Option<u32>,
    #[serde(default)]
    secrets: Vec<String>,
}

fn get() -> String {
    "GET".to_owned()
}

fn once() -> usize {
    1
}

#[derive(Deserialize, JsonSchema)]
struct Sign {
    name: String,
    algorithm: String,
    data: String,
}

#[derive(Deserialize, JsonSchema)]
struct Setting {
    key: String,
    value: Option<Value>,
}

#[derive(Deserialize, JsonSchema)]
struct Saying {
    text: String,
}

struct Network;

impl Plugin for Network {
    fn describe() -> Descriptor {
        Descriptor::new("network", env!("CARGO_PKG_VERSION"))
            .summary("Sends what it is told to.")
            .tool(Tool::new::<Fetch>("fetch", "Sends a request.").effect(Effect::Read))
            .tool(Tool::new::<Fetch>("give_up", "Sends a request and lets it go at once.").effect(Effect::Read))
            .tool(Tool::new::<Sign>("sign", "Signs data.").effect(Effect::Read))
            .tool(Tool::new::<Setting>("setting", "Reads or changes a setting.").effect(Effect::Own))
            .tool(Tool::new::<Saying>("say", "Says something in the log.").effect(Effect::Own))
            .tool(Tool::new::<Saying>("submit", "Says something to the agent.").effect(Effect::World))
    }
}

impl Tools for Network {
    async fn call(name: &str, arguments: Arguments, _: Cause) -> Result<ToolOutput, Error> {
        let outcome = match name {
            "fetch" => fetch(arguments.parse()?).await,
            "give_up" => {
                let mut sent = Box::pin(fetch(arguments.parse()?));
                // Asked once, so that it is on its way, and dropped.
                let _ = std::future::poll_fn(|context| std::task::Poll::Ready(sent.as_mut().poll(context))).await;
                drop(sent);
                Ok(json!("given up"))
            }
            "sign" => sign(&arguments.parse()?),
            "setting" => setting(arguments.parse()?),
            "say" => {
                let Saying { text } = arguments.parse()?;
                log::info(text);
                Ok(Value::Null)
            }
            "submit" => {
                let Saying { text } = arguments.parse()?;
                let accepted = inputs::submit(Submission::text(Peer::Person("me".into()), "me", text)).await;
                accepted.map(|accepted| json!(accepted.input))
            }
            _ => return Err(Error::no_tool(name)),
        };
        ToolOutput::json(&outcome.unwrap_or_else(|error| script::error_as_json(&error)))
    }
}

async fn fetch(fetch: Fetch) -> Result<Value, Error> {
    let mut request = Request::of(fetch.method, fetch.url);
    request.headers = fetch.headers;
    request.body = Some(fetch.body.repeat(fetch.times).into_bytes()).filter(|body| !body.is_empty());
    request.timeout_ms = fetch.timeout_ms;
    request.secrets = fetch.secrets;
    let answer = request.send().await?;
    let text: String = answer.text().chars().take(64 << 10).collect();
    Ok(json!({
        "status": answer.status,
        "headers": answer.headers,
        "bytes": answer.body.len(),
        "text": text,
        "url": answer.url,
    }))
}

fn sign(sign: &Sign) -> Result<Value, Error> {
    let algorithm = match sign.algorithm.as_str() {
        "hmac-sha256" => Algorithm::HmacSha256,
        "hmac-sha512" => Algorithm::HmacSha512,
        "hmac-sha1" => Algorithm::HmacSha1,
        other => Algorithm::Other(other.to_owned()),
    };
    let signed = secrets::sign(&sign.name, &algorithm, sign.data.as_bytes())?;
    Ok(json!(signed.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

fn setting(setting: Setting) -> Result<Value, Error> {
    match setting.value {
        Some(value) => settings::set(&setting.key, &value).map(|()| Value::Null),
        None => settings::get(&setting.key),
    }
}

homeagent_sdk::export!(Network: Tools);

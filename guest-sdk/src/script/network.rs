//! Requests and signatures of scripts.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::incoming::read;
use crate::http::{Request, Response};
use crate::secrets::{self, Algorithm};
use crate::{Error, script};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRequest {
    method: Option<String>,
    url: String,
    #[serde(default, deserialize_with = "names")]
    headers: BTreeMap<String, String>,
    /// A text.
    body: Option<String>,
    /// In the place of a body: what is sent as JSON.
    json: Option<Value>,
    timeout_ms: Option<u32>,
    #[serde(default, deserialize_with = "script::incoming::list")]
    secrets: Vec<String>,
}

/// Some languages write an empty object as they write an empty list.
pub(super) fn names<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let value = match Value::deserialize(deserializer)? {
        Value::Array(list) if list.is_empty() => Value::Object(Map::new()),
        value => value,
    };
    serde_json::from_value(value).map_err(serde::de::Error::custom)
}

/// Sends a request. The method is `GET` where there is no body and `POST` where there is one.
pub(super) async fn send(argument: Value) -> Result<Value, Error> {
    let raw: RawRequest = read("http", argument)?;
    let usual = if raw.body.is_some() || raw.json.is_some() { "POST" } else { "GET" };
    let mut request = Request::of(raw.method.unwrap_or_else(|| usual.to_owned()), raw.url);
    request.headers = raw.headers.into_iter().collect();
    request.timeout_ms = raw.timeout_ms;
    request.secrets = raw.secrets;
    let request = match (raw.body, raw.json) {
        (Some(_), Some(_)) => return Err(Error::invalid("http: there is a body and a json; send one of them")),
        (Some(body), None) => request.body(body),
        (None, Some(value)) => request.json(&value)?,
        (None, None) => request,
    };
    Ok(answer(&request.send().await?))
}

fn answer(answer: &Response) -> Value {
    let mut headers = BTreeMap::<&str, String>::new();
    for (name, value) in &answer.headers {
        let told = headers.entry(name).or_default();
        if !told.is_empty() {
            told.push_str(", ");
        }
        told.push_str(value);
    }
    json!({ "status": answer.status, "headers": headers, "body": answer.text(), "url": answer.url })
}

/// Signs a text; the signature in hexadecimal digits.
pub(super) fn sign(argument: Value) -> Result<Value, Error> {
    #[derive(Deserialize)]
    struct RawSign {
        name: String,
        algorithm: String,
        data: String,
    }
    let raw: RawSign = read("sign", argument)?;
    let algorithm = match raw.algorithm.as_str() {
        "hmac-sha256" => Algorithm::HmacSha256,
        "hmac-sha512" => Algorithm::HmacSha512,
        "hmac-sha1" => Algorithm::HmacSha1,
        _ => Algorithm::Other(raw.algorithm),
    };
    let signed = secrets::sign(&raw.name, &algorithm, raw.data.as_bytes())?;
    Ok(Value::from(signed.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

//! Servers of models on this machine. What answers there may be anything, so nothing of an answer is trusted: no
//! redirect is followed, an answer is small or none, and it has to look as that server's answers do.

use std::time::Duration;

use homeagent_settings::Settings;
use homeagent_types::model::{HttpRequest, KeyPlacement};
use serde::Deserialize;
use tokio::time::timeout;

use super::{COMPLETIONS, Environment, Found, Offer, address};
use crate::chain::usable_name;
use crate::transport::{Endpoint, Timeouts, Transport};

/// The largest answer that is read, in bytes.
const LARGEST: usize = 1024 * 1024;
/// The most models that are offered.
const MOST_MODELS: usize = 256;
const STEP: Duration = Duration::from_secs(1);
/// For all requests to a server together, so that one that answers byte by byte ends too.
const WHOLE: Duration = Duration::from_secs(3);

/// A kind of server.
struct Server {
    /// What its source is called.
    name: &'static str,
    title: &'static str,
    setting: &'static str,
    adapter: &'static str,
    /// Where the adapter's protocol is, below the server's address.
    behind: &'static str,
    options: &'static [(&'static str, &'static str)],
}

const OLLAMA: Server = Server {
    name: "ollama",
    title: "Ollama",
    setting: "core.discovery.ollama_url",
    adapter: "ollama",
    behind: "",
    // Its own window is small, and it cuts off what does not fit without a word.
    options: &[("num_ctx", "16384")],
};
const LLAMA_CPP: Server = Server {
    name: "llamacpp",
    title: "llama.cpp",
    setting: "core.discovery.llamacpp_url",
    adapter: COMPLETIONS,
    behind: "/v1",
    options: &[("preset", "llamacpp")],
};

/// What was found at an address.
enum Seen {
    /// Names of models, as the server gave them.
    Models(Vec<String>),
    /// The server, which can't be used now; a sentence's end says why.
    NotNow(&'static str),
    /// Nobody, or somebody else; a sentence says who.
    Other(String),
}

/// Asks the servers, all at the same time.
pub(super) async fn look(settings: &Settings, environment: Environment, transport: &Transport) -> Found {
    let ollama = async {
        let told = environment("OLLAMA_HOST").filter(|host| !host.trim().is_empty());
        let told = told.map(|host| address::of_listener(&host, 11434).ok_or("OLLAMA_HOST"));
        match OLLAMA.address(settings, told) {
            Ok((url, meant)) => OLLAMA.judge(&url, meant, within(ollama_models(transport, &url)).await),
            Err(note) => Found::note(note),
        }
    };
    let llama_cpp = async {
        let set = |name: &str| environment(name).filter(|text| !text.trim().is_empty());
        let (host, port) = (set("LLAMA_ARG_HOST"), set("LLAMA_ARG_PORT"));
        let told = (host.is_some() || port.is_some()).then(|| {
            let (host, port) = (host.unwrap_or_default(), port.unwrap_or_else(|| "8080".to_owned()));
            address::of_listener(&format!("{}:{}", host.trim(), port.trim()), 8080)
                .ok_or("LLAMA_ARG_HOST or LLAMA_ARG_PORT")
        });
        match LLAMA_CPP.address(settings, told) {
            Ok((url, meant)) => LLAMA_CPP.judge(&url, meant, within(llama_cpp_models(transport, &url)).await),
            Err(note) => Found::note(note),
        }
    };
    let (mut found, further) = tokio::join!(ollama, llama_cpp);
    found.join(further);
    found
}

impl Server {
    /// Where to ask, and whether somebody meant this server to be there. The setting comes first, where it is set.
    fn address(
        &self,
        settings: &Settings,
        told: Option<Result<String, &'static str>>,
    ) -> Result<(String, bool), String> {
        let entry = settings.entry(self.setting).map_err(|error| error.to_string())?;
        match told {
            Some(Ok(url)) if entry.is_default => return Ok((url, true)),
            Some(Err(variable)) if entry.is_default => {
                return Err(format!(
                    "{} is not looked for: the environment variable {variable} is no host and port; `waiter settings \
                     set {} http://HOST:PORT` says where it is",
                    self.title, self.setting
                ));
            }
            _ => {}
        }
        let text = entry.value.as_str().unwrap_or_default().trim();
        address::usable(text).map(|url| (url, !entry.is_default)).ok_or_else(|| {
            let what = if text.is_empty() { "is empty" } else { "is no address such as http://HOST:PORT" };
            format!(
                "{} is not looked for: {} {what}; `waiter settings unset {}` goes back to the usual one",
                self.title, self.setting, self.setting
            )
        })
    }

    fn judge(&self, url: &str, meant: bool, seen: Seen) -> Found {
        let title = self.title;
        let names = match seen {
            Seen::Models(names) => names,
            Seen::NotNow(why) => return Found::note(format!("{title} at {url} {why}")),
            Seen::Other(why) if meant => return Found::note(format!("there is no {title} at {url}: {why}")),
            Seen::Other(_) => return Found::default(),
        };
        let models: Vec<String> = names.into_iter().filter(|name| usable_name(name)).take(MOST_MODELS).collect();
        let Some(model) = models.iter().find(|name| !only_embeds(name)) else {
            return Found::note(format!(
                "{title} at {url} has no model to talk to; give it one, and look again with `waiter source offers`"
            ));
        };
        let offer = Offer {
            name: self.name.to_owned(),
            adapter: self.adapter.to_owned(),
            base_url: format!("{url}{}", self.behind),
            model: model.clone(),
            models: Some(models),
            options: self.options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            found_in: format!("{title} at {url}"),
            needs_key: false,
        };
        Found { offers: vec![offer], notes: Vec::new() }
    }
}

async fn within(asking: impl Future<Output = Result<Seen, String>>) -> Seen {
    match timeout(WHOLE, asking).await {
        Ok(Ok(seen)) => seen,
        Ok(Err(why)) => Seen::Other(why),
        Err(_) => Seen::Other(format!("it did not finish its answer within {} seconds", WHOLE.as_secs())),
    }
}

async fn ollama_models(transport: &Transport, url: &str) -> Result<Seen, String> {
    #[derive(Deserialize)]
    struct Tags {
        models: Vec<Model>,
    }
    #[derive(Deserialize)]
    struct Model {
        name: String,
        #[serde(default)]
        details: Details,
    }
    #[derive(Default, Deserialize)]
    struct Details {
        family: Option<String>,
    }
    let (status, body) = get(transport, url, "/api/tags").await?;
    let tags: Tags = understood(status, &body)?;
    let embeds = |model: &Model| model.details.family.as_deref().is_some_and(|family| family.contains("bert"));
    Ok(Seen::Models(tags.models.into_iter().filter(|model| !embeds(model)).map(|model| model.name).collect()))
}

async fn llama_cpp_models(transport: &Transport, url: &str) -> Result<Seen, String> {
    #[derive(Deserialize)]
    struct Health {
        status: String,
    }
    #[derive(Deserialize)]
    struct Loading {
        error: Refusal,
    }
    #[derive(Deserialize)]
    struct Refusal {
        message: String,
    }
    #[derive(Deserialize)]
    struct Models {
        data: Vec<Model>,
    }
    #[derive(Deserialize)]
    struct Model {
        id: String,
        owned_by: String,
    }
    let (status, body) = get(transport, url, "/health").await?;
    if status == 503 && serde_json::from_slice(&body).is_ok_and(|said: Loading| said.error.message == "Loading model") {
        return Ok(Seen::NotNow("is still loading its model; look again with `waiter source offers`"));
    }
    let health: Health = understood(status, &body)?;
    if health.status != "ok" {
        return Err("what answers there says that it is not well".to_owned());
    }
    let (status, body) = get(transport, url, "/v1/models").await?;
    let models: Models = understood(status, &body)?;
    if models.data.iter().any(|model| model.owned_by != "llamacpp") {
        return Err("another server of models answers there".to_owned());
    }
    Ok(Seen::Models(models.data.into_iter().map(|model| model.id).collect()))
}

async fn get(transport: &Transport, base_url: &str, path: &str) -> Result<(u16, Vec<u8>), String> {
    let timeouts = Timeouts { connect: STEP, first_byte: STEP, silence: STEP, waiting: STEP };
    let endpoint = Endpoint { base_url, placement: &KeyPlacement::None, key: None };
    let request = HttpRequest {
        method: "GET".to_owned(),
        path: path.to_owned(),
        headers: vec![("accept".to_owned(), "application/json".to_owned())],
        body: Vec::new(),
    };
    let reply = transport.send(&endpoint, request, timeouts).await.map_err(|failure| failure.message)?;
    let status = reply.status;
    let body = reply.body.whole(LARGEST).await.map_err(|failure| failure.message)?;
    Ok((status, body))
}

fn understood<'a, T: Deserialize<'a>>(status: u16, body: &'a [u8]) -> Result<T, String> {
    if status != 200 {
        return Err(format!("what answers there answered with the status {status}"));
    }
    serde_json::from_slice(body).map_err(|_| "what answers there gave another answer than that server does".to_owned())
}

/// Whether the name is of a model that makes vectors and does not talk.
fn only_embeds(name: &str) -> bool {
    let name = name.to_lowercase();
    let own = name.rsplit('/').next().unwrap_or_default();
    name.contains("embed")
        || own.contains("minilm")
        || ["bge-", "gte-", "e5-"].iter().any(|start| own.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_make_vectors_are_told_by_their_names() {
        for name in ["nomic-embed-text:latest", "all-minilm:33m", "bge-m3", "BAAI/bge-large", "qwen3-embedding:0.6b"] {
            assert!(only_embeds(name), "{name}");
        }
        for name in ["qwen3:8b", "llama3.2", "gemma3:4b", "hf.co/unsloth/gpt-oss-20b"] {
            assert!(!only_embeds(name), "{name}");
        }
    }
}

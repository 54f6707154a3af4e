//! Writing requests.
//!
//! Options: `cache` (`5m`, `1h`, `off`: how long the vendor keeps the prompt), `effort` (`low` to `max`), `thinking_style`
//! (`adaptive`, `budget`, `none`), `send_reasoning` (`on`, `off`: whether thoughts go back), `betas` (names for the header
//! `anthropic-beta`), `path` (in place of `/messages`), `body` (a JSON object whose fields go into every request).

use homeagent_adapters::{Options, content, schema};
use homeagent_sdk::adapter::{HttpRequest, Message, ModelRequest, ToolChoice, ToolSpec};
use serde_json::{Map, Value, json};

use crate::blocks;
use crate::cache::Cache;
use crate::model::{Model, Quiet, Thinking};
use crate::thoughts;

/// The header with the version of the protocol.
pub(crate) const VERSION: [&str; 2] = ["anthropic-version", "2023-06-01"];
/// The vendor wants to be told how much may be answered.
const MOST_TOKENS: u32 = 4096;
/// The fewest tokens the vendor lets a model think with.
const LEAST_BUDGET: u32 = 1024;
/// With it a request may say that thoughts are to be left out whose beginnings have changed.
const BINDING: &str = "thinking-binding-controls-2026-08-01";

/// The HTTP request for a model request.
///
/// # Errors
///
/// An option of the source or the schema of a tool can't be used.
pub fn build(request: &ModelRequest) -> Result<HttpRequest, String> {
    let options = Options::of(request);
    let model = Model::of(&request.model, options)?;
    let cache = match options.one_of("cache", &["5m", "1h", "off"])? {
        Some("off") => Cache::Off,
        Some("1h") => Cache::OneHour,
        _ => Cache::FiveMinutes,
    };
    let forced =
        matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Named(_)) && !request.tools.is_empty();
    let mut thinking = Thoughts::wanted(request, model, forced);
    let send = options.switch("send_reasoning", true)? && thinking.kept();
    let last = content::must_call(&request.tool_choice).filter(|_| forced && !model.forced);
    let window = blocks::write(&request.messages, send, last, cache);

    let mut body = Map::new();
    body.insert("model".to_owned(), request.model.as_str().into());
    let most = thinking.most_tokens(request.max_tokens.unwrap_or(MOST_TOKENS));
    body.insert("max_tokens".to_owned(), most.into());
    if !window.system.is_empty() {
        body.insert("system".to_owned(), window.system.into());
    }
    body.insert("messages".to_owned(), window.messages.into());
    tools(request, model, cache, &mut body)?;
    let mut betas: Vec<&str> =
        options.get("betas").into_iter().flat_map(|names| names.split(',')).map(str::trim).collect();
    if window.thoughts && model.bound {
        thinking.leave_out_changed();
        betas.push(BINDING);
    }
    body.extend(thinking.field.map(|field| ("thinking".to_owned(), field)));
    if let Some(effort) = options.get("effort").or(thinking.effort) {
        body.insert("output_config".to_owned(), json!({"effort": effort}));
    }
    if let Some(temperature) = request.temperature.filter(|_| model.temperature && !thinking.thinks) {
        // The vendor's scale ends where others' has its middle.
        body.insert("temperature".to_owned(), temperature.clamp(0.0, 1.0).into());
    }
    body.insert("stream".to_owned(), request.stream.into());
    body.extend(options.body()?);

    let mut post = content::post(&options.path("/messages")?, body, request);
    post.headers.push(VERSION.map(str::to_owned).into());
    if !betas.is_empty() {
        post.headers.push(("anthropic-beta".to_owned(), betas.join(",")));
    }
    Ok(post)
}

/// How the model is told to think.
struct Thoughts {
    field: Option<Value>,
    effort: Option<&'static str>,
    /// Tokens it may think with, where it is told.
    budget: Option<u32>,
    thinks: bool,
}

impl Thoughts {
    fn wanted(request: &ModelRequest, model: Model, forced: bool) -> Self {
        let mut thoughts = Thoughts { field: None, effort: None, budget: None, thinks: model.thinks };
        match (request.thinking, model.thinking) {
            // Where a model does not think by itself, the vendor refuses to have it think and to force a call as well.
            (Some(true), Thinking::Adaptive | Thinking::Budget) if forced && !model.thinks => {}
            (Some(true), Thinking::Adaptive) => {
                thoughts.field = Some(match model.hides {
                    true => json!({"type": "adaptive", "display": "summarized"}),
                    false => json!({"type": "adaptive"}),
                });
                thoughts.thinks = true;
            }
            (Some(true), Thinking::Budget) if !lacks_thoughts(&request.messages) => {
                let budget = LEAST_BUDGET.max(request.max_tokens.unwrap_or(MOST_TOKENS) / 2);
                thoughts.field = Some(json!({"type": "enabled", "budget_tokens": budget}));
                thoughts.budget = Some(budget);
                thoughts.thinks = true;
            }
            (Some(false), _) => match model.quiet {
                Quiet::Silence => {}
                Quiet::LowEffort => thoughts.effort = Some("low"),
                Quiet::Disabled => {
                    thoughts.field = Some(json!({"type": "disabled"}));
                    thoughts.thinks = false;
                }
                Quiet::BetweenTools => thoughts.field = Some(json!({"type": "between_tools"})),
            },
            _ => {}
        }
        thoughts
    }

    /// Whether the model makes use of what it thought before.
    fn kept(&self) -> bool {
        self.thinks
    }

    /// What may be written, with what may be thought: the answer must not be shorter for it.
    fn most_tokens(&self, wanted: u32) -> u32 {
        match self.budget {
            Some(budget) if budget >= wanted => budget.saturating_add(wanted),
            _ => wanted,
        }
    }

    /// Parts of the prompt change from call to call, the time above all, and the newest models refuse thoughts behind
    /// anything that has changed: so the vendor is asked to leave these out instead.
    fn leave_out_changed(&mut self) {
        let field = self.field.get_or_insert_with(|| json!({"type": "adaptive"}));
        field["block_binding"] = json!({"prefix_mismatch_behavior": "drop_block"});
    }
}

/// Whether the turn under way has calls without thoughts (another vendor's model made them): with a budget, the vendor
/// refuses such a turn.
fn lacks_thoughts(messages: &[Message]) -> bool {
    let turn = content::turn_start(messages).unwrap_or(0);
    messages[turn..].iter().any(|message| match message {
        Message::Assistant(said) => !said.tool_calls.is_empty() && thoughts::blocks(&said.opaque).is_empty(),
        _ => false,
    })
}

fn tools(request: &ModelRequest, model: Model, cache: Cache, body: &mut Map<String, Value>) -> Result<(), String> {
    if request.tools.is_empty() {
        return Ok(());
    }
    let mut tools: Vec<Value> = request.tools.iter().map(tool).collect::<Result<_, _>>()?;
    cache.mark(&mut tools);
    body.insert("tools".to_owned(), tools.into());
    let choice = match &request.tool_choice {
        ToolChoice::None => Some(json!({"type": "none"})),
        ToolChoice::Required if model.forced => Some(json!({"type": "any"})),
        ToolChoice::Named(name) if model.forced => Some(json!({"type": "tool", "name": name})),
        _ => None,
    };
    body.extend(choice.map(|choice| ("tool_choice".to_owned(), choice)));
    Ok(())
}

fn tool(tool: &ToolSpec) -> Result<Value, String> {
    let mut schema = schema::parameters(tool)?;
    if let Some(fields) = schema.as_object_mut() {
        // The vendor takes these inside a schema, but not around it.
        let outer =
            ["oneOf", "anyOf", "allOf"].iter().filter_map(|name| Some(((*name).to_owned(), fields.remove(*name)?)));
        let outer = outer.collect();
        schema::tell(fields, &outer);
        fields.entry("type").or_insert_with(|| "object".into());
    }
    Ok(json!({"name": tool.name, "description": tool.description, "input_schema": schema}))
}

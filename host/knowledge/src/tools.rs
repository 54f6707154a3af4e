//! The tools by which the agent uses the knowledge base.

use std::str::FromStr;

use async_trait::async_trait;
use homeagent_types::ports::Toolbox;
use homeagent_types::{CallError, Cause, Effect, Role, ToolDefinition, ToolOutput};
use serde_json::{Value, json};

use crate::{Ask, Circle, Edit, Knowledge};
use homeagent_types::knowledge::{Changed, Found};

const SEARCH: &str = "knowledge_search";
const LIST: &str = "knowledge_list";
const CREATE: &str = "knowledge_create";
const UPDATE: &str = "knowledge_update";

/// How many passages a search gives where nothing is said, and at most.
const PASSAGES: (usize, usize) = (5, 20);

/// How many bases a list names.
const NAMED: usize = 200;

#[async_trait]
impl Toolbox for Knowledge {
    fn tools(&self) -> Vec<ToolDefinition> {
        let (any, foreign) = self.store.sources();
        let mut tools = Vec::new();
        if any {
            tools.extend([search(foreign), list(foreign)]);
        }
        tools.push(create());
        if any {
            tools.push(update());
        }
        tools
    }

    async fn call(&self, name: &str, arguments: Value, cause: &Cause) -> Result<ToolOutput, CallError> {
        let circle = self.circle_of(cause);
        let answer = match name {
            SEARCH => self.run_search(&arguments, circle).await?,
            LIST => self.run_list(&arguments, circle).await?,
            CREATE => self.run_create(&arguments, cause).await?,
            UPDATE => self.run_update(&arguments, circle, cause).await?,
            _ => return Err(CallError::NotFound(format!("there is no tool \"{name}\" here"))),
        };
        Ok(ToolOutput::json(&answer))
    }
}

impl Knowledge {
    async fn run_search(&self, arguments: &Value, circle: Circle) -> Result<Value, CallError> {
        let limit = arguments["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok());
        let ask = Ask {
            text: word(arguments, "query").unwrap_or_default(),
            circle,
            base: word(arguments, "base"),
            limit: limit.unwrap_or(PASSAGES.0).clamp(1, PASSAGES.1),
        };
        let Found { passages, note } = self.search(ask).await?;
        let passages: Vec<Value> = passages
            .into_iter()
            .map(|passage| {
                json!({
                    "base": passage.base,
                    "section": passage.headings.join(" > "),
                    "lines": format!("{}-{}", passage.first_line, passage.last_line),
                    "version": passage.version,
                    "text": passage.text,
                })
            })
            .collect();
        let mut answer = json!({ "passages": passages });
        if passages_is_empty(&answer) {
            answer["note"] = json!("nothing fits; other words may find more");
        }
        if let Some(note) = note {
            answer["note"] = json!(note);
        }
        Ok(answer)
    }

    async fn run_list(&self, arguments: &Value, circle: Circle) -> Result<Value, CallError> {
        let Some(base) = word(arguments, "base") else {
            let listing = self.list(circle).await?;
            let about = |base: &homeagent_types::knowledge::Base| {
                let mut about = json!({ "base": base.name, "passages": base.passages });
                let told = [("title", &base.title), ("description", &base.description), ("problem", &base.problem)];
                for (key, value) in told {
                    if let Some(value) = value {
                        about[key] = json!(value);
                    }
                }
                about
            };
            let bases: Vec<Value> = listing.bases.iter().take(NAMED).map(about).collect();
            return Ok(json!({ "bases": bases, "total": listing.bases.len() }));
        };
        if let Some(heading) = word(arguments, "section") {
            return Ok(serde_json::to_value(self.section(&base, &heading, circle).await?).unwrap_or_default());
        }
        let outline = self.outline(&base, circle).await?;
        let headings = outline.headings.iter().map(|heading| {
            format!("{} {} (line {})", "#".repeat(usize::from(heading.level)), heading.title, heading.line)
        });
        let headings: Vec<String> = headings.take(NAMED).collect();
        Ok(json!({ "base": outline.base.name, "version": outline.base.version, "headings": headings }))
    }

    async fn run_create(&self, arguments: &Value, cause: &Cause) -> Result<Value, CallError> {
        only_own_words(cause)?;
        let audience = match word(arguments, "audience") {
            Some(word) => Circle::parse(&word)
                .ok_or_else(|| CallError::Invalid(format!("\"{word}\" is none of owner, members and everyone")))?,
            None => Circle::Members,
        };
        let name = word(arguments, "base").unwrap_or_default();
        let made = self.create(&name, &word(arguments, "text").unwrap_or_default(), audience).await?;
        Ok(told(&made))
    }

    async fn run_update(&self, arguments: &Value, circle: Circle, cause: &Cause) -> Result<Value, CallError> {
        only_own_words(cause)?;
        let text = word(arguments, "text").unwrap_or_default();
        let heading = word(arguments, "section");
        let edit = match (Action::from_str(&word(arguments, "action").unwrap_or_default())?, heading) {
            (Action::Append, heading) => Edit::Append { heading, text },
            (Action::Replace, Some(heading)) => Edit::Replace { heading, text },
            (Action::Replace, None) => {
                return Err(CallError::Invalid("say with `section` which heading's text is replaced".to_owned()));
            }
        };
        let name = word(arguments, "base").unwrap_or_default();
        let version = word(arguments, "version");
        let changed = self.update(&name, edit, version.as_deref(), circle).await?;
        Ok(told(&changed))
    }
}

/// What is found in a base counts as the household's own words, so nothing gets there that others may have written.
fn only_own_words(cause: &Cause) -> Result<(), CallError> {
    if cause.is_foreign() {
        let text = "others may have written what stands in this conversation, so nothing is written into the knowledge \
            base from it; the owner can edit the file";
        return Err(CallError::Conflict(text.into()));
    }
    Ok(())
}

enum Action {
    Append,
    Replace,
}

impl FromStr for Action {
    type Err = CallError;

    fn from_str(word: &str) -> Result<Self, CallError> {
        match word {
            "append" => Ok(Self::Append),
            "replace" => Ok(Self::Replace),
            _ => Err(CallError::Invalid("`action` is append or replace".to_owned())),
        }
    }
}

fn passages_is_empty(answer: &Value) -> bool {
    answer["passages"].as_array().is_none_or(Vec::is_empty)
}

fn word(arguments: &Value, key: &str) -> Option<String> {
    let text = arguments.get(key)?.as_str()?;
    (!text.trim().is_empty()).then(|| text.to_owned())
}

fn told(changed: &Changed) -> Value {
    let Changed { base, unchanged, notes } = changed;
    let mut told = json!({
        "base": base.name,
        "audience": base.audience,
        "passages": base.passages,
        "version": base.version,
    });
    if *unchanged {
        told["note"] = json!("it said so already; nothing was changed");
    }
    if !notes.is_empty() {
        told["notes"] = json!(notes);
    }
    told
}

fn base() -> Value {
    json!({ "type": "string", "minLength": 1, "maxLength": 64, "description": "The knowledge base's name" })
}

fn search(foreign: bool) -> ToolDefinition {
    let description = "Searches the household's knowledge bases: manuals, notes, addresses, how things are done here. \
        Gives passages with the base, section and lines they stand at. Look here before you say that you do not know \
        something of this home.";
    let properties = json!({
        "query": { "type": "string", "minLength": 1, "maxLength": 2000, "description": "What is looked for, in plain words" },
        "base": { "type": "string", "description": "Only in the knowledge base of this name" },
        "limit": { "type": "integer", "minimum": 1, "maximum": PASSAGES.1, "description": "How many passages at most" },
    });
    reading(SEARCH, description, &properties, &["query"], foreign)
}

fn list(foreign: bool) -> ToolDefinition {
    let description = "Lists the knowledge bases; with `base`, the headings of one; with `section` too, the text below \
        a heading.";
    let properties = json!({
        "base": { "type": "string", "description": "The knowledge base whose headings are listed" },
        "section": { "type": "string", "description": "The heading whose text is given, such as \"Heating\" or \"House > Heating\"" },
    });
    reading(LIST, description, &properties, &[], foreign)
}

fn create() -> ToolDefinition {
    let description = "Makes a knowledge base: a text in Markdown that is kept, can be edited by people, and is found by \
        knowledge_search. For lasting subjects of the household that somebody asks to be written down; what people say \
        is remembered anyway.";
    let properties = json!({
        "base": base(),
        "text": { "type": "string", "minLength": 1, "description": "Its text, in Markdown, with headings" },
        "audience": { "type": "string", "enum": ["owner", "members", "everyone"],
            "description": "Who may be told what is in it [members]" },
    });
    changing(CREATE, description, &properties, &["base", "text"])
}

fn update() -> ToolDefinition {
    let description = "Changes a knowledge base: `append` puts text at its end, or at the end of what stands directly \
        below a heading; `replace` puts text in the place of all below a heading, smaller headings too, and without text \
        removes it. The text before is kept once.";
    let properties = json!({
        "base": base(),
        "action": { "type": "string", "enum": ["append", "replace"] },
        "section": { "type": "string", "description": "The heading, such as \"Heating\" or \"House > Heating\"" },
        "text": { "type": "string", "description": "The text, in Markdown, without the heading itself" },
        "version": { "type": "string", "description": "The version that you have read: if it is another now, nothing is changed" },
    });
    changing(UPDATE, description, &properties, &["base", "action"])
}

/// A tool that only reads. Guests may call it, too: they are told what is for everyone.
fn reading(name: &str, description: &str, properties: &Value, required: &[&str], foreign: bool) -> ToolDefinition {
    let definition = ToolDefinition::of_host(name, description, Effect::Read, properties, required);
    // Strangers wrote what was taken from the web.
    let meta = if foreign { vec![("foreign".to_owned(), "true".to_owned())] } else { Vec::new() };
    ToolDefinition { min_role: Some(Role::Guest), stateless: true, meta, ..definition }
}

fn changing(name: &str, description: &str, properties: &Value, required: &[&str]) -> ToolDefinition {
    let definition = ToolDefinition::of_host(name, description, Effect::Own, properties, required);
    ToolDefinition { min_role: Some(Role::Owner), ..definition }
}

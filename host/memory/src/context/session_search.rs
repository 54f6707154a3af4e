//! The model's tool for what was said: the visible text of the journal, word for word.

use std::collections::HashMap;

use async_trait::async_trait;
use homeagent_journal::{Journal, Seq};
use homeagent_settings::Settings;
use homeagent_types::ports::Toolbox;
use homeagent_types::{CallError, Cause, Effect, Role, ToolDefinition, ToolOutput};
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::service::now_ms;
use crate::Audiences;
use crate::index::PassageKind;
use crate::recall::{Ask, Hit, Recall};
use crate::said::Said;

const SEARCH: &str = "session_search";

/// How many messages are found where it is not said, and at most.
const USUAL: usize = 8;
const MOST: usize = 30;

/// How much is shown of a message, in characters.
const SHOWN: usize = 600;

/// So many times as many are looked for as are wanted: some are gone from the journal.
const SPARE: usize = 2;

/// `session_search`.
pub struct SessionTools {
    recall: Recall,
    journal: Journal,
    audiences: Audiences,
    settings: Settings,
}

impl SessionTools {
    /// The tool, over what recall finds and the journal has.
    #[must_use]
    pub fn new(recall: Recall, journal: Journal, audiences: Audiences, settings: Settings) -> Self {
        Self { recall, journal, audiences, settings }
    }

    async fn search(&self, arguments: &Value, cause: &Cause) -> Result<ToolOutput, CallError> {
        let question = arguments["query"].as_str().unwrap_or_default();
        let limit =
            arguments["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(USUAL).min(MOST);
        let here = cause.conversation.as_ref().map(ToString::to_string);
        let ask = Ask {
            text: question.to_owned(),
            viewer: self.audiences.viewer_of(cause),
            now_ms: now_ms(),
            time_zone: self.zone(),
            limit: limit * SPARE,
            conversation: here.clone().filter(|_| arguments["here"] == true),
            speaker: cause.principal.display_name.clone(),
            kinds: vec![PassageKind::Said, PassageKind::Answered],
            patience: None,
        };
        let failed = |error: String| CallError::Other(format!("what was said can't be searched: {error}"));
        let hits = self.recall.recall(&ask).await.map_err(|error| failed(error.to_string()))?;
        let places: Vec<Seq> = hits.iter().filter_map(|hit| hit.passage.origin.parse().ok()).collect();
        // The journal has the last word: what is gone from it is not told any more.
        let events = self.journal.events_at(places).await.map_err(|error| failed(error.to_string()))?;
        let said: HashMap<Seq, Said> = events.iter().filter_map(Said::read).map(|said| (said.seq, said)).collect();
        let known = |hit: Hit| {
            let said = said.get(&hit.passage.origin.parse().ok()?)?;
            ask.viewer.may_see(&said.audience).then_some((hit, said))
        };
        let found: Vec<(Hit, &Said)> = hits.into_iter().filter_map(known).take(limit).collect();
        if found.is_empty() {
            return Ok(ToolOutput::text("Nothing that was said is about this. Other words may find it."));
        }
        let foreign = found.iter().any(|(_, said)| said.foreign);
        let messages: Vec<Value> =
            found.iter().map(|(hit, said)| shown(hit, said, here.as_deref(), &ask.time_zone)).collect();
        let mut output = ToolOutput::json(&json!({ "messages": messages }));
        if foreign {
            output.mark_foreign();
        }
        Ok(output)
    }

    fn zone(&self) -> TimeZone {
        let name = self.settings.text("core.agent.time_zone").unwrap_or_default();
        if name.is_empty() { TimeZone::system() } else { TimeZone::get(&name).unwrap_or_else(|_| TimeZone::system()) }
    }
}

fn shown(hit: &Hit, said: &Said, here: Option<&str>, zone: &TimeZone) -> Value {
    let text: String = hit.passage.text.chars().take(SHOWN).collect();
    let cut = text.len() < hit.passage.text.len();
    let at = jiff::Timestamp::from_millisecond(said.at_ms)
        .map_or_else(|_| String::new(), |at| at.to_zoned(zone.clone()).strftime("%A, %Y-%m-%d %H:%M").to_string());
    json!({
        "at": at,
        "by": said.name().unwrap_or_else(|| "you".to_owned()),
        "here": here == Some(said.conversation.as_str()),
        "text": if cut { format!("{text}…") } else { text },
    })
}

#[async_trait]
impl Toolbox for SessionTools {
    fn tools(&self) -> Vec<ToolDefinition> {
        let properties = json!({
            "query": { "type": "string", "minLength": 1, "description": "Words that were said, or what it was about; a time such as \"last week\" counts" },
            "limit": { "type": "integer", "minimum": 1, "maximum": MOST, "description": "How many messages, 8 if not said" },
            "here": { "type": "boolean", "description": "Only what was said in this conversation" },
        });
        let description = "Searches what was said in conversations, word for word, with times and speakers.";
        let tool = ToolDefinition::of_host(SEARCH, description, Effect::Read, &properties, &["query"]);
        vec![ToolDefinition { min_role: Some(Role::Member), stateless: true, ..tool }]
    }

    async fn call(&self, name: &str, arguments: Value, cause: &Cause) -> Result<ToolOutput, CallError> {
        match name {
            SEARCH => self.search(&arguments, cause).await,
            _ => Err(CallError::NotFound(format!("there is no tool {name}"))),
        }
    }
}

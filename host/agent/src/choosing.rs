//! Which tools a model is shown where there are many: chosen once in a turn, so that its prompts stay alike.
//!
//! Only what is shown is chosen. A tool that is not shown runs all the same when the model calls it, as it may know it from
//! earlier in the window.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use homeagent_memory::nearness::lexical;
use homeagent_types::Conversation;
use homeagent_types::model::{Message, ToolSpec};
use serde_json::{Value, json};

use crate::tools::{Action, Tool};
use crate::turn::Turn;

/// So many are shown because they are near to what was said.
const NEAREST: usize = 10;

/// How long is waited to know which are near in meaning; else their words decide.
const PATIENCE: Duration = Duration::from_millis(150);

/// What was chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The names it was chosen from.
    from: BTreeSet<String>,
    /// Shown whatever is said.
    always: BTreeSet<String>,
    /// Shown because somebody named them.
    named: BTreeSet<String>,
    /// Named, and not there.
    unknown: BTreeSet<String>,
    /// Shown because the window has calls of them.
    called: BTreeSet<String>,
    /// Shown because they are near to what was said.
    nearest: BTreeSet<String>,
}

impl Choice {
    /// Whether a tool is shown.
    pub(crate) fn shows(&self, name: &str) -> bool {
        [&self.always, &self.named, &self.called, &self.nearest].iter().any(|names| names.contains(name))
    }

    /// What the journal keeps beside the names.
    pub(crate) fn note(&self) -> Value {
        json!({
            "of": self.from.len(),
            "always": self.always,
            "named": self.named,
            "unknown": self.unknown,
            "called": self.called,
            "nearest": self.nearest,
        })
    }
}

impl Turn {
    /// Chooses, where there are more tools than are shown. What was chosen stays, as long as the same tools are there.
    pub(crate) async fn choose_tools(&mut self) {
        let specs = self.offered();
        let most = self.core.settings.integer("core.tools.shown").unwrap_or(i64::MAX);
        if i64::try_from(specs.len()).unwrap_or(i64::MAX) <= most {
            self.choice = None;
            return;
        }
        let from: BTreeSet<String> = specs.iter().map(|spec| spec.name.clone()).collect();
        if self.choice.as_ref().is_some_and(|choice| choice.from == from) {
            return;
        }
        let mut choice = Choice { from, ..Choice::default() };
        choice.always = specs.iter().map(|spec| &spec.name).filter(|name| self.is_essential(name)).cloned().collect();
        for name in self.core.settings.texts("core.tools.always").unwrap_or_default() {
            let known = choice.from.contains(&name);
            if known { &mut choice.named } else { &mut choice.unknown }.insert(name);
        }
        if !choice.unknown.is_empty() {
            tracing::debug!(unknown = ?choice.unknown, "tools that are always to be shown are not there");
        }
        choice.called = called(self.context.window.messages()).filter(|name| choice.from.contains(name)).collect();
        let rest: Vec<&ToolSpec> = specs.iter().filter(|spec| !choice.shows(&spec.name)).collect();
        let texts: Arc<[String]> = rest.iter().map(|spec| format!("{}: {}", spec.name, spec.description)).collect();
        let near = self.nearness(texts).await;
        let mut ranked: Vec<(f32, &str)> = near.into_iter().zip(rest.iter().map(|spec| spec.name.as_str())).collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
        choice.nearest = ranked.into_iter().take(NEAREST).map(|(_, name)| name.to_owned()).collect();
        self.choice = Some(choice);
    }

    async fn nearness(&self, texts: Arc<[String]>) -> Vec<f32> {
        let query = self.input.payload.text();
        let by_words = || lexical(query, &texts);
        let Some(memory) = &self.core.memory else { return by_words() };
        let asked = tokio::time::timeout(PATIENCE, memory.nearness(query, Arc::clone(&texts)));
        asked.await.ok().filter(|near| near.len() == texts.len()).unwrap_or_else(by_words)
    }

    fn is_essential(&self, name: &str) -> bool {
        self.tools.get(name).is_some_and(|tool| is_essential(tool, &self.input.conversation))
    }
}

/// Whether a tool is shown whatever is said: it says so itself, or speaks where the turn does, or is about what was sent.
fn is_essential(tool: &Tool, here: &Conversation) -> bool {
    match &tool.action {
        Action::Send(channel) => *channel == here.channel,
        Action::LookAtMedia | Action::DescribeMedia => true,
        _ => tool.definition.is_always_on(),
    }
}

/// The tools that stand in a window as called.
fn called<'a>(messages: impl Iterator<Item = &'a Message>) -> impl Iterator<Item = String> {
    let calls = messages.filter_map(|message| match message {
        Message::Assistant { tool_calls, .. } => Some(tool_calls),
        _ => None,
    });
    calls.flatten().map(|call| call.name.clone())
}

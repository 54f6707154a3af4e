//! Keeping secrets out of what vendors stream: some repeat the key they were given.

use homeagent_settings::Secrets;
use homeagent_types::ToolCall;
use homeagent_types::model::{AssistantAnswer, ModelDelta};

/// Passes pieces on as soon as no secret can begin in what is passed.
pub(super) struct Guard<'a> {
    secrets: &'a Secrets,
    /// Not passed on yet: a secret may have begun in it.
    text: String,
    reasoning: String,
}

impl<'a> Guard<'a> {
    pub(super) fn new(secrets: &'a Secrets) -> Self {
        Guard { secrets, text: String::new(), reasoning: String::new() }
    }

    /// What is to be passed on at this piece.
    pub(super) fn pass(&mut self, delta: ModelDelta) -> Option<ModelDelta> {
        let secrets = self.secrets;
        match delta {
            ModelDelta::Text(piece) => settled(secrets, &mut self.text, piece).map(ModelDelta::Text),
            ModelDelta::Reasoning(piece) => settled(secrets, &mut self.reasoning, piece).map(ModelDelta::Reasoning),
            other => Some(other),
        }
    }

    /// What is left when nothing comes any more.
    pub(super) fn rest(&mut self) -> impl Iterator<Item = ModelDelta> + use<> {
        let clean = |text: &mut String| {
            let text = std::mem::take(text);
            (!text.is_empty()).then(|| self.secrets.redact(&text).into_owned())
        };
        let reasoning = clean(&mut self.reasoning).map(ModelDelta::Reasoning);
        reasoning.into_iter().chain(clean(&mut self.text).map(ModelDelta::Text))
    }

    /// Cleans what is not shown in pieces.
    pub(super) fn clean(&self, answer: &mut AssistantAnswer) {
        let clean = |text: &mut String| {
            if let std::borrow::Cow::Owned(clean) = self.secrets.redact(text) {
                *text = clean;
            }
        };
        for ToolCall { id, name, arguments } in &mut answer.tool_calls {
            clean(id);
            clean(name);
            clean(arguments);
        }
        for blob in &mut answer.opaque {
            clean(&mut blob.value);
        }
    }
}

/// What can be told of the text that was held with this piece behind it.
fn settled(secrets: &Secrets, held: &mut String, piece: String) -> Option<String> {
    if held.is_empty() {
        *held = piece;
    } else {
        held.push_str(&piece);
    }
    let settled = secrets.settled(held);
    let rest = held.split_off(settled);
    let told = std::mem::replace(held, rest);
    let told = match secrets.redact(&told) {
        std::borrow::Cow::Owned(clean) => clean,
        std::borrow::Cow::Borrowed(_) => told,
    };
    (!told.is_empty()).then_some(told)
}

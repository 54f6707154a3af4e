//! Asking the model that the owner has chosen. Needs the grant `llm`; `tokens_per_day` in `[wants.llm]` of `plugin.toml` is
//! the budget.

use crate::Error;
use crate::bindings::plugin::homeagent::plugin::llm as host;

pub use host::{Answer, Message, Request, Speaker, Usage};

impl Request {
    /// Asks this, without more.
    pub fn new(question: impl Into<String>) -> Self {
        let message = Message { speaker: Speaker::User, text: question.into() };
        Self { messages: vec![message], max_tokens: None, meta: Vec::new() }
    }

    /// Rules, before everything else.
    #[must_use]
    pub fn system(mut self, rules: impl Into<String>) -> Self {
        self.messages.insert(0, Message { speaker: Speaker::System, text: rules.into() });
        self
    }

    /// The longest answer, in tokens. A short one leaves more of the budget.
    #[must_use]
    pub fn max_tokens(mut self, tokens: u32) -> Self {
        self.max_tokens = Some(tokens);
        self
    }
}

/// Asks for one answer. [`Error::Denied`] where the tokens of the day do not suffice, [`Error::Busy`] where too much is
/// asked at one time.
pub async fn ask(request: Request) -> Result<Answer, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::ask(request).await
}

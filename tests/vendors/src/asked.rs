//! What a request came to, whatever the format, and the rules about its order that all vendors have.

/// A request that the vendor takes.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// Whether the model is to think.
    pub thinks: bool,
    /// The names of the tools that are offered.
    pub tools: Vec<String>,
    /// What was said to the model last.
    pub question: String,
    /// The results of tools since then.
    pub results: Vec<String>,
}

/// One step of a conversation.
#[derive(Clone, Debug)]
pub(crate) enum Turn {
    System,
    User(String),
    /// The ids of the calls in a message of the model's.
    Model(Vec<String>),
    /// A result: the id of its call, and what it says.
    Result(String, String),
}

impl Asked {
    /// Reads a conversation.
    ///
    /// # Errors
    ///
    /// A call without a result, a result without a call, or nothing that was said.
    pub(crate) fn of(turns: &[Turn]) -> Result<Self, String> {
        let mut asked = Asked::default();
        let mut open: Vec<&String> = Vec::new();
        let mut spoken = false;
        for turn in turns {
            if let Turn::Result(call, text) = turn {
                let Some(place) = open.iter().position(|id| *id == call) else {
                    return Err(format!("the result of `{call}` follows no message with that call"));
                };
                open.remove(place);
                asked.results.push(text.clone());
                continue;
            }
            if let Some(call) = open.first() {
                return Err(format!("the call `{call}` must be followed by its result"));
            }
            match turn {
                Turn::User(text) => {
                    spoken = true;
                    // What the host adds behind the results is no new question.
                    if !text.starts_with("[system]") {
                        asked.question.clone_from(text);
                        asked.results.clear();
                    }
                }
                Turn::Model(calls) => open = calls.iter().collect(),
                Turn::System | Turn::Result(..) => {}
            }
        }
        match open.first() {
            Some(call) => Err(format!("the call `{call}` must be followed by its result")),
            None if !spoken => Err("at least one message must be the user's".to_owned()),
            None => Ok(asked),
        }
    }
}

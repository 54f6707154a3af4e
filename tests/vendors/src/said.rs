//! What a model says, whatever the format.

use crate::asked::Asked;

/// Decides what is said to a request.
pub type Mind = fn(&str, &Asked) -> Said;

/// An answer of a model's.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// What it thought, in pieces. Formats without thoughts leave it out.
    pub thoughts: Vec<String>,
    /// Its text, in pieces.
    pub text: Vec<String>,
    /// The tools it calls.
    pub calls: Vec<Call>,
    /// Why it stopped.
    pub end: End,
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its id, in the formats that have one.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments as text, which need not be JSON.
    pub arguments: String,
}

/// Why a model stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// It has said all; or it calls tools.
    #[default]
    Done,
    /// It refuses, in the words of its text.
    Refusal,
    /// A filter cut the answer.
    Filter,
}

/// Tokens of every answer: what is asked, what is answered.
pub(crate) const USAGE: (u64, u64) = (21, 7);

/// Calls the tool `look` twice, one after the other, where it is offered; then says what it saw. `name` is the vendor's.
pub(crate) fn usual(name: &str, asked: &Asked) -> Said {
    const ROUNDS: usize = 2;
    let thoughts = if asked.thinks { vec!["Let me ".to_owned(), "看看.".to_owned()] } else { Vec::new() };
    if asked.tools.iter().any(|tool| tool == "look") && asked.results.len() < ROUNDS {
        let place = asked.results.len() + 1;
        let call = Call {
            id: format!("call_{name}_{place}"),
            name: "look".to_owned(),
            arguments: format!("{{\"n\": {place}}}"),
        };
        return Said { thoughts, calls: vec![call], ..Said::default() };
    }
    let saw = if asked.results.is_empty() { "nothing".to_owned() } else { asked.results.join(" and ") };
    let text = vec!["This is ".to_owned(), format!("{name}: "), "我看到 ".to_owned(), saw, ".".to_owned()];
    Said { thoughts, text, ..Said::default() }
}

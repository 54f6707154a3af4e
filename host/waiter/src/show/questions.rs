//! Questions to the owner.

use serde::Deserialize;

use crate::client::read;
use crate::failure::Failure;
use crate::plain::plain_line;

#[derive(Deserialize)]
struct Question {
    id: u64,
    tool: String,
    arguments: String,
    by: String,
    conversation: String,
    reason: String,
}

/// All that wait, with how to answer.
pub(crate) fn list(answer: &str) -> Result<String, Failure> {
    let questions: Vec<Question> = read(answer)?;
    if questions.is_empty() {
        return Ok("no question waits\n".to_owned());
    }
    let mut text = String::new();
    for Question { id, tool, arguments, by, conversation, reason } in questions {
        let lines = [
            format!("{id}: may the tool {tool} run?"),
            format!("arguments: {arguments}"),
            format!("asked for by {by} in {conversation}. {reason}"),
            format!("`waiter questions allow {id}` lets it run, `waiter questions deny {id}` does not"),
        ];
        let lines = lines.map(|line| plain_line(&line));
        text.push_str(&format!("{}\n", lines.join("\n  ")));
    }
    Ok(text)
}

/// One that is answered.
pub(crate) fn answered(answer: &str) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Answered {
        tool: String,
        allow: bool,
    }
    let Answered { tool, allow } = read(answer)?;
    Ok(plain_line(&format!("{tool} {}", if allow { "runs" } else { "does not run" })) + "\n")
}

//! What the tests of contexts and documents are made of.

use homeagent_types::model::Message;

use super::entry::Entry;

pub(crate) fn entry(id: &str, conversation: &str, audience: &str, at_ms: i64, message: Message) -> Entry {
    Entry {
        id: id.to_owned(),
        conversation: conversation.to_owned(),
        audience: audience.to_owned(),
        at_ms,
        message,
        foreign: false,
        time: None,
        no_memory: false,
        cleaner: None,
        document: None,
    }
}

pub(crate) fn assistant(text: &str) -> Message {
    Message::Assistant { text: text.to_owned(), reasoning: String::new(), tool_calls: Vec::new(), opaque: Vec::new() }
}

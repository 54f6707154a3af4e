//! Server-sent events, by the rules of the WHATWG's HTML standard for `text/event-stream`.

use homeagent_types::model::StreamEvent;

use super::EventTooLarge;
use super::lines::{Ends, Lines};

#[derive(Debug)]
pub(super) struct SseFramer {
    lines: Lines,
    open: Open,
}

/// The event whose blank line has not come.
#[derive(Debug)]
struct Open {
    limit: usize,
    name: String,
    data: String,
    /// A `data` field came, if only an empty one.
    has_data: bool,
}

impl SseFramer {
    pub(super) fn new(limit: usize) -> Self {
        let open = Open { limit, name: String::new(), data: String::new(), has_data: false };
        SseFramer { lines: Lines::new(Ends::CrAndLf, limit), open }
    }

    pub(super) fn push(&mut self, bytes: &[u8], events: &mut Vec<StreamEvent>) -> Result<(), EventTooLarge> {
        let open = &mut self.open;
        self.lines.push(bytes, |line| {
            if line.is_empty() {
                events.extend(open.take());
                Ok(())
            } else {
                open.field(line)
            }
        })
    }

    /// What the end of the stream cut off.
    pub(super) fn finish(mut self) -> Result<Option<StreamEvent>, EventTooLarge> {
        let rest = self.lines.rest();
        if !rest.is_empty() {
            self.open.field(rest)?;
        }
        Ok(self.open.take())
    }
}

impl Open {
    fn field(&mut self, line: &[u8]) -> Result<(), EventTooLarge> {
        let (name, value) = match line.iter().position(|&byte| byte == b':') {
            // A line that begins with a colon is a comment.
            Some(0) => return Ok(()),
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &[][..]),
        };
        match name {
            b"data" => {
                if self.data.len() + value.len() > self.limit {
                    return Err(EventTooLarge { limit: self.limit });
                }
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(&String::from_utf8_lossy(value));
            }
            b"event" => self.name = String::from_utf8_lossy(value).into_owned(),
            // `id` and `retry` are for reconnecting, which no vendor's answer allows; others are ignored by the rules.
            _ => {}
        }
        Ok(())
    }

    fn take(&mut self) -> Option<StreamEvent> {
        let event = std::mem::take(&mut self.name);
        let data = std::mem::take(&mut self.data);
        std::mem::take(&mut self.has_data).then_some(StreamEvent { event, data })
    }
}

//! One JSON document a line.

use homeagent_types::model::StreamEvent;

use super::EventTooLarge;
use super::lines::{Ends, Lines};

#[derive(Debug)]
pub(super) struct NdjsonFramer(Lines);

impl NdjsonFramer {
    pub(super) fn new(limit: usize) -> Self {
        NdjsonFramer(Lines::new(Ends::Lf, limit))
    }

    pub(super) fn push(&mut self, bytes: &[u8], events: &mut Vec<StreamEvent>) -> Result<(), EventTooLarge> {
        self.0.push(bytes, |line| {
            events.extend(event(line));
            Ok(())
        })
    }

    /// The last line, which may come without a line break.
    pub(super) fn finish(mut self) -> Option<StreamEvent> {
        event(self.0.rest())
    }
}

fn event(line: &[u8]) -> Option<StreamEvent> {
    let line = line.trim_ascii();
    (!line.is_empty()).then(|| StreamEvent { event: String::new(), data: String::from_utf8_lossy(line).into_owned() })
}

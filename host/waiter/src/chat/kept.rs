//! What arrives while somebody types, kept until the line is entered.

use super::frames::FromServer;
use super::line::Event;

/// How many pieces of answers are kept.
const MOST_PIECES: usize = 4096;

/// The events, in order. Of answers that grow very long meanwhile the later pieces are left out: the whole follows.
#[derive(Default)]
pub(crate) struct Kept {
    events: Vec<Event>,
    pieces: usize,
}

impl Kept {
    pub(crate) fn push(&mut self, event: Event) {
        if matches!(event, Event::Frame(FromServer::Delta { .. })) {
            if self.pieces >= MOST_PIECES {
                return;
            }
            self.pieces += 1;
        }
        self.events.push(event);
    }

    pub(crate) fn into_events(self) -> impl Iterator<Item = Event> {
        self.events.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::super::frames::Kind;
    use super::*;

    #[test]
    fn only_pieces_are_left_out() {
        let mut kept = Kept::default();
        for number in 0..2 * MOST_PIECES {
            let text = number.to_string();
            kept.push(Event::Frame(FromServer::Delta { run: "r".into(), kind: Kind::Text, text }));
        }
        kept.push(Event::Frame(FromServer::Reply { run: Some("r".into()), text: "the whole".into() }));
        let events: Vec<_> = kept.into_events().collect();
        assert_eq!(events.len(), MOST_PIECES + 1);
        assert!(matches!(events.last(), Some(Event::Frame(FromServer::Reply { text, .. })) if text == "the whole"));
    }
}

//! However a stream is cut, the same events come out of it.
#![no_main]

use homeagent_providers::framing::Framer;
use homeagent_types::model::{Framing, StreamEvent};
use libfuzzer_sys::fuzz_target;

/// Of one event, in bytes: small enough to be met.
const LIMIT: usize = 1 << 10;

fuzz_target!(|input: (bool, u8, &[u8])| {
    let (lines, step, bytes) = input;
    let framing = || if lines { Framing::Ndjson } else { Framing::Sse };
    let whole = read(framing(), bytes.chunks(bytes.len().max(1)));
    let pieces = read(framing(), bytes.chunks(usize::from(step).max(1)));
    if let (Some(whole), Some(pieces)) = (whole, pieces) {
        assert_eq!(format!("{whole:?}"), format!("{pieces:?}"));
    }
});

fn read<'a>(framing: Framing, pieces: impl Iterator<Item = &'a [u8]>) -> Option<Vec<StreamEvent>> {
    let mut framer = Framer::new(framing, LIMIT);
    let mut events = Vec::new();
    for piece in pieces {
        framer.push(piece, &mut events).ok()?;
    }
    framer.finish(&mut events).ok()?;
    Some(events)
}

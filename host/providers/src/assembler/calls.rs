//! Joining the pieces of tool calls.

use std::collections::{HashMap, HashSet};

use homeagent_types::ToolCall;
use homeagent_types::model::ToolCallDelta;

/// The calls so far, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    by_index: HashMap<u32, usize>,
    by_id: HashMap<String, usize>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Call {
    index: Option<u32>,
    id: String,
    name: String,
    arguments: String,
    shape: Shape,
}

/// How far the arguments' JSON has come, kept up piece by piece.
#[derive(Debug, Default)]
struct Shape {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The outermost object has been closed.
    closed: bool,
}

/// What a piece adds to the answer's size.
pub(super) fn size(piece: &ToolCallDelta) -> usize {
    piece.arguments.len()
        + piece.id.as_deref().unwrap_or_default().len()
        + piece.name.as_deref().unwrap_or_default().len()
}

impl Calls {
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// What [`size`] says of all pieces together.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, piece: ToolCallDelta) {
        self.bytes += size(&piece);
        let id = piece.id.filter(|id| !id.is_empty());
        let name = piece.name.filter(|name| !name.is_empty());
        let by_id = id.as_ref().and_then(|id| self.by_id.get(id).copied());
        let candidate = match piece.index {
            // Calls that take turns under one index are told apart by the ids they repeat.
            Some(index) => by_id
                .filter(|position| self.calls[*position].index == Some(index))
                .or_else(|| self.by_index.get(&index).copied()),
            None if id.is_some() => by_id,
            None => self.calls.len().checked_sub(1),
        };
        let position = candidate
            .filter(|position| self.calls[*position].goes_on_with(id.as_deref(), name.as_deref(), &piece.arguments))
            .unwrap_or_else(|| {
                self.calls.push(Call { index: piece.index, ..Call::default() });
                self.calls.len() - 1
            });
        if let Some(index) = piece.index {
            self.by_index.insert(index, position);
        }
        let call = &mut self.calls[position];
        if let Some(id) = id {
            if call.id.is_empty() {
                call.id.clone_from(&id);
            }
            self.by_id.entry(id).or_insert(position);
        }
        if let Some(name) = name
            && call.name.is_empty()
        {
            call.name = name;
        }
        call.append(&piece.arguments);
    }

    /// The calls with unique ids and with arguments. Pieces that never became a call are left out.
    pub(super) fn finish(self) -> Vec<ToolCall> {
        let calls: Vec<Call> =
            self.calls.into_iter().filter(|call| !(call.name.is_empty() && call.arguments.trim().is_empty())).collect();
        let given: HashSet<String> = calls.iter().map(|call| call.id.clone()).collect();
        let mut used = HashSet::new();
        let mut finished = Vec::with_capacity(calls.len());
        for call in calls {
            let id = if call.id.is_empty() || used.contains(&call.id) {
                made_id(|id| given.contains(id) || used.contains(id))
            } else {
                call.id
            };
            used.insert(id.clone());
            let arguments = match call.arguments.trim() {
                "" | "null" => "{}".to_owned(),
                _ => call.arguments,
            };
            finished.push(ToolCall { id, name: call.name, arguments });
        }
        finished
    }
}

impl Call {
    /// Whether the piece belongs to this call rather than to another one.
    fn goes_on_with(&self, id: Option<&str>, name: Option<&str>, arguments: &str) -> bool {
        let repeats_id = id.is_some_and(|id| id == self.id);
        let other_id = id.is_some_and(|id| !self.id.is_empty() && id != self.id);
        let second_arguments = self.shape.closed && name.is_some() && !arguments.trim().is_empty();
        if repeats_id {
            return !second_arguments || arguments == self.arguments;
        }
        // Some vendors make up an id for every piece; only a call's first piece has a name, though.
        if other_id && (name.is_some() || self.shape.closed) {
            return false;
        }
        let other_name = name.is_some_and(|name| !self.name.is_empty() && name != self.name);
        !other_name && !second_arguments
    }

    fn append(&mut self, piece: &str) {
        // After the end of its object a call has nothing to add: a vendor repeats itself.
        if self.shape.closed && (piece.trim().is_empty() || piece == self.arguments) {
            return;
        }
        self.shape.follow(piece);
        self.arguments.push_str(piece);
    }
}

impl Shape {
    fn follow(&mut self, piece: &str) {
        for byte in piece.bytes() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => self.in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.closed |= self.depth == 0;
                }
                _ => {}
            }
        }
    }
}

/// Nine letters and digits: the strictest of the vendors takes no other ids.
fn made_id(taken: impl Fn(&str) -> bool) -> String {
    const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    static SPARE: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(1);
    loop {
        // Without randomness a count is unique as well, only not across restarts.
        let mut number = getrandom::u64().unwrap_or_else(|_| SPARE.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let mut id = String::with_capacity(9);
        for _ in 0..9 {
            id.push(char::from(DIGITS[(number % 36) as usize]));
            number /= 36;
        }
        if !taken(&id) {
            return id;
        }
    }
}

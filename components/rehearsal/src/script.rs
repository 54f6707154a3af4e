//! The script: from the last thing said to an answer.

use crate::words::Language;
use homeagent_sdk::adapter::{
    ContentPart, Delta, FinishReason, Message, ModelRequest, Rehearsed, ToolCallDelta, ToolMessage,
};

/// Between two pieces of an answer, in milliseconds.
const PAUSE: u32 = 15;
/// Between two repetitions of `/say`, in milliseconds.
const SAY_PAUSE: u32 = 200;
/// The most repetitions of `/say`.
const MOST_SAID: usize = 1000;
const COMMANDS: [&str; 4] = ["/tools", "/tool", "/say", "/think"];

/// What the agent puts before words that interrupt a turn.
const INTERRUPT: &str = "[打断消息]";

/// The answer to a request.
pub(crate) fn rehearse(request: &ModelRequest) -> Vec<Rehearsed> {
    // Rules and recalled memory may stand after what was said.
    let spoken: Vec<&Message> =
        request.messages.iter().filter(|message| !matches!(message, Message::System(_))).collect();
    let said = spoken.iter().rev().find_map(|message| match message {
        Message::User(parts) => Some(text_of(parts)),
        _ => None,
    });
    let said = said.unwrap_or_default();
    let said = said.strip_prefix(INTERRUPT).map_or(said.as_str(), str::trim_start);
    let language = Language::of(said);
    let mut answer = Answer::default();
    let round = spoken.iter().rposition(|message| !matches!(message, Message::Tool(_))).map_or(0, |last| last + 1);
    let results: Vec<&ToolMessage> = spoken[round..]
        .iter()
        .filter_map(|message| match message {
            Message::Tool(result) => Some(result),
            _ => None,
        })
        .collect();
    if results.is_empty() {
        follow(said, language, request, &mut answer);
    } else {
        let words: Vec<String> = results
            .iter()
            .map(|result| language.result(&result.name, &text_of(&result.content), result.failed))
            .collect();
        answer.speak(&words.join("\n"));
    }
    answer.finished()
}

/// Does what was said.
fn follow(said: &str, language: Language, request: &ModelRequest, answer: &mut Answer) {
    let commands = commands(said);
    let Some(first) = commands.first() else {
        return answer.speak(&language.greeting(said));
    };
    let (name, rest) = split(first);
    match name {
        "/tools" => answer.speak(&language.tools(&request.tools)),
        "/think" if !rest.is_empty() => {
            answer.think(rest);
            answer.speak(&language.thought());
        }
        "/say" => match say(rest) {
            Some((count, text)) => answer.repeat(count, text),
            None => answer.speak(&language.help()),
        },
        "/tool" => {
            let calls: Vec<(&str, &str)> = commands
                .iter()
                .filter_map(|line| Some(split(line.strip_prefix("/tool")?.trim_start())))
                .filter(|(tool, _)| !tool.is_empty())
                .collect();
            if calls.is_empty() {
                return answer.speak(&language.help());
            }
            for (place, (tool, arguments)) in calls.iter().enumerate() {
                // The window grows from round to round, so its length makes ids unique within a run.
                let id = format!("rehearsal_{}_{}", request.messages.len(), place + 1);
                answer.call(place, id, tool, arguments);
            }
        }
        _ => answer.speak(&language.help()),
    }
}

/// The lines that are commands. The agent may have put a time or a name before the first one.
fn commands(said: &str) -> Vec<&str> {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| line.starts_with('/')).collect();
    if !lines.is_empty() {
        return lines;
    }
    let starts = |(place, _): &(usize, &str)| {
        said[..*place].ends_with([' ', ':', '：', ']', '】', '>'])
            && COMMANDS.iter().any(|command| {
                let rest = said[*place..].strip_prefix(command);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
            })
    };
    let Some((place, _)) = said.match_indices('/').find(starts) else { return Vec::new() };
    said[place..].lines().take(1).map(str::trim).collect()
}

fn split(line: &str) -> (&str, &str) {
    line.split_once(char::is_whitespace).map_or((line, ""), |(name, rest)| (name, rest.trim()))
}

fn say(rest: &str) -> Option<(usize, &str)> {
    let (count, text) = split(rest);
    let count = count.parse::<usize>().ok()?.min(MOST_SAID);
    (count > 0 && !text.is_empty()).then_some((count, text))
}

fn text_of(parts: &[ContentPart]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            ContentPart::Text(text) => Some(text.as_str()),
            ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::Other(_) => None,
        })
        .collect();
    texts.join("\n")
}

/// An answer in the making.
#[derive(Default)]
struct Answer {
    pieces: Vec<Rehearsed>,
    calls: bool,
}

impl Answer {
    fn push(&mut self, pause_ms: u32, delta: Delta) {
        self.pieces.push(Rehearsed { pause_ms, delta });
    }

    fn speak(&mut self, text: &str) {
        for piece in morsels(text) {
            self.push(PAUSE, Delta::Text(piece.to_owned()));
        }
    }

    fn think(&mut self, text: &str) {
        for piece in morsels(text) {
            self.push(PAUSE, Delta::Reasoning(piece.to_owned()));
        }
    }

    fn repeat(&mut self, count: usize, text: &str) {
        for place in 0..count {
            let piece = if place == 0 { text.to_owned() } else { format!(" {text}") };
            self.push(SAY_PAUSE, Delta::Text(piece));
        }
    }

    fn call(&mut self, place: usize, id: String, name: &str, arguments: &str) {
        self.calls = true;
        let index = u32::try_from(place).ok();
        let arguments = if arguments.is_empty() { "{}".to_owned() } else { arguments.to_owned() };
        let call = ToolCallDelta { index, id: Some(id), name: Some(name.to_owned()), arguments };
        self.push(PAUSE, Delta::ToolCall(call));
    }

    fn finished(mut self) -> Vec<Rehearsed> {
        let reason = if self.calls { FinishReason::ToolCalls } else { FinishReason::Stop };
        self.push(0, Delta::Finish(reason));
        self.pieces
    }
}

/// Cuts a text as a model would write it: after a space, and after every third character of scripts without spaces.
fn morsels(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let (mut start, mut wide) = (0, 0);
    for (place, c) in text.char_indices() {
        wide += usize::from(!c.is_ascii());
        if c.is_whitespace() || wide == 3 {
            let end = place + c.len_utf8();
            pieces.push(&text[start..end]);
            (start, wide) = (end, 0);
        }
    }
    if start < text.len() {
        pieces.push(&text[start..]);
    }
    pieces
}

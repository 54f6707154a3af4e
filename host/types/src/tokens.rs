//! How many tokens something is, estimated before a vendor has counted it.
//!
//! An estimate is for budgets and windows, so it errs upwards: a vendor should count no more.

use crate::model::{ContentPart, Message, Prompt, ToolSpec};

/// What stands around each message, each tool and each call, in tokens.
const AROUND: u64 = 8;

/// A picture or a sound, whatever its size, in tokens: what the vendors that count by tiles take for a large one.
pub const MEDIUM: u64 = 1_600;

/// Costs are summed up in eighths of a token.
const TOKEN: u64 = 8;

/// For each letter, the letters that often follow it in words, a bit each, `a` the lowest. Vocabularies have tokens for
/// what is often written; a pair that is not mostly begins another token.
const OFTEN_NEXT: [u32; 26] = [
    0x13ebd7e, 0x1104811, 0x00e4c91, 0x1064919, 0x1efb93f, 0x01a4131, 0x0164191, 0x00a4111, 0x02ef85e, 0x0004000,
    0x0042111, 0x11c4919, 0x004c11b, 0x12ce95d, 0x07efc7f, 0x01ec911, 0x0100000, 0x13e655d, 0x05cc595, 0x15ec191,
    0x00eb951, 0x0000011, 0x0026191, 0x0080000, 0x00c4010, 0x0000000,
];

/// Letters of a word that one token covers, as long as they stand beside each other often enough.
const WORD: usize = 8;

/// About how many tokens a text is. Vendors count no more for prose, code, data and numbers in the vocabularies that were
/// tried; for Chinese and other scripts, the newer of them count half as much.
#[must_use]
pub fn of_text(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let (mut at, mut cost) = (0, 0);
    while let Some(&byte) = bytes.get(at) {
        let rest = &bytes[at..];
        let (length, price) = match byte {
            b'a'..=b'z' | b'A'..=b'Z' => word(rest),
            b'0'..=b'9' => (1, TOKEN),
            b' ' | b'\t' | b'\n' | b'\r' => blanks(rest),
            0..=0x7f => {
                let run = run(rest, |next| next == byte);
                (run, TOKEN + 2 * (wide(run) - 1))
            }
            _ => {
                let next = text[at..].chars().next().unwrap_or_default();
                (next.len_utf8(), of_char(next))
            }
        };
        at += length;
        cost += price;
    }
    cost.div_ceil(TOKEN)
}

/// The length of what stands at the beginning, and its cost: capitals, or a word that may begin with one.
fn word(text: &[u8]) -> (usize, u64) {
    let capitals = run(text, |next| next.is_ascii_uppercase());
    if capitals > 1 {
        return (capitals, (wide(capitals) * TOKEN / 2).max(TOKEN));
    }
    let length = capitals + run(&text[capitals..], |next| next.is_ascii_lowercase());
    let place = |letter: u8| usize::from(letter.to_ascii_lowercase() - b'a');
    let often = |pair: &[u8]| OFTEN_NEXT[place(pair[0])] >> place(pair[1]) & 1;
    let seldom = text[..length].windows(2).filter(|pair| often(pair) == 0).count();
    let cost = TOKEN * (1 + wide(seldom)) + 3 * wide(length.saturating_sub(WORD));
    // No token is less than a letter.
    (length, cost.min(TOKEN * wide(length)))
}

/// A single space goes with the word behind it, but not with a digit.
fn blanks(text: &[u8]) -> (usize, u64) {
    let length = run(text, |next| matches!(next, b' ' | b'\t' | b'\n' | b'\r'));
    let free = text[0] == b' ' && length == 1 && !text.get(1).is_some_and(u8::is_ascii_digit);
    (length, if free { 0 } else { TOKEN + wide(length - 1) })
}

fn of_char(c: char) -> u64 {
    match u32::from(c) {
        // Latin letters with accents; Greek and Cyrillic; Hebrew and Arabic; the scripts of India and South-East Asia.
        0x80..0x250 => 8,
        0x250..0x530 => 6,
        0x530..0x900 => 10,
        0x900..0x2000 => 16,
        // Punctuation, arrows and symbols.
        0x2000..0x2E80 => 16,
        // Kana and what stands between Chinese characters; Chinese characters; Korean syllables; full-width letters.
        0x3000..0x3100 => 9,
        0x4E00..0xA000 => 10,
        0xAC00..0xD7B0 => 12,
        0xFF00..0xFFF0 => 10,
        _ => 24,
    }
}

/// How many bytes at the beginning are such.
fn run(text: &[u8], is: impl Fn(u8) -> bool) -> usize {
    text.iter().position(|&byte| !is(byte)).unwrap_or(text.len())
}

fn wide(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// About how many tokens a message is, with what stands around it.
#[must_use]
pub fn of_message(message: &Message) -> u64 {
    let parts = |parts: &[ContentPart]| -> u64 {
        let part = |part: &ContentPart| match part {
            ContentPart::Text(text) => of_text(text),
            ContentPart::Image(_) | ContentPart::Audio(_) | ContentPart::Other(_) => MEDIUM,
        };
        parts.iter().map(part).sum()
    };
    AROUND
        + match message {
            Message::System(text) => of_text(text),
            Message::User(content) => parts(content),
            Message::Tool { name, content, .. } => of_text(name) + parts(content),
            Message::Assistant { text, reasoning, tool_calls, opaque } => {
                let calls: u64 =
                    tool_calls.iter().map(|call| AROUND + of_text(&call.name) + of_text(&call.arguments)).sum();
                let blobs: u64 = opaque.iter().map(|blob| of_text(&blob.value)).sum();
                of_text(text) + of_text(reasoning) + calls + blobs
            }
        }
}

/// About how many tokens a prompt is, its tools among them.
#[must_use]
pub fn of_prompt(prompt: &Prompt) -> u64 {
    prompt.messages.iter().map(of_message).sum::<u64>() + of_tools(&prompt.tools)
}

/// About how many tokens the definitions of tools are.
#[must_use]
pub fn of_tools(tools: &[ToolSpec]) -> u64 {
    let of_tool = |tool: &ToolSpec| {
        AROUND + of_text(&tool.name) + of_text(&tool.description) + of_text(&tool.parameters.to_string())
    };
    tools.iter().map(of_tool).sum()
}

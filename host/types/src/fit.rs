//! A prompt made to fit a model's window, out of whole messages and always a valid sequence.
//!
//! Of a prompt that is too long, large results of older turns give way first, each to a line that says so; then older
//! turns, whole; then the largest results of the turn under way. The messages before the first turn and the tools stay.
//! Both kinds of older things give way in batches that are counted from the beginning: a prompt that grows keeps the same
//! beginning for many turns, so that vendors' caches hit.

use std::borrow::Cow;

use crate::model::{ContentPart, Message, Prompt};
use crate::tokens;

/// What stands before the words of an interrupt: they belong to the turn that they came into.
pub const INTERRUPT: &str = "[打断消息]";

/// What gives way together is a part of the budget: one of so many.
const BATCHES: u64 = 4;

/// A result of so many tokens gives way before the turn that it is of.
const LARGE: u64 = 400;

/// What must stay is more than there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("what has to stay of the conversation is about {least} tokens, and there is room for {budget}")]
pub struct TooLong {
    /// Tokens of what must stay, estimated.
    pub least: u64,
    /// Tokens there is room for.
    pub budget: u64,
}

/// The prompt within `budget` tokens by [estimate](tokens::of_prompt); itself, where it is.
///
/// # Errors
///
/// When the turn under way, with the rules and the tools, is more than that even without its results.
pub fn fit(prompt: &Prompt, budget: u64) -> Result<Cow<'_, Prompt>, TooLong> {
    let mut sizes: Vec<u64> = prompt.messages.iter().map(tokens::of_message).collect();
    let fixed = tokens::of_tools(&prompt.tools);
    let total = |sizes: &[u64]| fixed + sizes.iter().sum::<u64>();
    if total(&sizes) <= budget {
        return Ok(Cow::Borrowed(prompt));
    }
    let turns = turns(&prompt.messages);
    let Some((&first, &current)) = turns.first().zip(turns.last()) else {
        return Err(TooLong { least: total(&sizes), budget });
    };
    let step = (budget / BATCHES).max(1);
    let mut messages: Vec<Cow<'_, Message>> = prompt.messages.iter().map(Cow::Borrowed).collect();

    let batches = batches_of(&sizes[first..current], step);
    for batch in 0..=batches.last().copied().unwrap_or(0) {
        for at in first..current {
            if batches[at - first] == batch && sizes[at] > LARGE {
                give_way(&mut messages[at], &mut sizes[at]);
            }
        }
        if total(&sizes) <= budget {
            return Ok(with(prompt, messages, first..first));
        }
    }

    let batches = batches_of(&sizes[first..current], step);
    let mut kept = first;
    while kept < current {
        // The next turn that begins in a later batch than what is kept by now.
        let batch = batches[kept - first];
        let later = |turn: &&usize| **turn == current || (**turn > kept && batches[**turn - first] > batch);
        kept = turns.iter().find(later).copied().unwrap_or(current);
        let rest = fixed + sizes[..first].iter().chain(&sizes[kept..]).sum::<u64>();
        if rest <= budget {
            return Ok(with(prompt, messages, first..kept));
        }
    }

    let mut left = fixed + sizes[..first].iter().chain(&sizes[current..]).sum::<u64>();
    let mut largest: Vec<usize> = (current..sizes.len()).collect();
    largest.sort_by_key(|at| std::cmp::Reverse(sizes[*at]));
    for at in largest {
        let before = sizes[at];
        give_way(&mut messages[at], &mut sizes[at]);
        left -= before - sizes[at];
        if left <= budget {
            return Ok(with(prompt, messages, first..current));
        }
    }
    Err(TooLong { least: left, budget })
}

/// Where the turns begin, after the messages at the beginning that are nobody's; the last is the one under way.
fn turns(messages: &[Message]) -> Vec<usize> {
    let Some(first) = messages.iter().position(|message| !matches!(message, Message::System(_))) else {
        return Vec::new();
    };
    let begins = |at: &usize| *at == first || begins_turn(&messages[*at]);
    (first..messages.len()).filter(begins).collect()
}

fn begins_turn(message: &Message) -> bool {
    let Message::User(parts) = message else { return false };
    !parts.iter().any(|part| matches!(part, ContentPart::Text(text) if text.starts_with(INTERRUPT)))
}

/// The batch of each message: how many steps there are before it.
fn batches_of(sizes: &[u64], step: u64) -> Vec<u64> {
    let mut before = 0;
    let batch = |size: &u64| {
        let batch = before / step;
        before += size;
        batch
    };
    sizes.iter().map(batch).collect()
}

/// Puts a line in the place of a result, if that is shorter.
fn give_way(message: &mut Cow<'_, Message>, size: &mut u64) {
    let Message::Tool { call, name, failed, .. } = message.as_ref() else { return };
    let line = format!("[left out, because the model's window is too small: a result of {name}, about {size} tokens]");
    let content = vec![ContentPart::Text(line)];
    let short = Message::Tool { call: call.clone(), name: name.clone(), content, failed: *failed };
    let shorter = tokens::of_message(&short);
    if shorter < *size {
        *message = Cow::Owned(short);
        *size = shorter;
    }
}

fn with<'a>(prompt: &Prompt, messages: Vec<Cow<'_, Message>>, without: std::ops::Range<usize>) -> Cow<'a, Prompt> {
    let kept = messages.into_iter().enumerate().filter(|(at, _)| !without.contains(at));
    Cow::Owned(Prompt {
        messages: kept.map(|(_, message)| message.into_owned()).collect(),
        tools: prompt.tools.clone(),
        tool_choice: prompt.tool_choice.clone(),
        max_tokens: prompt.max_tokens,
    })
}

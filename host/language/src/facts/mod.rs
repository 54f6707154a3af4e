//! What people say of themselves and of those near them: names, homes, likes, ages, work, family. By rules, in Chinese and
//! English, and rather nothing than something that was not said: questions, conditions, wishes and others' words give none.

mod chinese;
mod dates;
mod english;
mod fact;
mod kin;
mod lexicon;
mod reading;
mod values;

pub(crate) use dates::chinese_number;
pub use fact::{Fact, Predicate, Subject, When};

pub(crate) use kin::{addressed_family, is_address};
pub(crate) use values::is_full_name;

use reading::Sentence;

/// How many facts are taken from one text at most: nobody says more of himself in one message.
const MOST: usize = 100;

/// The personal facts in what somebody said, in the order in which they were said, each once. `text` is one message of one
/// person, who is [`Subject::Speaker`]. Quoted lines, quotations and code are nobody's facts.
#[must_use]
pub fn personal_facts(text: &str) -> Vec<Fact> {
    let masked = reading::without_quotations(text);
    let mut facts: Vec<Fact> = Vec::new();
    let mut about = reading::Thread::default();
    for sentence in reading::sentences(&masked) {
        for fact in facts_of(&sentence, &mut about) {
            if facts.len() < MOST && !facts.iter().any(|known| known.says_the_same(&fact)) {
                facts.push(fact);
            }
        }
    }
    facts
}

/// The facts of one sentence. `about` is whom the talk is of, which the next sentence may go on with.
fn facts_of(sentence: &Sentence, about: &mut reading::Thread) -> Vec<Fact> {
    let mut found = Vec::new();
    for clause in sentence.clauses() {
        let said = if clause.is_chinese() { chinese::read(&clause, about) } else { english::read(&clause, about) };
        found.extend(said.into_iter().map(|mut fact| {
            fact.span = sentence.span.clone();
            fact
        }));
    }
    found
}

#[cfg(test)]
mod tests;

//! What the rules take from each message of the month by itself.

use std::collections::BTreeSet;

use homeagent_language::facts::{Predicate, Subject, When, personal_facts};

use super::home::About;
use super::truth::folded;
use super::{Message, Month};

/// What the truth calls a predicate.
fn about(predicate: Predicate) -> Option<About> {
    match predicate {
        Predicate::Name => Some(About::Name),
        Predicate::Home => Some(About::Home),
        Predicate::Job => Some(About::Job),
        Predicate::Age => Some(About::Age),
        Predicate::Likes => Some(About::Likes),
        _ => None,
    }
}

/// What was taken from the messages of some months.
#[derive(Default)]
struct Taken {
    facts: usize,
    /// What nobody said of himself.
    junk: Vec<String>,
    told: usize,
    /// Messages from which nothing was taken of what is told in them, where no other message made up for it.
    missed: Vec<String>,
}

impl Taken {
    fn add(&mut self, month: &Month) {
        let told: BTreeSet<_> =
            month.truth.told.iter().map(|fact| (fact.person, fact.about, folded(&fact.value))).collect();
        let mut found = BTreeSet::new();
        for message in &month.messages {
            let Some(account) = message.account else { continue };
            for fact in personal_facts(&message.text) {
                let Some(about) = about(fact.predicate) else { continue };
                if fact.subject != Subject::Speaker || fact.negated || fact.when != When::Current {
                    continue;
                }
                self.facts += 1;
                let key = (account, about, folded(&fact.value));
                if !told.contains(&key) {
                    self.junk.push(format!("{} -> {fact}", message.text));
                }
                found.insert(key);
            }
        }
        self.told += told.len();
        for (account, _, value) in told.difference(&found) {
            let telling =
                |message: &&Message| message.account == Some(account) && folded(&message.text).contains(value.as_str());
            self.missed.extend(month.messages.iter().find(telling).map(|message| message.text.clone()));
        }
    }
}

#[test]
fn what_people_say_of_themselves_is_taken_and_little_else() {
    let mut taken = Taken::default();
    (0..5).for_each(|seed| taken.add(&Month::of(seed)));
    println!("{} facts, {} junk: {:#?}", taken.facts, taken.junk.len(), taken.junk);
    println!("{} told, {} missed: {:#?}", taken.told, taken.missed.len(), taken.missed);
    assert!(taken.junk.len() * 100 <= taken.facts * 3, "at most 3 in 100 are junk");
    assert!(taken.missed.len() * 100 <= taken.told * 5, "at most 5 in 100 are missed");
}

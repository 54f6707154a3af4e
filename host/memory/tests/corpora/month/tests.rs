//! The month is what it says it is.

use std::collections::BTreeSet;

use super::home::{About, Language, PEOPLE, values};
use super::kernels::Kernels;
use super::truth::{Held, Score};
use super::{DAYS, FIRST_MORNING_MS, MESSAGES, Month};

/// What a memory would hold that took each fact as it is.
fn all_right(month: &Month) -> Vec<Held> {
    let held = |fact: &super::truth::Fact| Held {
        person: fact.person.to_owned(),
        about: fact.about,
        value: fact.value.clone(),
        audience: String::new(),
        current: fact.until.is_none(),
    };
    month.truth.told.iter().map(held).collect()
}

#[test]
fn a_seed_gives_one_month_of_the_size_it_says() {
    let month = Month::of(7);
    assert_eq!(month.messages, Month::of(7).messages);
    assert_ne!(month.messages, Month::of(8).messages);
    assert_eq!(month.messages.len(), MESSAGES);
    assert!(Kernels::read().len() >= 150);
    let last = month.messages.last().expect("messages").at_ms;
    assert_eq!((last - FIRST_MORNING_MS) / 86_400_000, i64::from(DAYS) - 1);
    assert!(month.messages.iter().all(|message| !message.text.contains('{')), "no gap is left open");
}

#[test]
fn what_is_so_and_what_is_not_are_never_the_same() {
    for seed in 0..20 {
        let truth = Month::of(seed).truth;
        for told in &truth.told {
            assert!(!truth.never.contains(&(told.person, told.about, told.value.clone())), "{told:?}");
        }
        let single = |about| matches!(about, About::Name | About::Home | About::Job | About::Age);
        let holding: Vec<_> = truth.told.iter().filter(|told| told.until.is_none() && single(told.about)).collect();
        let distinct: BTreeSet<_> = holding.iter().map(|told| (told.person, told.about)).collect();
        assert_eq!(distinct.len(), holding.len(), "one name, home, job and age each");
        assert_eq!(holding.len(), 4 * PEOPLE.len());
    }
}

#[test]
fn what_is_to_be_forgotten_is_said_and_asked_for_in_private() {
    let month = Month::of(7);
    assert!(!month.truth.gone.is_empty());
    for code in &month.truth.gone {
        let saying: Vec<_> = month.messages.iter().filter(|message| message.text.contains(code.as_str())).collect();
        assert_eq!(saying.len(), 2, "{code}");
        assert!(saying.iter().all(|message| message.audience.starts_with("person:")));
    }
}

#[test]
fn no_value_is_part_of_another() {
    for language in [Language::Zh, Language::En] {
        for about in [About::Home, About::Job, About::Likes] {
            let list = values(about, language);
            let within = |one: &String| list.iter().any(|other| other != one && other.contains(one.as_str()));
            assert!(!list.iter().any(within), "{about:?} {language:?}");
        }
    }
}

#[test]
fn the_score_counts_each_kind_of_mistake() {
    let month = Month::of(7);
    let mut held = all_right(&month);
    let score = month.truth.score(&held);
    assert_eq!(score, Score { held: held.len(), holding: score.holding, ..Score::default() });

    let never = month.truth.never.iter().find(|never| !month.truth.past.contains(*never)).expect("something denied");
    let ended = held.iter().position(|fact| !fact.current).expect("a fact that has ended");
    held[ended].current = true;
    let holding: Vec<usize> = (0..held.len()).filter(|at| held[*at].current && *at != ended).collect();
    held[holding[1]].current = false;
    held.push(held[holding[2]].clone());
    let elsewhere = Held { audience: "group:home:all".to_owned(), ..held[holding[3]].clone() };
    held.push(elsewhere);
    held.push(Held {
        person: never.0.to_owned(),
        about: never.1,
        value: never.2.clone(),
        audience: String::new(),
        current: true,
    });
    held.remove(holding[0]);
    let score = month.truth.score(&held);
    let Score { duplicates, shown_again, junk, wrongly_closed, stale, missing, .. } = &score;
    let counts = [duplicates, shown_again, junk, wrongly_closed, stale, missing].map(Vec::len);
    assert_eq!(counts, [1; 6], "{score:?}");
    assert!(Score::share(&score.junk, score.held) > 0.0);
}

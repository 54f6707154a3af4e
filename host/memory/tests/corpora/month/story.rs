//! Who says when what of himself, and what is true of it.

use super::home::{About, PEOPLE, TWINS, values};
use super::kernels::Act;
use super::random::Random;
use super::truth::{Fact, Truth};

/// One thing said that has to do with a fact.
#[derive(Debug)]
pub(crate) struct Beat {
    pub(crate) day: u32,
    /// The index among [`PEOPLE`].
    pub(crate) person: usize,
    pub(crate) act: Act,
    pub(crate) about: About,
    pub(crate) value: String,
    /// What had been said before, where this takes it back.
    pub(crate) old: String,
}

/// What everybody tells in the month, and what is true at its end.
pub(crate) fn told(random: &mut Random) -> (Vec<Beat>, Truth) {
    let mut story = Story { beats: Vec::new(), truth: Truth::default(), random };
    for person in 0..PEOPLE.len() {
        story.of_a_person(person);
    }
    story.of_twins();
    story.truth.distinct.extend([("home:zhangwei".to_owned(), "home:zhangwei2".to_owned())]);
    story.truth.distinct.extend([("home:anna".to_owned(), "home:anna2".to_owned())]);
    (story.beats, story.truth)
}

struct Story<'a> {
    beats: Vec<Beat>,
    truth: Truth,
    random: &'a mut Random,
}

impl Story<'_> {
    fn of_a_person(&mut self, person: usize) {
        let name = PEOPLE[person].name.to_owned();
        self.steady(person, About::Name, &name);
        for (nth, about) in [About::Home, About::Job, About::Age].into_iter().enumerate() {
            let mut values = self.shuffled(about, person);
            match (person + nth) % 3 {
                0 => {
                    let value = values.pop().expect("values are many");
                    self.steady(person, about, &value);
                }
                1 => self.put_right(person, about, &mut values),
                _ => self.changed(person, about, &mut values),
            }
            self.not_so(person, about, &mut values);
        }
        let mut likes = self.shuffled(About::Likes, person);
        for _ in 0..3 {
            let liked = likes.pop().expect("values are many");
            self.steady(person, About::Likes, &liked);
        }
        let given_up = likes.pop().expect("values are many");
        self.given_up(person, &given_up);
        self.not_so(person, About::Likes, &mut likes);
        if person.is_multiple_of(2) {
            self.kept_and_forgotten(person);
        }
    }

    /// Told early, said again and again, and true to the end.
    fn steady(&mut self, person: usize, about: About, value: &str) {
        let from = self.say((0, 4), person, Act::Tell, about, (value, ""));
        self.say((6, 12), person, Act::Tell, about, (value, ""));
        self.say((14, 20), person, Act::Recall, about, (value, ""));
        self.say((22, 30), person, Act::Tell, about, (value, ""));
        self.fact(person, about, value, from, None);
    }

    /// Told wrongly at first, then put right.
    fn put_right(&mut self, person: usize, about: About, values: &mut Vec<String>) {
        let (Some(wrong), Some(right)) = (values.pop(), values.pop()) else { return };
        let from = self.say((0, 4), person, Act::Tell, about, (&wrong, ""));
        let corrected = self.say((5, 10), person, Act::Correct, about, (&right, &wrong));
        self.say((12, 20), person, Act::Tell, about, (&right, ""));
        self.say((21, 30), person, Act::Recall, about, (&right, ""));
        self.fact(person, about, &wrong, from, Some(corrected));
        self.fact(person, about, &right, corrected, None);
    }

    /// So for two weeks, then otherwise.
    fn changed(&mut self, person: usize, about: About, values: &mut Vec<String>) {
        let Some(first) = values.pop() else { return };
        let next = match (about, first.parse::<u32>()) {
            (About::Age, Ok(age)) => {
                let older = (age + 1).to_string();
                values.retain(|value| *value != older);
                older
            }
            _ => values.pop().expect("values are many"),
        };
        let from = self.say((0, 4), person, Act::Tell, about, (&first, ""));
        self.say((5, 10), person, Act::Tell, about, (&first, ""));
        let since = self.say((13, 18), person, Act::Change, about, (&next, &first));
        self.say((20, 30), person, Act::Tell, about, (&next, ""));
        self.fact(person, about, &first, from, Some(since));
        self.fact(person, about, &next, since, None);
    }

    fn given_up(&mut self, person: usize, value: &str) {
        let from = self.say((0, 5), person, Act::Tell, About::Likes, (value, ""));
        let until = self.say((20, 26), person, Act::Stop, About::Likes, (value, ""));
        self.fact(person, About::Likes, value, from, Some(until));
    }

    /// What is said without being so: of the past, denied, supposed, of others, asked.
    fn not_so(&mut self, person: usize, about: About, values: &mut Vec<String>) {
        let account = PEOPLE[person].account;
        for act in [Act::Past, Act::Deny, Act::Suppose, Act::Quote, Act::Ask] {
            let Some(value) = values.pop() else { return };
            self.say((2, 14), person, act, about, (&value, ""));
            self.say((15, 29), person, act, about, (&value, ""));
            if act == Act::Past {
                self.truth.past.insert((account, about, value.clone()));
            }
            self.truth.never.insert((account, about, value));
        }
    }

    fn kept_and_forgotten(&mut self, person: usize) {
        let code = format!("{}{:04}{}", PEOPLE[person].account.len(), self.random.within(1_000, 9_999), {
            let letters = ["KOALA", "ZEBRA", "MOLCH", "IBIS", "OTTER"];
            letters[person % letters.len()]
        });
        self.say((3, 10), person, Act::Secret, About::Code, (&code, ""));
        self.say((20, 29), person, Act::Forget, About::Code, (&code, ""));
        self.truth.gone.push(code);
    }

    fn of_twins(&mut self) {
        for (nth, (language, one, other)) in TWINS.into_iter().enumerate() {
            let speakers: Vec<usize> = (0..PEOPLE.len()).filter(|at| PEOPLE[*at].language == language).collect();
            let person = speakers[nth % speakers.len()];
            for thing in [one, other, one, other] {
                self.say((1, 29), person, Act::Twin, About::Thing, (thing, ""));
            }
            self.truth.distinct.push((one.to_owned(), other.to_owned()));
        }
    }

    /// On which day it is said.
    fn say(
        &mut self,
        (from, until): (u32, u32),
        person: usize,
        act: Act,
        about: About,
        (value, old): (&str, &str),
    ) -> u32 {
        let day = self.random.within(from, until);
        self.beats.push(Beat { day, person, act, about, value: value.to_owned(), old: old.to_owned() });
        day
    }

    fn fact(&mut self, person: usize, about: About, value: &str, from: u32, until: Option<u32>) {
        let person = PEOPLE[person].account;
        self.truth.told.push(Fact { person, about, value: value.to_owned(), from, until });
    }

    fn shuffled(&mut self, about: About, person: usize) -> Vec<String> {
        let mut list = match about {
            // Far enough apart that a birthday makes no two the same.
            About::Age => (18..80).step_by(3).map(|age: u32| age.to_string()).collect(),
            _ => values(about, PEOPLE[person].language),
        };
        self.random.shuffle(&mut list);
        list
    }
}

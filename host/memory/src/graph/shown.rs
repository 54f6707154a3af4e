//! What was shown lately, and to which run: it is neither shown there again nor taken for something new that was said.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use homeagent_language::text;
use homeagent_types::Viewer;

use super::{Graph, GraphError};

/// Runs that are remembered; the one longest ago goes.
const RUNS: usize = 256;

/// Relations and texts that are remembered for each.
const EACH: usize = 2000;

/// What was shown. In memory: after a start every window is made anew.
#[derive(Default)]
pub(super) struct Shown {
    runs: Mutex<Runs>,
}

#[derive(Default)]
struct Runs {
    by_name: HashMap<String, Run>,
    /// Oldest first.
    order: VecDeque<String>,
}

#[derive(Default)]
struct Run {
    relations: HashSet<i64>,
    texts: HashSet<String>,
}

impl Runs {
    fn of(&mut self, run: &str) -> &mut Run {
        if !self.by_name.contains_key(run) {
            self.order.push_back(run.to_owned());
            if self.order.len() > RUNS {
                self.order.pop_front().into_iter().for_each(|oldest| drop(self.by_name.remove(&oldest)));
            }
        }
        self.by_name.entry(run.to_owned()).or_default()
    }
}

impl Shown {
    fn lock(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn relations(&self, run: &str) -> HashSet<i64> {
        self.lock().by_name.get(run).map(|run| run.relations.clone()).unwrap_or_default()
    }

    /// Forgets it all, after something was deleted.
    pub(super) fn clear(&self) {
        *self.lock() = Runs::default();
    }
}

impl Graph {
    /// Notes that relations were shown in a run, by a tool or in the prompt: [`Graph::recall`] leaves them
    /// out there from then on, and [`Graph::was_shown`] knows them and the sentences behind them.
    ///
    /// # Errors
    ///
    /// What the database answers.
    pub fn mark_recalled(&self, run: &str, relations: &[i64], viewer: &Viewer) -> Result<(), GraphError> {
        let (marked, texts) = self.show("reading what was shown", viewer, |showing| {
            let (mut marked, mut texts) = (Vec::new(), Vec::new());
            for id in relations {
                let Some(relation) = showing.relation(*id)? else { continue };
                let rows: Vec<i64> = relation.ids().collect();
                let sentences = showing.sentences_of(&rows, 8)?;
                texts.extend(sentences.into_iter().map(|sentence| sentence.text));
                marked.push(relation);
            }
            Ok((marked, texts))
        })?;
        let mut runs = self.shared.shown.lock();
        let run = runs.of(run);
        for relation in marked.into_iter().take(EACH.saturating_sub(run.relations.len())) {
            run.relations.extend(relation.ids());
            run.texts.insert(plain(&relation.text));
        }
        run.note(texts.iter().map(String::as_str));
        Ok(())
    }

    /// Notes texts that were shown in a run, such as passages that were recalled.
    pub fn note_shown<'a>(&self, run: &str, texts: impl IntoIterator<Item = &'a str>) {
        self.shared.shown.lock().of(run).note(texts);
    }

    /// Whether a text, but for case, width, spaces and punctuation, was shown in a run: then it says nothing new.
    #[must_use]
    pub fn was_shown(&self, run: &str, text: &str) -> bool {
        let plain = plain(text);
        self.shared.shown.lock().by_name.get(run).is_some_and(|run| run.texts.contains(&plain))
    }
}

impl Run {
    fn note<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) {
        let sentences = texts.into_iter().flat_map(|text| std::iter::once(text).chain(text::sentences(text)));
        for text in sentences.map(plain).filter(|text| !text.is_empty()) {
            if self.texts.len() >= EACH {
                break;
            }
            self.texts.insert(text);
        }
    }
}

/// The letters and digits of a text, folded.
fn plain(text: &str) -> String {
    text::fold(text).chars().filter(|c| c.is_alphanumeric()).collect()
}

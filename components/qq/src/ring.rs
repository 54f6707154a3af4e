//! Memories of bounded size: what came last is kept, what came first gives way.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

/// The last things of a kind, by name.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ring<V = ()> {
    values: BTreeMap<String, V>,
    order: VecDeque<String>,
    most: usize,
}

impl<V> Ring<V> {
    /// A memory of at most so many things.
    pub(crate) fn new(most: usize) -> Self {
        Self { values: BTreeMap::new(), order: VecDeque::new(), most }
    }

    /// Keeps a thing; false, where one of the name was there, whose value is replaced.
    pub(crate) fn keep(&mut self, name: &str, value: V) -> bool {
        if self.values.insert(name.to_owned(), value).is_some() {
            return false;
        }
        self.order.push_back(name.to_owned());
        while self.order.len() > self.most {
            let first = self.order.pop_front();
            first.and_then(|first| self.values.remove(&first));
        }
        true
    }

    /// The thing of a name.
    pub(crate) fn get(&self, name: &str) -> Option<&V> {
        self.values.get(name)
    }

    /// The same, to be changed.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut V> {
        self.values.get_mut(name)
    }

    /// All things, to be changed.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.values.values_mut()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_gives_way() {
        let mut ring = Ring::new(2);
        assert!(ring.keep("a", 1) && ring.keep("b", 2) && !ring.keep("a", 3) && ring.keep("c", 4));
        assert_eq!((ring.get("a"), ring.get("b"), ring.get("c")), (None, Some(&2), Some(&4)));
        assert_eq!(ring.order.len(), ring.values.len());
    }
}

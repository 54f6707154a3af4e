//! Which passages may be seen and are asked for.

use homeagent_types::{Audience, Viewer};

use super::PassageKind;
use super::columns::{Columns, Head};

/// Which passages a question may be answered with. What it lets through is all that ranking ever looks at.
pub(crate) struct Filter {
    /// By the number of the audience; nothing where all may be seen.
    audiences: Option<Vec<bool>>,
    kinds: [bool; 8],
    conversation: Option<u32>,
}

impl Filter {
    /// What `viewer` may see of `kinds` (all where there are none), in one conversation where one is named.
    pub(crate) fn new(columns: &Columns, viewer: &Viewer, kinds: &[PassageKind], conversation: Option<&str>) -> Self {
        let audiences = match viewer {
            Viewer::Everything => None,
            Viewer::Only(audiences) => {
                let visible = audiences.iter().filter(|audience| viewer.may_see(audience));
                Some(bitmap(visible.filter_map(|audience: &Audience| columns.name_id(&audience.to_string()))))
            }
        };
        let all = if kinds.is_empty() { &PassageKind::ALL } else { kinds };
        let mut kinds = [false; 8];
        for kind in all {
            if let Some(allowed) = kinds.get_mut(usize::from(kind.code())) {
                *allowed = true;
            }
        }
        // A conversation of which there is nothing has a number that no passage has.
        let conversation = conversation.map(|name| columns.name_id(name).unwrap_or(u32::MAX));
        Self { audiences, kinds, conversation }
    }

    /// How many passages it lets through; with a conversation, how many that has.
    pub(crate) fn count(&self, columns: &Columns) -> usize {
        if let Some(conversation) = self.conversation {
            return columns.conversation(conversation).len();
        }
        let counted = columns.counts.iter().filter(|((audience, kind), _)| self.shows(*audience, *kind));
        counted.map(|(_, count)| count).sum()
    }

    pub(crate) fn allows(&self, entry: &Head) -> bool {
        let here = self.conversation.is_none_or(|conversation| conversation == entry.conversation);
        here && self.shows(entry.audience, entry.kind)
    }

    fn shows(&self, audience: u32, kind: u8) -> bool {
        let seen = self.audiences.as_ref().is_none_or(|seen| seen.get(audience as usize) == Some(&true));
        seen && self.kinds.get(usize::from(kind)) == Some(&true)
    }
}

fn bitmap(ids: impl Iterator<Item = u32>) -> Vec<bool> {
    let mut bitmap = Vec::new();
    for id in ids {
        let id = id as usize;
        if bitmap.len() <= id {
            bitmap.resize(id + 1, false);
        }
        if let Some(bit) = bitmap.get_mut(id) {
            *bit = true;
        }
    }
    bitmap
}

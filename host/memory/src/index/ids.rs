//! Which slot a passage's id has.

use super::Slot;

/// The ids of the slots, ascending. Ids mostly follow each other: only where one is missing is anything kept.
#[derive(Default)]
pub(super) struct Ids {
    /// The first id and the first slot of each stretch without a gap.
    stretches: Vec<(i64, Slot)>,
    next: i64,
    len: Slot,
}

impl Ids {
    /// Gives the next slot to an id that is higher than all there are.
    pub(super) fn push(&mut self, id: i64) -> Slot {
        let slot = self.len;
        if self.stretches.is_empty() || id != self.next {
            self.stretches.push((id, slot));
        }
        self.next = id.saturating_add(1);
        self.len += 1;
        slot
    }

    /// The slot that was given to an id.
    pub(super) fn slot(&self, id: i64) -> Option<Slot> {
        let after = self.stretches.partition_point(|(first, _)| *first <= id);
        let (first, slot) = self.stretches.get(after.checked_sub(1)?)?;
        let end = self.stretches.get(after).map_or(self.len, |(_, slot)| *slot);
        let slot = Slot::try_from(id.checked_sub(*first)?).ok()?.checked_add(*slot)?;
        (slot < end).then_some(slot)
    }

    /// The id that a slot was given to.
    pub(super) fn id(&self, slot: Slot) -> Option<i64> {
        let after = self.stretches.partition_point(|(_, first)| *first <= slot);
        let (id, first) = self.stretches.get(after.checked_sub(1)?)?;
        (slot < self.len).then(|| id + i64::from(slot - first))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn each_id_has_its_own_slot_and_no_other_has_one(ids in prop::collection::btree_set(-3i64..60, 0..40)) {
            let mut kept = Ids::default();
            for (slot, id) in (0..).zip(&ids) {
                prop_assert_eq!(kept.push(*id), slot);
            }
            let slots: BTreeSet<Slot> = ids.iter().filter_map(|id| kept.slot(*id)).collect();
            prop_assert_eq!(slots.len(), ids.len());
            for id in -5..65 {
                let slot = kept.slot(id);
                prop_assert_eq!(slot.is_some(), ids.contains(&id));
                prop_assert_eq!(slot.and_then(|slot| kept.id(slot)), slot.map(|_| id));
            }
            prop_assert_eq!(kept.id(ids.len() as Slot), None);
        }
    }
}

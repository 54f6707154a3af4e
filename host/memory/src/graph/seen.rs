//! Which audiences' rows a reader sees, as SQL.

use std::collections::HashMap;
use std::sync::PoisonError;

use homeagent_types::{Audience, Viewer};
use rusqlite::Connection;

use super::Graph;
use super::model::EntityKind;

/// The ids of the audiences that a reader is of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Seen {
    All,
    /// Sorted.
    Only(Vec<i64>),
}

impl Seen {
    /// A condition for rows whose audience stands in `column`. The ids are numbers of our own, so nothing can be slipped in;
    /// the text is the same for the same reader, so the statement stays prepared. The `+` keeps SQLite from looking rows up
    /// by audience: one holds a great part of all of them.
    pub(super) fn condition(&self, column: &str) -> String {
        match self {
            Self::All => "1".to_owned(),
            Self::Only(ids) => {
                let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
                format!("+{column} IN ({})", ids.join(","))
            }
        }
    }

    /// What closes a relation, as far as a reader may know, as the tables and conditions of a subquery: `closer` is the
    /// relation that does. What is said again of the closed one later opens it, until the other is said again.
    pub(super) fn closer(&self, relations: &str) -> String {
        format!(
            "closings JOIN relations AS closer ON closer.id = by_relation
             WHERE relation = {relations}.id AND undone = 0 AND closer.retracted_at IS NULL
             AND closer.last_at >= {relations}.last_at AND {}",
            self.condition("closer.audience")
        )
    }

    /// What says that a relation has ended, told before whatever audience after it was said itself, as the tables and
    /// conditions of a subquery: `ender`. Nothing stored closes it where its own audience and the other do not know of each
    /// other, so it is worked out for each reader. A pair that is stored is left to [`Seen::closer`], and what was undone
    /// stays undone until it is said to have ended once more.
    pub(super) fn ender(&self, relations: &str) -> String {
        format!(
            "relations AS ender INDEXED BY relations_ended
             WHERE ender.subject = {relations}.subject AND ender.predicate = {relations}.predicate
             AND ender.valid_to IS NOT NULL AND ender.retracted_at IS NULL
             AND {relations}.valid_to IS NULL AND ender.valid_to >= {relations}.learnt_at
             AND (ender.object_key = {relations}.object_key OR ender.object IN (
                 SELECT same.entity FROM names AS own JOIN names AS same ON same.folded = own.folded
                 WHERE own.entity = {relations}.object AND {} AND {} AND {} AND {}))
             AND (ender.last_at, ender.id) > ({relations}.last_at, {relations}.id) AND {}
             AND NOT EXISTS (
                 SELECT 1 FROM closings JOIN relations AS closer ON closer.id = by_relation
                 WHERE relation = {relations}.id AND (closer.id = ender.id OR (undone = 1
                     AND closer.valid_to IS NOT NULL AND closer.last_at >= ender.last_at AND {})))",
            EntityKind::shared_condition("own.kind"),
            EntityKind::shared_condition("same.kind"),
            self.condition("own.audience"),
            self.condition("same.audience"),
            self.condition("ender.audience"),
            self.condition("closer.audience")
        )
    }

    /// A condition for rows of `graph_changes`: those made before the reader, of closings those of which both ends may be
    /// seen.
    pub(super) fn change(&self) -> String {
        format!(
            "{} AND (kind <> 'closing' OR EXISTS (
                 SELECT 1 FROM closings JOIN relations AS closed ON closed.id = relation
                 JOIN relations AS closer ON closer.id = by_relation
                 WHERE change = graph_changes.id AND {} AND {}))",
            self.condition("audience"),
            self.condition("closed.audience"),
            self.condition("closer.audience")
        )
    }

    pub(super) fn holds(&self, audience: i64) -> bool {
        match self {
            Self::All => true,
            Self::Only(ids) => ids.binary_search(&audience).is_ok(),
        }
    }
}

pub(super) fn load(connection: &Connection) -> rusqlite::Result<HashMap<String, i64>> {
    let mut statement = connection.prepare("SELECT text, id FROM graph_audiences")?;
    statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

impl Graph {
    /// What of the graph a reader may be shown.
    pub(super) fn seen(&self, viewer: &Viewer) -> Seen {
        let Viewer::Only(audiences) = viewer else { return Seen::All };
        let known = self.shared.known.read().unwrap_or_else(PoisonError::into_inner);
        let visible = audiences.iter().filter(|audience| viewer.may_see(audience));
        let mut ids: Vec<i64> = visible.filter_map(|audience| known.get(&audience.to_string()).copied()).collect();
        ids.sort_unstable();
        ids.dedup();
        Seen::Only(ids)
    }
}

/// The audiences in which a name means the same as in this one: private talk with the same human, over whichever of their
/// accounts; else only itself.
pub(super) fn context(audience: &Audience, viewer: &Viewer) -> Vec<Audience> {
    let mut context = vec![audience.clone()];
    if let (Audience::Person(_), Viewer::Only(seen)) = (audience, viewer) {
        let own = seen.iter().filter(|other| matches!(other, Audience::Person(_)) && *other != audience);
        context.extend(own.cloned());
    }
    context
}

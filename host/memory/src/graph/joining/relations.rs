//! Relations and the sentences behind them.

use homeagent_language::text;
use rusqlite::{OptionalExtension as _, Row, params};

use super::fields::{Fields, invalid};
use super::{Joining, Place};
use crate::graph::error::Stop;
use crate::graph::predicate;
use crate::graph::seen::Seen;
use crate::graph::terms;
use crate::graph::tombstones::Grave;
use crate::social::TRAIT;

/// A relation of the file, with its ends as they are numbered here.
struct TheirRelation {
    id: i64,
    /// The file's numbers of its ends.
    ends: (i64, Option<i64>),
    subject: i64,
    predicate: String,
    object: Option<i64>,
    literal: Option<String>,
    object_key: String,
    kinds: String,
    audience: i64,
    confidence: f64,
    mentions: i64,
    valid_from: Option<i64>,
    valid_to: Option<i64>,
    learnt_at: i64,
    last_at: i64,
    retracted_at: Option<i64>,
    judged: i64,
}

/// A row here of the same statement.
struct Standing {
    id: i64,
    retracted_at: Option<i64>,
    is_ended: bool,
    /// Until when the last one that closes it was said.
    closed: Option<i64>,
}

/// What a relation of the file is here.
enum Found {
    Here(Place),
    Nowhere,
    /// It was here and is gone, or was taken back after it was said there.
    Gone,
}

impl Joining<'_, '_> {
    pub(super) fn take_relation(&mut self, row: &Fields<'_>) -> Result<(), Stop> {
        let id = row.number("id")?;
        let audience = self.circle(row)?.id;
        let ends = (row.number("subject")?, row.optional_number("object")?);
        let subject = self.entity(ends.0)?;
        let object = ends.1.map(|object| self.entity(object)).transpose()?;
        let (Some(subject), false) = (subject, object == Some(None)) else {
            self.relations.insert(id, None);
            return Ok(());
        };
        let object = object.flatten();
        let literal = row.optional_text("literal")?;
        if object.is_some() == literal.is_some() {
            return Err(invalid(format!("relation {id} has either an object or a literal")));
        }
        let their = TheirRelation {
            id,
            ends,
            subject,
            predicate: row.text("predicate")?,
            object,
            object_key: object.map_or_else(|| row.text("object_key"), |object| Ok(object.to_string()))?,
            literal,
            kinds: row.text("kinds")?,
            audience,
            confidence: row.real("confidence")?.clamp(0.0, 1.0),
            mentions: row.number("mentions")?,
            valid_from: row.optional_number("valid_from")?,
            valid_to: row.optional_number("valid_to")?,
            learnt_at: row.number("learnt_at")?,
            last_at: row.number("last_at")?,
            retracted_at: row.optional_number("retracted_at")?,
            judged: row.number("judged")?,
        };
        let is_deleted = self.is_deleted(row, &their)?;
        let place = match self.find(&their)? {
            Found::Here(place) => {
                self.refresh(&their, place.id)?;
                self.retracted.extend(their.retracted_at.map(|at| (id, at)));
                Some(place)
            }
            Found::Nowhere if !is_deleted => Some(self.make(&their)?),
            Found::Nowhere | Found::Gone => None,
        };
        if let Some(place) = place {
            self.claimed.insert(place.id);
        }
        self.relations.insert(id, place);
        Ok(())
    }

    fn entity(&self, theirs: i64) -> Result<Option<i64>, Stop> {
        let found = self.entities.get(&theirs).copied();
        found.ok_or_else(|| invalid(format!("there is no entity {theirs} in the file")))
    }

    /// Whether it was deleted here, under any name that its ends have in the file, after it was last said there.
    fn is_deleted(&self, row: &Fields<'_>, their: &TheirRelation) -> Result<bool, Stop> {
        let tombstones = &self.writing.tombstones;
        if tombstones.is_empty() {
            return Ok(false);
        }
        let audience = &self.circle(row)?.text;
        let literal: Vec<String> = their.literal.iter().map(|literal| text::fold(literal)).collect();
        let labels = |entity: i64| self.labels.get(&entity).map_or(&[][..], Vec::as_slice);
        let objects = their.ends.1.map_or(literal.as_slice(), labels);
        let predicate = their.predicate.as_str();
        Ok(labels(their.ends.0).iter().any(|subject| {
            objects.iter().any(|object| {
                tombstones.forbid(Grave::Relation { subject, predicate, object, audience }, their.last_at)
            })
        }))
    }

    fn find(&self, their: &TheirRelation) -> Result<Found, Stop> {
        if self.is_kin && self.says(their.id, their)? == Some(true) {
            return Ok(Found::Here(Place { id: their.id, made: true }));
        }
        if let Some(place) = self.known("relation", their.id, 0)? {
            match self.says(place.id, their)? {
                Some(true) => return Ok(Found::Here(place)),
                Some(false) => {}
                None => return Ok(Found::Gone),
            }
        }
        let closer = Seen::All.closer("relations");
        let sql = format!(
            "SELECT id, retracted_at, valid_to IS NOT NULL, (SELECT max(closer.last_at) FROM {closer})
             FROM relations WHERE subject = ?1 AND predicate = ?2 AND object_key = ?3 AND audience = ?4
             ORDER BY id DESC"
        );
        let read = |row: &Row<'_>| {
            Ok(Standing { id: row.get(0)?, retracted_at: row.get(1)?, is_ended: row.get(2)?, closed: row.get(3)? })
        };
        let key = params![their.subject, their.predicate, their.object_key, their.audience];
        let mut statement = self.writing.connection.prepare_cached(&sql)?;
        let rows: Vec<Standing> = statement.query_map(key, read)?.collect::<Result<_, _>>()?;
        for row in rows.iter().filter(|row| !self.claimed.contains(&row.id)) {
            let joins = match (row.retracted_at, their.retracted_at) {
                (Some(here), None) if their.last_at <= here => return Ok(Found::Gone),
                (None, None) => match (row.is_ended, their.valid_to.is_some()) {
                    (true, true) => true,
                    (false, false) => row.closed.is_none_or(|closed| their.last_at <= closed),
                    _ => false,
                },
                (here, there) => here == there,
            };
            if joins {
                return Ok(Found::Here(Place { id: row.id, made: false }));
            }
        }
        Ok(Found::Nowhere)
    }

    /// Whether a row here is of the same statement; none: there is no such row.
    fn says(&self, id: i64, their: &TheirRelation) -> rusqlite::Result<Option<bool>> {
        let sql = "SELECT subject = ?2 AND predicate = ?3 AND object_key = ?4 AND audience = ?5
                   FROM relations WHERE id = ?1";
        let row = params![id, their.subject, their.predicate, their.object_key, their.audience];
        self.writing.connection.prepare_cached(sql)?.query_row(row, |row| row.get(0)).optional()
    }

    /// Both know it: the row here is told as early and as late, and as surely, as either says.
    fn refresh(&mut self, their: &TheirRelation, id: i64) -> Result<(), Stop> {
        let sql = "UPDATE relations SET last_at = max(last_at, ?2), learnt_at = min(learnt_at, ?3),
                       confidence = max(confidence, ?4), valid_from = coalesce(valid_from, ?5),
                       judged = max(judged, ?6)
                   WHERE id = ?1 AND (last_at < ?2 OR learnt_at > ?3 OR confidence < ?4 OR judged < ?6
                       OR (valid_from IS NULL AND ?5 IS NOT NULL))";
        let row = params![id, their.last_at, their.learnt_at, their.confidence, their.valid_from, their.judged];
        if self.writing.connection.prepare_cached(sql)?.execute(row)? > 0 {
            self.touch(their);
        }
        Ok(())
    }

    fn make(&mut self, their: &TheirRelation) -> Result<Place, Stop> {
        let connection = self.writing.connection;
        let sql = "INSERT INTO relations (subject, predicate, object, literal, object_key, kinds, audience, confidence,
                       mentions, valid_from, valid_to, learnt_at, last_at, retracted_at, judged)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, ?9, ?10, ?11, ?12, ?13, ?14)";
        let row = params![
            their.subject,
            their.predicate,
            their.object,
            their.literal,
            their.object_key,
            their.kinds,
            their.audience,
            their.confidence,
            their.valid_from,
            their.valid_to,
            their.learnt_at,
            their.last_at,
            their.retracted_at,
            their.judged
        ];
        connection.prepare_cached(sql)?.execute(row)?;
        let id = connection.last_insert_rowid();
        if let Some(literal) = &their.literal {
            terms::put_literal(connection, id, literal)?;
        }
        self.joined.rows += 1;
        if their.mentions > 0 {
            self.unproven.insert(id);
        }
        self.touch(their);
        Ok(Place { id, made: true })
    }

    /// What is new of somebody who was here may contradict what was said here.
    fn touch(&mut self, their: &TheirRelation) {
        let is_trait = their.kinds.split(' ').any(|kind| kind == TRAIT);
        if !self.made_entities.contains(&their.subject) && (is_trait || predicate::is_single_valued(&their.predicate)) {
            self.touched.insert((their.subject, their.predicate.clone(), is_trait));
        }
    }

    pub(super) fn take_sentence(&mut self, row: &Fields<'_>) -> Result<(), Stop> {
        let id = row.number("id")?;
        let (text, at) = (row.text("text")?, row.number("at")?);
        let audience = self.circle(row)?.id;
        let origin = self.origin(row.text("origin")?, at);
        let tombstones = &self.writing.tombstones;
        let folded = text::fold(&text);
        // Of words that were forgotten there only their hash is left.
        let hash = if text.is_empty() { row.hash("hash")? } else { tombstones.hash(Grave::Sentence(&folded)) };
        let is_deleted =
            tombstones.at(&hash).is_some_and(|deleted| at <= deleted) || tombstones.forbid(Grave::Origin(&origin), at);
        if is_deleted {
            self.sentences.insert(id, None);
            return Ok(());
        }
        let connection = self.writing.connection;
        let sql = "SELECT id FROM sentences WHERE origin = ?1 AND hash = ?2 AND audience = ?3";
        let key = params![origin, hash, audience];
        let known = connection.prepare_cached(sql)?.query_row(key, |row| row.get(0)).optional()?;
        let sentence = match known {
            Some(known) => known,
            None => {
                let sql = "INSERT INTO sentences (text, hash, origin, speaker, audience, at)
                           VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
                let speaker = row.optional_text("speaker")?;
                connection.prepare_cached(sql)?.execute(params![text, hash, origin, speaker, audience, at])?;
                let made = connection.last_insert_rowid();
                self.made_sentences.insert(made);
                self.joined.rows += 1;
                made
            }
        };
        self.sentences.insert(id, Some(sentence));
        Ok(())
    }

    /// Where something was said. A place in another home's journal must not be taken for one in this one's.
    fn origin(&self, origin: String, at: i64) -> String {
        match origin.strip_prefix("journal:") {
            Some(seq) if !self.is_kin && !(self.is_here)(seq, at) => format!("imported:{}:{seq}", self.home),
            _ => origin,
        }
    }

    pub(super) fn take_evidence(&mut self, row: &Fields<'_>) -> Result<(), Stop> {
        let (relation, sentence) = (row.number("relation")?, row.number("sentence")?);
        let place = self.relations.get(&relation);
        let place = *place.ok_or_else(|| invalid(format!("there is no relation {relation} in the file")))?;
        let sentence = self.sentences.get(&sentence).copied();
        let sentence = sentence.ok_or_else(|| invalid("there is no such sentence in the file".to_owned()))?;
        let (Some(place), Some(sentence)) = (place, sentence) else { return Ok(()) };
        self.unproven.remove(&place.id);
        let connection = self.writing.connection;
        let sql = "INSERT OR IGNORE INTO evidence (relation, sentence) VALUES (?1, ?2)";
        if connection.prepare_cached(sql)?.execute([place.id, sentence])? > 0 {
            let sql = "UPDATE relations SET mentions = mentions + 1 WHERE id = ?1";
            connection.prepare_cached(sql)?.execute([place.id])?;
            self.joined.rows += 1;
        }
        Ok(())
    }

    /// Removes relations of which no evidence was taken, and sentences from which nothing is known.
    pub(super) fn drop_unproven(&mut self) -> Result<(), Stop> {
        let connection = self.writing.connection;
        let unproven = std::mem::take(&mut self.unproven);
        for relation in &unproven {
            let sql = "SELECT literal FROM relations WHERE id = ?1";
            let literal: Option<String> = connection.query_row(sql, [relation], |row| row.get(0))?;
            if let Some(literal) = literal {
                terms::remove_literal(connection, *relation, &literal)?;
            }
            self.joined.rows -=
                connection.prepare_cached("DELETE FROM relations WHERE id = ?1")?.execute([relation])?;
        }
        for place in self.relations.values_mut() {
            *place = place.filter(|place| !unproven.contains(&place.id));
        }
        let sql = "DELETE FROM sentences WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM evidence WHERE sentence = ?1)";
        let mut statement = connection.prepare_cached(sql)?;
        for sentence in &self.made_sentences {
            self.joined.rows -= statement.execute([sentence])?;
        }
        Ok(())
    }

    /// Removes entities that came with nothing that is said of them.
    pub(super) fn drop_empty(&mut self) -> Result<(), Stop> {
        let merged = "SELECT 1 FROM entities WHERE (id = ?1 AND merged_into IS NOT NULL) OR merged_into = ?1";
        let mut deleted = crate::graph::Deleted::default();
        for entity in std::mem::take(&mut self.made_entities) {
            if !self.writing.connection.prepare_cached(merged)?.exists([entity])? {
                self.writing.delete_if_empty(entity, &mut deleted)?;
            }
        }
        self.joined.rows -= deleted.entities + deleted.names;
        Ok(())
    }
}

//! What the model is told of the tools.

use homeagent_types::{Effect, Role, ToolDefinition};
use serde_json::{Value, json};

pub(super) const RECALL: &str = "memory_recall";
pub(super) const COMMIT: &str = "memory_commit";
pub(super) const MERGE: &str = "memory_merge";
pub(super) const PURGE: &str = "memory_purge";
pub(super) const EDIT: &str = "memory_edit";
pub(super) const DELETE_ENTITY: &str = "memory_delete_entity";
pub(super) const INTROSPECT: &str = "memory_introspect";
pub(super) const PERSON_QUERY: &str = "person_query";
pub(super) const PERSON_SET_TRAIT: &str = "person_set_trait";
pub(super) const PERSON_RELATE: &str = "person_relate";
pub(super) const CURATED_ADD: &str = "curated_add";
pub(super) const CURATED_REMOVE: &str = "curated_remove";

/// All tools.
pub(super) fn all() -> Vec<ToolDefinition> {
    let mut all = vec![recall(), introspect(), commit()];
    all.extend(mending());
    all.extend(of_people());
    all.extend(of_the_list());
    all
}

fn recall() -> ToolDefinition {
    let description = "Looks up what you know: facts and what was said earlier, with where and when. Ask in whole words, \
        with names. What it gave once it does not give again in the same turn.";
    let properties = json!({
        "query": { "type": "string", "minLength": 1, "description": "What you want to know" },
        "limit": { "type": "integer", "minimum": 1, "maximum": 30, "description": "How many of each; 8 by default" },
    });
    let tool = ToolDefinition::of_host(RECALL, description, Effect::Read, &properties, &["query"]);
    ToolDefinition { meta: vec![("always-on".to_owned(), "true".to_owned())], ..tool }
}

fn introspect() -> ToolDefinition {
    let description = "Shows what you know of somebody or something, with the numbers of relations and of changes that can \
        be undone; without an entity, what there is to know and what was changed last.";
    let properties = json!({ "entity": entity("Whom or what") });
    ToolDefinition::of_host(INTROSPECT, description, Effect::Read, &properties, &[])
}

fn commit() -> ToolDefinition {
    let description = "Keeps facts that somebody told you, for those who read this conversation. Only what was said and is \
        worth knowing for long; not what you recalled. A newer home, age, job or name takes the place of the older one.";
    let fact = json!({
        "type": "object",
        "properties": {
            "subject": { "type": "string", "minLength": 1, "description": "A name, #number of an entity, or I for whoever speaks" },
            "subject_kind": kind(),
            "predicate": { "type": "string", "minLength": 1, "description": "Such as home, job, likes, 生日, 认识" },
            "object": { "type": "string", "minLength": 1, "description": "A name, #number, I, or a value" },
            "object_kind": kind(),
            "is_value": { "type": "boolean", "description": "The object is a value: a number, a date, words" },
            "holds": { "enum": ["now", "no-longer", "not"], "description": "no-longer: it used to; not: it was wrong" },
            "since": { "type": "string", "description": "Since when, as 2024, 2024-05 or 2024-05-01" },
            "until": { "type": "string", "description": "Until when, in the same form" },
            "sentence": { "type": "string", "description": "The words it was said in" },
        },
        "required": ["subject", "predicate", "object"],
        "additionalProperties": false,
    });
    let properties = json!({ "facts": { "type": "array", "items": fact, "minItems": 1, "maxItems": 40 } });
    // A guest may speak of himself: the graph sees to it.
    let tool = ToolDefinition::of_host(COMMIT, description, Effect::Own, &properties, &["facts"]);
    ToolDefinition { min_role: Some(Role::Guest), ..tool }
}

/// Those by which what is known is changed, for the owner.
fn mending() -> Vec<ToolDefinition> {
    let merge = "Makes two entities one that are the same: the first is then known as the second. Can be undone.";
    let ends = json!({ "from": entity("Who is to be one with the other"), "into": entity("Who stays") });
    let purge = "Deletes relations for good, with the words they were said in. Asked with words, it lists what there is and \
        deletes nothing.";
    let relations = json!({
        "relations": { "type": "array", "items": { "type": "integer" }, "minItems": 1, "maxItems": 100 },
        "matching": { "type": "string", "minLength": 1, "description": "Words by which to list relations first" },
    });
    let edit = "Changes one thing that is known: takes a relation back that was never so (retract), says it otherwise \
        (predicate, object), gives an entity another name (alias) or says by which it is shown (name), or undoes a change. \
        Can be undone.";
    let changes = json!({
        "undo": { "type": "integer", "description": "The number of a change" },
        "relation": { "type": "integer" },
        "retract": { "type": "boolean" },
        "predicate": { "type": "string" },
        "object": { "type": "string" },
        "object_kind": kind(),
        "is_value": { "type": "boolean" },
        "entity": entity("Who gets a name"),
        "alias": { "type": "string" },
        "name": { "type": "string" },
    });
    let delete = "Deletes all that is known here of somebody or something, for good.";
    vec![
        ToolDefinition::of_host(MERGE, merge, Effect::Own, &ends, &["from", "into"]),
        ToolDefinition::of_host(PURGE, purge, Effect::Own, &relations, &[]),
        ToolDefinition::of_host(EDIT, edit, Effect::Own, &changes, &[]),
        ToolDefinition::of_host(
            DELETE_ENTITY,
            delete,
            Effect::Own,
            &json!({ "entity": entity("Whom or what") }),
            &["entity"],
        ),
    ]
}

fn of_people() -> Vec<ToolDefinition> {
    let query = "Shows what you know of a person: names, traits, and what people are to each other; without a person, whom \
        you know.";
    let set = "Keeps what a person is like in something, in the place of what was known of it, such as temper, diet, or how \
        they want to be spoken to.";
    let key = json!({ "type": "string", "minLength": 1, "maxLength": 64, "description": "What it is about" });
    let value = json!({ "type": "string", "minLength": 1, "maxLength": 500 });
    let relate = "Keeps what two people are to each other, such as friend, 同事, mother.";
    let relation = json!({ "type": "string", "minLength": 1, "maxLength": 64 });
    let own = |definition: ToolDefinition| ToolDefinition { min_role: Some(Role::Guest), ..definition };
    let of = || entity("The person; I for whoever speaks");
    vec![
        ToolDefinition::of_host(PERSON_QUERY, query, Effect::Read, &json!({ "person": of() }), &[]),
        own(ToolDefinition::of_host(
            PERSON_SET_TRAIT,
            set,
            Effect::Own,
            &json!({ "person": of(), "key": key, "value": value }),
            &["person", "key", "value"],
        )),
        own(ToolDefinition::of_host(
            PERSON_RELATE,
            relate,
            Effect::Own,
            &json!({ "person": of(), "relation": relation, "other": of() }),
            &["person", "relation", "other"],
        )),
    ]
}

fn of_the_list() -> Vec<ToolDefinition> {
    let add = "Adds a line to the short list that you see in every turn of this conversation: for what you must never have \
        to look up. Seen from the next turn on.";
    let remove = "Removes a line from the short list, given word for word.";
    let line = || json!({ "line": { "type": "string", "minLength": 1, "maxLength": 300 } });
    vec![
        ToolDefinition::of_host(CURATED_ADD, add, Effect::Own, &line(), &["line"]),
        ToolDefinition::of_host(CURATED_REMOVE, remove, Effect::Own, &line(), &["line"]),
    ]
}

fn entity(what: &str) -> Value {
    json!({ "type": "string", "minLength": 1, "description": format!("{what}: a name, or #number") })
}

fn kind() -> Value {
    json!({ "enum": ["person", "animal", "place", "organisation", "event", "time", "concept", "thing"] })
}

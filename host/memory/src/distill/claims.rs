//! Facts and triples as claims for the graph.

use homeagent_language::facts::{Fact, Predicate, Subject, When};
use homeagent_language::triples::Triple;
use homeagent_types::Principal;

use crate::graph::{Claim, EntityKind, Holding, Node, predicate};

/// How sure a triple is that rules read off a sentence: less than a fact, as it was not said of oneself.
const TRIPLE: f32 = 0.5;

/// What a fact tells the graph: the fact, and who somebody is to the speaker.
pub(super) fn of_fact(fact: &Fact, speaker: &Principal, sentence: &str) -> Vec<Claim> {
    let mut claims = Vec::new();
    let subject = match &fact.subject {
        Subject::Speaker => Node::Speaker,
        Subject::Relative { relation, name } => {
            let node = Node::Named(name.clone().unwrap_or_else(|| called(speaker, relation)), kind_of(relation));
            claims.push(claim(Node::Speaker, tie(relation).to_owned(), node.clone(), Holding::Now, fact, sentence));
            node
        }
    };
    claims.extend(
        said(fact, speaker, &subject)
            .map(|(predicate, object, holding)| claim(subject, predicate, object, holding, fact, sentence)),
    );
    // That somebody is a relative is only worth keeping with what was said of them.
    if claims.len() == 1 && fact.subject != Subject::Speaker { Vec::new() } else { claims }
}

fn claim(subject: Node, predicate: String, object: Node, holding: Holding, fact: &Fact, sentence: &str) -> Claim {
    Claim {
        confidence: fact.confidence,
        holding,
        sentence: Some(sentence.to_owned()),
        ..Claim::new(subject, predicate, object)
    }
}

/// Predicate, object and whether it holds; nothing for what the graph has no use for.
fn said(fact: &Fact, speaker: &Principal, subject: &Node) -> Option<(String, Node, Holding)> {
    let value = || Node::Literal(fact.value.clone());
    let counted = || match &fact.detail {
        Some(number) => format!("{number} × {}", fact.value),
        None => fact.value.clone(),
    };
    if fact.when == When::Future {
        let time = fact.detail.as_deref().map(|time| format!(" ({time})")).unwrap_or_default();
        let plan = match fact.predicate {
            Predicate::Plan => format!("{}{time}", fact.value),
            Predicate::Age => return None,
            other => format!("{}: {}", other.as_str(), fact.value),
        };
        return (!fact.negated).then(|| ("plans".to_owned(), Node::Literal(plan), Holding::Now));
    }
    let past = fact.when == When::Past;
    let holding = if past { Holding::Ended } else { Holding::Now };
    let denied = |predicate: &str, object: Node| {
        // What was not so once says nothing of now.
        (!past).then(|| (predicate.to_owned(), object, Holding::Denied))
    };
    let (predicate, object) = match (fact.predicate, fact.negated) {
        (Predicate::Likes, true) => ("dislikes".to_owned(), value()),
        (Predicate::Eats | Predicate::Drinks, true) => ("avoids".to_owned(), value()),
        (Predicate::Smokes, true) => ("smokes".to_owned(), Node::Literal("no".to_owned())),
        (Predicate::Family, true) => ("family".to_owned(), Node::Literal(format!("no {}", fact.value))),
        (Predicate::Pet, denies) => {
            let owner = if *subject == Node::Speaker { called(speaker, &fact.value) } else { return None };
            let pet = if fact.detail.is_some() { counted() } else { owner };
            let object = Node::Named(pet, EntityKind::Animal);
            if denies {
                return denied("pet", object);
            }
            ("pet".to_owned(), object)
        }
        (other, true) => return denied(key(other), value()),
        (Predicate::Favourite, false) => {
            let kind = fact.detail.as_deref().unwrap_or("thing");
            (format!("favourite {kind}"), value())
        }
        (Predicate::Family, false) => ("family".to_owned(), Node::Literal(counted())),
        (other, false) => (key(other).to_owned(), value()),
    };
    // Where somebody once lived is worth knowing; what somebody was once called or how old they were is not.
    let fleeting = past && matches!(fact.predicate, Predicate::Age | Predicate::Name);
    (!fleeting).then_some((predicate, object, holding))
}

/// The graph's word for a predicate.
fn key(predicate: Predicate) -> &'static str {
    match predicate {
        Predicate::Workplace => "employer",
        Predicate::Allergy => "allergic_to",
        Predicate::Plan => "plans",
        other => other.as_str(),
    }
}

/// What relates the speaker to somebody.
fn tie(relation: &str) -> &str {
    match relation {
        "wife" | "husband" | "spouse" => "spouse",
        "brother" | "sister" | "sibling" => "sibling",
        "son" | "daughter" | "child" => "child",
        "grandmother" | "grandfather" => "grandparent",
        other if kind_of(other) == EntityKind::Animal => "pet",
        other => other,
    }
}

fn kind_of(relation: &str) -> EntityKind {
    const ANIMALS: &[&str] = &[
        "cat",
        "dog",
        "hamster",
        "rabbit",
        "parrot",
        "turtle",
        "fish",
        "guinea pig",
        "chinchilla",
        "bird",
        "horse",
        "snake",
        "lizard",
        "hedgehog",
        "ferret",
        "chicken",
        "pet",
    ];
    if ANIMALS.contains(&relation) { EntityKind::Animal } else { EntityKind::Person }
}

/// What somebody without a name is called: "Tom's mother". One way for both languages, so that they are one.
fn called(speaker: &Principal, relation: &str) -> String {
    let name = speaker.display_name.clone().unwrap_or_else(|| speaker.user.clone());
    format!("{name}'s {relation}")
}

/// What a triple tells the graph: only what relates by a predicate that is known, so that chatter stays out.
pub(super) fn of_triple(triple: &Triple, sentence: &str, has_speaker: bool) -> Option<Claim> {
    let known = predicate::find(&triple.predicate)?;
    let speaks = matches!(triple.subject.as_str(), "我" | "I");
    if triple.negated || (speaks && !has_speaker) || is_owned(&triple.object) || (!speaks && is_owned(&triple.subject))
    {
        return None;
    }
    let vague = matches!(known.key, "is_a" | "owns" | "located_in" | "part_of" | "knows" | "visited");
    if !triple.named || (speaks && vague) || (vague && triple.past) {
        return None;
    }
    let subject = if speaks { Node::Speaker } else { Node::Named(triple.subject.clone(), EntityKind::Thing) };
    Some(Claim {
        confidence: TRIPLE,
        holding: if triple.past { Holding::Ended } else { Holding::Now },
        sentence: Some(sentence.to_owned()),
        ..Claim::new(subject, known.key, Node::Literal(triple.object.clone()))
    })
}

/// "My sister", 我妈妈: of somebody whom the rules for facts know better.
fn is_owned(words: &str) -> bool {
    let lower = words.to_lowercase();
    words.contains(['我', '你', '他', '她', '它'])
        || ["my ", "your ", "his ", "her ", "our ", "their ", "its "]
            .iter()
            .any(|own| lower.starts_with(own) || lower.contains(&format!(" {own}")))
}

//! Says what of a WIT package keeps components that were built against an older copy of it from running.
//!
//! The rules are those of `VERSIONING.md`, which are those of the engine's linker: the host may offer more functions than
//! a component imports, and more interfaces and worlds; everything that is there stays as it is.

mod shape;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

pub use shape::ReadError;
use shape::{Interface, Shape, World};

/// Something that keeps older components from running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breach {
    /// Where it is, such as `interface types, record cause`.
    pub place: String,
    /// What it is.
    pub what: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.place, self.what)
    }
}

/// Everything by which the package in the folder `current` breaks components of the one in the folder `frozen`; nothing
/// where it is compatible.
///
/// # Errors
/// When one of the two is no WIT package.
pub fn breaches(frozen: &Path, current: &Path) -> Result<Vec<Breach>, ReadError> {
    let (frozen, current) = (Shape::read(frozen)?, Shape::read(current)?);
    let mut found = Vec::new();
    if frozen.name != current.name {
        let what = format!("it was {}, and is {}: that is another track", frozen.name, current.name);
        found.push(Breach { place: "package".to_owned(), what });
    }
    for (name, before) in &frozen.interfaces {
        let place = format!("interface {name}");
        match current.interfaces.get(name) {
            None => found.push(Breach { place, what: "it was removed".to_owned() }),
            Some(now) => interface(&place, before, now, &mut found),
        }
    }
    for (name, before) in &frozen.worlds {
        let place = format!("world {name}");
        match current.worlds.get(name) {
            None => found.push(Breach { place, what: "it was removed".to_owned() }),
            Some(now) => world(&place, before, now, &mut found),
        }
    }
    Ok(found)
}

fn interface(place: &str, before: &Interface, now: &Interface, found: &mut Vec<Breach>) {
    for (name, frozen) in &before.types {
        let Some(current) = now.types.get(name) else {
            found.push(Breach { place: format!("{place}, {} {name}", frozen.kind), what: "it was removed".to_owned() });
            continue;
        };
        let place = format!("{place}, {} {name}", frozen.kind);
        if frozen.kind != current.kind {
            found.push(Breach { place, what: format!("it is a {} now", current.kind) });
        } else if let Some(what) = difference(&frozen.members, &current.members) {
            found.push(Breach { place, what });
        }
    }
    for (name, frozen) in &before.functions {
        let place = format!("{place}, function {name}");
        match now.functions.get(name) {
            None => found.push(Breach { place, what: "it was removed".to_owned() }),
            Some(current) if current != frozen => {
                found.push(Breach { place, what: format!("it was {frozen}, and is {current}") });
            }
            Some(_) => {}
        }
    }
    if before.is_exported {
        for name in now.functions.keys().filter(|name| !before.functions.contains_key(*name)) {
            let what =
                "it was added, and older components do not export it; put it in an interface and a world of its own";
            found.push(Breach { place: format!("{place}, function {name}"), what: what.to_owned() });
        }
    }
}

/// How a closed list of fields, cases or flags differs; each has a name and what follows it.
fn difference(before: &[(String, String)], now: &[(String, String)]) -> Option<String> {
    let as_map = |members: &[(String, String)]| members.iter().cloned().collect::<BTreeMap<String, String>>();
    let (old, new) = (as_map(before), as_map(now));
    let named = |name: &str| if name.is_empty() { "it".to_owned() } else { format!("`{name}`") };
    let mut differences = Vec::new();
    for (name, text) in &old {
        match new.get(name) {
            None => differences.push(format!("{} was removed", named(name))),
            Some(other) if other != text => {
                differences.push(format!("{} was {text}, and is {other}", named(name)));
            }
            Some(_) => {}
        }
    }
    let added = new.keys().filter(|name| !old.contains_key(*name));
    differences.extend(added.map(|name| format!("{} was added, and what is closed can't grow", named(name))));
    if differences.is_empty() && before != now {
        differences.push("its members have another order".to_owned());
    }
    (!differences.is_empty()).then(|| differences.join("; "))
}

fn world(place: &str, before: &World, now: &World, found: &mut Vec<Breach>) {
    let gone = |kind: &str, before: &BTreeSet<String>, now: &BTreeSet<String>, found: &mut Vec<Breach>| {
        for name in before.difference(now) {
            found.push(Breach { place: place.to_owned(), what: format!("the {kind} {name} was removed") });
        }
    };
    gone("import", &before.imports, &now.imports, found);
    gone("export", &before.exports, &now.exports, found);
    for name in now.exports.difference(&before.exports) {
        let what = format!("the export {name} was added, and older components lack it; give it a world of its own");
        found.push(Breach { place: place.to_owned(), what });
    }
}

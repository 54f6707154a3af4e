//! Reading a document.

use std::collections::BTreeMap;
use std::ops::Range;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Changed, Fault, Import, ImportError};
use crate::registry::{Kind, Settings, SettingsError, not_allowed};

/// How deep tables may lie in each other: keys have three parts.
const DEEPEST: usize = 16;

/// A value of a document, and where it stands.
struct Given<'d> {
    at: usize,
    value: &'d DeValue<'d>,
}

impl Settings {
    /// Sets everything that a TOML document sets, in one transaction, and tells the subscribers; settings that are not in
    /// it stay as they are. Texts are read as a person types them ([`Kind::parse`]). With `dry_run` nothing is changed, and
    /// what would be is told.
    ///
    /// # Errors
    ///
    /// [`ImportError::Document`] with everything that is wrong, and then nothing is changed; what the database answers.
    pub fn apply_toml(&self, document: &str, dry_run: bool) -> Result<Import, ImportError> {
        let wanted = self.read_document(document).map_err(|mut faults| {
            faults.sort_by_key(|fault| fault.line);
            ImportError::Document { faults }
        })?;
        let mut import = Import { changed: Vec::new(), unchanged: Vec::new() };
        for (key, value) in wanted {
            match self.entry(&key) {
                Ok(entry) if entry.value == value => import.unchanged.push(key),
                Ok(entry) => {
                    let applies = entry.declaration.applies;
                    import.changed.push(Changed { key, before: entry.value, value, applies });
                }
                // Its plugin was unloaded this very moment.
                Err(_) => {}
            }
        }
        if !dry_run {
            let values = import.changed.iter().map(|changed| (changed.key.as_str(), &changed.value));
            self.store_all(values.collect())?;
        }
        Ok(import)
    }

    /// Every value of a document by key, checked; else everything that is wrong.
    fn read_document(&self, document: &str) -> Result<BTreeMap<String, Value>, Vec<Fault>> {
        let lines = Lines::of(document);
        let (table, broken) = DeTable::parse_recoverable(document);
        if !broken.is_empty() {
            let fault = |error: &toml::de::Error| Fault {
                line: lines.at(error.span().unwrap_or(Range { start: 0, end: 0 }).start),
                reason: format!("this is not TOML: {}", error.message().replace('\n', "; ")),
            };
            return Err(broken.iter().map(fault).collect());
        }
        let mut given = BTreeMap::new();
        let mut faults = Vec::new();
        flatten(table.get_ref(), "", 0, &mut given, &mut faults);
        let mut wanted = BTreeMap::new();
        for (key, Given { at, value }) in given {
            match self.check(&key, value) {
                Ok(value) => drop(wanted.insert(key, value)),
                Err(reason) => faults.push((at, reason)),
            }
        }
        if faults.is_empty() {
            return Ok(wanted);
        }
        Err(faults.into_iter().map(|(at, reason)| Fault { line: lines.at(at), reason }).collect())
    }

    fn check(&self, key: &str, given: &DeValue<'_>) -> Result<Value, String> {
        let kind = self.kind(key).map_err(|error| self.unknown(key, &error))?;
        if kind == Kind::Secret {
            return Err(format!(
                "\"{key}\" is a secret, and a document is no place for one; `waiter settings set {key} -` sets it"
            ));
        }
        let value = match given {
            DeValue::String(text) => kind.parse(text),
            other => json(other),
        };
        let value = value.filter(|value| kind.accepts(value));
        value.ok_or_else(|| not_allowed(key, &kind, shown(given)).to_string())
    }

    fn unknown(&self, key: &str, error: &SettingsError) -> String {
        let plugin = key.strip_prefix("plugin.").and_then(|rest| rest.split_once('.')).map(|(plugin, _)| plugin);
        match plugin {
            Some(plugin) if !self.declares(plugin) => format!(
                "the plugin {plugin} is not loaded, so nobody knows its settings; load it first, or leave \"{key}\" out"
            ),
            _ => error.to_string(),
        }
    }
}

fn flatten<'d>(
    table: &'d DeTable<'d>,
    above: &str,
    depth: usize,
    given: &mut BTreeMap<String, Given<'d>>,
    faults: &mut Vec<(usize, String)>,
) {
    for (name, value) in table {
        let at = name.span().start;
        let key = if above.is_empty() { name.get_ref().to_string() } else { format!("{above}.{}", name.get_ref()) };
        match value.get_ref() {
            DeValue::Table(inner) if depth < DEEPEST => flatten(inner, &key, depth + 1, given, faults),
            DeValue::Table(_) => faults.push((at, "no setting lies so deep".to_owned())),
            value => {
                // Quoted or not, a key is a key: `"core.log.level"` and `[core.log] level` are the same one.
                if given.insert(key.clone(), Given { at, value }).is_some() {
                    faults.push((at, format!("\"{key}\" is set twice")));
                }
            }
        }
    }
}

fn json(value: &DeValue<'_>) -> Option<Value> {
    match value {
        DeValue::Boolean(switch) => Some(Value::Bool(*switch)),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix()).ok().map(Value::from),
        DeValue::Float(number) => number.as_str().parse::<f64>().ok().filter(|n| n.is_finite()).map(Value::from),
        DeValue::String(text) => Some(Value::from(text.as_ref())),
        DeValue::Array(items) => items.iter().map(|item: &Spanned<DeValue<'_>>| json(item.get_ref())).collect(),
        DeValue::Datetime(_) | DeValue::Table(_) => None,
    }
}

/// What was given, as it is shown in a fault.
fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::Datetime(date) => date.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        other => json(other).map_or_else(|| "this".to_owned(), |value| value.to_string()),
    }
}

/// Where the lines of a text begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at + 1).collect())
    }

    /// The line of a byte, beginning with 1.
    fn at(&self, byte: usize) -> usize {
        self.0.partition_point(|begin| *begin <= byte) + 1
    }
}

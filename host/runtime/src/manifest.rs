//! `plugin.toml`: what a package is called, where its component is, and what it asks for.

use std::collections::BTreeMap;

use homeagent_contract::Kind;
use homeagent_settings::{Declaration, Kind as SettingKind};
use serde::Deserialize;
use serde_json::Value;

use crate::{PackageError, wants};

/// Every capability a package can ask for.
pub const CAPABILITIES: [&str; 19] = [
    "connect",
    "errands",
    "events",
    "files",
    "http",
    "input",
    "knowledge",
    "listen",
    "llm",
    "memory",
    "output",
    "private-network",
    "process",
    "secrets",
    "settings",
    "social",
    "stages",
    "timers",
    "tools",
];

/// Names by which the host itself speaks or keeps what is its own: as the source of an input or an event, as a channel,
/// as a principal's namespace. Nothing of a plugin's is called so.
pub(crate) const RESERVED: [&str; 6] = ["_plugins_", "agent", "api", "host", "local", "plugin"];
/// The largest `plugin.toml`, in bytes.
pub(crate) const LARGEST_MANIFEST: u64 = 256 << 10;
const MOST_SETTINGS: usize = 256;
/// As much as is shown of a line that is wrong, in characters.
const WIDEST_LINE: usize = 160;
const TABLES: [&str; 5] = ["plugin", "wants", "limits", "settings", "trial"];
const PLUGIN_KEYS: [&str; 6] = ["name", "version", "component", "script", "kind", "interprets"];
const TRIAL_KEYS: [&str; 1] = ["settings"];
const LIMIT_KEYS: [&str; 2] = ["cpu_ms", "memory_mib"];
/// What a component needs that does nothing: its stack, and its first step.
const LEAST_MEMORY_MIB: u32 = 2;
const LEAST_CPU_MS: u32 = 10;
const SETTING_KEYS: [&str; 9] = ["type", "default", "description", "unit", "min", "max", "in", "choices", "applies"];

/// A checked manifest.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifest {
    /// Letters, digits, `-` and `_`.
    pub name: String,
    /// The package's version.
    pub version: String,
    /// What it runs.
    pub code: Code,
    /// What kind of component it is.
    pub kind: Kind,
    /// The ending of the scripts that its component runs, when it is an interpreter; without the point.
    pub interprets: Option<String>,
    /// The capabilities it asks for, sorted, with the details it gives.
    pub wants: BTreeMap<String, toml::Table>,
    /// Its limits, where it asks for others than the defaults.
    pub limits: Limits,
    /// Its settings, under their whole keys.
    pub settings: Vec<Declaration>,
    /// The values that settings have, by their whole keys, when it is tried and the owner has set none.
    pub trial: BTreeMap<String, Value>,
}

/// What a package runs: a file beside its manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// The file name of a component.
    Component(String),
    /// The file name of the script that is run first; its ending says by which interpreter.
    Script(String),
}

/// Limits a package asks for; each is capped by the host's own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Linear memory, in MiB.
    pub memory_mib: Option<u32>,
    /// Processor time that may be used in one go, in milliseconds.
    pub cpu_ms: Option<u32>,
}

impl Limits {
    /// Fails where less is asked for than any component needs.
    fn check(self) -> Result<(), String> {
        let asked =
            [("memory_mib", self.memory_mib, LEAST_MEMORY_MIB, "MiB"), ("cpu_ms", self.cpu_ms, LEAST_CPU_MS, "ms")];
        let too_little = asked.into_iter().find(|(_, asked, least, _)| asked.is_some_and(|asked| asked < *least));
        too_little
            .map_or(Ok(()), |(key, _, least, unit)| Err(format!("[limits] {key} has to be {least} {unit} or more")))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawManifest {
    plugin: RawPlugin,
    #[serde(default)]
    wants: BTreeMap<String, toml::Table>,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    settings: BTreeMap<String, toml::Table>,
    #[serde(default)]
    trial: RawTrial,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTrial {
    #[serde(default)]
    settings: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPlugin {
    name: String,
    version: String,
    component: Option<String>,
    script: Option<String>,
    #[serde(default)]
    kind: RawKind,
    interprets: Option<String>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RawKind {
    #[default]
    Plugin,
    Adapter,
}

impl Manifest {
    /// Reads the text of a `plugin.toml`. `place` names it in errors until its own name is known.
    ///
    /// # Errors
    /// When it is not TOML, has unknown or missing keys, or a value that can't be.
    pub fn parse(place: &str, text: &str) -> Result<Self, PackageError> {
        let refuse = |reason: String| PackageError::Manifest { plugin: place.to_owned(), reason };
        check_size(place, text.len())?;
        // Some editors begin a file with a byte order mark.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let not_toml = |error: toml::de::Error| refuse(narrow(&error.to_string()));
        check_keys(&toml::from_str(text).map_err(not_toml)?).map_err(refuse)?;
        let raw: RawManifest = toml::from_str(text).map_err(not_toml)?;
        check_name(&raw.plugin.name).map_err(refuse)?;
        let code = code(raw.plugin.component, raw.plugin.script).map_err(refuse)?;
        if raw.settings.len() > MOST_SETTINGS {
            return Err(refuse(format!("it has {} settings; {MOST_SETTINGS} are the most", raw.settings.len())));
        }
        if matches!(raw.plugin.kind, RawKind::Adapter) && !raw.settings.is_empty() {
            return Err(refuse(
                "an adapter has no settings: what it needs to know stands in its source's options".into(),
            ));
        }
        raw.wants.iter().try_for_each(|(name, details)| wants::check(name, details)).map_err(refuse)?;
        raw.limits.check().map_err(refuse)?;
        let kind = match raw.plugin.kind {
            RawKind::Plugin => Kind::Plugin,
            RawKind::Adapter => Kind::Adapter,
        };
        if kind == Kind::Adapter && !raw.wants.is_empty() {
            return Err(refuse("an adapter has no capabilities; take the [wants] tables out".into()));
        }
        let is_component = matches!(code, Code::Component(_));
        if let Some(ending) = &raw.plugin.interprets {
            let is_plain = kind == Kind::Plugin && is_component && raw.wants.is_empty() && raw.settings.is_empty();
            check_interpreter(ending, is_plain).map_err(refuse)?;
        }
        let settings = raw.settings.into_iter().map(|(key, table)| declaration(&raw.plugin.name, &key, table));
        let settings: Vec<Declaration> = settings.collect::<Result<_, _>>().map_err(refuse)?;
        wants::check_settings(&raw.plugin.name, &raw.wants, &settings).map_err(refuse)?;
        let trial = trial_settings(&raw.plugin.name, raw.trial, &settings).map_err(refuse)?;
        Ok(Self {
            name: raw.plugin.name,
            version: raw.plugin.version,
            code,
            kind,
            interprets: raw.plugin.interprets,
            wants: raw.wants,
            limits: raw.limits,
            settings,
            trial,
        })
    }
}

/// Fails where a manifest of so many bytes is not read.
pub(crate) fn check_size(place: &str, bytes: usize) -> Result<(), PackageError> {
    if bytes as u64 <= LARGEST_MANIFEST {
        return Ok(());
    }
    let reason = format!("it has more than {LARGEST_MANIFEST} bytes");
    Err(PackageError::Manifest { plugin: place.to_owned(), reason })
}

/// Whether there is a capability of this name.
pub fn is_capability(name: &str) -> bool {
    CAPABILITIES.contains(&name)
}

/// What the parser says, with the lines that it shows cut to a width that can be read.
fn narrow(text: &str) -> String {
    let cut = |line: &str| line.chars().take(WIDEST_LINE).collect::<String>();
    text.trim_end().lines().map(cut).collect::<Vec<_>>().join("\n")
}

/// Every key is known. Whether the tables are tables is seen when they are read.
fn check_keys(manifest: &toml::Table) -> Result<(), String> {
    known_keys("plugin.toml", manifest, &TABLES)?;
    for (name, known) in
        [("plugin", &PLUGIN_KEYS[..]), ("wants", &CAPABILITIES), ("limits", &LIMIT_KEYS), ("trial", &TRIAL_KEYS)]
    {
        if let Some(table) = manifest.get(name).and_then(toml::Value::as_table) {
            known_keys(&format!("[{name}]"), table, known)?;
        }
    }
    Ok(())
}

fn known_keys(place: &str, table: &toml::Table, known: &[&str]) -> Result<(), String> {
    let Some(unknown) = table.keys().find(|key| !known.contains(&key.as_str())) else { return Ok(()) };
    let near = homeagent_settings::nearest(unknown, known.iter().copied());
    let near = near.map_or_else(String::new, |near| format!("did you mean {near}? "));
    Err(format!("{place} has the unknown key {unknown}; {near}there are {}", known.join(", ")))
}

/// One `[settings.<key>]` table.
fn declaration(plugin: &str, key: &str, mut table: toml::Table) -> Result<Declaration, String> {
    known_keys(&format!("[settings.{key}]"), &table, &SETTING_KEYS)?;
    table.insert("key".into(), format!("{}{key}", homeagent_settings::plugin_prefix(plugin)).into());
    let mut value = serde_json::to_value(&table).map_err(|error| format!("[settings.{key}]: {error}"))?;
    if let Some(table) = value.as_object_mut() {
        // A secret has no default, and TOML has no null to say so.
        table.entry("default").or_insert(Value::Null);
    }
    serde_json::from_value(value).map_err(|error| format!("[settings.{key}]: {error}"))
}

/// The values of `[trial.settings]`, by their whole keys.
fn trial_settings(plugin: &str, trial: RawTrial, declared: &[Declaration]) -> Result<BTreeMap<String, Value>, String> {
    let checked = trial.settings.into_iter().map(|(name, value)| {
        let key = format!("{}{name}", homeagent_settings::plugin_prefix(plugin));
        match declared.iter().find(|setting| setting.key == key) {
            None => Err(format!("[trial.settings]: there is no [settings.{name}]")),
            Some(setting) if setting.kind == SettingKind::Secret || !setting.kind.accepts(&value) => {
                Err(format!("[trial.settings]: {name} is {value}, and allowed is {}", setting.kind.allowed()))
            }
            Some(_) => Ok((key, value)),
        }
    });
    checked.collect()
}

/// The one file that is run.
fn code(component: Option<String>, script: Option<String>) -> Result<Code, String> {
    let beside = |key: &str, file: &str| {
        let bad = file.is_empty() || file.contains(['/', '\\']) || file.starts_with('.');
        if bad { Err(format!("{key} = {file:?} must be the name of a file beside plugin.toml")) } else { Ok(()) }
    };
    match (component, script) {
        (Some(component), None) => beside("component", &component).map(|()| Code::Component(component)),
        (None, Some(script)) => {
            beside("script", &script)?;
            match script.rsplit_once('.') {
                Some((_, ending)) if is_ending(ending) => Ok(Code::Script(script)),
                _ => Err(format!("script = {script:?} must have an ending that says its language, such as main.lua")),
            }
        }
        (Some(_), Some(_)) => Err("[plugin] has both component and script; a package has one of them".into()),
        (None, None) => {
            Err("[plugin] lacks component, the name of its WebAssembly file, or script, of its script".into())
        }
    }
}

fn check_interpreter(ending: &str, is_plain: bool) -> Result<(), String> {
    if !is_ending(ending) {
        return Err(format!("interprets = {ending:?} must be an ending of 1 to 16 of the letters a-z and digits"));
    }
    if !is_plain {
        return Err("an interpreter is a component without [wants] and [settings]: its scripts have their own".into());
    }
    Ok(())
}

fn is_ending(ending: &str) -> bool {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=16).contains(&ending.len()) && ending.chars().all(fits)
}

fn check_name(name: &str) -> Result<(), String> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
    if name.is_empty() || name.len() > 64 || !name.chars().all(fits) {
        return Err(format!("name = {name:?} must be 1 to 64 of the letters a-z, digits, - and _"));
    }
    if RESERVED.contains(&name) {
        return Err(format!("name = {name:?} is a name of the host's own; choose another"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = r#"
        [plugin]
        name = "calc"
        version = "1.2.3"
        component = "calc.wasm"

        [wants.tools]

        [limits]
        memory_mib = 16

        [settings.precision]
        type = "integer"
        default = 3
        description = "Digits after the point"
    "#;

    #[test]
    fn a_good_manifest_says_what_it_says() {
        let manifest = Manifest::parse("calc", GOOD).expect("the manifest is good");
        assert_eq!((manifest.name.as_str(), manifest.kind), ("calc", Kind::Plugin));
        assert_eq!(manifest.limits.memory_mib, Some(16));
        assert!(manifest.wants.contains_key("tools") && manifest.settings[0].key == "plugin.calc.precision");
    }

    #[test]
    fn a_script_is_named_in_the_place_of_a_component() {
        let text = GOOD.replace("component = \"calc.wasm\"", "script = \"main.lua\"");
        let manifest = Manifest::parse("calc", &text).expect("the manifest is good");
        assert_eq!(manifest.code, Code::Script("main.lua".into()));
    }

    #[test]
    fn each_fault_is_named() {
        let faults = [
            (GOOD.replace("[wants.tools]", "[wants.tolls]"), "tolls"),
            (GOOD.replace("[wants.tools]", "[wants.tools]\nall = true"), "[wants.tools] has the unknown key all"),
            (GOOD.replace("version", "versoin"), "versoin"),
            (GOOD.replace("\"calc.wasm\"", "\"../calc.wasm\""), "../calc.wasm"),
            (GOOD.replace("\"calc\"", "\"Calc!\""), "Calc!"),
            (GOOD.replace("\"calc\"", "\"api\""), "the host's own"),
            (GOOD.replace("memory_mib = 16", "memory_mib = \"16\""), "memory_mib"),
            (GOOD.replace("memory_mib = 16", "memory_mib = 1"), "memory_mib has to be 2 MiB or more"),
            (GOOD.replace("memory_mib = 16", "cpu_ms = 1"), "cpu_ms has to be 10 ms or more"),
            (GOOD.replace("component = \"calc.wasm\"", ""), "lacks component"),
            (GOOD.replace("version", "script = \"main.lua\"\nversion"), "both component and script"),
            (GOOD.replace("component = \"calc.wasm\"", "script = \"main\""), "must have an ending"),
            (GOOD.replace("version", "interprets = \"lua\"\nversion"), "without [wants]"),
            (GOOD.replace("[plugin]", "[plugin"), "line"),
            ("x".repeat(300 << 10), "bytes"),
        ];
        for (text, word) in faults {
            let error = Manifest::parse("calc", &text).expect_err("the manifest has a fault").to_string();
            assert!(error.contains(word), "{error} does not name {word}");
        }
    }

    proptest! {
        /// A manifest of a stranger: one that is good, with anything put into it anywhere.
        #[test]
        fn any_text_is_a_manifest_or_is_refused_with_a_sentence(
            at in any::<prop::sample::Index>(),
            cut in 0..40_usize,
            put in "[\\PC\n]{0,40}",
        ) {
            let places: Vec<usize> = GOOD.char_indices().map(|(place, _)| place).collect();
            let from = at.index(places.len());
            let to = places.get(from + cut).copied().unwrap_or(GOOD.len());
            let text = format!("{}{put}{}", &GOOD[..places[from]], &GOOD[to..]);
            match Manifest::parse("stranger", &text) {
                Ok(manifest) => {
                    prop_assert!((1..=64).contains(&manifest.name.len()));
                    prop_assert!(manifest.wants.keys().all(|capability| is_capability(capability)));
                }
                Err(refused) => prop_assert!(!refused.to_string().is_empty()),
            }
        }
    }
}

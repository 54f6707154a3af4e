//! What each plugin may do. Asked anew at each call, so that taking a grant away works at once.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use homeagent_package::PublicKey;
use homeagent_settings::{DatabaseError, Decision, Given, Grants};
use homeagent_types::CallError;
use homeagent_types::ports::CapabilityStatus;
use serde_json::Value;

use crate::wants::{Details, Want, narrow, owners_settings};

/// Whose a package is. A grant is given to it, and holds for no package of that name by somebody else.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Author {
    /// It came with homed.
    Bundled,
    /// Nobody signed it: whoever may lay packages into the data folder, or install them, vouches for it. That is the
    /// owner alone.
    #[default]
    Owner,
    /// Whoever has this key.
    Publisher(PublicKey),
}

/// How a publisher's key begins where it is stored.
const KEY: &str = "ed25519:";

impl Author {
    /// As it is stored with a grant.
    fn text(&self) -> String {
        match self {
            Author::Bundled => "bundled".to_owned(),
            Author::Owner => "unsigned".to_owned(),
            Author::Publisher(key) => format!("{KEY}{key}"),
        }
    }

    /// The name under which is kept what a plugin of this name and author keeps: each publisher's own, so that who takes a
    /// name over finds nothing of the one before. A plugin's name has no `@` in it.
    fn keeps_under(&self, plugin: &str) -> String {
        match self {
            Author::Bundled | Author::Owner => plugin.to_owned(),
            Author::Publisher(key) => format!("{plugin}@{key}"),
        }
    }

    /// Whether this is to whom something was given. What was given before that was kept was given to no signed package.
    fn is(&self, to: Option<&str>) -> bool {
        match to {
            Some(to) => to == self.text(),
            None => matches!(self, Author::Bundled | Author::Owner),
        }
    }
}

/// The stored name of an author, as people read it.
fn named(to: Option<&str>) -> String {
    let key = to.and_then(|to| PublicKey::parse(to.strip_prefix(KEY)?));
    match (to, key) {
        (_, Some(key)) => format!("a package signed by {}", key.fingerprint()),
        (Some("bundled"), _) => "the package that came with homed".to_owned(),
        (Some("unsigned") | None, _) => "an unsigned package".to_owned(),
        (Some(other), _) => format!("a package of {other}"),
    }
}

/// The grants of one plugin.
#[derive(Clone)]
pub(crate) struct GrantTable {
    plugin: String,
    stored: Grants,
    /// What the package asks for, and whose it is: those that came with homed have what they ask for until the owner takes
    /// it away.
    asked: Arc<RwLock<Asked>>,
    /// It is tried.
    trial: Option<Trial>,
}

/// What holds of a plugin that is tried.
#[derive(Clone, Copy)]
struct Trial {
    /// Whatever was decided, it has what it asks for of these, and nothing else.
    only: &'static [&'static str],
    /// Of all trials, so that each keeps what it keeps by itself.
    number: u64,
}

/// What a package asks for.
#[derive(Default)]
pub(crate) struct Asked {
    /// The capabilities, with the details that the manifest gives.
    wants: BTreeMap<String, Details>,
    author: Author,
}

/// What a plugin has of a capability that its package asks for.
enum Share<'a> {
    /// All of it.
    Whole(&'a Details),
    /// Part of it: what is within what was granted.
    Part(Details),
    /// Nothing, because the owner took it away.
    Taken,
    /// Nothing; where there is more to say than that it was never granted, why.
    Nothing(Option<String>),
}

impl<'a> Share<'a> {
    fn had(self) -> Option<Cow<'a, Details>> {
        match self {
            Share::Whole(details) => Some(Cow::Borrowed(details)),
            Share::Part(details) => Some(Cow::Owned(details)),
            Share::Taken | Share::Nothing(_) => None,
        }
    }
}

impl GrantTable {
    pub(crate) fn new(plugin: String, stored: Grants) -> Self {
        Self { plugin, stored, asked: Arc::default(), trial: None }
    }

    /// Those of a plugin that is tried: what it asks for of these capabilities it has, and it has nothing else, nor anything
    /// that the plugin has kept.
    pub(crate) fn for_trial(plugin: String, stored: Grants, only: &'static [&'static str]) -> Self {
        static TRIALS: AtomicU64 = AtomicU64::new(0);
        let number = TRIALS.fetch_add(1, Ordering::Relaxed);
        Self { trial: Some(Trial { only, number }), ..Self::new(plugin, stored) }
    }

    /// What the package that is now in the slot asks for; what the one before it asked for.
    pub(crate) fn ask(&self, wants: BTreeMap<String, toml::Table>, author: Author) -> Asked {
        let wants = wants.into_iter().map(|(capability, details)| (capability, as_json(details))).collect();
        self.ask_again(Asked { wants, author })
    }

    /// The same with what was asked for before.
    pub(crate) fn ask_again(&self, asked: Asked) -> Asked {
        std::mem::replace(&mut *self.asked.write().unwrap_or_else(PoisonError::into_inner), asked)
    }

    /// The name under which is kept what the plugin keeps.
    pub(crate) fn keeps_under(&self) -> String {
        // No plugin's name has a `~` in it.
        if let Some(Trial { number, .. }) = self.trial {
            return format!("{}~trial-{number}", self.plugin);
        }
        let asked = self.asked.read().unwrap_or_else(PoisonError::into_inner);
        asked.author.keeps_under(&self.plugin)
    }

    pub(crate) fn allows(&self, capability: &str) -> bool {
        let asked = self.asked.read().unwrap_or_else(PoisonError::into_inner);
        // A capability that the package does not ask for is not its to use, whatever was granted to an older one.
        let details = asked.wants.get(capability);
        details.is_some_and(|details| self.share(capability, details, &asked.author).had().is_some())
    }

    /// What the plugin may use of a capability with details; `None` where it may use nothing of it.
    pub(crate) fn granted<W: Want>(&self) -> Option<W> {
        let asked = self.asked.read().unwrap_or_else(PoisonError::into_inner);
        let had = self.share(W::CAPABILITY, asked.wants.get(W::CAPABILITY)?, &asked.author).had()?;
        // What was asked for was checked when the manifest was read; a part of it may lack what makes it something.
        serde_json::from_value(Value::Object(had.into_owned())).ok()
    }

    /// What the package asks for of a capability with details, granted or not.
    pub(crate) fn asked<W: Want>(&self) -> Option<W> {
        let asked = self.asked.read().unwrap_or_else(PoisonError::into_inner);
        serde_json::from_value(Value::Object(asked.wants.get(W::CAPABILITY)?.clone())).ok()
    }

    /// Settings of the package that say where it may go: those that it asks for, and those that were granted, which count
    /// also where a later package does not name them any more.
    pub(crate) fn owners_settings(&self) -> Vec<String> {
        let asked = self.asked.read().unwrap_or_else(PoisonError::into_inner);
        let mut names = owners_settings(|capability| asked.wants.get(capability).cloned());
        names.extend(owners_settings(|capability| match self.stored.decided(&self.plugin, capability) {
            Some(Decision::Given(given)) => Some(given.details.clone()),
            Some(Decision::Taken) | None => None,
        }));
        names
    }

    /// Whether the defaults of such settings count. A package by others brings them along with each update, which nobody
    /// is asked about; only what the owner set counts there.
    pub(crate) fn defaults_count(&self) -> bool {
        self.asked.read().unwrap_or_else(PoisonError::into_inner).author == Author::Bundled
    }

    fn share<'a>(&self, capability: &str, details: &'a Details, author: &Author) -> Share<'a> {
        if let Some(Trial { only, .. }) = self.trial {
            return if only.contains(&capability) { Share::Whole(details) } else { Share::Nothing(None) };
        }
        match self.stored.decided(&self.plugin, capability) {
            Some(Decision::Taken) => Share::Taken,
            _ if *author == Author::Bundled => Share::Whole(details),
            None => Share::Nothing(None),
            Some(Decision::Given(given)) if !author.is(given.to.as_deref()) => {
                Share::Nothing(Some(format!("it was granted to {}", named(given.to.as_deref()))))
            }
            Some(Decision::Given(given)) => match narrow(capability, details, &given.details) {
                Some(part) if part == *details => Share::Whole(details),
                Some(part) => Share::Part(part),
                None => Share::Nothing(Some("what was granted has nothing in common with what it asks for".into())),
            },
        }
    }

    /// The capabilities asked for, with what the plugin has of each.
    pub(crate) fn status(&self) -> Vec<CapabilityStatus> {
        let asked = self.asked.read().unwrap_or_else(PoisonError::into_inner);
        let status = |(name, details): (&String, &Details)| {
            let (state, granted, reason) = match self.share(name, details, &asked.author) {
                Share::Whole(details) => ("granted", Some(details.clone()), None),
                Share::Part(part) => ("partly", Some(part), None),
                Share::Taken => ("revoked", None, None),
                Share::Nothing(reason) => ("missing", None, reason),
            };
            CapabilityStatus { name: name.clone(), state: state.to_owned(), asked: details.clone(), granted, reason }
        };
        asked.wants.iter().map(status).collect()
    }

    /// Gives what the package asks for now, to whose package it is.
    pub(crate) async fn grant(&self, capability: &str) -> Result<(), CallError> {
        let given = {
            let asked = self.asked.read().unwrap_or_else(PoisonError::into_inner);
            let Some(details) = asked.wants.get(capability) else {
                let plugin = &self.plugin;
                return Err(CallError::Invalid(format!(
                    "{plugin} does not ask for {capability}: there is no [wants.{capability}] in its plugin.toml"
                )));
            };
            Given { details: details.clone(), to: Some(asked.author.text()) }
        };
        self.decide(capability, move |stored, plugin, capability| stored.grant(plugin, capability, given)).await
    }

    pub(crate) async fn revoke(&self, capability: &str) -> Result<(), CallError> {
        self.decide(capability, Grants::revoke).await
    }

    /// Away from the workers: the disk may take its time.
    async fn decide(
        &self,
        capability: &str,
        decide: impl FnOnce(&Grants, &str, &str) -> Result<(), DatabaseError> + Send + 'static,
    ) -> Result<(), CallError> {
        let (stored, plugin, capability) = (self.stored.clone(), self.plugin.clone(), capability.to_owned());
        let decided = tokio::task::spawn_blocking(move || decide(&stored, &plugin, &capability)).await;
        match decided {
            Ok(decided) => decided.map_err(|error| CallError::NotStored(error.to_string())),
            Err(_) => Err(CallError::Other("storing the grant broke off; the log says more".to_owned())),
        }
    }
}

/// The details of a manifest as they are stored. TOML knows only one thing that JSON does not, times; they are written as
/// a table with their text.
fn as_json(details: toml::Table) -> Details {
    match serde_json::to_value(details) {
        Ok(Value::Object(details)) => details,
        _ => Details::new(),
    }
}

#[cfg(test)]
mod tests {
    use homeagent_settings::Database;
    use serde::Deserialize;

    use super::*;

    /// Details of the capability `http`, for these tests.
    #[derive(Debug, Deserialize, PartialEq)]
    struct Hosts {
        hosts: Vec<String>,
    }

    impl Want for Hosts {
        const CAPABILITY: &'static str = "http";

        fn check(&self) -> Result<(), String> {
            Ok(())
        }
    }

    fn table() -> (tempfile::TempDir, GrantTable) {
        let folder = tempfile::tempdir().expect("a folder");
        let stored = Grants::open(&Database::open(folder.path().join("db")).expect("a new database"));
        (folder, GrantTable::new("web".into(), stored.expect("new grants")))
    }

    fn wants(text: &str) -> BTreeMap<String, toml::Table> {
        toml::from_str(text).expect("the tables are good")
    }

    fn hosts(table: &GrantTable) -> Option<Vec<String>> {
        table.granted::<Hosts>().map(|it| it.hosts)
    }

    /// Name, state and details of each capability.
    fn states(table: &GrantTable) -> Vec<(String, String, String)> {
        let text = |granted: Option<Details>| Value::from(granted.map(Value::Object)).to_string();
        table.status().into_iter().map(|it| (it.name, it.state, text(it.granted))).collect()
    }

    #[tokio::test]
    async fn a_package_that_asks_for_more_has_what_was_granted_and_one_that_asks_for_less_has_less() {
        let (_folder, table) = table();
        table.ask(wants("[http]\nhosts = ['a', 'b']"), Author::Owner);
        assert_eq!(hosts(&table), None);
        table.grant("http").await.expect("it is asked for");
        assert_eq!(hosts(&table), Some(vec!["a".into(), "b".into()]));

        table.ask(wants("[http]\nhosts = ['b', 'evil']\n[tools]"), Author::Owner);
        assert_eq!(hosts(&table), Some(vec!["b".into()]));
        let expected = [
            ("http".into(), "partly".into(), r#"{"hosts":["b"]}"#.into()),
            ("tools".into(), "missing".into(), "null".into()),
        ];
        assert_eq!(states(&table), expected);
        table.ask(wants("[http]\nhosts = ['evil']"), Author::Owner);
        assert!(hosts(&table).is_none() && !table.allows("http"));

        table.ask(wants("[http]\nhosts = ['a']"), Author::Owner);
        assert_eq!(states(&table), [("http".into(), "granted".into(), r#"{"hosts":["a"]}"#.into())]);
        table.ask(wants("[http]\nhosts = ['b', 'evil']"), Author::Owner);
        table.grant("http").await.expect("it is asked for");
        assert_eq!(hosts(&table), Some(vec!["b".into(), "evil".into()]));
        table.revoke("http").await.expect("it was granted");
        assert_eq!(states(&table), [("http".into(), "revoked".into(), "null".into())]);
    }

    #[tokio::test]
    async fn a_setting_that_was_granted_stays_the_owners_when_it_is_asked_for_no_more() {
        let (_folder, table) = table();
        let asked = "[http]\nsettings = ['hosts']\n[secrets.key]\nsetting = 'places'\n\
            [listen]\nwebsocket.door = { path = '/door', address = 'at' }";
        table.ask(wants(asked), Author::Owner);
        for capability in ["http", "secrets", "listen"] {
            table.grant(capability).await.expect("it is asked for");
        }
        table.ask(wants("[http]\n[secrets.key]\n[listen]\nwebsocket.door = { path = '/door' }"), Author::Owner);
        assert_eq!(table.owners_settings(), ["hosts", "places", "at"]);
        for capability in ["http", "secrets", "listen"] {
            table.grant(capability).await.expect("it is asked for");
        }
        assert!(table.owners_settings().is_empty(), "nothing is reached by them any more");
    }

    #[test]
    fn what_is_tried_keeps_nothing_where_the_plugin_or_another_trial_keeps_it() {
        let (_folder, table) = table();
        let trial = || GrantTable::for_trial("web".into(), table.stored.clone(), &["tools"]);
        let names = [table.keeps_under(), trial().keeps_under(), trial().keeps_under()];
        assert_eq!((names[0].as_str(), names.iter().collect::<std::collections::BTreeSet<_>>().len()), ("web", 3));
    }

    #[tokio::test]
    async fn what_is_not_asked_for_is_not_granted_ahead() {
        let (_folder, table) = table();
        table.ask(wants("[tools]"), Author::Owner);
        let refused = table.grant("http").await.expect_err("it is not asked for").to_string();
        assert!(refused.contains("[wants.http]"), "{refused}");
        table.revoke("http").await.expect("that can be said ahead");
        table.ask(wants("[http]\nhosts = ['a']"), Author::Bundled);
        assert!(!table.allows("http"));
    }

    #[tokio::test]
    async fn a_grant_to_the_bundled_package_is_none_to_another_of_its_name() {
        let (_folder, table) = table();
        table.ask(wants("[http]\nhosts = ['a']"), Author::Bundled);
        assert_eq!(hosts(&table), Some(vec!["a".into()]), "it has what it asks for");
        table.grant("http").await.expect("it is asked for");
        table.ask(wants("[http]\nhosts = ['a']"), Author::Owner);
        assert!(!table.allows("http") && hosts(&table).is_none());
        let reason = table.status().remove(0).reason.unwrap_or_default();
        assert!(reason.contains("came with homed"), "{reason}");
    }

    #[test]
    fn what_was_granted_before_details_were_kept_holds_without_any_for_unsigned_packages() {
        let (_folder, table) = table();
        table.stored.grant("web", "http", Given::default()).expect("grants");
        table.stored.grant("web", "tools", Given::default()).expect("grants");
        table.ask(wants("[http]\nhosts = ['a']\n[tools]"), Author::Owner);
        assert!(table.allows("tools"));
        assert_eq!(hosts(&table), None);
        let http = table.status().remove(0);
        assert_eq!((http.state.as_str(), http.granted), ("partly", Some(Details::new())));
    }
}

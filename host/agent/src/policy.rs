//! Which tools run, which wait for the owner's word, and which do not run: what the owner set, and what is usual.

use homeagent_settings::{Settings, SettingsError};
use serde::Serialize;
use utoipa::ToSchema;

/// The setting: rules `NAME=WORD`, where a `*` at the end of a name stands for any rest.
const SETTING: &str = "core.tools.policy";

/// What becomes of a call of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ToolPolicy)]
pub enum Policy {
    /// It runs.
    Allow,
    /// The owner is asked first; without an answer it does not run.
    Ask,
    /// It does not run, and no model is shown it.
    Deny,
}

impl Policy {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "allow" => Some(Self::Allow),
            "ask" => Some(Self::Ask),
            "deny" => Some(Self::Deny),
            _ => None,
        }
    }
}

/// What the owner set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policies {
    rules: Vec<(String, Policy)>,
}

impl Policies {
    pub(crate) fn read(settings: &Settings) -> Result<Self, SettingsError> {
        Ok(Self::of_rules(&settings.texts(SETTING)?))
    }

    fn of_rules(rules: &[String]) -> Self {
        let rule = |rule: &String| {
            let (name, word) = rule.rsplit_once('=')?;
            Some((name.trim().to_owned(), Policy::parse(word.trim())?))
        };
        Self { rules: rules.iter().filter_map(rule).collect() }
    }

    /// What is set for a tool. A rule with its whole name counts before those with a `*`, of which the longest counts;
    /// of two that are alike the stricter.
    pub(crate) fn of(&self, tool: &str) -> Option<Policy> {
        let fits = |name: &str| match name.strip_suffix('*') {
            Some(beginning) => tool.starts_with(beginning).then(|| name.len()),
            None => (name == tool).then_some(usize::MAX),
        };
        let strictness = |policy: Policy| match policy {
            Policy::Allow => 0,
            Policy::Ask => 1,
            Policy::Deny => 2,
        };
        let fitting = self.rules.iter().filter_map(|(name, policy)| Some((fits(name)?, *policy)));
        fitting.max_by_key(|(length, policy)| (*length, strictness(*policy))).map(|(_, policy)| policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_that_says_most_of_a_name_counts() {
        let rules = ["*=deny", "files_*=ask", "files_read=allow", "files_read_*=deny", "x=allow", "x=ask"];
        let policies = Policies::of_rules(&rules.map(str::to_owned));
        let expected = [
            ("files_read", Policy::Allow),
            ("files_write", Policy::Ask),
            ("files_read_all", Policy::Deny),
            ("x", Policy::Ask),
            ("anything", Policy::Deny),
        ];
        for (tool, policy) in expected {
            assert_eq!(policies.of(tool), Some(policy), "{tool}");
        }
        assert_eq!(Policies::default().of("x"), None);
    }
}

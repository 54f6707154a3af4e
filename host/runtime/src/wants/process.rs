//! `[wants.process]`: the programs that a package wants to run.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::Deserialize;

use super::{Details, Want};

const MOST: usize = 32;
/// Names by which a variable decides what code a program runs, or that are the daemon's own.
const RESERVED: [&str; 6] = ["LD_", "DYLD_", "GLIBC_", "GCONV_", "BASH_", "HOMEAGENT_"];

/// The programs, and what is in their environment.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProcessWant {
    /// Absolute paths.
    pub(crate) programs: Vec<String>,
    /// All that is in their environment.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
}

impl Want for ProcessWant {
    const CAPABILITY: &'static str = "process";

    fn check(&self) -> Result<(), String> {
        if self.programs.is_empty() || self.programs.len() > MOST || self.environment.len() > MOST {
            return Err(format!("it has 1 to {MOST} programs and at most {MOST} variables in their environment"));
        }
        for program in &self.programs {
            let path = Path::new(program);
            let strays = path.components().any(|part| part == Component::ParentDir);
            if !path.is_absolute() || strays || program.len() > 4096 || program.contains('\0') {
                return Err(format!("the program {program:?} must be an absolute path without .. in it"));
            }
        }
        for (name, value) in &self.environment {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || name.len() > 64 || !name.chars().all(fits) || value.contains('\0') {
                return Err(format!("the variable {name:?} must be called by 1 to 64 letters, digits and _"));
            }
            if value.len() > 4096 {
                return Err(format!("the variable {name} has more than 4096 bytes"));
            }
            if RESERVED.iter().any(|start| name.starts_with(start)) || name == "ENV" {
                return Err(format!("the variable {name} is not a package's to set"));
            }
        }
        Ok(())
    }
}

/// Whether the programs have the variables that were granted. A variable can hold a program back as well as let it do more,
/// so with others it is another program.
pub(super) fn same_environment(asked: &Details, granted: &Details) -> bool {
    let variables = |details: &Details| {
        let set = details.get("environment").and_then(serde_json::Value::as_object);
        set.cloned().unwrap_or_default()
    };
    variables(asked) == variables(granted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn with_other_variables_a_program_is_another_one() {
        let details = |environment: serde_json::Value| {
            let value = json!({ "programs": ["/usr/bin/git"], "environment": environment });
            value.as_object().cloned().expect("a table")
        };
        let granted = details(json!({ "GIT_CONFIG_NOSYSTEM": "1" }));
        for other in [json!({}), json!({ "GIT_CONFIG_NOSYSTEM": "0" }), json!({ "GIT_CONFIG_NOSYSTEM": "1", "X": "1" })]
        {
            assert_eq!(super::super::narrow("process", &details(other), &granted), None);
        }
        assert_eq!(super::super::narrow("process", &granted, &granted), Some(granted.clone()));
    }
}

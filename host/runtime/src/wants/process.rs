//! `[wants.process]`: the programs that a package wants to run.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::Deserialize;

use super::Want;

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

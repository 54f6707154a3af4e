//! Programs of this machine, those that `[wants.process]` lists. Needs the grant `process`.

use crate::Error;
use crate::bindings::plugin::homeagent::plugin::process as host;

pub use host::{Command, Ending, Outcome};

impl Command {
    /// A program by its absolute path, in the plugin's own folder, with nothing to read.
    pub fn new(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            folder: None,
            input: Vec::new(),
            timeout_ms: None,
            meta: Vec::new(),
        }
    }

    /// One more argument.
    pub fn argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Runs it in a folder of `files`.
    pub fn folder(mut self, folder: impl Into<String>) -> Self {
        self.folder = Some(folder.into());
        self
    }

    /// What it reads from its standard input, at most 1 MiB.
    pub fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// How long it may take, in milliseconds.
    pub fn timeout_ms(mut self, milliseconds: u64) -> Self {
        self.timeout_ms = Some(milliseconds);
        self
    }
}

/// Runs a program to its end. An error says that it did not run.
pub async fn run(command: Command) -> Result<Outcome, Error> {
    if !cfg!(target_arch = "wasm32") {
        return Err(Error::NotLive);
    }
    host::run(command).await
}

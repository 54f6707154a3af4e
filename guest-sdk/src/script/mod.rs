//! Interpreters: components that become one plugin for each script they are given.
//!
//! An interpreter runs a script's files and hands calls on to what the script has registered. Everything that goes in or
//! out is JSON, so a language needs a way to read and write JSON, and two functions of the host's side: one that answers
//! at once ([`now`]) and one that waits ([`wait`]). `docs/languages.md` has the forms.
//!
//! The package of an interpreter says `interprets = "<ending>"` in its `plugin.toml`. One that exports
//! `homeagent_adapters::export_script_adapter!` as well runs adapters, too.

use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::rc::Rc;

use serde_json::Value;

use crate::bindings::script::homeagent::plugin::script as host;
use crate::{Error, testing};

mod calls;
mod connections;
mod errands;
mod host_functions;
mod incoming;
mod machine;
mod network;
mod outgoing;
mod recollection;

pub use host::{File, Program};
pub use host_functions::{now, wait};
pub use incoming::{list, raised, read as from_json};
pub use outgoing::error as error_as_json;

/// A language.
pub trait Interpreter: Sized + 'static {
    /// Makes the language's state and runs the program's first file. It must not wait for the host.
    ///
    /// # Errors
    /// What is wrong with the script, with its file and line.
    fn load(program: &Program) -> Result<Self, String>;

    /// Calls what the script registered for `what` - `describe`, `start`, `self-check`, `activated`, `stop`, `tool`,
    /// `stage`, `event`, `timer`, `deliver`, `show`, `open`, `frames`, `close` or `request`; `adapter-describe` or `adapter`
    /// where it is an adapter - and answers with what it returned; nothing is `null`.
    ///
    /// # Errors
    /// What the script raised, with its file and line.
    #[allow(async_fn_in_trait, reason = "a component has one thread")]
    async fn call(&self, what: &'static str, argument: Value) -> Result<Value, Error>;
}

/// The plugin that an interpreter is with the script it was given; made by
/// [`export_interpreter!`](crate::export_interpreter).
pub struct Scripted<I>(PhantomData<I>);

thread_local! {
    /// The loaded script. Of one type only, since a component is one interpreter.
    static LOADED: RefCell<Option<Rc<dyn Any>>> = const { RefCell::new(None) };
}

/// The script. Off wasm32 there is none, and the program has no files.
pub fn read() -> Program {
    if cfg!(target_arch = "wasm32") {
        host::read()
    } else {
        Program { plugin: String::new(), version: String::new(), files: Vec::new() }
    }
}

/// The interpreter with its script, which is loaded when it is first needed.
///
/// # Errors
/// What is wrong with the script, with its file and line.
pub fn loaded<I: Interpreter>() -> Result<Rc<I>, Error> {
    let known = LOADED.with_borrow(|loaded| loaded.clone()).and_then(|loaded| loaded.downcast::<I>().ok());
    if let Some(interpreter) = known {
        return Ok(interpreter);
    }
    let interpreter = Rc::new(I::load(&read()).map_err(Error::Other)?);
    let kept: Rc<dyn Any> = Rc::<I>::clone(&interpreter);
    LOADED.with_borrow_mut(|loaded| *loaded = Some(kept));
    Ok(interpreter)
}

/// Calls what may not wait.
///
/// # Errors
/// What the script raised, or that it waits.
pub fn call_at_once<I: Interpreter>(script: &I, what: &'static str, argument: Value) -> Result<Value, Error> {
    testing::run_at_once(script.call(what, argument))
        .ok_or_else(|| Error::other(format!("{what} may not wait for the host")))?
}

/// Makes a language the plugin that each of its scripts is.
#[macro_export]
macro_rules! export_interpreter {
    ($interpreter:ident) => {
        type ScriptedPlugin = $crate::script::Scripted<$interpreter>;
        $crate::export!(ScriptedPlugin: Tools, Stages, Events, Channel, Timers, Sockets, Routes);
    };
}

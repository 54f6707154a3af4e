//! What one instance does to itself.

use std::hint::black_box;
use std::time::{Duration, Instant};

use homeagent_sdk::{Cause, Error, ToolOutput, tools};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::floods;

const BLOCK: usize = 1 << 20;
/// A text that no answer may have, in bytes; a guest has at most 4 GiB of addresses.
const HUGE: usize = 2_000_000_000;
/// Steps that take the better part of a second on any processor.
const LONG: u64 = 500_000_000;

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Fault {
    /// Does no harm.
    None,
    /// Computes for ever.
    Loop,
    /// Computes for a while.
    Long,
    /// Computes again and again, and rests a little in between.
    Restless,
    Trap,
    /// Allocates without end.
    Memory,
    /// Calls itself without end.
    Stack,
    /// Makes handles without end.
    Handles,
    /// Answers with a text of 2 GB.
    Huge,
    /// Never answers.
    Wait,
    /// Writes ten million lines.
    Log,
    /// The same to its standard output, without an end of a line.
    Stdout,
    /// Publishes a million events.
    Publish,
    /// Submits many inputs at once.
    Inputs,
    /// Calls a tool a thousand times at once.
    Calls,
    /// Calls itself through others.
    Again,
    /// Panics when the tool `gate` has answered.
    Late,
}

impl Fault {
    /// Does it where nothing can be awaited.
    pub(crate) fn happen(self) {
        match self {
            Fault::Loop => loop {
                black_box(());
            },
            Fault::Long => {
                for step in 0..LONG {
                    black_box(step);
                }
            }
            Fault::Trap => panic!("a trap on request"),
            Fault::Memory => {
                let mut blocks = Vec::new();
                loop {
                    blocks.push(black_box(vec![1_u8; BLOCK]));
                }
            }
            Fault::Stack => {
                black_box(deeper(black_box(1)));
            }
            Fault::Handles => handles(),
            Fault::Log => floods::log(),
            Fault::Stdout => floods::stdout(),
            Fault::Publish => floods::publish(),
            Fault::None
            | Fault::Huge
            | Fault::Wait
            | Fault::Restless
            | Fault::Inputs
            | Fault::Calls
            | Fault::Again
            | Fault::Late => {}
        }
    }

    pub(crate) async fn happen_in_a_call(self, cause: Cause) -> Result<ToolOutput, Error> {
        match self {
            Fault::Huge => Ok(ToolOutput::text("x".repeat(black_box(HUGE)))),
            Fault::Wait => std::future::pending().await,
            Fault::Restless => floods::restless(cause).await,
            Fault::Inputs => floods::inputs(cause).await,
            Fault::Calls => floods::calls(cause).await,
            Fault::Again => tools::call("again", &json!({}), cause).await,
            Fault::Late => {
                tools::call("gate", &json!({}), cause).await?;
                panic!("a trap on request, late")
            }
            fault => {
                fault.happen();
                Ok(ToolOutput::text("done"))
            }
        }
    }
}

/// Computes until so much time has gone by.
pub(crate) fn compute(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        black_box(());
    }
}

#[allow(unconditional_recursion, reason = "that is the harm")]
fn deeper(depth: u64) -> u64 {
    black_box([depth; 64])[0] + deeper(black_box(depth + 1))
}

/// Sets of what can be waited for, each of which is a handle.
#[allow(unsafe_code, reason = "the contract has nothing that a guest could hoard")]
fn handles() {
    #[cfg(target_arch = "wasm32")]
    {
        #[link(wasm_import_module = "$root")]
        unsafe extern "C" {
            #[link_name = "[waitable-set-new]"]
            fn waitable_set_new() -> u32;
        }
        loop {
            // SAFETY: it takes nothing, and what it returns is a number.
            black_box(unsafe { waitable_set_new() });
        }
    }
}

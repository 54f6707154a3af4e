//! Misbehaves in every way a tool can.

use std::hint::black_box;

use homeagent_sdk::{Arguments, Cause, Descriptor, Effect, Error, NoArguments, Plugin, Tool, ToolOutput, Tools};

const BIG: usize = 8 << 20;
const DEEP: usize = 100_000;
const BLOCK: usize = 1 << 20;

struct Traps;

impl Plugin for Traps {
    fn describe() -> Descriptor {
        let tool = |name, description| Tool::new::<NoArguments>(name, description).effect(Effect::Read);
        Descriptor::new("traps", env!("CARGO_PKG_VERSION"))
            .summary("Misbehaves on request.")
            .tool(tool("trap", "Panics."))
            .tool(tool("memory", "Allocates without end."))
            .tool(tool("loop", "Computes for ever."))
            .tool(tool("big", "Answers with 8 MiB of text."))
            .tool(tool("deep", "Answers with lists in lists, 100,000 deep."))
            .tool(tool("wait", "Waits for what never comes."))
            .tool(tool("ok", "Behaves."))
    }
}

impl Tools for Traps {
    async fn call(name: &str, _arguments: Arguments, _cause: Cause) -> Result<ToolOutput, Error> {
        match name {
            "trap" => panic!("a trap on request"),
            "memory" => {
                let mut blocks = Vec::new();
                loop {
                    blocks.push(black_box(vec![1_u8; BLOCK]));
                }
            }
            "loop" => loop {
                black_box(());
            },
            "big" => Ok(ToolOutput::text("x".repeat(BIG))),
            "deep" => Ok(ToolOutput::raw("[".repeat(DEEP) + &"]".repeat(DEEP))),
            "wait" => std::future::pending().await,
            "ok" => Ok(ToolOutput::text("ok")),
            _ => Err(Error::no_tool(name)),
        }
    }
}

homeagent_sdk::export!(Traps: Tools);

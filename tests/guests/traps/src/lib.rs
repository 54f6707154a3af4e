//! Misbehaves in every way a tool can.

use std::hint::black_box;

use homeagent_sdk::{
    Arguments, Cause, Descriptor, Effect, Error, NoArguments, Plugin, Tool, ToolOutput, Tools, registry,
};

const BIG: usize = 2 << 20;
/// More memory than the instance may have, in bytes.
const GREED: usize = 1 << 30;
const DEEP: usize = 100_000;
const BLOCK: usize = 1 << 20;

struct Traps;

fn tool(name: &str, description: &str) -> Tool {
    Tool::new::<NoArguments>(name, description).effect(Effect::Read)
}

impl Plugin for Traps {
    fn describe() -> Descriptor {
        Descriptor::new("traps", env!("CARGO_PKG_VERSION"))
            .summary("Misbehaves on request.")
            .tool(tool("trap", "Panics."))
            .tool(tool("memory", "Allocates without end."))
            .tool(tool("loop", "Computes for ever."))
            .tool(tool("big", "Answers with 2 MiB of text."))
            .tool(tool("chatter", "Complains a lot and behaves."))
            .tool(tool("greed", "Wants more memory than there is, and copes without."))
            .tool(tool("lament", "Panics with its arguments."))
            .tool(tool("retool", "Offers one other tool in the place of all."))
            .tool(tool("deep", "Answers with lists in lists, 100,000 deep."))
            .tool(tool("wait", "Waits for what never comes."))
            .tool(tool("ok", "Behaves."))
    }
}

impl Tools for Traps {
    async fn call(name: &str, arguments: Arguments, _cause: Cause) -> Result<ToolOutput, Error> {
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
            "chatter" => {
                for number in 0..100 {
                    eprintln!("complaint number {number}: it is always the same");
                }
                Ok(ToolOutput::text("that was all"))
            }
            "greed" => {
                let mut room = Vec::<u8>::new();
                let reserved = room.try_reserve_exact(black_box(GREED));
                black_box(&room);
                match reserved {
                    Ok(()) => Err(Error::other("there is more memory than there should be")),
                    Err(_) => Ok(ToolOutput::text("without")),
                }
            }
            "lament" => panic!("woe: {}", arguments.as_str()),
            "retool" => {
                registry::replace_tools(vec![tool("other", "Is there instead.")]).await?;
                Ok(ToolOutput::text("retooled"))
            }
            "deep" => Ok(ToolOutput::raw("[".repeat(DEEP) + &"]".repeat(DEEP))),
            "wait" => std::future::pending().await,
            "ok" => Ok(ToolOutput::text("ok")),
            _ => Err(Error::no_tool(name)),
        }
    }
}

homeagent_sdk::export!(Traps: Tools);

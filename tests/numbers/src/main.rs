//! Measures the running daemon, not what it says of itself: starts, memory, turns and tool calls, from outside, with a
//! vendor beside it that answers at once. Prints a table for docs/performance.md.
//!
//! ```console
//! $ cargo build --release --workspace && cargo run --release -p homeagent-numbers
//! ```

mod client;
mod daemon;
mod machine;
mod table;
mod vendor;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use serde_json::json;

use crate::client::Client;
use crate::daemon::{Daemon, Home, Memory};
use crate::table::{Table, milliseconds, percentile};
use crate::vendor::Vendor;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What to measure.
#[derive(Parser)]
struct Args {
    /// The daemon [default: homed beside this program]
    #[arg(long, value_name = "FILE")]
    homed: Option<PathBuf>,
    /// How many turns the daemon is given between the first and the last look at its memory
    #[arg(long, default_value_t = 10_000)]
    turns: usize,
    /// How many warm starts are measured
    #[arg(long, default_value_t = 11)]
    starts: usize,
}

/// How many turns and calls are timed one by one.
const TIMED: usize = 1000;
/// How many conversations talk at once where several do.
const SIDE_BY_SIDE: usize = 4;
/// How long a daemon with nothing to do is left alone before its memory is looked at.
const IDLE: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() -> ExitCode {
    match measure(Args::parse()).await {
        Ok(table) => {
            println!("{table}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("the numbers could not be taken: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(args: Args) -> Result<Table, Failure> {
    let homed = args.homed.map_or_else(daemon::beside, Ok)?;
    let mut table = Table::default();
    table.row("`homed`, stripped", format!("{:.1} MB", megabytes(std::fs::metadata(&homed)?.len())));
    let waiter = homed.with_file_name("waiter");
    if let Ok(file) = std::fs::metadata(waiter) {
        table.row("`waiter`, stripped", format!("{:.1} MB", megabytes(file.len())));
    }

    let home = Home::fresh(&homed)?;
    let (first, cold) = home.start().await?;
    table.row("cold start, components compiled", milliseconds(cold));
    let compiled = first.memory()?;
    table.row("memory idle after a cold start", compiled.to_string());
    first.stop().await?;

    let mut warm = Vec::new();
    for _ in 0..args.starts.max(1) {
        let (daemon, took) = home.start().await?;
        warm.push(took);
        daemon.stop().await?;
    }
    table.row("warm start, median", milliseconds(percentile(&mut warm, 50)));
    table.row("warm start, slowest", milliseconds(percentile(&mut warm, 100)));

    let vendor = Vendor::start().await?;
    let (daemon, _) = home.start().await?;
    daemon.use_source(&vendor.base_url).await?;
    tokio::time::sleep(IDLE).await;
    table.row("memory idle, warm", daemon.memory()?.to_string());

    turns(&mut table, &daemon, &vendor).await?;
    growth(&mut table, &daemon, args.turns).await?;
    daemon.stop().await?;
    Ok(table)
}

/// Turns and tool calls, one after another.
async fn turns(table: &mut Table, daemon: &Daemon, vendor: &Vendor) -> Result<(), Failure> {
    let mut client = daemon.client().await?;
    say(&mut client, "one", "hello").await?;
    let mut overhead = Vec::new();
    for _ in 0..TIMED {
        let asleep = vendor.spent();
        let began = Instant::now();
        say(&mut client, "one", "hello").await?;
        overhead.push(began.elapsed().saturating_sub(vendor.spent() - asleep));
    }
    table.row("a turn without the model, p50", milliseconds(percentile(&mut overhead, 50)));
    table.row("a turn without the model, p99", milliseconds(percentile(&mut overhead, 99)));

    let mut with_tool = Vec::new();
    for _ in 0..TIMED / 4 {
        let asleep = vendor.spent();
        let began = Instant::now();
        say(&mut client, "tool", vendor::USE_A_TOOL).await?;
        with_tool.push(began.elapsed().saturating_sub(vendor.spent() - asleep));
    }
    table.row("a turn with a tool call, p50", milliseconds(percentile(&mut with_tool, 50)));
    table.row("a turn with a tool call, p99", milliseconds(percentile(&mut with_tool, 99)));

    let mut calls = Vec::new();
    for _ in 0..TIMED {
        let began = Instant::now();
        client.post("tools/mul", &json!({ "a": 17, "b": 23 })).await?;
        calls.push(began.elapsed());
    }
    table.row("a tool call over the API, p50", milliseconds(percentile(&mut calls, 50)));
    table.row("a tool call over the API, p99", milliseconds(percentile(&mut calls, 99)));
    Ok(())
}

/// Many turns, and what they leave in memory.
async fn growth(table: &mut Table, daemon: &Daemon, turns: usize) -> Result<(), Failure> {
    let few = (turns / 10).max(1);
    let alone = many(daemon, 1, few).await?;
    table.row("turns a second, one conversation", format!("{alone:.0}"));
    let early = daemon.memory()?;
    let side_by_side = many(daemon, SIDE_BY_SIDE, turns.saturating_sub(few)).await?;
    table.row(&format!("turns a second, {SIDE_BY_SIDE} conversations"), format!("{side_by_side:.0}"));
    tokio::time::sleep(IDLE).await;
    let late = daemon.memory()?;
    table.row(&format!("memory after {few} more turns"), early.to_string());
    table.row(&format!("memory after {turns} more turns, idle again"), late.to_string());
    Ok(())
}

/// Turns a second, with so many conversations at once.
async fn many(daemon: &Daemon, conversations: usize, turns: usize) -> Result<f64, Failure> {
    let began = Instant::now();
    let talks = (0..conversations).map(|number| async move {
        let mut client = daemon.client().await?;
        for _ in 0..turns / conversations {
            say(&mut client, &format!("talk-{number}"), "hello").await?;
        }
        Ok::<_, Failure>(())
    });
    futures::future::try_join_all(talks).await?;
    let turns = u32::try_from(turns / conversations * conversations)?;
    Ok(f64::from(turns) / began.elapsed().as_secs_f64())
}

async fn say(client: &mut Client, conversation: &str, text: &str) -> Result<(), Failure> {
    let result = client.post("chat", &json!({ "text": text, "conversation": conversation })).await?;
    if result["finish"] == "stop" {
        return Ok(());
    }
    Err(format!("a turn did not end as it should: {result}").into())
}

fn megabytes(bytes: u64) -> f64 {
    Memory::megabytes(bytes)
}

//! Does with what the host keeps for it what it is told, and says what came of it: a value as JSON, or why not in words.

mod files;
mod keys;
mod programs;
mod reminders;

use homeagent_sdk::{
    Again, Arguments, Cause, Descriptor, Error, Firing, Plugin, State, Timers, Tool, ToolOutput, Tools, log,
};

/// Asked of the host before this instance served.
static AT_START: State<Option<String>> = State::new(|| None);

struct Tenant;

impl Plugin for Tenant {
    fn describe() -> Descriptor {
        let tool = |name: &str| Tool::with_schema(name, "Does one thing.", r#"{"type":"object"}"#);
        Descriptor::new("tenant", env!("CARGO_PKG_VERSION"))
            .summary("Does with what the host keeps for it what it is told.")
            .tool(tool("kv"))
            .tool(tool("files"))
            .tool(tool("process"))
            .tool(tool("timers"))
            .tool(tool("at_start"))
    }

    async fn start(_resumed: bool) -> Result<(), Error> {
        let said = keys::at_start().await;
        AT_START.with(|at_start| *at_start = Some(said));
        Ok(())
    }
}

impl Tools for Tenant {
    async fn call(name: &str, arguments: Arguments, cause: Cause) -> Result<ToolOutput, Error> {
        let done = match name {
            "kv" => keys::run(arguments.parse()?).await,
            "files" => files::run(arguments.parse()?).await,
            "process" => programs::run(arguments.parse()?).await,
            "timers" => reminders::run(arguments.parse()?, &cause).await,
            "at_start" => Ok(AT_START.with(|at_start| at_start.clone()).into()),
            _ => Err(Error::no_tool(name)),
        };
        match done {
            Ok(value) => ToolOutput::json(&value),
            Err(error) => Ok(ToolOutput::text(said(&error))),
        }
    }
}

impl Timers for Tenant {
    async fn on_timer(timer: Firing, cause: Cause) -> Result<Option<Again>, Error> {
        let handled = reminders::on_timer(timer, cause).await;
        handled.inspect_err(|error| log::error(said(error)))
    }
}

/// An error with its kind before it.
fn said(error: &Error) -> String {
    let kind = match error {
        Error::Denied(_) => "denied",
        Error::Invalid(_) => "invalid",
        Error::NotFound(_) => "not-found",
        Error::NotLive => "not-live",
        Error::Busy => "busy",
        Error::Timeout => "timeout",
        Error::Retryable => "retryable",
        Error::Other(_) => "other",
    };
    format!("{kind}: {}", error.message())
}

homeagent_sdk::export!(Tenant: Tools, Timers);

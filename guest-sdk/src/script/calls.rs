//! The contract's exports as calls of the script.

use serde_json::{Value, json};

use super::{
    Interpreter, Scripted, call_at_once, connections, errands, host_functions, incoming, loaded, outgoing, read,
};
use crate::routes::{Request, Response};
use crate::sockets::{ConnectionId, Frame};
use crate::{
    Again, Arguments, Cause, Channel, Connection, Delta, Descriptor, Error, Event, Events, Firing, Output, Patch,
    Plugin, Receipt, Routes, Sockets, StageContext, Stages, Timers, ToolOutput, Tools, log,
};

impl<I: Interpreter> Plugin for Scripted<I> {
    fn describe() -> Descriptor {
        let program = read();
        let described = loaded::<I>().and_then(|script| call_at_once(&*script, "describe", Value::Null));
        let descriptor = described.and_then(|value| incoming::descriptor(&program, value));
        descriptor.unwrap_or_else(|error| {
            // There is no other way to say it: the host reports what stood on the standard error when a call traps.
            eprintln!("{}", error.message());
            std::process::abort()
        })
    }

    async fn start(resumed: bool) -> Result<(), Error> {
        loaded::<I>()?.call("start", json!({ "resumed": resumed })).await.map(drop)
    }

    async fn self_check() -> Result<(), Error> {
        loaded::<I>()?.call("self-check", Value::Null).await.map(drop)
    }

    async fn activated() {
        note(call::<I>("activated", Value::Null).await);
    }

    async fn stop() {
        note(call::<I>("stop", Value::Null).await);
    }
}

impl<I: Interpreter> Tools for Scripted<I> {
    async fn call(name: &str, arguments: Arguments, cause: Cause) -> Result<ToolOutput, Error> {
        let arguments: Value = arguments.parse()?;
        let lent = host_functions::lend(cause);
        let argument = json!({ "name": name, "arguments": arguments, "cause": lent.json() });
        incoming::tool_output(call::<I>("tool", argument).await?)
    }
}

impl<I: Interpreter> Stages for Scripted<I> {
    async fn run(context: StageContext) -> Result<Vec<Patch>, Error> {
        let lent = host_functions::lend(context.cause.clone());
        incoming::patches(call::<I>("stage", outgoing::stage_context(&context, lent.json())).await?)
    }
}

impl<I: Interpreter> Events for Scripted<I> {
    async fn on_event(event: Event) {
        let lent = host_functions::lend(event.cause.clone());
        note(call::<I>("event", outgoing::event(&event, lent.json())).await);
    }
}

impl<I: Interpreter> Timers for Scripted<I> {
    async fn on_timer(timer: Firing, cause: Cause) -> Result<Option<Again>, Error> {
        let lent = host_functions::lend(cause);
        match call::<I>("timer", outgoing::firing(&timer, lent.json())).await {
            Ok(returned) => errands::again(returned),
            // What may be possible a moment later is told again.
            Err(error @ (Error::NotLive | Error::Busy | Error::Timeout | Error::Retryable)) => Err(error),
            // A script that fails has been told all the same.
            Err(error) => {
                log::error(error.message());
                Ok(None)
            }
        }
    }
}

impl<I: Interpreter> Channel for Scripted<I> {
    async fn deliver(output: Output, cause: Cause) -> Result<Receipt, Error> {
        let lent = host_functions::lend(cause);
        let argument = json!({ "output": outgoing::output(&output), "cause": lent.json() });
        incoming::receipt(call::<I>("deliver", argument).await?)
    }

    async fn show(deltas: Vec<Delta>) {
        note(call::<I>("show", deltas.iter().map(outgoing::delta).collect()).await);
    }
}

impl<I: Interpreter> Sockets for Scripted<I> {
    async fn on_open(connection: Connection) {
        note(call::<I>("open", connections::opened(&connection)).await);
    }

    async fn on_frames(connection: ConnectionId, frames: Vec<Frame>) {
        note(call::<I>("frames", connections::frames(connection, frames)).await);
    }

    async fn on_close(connection: ConnectionId, reason: String) {
        note(call::<I>("close", json!({ "connection": connection, "reason": reason })).await);
    }
}

impl<I: Interpreter> Routes for Scripted<I> {
    async fn handle(request: Request, cause: Cause) -> Result<Response, Error> {
        let lent = host_functions::lend(cause);
        connections::response(call::<I>("request", connections::request(&request, lent.json())).await?)
    }
}

async fn call<I: Interpreter>(what: &'static str, argument: Value) -> Result<Value, Error> {
    loaded::<I>()?.call(what, argument).await
}

/// Writes a failure that nobody waits for into the log.
fn note(outcome: Result<Value, Error>) {
    if let Err(error) = outcome {
        log::error(error.message());
    }
}

//! The traits that a plugin implements: [`Plugin`] always, the others for what it offers.

use crate::bindings::plugin::exports::homeagent::plugin::lifecycle;
use crate::bindings::{channel, event, route, snapshot, socket, stage, timer, tool};
use crate::routes::{Request, Response};
use crate::sockets::{ConnectionId, Frame};
use crate::{
    Again, Arguments, Cause, Connection, Delta, Descriptor, Error, Event, Firing, Output, Patch, Receipt, StageContext,
};
use crate::{ToolOutput, log};

/// What every plugin is.
///
/// There is one instance of a component, so these are functions of the type rather than methods of a value; what is to
/// be kept between calls goes into a [`State`](crate::State).
#[allow(async_fn_in_trait, reason = "a component has one thread")]
pub trait Plugin {
    /// What the plugin is and offers. It may not call the host: the answer is cached by the component's digest.
    fn describe() -> Descriptor;

    /// Called once, before anything else. `resumed`: another instance served before this one.
    async fn start(resumed: bool) -> Result<(), Error> {
        let _ = resumed;
        Ok(())
    }

    /// Called after [`start`](Plugin::start); an error keeps this instance from serving.
    async fn self_check() -> Result<(), Error> {
        Ok(())
    }

    /// The instance serves from now on; only now may it call what has an effect.
    async fn activated() {}

    /// The instance will be dropped.
    async fn stop() {}
}

/// A plugin that offers tools.
#[allow(async_fn_in_trait, reason = "a component has one thread")]
pub trait Tools: Plugin {
    /// Runs a tool. Several calls may be under way at once, and take turns where one awaits.
    async fn call(name: &str, arguments: Arguments, cause: Cause) -> Result<ToolOutput, Error>;
}

/// A plugin that takes part in turns.
#[allow(async_fn_in_trait, reason = "a component has one thread")]
pub trait Stages: Plugin {
    /// Looks at a stage and answers with the changes it wants.
    async fn run(context: StageContext) -> Result<Vec<Patch>, Error>;
}

/// A plugin that listens to the bus.
#[allow(async_fn_in_trait, reason = "a component has one thread")]
pub trait Events: Plugin {
    /// Receives an event of a topic that [`Plugin::describe`] names.
    async fn on_event(event: Event);
}

/// A plugin that carries the agent's words to people.
#[allow(async_fn_in_trait, reason = "a component has one thread")]
pub trait Channel: Plugin {
    /// Sends a message; returns when the platform has it.
    async fn deliver(output: Output, cause: Cause) -> Result<Receipt, Error>;

    /// Shows pieces of an answer that is still being written. Called only for a channel that streams.
    async fn show(deltas: Vec<Delta>) {
        let _ = deltas;
    }
}

/// A plugin that serves connections which the host holds.
#[allow(async_fn_in_trait, reason = "a component has one thread")]
pub trait Sockets: Plugin {
    /// A connection is there. `resumed`: it was already open when this instance took over.
    async fn on_open(connection: Connection) {
        log::debug(format!("connection {} of `{}` opened", connection.id, connection.listener));
    }

    /// Frames of one connection, in order. They leave the host's queue when this returns.
    async fn on_frames(connection: ConnectionId, frames: Vec<Frame>);

    /// The connection is gone.
    async fn on_close(connection: ConnectionId, reason: String) {
        log::debug(format!("connection {connection} closed: {reason}"));
    }
}

/// A plugin that answers HTTP requests.
#[allow(async_fn_in_trait, reason = "a component has one thread")]
pub trait Routes: Plugin {
    /// Answers a request at a route that `plugin.toml` lists. Several may be under way at once.
    async fn handle(request: Request, cause: Cause) -> Result<Response, Error>;
}

/// A plugin that is told of its timers.
#[allow(async_fn_in_trait, reason = "a component has one thread")]
pub trait Timers: Plugin {
    /// A timer fires. The firing is done when this returns; with [`Again`] the timer is due at that time again. After an
    /// error the firing comes again, with the same id; see `timer-handler` in the contract for how often.
    async fn on_timer(timer: Firing, cause: Cause) -> Result<Option<Again>, Error>;
}

/// A plugin that keeps what it knows when its code is replaced.
///
/// The version that saves and the one that loads may differ, either way round: a new one takes over from an old one, and
/// an old one from a new one that is taken back. So say in the state which form it has.
#[allow(async_fn_in_trait, reason = "a component has one thread")]
pub trait Snapshot: Plugin {
    /// Everything the next instance has to know. No other call is under way, unless the owner forced the replacement;
    /// should the replacement fail, this instance goes on to serve.
    async fn save() -> Vec<u8>;

    /// Takes over what another instance saved, before this one serves. An error keeps it from serving.
    async fn load(state: Vec<u8>) -> Result<(), Error>;
}

impl<T: Plugin> lifecycle::Guest for T {
    fn describe() -> Descriptor {
        <T as Plugin>::describe()
    }

    async fn start(resumed: bool) -> Result<(), Error> {
        <T as Plugin>::start(resumed).await
    }

    async fn self_check() -> Result<(), Error> {
        <T as Plugin>::self_check().await
    }

    async fn activated() {
        <T as Plugin>::activated().await;
    }

    async fn stop() {
        <T as Plugin>::stop().await;
    }
}

impl<T: Tools> tool::exports::homeagent::plugin::tool_provider::Guest for T {
    async fn call(name: String, args: String, cause: Cause) -> Result<ToolOutput, Error> {
        <T as Tools>::call(&name, Arguments::new(args), cause).await
    }
}

impl<T: Stages> stage::exports::homeagent::plugin::stage_handler::Guest for T {
    async fn run(context: StageContext) -> Result<Vec<Patch>, Error> {
        <T as Stages>::run(context).await
    }
}

impl<T: Events> event::exports::homeagent::plugin::event_handler::Guest for T {
    async fn on_event(event: Event) {
        <T as Events>::on_event(event).await;
    }
}

impl<T: Timers> timer::exports::homeagent::plugin::timer_handler::Guest for T {
    async fn on_timer(timer: Firing, cause: Cause) -> Result<Option<Again>, Error> {
        <T as Timers>::on_timer(timer, cause).await
    }
}

impl<T: Routes> route::exports::homeagent::plugin::route_handler::Guest for T {
    async fn handle(request: Request, cause: Cause) -> Result<Response, Error> {
        <T as Routes>::handle(request, cause).await
    }
}

impl<T: Channel> channel::exports::homeagent::plugin::channel::Guest for T {
    async fn deliver(output: Output, cause: Cause) -> Result<Receipt, Error> {
        <T as Channel>::deliver(output, cause).await
    }

    async fn show(deltas: Vec<Delta>) {
        <T as Channel>::show(deltas).await;
    }
}

impl<T: Snapshot> snapshot::exports::homeagent::plugin::snapshot::Guest for T {
    async fn save() -> Vec<u8> {
        <T as Snapshot>::save().await
    }

    async fn load(state: Vec<u8>) -> Result<(), Error> {
        <T as Snapshot>::load(state).await
    }
}

impl<T: Sockets> socket::exports::homeagent::plugin::socket_handler::Guest for T {
    async fn on_open(connection: Connection) {
        <T as Sockets>::on_open(connection).await;
    }

    async fn on_frames(connection: ConnectionId, frames: Vec<Frame>) {
        <T as Sockets>::on_frames(connection, frames).await;
    }

    async fn on_close(connection: ConnectionId, reason: String) {
        <T as Sockets>::on_close(connection, reason).await;
    }
}

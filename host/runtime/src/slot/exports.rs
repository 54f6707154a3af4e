//! What a component exports: `lifecycle`, and any of the other interfaces.

use wasmtime::Store;
use wasmtime::component::{Instance, InstancePre};

use crate::bindings::channel::exports::homeagent::plugin::channel;
use crate::bindings::event::exports::homeagent::plugin::event_handler;
use crate::bindings::plugin::exports::homeagent::plugin::lifecycle;
use crate::bindings::route::exports::homeagent::plugin::route_handler;
use crate::bindings::snapshot::exports::homeagent::plugin::snapshot;
use crate::bindings::socket::exports::homeagent::plugin::socket_handler;
use crate::bindings::stage::exports::homeagent::plugin::stage_handler;
use crate::bindings::timer::exports::homeagent::plugin::timer_handler;
use crate::bindings::tool::exports::homeagent::plugin::tool_provider;
use crate::instance::InstanceState;

/// Where the exports of a component are. Made once for each component.
#[derive(Clone)]
pub(crate) struct ExportIndices {
    lifecycle: lifecycle::GuestIndices,
    tools: Option<tool_provider::GuestIndices>,
    stages: Option<stage_handler::GuestIndices>,
    events: Option<event_handler::GuestIndices>,
    channel: Option<channel::GuestIndices>,
    sockets: Option<socket_handler::GuestIndices>,
    timers: Option<timer_handler::GuestIndices>,
    routes: Option<route_handler::GuestIndices>,
    snapshot: Option<snapshot::GuestIndices>,
}

/// The exports of one instance.
pub(crate) struct Exports {
    pub(crate) lifecycle: lifecycle::Guest,
    pub(crate) tools: Option<tool_provider::Guest>,
    pub(crate) stages: Option<stage_handler::Guest>,
    pub(crate) events: Option<event_handler::Guest>,
    pub(crate) channel: Option<channel::Guest>,
    pub(crate) sockets: Option<socket_handler::Guest>,
    pub(crate) timers: Option<timer_handler::Guest>,
    pub(crate) routes: Option<route_handler::Guest>,
    pub(crate) snapshot: Option<snapshot::Guest>,
}

impl ExportIndices {
    /// Fails when there is no `lifecycle`; the others may be absent.
    pub(crate) fn new(pre: &InstancePre<InstanceState>) -> wasmtime::Result<Self> {
        Ok(Self {
            lifecycle: lifecycle::GuestIndices::new(pre)?,
            tools: tool_provider::GuestIndices::new(pre).ok(),
            stages: stage_handler::GuestIndices::new(pre).ok(),
            events: event_handler::GuestIndices::new(pre).ok(),
            channel: channel::GuestIndices::new(pre).ok(),
            sockets: socket_handler::GuestIndices::new(pre).ok(),
            timers: timer_handler::GuestIndices::new(pre).ok(),
            routes: route_handler::GuestIndices::new(pre).ok(),
            snapshot: snapshot::GuestIndices::new(pre).ok(),
        })
    }

    pub(crate) fn load(&self, store: &mut Store<InstanceState>, instance: &Instance) -> wasmtime::Result<Exports> {
        Ok(Exports {
            lifecycle: self.lifecycle.load(&mut *store, instance)?,
            tools: self.tools.as_ref().map(|it| it.load(&mut *store, instance)).transpose()?,
            stages: self.stages.as_ref().map(|it| it.load(&mut *store, instance)).transpose()?,
            events: self.events.as_ref().map(|it| it.load(&mut *store, instance)).transpose()?,
            channel: self.channel.as_ref().map(|it| it.load(&mut *store, instance)).transpose()?,
            sockets: self.sockets.as_ref().map(|it| it.load(&mut *store, instance)).transpose()?,
            routes: self.routes.as_ref().map(|it| it.load(&mut *store, instance)).transpose()?,
            timers: self.timers.as_ref().map(|it| it.load(&mut *store, instance)).transpose()?,
            snapshot: self.snapshot.as_ref().map(|it| it.load(&mut *store, instance)).transpose()?,
        })
    }

    /// Whether the component hands its state on and takes it over.
    pub(crate) fn has_snapshot(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Whether the component is told of connections.
    pub(crate) fn has_sockets(&self) -> bool {
        self.sockets.is_some()
    }

    /// What the descriptor promises and the component does not export; in words, or nothing.
    pub(crate) fn missing_for(&self, descriptor: &homeagent_types::Descriptor) -> Option<&'static str> {
        let promises = [
            (!descriptor.tools.is_empty() && self.tools.is_none(), "offers tools but does not export tool-provider"),
            (
                !descriptor.stages.is_empty() && self.stages.is_none(),
                "has stage handlers but does not export stage-handler",
            ),
            (!descriptor.events.is_empty() && self.events.is_none(), "wants events but does not export event-handler"),
            (!descriptor.channels.is_empty() && self.channel.is_none(), "offers channels but does not export channel"),
            (
                !descriptor.listeners.is_empty() && self.sockets.is_none(),
                "wants a listener but does not export socket-handler",
            ),
        ];
        promises.into_iter().find(|(broken, _)| *broken).map(|(_, words)| words)
    }
}

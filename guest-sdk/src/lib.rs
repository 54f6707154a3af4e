#![doc = include_str!("../README.md")]

// The generated bindings name this crate by its name, because their macros expand in other crates.
extern crate self as homeagent_sdk;

#[doc(hidden)]
pub mod bindings;
#[doc(hidden)]
pub mod lifting;

pub mod adapter;
#[cfg(feature = "background")]
pub mod background;
pub mod bus;
pub mod connect;
pub mod errands;
pub mod files;
pub mod http;
pub mod inputs;
pub mod knowledge;
pub mod kv;
pub mod llm;
pub mod log;
pub mod memory;
pub mod process;
pub mod registry;
pub mod routes;
pub mod script;
pub mod secrets;
pub mod settings;
pub mod social;
pub mod sockets;
pub mod testing;
pub mod timers;
pub mod tools;

mod arguments;
mod descriptor;
mod error;
mod export;
mod output;
mod plugin;
mod schema;
mod stage;
mod state;

pub use arguments::{Arguments, NoArguments};
pub use plugin::{Channel, Events, Plugin, Routes, Snapshot, Sockets, Stages, Timers, Tools};
pub use state::State;

pub use bindings::channel::exports::homeagent::plugin::channel::{Delta, DeltaContent, Output, OutputKind, Receipt};
pub use bindings::event::exports::homeagent::plugin::event_handler::Event;
pub use bindings::plugin::homeagent::plugin::types::{
    Audience, Cause, ChannelDefinition, Conversation, Denial, Descriptor, Effect, Error, FailurePolicy, HandlerMode,
    Input, ListenerDefinition, Media, MediaSource, Meta, OutputCapabilities, Payload, Peer, Principal, Role, Scope,
    Stage, StageRegistration, Timestamp, ToolCall, ToolDefinition as Tool, ToolOutput,
};
pub use bindings::socket::exports::homeagent::plugin::socket_handler::Connection;
pub use bindings::stage::exports::homeagent::plugin::stage_handler::{
    CallArguments, Datum, ModelAnswer, OutputText, Patch, Redirection, StageContext, StageData, ToolOutcome,
};

pub use bindings::timer::exports::homeagent::plugin::timer_handler::{Again, Firing};

#[doc(hidden)]
pub use homeagent_contract as contract;
#[doc(hidden)]
pub use wit_bindgen;
pub use {schemars, serde, serde_json};

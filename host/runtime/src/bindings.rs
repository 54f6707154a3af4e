//! The generated bindings of the contract, one module for each little world. Nothing outside this crate sees them.

#![allow(
    missing_docs,
    unsafe_code,
    unused_doc_comments,
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    reason = "generated code"
)]

pub mod plugin {
    wasmtime::component::bindgen!({
        world: "plugin",
        path: "../../wit/plugin",
        additional_derives: [Clone],
        require_store_data_send: true,
        exports: { "homeagent:plugin/lifecycle.describe": async },
    });
}

pub use plugin::homeagent::plugin::{
    bus, connect, errands, files, http, inputs, knowledge, kv, llm, log, memory, process, registry, secrets, settings,
    social, sockets, timers, tools, types,
};

macro_rules! little_world {
    ($module:ident, $world:literal $(, $with:literal : $rust:path)*) => {
        pub mod $module {
            wasmtime::component::bindgen!({
                world: $world,
                path: "../../wit/plugin",
                additional_derives: [Clone],
                require_store_data_send: true,
                with: {
                    "homeagent:plugin/types": crate::bindings::types,
                    $($with: $rust,)*
                },
            });
        }
    };
}

little_world!(tool, "tool-plugin");
little_world!(stage, "stage-plugin");
little_world!(event, "event-plugin");
little_world!(channel, "channel-plugin");
little_world!(snapshot, "snapshot-plugin");
little_world!(timer, "timer-plugin");
little_world!(route, "route-plugin");
little_world!(socket, "socket-plugin", "homeagent:plugin/sockets": crate::bindings::sockets);

pub mod script {
    wasmtime::component::bindgen!({
        world: "script-plugin",
        path: "../../wit/plugin",
        additional_derives: [Clone],
        require_store_data_send: true,
    });
}

pub mod adapter {
    wasmtime::component::bindgen!({
        world: "llm-adapter",
        path: "../../wit/adapter",
        exports: { default: async },
    });
}

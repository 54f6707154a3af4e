//! The generated bindings, one module for each little world of the contract.

#![allow(
    missing_docs,
    unsafe_code,
    unreachable_pub,
    unused_qualifications,
    clippy::pedantic,
    reason = "generated code"
)]

pub mod plugin {
    wit_bindgen::generate!({
        world: "plugin",
        path: "../wit/plugin",
        pub_export_macro: true,
        export_macro_name: "export_plugin",
        default_bindings_module: "homeagent_sdk::bindings::plugin",
        runtime_path: "::homeagent_sdk::wit_bindgen::rt",
        additional_derives: [Clone, PartialEq],
        generate_unused_types: true,
    });
}

macro_rules! little_world {
    ($module:ident, $world:literal, $macro:literal, $path:literal $(, $with:literal => $rust:path)*) => {
        pub mod $module {
            wit_bindgen::generate!({
                world: $world,
                path: "../wit/plugin",
                pub_export_macro: true,
                export_macro_name: $macro,
                default_bindings_module: $path,
                runtime_path: "::homeagent_sdk::wit_bindgen::rt",
                additional_derives: [Clone, PartialEq],
                with: {
                    "homeagent:plugin/types@0.1.0": crate::bindings::plugin::homeagent::plugin::types,
                    $($with: $rust,)*
                },
            });
        }
    };
}

little_world!(tool, "tool-plugin", "export_tool_provider", "homeagent_sdk::bindings::tool");
little_world!(stage, "stage-plugin", "export_stage_handler", "homeagent_sdk::bindings::stage");
little_world!(event, "event-plugin", "export_event_handler", "homeagent_sdk::bindings::event");
little_world!(channel, "channel-plugin", "export_channel", "homeagent_sdk::bindings::channel");
little_world!(timer, "timer-plugin", "export_timer_handler", "homeagent_sdk::bindings::timer");
little_world!(route, "route-plugin", "export_route_handler", "homeagent_sdk::bindings::route");
little_world!(snapshot, "snapshot-plugin", "export_snapshot", "homeagent_sdk::bindings::snapshot");
little_world!(
    socket,
    "socket-plugin",
    "export_socket_handler",
    "homeagent_sdk::bindings::socket",
    "homeagent:plugin/sockets@0.1.0" => crate::bindings::plugin::homeagent::plugin::sockets
);

pub mod script {
    wit_bindgen::generate!({
        world: "script-plugin",
        path: "../wit/plugin",
        runtime_path: "::homeagent_sdk::wit_bindgen::rt",
        additional_derives: [Clone, PartialEq],
    });
}

pub mod adapter {
    wit_bindgen::generate!({
        world: "llm-adapter",
        path: "../wit/adapter",
        pub_export_macro: true,
        export_macro_name: "export_adapter",
        default_bindings_module: "homeagent_sdk::bindings::adapter",
        runtime_path: "::homeagent_sdk::wit_bindgen::rt",
        additional_derives: [Clone, PartialEq],
    });
}

//! The export macros.
//!
//! Off wasm32 they check the traits and expand to nothing else: a component's functions have names that a native
//! library can't export.

/// Makes a type the plugin that this crate is. Name the traits it implements besides [`Plugin`](crate::Plugin):
/// `Tools`, `Stages`, `Events`, `Channel`, `Sockets`, `Routes`, `Timers`, `Snapshot`.
///
/// ```
/// use homeagent_sdk::{Descriptor, Event, Events, Plugin, log};
///
/// struct Listener;
///
/// impl Plugin for Listener {
///     fn describe() -> Descriptor {
///         Descriptor::new("listener", "0.1.0").event("plugin.*")
///     }
/// }
///
/// impl Events for Listener {
///     async fn on_event(event: Event) {
///         log::info(format!("{} says {}", event.source, event.payload));
///     }
/// }
///
/// homeagent_sdk::export!(Listener: Events);
/// # fn main() {}
/// ```
#[macro_export]
macro_rules! export {
    ($plugin:ident $(: $($part:ident),+ $(,)?)?) => {
        const _: () = {
            const fn is_plugin<T: $crate::Plugin>() {}
            is_plugin::<$plugin>();
            $($({
                const fn is_part<T: $crate::$part>() {}
                is_part::<$plugin>();
            })+)?
        };

        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code, missing_docs, reason = "generated code")]
        const _: () = {
            $crate::bindings::plugin::export_plugin!($plugin with_types_in $crate::bindings::plugin);
            $($($crate::__export_part!($part $plugin);)+)?
            $crate::__stamp!(Plugin);
        };
    };
}

/// Makes a type the LLM adapter that this crate is. The type implements [`Adapter`](crate::adapter::Adapter).
#[macro_export]
macro_rules! export_adapter {
    ($adapter:ident) => {
        const _: () = {
            const fn is_adapter<T: $crate::adapter::Adapter>() {}
            is_adapter::<$adapter>();
        };

        #[cfg(target_arch = "wasm32")]
        #[allow(unsafe_code, missing_docs, reason = "generated code")]
        const _: () = {
    $crate::bindings::adapter::export_adapter!($adapter with_types_in $crate::bindings::adapter);
            $crate::__stamp!(Adapter);
        };
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export_part {
    (Tools $plugin:ident) => {
        $crate::bindings::tool::export_tool_provider!($plugin with_types_in $crate::lifting::tool);
    };
    (Stages $plugin:ident) => {
        $crate::bindings::stage::export_stage_handler!($plugin with_types_in $crate::lifting::stage);
    };
    (Events $plugin:ident) => {
        $crate::bindings::event::export_event_handler!($plugin with_types_in $crate::lifting::event);
    };
    (Timers $plugin:ident) => {
        $crate::bindings::timer::export_timer_handler!($plugin with_types_in $crate::lifting::timer);
    };
    (Routes $plugin:ident) => {
        $crate::bindings::route::export_route_handler!($plugin with_types_in $crate::lifting::route);
    };
    (Channel $plugin:ident) => {
        $crate::bindings::channel::export_channel!($plugin with_types_in $crate::lifting::channel);
    };
    (Snapshot $plugin:ident) => {
        $crate::bindings::snapshot::export_snapshot!($plugin with_types_in $crate::bindings::snapshot);
    };
    (Sockets $plugin:ident) => {
        $crate::bindings::socket::export_socket_handler!($plugin with_types_in $crate::bindings::socket);
    };
}

/// Says in the component which contract it was built against. The section's name is `homeagent_contract::SECTION`,
/// which an attribute can't refer to.
#[doc(hidden)]
#[macro_export]
macro_rules! __stamp {
    ($kind:ident) => {
        #[used]
        #[unsafe(link_section = "homeagent:contract")]
        static STAMP: [u8; $crate::contract::STAMP_LENGTH] = $crate::contract::stamp($crate::contract::Kind::$kind);
    };
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_stamp_goes_where_the_host_looks_for_it() {
        let here = include_str!("export.rs");
        assert!(here.contains(&format!("link_section = \"{}\"", homeagent_contract::SECTION)));
    }
}

//! The generated exports, as they have to be called.
//!
//! Where an export has more arguments than fit into a call, the host puts them into a block of the guest's memory. The
//! bindings give such a block back after synchronous exports, and forget it after asynchronous ones; over some hundred
//! thousand calls that is all the memory a plugin has. So it is given back here: the modules below stand in for the
//! generated ones of the same names when a plugin is exported.

/// How the arguments of each asynchronous function lie in memory: size and alignment of their block, where they have one.
#[allow(dead_code, reason = "of imports and of other interfaces, too")]
mod arguments {
    include!(concat!(env!("OUT_DIR"), "/arguments.rs"));
}

/// Gives a block of arguments back.
///
/// # Safety
/// It was allocated for arguments that lie so, has been read, and is not used any more.
#[allow(unsafe_code, reason = "the host allocated it by the exported function that the bindings bring for that")]
unsafe fn give_back(block: *mut u8, arguments: Option<(usize, usize)>) {
    let layout = arguments.and_then(|(size, align)| std::alloc::Layout::from_size_align(size, align).ok());
    if let Some(layout) = layout {
        // SAFETY: as the caller promises.
        unsafe { std::alloc::dealloc(block, layout) }
    }
}

macro_rules! export_with_block {
    ($world:ident, $interface:ident, $function:ident, $arguments:ident) => {
        pub mod $world {
            pub mod exports {
                pub mod homeagent {
                    pub mod plugin {
                        pub mod $interface {
                            pub use crate::bindings::$world::exports::homeagent::plugin::$interface::*;

                            /// # Safety
                            /// For the exported function alone, with what the host hands it.
                            #[allow(unsafe_code, reason = "generated code asks for it")]
                            pub unsafe fn $function<T: Guest>(block: *mut u8) -> i32 {
                                use crate::bindings::$world::exports::homeagent::plugin::$interface as generated;
                                const { assert!(crate::lifting::arguments::$arguments.is_some()) };
                                // SAFETY: as the caller promises. The arguments have been read when the call comes back the
                                // first time, before it waits for anything.
                                unsafe {
                                    let code = generated::$function::<T>(block);
                                    crate::lifting::give_back(block, crate::lifting::arguments::$arguments);
                                    code
                                }
                            }
                        }
                    }
                }
            }
        }
    };
}

export_with_block!(tool, tool_provider, _export_call_cabi, TOOL_PROVIDER_CALL);
export_with_block!(stage, stage_handler, _export_run_cabi, STAGE_HANDLER_RUN);
export_with_block!(event, event_handler, _export_on_event_cabi, EVENT_HANDLER_ON_EVENT);
export_with_block!(timer, timer_handler, _export_on_timer_cabi, TIMER_HANDLER_ON_TIMER);
export_with_block!(route, route_handler, _export_handle_cabi, ROUTE_HANDLER_HANDLE);
export_with_block!(channel, channel, _export_deliver_cabi, CHANNEL_DELIVER);

/// The others fit into a call.
const _: () = {
    assert!(arguments::CHANNEL_SHOW.is_none());
    assert!(arguments::SOCKET_HANDLER_ON_OPEN.is_none());
    assert!(arguments::SOCKET_HANDLER_ON_FRAMES.is_none() && arguments::SOCKET_HANDLER_ON_CLOSE.is_none());
    assert!(arguments::SNAPSHOT_SAVE.is_none() && arguments::SNAPSHOT_LOAD.is_none());
    assert!(arguments::LIFECYCLE_START.is_none() && arguments::LIFECYCLE_STOP.is_none());
    assert!(arguments::LIFECYCLE_SELF_CHECK.is_none() && arguments::LIFECYCLE_ACTIVATED.is_none());
};

//! Work that goes on when the call that began it has returned. Needs the feature `background` of this crate.
//!
//! Nobody waits for it: it holds up neither its caller nor a replacement of the code, and it ends with its instance. So
//! what it is for has to be in what the plugin [hands on](crate::Snapshot), and is begun anew by the next instance.

use std::future::Future;

/// Goes on with `work` beside everything else that the instance does.
///
/// Off wasm32, where there is no host to wait for, it is done as far as it goes without waiting.
pub fn spawn(work: impl Future<Output = ()> + 'static) {
    #[cfg(target_arch = "wasm32")]
    drop(wit_bindgen::spawn_local(work));
    #[cfg(not(target_arch = "wasm32"))]
    let _ = crate::testing::run_at_once(work);
}

//! x
extern crate self as homeagent_sdk;
pub mod bindings; pub use wit_bindgen;

//! Each module mirrors one of the crate's; `properties` holds over all of them.

mod event;
mod forget;
mod home;
mod input;
mod journal;
mod properties;
mod recovery;
mod rename;
mod run;
mod schema;
mod session;
mod tail;

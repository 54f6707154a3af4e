//! Each module mirrors one of the crate's.

mod bindings;
mod database;
mod document;
mod grants;
mod home;
mod ledger;
mod plugin_data;
mod prices;
mod registry;
mod secrets;
mod sources;
mod stores;

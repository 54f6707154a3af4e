//! The second version of a plugin that hands on what it knows when it is replaced.

#[path = "../../ledger-one/src/ledger.rs"]
mod ledger;

use ledger::Ledger;

const VERSION: &str = "2.0.0";

homeagent_sdk::export!(Ledger: Tools, Events, Sockets, Snapshot);

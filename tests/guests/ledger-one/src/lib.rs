//! The first version of a plugin that hands on what it knows when it is replaced.

mod ledger;

use ledger::Ledger;

const VERSION: &str = "1.0.0";

homeagent_sdk::export!(Ledger: Tools, Events, Sockets, Snapshot);

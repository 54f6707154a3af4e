//! Forgetting, over a home folder as the daemon has it: afterwards every byte of every file is looked at.

mod carrying;
mod forgetting;
mod joining;
mod known;
mod plugins;
mod reindexing;
mod world;

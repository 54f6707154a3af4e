//! What can happen to a home folder - a death at any moment, a full disk, damaged files, others who write, any text at all -
//! and that nothing that was acknowledged is lost by it.

mod damage;
mod disk;
mod kills;
mod letters;
mod stage;
mod texts;
#[path = "../transfer/world.rs"]
#[allow(dead_code, reason = "the tests of forgetting use more of it")]
mod world;
mod writers;

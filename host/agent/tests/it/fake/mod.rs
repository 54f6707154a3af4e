//! Plugins and models whose every move a test decides, or sees.

mod memory;
mod models;
mod plugins;
mod toolbox;

pub(crate) use memory::{FakeMemory, recalled};
pub(crate) use models::{Asked, FakeModels, answer, call, calls, failure};
pub(crate) use plugins::{FakePlugins, channel, stage, tool};
pub(crate) use toolbox::FakeToolbox;

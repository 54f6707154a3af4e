//! Ways to have code of others in a program, each with the same job: return the text it is given.
//!
//! A [`Contestant`] is such a way, with all that is done once for all plugins; [`Contestant::load`] brings one plugin to
//! its first answer, [`Plugin::call`] asks it.

mod component;
mod extism;
mod library;
mod lua;
mod mcp;

pub use component::Components;
pub use extism::Extism;
pub use library::Libraries;
pub use lua::Lua;
pub use mcp::McpServers;

/// A plugin that is loaded.
pub trait Plugin {
    /// Returns `text`, by way of the plugin.
    fn call(&mut self, text: &str) -> String;
}

/// A way to have plugins.
pub trait Contestant {
    /// What it loads.
    type Plugin: Plugin;

    /// Its name in the tables.
    const NAME: &'static str;

    /// Does what is done once, with code compiled where that is possible ahead, for as many plugins.
    fn prepare(plugins: usize) -> Self;

    /// Loads the plugin of this number, up to where it answers.
    fn load(&self, number: usize) -> Self::Plugin;

    /// Puts other code, which is on the disk already, in the place of a plugin's.
    fn replace(&self, number: usize, plugin: &mut Self::Plugin);
}

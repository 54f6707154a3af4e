//! Lua in the host's own process: a state for each plugin, no limits.

use crate::{Contestant, Plugin};

const SOURCE: &str = "return function(text) return text end";

/// Nothing is done once.
pub struct Lua;

/// One state and its function.
pub struct Script {
    lua: mlua::Lua,
    function: mlua::Function,
}

impl Contestant for Lua {
    type Plugin = Script;

    const NAME: &'static str = "embedded Lua";

    fn prepare(_plugins: usize) -> Self {
        Self
    }

    fn load(&self, _number: usize) -> Script {
        let lua = mlua::Lua::new();
        let function = lua.load(SOURCE).eval().expect("the script is good");
        let mut plugin = Script { lua, function };
        assert_eq!(plugin.call("ready"), "ready");
        plugin
    }

    fn replace(&self, _number: usize, plugin: &mut Script) {
        plugin.function = plugin.lua.load(SOURCE).eval().expect("the script is good");
        assert_eq!(plugin.call("ready"), "ready");
    }
}

impl Plugin for Script {
    fn call(&mut self, text: &str) -> String {
        self.function.call(text).expect("it returns")
    }
}

//! Extism: WebAssembly modules that are handed bytes, in the host's process, each call on the caller's thread.

use extism_sdk::{CompiledPlugin, Manifest, Plugin as Instance, PluginBuilder, Wasm};

use crate::{Contestant, Plugin};

/// What Extism's guest library comes to for this job: the input is copied, eight bytes at a time, to the output.
const SOURCE: &str = r#"(module
  (import "extism:host/env" "input_length" (func $length (result i64)))
  (import "extism:host/env" "input_load_u64" (func $load8 (param i64) (result i64)))
  (import "extism:host/env" "input_load_u8" (func $load (param i64) (result i32)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "store_u64" (func $store8 (param i64 i64)))
  (import "extism:host/env" "store_u8" (func $store (param i64 i32)))
  (import "extism:host/env" "output_set" (func $output (param i64 i64)))
  (func (export "echo") (result i32)
    (local $n i64) (local $at i64) (local $to i64)
    (local.set $n (call $length))
    (local.set $to (call $alloc (local.get $n)))
    (block $done8 (loop $next8
      (br_if $done8 (i64.gt_u (i64.add (local.get $at) (i64.const 8)) (local.get $n)))
      (call $store8 (i64.add (local.get $to) (local.get $at)) (call $load8 (local.get $at)))
      (local.set $at (i64.add (local.get $at) (i64.const 8)))
      (br $next8)))
    (block $done (loop $next
      (br_if $done (i64.ge_u (local.get $at) (local.get $n)))
      (call $store (i64.add (local.get $to) (local.get $at)) (call $load (local.get $at)))
      (local.set $at (i64.add (local.get $at) (i64.const 1)))
      (br $next)))
    (call $output (local.get $to) (local.get $n))
    i32.const 0))"#;

/// The module, compiled.
pub struct Extism {
    compiled: CompiledPlugin,
}

/// One instance.
pub struct Module {
    instance: Instance,
}

fn compile() -> CompiledPlugin {
    let module = wat::parse_str(SOURCE).expect("the module is good");
    let builder = PluginBuilder::new(Manifest::new([Wasm::data(module)])).with_cache_disabled();
    CompiledPlugin::new(builder).expect("it compiles")
}

fn instantiate(compiled: &CompiledPlugin) -> Module {
    let mut plugin = Module { instance: Instance::new_from_compiled(compiled).expect("it starts") };
    assert_eq!(plugin.call("ready"), "ready");
    plugin
}

impl Contestant for Extism {
    type Plugin = Module;

    const NAME: &'static str = "Extism";

    fn prepare(_plugins: usize) -> Self {
        Self { compiled: compile() }
    }

    fn load(&self, _number: usize) -> Module {
        instantiate(&self.compiled)
    }

    fn replace(&self, _number: usize, plugin: &mut Module) {
        *plugin = instantiate(&self.compiled);
    }
}

impl Plugin for Module {
    fn call(&mut self, text: &str) -> String {
        let out: &str = self.instance.call("echo", text).expect("it answers");
        out.to_owned()
    }
}

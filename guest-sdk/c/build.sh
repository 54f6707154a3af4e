#!/bin/sh
# Builds plugin.wasm of a plugin in C: build.sh FOLDER
#
# Needs wit-bindgen (cargo install wit-bindgen-cli --version 0.63.0 --no-default-features --features c), Debian's clang,
# lld and wasi-libc, rustup for its linker of components, and python3.
set -eu
sdk="$(cd "$(dirname "$0")/.." && pwd)"
cd "$1"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/wit/deps"
cp "$sdk/wit/world.wit" "$work/wit/"
cp -R "$sdk/../wit/plugin" "$work/wit/deps/plugin"
# A call is lifted synchronously: one runs after the other.
wit-bindgen c "$work/wit" --world plugin --sync all --out-dir "$work" >/dev/null

component_ld="$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/wasm-component-ld"
clang --target=wasm32-wasi -mexec-model=reactor -isystem /usr/include/wasm32-wasi -Os -s \
    -Wall -Wextra -Wno-unused-parameter -fuse-ld="$component_ld" -I "$work" -I "$sdk/c" \
    ./*.c "$sdk/c/homeagent.c" "$work/plugin.c" "$work/plugin_component_type.o" -o plugin.wasm
python3 "$sdk/stamp.py" plugin.wasm

#!/bin/sh
# Builds plugin.wasm. Needs rustup, which installs what rust-toolchain.toml names.
set -eu
cd "$(dirname "$0")"
target="${CARGO_TARGET_DIR:-target}"
cargo build --release --target wasm32-wasip2 --target-dir "$target"
cp "$target/wasm32-wasip2/release/LIBRARY.wasm" plugin.wasm

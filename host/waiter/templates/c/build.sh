#!/bin/sh
# Builds plugin.wasm of all .c files here. What that needs stands in the script it calls.
set -eu
exec "SDK/c/build.sh" "$(dirname "$0")"

#!/bin/sh
# Builds plugin.wasm. Needs python3 and componentize-py from PyPI.
set -eu
cd "$(dirname "$0")"
sdk=../../guest-sdk
componentize-py -q -d "$sdk/../wit/plugin" -d "$sdk/wit" -w homeagent:sdk/plugin \
    componentize -p "$sdk/python" -p . homeagent_component -o plugin.wasm
python3 "$sdk/stamp.py" plugin.wasm

#!/bin/sh
# Builds plugin.wasm. Needs python3; componentize-py comes from PyPI into the folder .venv.
set -eu
cd "$(dirname "$0")"
sdk="SDK"
if ! command -v componentize-py >/dev/null; then
    [ -x .venv/bin/componentize-py ] || { python3 -m venv .venv && .venv/bin/pip install --quiet componentize-py==0.25.1; }
    PATH="$PWD/.venv/bin:$PATH"
fi
componentize-py -q -d "$sdk/../wit/plugin" -d "$sdk/wit" -w homeagent:sdk/plugin \
    componentize -p "$sdk/python" -p . homeagent_component -o plugin.wasm
python3 "$sdk/stamp.py" plugin.wasm

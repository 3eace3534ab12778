#!/usr/bin/env bash
# Installs what the tests of the page need: Debian's Chromium and Firefox, and the accessibility checker axe-core at the
# version of tests/browser below build/browser. Does nothing where they are there; says what to do where it may not
# install.
set -euo pipefail
cd "$(dirname "$0")/.."
from=tests/browser
to=${1:-build/browser}
axe=$to/node_modules/axe-core/axe.min.js

say() { printf 'browser: %s\n' "$*" >&2; }

wanted=()
command -v chromium > /dev/null || wanted+=(chromium fonts-liberation)
command -v firefox-esr > /dev/null || command -v firefox > /dev/null || wanted+=(firefox-esr)
if [[ ${#wanted[@]} -gt 0 ]]; then
    if [[ $(id -u) -ne 0 ]] || ! command -v apt-get > /dev/null; then
        say "${wanted[*]}: install with your package manager; the tests that drive a browser fail under make test-all"
    else
        say "installing ${wanted[*]}"
        export DEBIAN_FRONTEND=noninteractive
        install=(apt-get install --yes --quiet --no-install-recommends "${wanted[@]}")
        "${install[@]}" > /dev/null || { apt-get update --quiet > /dev/null; "${install[@]}" > /dev/null; }
    fi
fi

if ! { cmp -s "$from/package.json" "$to/package.json" && [[ -f $axe ]]; }; then
    if ! command -v npm > /dev/null; then
        say "npm is missing: install Node.js 20 or later, which brings it; the accessibility test fails under make test-all"
        exit 0
    fi
    say "installing axe-core into $to"
    rm -rf "$to"
    mkdir -p "$to"
    cp "$from/package.json" "$to/"
    # No lock file, as for the agents: the checker has no dependencies.
    npm install --prefix "$to" --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error \
        --fetch-timeout=60000 --fetch-retries=2 >&2
fi

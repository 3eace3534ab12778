#!/usr/bin/env bash
# Installs the agent programs that the tests marked real drive, at the versions of tests/agents, in build/agents or the
# folder given. Does nothing if they are installed. SKILL_HEALTH_AGENTS tells the tests that folder.
set -euo pipefail
cd "$(dirname "$0")/.."
from=tests/agents
to=${1:-build/agents}
programs=(claude codex gemini opencode qwen)

say() { printf 'agents: %s\n' "$*" >&2; }

# One clone installs at a time if several share the folder.
mkdir -p "$(dirname "$to")"
if command -v flock > /dev/null; then
    exec 9> "$to.lock"
    flock 9
fi

complete() {
    cmp -s "$from/package.json" "$to/package.json" || return 1
    for program in "${programs[@]}"; do
        [ -x "$to/$program/node_modules/.bin/$program" ] || return 1
    done
}

if ! complete; then
    for needed in node npm; do
        if ! command -v "$needed" > /dev/null; then
            say "$needed is missing: install Node.js 20 or later, which brings npm"
            exit 1
        fi
    done
    if [ "$(node -p 'Number(process.versions.node.split(".")[0]) >= 20')" != true ]; then
        say "Node.js $(node --version) is too old: the agents need 20 or later"
        exit 1
    fi
    say "installing into $to (about 1.2 GB)"
    rm -rf "$to"
    mkdir -p "$to"
    cp "$from/package.json" "$to/"
    # No lock file: it would have to name the packages of every platform, and registries do not have them all.
    # Only two install scripts are needed: they put the program for this machine in its place.
    npm install --prefix "$to" --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error \
        --fetch-timeout=60000 --fetch-retries=2 >&2
    npm rebuild --prefix "$to" --loglevel=error @anthropic-ai/claude-code opencode-ai >&2
    for program in "${programs[@]}"; do
        mkdir "$to/$program"
        ln -s ../node_modules "$to/$program/node_modules"
    done
    if ! complete; then
        say "the installation is not complete: remove $to and try again"
        exit 1
    fi
fi

# OpenHands is for this Python alone. Where pyenv stands in for it, the name starts only what it is told to.
python312() { PYENV_VERSION=3.12 python3.12 "$@"; }
if [ ! -x "$to/openhands/bin/openhands" ]; then
    rm -rf "$to/openhands"
    if python312 -c '' 2> /dev/null; then
        python312 -m venv "$to/openhands"
        "$to/openhands/bin/pip" install --quiet --requirement "$from/openhands.txt" >&2
    else
        say "there is no python3.12, and OpenHands wants it: its tests are skipped"
    fi
fi

command -v bwrap > /dev/null ||
    say "bubblewrap is missing: bash scripts/install_sandbox.sh; the tests that need it fail under make test-all"
command -v rg > /dev/null ||
    say "ripgrep is missing: OpenCode cannot read skills without it, and its tests fail; install the package ripgrep"

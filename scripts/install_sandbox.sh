#!/usr/bin/env bash
# Installs bubblewrap and podman, the sandboxes of agents and verifiers, debootstrap, which makes base images for the latter,
# and ripgrep, which OpenCode needs, from Debian's packages.
# Does nothing where they are there; says what to do where it may not install.
set -euo pipefail
missing=()
command -v bwrap > /dev/null || missing+=(bubblewrap)
command -v podman > /dev/null || missing+=(podman)
command -v runc > /dev/null || missing+=(runc)
command -v debootstrap > /dev/null || missing+=(debootstrap)
command -v rg > /dev/null || missing+=(ripgrep)
[[ ${#missing[@]} -gt 0 ]] || exit 0
if [[ $(id -u) -ne 0 ]] || ! command -v apt-get > /dev/null; then
    printf 'sandbox: %s missing: install it with your package manager; tests that need it are skipped, and make test-all fails\n' "${missing[*]}" >&2
    exit 0
fi
export DEBIAN_FRONTEND=noninteractive
apt-get install --yes --quiet "${missing[@]}" > /dev/null || { apt-get update --quiet > /dev/null; apt-get install --yes --quiet "${missing[@]}" > /dev/null; }

#!/usr/bin/env bash
# Writes locks/: every package that an installation takes, at its version of constraints.txt, with the hashes of all its
# files. They hold for Python 3.11 and later on Linux, macOS and Windows. Run it after `make constraints`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"${1:-python3}" -m venv "$place/env"
"$place/env/bin/python" -m pip install --quiet --disable-pip-version-check uv==0.13.9

lock() { # the name of the lock, and what to lock
  "$place/env/bin/uv" pip compile --quiet --no-config --universal --python-version 3.11 --constraint constraints.txt \
    --generate-hashes --only-binary :all: --emit-build-options --no-annotate --custom-compile-command "make lock" \
    --output-file "$place/$1.txt" "${@:2}"
}

"$place/env/bin/python" - > "$place/build.in" << 'PROGRAM'
import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")
PROGRAM
lock build "$place/build.in"
lock base pyproject.toml
lock report --extra report pyproject.toml
lock bench --extra bench pyproject.toml
mkdir -p locks
mv "$place"/{build,base,report,bench}.txt locks/

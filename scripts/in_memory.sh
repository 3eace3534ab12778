#!/usr/bin/env bash
# Runs a command with its temporary files in memory, where there is a gigabyte for them and programs may be run there:
# thousands of tests write small files. What a command that fails has left there stays, to be looked at.
set -euo pipefail
free=$(df -Pk /dev/shm 2> /dev/null | awk 'NR == 2 { print $4 }')
if [ "${free:-0}" -gt 1000000 ] && place=$(mktemp -d /dev/shm/tests.XXXXXX 2> /dev/null); then
    printf '#!/bin/sh\n' > "$place/program"
    chmod +x "$place/program"
    if "$place/program" 2> /dev/null; then
        export TMPDIR=$place
        "$@"
        rm -rf "$place"
        exit
    fi
    rm -rf "$place"
fi
exec "$@"

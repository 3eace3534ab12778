"""A bundled shell script cannot be parsed

## What
Shell scripts in the folders of skills (`.sh` and `.bash`) that `bash -n` refuses. Opt-in: it starts bash for each
script, which reads it and runs nothing. Where there is no bash, nothing is reported. Turn it on with `extend-select =
["RP019"]`.

## Why
The script stops in the middle, after it has done the first half.

## Bad
```sh
if [ -f list ]; then
  cat list
```

## Good
```sh
if [ -f list ]; then
  cat list
fi
```

## Fix
Correct the script. There is no automatic fix.

## Source
MUST · POSIX.1-2024, Shell Command Language; bash(1), option -n (2026-11).
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Skill, Span
from skill_health.text.patterns import lazy

CODE = "RP019"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = False


_LEFT = lazy(r"(?:\A|/)(?:tests?|fixtures|testdata|templates?|examples?|\.[^/]*)/|template", re.I)
_LINE = lazy(r"line (\d+): (.*)")
_SECONDS = 5


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each script that bash refuses."""
    for file in skill.files:
        if not file.endswith((".sh", ".bash")) or _LEFT.search(file):
            continue
        path = skill.path_of(file)
        data = context.content(path)
        if data and b"{{" not in data and not data.startswith((b"#!/usr/bin/env zsh", b"#!/bin/zsh")):
            found = _refusal(data)
            if found:
                yield Hit(Span(found[0], 1), f"bash cannot parse this script: {found[1]}", "correct it", path)


def _refusal(data: bytes) -> tuple[int, str] | None:
    """The line and the words of bash, which gets no environment of ours and only parses."""
    bash = shutil.which("bash")
    if bash is None:
        return None
    try:
        command = (bash, "--noprofile", "--norc", "-n", "/dev/stdin")
        done = subprocess.run(
            command, input=data, capture_output=True, timeout=_SECONDS, env={"LC_ALL": "C"}, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = _LINE.search(done.stderr.decode("utf-8", "replace")) if done.returncode else None
    return (int(match[1]), match[2]) if match else None

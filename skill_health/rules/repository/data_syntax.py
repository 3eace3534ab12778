"""A bundled data file cannot be parsed

## What
Files of a skill that end in `.json`, `.yaml`, `.yml` or `.toml` and are none. JSON with comments or a list of objects,
one a line, is left alone, and so are templates, tests and examples, several YAML documents, YAML with tags of its own,
and files beyond 1 MiB.

## Why
The script that reads it stops, and an agent that reads it takes half of it for the whole.

## Bad
```json
{ "limit": 3, }
```

## Good
```json
{ "limit": 3 }
```

## Fix
Correct the file. There is no automatic fix.

## Source
MUST · RFC 8259, YAML 1.2 and TOML 1.0 (2026-11).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.skill.model import Skill, Span
from skill_health.text.patterns import lazy

CODE = "RP018"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


_LEFT = lazy(
    r"(?:\A|/)(?:tests?|fixtures|testdata|templates?|examples?|evals?|bad|broken|invalid|node_modules|\.[^/]*)/"
    r"|template|example|(?:\A|/)(?:tsconfig|jsconfig|devcontainer|settings|launch|tasks|\.)[^/]*\.json\Z|\.vscode/",
    re.I,
)
_OPEN = lazy(r"\{\{|\{%|<%|\$\{|<[A-Za-z_][\w -]*>|\.\.\.|\{[A-Z_]+\}|YOUR_")
_COMMENT = lazy(r"(?m)^[ \t]*(?://|/\*|#)|[,\[{][ \t]*//")
_DEEP = 2_000


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each data file that cannot be parsed."""
    for file in skill.files:
        kind = file.rpartition(".")[2]
        if kind not in ("json", "yaml", "yml", "toml") or _LEFT.search(file) or file.endswith("agents/openai.yaml"):
            continue
        path = skill.path_of(file)
        text = context.read(path)
        if text and text.strip():
            found = _json(text) if kind == "json" else _toml(text) if kind == "toml" else _yaml(text)
            if found and not _OPEN.search(text):
                message, span = found
                yield Hit(span, message, "correct the file", path)


def _json(text: str) -> tuple[str, Span] | None:
    try:
        json.loads(text)
    except RecursionError:
        return None
    except json.JSONDecodeError as error:
        if _COMMENT.search(text) or _are_lines(text):
            return None
        return f"this is not JSON: {error.msg}", Span(error.lineno, error.colno)
    except ValueError:
        return None
    return None


def _are_lines(text: str) -> bool:
    lines = [line for line in text.split("\n") if line.strip()]
    try:
        return len(lines) > 1 and all(json.loads(line) is not None for line in lines)
    except (ValueError, RecursionError):
        return False


def _toml(text: str) -> tuple[str, Span] | None:
    import tomllib

    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        match = _AT.search(str(error))
        line, col = (int(match[1]), int(match[2])) if match else (1, 1)
        return f"this is not TOML: {str(error).partition(' (at')[0]}", Span(line, col)
    except RecursionError:
        return None
    return None


_AT = lazy(r"at line (\d+), column (\d+)")


def _yaml(text: str) -> tuple[str, Span] | None:
    if sum(map(text.count, "[{")) > _DEEP or text.count("- - -") > 8:
        return None
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        # The events need no stack, and know no tags. In C they need not even be made.
        reader = loader(text)
        if hasattr(reader, "raw_parse"):
            reader.raw_parse()
        else:
            while reader.check_event():
                reader.get_event()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or "it cannot be read"
        return f"this is not YAML: {problem}", Span(mark.line + 1, mark.column + 1) if mark else Span(1, 1)
    return None

"""The metadata is not a mapping of text to text.

## What
`metadata` is a list or a single value (an error), is empty, or holds values that are not text: numbers, booleans,
dates, lists, mappings (information, one finding per skill). Mappings that a host documents are left alone, such as
`metadata.openclaw`.

## Why
The specification defines a map from string to string. Codex cannot read a skill whose metadata is not a mapping. A
value that YAML reads as a date breaks a host's JSON, and `version: 1.10` becomes 1.1 on the way; both happen in
thousands of public skills, mostly without harm.

## Bad
```markdown
metadata:
  version: 1.10
  updated: 2026-03-06
```

## Good
```markdown
metadata:
  version: "1.10"
  updated: "2026-03-06"
```

## Fix
Quote the values. `--fix` does it for numbers and dates (safe). Booleans are left alone, because installers read
`internal: true` as one; lists and mappings need a decision.

## Source
MUST · Agent Skills specification, "metadata field" ("a map from string keys to string values"), agentskills.io
(2026-11).
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.hosts._api import Fault
from skill_health.hosts._load import all_hosts
from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.frontmatter._shared import TAG_WORDS, quote_value, quoting, readable
from skill_health.skill.model import Skill

CODE = "FM022"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
FAULTS = (Fault.METADATA_NOT_MAPPING,)
_QUOTABLE = ("int", "float", "date")
_NAMED = 5
_DOCUMENTED = frozenset(key for each in all_hosts() for key in each.metadata)
_REMEDY = "Quote numbers and dates; write a list as one text."


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report metadata that is not a mapping, else its values that are not text."""
    field = skill.field("metadata")
    if field is None or readable(skill) is None:
        return
    if field.tag == "null":
        yield Hit(field.key_span, "metadata is empty", "Remove the line.", severity=Severity.INFO)
    elif field.tag != "map":
        message = f"metadata is {TAG_WORDS.get(field.tag, 'not a mapping')}, not a mapping of keys to values"
        yield Hit(field.span, message, "Write the entries below it, each as an indented line key: value.")
    else:
        odd = [
            entry
            for entry in field.fields
            if entry.tag != "str" and (entry.tag != "map" or entry.key not in _DOCUMENTED)
        ]
        if odd:
            named = ", ".join(f"{quote_value(e.key, 30)} ({TAG_WORDS.get(e.tag, e.tag)})" for e in odd[:_NAMED])
            more = f" and {len(odd) - _NAMED} more" if len(odd) > _NAMED else ""
            fix = quoting(skill, *(entry for entry in odd if entry.tag in _QUOTABLE))
            message = f"metadata values that are not text: {named}{more}"
            yield Hit(odd[0].span, message, _REMEDY, fix=fix, severity=Severity.INFO)

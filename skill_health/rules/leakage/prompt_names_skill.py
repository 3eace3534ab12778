"""A prompt names the skill that it tests

## What
Reports router prompts and activation cases that contain the name of the skill they expect: as it is written, if it has
a hyphen (`context-compression`), or marked as a name (`/report`, `$report`, "the report skill"). The words of a name in
plain text ("compress the context", "context compression") are left alone: users say them.

## Why
The prompt gives the answer away: whatever the descriptions say, the router gets it right.

## Bad
```markdown
{"prompt": "Use context-compression to shorten this session.", "expected_primary_skill": "context-compression"}
```

## Good
```markdown
{"prompt": "Shorten this session and keep the decisions.", "expected_primary_skill": "context-compression"}
```

## Fix
Say what the user wants instead of the name. There is no automatic fix.

## Source
opinion · a prompt that contains its label tests nothing, whatever the descriptions say (2026-11).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.rules._api import Corpus, CorpusContext, Hit, Severity
from skill_health.skill.model import Span

CODE = "LE010"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report each prompt that contains its expected skill's name."""
    for record in (*(context.registries.prompts or ()), *(context.registries.activation or ())):
        prompt, name = record.data.get("prompt"), record.data.get("expected_primary_skill")
        if not isinstance(prompt, str) or not isinstance(name, str) or not name.strip():
            continue
        match = find_name(prompt, name.strip())
        if match:
            key = record.data.get("prompt_id") or record.data.get("case_id")
            yield Hit(
                Span(record.line, 1, record.line, 1),
                f"prompt {key!r} names the skill that it expects: {match!r}",
                "Say what the user wants instead of the name.",
                record.path,
            )


def find_name(prompt: str, name: str) -> str:
    """The words by which a prompt names a skill; "" where it does not."""
    if name.casefold() not in prompt.casefold():
        return ""
    escaped = re.escape(name)
    pattern = rf"[/$@`]{escaped}(?![\w-])|(?<![\w-]){escaped}[`\"']? skill\b|\bskill [`\"']?{escaped}(?![\w-])"
    if "-" in name:
        pattern += rf"|(?<![\w-]){escaped}(?![\w-])"
    match = re.search(pattern, prompt, re.IGNORECASE)
    return match.group() if match else ""

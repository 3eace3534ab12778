"""A collection whose every text tries to take over the page that shows it."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks._made_page import Size, append, write_reports

ATTACKS = (
    "<script>window.__owned=1</script>",
    "\"'><img src=x onerror=window.__owned=2>",
    "</script></style></title></textarea><svg onload=window.__owned=3>",
    "<iframe srcdoc='<script>top.__owned=4</script>'></iframe>",
    "javascript:window.__owned=5",
    "</style><style>*{display:none}</style><base href=https://example.com/>",
    "<a href=javascript:window.__owned=6 onmouseover=window.__owned=7 autofocus onfocus=window.__owned=8>press</a>",
    "{{7*7}}{% include 'x' %}${window.__owned=9}<%= 7*7 %>]]><!-- &lt;b&gt; -->",
    "<meta http-equiv=refresh content='0;url=https://example.com/'><form action=https://example.com/><button>",
)
BIDI = "\u202etxet\u2066\u200b"
CONTROL = "\x1b[31m\x07"


def attack(kind: str, number: int) -> str:
    """A text of a kind: its name in brackets, so that a test can look for it, and one of the attacks."""
    if kind == "folder":
        return f"r{number}<img src=x onerror=window.__owned=10>"
    return f"[{kind}]{ATTACKS[number % len(ATTACKS)]}{BIDI}{number}"


def write_hostile(root: Path) -> None:
    """Write the collection below `root`."""
    for nth in range(len(ATTACKS)):
        name, description = attack("name", nth) + CONTROL, attack("description", nth)
        folder = root / "skills" / f"{nth} <img src=x onerror=window.__owned=11> \u202e"
        folder.mkdir(parents=True)
        text = f"""---
name: {json.dumps(name)}
description: {json.dumps(description + " Use when a page is made.")}
---
# {ATTACKS[nth]}

See [this](javascript:window.__owned=12) and [that]({nth}.md "onload=window.__owned=13"), {ATTACKS[nth]}{BIDI}

```html
{ATTACKS[nth]}
```
"""
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
    write_reports(root, Size(len(ATTACKS), 6, 120, 3, 2), 7, attack)
    history = root / "reports" / "effectiveness-history.jsonl"
    last = json.loads(history.read_text(encoding="utf-8").splitlines()[-1])
    append(history, [last | {"run_id": f"../{ATTACKS[1]}"}])
    with (root / "reports" / "skill-health-history.jsonl").open("a", encoding="utf-8") as file:
        file.write(f"{ATTACKS[0]}\n")

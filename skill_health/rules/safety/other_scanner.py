"""Another scanner found something

## What
A result of another tool, taken from the SARIF file that `skill-health lint --merge-sarif FILE` names. The message
begins with the tool and its rule; the severity is the tool's own. Results that the tool suppressed, or that are no
failure, are left out, and so are those about files that belong to no skill that was checked: a note counts them. They
do not count for the score.

## Why
One report is read where three are not. What another scanner says stays what it says: nothing of it is judged here.

## Bad
```json
{"ruleId": "PROMPT_INJECTION", "level": "error", "message": {"text": "hidden instructions"}}
```

## Good
```json
{"ruleId": "PROMPT_INJECTION", "level": "error", "kind": "pass", "message": {"text": "none found"}}
```

## Fix
As the other tool says. There is no automatic fix.

## Source
SHOULD · OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0" (2020).
"""

from __future__ import annotations

from skill_health.rules._api import Severity

CODE = "SA010"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

"""The skill contains a credential

## What
Reports a value whose format alone says that it is a credential: access keys and tokens of well-known services (AWS,
GitHub, GitLab, Slack, Stripe, OpenAI, Anthropic, Google, npm, PyPI and others) and private keys, in SKILL.md and in
the text files beside it. Samples are left alone: values with "EXAMPLE", "xxxx" or "your" in them, keys that their
issuers print in their documentation, counting and repeated characters, and key blocks without a body. Where the line
or the one before calls it an example, a fake or a mistake, or the file is test data, it is information. Passwords and
signed web tokens have no such format and are not looked for.

The value is never shown whole: only its first four characters and its length.

## Why
A skill is published and copied, and everything in it enters the context of a model. A credential in it is compromised.

## Bad
```markdown
Run `curl -H "Authorization: Bearer ghp_..."`, with the real token in place of the dots.
```

## Good
```markdown
Run `curl -H "Authorization: Bearer $GITHUB_TOKEN"`.
```

## Fix
Revoke the credential first: it stays in the repository's history. Then read the new one from the environment. There is
no automatic fix.

## Source
MUST · GitHub, "Secret scanning patterns" and the issuers' own token formats, read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.leakage._bundled import all_texts, is_sample, span_of
from skill_health.skill.model import Skill
from skill_health.text.secrets import find_secrets

CODE = "LE001"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True
REDACT = True

_HELP = "Revoke it, since it stays in the history, and read the new one from the environment."


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each credential by its kind, first four characters and length."""
    for path, text in all_texts(skill, context):
        for secret in find_secrets(text):
            value = text[secret.start : secret.end]
            shown = "" if secret.kind == "private key" else f" that begins with {value[:4]!r}"
            size = f"{len(value)} characters"
            severity = Severity.INFO if is_sample(text, secret.start, path) else None
            where = span_of(text, secret.start, secret.end)
            yield Hit(where, f"{secret.kind}{shown} ({size})", _HELP, path, severity=severity)

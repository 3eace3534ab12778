"""A command is decoded and run

## What
Reports commands that decode something and run the result: `base64 -d | sh`, `bash -c "$(... | base64 -d)"`,
`powershell -EncodedCommand` with the code itself, `exec(b64decode(...))`, `eval(atob(...))`, and scripts that decode
a constant into a name and then run that name. SKILL.md, bundled Markdown, scripts and manifests are read. Decoding
that ends in a file or a value is left alone, as are passages that speak of attacks, and comments in scripts.

## Why
Encoding hides from the user and the reviewer what runs. Nothing that a skill may do needs it.

## Bad
```markdown
Run `echo 'ZWNobyBoZWxsbwo=' | base64 -d | bash` in the terminal.
```

## Good
```markdown
Run `echo hello` in the terminal.
```

## Fix
Write the command as it is, or bundle it as a script. There is no automatic fix.

## Source
MUST · MITRE ATT&CK, T1027.010 "Command obfuscation" and T1140 "Deobfuscate/decode files or information"; read
2026-11.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from skill_health.rules._api import Context, Hit, Severity
from skill_health.rules.leakage._bundled import span_of
from skill_health.rules.safety._passages import SafetyText, is_quoted, safety_texts
from skill_health.skill.model import Skill
from skill_health.text.patterns import lazy

CODE = "SA002"
SEVERITY = Severity.ERROR
SINCE = "0.1.0"
DEFAULT = True

_DECODES = (
    r"(?:base(?:64|32)(?:\.exe)?[ \t]{1,3}(?:-[a-zA-Z]{0,2}[dD]\w{0,2}|--decode)|b64decode|openssl[ \t]{1,3}(?:enc|base64)\b[^\n|]{0,80}? -d\b|"
    r"xxd[ \t]{1,3}(?:-\w{1,2}[ \t]{1,2}){0,2}-r|uudecode)"
)
_SHELLS = (
    r"(?:/?(?:usr/)?bin/)?(?:(?:ba|z|da|k)?sh|python[\d.]{0,4}|node|perl|ruby|php|osascript|pwsh|powershell)(?![\w./-])"
)
_INTO_SHELL = lazy(
    _DECODES
    + r"[^\n|]{0,80}(?:\|[ \t]{0,3}(?:gunzip|gzip -d\w?|zcat|bunzip2|xz -d|rev|tr [^\n|]{1,60})[^\n|]{0,20}){0,2}"
    r"\|[ \t]{0,3}(?:(?:sudo|nohup|exec)(?: -\w{1,10}){0,2} ){0,2}" + _SHELLS,
    re.IGNORECASE,
)
_SHELL_OF = lazy(
    r"(?:"
    + _SHELLS
    + r"(?: -\w{1,4}){0,3}|\beval|\bsource)[ \t]{1,3}(?:<{1,3}[ \t]?)?[\"']?(?:\$\(|<\(|`)[^\n)`]{0,2000}?"
    + _DECODES,
    re.IGNORECASE,
)
_INTO_FILE = lazy(
    _DECODES
    + r"[^\n]{0,40}?>[ \t]?(?P<file>[\w./~$-]{2,80})[ \t]{0,2}(?:&&|;|\n)(?:[^\n]{0,80}?(?:&&|;|\n)){0,2}[ \t]{0,8}(?:sudo )?"
    r"(?:(?:(?:ba|z)?sh|python3?|node|perl|chmod (?:\+x|a\+x|u\+x|7\d\d))[ \t]{1,3})?(?P=file)",
    re.IGNORECASE,
)
_POWERSHELL = lazy(
    r"\b(?:powershell|pwsh)(?:\.exe)?\b[^\n]{0,120}?[ \t]-e(?:nc?|ncodedcommand|c)?[ \t]{1,3}[\"']?[A-Za-z0-9+/]{24}"
    r"|\b(?:iex|invoke-expression)\b[^\n]{0,160}?frombase64string",
    re.IGNORECASE,
)
_RUNS = (
    r"(?:exec|eval|execSync|spawnSync|(?:new )?Function|os\.system|os\.popen|subprocess\.(?:run|call|Popen|check_call|check_output)|"
    r"child_process\.\w{4,8}|setTimeout|vm\.runIn\w{3,12})[ \t]{0,2}\("
)
_DECODED = (
    r"(?:(?:base64\.)?(?:b64|b32|b85|a85|urlsafe_b64)decode|atob|bytes\.fromhex|(?:binascii\.)?unhexlify|marshal\.loads|"
    r"zlib\.decompress|codecs\.decode|unescape|Buffer\.from)[ \t]{0,2}\("
)
# Decoded right where it is run; a buffer only says that it is decoded by what stands beside it.
_RUN_DECODED = lazy(
    r"(?<![\w.])(?:child_process\.|cp\.|window\.|globalThis\.)?"
    r"(?<![\w.])(?:child_process\.|cp\.|window\.|globalThis\.)?" + _RUNS
    + r"[ \t]{0,2}(?:compile\([ \t]{0,2}|await )?[\w.]{0,40}?(?:__import__\([\"']base64[\"']\)\.)?"
    + _DECODED + r"(?P<given>[^\n]{0,160})"
)  # fmt: skip
_CONSTANT = lazy(
    r"\b(?P<name>[A-Za-z_$][\w$]{0,40})[ \t]{0,2}(?::[^=\n]{1,20})?=[ \t]{0,2}[\w.]{0,30}?"
    + _DECODED
    + r"\s{0,20}(?P<given>[^\n]{0,160})"
)
_WORD = lazy(r"[A-Za-z_$][\w$]*")
_RUN_NAME = lazy(
    r"(?<![\w.])(?:child_process\.|cp\.|vm\.)?(?P<call>"
    + _RUNS
    + r"|run[ \t]{0,2}\()[ \t]{0,2}(?:compile\([ \t]{0,2})?(?P<name>[A-Za-z_$][\w$]{0,40})(?=[ \t]{0,2}[,).])"
)
_HELP = "Write the command as it is: encoding hides from users and reviewers what runs."
_CALLS = ("64decode(", "atob(", "buffer.from(")
_CODE_CALLS = (
    *_CALLS, "32decode(", "85decode(", "fromhex(", "unhexlify(", "marshal.loads(", "zlib.decompress(", "codecs.decode(", "unescape(",
)  # fmt: skip
_POWERSHELLS = ("powershell", "pwsh")
_HINTS = lazy("base(?:64|32 )"), "openssl enc", "xxd -", "uudecode"
_HINTS_OF_CALLS, _HINTS_OF_CODE_CALLS = (
    (lazy(r"\((?:" + "|".join(rf"(?<={re.escape(call)})" for call in calls) + ")"),) for calls in (_CALLS, _CODE_CALLS)
)
_NAMES = 50


def check(skill: Skill, context: Context) -> Iterator[Hit]:
    """Report each command that is decoded and run, once for each line."""
    for text in safety_texts(skill, context):
        seen: set[int] = set()
        for start, end in sorted(_found(text)):
            span = span_of(text.text, start, end)
            if span.line in seen or is_quoted(text, start, end):
                continue
            seen.add(span.line)
            yield Hit(span, "decodes a command and runs it, so that nobody sees what runs", _HELP, text.path)


def _found(text: SafetyText) -> Iterator[tuple[int, int]]:
    joined = text.joined
    for low, high in text.around(text.hinted(_HINTS), 240, 400):
        for pattern in (_INTO_SHELL, _SHELL_OF, _INTO_FILE):
            yield from (match.span() for match in pattern.finditer(joined, low, high))
    for low, high in text.lines(_POWERSHELLS) if text.has(*_POWERSHELLS) else ():
        yield from (match.span() for match in _POWERSHELL.finditer(joined, low, high))
    calls = text.around(text.hinted(_HINTS_OF_CALLS if text.markdown else _HINTS_OF_CODE_CALLS), 180, 240)
    for low, high in calls:
        for match in _RUN_DECODED.finditer(joined, low, high):
            if _is_encoded(match.group(), match["given"]):
                yield match.start(), match.start("given")
    if calls and not text.markdown:
        yield from _named(joined, calls)


def _named(joined: str, calls: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Where a name is run that was given a decoded constant."""
    names: set[str] = set()
    for match in (found for region in calls for found in _CONSTANT.finditer(joined, *region)):
        if len(names) < _NAMES and _is_constant(match["given"], joined) and _is_encoded(match.group(), match["given"]):
            names.add(match["name"])
    if names:
        yield from (match.span() for match in _RUN_NAME.finditer(joined) if match["name"] in names)


def _is_encoded(call: str, given: str) -> bool:
    """A buffer is made of text, unless it says how that is encoded."""
    return "Buffer.from" not in call or "base64" in given or "hex" in given


def _is_constant(given: str, joined: str) -> bool:
    """Whether what is decoded is a text in the file: itself, or a name that holds one."""
    if given[:1] in "\"'`" or given[:2] in ('b"', "b'"):
        return True
    word = _WORD.match(given)
    return word is not None and any(f"{word.group()} = {quote}" in joined for quote in "\"'`")

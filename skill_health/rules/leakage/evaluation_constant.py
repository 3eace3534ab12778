"""The skill contains a value that only the tests of a task know

## What
Reports numbers, checksums and file names that occur in a skill and in the verifier, the oracle, the expected output or
the rubric of a task beside it, but neither in the task's prompt nor in its starting files. Only rare values count:
integers of five or more digits that are not round, decimals with four or more significant digits, hexadecimal strings
of eight or more, and file names that are neither common nor the skill's own; and only if at most two skills contain
them.

## Why
Nobody needs the number except to pass the test: the skill was written, or tuned, with the answers at hand.

## Bad
```markdown
For the March data the total is 48213.77.       (verify.sh: grep -q 48213.77 out.txt)
```

## Good
```markdown
Check the total against the ledger's own sum.
```

## Fix
Remove the value, or change the task. There is no automatic fix.

## Source
evidence · benchmarks plant rare strings in their files to find out where these end up (canary of BIG-bench, 2022;
read 2026-11).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from skill_health.rules._api import Context, Corpus, CorpusContext, Hit, Severity
from skill_health.rules.leakage._bundled import all_texts, span_of
from skill_health.rules.leakage._material import PROMPT, TaskMaterial, load_tasks
from skill_health.skill.model import Skill, Span
from skill_health.text.patterns import lazy

CODE = "LE008"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

_MOST_SKILLS = 2
_MOST_TOKENS = 2000
_TOKEN = lazy(
    r"(?<![\w.,/-])(?P<number>\d{1,3}(?:,\d{3}){1,5}(?:\.\d{1,10})?|\d{1,15}(?:\.\d{1,10})?)(?![\w/-]|[.,]\d)"
    r"|(?<![\w-])(?P<hex>(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,128})(?![\w-])"
    r"|(?<![\w.-])(?P<file>[A-Za-z0-9][\w-]{2,60}\.(?:csv|tsv|jsonl?|xlsx?|parquet|txt|xml|html?|pdf|docx|pptx|png|db|log))(?![\w-])"
)
_PARTS = lazy(r"[-_]+|(?<=[a-z])(?=\d)")
# Words common in file names, whatever the file is about.
_COMMON = frozenset(
    "readme skill skills agent agents task tasks metadata rubric verify verifier solve test tests unit outputs output out input inputs "
    "result results report reports data dataset config settings package lock requirements main index app server client helper "
    "example examples sample samples template notes todo changelog license manifest schema compose values chart final score scores "
    "reward log logs error errors summary expected actual instruction instructions script run raw clean cleaned processed train "
    "training model models eval evals evaluation benchmark metrics coverage baseline file files my new old user users order orders "
    "customer customers product products event events item items page tsconfig build launch composer".split()
)
_HELP = "Remove it from the skill, or change the task."


def collect(skill: Skill, context: Context) -> Any:
    """The rare values of the skill: {value: [path, line, col, end_col]}; None if there are no tasks."""
    if not context.registries.tasks:
        return None
    found: dict[str, list[Any]] = {}
    for path, text in all_texts(skill, context):
        for value, start, end in rare_values(text):
            if value not in found and len(found) < _MOST_TOKENS:
                span = span_of(text, start, end)
                found[value] = [path or skill.path, span.line, span.col, span.end_col]
    return {"values": found, "files": sorted({file.rpartition("/")[2] for file in skill.files})}


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report each skill once for each task, at the first value, with the others."""
    facts = {skill.path: skill.facts[CODE] for skill in corpus.wanted() if skill.facts.get(CODE)}
    if not facts or not context.registries.tasks:
        return
    tasks = [(task, _hidden_values(task)) for task in load_tasks(context.registries.tasks, context)]
    if not any(value in hidden for _, hidden in tasks for fact in facts.values() for value in fact["values"]):
        return
    every = [fact for skill in corpus.skills if (fact := skill.facts.get(CODE))]
    skills_with = Counter(value for fact in every for value in fact["values"])
    bundled = {name for fact in every for name in fact["files"]}
    for task, hidden in tasks:
        for owner, fact in facts.items():
            leaks = [v for v in fact["values"] if v in hidden and skills_with[v] <= _MOST_SKILLS and v not in bundled]
            if leaks:
                yield _hit(task, owner, fact["values"], leaks, hidden)


def rare_values(text: str) -> Iterator[tuple[str, int, int]]:
    """The values of a text unlikely to occur by chance, as (value, start, end); numbers without their commas."""
    for match in _TOKEN.finditer(text):
        value = match.group().replace(",", "") if match["number"] else match.group()
        if _is_rare(value, match.lastgroup or ""):
            yield value, match.start(), match.end()


def _is_rare(value: str, kind: str) -> bool:
    if kind == "number":
        digits = value.replace(".", "").strip("0")
        if "." in value:
            return len(digits) >= 4
        return len(value) >= 5 and len(digits) >= 4 and not _regular(int(value))
    if kind == "file":
        parts = _PARTS.split(value.rpartition(".")[0].lower())
        return len(parts) >= 2 and not _COMMON.issuperset(parts)
    return len(set(value)) >= 5


def _regular(number: int) -> bool:
    """Powers of two and their neighbours, counting (12345), dates (20260131) and repeated digits."""
    near = any(n & (n - 1) == 0 for n in (number - 1, number, number + 1))
    text = str(number)
    return near or text in "1234567890123456789" or 19000101 <= number <= 20991231 or len(set(text)) < 3


def _hidden_values(task: TaskMaterial) -> dict[str, str]:
    """The rare values of a task that its agent is not given, each with its place."""
    given = {value for value, _, _ in rare_values(task.given)}
    found: dict[str, str] = {}
    for part in task.parts:
        if part.kind != PROMPT:
            for value, start, _ in rare_values(part.text):
                if value not in given and value not in task.given:
                    found.setdefault(value, f"{part.path}:{part.text.count(chr(10), 0, start) + 1}")
    return found


def _hit(task: TaskMaterial, owner: str, values: dict[str, list[Any]], leaks: list[str], hidden: dict[str, str]) -> Hit:
    leaks.sort(key=lambda value: (values[value][0] != owner, *values[value]))
    path, line, col, end_col = values[leaks[0]]
    others = f" and {len(leaks) - 1} more ({', '.join(leaks[1:4])})" if len(leaks) > 1 else ""
    message = f"{leaks[0]!r}{others} is known to the tests of task {task.name!r} only ({hidden[leaks[0]]})"
    return Hit(Span(line, col, line, end_col), message, _HELP, path, also=(owner,))

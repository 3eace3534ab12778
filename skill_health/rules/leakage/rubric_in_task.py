"""The task's prompt gives a rubric item away

## What
Reports the prompt of a task (task.md or instruction.md) that contains an item of the task's own rubric word for word:
eight words or more in a row that make up at least four fifths of the item.

## Why
The rubric judges what the agent does unasked. Every arm follows an item that the prompt states, with or without the
skill, so the item measures nothing.

## Bad
```markdown
task.md:     Keep the original column order and never drop rows without an id.
rubric.json: {"item": "Keeps the original column order and never drops rows without an id"}
```

## Good
```markdown
task.md:     Clean this export so that it can be imported again.
```

## Fix
State the goal in the prompt and leave the criterion to the rubric. There is no automatic fix.

## Source
opinion · a criterion known to the control arm cannot separate the arms; read 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.rules._api import Corpus, CorpusContext, Hit, Severity
from skill_health.rules.leakage._bundled import span_of
from skill_health.rules.leakage._material import PROMPT, RUBRIC, TaskMaterial, TaskText, load_tasks, rubric_items
from skill_health.text import fingerprints as prints

CODE = "LE011"
SEVERITY = Severity.WARNING
SINCE = "0.1.0"
DEFAULT = True

_LEAST = 8
_SHARE = 0.8
_MOST_WORDS = 20_000


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report each rubric item at the place in the prompt."""
    for task in load_tasks(context.registries.tasks or (), context):
        prompts = [part for part in task.parts if part.kind == PROMPT]
        for rubric in (part for part in task.parts if part.kind == RUBRIC):
            for prompt in prompts:
                yield from _given_away(task, prompt, rubric)


def _given_away(task: TaskMaterial, prompt: TaskText, rubric: TaskText) -> Iterator[Hit]:
    words = prints.split(prompt.text)
    said = words.words[:_MOST_WORDS]
    for offset, item in rubric_items(rubric):
        wanted = prints.split(item).words
        if len(wanted) < _LEAST:
            continue
        run = max(prints.shared_runs(said, wanted, _LEAST), key=lambda r: (r.length, -r.a), default=None)
        if run is None or run.length < _SHARE * len(wanted):
            continue
        span = span_of(prompt.text, words.starts[run.a], words.ends[run.a + run.length - 1])
        line = rubric.text.count("\n", 0, offset) + 1
        shown = " ".join(item.split())[:160]
        message = f"the prompt of task {task.name!r} states an item of its rubric ({rubric.path}:{line}): {shown!r}"
        yield Hit(span, message, "State the goal, and leave the criterion to the rubric.", prompt.path)

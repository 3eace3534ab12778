"""A small collection with all three histories, made by the real writers out of made-up results, and pages over it.

`make(folder)` writes a collection with reports and returns its root; `read(root)` gathers a page over it.
`page()` is one that several tests may look at, made once in a process: nobody may change its files. Models answer as
functions here say; "loop:maker:m" and "maker:one" count as real, "scripted" as simulated.
"""

from __future__ import annotations

import json
import random
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import report_runs
from effects_made import replace
from made_runs import checked, frozen, prompt, report_record, simulate, values
from made_runs import manifest as router_manifest
from page_parsed import Parsed

from skill_health.config.settings import Config
from skill_health.daily.run import run_daily, write
from skill_health.discovery.corpus import discover
from skill_health.documents._record import encode_record
from skill_health.effectiveness.effects.build import build_report as effect_report
from skill_health.effectiveness.run.history import record_run as record_effects
from skill_health.lint.pipeline import configure
from skill_health.lint.pipeline import run as check
from skill_health.page.data.gather import read_page
from skill_health.page.html import render, render_plain
from skill_health.page.model import Page
from skill_health.router.history import record_run as record_router
from skill_health.router.records import NONE
from skill_health.router.reports import write_reports
from skill_health.status.join import digests_now

COUNTS = "lexical:overlap"
AS_OF = date(2026, 11, 20)
SKILLS = ("skill-0", "skill-1", "skill-2", "skill-3")
ROUTER_RUN, EFFECT_RUN = "20261118T050000Z-aaaaaaaa", "20261119T050000Z-bbbbbbbb"
REAL, SCRIPTED, AGENT = "maker:one", "scripted", "loop:maker:m"
CERTAIN: Mapping[str, float] = {"skill-1": 0.75, "skill-3": 0.0}
SCRIPT = "base=0.5,target=0.45,plus_one=0.4,plus_unrelated=0.1,full=0.4,skill.skill-1=0.1,skill.skill-2=-0.5"
TRIAL = "trials/000--loop-maker-m--target--r0--0a1b2c3d"
NASTY = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202egnp.exe\x1b[31m{{7*7}}<svg/onload=alert(3)>"
)
"""Text that must show as text wherever it stands."""

_TOPICS = ("plums", "pears", "quinces", "medlars")
_DESCRIPTION = "Sorts {0} by ripeness and size for market. Use when somebody asks to sort, grade or pack {0}."
_SKILL = """---
name: {name}
description: {text}
license: MIT
---

# {name}

## When to use

Use it when {topic} have to be sorted.

## Workflow

1. Count the {topic}.
2. Sort them.

## Gotchas

- {topic} that are wet weigh more.
{more}
## Examples

```sh
sort {topic}.txt
```
"""
_HOSTILE = (
    "---\nname: '<b>nasty</b>'\ndescription: '<script>alert(1)</script> \u202e sorts things. Use when \"><img src=x> is named.'\n"
    "---\n# <img src=x onerror=alert(1)>\n\nSee [this](missing<script>.md) and `</script>`.\n"
)


def make(root: Path, days: int = 4, effects: bool = True, router: bool = True) -> Path:
    """Write a collection of five skills, the last one hostile, below `root`, with so many daily runs of reports."""
    if (days, effects, router) == (4, True, True):
        return Path(shutil.copytree(_whole(), root, dirs_exist_ok=True))
    return _make(root, days, effects, router)


def _make(root: Path, days: int, effects: bool, router: bool) -> Path:
    _write(root, "skill-health.toml", 'profile = "standard"\nexclude = ["tasks"]\n')
    for name, topic in zip(SKILLS, _TOPICS, strict=True):
        _write(root, f"skills/{name}/SKILL.md", skill(name, topic))
    _write(root, "skills/zz-nasty/SKILL.md", _HOSTILE)
    claims = [
        {
            "claim_id": f"claim-{topic}", "claim_text": f"{topic} ripen", "owning_skill": name, "source_url": "https://example.com/a",
            "evidence_strength": "primary", "volatility": "high", "last_reviewed": f"2026-{11 - 5 * (n % 2):02}-0{n + 1}",
        }
        for n, (name, topic) in enumerate(zip(SKILLS, _TOPICS, strict=True))
    ]  # fmt: skip
    _write(root, "registries/claims.jsonl", "".join(json.dumps(each) + "\n" for each in claims))
    asked = [
        {"prompt_id": each.prompt_id, "prompt": each.text, "expected_primary_skill": each.expected}
        for each in _prompts()
    ]
    _write(root, "registries/prompts.jsonl", "".join(json.dumps(each) + "\n" for each in asked))
    for day in range(days):
        more = "- the last day is another one\n" * (day == days - 1)
        _write(root, "skills/skill-0/SKILL.md", skill("skill-0", "plums", more))
        daily(root, date(2026, 11, 16 + day))
    if router:
        add_router(root)
    if effects:
        add_effects(root)
    return root


def skill(name: str, topic: str, more: str = "") -> str:
    """A sound SKILL.md; `more` are further lines of its gotchas."""
    return _SKILL.format(name=name, topic=topic, text=_DESCRIPTION.format(topic), more=more)


def daily(root: Path, day: date) -> None:
    """A daily run of that day."""
    folder = str(root / "reports")
    found, config = configure((str(root),), None, {})
    outcome = run_daily((str(root),), found, config, day, f"{day}T04:00:00Z", folder, 1, False)
    list(write(outcome, folder))


def add_router(
    root: Path, run_id: str = ROUTER_RUN, models: Sequence[Any] = (), good: Mapping[str, float] = CERTAIN,
    planted: Sequence[Mapping[str, Any]] = (),
) -> None:  # fmt: skip
    """A run of the router over the prompts of the registry, in which a request for a skill is met as often as `good`
    says. `planted` are verdicts of the instrument check, which is passed by default.
    """
    specs = models or [REAL, {"spec": COUNTS, "kind": "local"}, {"spec": SCRIPTED, "kind": "simulated"}]
    given = router_manifest(
        _prompts(), specs, SKILLS, 2, run_id=run_id, created=_when(run_id), catalogue=[
            {"name": name, "text": text, "state": "full", "description": text, "path": f"skills/{name}/SKILL.md"}
            for name, text in zip(SKILLS, map(_DESCRIPTION.format, _TOPICS), strict=True)
        ],
    )  # fmt: skip

    def answer(rng: random.Random, each: Any, order: tuple[str, ...]) -> Sequence[str]:
        right = each.expected or NONE
        if rng.random() < good.get(right, 0.9):
            return (right, *[name for name in order if name != right][:2])
        return (rng.choice([name for name in (*order, NONE) if name != right]),)

    def confidence(rng: random.Random, right: bool) -> float:
        return 0.6 + 0.3 * right + 0.1 * rng.random()

    names = [each["spec"] for each in given["models"]]
    results = simulate(given, dict.fromkeys(names, answer), 1, confidence)
    passed = [{"model": name, "trusted": True, "failed": False, "findings": []} for name in names]
    told = {"planted": [*(planted or passed)], "finished": []}
    report = report_record(given, results, told)
    folder = root / "reports" / "router" / run_id
    _write(folder, "manifest.json", json.dumps(given))
    _write(folder, "results.jsonl", "".join(json.dumps(values(each)) + "\n" for each in results))
    write_reports(str(folder), report)
    record_router(str(root / "reports"), frozen(given), report, checked(told))


def add_effects(
    root: Path, run_id: str = EFFECT_RUN, models: Sequence[str] = (AGENT, SCRIPTED), script: str = SCRIPT,
    targets: int = 60, **more: Any,
) -> None:  # fmt: skip
    """A run of the effectiveness benchmark whose results are drawn as `script` says, with one failing trial kept."""
    digests = staged(root)
    run = report_runs.run(
        run_id, script, 3, models=models, created=_when(run_id), replications=2,
        skills=[{"name": name, "digest": digests[name], "description": f"Does {name}."} for name in SKILLS],
        tasks=report_runs.tasks(targets, 5, len(SKILLS)), **more,
    )  # fmt: skip
    results = list(run.results)
    lost = [at for at, each in enumerate(results) if each.arm == "target" and each.outcome == "fail"]
    for at in lost[:1]:
        results[at] = replace(results[at], folder=TRIAL)
    run = replace(run, results=tuple(results))
    report = effect_report(run.manifest, run.results)
    folder = report_runs.kept(root / "reports", run)
    _write(folder, "report.json", encode_record(report))
    record_effects(str(root / "reports"), run.manifest, report, run.results)
    if lost:
        add_trial(folder / TRIAL)


def add_trial(folder: Path) -> None:
    """What is kept of a trial, full of markup."""
    call = {"tool_call_id": "c1", "function_name": f"run {NASTY}", "arguments": {"command": NASTY}}
    steps = [
        {"step_id": 1, "source": "user", "message": f"Sort the plums. {NASTY}"},
        {
            "step_id": 2, "source": "agent", "message": "", "model_name": "m", "tool_calls": [call],
            "observation": {"results": [{"source_call_id": "c1", "content": NASTY}]},
        },
        {"step_id": 3, "source": "agent", "message": "Done."},
    ]  # fmt: skip
    agent = {"name": "loop", "version": "0.1.0", "model_name": "m"}
    _write(folder, "trajectory.json", json.dumps({"schema_version": "ATIF-v1.7", "agent": agent, "steps": steps}))
    _write(folder, "diff.patch", f"--- a/plums\n+++ b/plums\n@@ -1 +1 @@\n-one\n+{NASTY}\n")
    _write(folder, "verifier/stdout", f"expected 3 plums, found {NASTY}\n")
    _write(folder, "verifier/stderr", "")
    _write(folder, "final.txt", "Done.")
    told = {"error": "", "notes": [], "outcome": "fail", "problem": "", "reward": 0.0, "rewards": {}, "verdict": "fail"}
    _write(folder, "verdict.json", json.dumps(told))


def staged(root: Path) -> dict[str, str | None]:
    """The digests of the skills of a collection as they are now."""
    found = check(discover((str(root),), Config(), str(root)), Config(), AS_OF, use_cache=False, facts=True)
    return digests_now(str(root), found.entries, found.facts)


def read(root: Path, as_of: date = AS_OF, base: str = "", **more: Any) -> Page:
    """The page over a collection, without a cache."""
    found, config = configure((str(root),), None, {})
    return read_page((str(root),), found, config, as_of, str(root / "reports"), 1, False, base, **more)


@cache
def page() -> Page:
    """The page over a whole collection; its files stay as long as the process."""
    return read(_whole(), base=str(_whole() / "reports"))


@cache
def plain() -> str:
    """That page without a script."""
    return render_plain(page())


@cache
def seen() -> Parsed:
    """That page without a script, read."""
    return Parsed(plain())


@cache
def scripted() -> str:
    """That page with its script."""
    return render(page())


@cache
def bare() -> Page:
    """The page over the same skills, of which nothing was ever measured."""
    folder = _folder()
    return read(make(folder, days=0, effects=False, router=False), base=str(folder / "reports"))


@cache
def _whole() -> Path:
    """A whole collection, which is made once in a process: its reports take seconds."""
    return _make(_folder(), days=4, effects=True, router=True)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


def _folder() -> Path:
    _KEPT.append(tempfile.TemporaryDirectory(prefix="page-made-"))
    return Path(_KEPT[-1].name).resolve()


def _when(run_id: str) -> str:
    """When a run began, by its id."""
    return f"{run_id[:4]}-{run_id[4:6]}-{run_id[6:11]}:{run_id[11:13]}:{run_id[13:15]}Z"


def _prompts() -> list[Any]:
    every = [
        prompt(f"p{n:02}", SKILLS[n % 4], text=f"please sort these {_TOPICS[n % 4]}, lot {n}", split="test")
        for n in range(24)
    ]
    none = [prompt(f"q{n}", None, text=f"what is the weather on day {n}? {NASTY if n == 0 else ''}") for n in range(4)]
    return every + none


def _write(root: Path, path: str, text: str) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8", newline="")

"""Try the tasks of SkillsBench in containers here, and write which of them run: docs/skillsbench.md.

    bash scripts/base_images.sh                       # where no registry of images is reached
    python -m scripts.skillsbench CHECKOUT [TASK...]  # tries these, all where none is named, and writes the page
    python -m scripts.skillsbench CHECKOUT --write    # writes the page of what was tried

CHECKOUT is the repository at COMMIT. Each task is built, and verified once with nothing done and once after its oracle,
with podman, as `skill-health effectiveness check --sandbox podman --network scripts` does. What was found of a task is
kept below build/skillsbench/, and else in the page itself, so that some can be tried again. Nothing of theirs is kept
in this repository but names.
"""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from skill_health.effectiveness.check.verifier_runs import VerifiedState, nothing_done, solved
from skill_health.effectiveness.sandbox._load import back_end
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._image import ImageRecipe
from skill_health.effectiveness.tasks._load import load_tasks
from skill_health.effectiveness.workspace.images import NAME, network_choice, place_tasks
from skill_health.effectiveness.workspace.scripts import ScriptOptions
from skill_health.text.blocks import markdown_table
from skill_health.text.terminal import clean

REPOSITORY, COMMIT = "KaiserWhoLearns/skillsbench", "037a854d3d15ef93a016bb8425124a195e7d5ad9"
ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build" / "skillsbench"
PAGE = ROOT / "docs" / "skillsbench.md"
BUILD_SECONDS = 420.0
RUNS = "runs"
_ROW = re.compile(r"(?m)^\| (?P<task>[\w-]+) \|(?:[^|]*\|){4} (?P<said>.*) \|$")
_WHEN = re.compile(r"tried on ([\d-]+)")
# Hosts that every verifier speaks of, or that are reached.
_USUAL = re.compile(r"astral\.sh|debian|py(?:pi|pa|test|thonhosted)")
# What a person found of tasks that do not run here, where nothing that they print says it. Files that are missing are
# those of the repository's tree whose contents were too large for our copy.
READ = {
    "jpg-ocr-stat": ("time limit", "its oracle needs more than the 600 s that the task gives, on two busy cores; it asks for four"),
    "powerlifting-coef-calc": ("network", "the image fetches uv from astral.sh (read, not built)"),
    "latex-formula-extraction": ("network", "the image asks cdn.playwright.dev and huggingface.co (read, not built)"),
    "multilingual-video-dubbing": ("network", "the image asks download.pytorch.org and github.com (read, not built)"),
    "fix-build-google-auto": ("base image", "bugswarm/cached-images:google-auto-101506036"),
    "scheduling-email-assistant": ("network", "the oracle and the verifier need accounts of Google"),
    "find-topk-similiar-chemicals": ("network", "the oracle asks pubchem.ncbi.nlm.nih.gov"),
    "flood-risk-analysis": ("network", "the oracle asks the services of usgs.gov"),
    "organize-messy-files": ("file missing", "DAMOP.pptx; the image asks arxiv.org, too"),
    "earthquake-phase-association": ("file missing", "wave.mseed"),
    "glm-lake-mendota": ("file missing", "meteo.csv"),
    "mars-clouds-clustering": ("file missing", "citsci_train.csv"),
    "travel-planning": ("file missing", "clean_Flights_2022.csv"),
    "video-tutorial-indexer": ("file missing", "tutorial_video.mp4"),
    "manufacturing-codebook-normalization": ("network", "the verifier stops where astral.sh is not reached"),
    "manufacturing-equipment-maintenance": ("network", "the verifier stops where astral.sh is not reached"),
    "manufacturing-fjsp-optimization": ("network", "the verifier stops where astral.sh is not reached"),
    "citation-check": ("network", "the oracle asks api.crossref.org and api.semanticscholar.org"),
}  # fmt: skip


class TriedTask(msgspec.Struct, frozen=True):
    """What was found of one task: `kind` is RUNS or why it does not run, `detail` says more of that."""

    kind: str
    detail: str = ""
    built: float = 0.0
    nothing: float | None = None
    oracle: float | None = None
    when: str = ""


def main(arguments: Sequence[str]) -> None:
    """Try tasks and write the page."""
    checkout, *wanted = arguments
    only_write = "--write" in wanted
    names = [name for name in wanted if not name.startswith("-")]
    folder = Path(checkout) / "tasks"
    loaded = load_tasks((str(folder),), str(folder.parent))
    for problem in loaded.problems:
        raise SystemExit(f"{problem.path}: {problem.message}")
    KEPT.mkdir(parents=True, exist_ok=True)
    by_id = {task.id: task for task in loaded.tasks}
    for name in () if only_write else names or by_id:
        found = tried(by_id[name])
        (KEPT / f"{name}.json").write_bytes(msgspec.json.encode(found))
        print(name, found.kind, found.detail, f"{found.built:.0f} s", found.nothing, found.oracle, flush=True)
    PAGE.write_text(page(loaded.tasks), encoding="utf-8")


def tried(task: Task) -> TriedTask:
    """Build a task's image and verify both states of it, then remove the image."""
    assert task.contained is not None
    recipe = replace(_recipe(task), build_timeout_sec=BUILD_SECONDS)
    task = replace(task, contained=replace(task.contained, recipe=recipe))
    when, begun = datetime.now(UTC).date().isoformat(), time.monotonic()
    placed = place_tasks((task,), "podman", "", network_choice("scripts", ()))
    built = time.monotonic() - begun
    (ready,) = placed.tasks
    try:
        if task.id in placed.failed:
            return TriedTask(*why_not_built(placed.failed[task.id], task), built, when=when)
        if ready.blockers:
            return TriedTask("not supported", "; ".join(ready.blockers)[:200], built, when=when)
        terms = ScriptOptions(back_end("podman"))
        start, end = (asyncio.run(state(ready, terms, 1)) for state in (nothing_done, solved))
        kind, detail = why_not_run(start, end)
        return TriedTask(kind, detail, built, _reward(start), _reward(end), when)
    finally:
        if "SKILLSBENCH_KEEP" not in os.environ:
            subprocess.run(["podman", "rmi", f"{NAME}:{recipe.digest}"], capture_output=True, check=False)


def _reward(state: VerifiedState) -> float | None:
    return state.tried[0].verified.verdict.reward


def why_not_built(said: str, task: Task) -> tuple[str, str]:
    """Why an image could not be built, from the sentence of the product."""
    if found := re.search(r"a base image cannot be pulled \(([^)]*)\)", said):
        return "base image", found[1]
    if found := re.search(r"no address was found of ([^:]+):", said):
        return "network", found[1]
    if found := re.search(r'"(/[^"]+)": no such file or directory', said):
        return "file missing", found[1].lstrip("/")
    if found := re.search(r"COPY --from=(\S+): no stage or image found", said):
        return "base image", found[1]
    if "took longer" in said:
        return "build time", f"more than {BUILD_SECONDS:.0f} s"
    if found := re.search(r"No matching distribution found for (\S+)|Unable to locate package (\S+)", said):
        return "version", found[1] or found[2]
    return "build fails", said.partition("cannot be built: ")[2][:160] or said[:160]


def why_not_run(start: VerifiedState, end: VerifiedState) -> tuple[str, str]:
    """RUNS, or why a task that was built does not tell its oracle's work from nothing done."""
    before, after = start.tried[0].verified, end.tried[0].verified
    if before.verdict.outcome == "pass":
        return "nothing done passes", ""
    if after.verdict.outcome == "pass" and end.oracle is not None and end.oracle.exit_code == 0:
        return RUNS, ""
    ran = end.oracle
    outputs = [text for one in (ran, after.output) if one is not None for text in (one.stderr, one.stdout)]
    said = b"\n".join(outputs).decode("utf-8", "replace")
    hosts = re.findall(
        r"HTTPS?ConnectionPool\(host='([^']+)'|could not resolve host:? '?([\w.-]+)|https?://([\w.-]+)", said, re.I
    )
    asked = {name.strip(".") for found in hosts for name in found}
    names = sorted(name for name in asked if "." in name and not _USUAL.search(name))
    if ran is not None and ran.exit_code is None:
        return "oracle fails", f"the oracle: {ran.stopped}"
    if re.search(r"Max retries exceeded|Proxy|resolve|tunnel", said) and names:
        return "network", ", ".join(names[:3])
    last = next((line for line in reversed(said.splitlines()) if re.search(r"Error|error:|FAILED", line)), "")
    return "oracle fails", clean(last.strip())[:160]


def page(tasks: Sequence[Task]) -> str:
    """The page, from what is kept."""
    told = dict(_told())
    kept = {task.id: _kept(task, told) for task in tasks}
    counts = Counter(one.kind for one in kept.values())
    ran = [task for task in tasks if kept[task.id].kind == RUNS]
    areas = sorted({task.category for task in ran})
    dates = sorted({one.when for one in kept.values() if one.when})
    rows = [_row(task, kept[task.id]) for task in tasks]
    others = ", ".join(
        f"{count} {kind}" for kind, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])) if kind != RUNS
    )
    return (
        HEAD.format(
            repository=REPOSITORY,
            commit=COMMIT[:10],
            dates=" to ".join(dict.fromkeys((dates[0], dates[-1]))) if dates else "no day",
            total=len(tasks),
            runs=len(ran),
            areas=len(areas),
            others=others,
        )
        + "\n".join(markdown_table(("task", "category", "difficulty", "skills", "base image", "here"), rows))
        + "\n"
    )


def _told() -> Iterator[tuple[str, TriedTask]]:
    """What the page of today says of each task that was tried."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    when = _WHEN.search(text)
    for row in _ROW.finditer(text):
        kind, _, detail = row["said"].replace("\\|", "|").partition(": ")
        if kind == "not tried":
            continue
        rewards = (
            re.fullmatch(r"(\S+) with nothing done, (\S+) with the oracle", detail) if kind == f"**{RUNS}**" else None
        )
        found = TriedTask(kind, detail, when=when[1] if when else "")
        if rewards:
            found = TriedTask(RUNS, "", 0.0, float(rewards[1]), float(rewards[2]), found.when)
        yield row["task"], found


def _kept(task: Task, told: Mapping[str, TriedTask]) -> TriedTask:
    try:
        found = msgspec.json.decode((KEPT / f"{task.id}.json").read_bytes(), type=TriedTask)
    except OSError:
        if task.id in told:
            return told[task.id]
        asked = sorted(set(re.findall(r"https?://([\w.-]+)", _recipe(task).dockerfile)))
        hosts = [name for name in asked if not _USUAL.search(name)]
        found = TriedTask("not tried", f"its image asks {', '.join(hosts[:3])}" if hosts else "")
    if found.kind == RUNS or task.id not in READ:
        return found
    kind, detail = READ[task.id]
    return msgspec.structs.replace(found, kind=kind, detail=detail)


def _recipe(task: Task) -> ImageRecipe:
    """The recipe of a task's image: every task here has one."""
    assert task.contained is not None and task.contained.recipe is not None
    return task.contained.recipe


def _row(task: Task, found: TriedTask) -> tuple[str, ...]:
    said = (
        f"**runs**: {found.nothing:g} with nothing done, {found.oracle:g} with the oracle"
        if found.kind == RUNS
        else found.kind
    )
    more = f": {found.detail}" if found.detail else ""
    skills = ", ".join(sorted(os.path.basename(path) for path in task.skills))
    return task.id, task.category, task.difficulty, skills, ", ".join(_bases(task)), f"{said}{more}"


def _bases(task: Task) -> Iterator[str]:
    for line in _recipe(task).dockerfile.splitlines():
        words = [word for word in line.split() if not word.startswith("--")]
        if words and words[0].upper() == "FROM" and len(words) > 1:
            yield words[1]


HEAD = """\
# Which tasks of SkillsBench run

The {total} tasks of [{repository}](https://github.com/{repository}) at commit `{commit}`, tried on {dates} with podman 4.3.1 on
a machine that reaches the packages of Debian, PyPI and npm, and nothing else. **{runs} of {total} run**, in {areas} categories:
their image is built, doing nothing fails, the oracle ends without an error and passes. The others: {others}.

The base images are stand-ins, made by `scripts/base_images.sh` from Debian's packages, since no registry of images was
reached: `ubuntu:24.04` is Debian 12 with Python 3.11, `ubuntu:20.04` Debian 11 with Python 3.9; `python:3.9`, `3.10`, `3.11`
and `3.12` are Debian's Python 3.9, 3.11, 3.11 and 3.13. All hold uv 0.9.7 from PyPI, which most verifiers would fetch from
astral.sh. A task that runs on them is shown to be read, built, run and verified by skill-health; with the real images other
versions are at work, and tasks listed here as failing for a version or for want of a host may well run.

A network is granted to the scripts alone (`--network scripts`), as nearly all verifiers install pytest. Each state is
verified once; `effectiveness check` does so three times, looks for leaks and plays hacks. It refuses none of the 63 for a
leak; in 15, skills share more than idioms with the solution or the tests, which it reports with the words. Of the 21 it was
tried on seven (2026-11-25), all of them fit: `ab-testing-stats`, `court-form-filling`, `hvac-control`,
`offer-letter-generator`, `pptx-reference-formatting`, `r2r-mpc-control` and `weighted-gdp-calc`. Two of these copy `*.json`
of the work to where their reward lies, and passed whoever left a `reward.json` there, until such a file was kept from
verifiers. One pass is no proof of a steady verifier: `r2r-mpc-control` simulates with noise: the oracle passed when it was
tried, and the two trials in which an agent did its work failed.

Claude Code 2.1.197 and Codex 0.169.0, with scripts in the place of their models, have done the arms `control` and `target`
of `ab-testing-stats`, `court-form-filling`, `hvac-control` (five skills) and `offer-letter-generator` here: each control
failed, and each target was offered its skills, opened them all, and passed. Of `offer-letter-generator` both have done the
five cases of deliveries (`--delivery files,compiled --hint also`), ten trials by one command: the server's tools were offered
in its arms and nowhere else, and called where the prompt named the skill. That says nothing about any model.

Five of them were [reviewed](effectiveness.md#review) in podman on 2026-11-26, with three trials an arm of Claude Code 2.1.197 whose model
was a script, which did the oracle's work where it was offered the skills and nothing otherwise. **The agents' figures show that a review can
be filled in, and nothing about a model.** All five come to *approve with caveats*; each oracle passes with a reward of 1, and what failed
in the controls is traced to the missing file, or to the value that was expected and the one that was there:

| task | tests | skills | oracle | caveats beside a category that is none of the eight domains, and an author of the instruction who is not named |
|---|---|---|---|---|
| court-form-filling | 5 | 1 | 5 of 5 tests | fewer than three skills |
| hvac-control | 7 | 5 | reward 1, no report of tests | none |
| offer-letter-generator | 4 | 1 | 4 of 4 tests | fewer than three skills |
| pptx-reference-formatting | 12 | 1 | 12 of 12 tests | fewer than three skills, more than nine tests |
| weighted-gdp-calc | 27 | 1 | 27 of 27 tests | fewer than three skills, more than nine tests |

| word | what it means |
|---|---|
| base image | the image cannot be pulled, and Debian has nothing like it |
| network | a host that is not reached is asked, at the build, by the oracle or by the verifier |
| file missing | a large file of the task was not in our copy of the repository |
| version | a package is not there for the stand-in's Python |
| time limit | what runs takes longer than the task gives |
| build time | building takes longer than {build} s on two busy cores |

""".replace("{build}", f"{BUILD_SECONDS:.0f}")


if __name__ == "__main__":
    main(sys.argv[1:])

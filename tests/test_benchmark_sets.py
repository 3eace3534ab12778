"""Labelled sets of the benchmarks: what is taken from a repository, and how routers are compared on it."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_1samp

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks._labelled import SEALED, SOURCES, TUNE, LabelledSet, load_sets, tuned_sets
from benchmarks.free_routers import EARLIER, NEW, Answer, _compare, _judged
from skill_health.router.records import Catalogue, Prompt

SKILL = "---\nname: {0}\ndescription: {0} things. Use when something has to be {0}ed.\n---\n# {0}\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two repositories: one that was tuned on, and one whose prompts need a map."""
    for repository in ("idaibin+skills", "BuidlGuidl+ethskills-evals"):
        for name in ("sort", "plot"):
            folder = tmp_path / repository / "skills" / name
            folder.mkdir(parents=True)
            (folder / "SKILL.md").write_text(SKILL.format(name), "utf-8")
        (tmp_path / repository / "skills" / "hide").mkdir()
        text = SKILL.format("hide").replace("\n", "\ndisable-model-invocation: true\n", 1)
        (tmp_path / repository / "skills" / "hide" / "SKILL.md").write_text(text, "utf-8")
    cases = [{"prompt": f"do {n}", "expected_owner": "sort" if n % 3 else "plot"} for n in range(30)]
    more = [{"prompt": f"no {owner}", "expected_owner": owner} for owner in ("hide", "nobody")]
    more.append({"prompt": "Do  1", "expected_owner": "sort"})
    (tmp_path / "idaibin+skills" / "evals").mkdir()
    (tmp_path / "idaibin+skills" / "evals" / "skill-routing-cases.json").write_text(json.dumps({"cases": cases + more}))
    (tmp_path / "BuidlGuidl+ethskills-evals" / "tasks").mkdir()
    for name in ("sort", "plot"):
        task = tmp_path / "BuidlGuidl+ethskills-evals" / "tasks" / f"{name}.yaml"
        task.write_text(f"skill: skills/{name}\ninput: |\n  Please {name} it.\nexpect: [done]\n", "utf-8")
    return tmp_path


def test_sets_are_read_by_the_formats_of_the_router(tree: Path) -> None:
    tuned, mapped = load_sets(tree)
    assert (tuned.name, mapped.name) == ("idaibin", "ethskills")
    assert (len(tuned.prompts), tuned.unlisted, tuned.unanswered) == (30, 1, 0)
    assert {prompt.split for prompt in tuned.prompts} == {TUNE, SEALED}
    assert [prompt.prompt_id for prompt in tuned.prompts] == sorted(prompt.prompt_id for prompt in tuned.prompts)
    assert ["no skill" in problem.message for problem in tuned.problems] == [True]
    assert {prompt.text.strip(): prompt.expected for prompt in mapped.prompts} == {
        "Please sort it.": "sort", "Please plot it.": "plot",
    }  # fmt: skip
    assert list(load_sets(tree, ["getcargo"])) == []


def test_only_sets_that_say_so_are_tuned_on(tree: Path) -> None:
    assert [one.name for one in tuned_sets(tree)] == ["idaibin"]
    for one in load_sets(tree):
        answers = [Answer(prompt, (), 0.0) for prompt in one.prompts]
        judged = {answer.prompt.split for answer in _judged(one, answers)}
        assert (TUNE in judged) == (not one.source.tuned)


def test_routers_are_compared_by_skill_and_over_sets() -> None:
    rng = np.random.default_rng(1)
    sets: list[LabelledSet] = []
    given: dict[str, dict[str, list[Answer]]] = {}
    means: list[float] = []
    for name in ("getcargo", "novotnyllc", "marketing", "dotnet", "daymade", "ethskills", "azure tests"):
        sizes = rng.integers(2, 9, 12)
        prompts = [Prompt(f"{s}-{n}", "x", f"s{s}") for s, size in enumerate(sizes) for n in range(size)]
        sets.append(LabelledSet(name, SOURCES[name], Catalogue(()), tuple(prompts), 0, 0, ()))
        found = {
            spec: rng.random(len(prompts)) < share
            for spec, share in zip((*NEW, *EARLIER), (0.9, 0.8, 0.2, 0.5), strict=True)
        }
        given[name] = {
            spec: [
                Answer(prompt, (str(prompt.expected) if hit else "no",), 1.0)
                for prompt, hit in zip(prompts, hits, strict=True)
            ]
            for spec, hits in found.items()
        }
        means.append(float(found[NEW[0]].mean() - found[EARLIER[0]].mean()))
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in _compare(sets, given, "content")]
    assert [row[1] for row in rows[:7]] == [one.name for one in sets]
    assert [float(row[3].split()[0]) for row in rows[:7]] == pytest.approx([100 * mean for mean in means], abs=0.05)
    assert all(row[3].endswith("better") for row in rows[:7])
    assert [row[1] for row in rows[7:]] == ["*over 7 sets: all*", "*over 7 sets: not tuned on*", "*over 3 sets: new*"]
    # Seven sets give an interval, Student's as all differ; three give none.
    value, low, high = (float(part.strip("[],")) for part in rows[7][3].split()[:3])
    plain = ttest_1samp(means, 0).confidence_interval()
    assert value == pytest.approx(100 * float(np.mean(means)), abs=0.05)
    assert (low, high) == pytest.approx((100 * plain.low, 100 * plain.high), abs=0.06)
    assert rows[9][3].endswith("(too few differ)")

"""What this package writes is what the joined record reads: lines of the history, and the digests of staged skills."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest
from effects_made import replace
from report_runs import SKILLS, run

from skill_health.config.settings import Config
from skill_health.discovery.corpus import discover
from skill_health.documents.effect_history import Effects, read_effects
from skill_health.effectiveness.check.skills import collection
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.run.history import HISTORY, record_run
from skill_health.effectiveness.workspace.copies import copies
from skill_health.lint.pipeline import run as lint
from skill_health.skill.parse import parse_skill
from skill_health.status.join import digests_now, skill_digest

ROOT = Path(__file__).resolve().parents[2]


def told(folder: Path, now: Mapping[str, str | None]) -> Effects:
    found = read_effects(str(folder), lambda: now)
    assert found is not None
    return found


@pytest.mark.slow
def test_every_line_of_a_run_is_read_back(tmp_path: Path) -> None:
    ours = run(models=("scripted", "loop:maker:m"))
    report = build_report(ours.manifest, ours.results)
    assert record_run(str(tmp_path), ours.manifest, report, ours.results) == 2 * (1 + 12)
    digests = {skill.name: skill.digest for skill in ours.manifest.skills}
    found = told(tmp_path, digests | {"skill-3": "another"})
    assert (len(found.lines), found.problems) == (26, ())
    models = {model.model: model for model in report.models}
    for each in found.lines:
        parts = {skill.skill: skill for skill in models[each.model].skills}
        part = models[each.model] if each.skill is None else parts[each.skill]
        assert (each.verdict, each.reason) == (part.verdict.word, part.verdict.reason)
        assert each.delta.value == part.contrasts[0].delta.value
        assert each.simulated == (each.model == "scripted")
        assert each.run_id == ours.run_id
        assert each.changed is (None if each.skill is None else each.skill == "skill-3")
    assert {each.skill for each in found.lines} == {None, *SKILLS}
    assert (tmp_path / HISTORY).is_file()


def ways(root: Path) -> tuple[dict[str, str | None], dict[str, str]]:
    """The digests of the same skills by both ways."""
    discovery = discover((str(root),), Config(), str(root))
    found = lint(discovery, Config(), date(2026, 1, 1), use_cache=False, facts=True)
    here = digests_now(str(root), found.entries, found.facts)
    place, skills = collection((str(root),), None, str(root))
    return here, {name: copy.digest for name, copy in copies(skills, place).items()}


@pytest.mark.slow
def test_a_staged_skill_and_a_skill_of_now_have_one_digest() -> None:
    here, staged = ways(ROOT / "fixtures" / "skills")
    assert len(staged) == 12
    assert here == staged


def test_evaluations_of_a_skill_are_no_part_of_its_digest(tmp_path: Path) -> None:
    """They are not staged: a skill with them is not another one than was measured, nor is it when they change."""
    folder = tmp_path / "skills" / "plums"
    (folder / "evals" / "files").mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: plums\ndescription: Sorts plums.\n---\n# Plums\n", encoding="utf-8")
    seen = [ways(tmp_path)]
    for name, text in (("evals.json", "[]"), ("evals.json", "{}"), ("files/a.txt", "a")):
        (folder / "evals" / name).write_text(text, encoding="utf-8")
        seen.append(ways(tmp_path))
    assert all(here == staged for here, staged in seen) and len({each["plums"] for each, _ in seen}) == 1


def test_every_part_of_a_skill_is_in_its_digest(tmp_path: Path) -> None:
    folder = tmp_path / "skills" / "plums"
    (folder / "references" / "deep").mkdir(parents=True)
    skill = folder / "SKILL.md"
    skill.write_text("---\nname: plums\ndescription: Sorts plums.\n---\n# Plums\n", encoding="utf-8")
    (folder / "run.sh").write_text("echo\n", encoding="utf-8")
    (folder / "references" / "deep" / "é.bin").write_bytes(bytes(range(256)))
    (folder / "empty").touch()
    seen = []

    def both() -> str:
        here, staged = ways(tmp_path)
        assert here == staged
        return staged["plums"]

    seen.append(both())
    os.chmod(folder / "run.sh", 0o755)
    seen.append(both())
    (folder / "empty").write_text("no more", encoding="utf-8")
    seen.append(both())
    (folder / "empty").rename(folder / "full")
    seen.append(both())
    skill.write_text(skill.read_text(encoding="utf-8") + "\nMore.\n", encoding="utf-8")
    seen.append(both())
    assert len(set(seen)) == len(seen)


@pytest.mark.parametrize("what", ["link", "folder link", "fifo", "gone"])
def test_what_cannot_be_staged_has_no_digest(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "plums"
    folder.mkdir()
    raw = b"---\nname: plums\ndescription: Sorts plums.\n---\n"
    (folder / "SKILL.md").write_bytes(raw)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret").write_text("s", encoding="utf-8")
    path = "file"
    if what == "link":
        (folder / "file").symlink_to(tmp_path / "out" / "secret")
    elif what == "folder link":
        (folder / "in").symlink_to(tmp_path / "out")
        path = "in/secret"
    elif what == "fifo":
        os.mkfifo(folder / "file")
    entry = discover((str(tmp_path),), Config(), str(tmp_path)).entries[0]
    assert skill_digest(str(tmp_path), entry._replace(files=()), parse_skill(raw, "x", "plums").name) is not None
    assert skill_digest(str(tmp_path), entry._replace(files=(path,)), "plums") is None


@pytest.mark.slow
def test_a_line_without_scored_trials_is_no_damage(tmp_path: Path) -> None:
    empty = replace(run(), results=())
    report = build_report(empty.manifest, empty.results)
    record_run(str(tmp_path), empty.manifest, report, empty.results)
    found = told(tmp_path, {})
    assert (found.problems, {each.verdict for each in found.lines}) == ((), {"not testable"})
    assert all(each.delta.value is None and each.scored == 0 for each in found.lines)
    assert json.loads((tmp_path / HISTORY).read_text(encoding="utf-8").splitlines()[0])["skill"] is None

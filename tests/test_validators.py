"""What docs/custom-rules.md shows and compares: examples, configurations, mutations. No repository is needed."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
from fixture_types import Run, Write

from scripts.mutations import MUTATIONS, mutate
from scripts.validators import VALIDATORS, Case, describe, description_length, main
from skill_health.config.settings import load_config
from skill_health.core.validation import SCHEMAS
from skill_health.rules._load import rules_with

SCHEMA = json.loads((SCHEMAS / "config.schema.json").read_text(encoding="utf-8"))
SKILL = """---
name: report
description: Writes reports for readers.
license: MIT
risk: safe
source: own
user-invocable: true
---
# Report

## Scope

- {base_path}/standards/style.md and references/style.md

## Out of scope

- [skill:other]

## Steps

Write it.
"""
BESIDE = {
    "references/style.md": "# Style\n\nPlain.\n", "standards/style.md": "# Style\n", "protocols/a.md": "# A\n",
    "checklists/a.md": "# A\n", "rubrics/a.md": "# A\n",
}  # fmt: skip


@pytest.mark.parametrize("name", [each.name for each in VALIDATORS])
def test_each_configuration_is_sound(name: str, checkout: Path, tmp_path: Path) -> None:
    path = checkout / "scripts" / "validators" / f"{name}.toml"
    config = load_config(str(tmp_path), str(path))
    codes = {rule.code for rule in rules_with(config.custom)}
    (validator,) = (each for each in VALIDATORS if each.name == name)
    assert {code for code in validator.reasons.values() if code != "YAML"} <= codes and not config.custom.python
    jsonschema.Draft202012Validator(SCHEMA).validate(tomllib.loads(path.read_text("utf-8")))


@pytest.mark.slow
@pytest.mark.parametrize("name", MUTATIONS)
def test_each_mutation_changes_something(name: str, write: Write) -> None:
    files = {f"skills/report/{path}": text for path, text in BESIDE.items()}
    folder = write({"skills/report/SKILL.md": SKILL, **files}) / "skills" / "report"
    if name.startswith("top-level-readme") or name in ("drop-license",):
        assert mutate(folder, name)
        return
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    changed = mutate(folder, name)
    after = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert changed == (before != after) and changed


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ('description: "four"\n', 4), ("description: four\n", 4), ("description: >-\n  more\n", 2),
        ('description: "open\ndescription: "in quotes"\n', 9), ("  description: indented\n", 0), ("", 0),
    ],
)  # fmt: skip
def test_a_description_is_as_long_as_the_script_counts(text: str, length: int) -> None:
    assert description_length(text) == length


def test_nothing_of_theirs_runs_untold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 2
    assert "--run-theirs" in capsys.readouterr().err


def test_agreement_is_about_the_verdict() -> None:
    cases = [Case("a", "", frozenset("x"), frozenset("y")), Case("b", "", frozenset(), frozenset("x"))]
    assert describe(cases) == "1 of 2 (50.0%, 9.5% to 90.5%)"


def page(checkout: Path, kind: str) -> list[str]:
    text = (checkout / "docs" / "custom-rules.md").read_text("utf-8")
    return re.findall(rf"(?ms)^```{kind}\n(.*?)^```", text)


@pytest.mark.slow
def test_what_the_page_shows_is_what_happens(run: Run, write: Write, checkout: Path) -> None:
    first, second, *_ = page(checkout, "toml")
    write({"skill-health.toml": f'select = ["ACME"]\n{first}{second}'})
    write({"skills/report/SKILL.md": SKILL.replace("license: MIT\nrisk: safe", "risk: high")})
    (shown,) = page(checkout, "console")
    assert run("lint").stdout.startswith(shown.partition("\n")[2])
    for check in re.findall(r"`((?:key|pattern|section|limit|files) = \{.*?\})`", "".join(_table(checkout))):
        write({"skill-health.toml": f'[[custom.rules]]\ncode = "ACME001"\n{check}\n'})
        assert run("lint").returncode == 0, check


def _table(checkout: Path) -> list[str]:
    lines = (checkout / "docs" / "custom-rules.md").read_text("utf-8").splitlines()
    return [line for line in lines if line.startswith("| `")]


def test_the_rule_that_the_page_shows(run: Run, write: Write, checkout: Path) -> None:
    (rule,) = page(checkout, "python")
    setting = next(each for each in page(checkout, "toml") if "python =" in each)
    write({"skill-health.toml": setting, "tools/needs_example.py": rule, "skills/report/SKILL.md": SKILL})
    write({"skills/report/scripts/run.py": "print()\n"})
    assert "ACME900 this skill has scripts and no example" in run("lint", "--allow-code", "--select", "ACME900").stdout

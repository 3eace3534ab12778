"""What a hook passes and what the linter makes of it, and the fixtures command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fixture_types import Run, Write

from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.lint.named import checkable

SKILL = "---\nname: sort-lists\ndescription: Sorts lists. Use when a list is out of order.\n---\n# Sort\n\nSort it.\n"
CLAIM = '{"claim_id": "claim-a1"}\n'
TREE = {
    "skills/sort-lists/SKILL.md": SKILL,
    "skills/sort-lists/references/deep/a.md": "# A\n",
    "claims.jsonl": CLAIM,
    "tasks/t1/metadata.json": '{"target_skill": "sort-lists"}\n',
    "tasks/t1/tests/expected.txt": "1 2 3\n",
    "README.md": "# Read me\n",
    "data/rows.jsonl": "{}\n",
}


def test_files_of_skills_registries_and_tasks_are_kept_and_no_others(write: Write) -> None:
    root = write(TREE)
    kept = checkable([str(root / path) for path in TREE], str(root), Config())
    assert [str(Path(path).relative_to(root)) for path in kept] == list(TREE)[:5]
    assert checkable([str(root / "data"), str(root)], str(root), Config()) == (str(root / "data"), str(root))


def test_what_is_excluded_is_kept_unless_exclude_is_to_hold(write: Write) -> None:
    root = write(TREE)
    paths = [str(root / "skills/sort-lists/SKILL.md"), str(root / "skills")]
    config = Config(exclude=("skills/",))
    assert checkable(paths, str(root), config) == tuple(paths)
    assert checkable(paths, str(root), config, force_exclude=True) == ()


def test_a_hook_leaves_test_data_alone_unless_it_is_included(write: Write) -> None:
    root = write({"tests/data/a/SKILL.md": SKILL, "skills/b/SKILL.md": SKILL, "skills/b/tests/case.md": "# Case\n"})
    paths = [str(root / path) for path in ("tests/data/a/SKILL.md", "skills/b/SKILL.md", "skills/b/tests/case.md")]
    assert checkable(paths, str(root), Config()) == tuple(paths)
    assert checkable(paths, str(root), Config(), force_exclude=True) == tuple(paths[1:])
    assert checkable(paths, str(root), Config(include=("tests/",)), force_exclude=True) == tuple(paths)


def test_a_folder_that_holds_test_data_only_is_no_clean_collection(run: Run, write: Write) -> None:
    write({"tests/data/sort-lists/SKILL.md": SKILL})
    done = run("lint", ".")
    assert done.returncode == 2
    assert "1 SKILL.md below tests (1); to check them" in done.stderr
    assert run("lint", "tests/data").returncode == 0


def test_a_missing_file_is_a_mistake_and_one_outside_is_left_to_the_search(write: Write) -> None:
    root = write(TREE)
    with pytest.raises(UsageError, match="none"):
        checkable([str(root / "none")], str(root), Config())
    outside = str(root / "README.md")
    assert checkable([outside], str(root / "skills"), Config()) == (outside,)


def test_unrelated_files_are_no_mistake(run: Run, write: Write) -> None:
    write(TREE)
    done = run("lint", "README.md", "data/rows.jsonl")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "nothing to check: none of the named files is part of a skill or a registry\n"
    (write({}) / "skills/sort-lists/SKILL.md").unlink()
    assert run("lint", "claims.jsonl").returncode == 1
    assert run("lint", "data").returncode == 2


def test_force_exclude_holds_for_named_files(run: Run, write: Write) -> None:
    write(TREE | {"skill-health.toml": 'exclude = ["skills/"]\n', "skills/sort-lists/SKILL.md": "none\n"})
    assert run("lint", "skills/sort-lists/SKILL.md").returncode == 1
    assert run("lint", "--force-exclude", "skills/sort-lists/SKILL.md").returncode == 0


def prompts(*expected: str | None) -> str:
    records = [
        {"prompt_id": f"p{n}", "prompt": f"Sort list number {n}.", "expected_primary_skill": skill}
        for n, skill in enumerate(expected)
    ]
    return "".join(json.dumps(record) + "\n" for record in records)


def test_fixtures_finds_what_is_wrong_with_records_and_nothing_else(run: Run, write: Write) -> None:
    write({
        "skills/sort-lists/SKILL.md": "no frontmatter, and a [broken](link.md)\n",
        "prompts.jsonl": prompts("sort-lists", "sort-trees") + "{}\n",
        "claims.jsonl": CLAIM,
    })  # fmt: skip
    done = run("fixtures", "--format", "json")
    found = [(f["code"], f["path"], f["line"]) for f in json.loads(done.stdout)["findings"]]
    assert found == [("FX001", "claims.jsonl", 1), ("FX003", "prompts.jsonl", 2), ("FX001", "prompts.jsonl", 3)]
    assert done.returncode == 1
    assert run("fixtures").stdout.splitlines()[-1] == "1 claim, 3 router prompts checked: 3 errors, 0 warnings, 0 info"
    assert run("fixtures", "--fail-on", "never").returncode == 0
    assert run("fixtures", "--format", "nonsense").returncode == 2


def test_fixtures_holds_to_ignore_and_baseline_but_not_to_select(run: Run, write: Write) -> None:
    write({"skills/sort-lists/SKILL.md": SKILL, "prompts.jsonl": prompts("sort-trees"), "skill-health.toml": ""})
    for settings, code in (('select = ["FM"]', 1), ('ignore = ["FX003"]', 0), ('[severity]\nFX003 = "info"', 0)):
        write({"skill-health.toml": settings + "\n"})
        assert run("fixtures").returncode == code, settings
    write({"skill-health.toml": 'baseline = "known.json"\n'})
    assert run("lint", "--write-baseline", "known since long").returncode == 0
    done = run("fixtures", "prompts.jsonl")
    assert done.returncode == 0 and "(1 in " in done.stdout


def test_fixtures_without_a_registry_says_where_it_looked(run: Run, write: Write) -> None:
    root = write({"skills/sort-lists/SKILL.md": SKILL})
    done = run("fixtures")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith(f"no registry below {root}: looked for claims.jsonl")
    assert run("fixtures", "nowhere").returncode == 2

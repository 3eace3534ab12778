"""What the summary says of fixes is what --diff shows: never more, and never nothing where there is something."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Run
from hypothesis import given
from hypothesis import strategies as st
from thinned import EXHAUSTIVE, SLOW, thinned

from skill_health.lint.report import count_fixes
from skill_health.rules._api import Finding, Severity
from tests.rules.test_cases import CASES, plant

Write = Callable[[Mapping[str, str | bytes]], Path]
HEAD = "---\nname: tidy\ndescription: Tidies lists. Use when a list is out of order.\n---\n# Tidy\n\n"


def counted(out: str) -> tuple[int, int]:
    """How many findings have a fix that is shown, and how many more with --unsafe-fixes."""
    shown = re.search(r"(?m)^(\d+) with a ", out)
    more = re.search(r"(?m)^(\d+) with an |\((\d+) more with ", out)
    return int(shown[1]) if shown else 0, int(more[1] or more[2]) if more else 0


def hold_to_diff(run: Run, root: Path, *options: str) -> tuple[int, int]:
    """The summary and the diff agree, with these options and with --unsafe-fixes besides."""
    given = run("lint", "--no-cache", *options, ".", cwd=root)
    assert given.returncode in (0, 1, 2), given.stderr
    shown, more = counted(given.stdout)
    for unsafe, count in (((), shown), (("--unsafe-fixes",), shown + more)):
        diff = run("lint", "--no-cache", "--diff", *unsafe, *options, ".", cwd=root)
        assert bool(diff.stdout.strip()) == bool(count), (given.stdout, diff.stdout)
        again = run("lint", "--no-cache", *unsafe, *options, ".", cwd=root)
        assert counted(again.stdout)[0] == count
    return shown, more


@pytest.mark.slow
@pytest.mark.parametrize(("code", "case"), thinned([each for each in CASES if "fixed" in each.values[1]], 3))
def test_the_summary_and_the_diff_agree_on_what_has_a_fix(
    code: str, case: dict[str, Any], run: Run, tmp_path: Path
) -> None:
    plant(tmp_path, case)
    before = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    changes = any(before.get(path) != text.encode() for path, text in case["fixed"].items())
    assert (sum(hold_to_diff(run, tmp_path, "--select", code)) > 0) is changes
    hold_to_diff(run, tmp_path)


@pytest.mark.parametrize(
    ("code", "case"), thinned([each for each in CASES if "fixed" not in each.values[1]], 4, SLOW, EXHAUSTIVE)
)
def test_the_summary_and_the_diff_agree(code: str, case: dict[str, Any], run: Run, tmp_path: Path) -> None:
    plant(tmp_path, case)
    hold_to_diff(run, tmp_path, "--extend-select", code)


FRONT = [
    "name: tidy", "name: Tidy Lists", "nmae: tidy", "name : tidy", "description: Tidies: lists. Use when needed.",
    "descripton: Tidies lists. Use when needed.", "description: Tid\x07ies lists: now. Use when needed.", "license: 1.0",
    "metadata:\n  version: 1.0\n  day: 2026-01-01", "version: yes", "\ttab: x", "name: 12", "allowed-tools: Read",
]  # fmt: skip
BODY = [
    "A bell\x07 here.", "Read [it](References\\a.md).", "Read [it](references/A.md).", "don\xe2\x80\x99t", "zero\u200bwidth",
    "<!-- skill-health: ignore FM008 shown on purpose -->", "<!-- skill-health: ignore-file LI001 LK001 -->", "\ufeff mark",
    "See [other](../othr/SKILL.md).", "a\r\nb", "Plain text.", "\x9b31m",
]  # fmt: skip


@pytest.mark.slow
@given(
    st.lists(st.sampled_from(FRONT), max_size=5), st.lists(st.sampled_from(BODY), max_size=6),
    st.sampled_from(["", "\ufeff", "\n\n"]), st.sampled_from(["utf-8", "utf-16-le", "cp1252"]),
    st.sampled_from([(), ("--min-severity", "warning"), ("--min-severity", "error")]),
)  # fmt: skip
def test_fixes_together(
    run: Run, tmp_path_factory: pytest.TempPathFactory, front: list[str], body: list[str], start: str, encoding: str,
    options: tuple[str, ...],
) -> None:  # fmt: skip
    root = tmp_path_factory.mktemp("tree")
    text = start + "\n".join(["---", *front, "---", "# Tidy", "", *body]) + "\n"
    for path, data in {
        "skills/tidy/SKILL.md": text.encode(encoding, "replace"),
        "skills/tidy/references/a.md": b"# A\n",
        "skills/other/skill.md": HEAD.encode(),
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    hold_to_diff(run, root, *options)


def test_what_the_baseline_knows_is_not_fixed(run: Run, write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD + "A bell\x07 here.\n"})
    assert counted(run("lint", cwd=root).stdout) == (1, 0)
    run("lint", "--write-baseline", "kept as it was", cwd=root)
    assert hold_to_diff(run, root) == (0, 0)


def test_what_an_exception_or_a_comment_leaves_out_is_not_fixed(run: Run, write: Write) -> None:
    root = write(
        {
            "skills/tidy/SKILL.md": HEAD + "<!-- skill-health: ignore FM008 -->\nA bell\x07 here.\n",
            "skills/other/SKILL.md": HEAD.replace("tidy", "other") + "A bell\x07 here.\n",
            "skill-health.toml": '[[per-path]]\nglob = "skills/other/**"\nignore = ["FM008"]\n',
        }
    )
    assert hold_to_diff(run, root) == (0, 0)


@pytest.mark.parametrize(
    ("safe", "unsafe", "switch", "text"),
    [
        (0, 0, False, ""),
        (1, 0, False, "1 with a ... --diff ... it, --fix ... it"),
        (2, 1, False, "2 with a ... --diff ... them, --fix ... them (1 more ... --unsafe-fixes)"),
        (0, 1, False, "1 with an ... --diff --unsafe-fixes ... it, --fix --unsafe-fixes ... it"),
        (1, 1, True, "2 with a ... --diff --unsafe-fixes ... them, --fix --unsafe-fixes ... them"),
    ],
)
def test_the_words(safe: int, unsafe: int, switch: bool, text: str) -> None:
    base = Finding("FM003", "unquoted-colon", "frontmatter", Severity.ERROR, "SKILL.md", 1, 1, 0, 0, "", fixable=True)
    found = count_fixes([base._replace(safe=True)] * safe + [base] * unsafe, switch)
    assert re.fullmatch(re.escape(text).replace(r"\.\.\.", ".*"), found)

"""Our errors and those of the reference validator skills-ref agree, but for the differences listed here."""

from __future__ import annotations

import string
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.config.settings import Config
from skill_health.rules._api import Severity
from skill_health.rules._load import all_rules
from skill_health.rules.frontmatter._shared import quote
from skill_health.skill.parse import parse_skill

CONTEXT = SimpleNamespace(config=Config(), exists=lambda path: False)

validator = pytest.importorskip("skills_ref.validator")

RULES = [rule for rule in all_rules() if rule.family == "frontmatter"]
# Stricter than the reference: a description that is a leftover of YAML or of a template.
LEFTOVERS = "FM015"

WORD = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12)
VALID = st.lists(WORD, min_size=1, max_size=4).map("-".join)
NAMES = (
    VALID
    | st.text(string.ascii_letters + string.digits + "-_ .", max_size=70)
    | st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp"), exclude_characters="\ufeff"), max_size=12)
    | st.integers(60, 70).map(lambda length: "a" * length)
    | st.sampled_from(
        ["ｔｉｄｙ", "räumer", "ra\u0308umer", "整理", "ⅳ", "ß", "İ", "ﬁx", "a\u00a0b", " tidy ", "-", "--", "a--b"]
    )
)
FOLDERS = VALID | st.sampled_from(["räumer", "ra\u0308umer", "整理", "tidy", "Tidy_Lists"])
DESCRIPTIONS = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=80),
    st.integers(1020, 1030).map(lambda length: "x" * length),
    st.sampled_from(["", " ", "\n", "Tidies lists. Use when needed."]),
)

REFUSED = ("FM013", "FM027")
"""What is a warning of ours and an error of theirs: hosts differ."""


def errors(data: bytes, path: str) -> set[str]:
    """The codes of our errors."""
    skill = parse_skill(data, path)
    return {
        rule.code
        for rule in RULES
        if rule.check
        for hit in rule.check(skill, CONTEXT)  # type: ignore[arg-type]
        if (hit.severity or rule.severity) is Severity.ERROR or rule.code in REFUSED
    }


@given(NAMES, FOLDERS, st.booleans())
def test_names(name: str, folder: str, same: bool) -> None:
    if same and name.strip() and "/" not in name:
        folder = name.strip()
    text = f"---\nname: {quote(name)}\ndescription: Tidies lists. Use when needed.\n---\n"
    theirs = validator.validate_metadata({"name": name, "description": "x"}, Path(folder))
    assert bool(errors(text.encode(), f"skills/{folder}/SKILL.md")) == bool(theirs), theirs


@given(DESCRIPTIONS)
def test_descriptions(description: str) -> None:
    text = f"---\nname: tidy\ndescription: {quote(description)}\n---\n"
    ours = errors(text.encode(), "skills/tidy/SKILL.md") - {LEFTOVERS}
    theirs = validator.validate_metadata({"name": "tidy", "description": description}, Path("tidy"))
    assert bool(ours) == bool(theirs), (ours, theirs)


@given(st.integers(0, 510).map(lambda length: "x" * length))
def test_compatibility(value: str) -> None:
    text = f"---\nname: tidy\ndescription: Tidies lists. Use when needed.\ncompatibility: {quote(value)}\n---\n"
    theirs = validator.validate_metadata({"name": "tidy", "description": "x", "compatibility": value}, Path("tidy"))
    assert bool(errors(text.encode(), "skills/tidy/SKILL.md")) == bool(theirs)


D = "description: Tidies lists. Use when needed."
# What stands between the fences, where both agree: id -> (lines, both report an error).
AGREED = {
    "minimal": (f"name: tidy\n{D}", False),
    "every field": (
        f"name: tidy\n{D}\nlicense: MIT\ncompatibility: any\nallowed-tools: Bash(git:*) Read\nmetadata:\n  a: b", False
    ),
    "folded": ("name: tidy\ndescription: >-\n  Tidies lists: long ones.\n  Use when needed.", False),
    "no name": (D, True),
    "no description": ("name: tidy", True),
    "empty description": ("name: tidy\ndescription:", True),
    "blank description": ('name: tidy\ndescription: "  "', True),
    "number as name": (f"name: 404\n{D}", True),
    "another name": (f"name: sort\n{D}", True),
    "capitals": (f"name: Tidy\n{D}", True),
    "empty block": ("", True),
    "a list": ("- name: tidy", True),
    "colon trap": ("name: tidy\ndescription: Tidies lists: long ones.", True),
    "unclosed quote": ('name: tidy\ndescription: "Tidies lists.', True),
    "duplicate key": (f"name: tidy\n{D}\n{D}", True),
    "tab indent": (f"name: tidy\n{D}\nmetadata:\n\ta: b", True),
    "compatibility is a list": (f"name: tidy\n{D}\ncompatibility:\n  - git", True),
    "misspelled required key": ("name: tidy\ndescripton: Tidies lists.", True),
}  # fmt: skip
# Where they differ: id -> (lines, we report an error, they do, why).
DIFFERENCES = {
    "unknown field": (f"name: tidy\n{D}\nversion: 1.0.0", False, True, "5,570 of 13,551 public skills: information"),
    "host extension": (f"name: tidy\n{D}\nmodel: inherit", False, True, "documented by the host that reads it"),
    "list of tools": (f"name: tidy\n{D}\nallowed-tools: [Read]", False, True, "strictyaml has no flow style"),
    "anchor": ("name: tidy\ndescription: &a Tidies lists. Use when needed.\n", False, True, "a warning of FM005"),
    "three hyphens in a value": (f'name: tidy\nlicense: "A---B"\n{D}', False, True, "it splits the file there"),
    "boolean as description": ("name: tidy\ndescription: yes", True, False, "strictyaml reads all as text"),
    "leftover": ("name: tidy\ndescription: TODO", True, False, "FM015"),
    "metadata is text": (f"name: tidy\n{D}\nmetadata: by Ada", True, False, "Codex rejects it"),
}


def both(tmp_path: Path, data: bytes, file_name: str = "SKILL.md") -> tuple[bool, bool]:
    folder = tmp_path / "tidy"
    folder.mkdir()
    (folder / file_name).write_bytes(data)
    return bool(errors(data, f"skills/tidy/{file_name}")), bool(validator.validate(folder))


@pytest.mark.parametrize(("lines", "wrong"), AGREED.values(), ids=AGREED)
def test_files_on_which_both_agree(tmp_path: Path, lines: str, wrong: bool) -> None:
    assert both(tmp_path, f"---\n{lines}\n---\n# Tidy\n".encode()) == (wrong, wrong)


@pytest.mark.parametrize(("lines", "ours", "theirs", "why"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_files_on_which_they_differ(tmp_path: Path, lines: str, ours: bool, theirs: bool, why: str) -> None:
    assert both(tmp_path, f"---\n{lines}\n---\n# Tidy\n".encode()) == (ours, theirs), why


def test_bytes(tmp_path: Path) -> None:
    good = f"---\nname: tidy\n{D}\n---\n# Tidy\n".encode()
    for i, (data, wrong) in enumerate({
        good: False, good.replace(b"\n", b"\r\n"): False, b"\xef\xbb\xbf" + good: True, b"\n" + good: True,
        b"# Tidy\n": True, good.replace(b"\n---\n#", b"\n#"): True, b"": True,
    }.items()):  # fmt: skip
        (tmp_path / str(i)).mkdir()
        assert both(tmp_path / str(i), data) == (wrong, wrong), data
    # The reference also reads skill.md, which no host does on a case-sensitive file system.
    (tmp_path / "lower").mkdir()
    assert both(tmp_path / "lower", good, "skill.md") == (True, False)

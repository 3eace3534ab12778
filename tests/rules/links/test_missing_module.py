"""Scripts are parsed only where they may lack a module: what reads like an import says so, however it is written."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.config.settings import Config
from skill_health.lint.check import FileContext
from skill_health.registries.records import Registries
from skill_health.rules.links import missing_module
from skill_health.skill.parse import parse_skill

MODULES = st.sampled_from(["", "own", "gone", "own.gone", "own.there", "os", "os.path", "json", "kit", "kit.gone"])
NAMES = st.sampled_from(
    ["there", "gone", "there, gone", "gone as g", "(there,\n    gone)", "(\n    gone,\n)", "*", "there  # gone"]
)
SPACE = st.sampled_from([" ", "  ", "\t", " \\\n  ", " \\\r\n"])


@st.composite
def statements(draw: st.DrawFn) -> str:
    space, module = draw(SPACE), draw(MODULES)
    if draw(st.booleans()):
        dots = draw(st.sampled_from(["", ".", "..", ". .", "..."]))
        gap = "" if dots and draw(st.booleans()) else space
        return f"from{gap}{dots}{module}{space}import{space}{draw(NAMES)}"
    return f"import{space}{module or 'os'}{draw(st.sampled_from(['', ' as x', ', kit.gone', ',gone', ';import kit.gone']))}"


@st.composite
def scripts(draw: st.DrawFn) -> str:
    lines = []
    for statement in draw(st.lists(statements(), max_size=4)):
        form = draw(
            st.sampled_from(
                ["{}", "if x: {}", "try:\n    {}\nexcept ImportError:\n    pass", "x = 1; {}", "# {}", "'''\n{}\n'''"]
            )
        )
        lines.append(form.format(statement))
    return "import sys\n" + "\n".join(lines) + "\n"


def found(text: str) -> Iterator[str]:
    files = (
        "scripts/run.py", "scripts/own/__init__.py", "scripts/own/there.py", "kit/__init__.py", "there.py",
        "scripts/there.py",
    )  # fmt: skip
    skill = parse_skill(b"---\nname: s\ndescription: d\n---\n", "s/SKILL.md", "s", files)

    class Context(FileContext):
        def read(self, path: str) -> str | None:
            return text if path == "s/scripts/run.py" else ""

    hits = missing_module.check(skill, Context(str(Path.cwd()), Config(), Registries()))
    return (hit.message for hit in hits)


@given(scripts())
def test_no_missing_module_is_passed_over(text: str) -> None:
    quick = list(found(text))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(missing_module, "_may_lack", lambda *_: True)
        assert quick == list(found(text))


def test_the_scripts_made_here_are_python_and_lack_modules() -> None:
    text = "from .own import there\nfrom . import (there,\n    gone)\nimport kit.gone\n"
    ast.parse(text)
    assert len(list(found(text))) == 2

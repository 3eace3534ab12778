"""TOML that is made to be slow or to overflow the stack is refused; all other TOML is read as ever."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from skill_health.text.strict_toml import parse_toml

DEEPER = "a number too long, or nested too deeply"
DEEP = {
    "a header": ("[" + "a." * 100_000 + "a]\nb = 1\n", "64 parts"),
    "an array of tables": ("x = 1\n [[ " + "a . " * 1_000 + "a ]]\n", "64 parts"),
    "a quoted header": ("[" + '"a.b".' * 1_000 + "a]\n", "64 parts"),
    "a literal header": ("[" + "'a'." * 1_000 + "a]\n", "64 parts"),
    "a key": ("a." * 100_000 + "a = 1\n", "64 parts"),
    "an array": ("a = " + "[" * 100_000, DEEPER),
    "tables within": ("a = " + "{a = " * 100_000, DEEPER),
    "a number": ("a = " + "9" * 100_000, DEEPER),
}
PLAIN = (
    "[" + "a." * 63 + "b]\nc = 1\n", 'a = ["' + 'a.b.c", "' * 1_000 + '"]\n',
    'a = """\n' + "a.b " * 1_000 + '\n"""\n', 'a = [\n' + '  "x.y",\n' * 500 + "]\n",
    "a = 1.5\n" + "".join(f"b{n} = {n}.{n}\n" for n in range(500)),
)  # fmt: skip


@pytest.mark.parametrize("name", DEEP)
def test_deep_toml_is_refused(name: str) -> None:
    text, said = DEEP[name]
    with pytest.raises(ValueError, match=said):
        parse_toml(text)


@pytest.mark.parametrize("text", PLAIN)
def test_other_toml_is_read_as_ever(text: str) -> None:
    assert parse_toml(text) == tomllib.loads(text)


def test_our_own_is_read(checkout: Path) -> None:
    text = (checkout / "pyproject.toml").read_text("utf-8")
    assert parse_toml(text) == tomllib.loads(text)


def test_a_mistake_has_its_place() -> None:
    with pytest.raises(ValueError, match=r"at line 2, column \d"):
        parse_toml("a = 1\nb\n")

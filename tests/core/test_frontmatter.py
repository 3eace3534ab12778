"""One handler of python-frontmatter for all our files: what it reads, where, and what it writes."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import frontmatter
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from skill_health.skill.decode import decode
from skill_health.skill.frontmatter import HANDLER, load, read, write
from skill_health.skill.parse import parse_skill

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(path for path in (ROOT / "fixtures").rglob("*.md") if path.is_file())
SOUND = [path for path in FILES if path.name == "SKILL.md" and "rotten" not in path.parts]
TEXTS = {
    "sound": "---\nname: a\n---\n# T\n\n---\n\nb: c\n",
    "windows": "---\r\nname: a\r\n---\r\n# T\r\n",
    "old macintosh": "---\rname: a\r---\r# T\r",
    "byte-order mark": "\ufeff---\nname: a\n---\n",
    "blanks behind the fences": "---\t \nname: a\n---  \n# T\n",
    "a fence that is indented": "  ---\nname: a\n---\n",
    "a closing fence that is indented": "---\nname: a\n ---\n# T\n",
    "four hyphens": "----\nname: a\n----\n",
    "never closed": "---\nname: a\n\n# T\n",
    "closed by dots": "---\nname: a\n...\n# T\n",
    "empty": "---\n---\n",
    "nothing but the fence": "---",
    "blank lines before it": "\n\n---\nname: a\n---\n",
    "text before it": "Hello\n---\nname: a\n---\n",
    "a list": "---\n- a\n---\n",
    "keys of the library": "---\ncontent: a\nhandler: b\nmetadata: c\n---\nx\n",
    "twice": "---\nname: a\nname: b\n---\n",
    "broken": '---\nname: "a\nb: [\n---\n# T\n',
    "a colon": "---\nname: a\ndescription: Use: this\n---\n",
    "tabs": "---\n\tname: a\n---\n",
    "control characters": "---\nname: a\x00b\n---\n\x1c",
}


def plain(value: Any) -> Any:
    """What the library's own handler reads, with dates as their text."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return value.isoformat() if isinstance(value, date) else value


@pytest.mark.parametrize("path", SOUND, ids=lambda path: path.parent.name)
def test_sound_files_are_read_as_the_library_reads_them(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    metadata, content = frontmatter.parse(text, handler=HANDLER)
    theirs, body = frontmatter.parse(text)
    assert (metadata, content) == (plain(theirs), body)


@pytest.mark.parametrize("text", [path.read_bytes() for path in FILES] + [text.encode() for text in TEXTS.values()])
def test_the_library_with_our_handler_is_our_reader(text: bytes) -> None:
    decoded = decode(text)[0]
    found = read(decoded)
    fields = found.matter.fields if found.matter else ()
    # The library strips the text first, so that an indented fence is one to it.
    if not decoded.lstrip().startswith("---") or decoded.lstrip("\n").startswith("---"):
        metadata, content = frontmatter.parse(decoded, handler=HANDLER)
        assert metadata == {field.key: field.value for field in fields}
        assert content == found.content.strip()
    assert "\n".join(decoded.split("\n")[found.first - 1 :]) == found.content


@pytest.mark.parametrize(
    ("name", "kinds", "first"),
    [
        ("sound", [], 4), ("windows", [], 4), ("old macintosh", [], 4), ("byte-order mark", [], 4),
        ("blanks behind the fences", [], 4), ("a fence that is indented", ["no-frontmatter"], 1),
        ("a closing fence that is indented", ["unclosed-frontmatter"], 4),
        ("four hyphens", ["no-frontmatter"], 1), ("never closed", ["unclosed-frontmatter"], 3),
        ("closed by dots", ["unclosed-frontmatter"], 4), ("empty", ["empty-frontmatter"], 3),
        ("nothing but the fence", ["unclosed-frontmatter", "empty-frontmatter"], 2),
        ("blank lines before it", ["leading-text"], 6), ("text before it", ["leading-text"], 5),
        ("a list", ["not-a-mapping"], 4), ("keys of the library", [], 6), ("twice", ["duplicate-key"], 5),
        ("a colon", ["colon-trap"], 5), ("tabs", ["tab-indent"], 4),
    ],
)  # fmt: skip
def test_odd_frontmatter(name: str, kinds: list[str], first: int) -> None:
    found = read(decode(TEXTS[name].encode())[0])
    assert ([defect.kind for defect in found.defects], found.first) == (kinds, first)


def test_fifty_blank_lines_hide_no_lack_of_frontmatter() -> None:
    skill = parse_skill(b"\n" * 60 + b"---\nname: a\n---\n", "a/SKILL.md")
    assert [defect.kind for defect in skill.defects] == ["no-frontmatter"]


@pytest.mark.parametrize("text", ["+++\nname = 'a'\n+++\n# T\n", '{\n"name": "a"\n}\n# T\n', ";;;\n{}\n;;;\n"])
def test_no_other_format_is_tried(text: str) -> None:
    assert frontmatter.parse(text, handler=HANDLER) == ({}, text.strip())
    assert not HANDLER.detect(text)


@pytest.mark.parametrize(
    "value",
    [
        "!!python/object/apply:os.system [exit 1]", "!!python/name:os.system", "!!int ''", "!!int '-'", "!!bool x",
        "!!float ''", ":".join(["1"] * 300) + ".5", ":".join(["1"] * 4_000), "0x" + "f" * 4_000, "9" * 5_000, "!x y",
    ],
    ids=lambda value: value[:20],
)  # fmt: skip
def test_a_value_is_never_more_than_data(value: str) -> None:
    text = f"---\nname: {value}\n---\n# T\n"
    metadata, _ = frontmatter.parse(text, handler=HANDLER)
    assert json.loads(json.dumps(metadata, allow_nan=False)) == metadata


def test_aliases_do_not_expand_without_end() -> None:
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12))
    assert frontmatter.parse(f"---\nl0: &l0 [x]\n{levels}\n---\n", handler=HANDLER)[0] == {}


NAMES = st.from_regex(r"[a-zA-Z][a-zA-Z_-]{0,8}", fullmatch=True)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(st.characters(codec="utf-8"), max_size=40),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.slow
@given(st.dictionaries(NAMES, VALUES, min_size=1, max_size=4), st.sampled_from(["# T", "a: b\n---\nc", "+++"]))
def test_what_is_written_is_read_again(metadata: dict[str, Any], content: str) -> None:
    found = read(write(metadata, content))
    assert found.matter is not None and found.matter.valid
    assert {field.key: field.value for field in found.matter.fields} == metadata
    assert found.content.strip() == content


def test_written_frontmatter_keeps_its_order_and_its_lines() -> None:
    said = "Sorts what nobody else does. " * 10
    assert write({"name": "a", "description": said.strip()}, "# T").split("\n") == [
        "---", "name: a", f"description: {said.strip()}", "---", "", "# T", "",
    ]  # fmt: skip


DEEP = {
    "lists": lambda n: "a:\n" + "- " * n + "\n", "brackets": lambda n: "a: " + "[" * n + "\n",
    "braces": lambda n: "a: " + "{a: " * n + "\n", "keys": lambda n: "? " * n + "\n",
    "blocks": lambda n: "".join(f"{' ' * level}a:\n" for level in range(min(n, 430))),
    "closed brackets": lambda n: "a: " + "[" * n + "]" * n + "\n",
}  # fmt: skip


@pytest.mark.parametrize("name", DEEP)
def test_deep_documents_are_refused_before_they_are_composed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What composes recurses, in C: it would end the process."""
    monkeypatch.setattr(yaml, "compose", lambda *_, **__: pytest.fail("composed"))
    fields, defects, _ = load(DEEP[name](40_000), 0)
    assert (fields, [defect.kind for defect in defects]) == ((), ["too-deep"])


@pytest.mark.parametrize("name", DEEP)
def test_only_so_much_of_a_deep_document_is_parsed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser is left as soon as it is too deep, whatever follows."""
    seen: list[object] = []
    real = yaml.parse
    monkeypatch.setattr(yaml, "parse", lambda *a, **b: (seen.append(each) or each for each in real(*a, **b)))
    load(DEEP[name](40_000), 0)
    assert 50 < len(seen) < 200


def test_wide_documents_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    fields, defects, error = load("a: [" + "[1], " * 2_000 + "]\nb: " + "x-" * 2_000 + "\n", 0)
    assert ([field.key for field in fields], defects, error) == (["a", "b"], [], None)
    assert len(fields[0].value) == 2_000

"""Bytes -> Skill: every defect with its place, and no input that raises, hangs or lies about positions."""

from __future__ import annotations

import json
from collections.abc import Callable

import frontmatter as oracle
import pytest
from growth import is_linear, lines_run
from hypothesis import given
from hypothesis import strategies as st

from skill_health.skill.model import Skill
from skill_health.skill.parse import DEFECTS, parse_skill, unreadable

PATH = "skills/a/SKILL.md"
HEAD = "---\nname: a\ndescription: Sorts. Use when sorting.\n---\n"


def parse(text: str | bytes) -> Skill:
    return parse_skill(text if isinstance(text, bytes) else text.encode(), PATH)


def kinds(skill: Skill) -> list[str]:
    return [defect.kind for defect in skill.defects]


DEFECTIVE = {
    "empty": (b"", ["empty-file"], 1),
    "blank": (b" \n\n", ["empty-file"], 1),
    "no frontmatter": ("# Title\n", ["no-frontmatter"], 1),
    "unclosed": ("---\nname: a\n\n# T\n", ["unclosed-frontmatter"], 1),
    "empty frontmatter": ("---\n---\n# T\n", ["empty-frontmatter"], 1),
    "comment only": ("---\n# just this\n---\n# T\n", ["empty-frontmatter"], 1),
    "list": ("---\n- a\n---\n", ["not-a-mapping"], 2),
    "scalar": ("---\nhello\n---\n", ["not-a-mapping"], 2),
    "blank lines first": ("\n" + HEAD, ["leading-text"], 1),
    "text first": ("Hello\n\n" + HEAD, ["leading-text"], 1),
    "colon": ("---\nname: a\ndescription: Use when: sorting\n---\n", ["colon-trap"], 3),
    "colon at the end": ("---\nname: a\ndescription: sorting\n  more text: and on\n---\n", ["colon-trap"], 3),
    "duplicate": ("---\nname: a\nname: b\n---\n", ["duplicate-key"], 3),
    "anchor": ("---\nname: &x a\ndescription: *x\n---\n", ["alias"], 2),
    "tab": ("---\nmetadata:\n\ta: b\n---\n", ["tab-indent"], 3),
    "open quote": ('---\nname: "a\ndescription: b\n---\n', ["yaml-error"], 2),
    "key is a number": ("---\n1: a\n---\n", ["non-string-key"], 2),
    "key is a list": ("---\n? [a]\n: b\n---\n", ["non-string-key"], 2),
    "bom": (b"\xef\xbb\xbf" + HEAD.encode(), ["bom"], 1),
    "utf-16-le": ("\ufeff" + HEAD).encode("utf-16-le"),
    "utf-16 without a mark": HEAD.encode("utf-16-le"),
    "invalid utf-8": (HEAD.encode() + b"caf\xe9\n", ["invalid-utf8"], 5),
    "nul": (HEAD + "a\0b\n", ["nul"], 5),
    "control": (HEAD + "a\x1b[31mb\n", ["control-character"], 5),
    "mixed": (HEAD + "a\r\nb\n", ["mixed-newlines"], 5),
    "lone cr": (HEAD.encode() + b"a\rb\n", ["mixed-newlines"], 5),
    "long line": (HEAD + "x" * 30_000 + "\n", ["long-line"], 5),
    "large": (HEAD + "# T\n" + "word\n" * 300_000, ["oversized"], 1),
    "deep flow": ("---\na: " + "[" * 3000 + "\n---\n", ["too-deep"], 1),
}


@pytest.mark.parametrize("name", DEFECTIVE)
def test_defects_have_a_kind_and_a_place(name: str) -> None:
    case = DEFECTIVE[name]
    data, expected, line = case if isinstance(case, tuple) else (case, ["utf-16"], 1)
    skill = parse(data)
    assert kinds(skill) == expected
    assert skill.defects[0].span.line == line
    assert set(expected) <= set(DEFECTS)


def test_a_sound_skill_has_no_defect() -> None:
    skill = parse(HEAD + "# T\n")
    assert skill.defects == ()
    assert skill.frontmatter is not None and skill.frontmatter.valid
    assert (skill.name, skill.description) == ("a", "Sorts. Use when sorting.")


def test_windows_line_endings_are_no_defect_and_move_no_position() -> None:
    text = HEAD + "# T\n\nSee [x](y.md) and `z`.\n"
    unix, windows = parse(text), parse(text.replace("\n", "\r\n"))
    assert windows.defects == () and windows.newline == "\r\n"
    for part in ("links", "codes", "headings"):
        assert getattr(unix.body, part) == getattr(windows.body, part) != ()


def test_the_unquoted_colon_still_gives_every_field() -> None:
    skill = parse("---\nname: a\ndescription: Use this: when\n  it rains: or not\nlicense: MIT\n---\n# T\n")
    assert skill.frontmatter is not None and not skill.frontmatter.valid
    assert skill.description == "Use this: when it rains: or not"
    assert skill.text_of("license") == "MIT"
    field = skill.field("license")
    assert field is not None and (field.span.line, field.span.col) == (5, 10)
    description = skill.field("description")
    assert description is not None and (description.span.line, description.span.end_line) == (3, 4)


def test_dates_and_numbers_stay_json_safe() -> None:
    skill = parse(
        "---\nname: a\nmetadata:\n  day: 2026-01-31\n  n: 1.0\n  bad: 2026-13-45\n  x: .nan\n  y: 0x1F\n---\n"
    )
    field = skill.field("metadata")
    assert field is not None
    assert json.loads(json.dumps(field.value)) == {
        "day": "2026-01-31", "n": 1.0, "bad": "2026-13-45", "x": ".nan", "y": 31,
    }  # fmt: skip
    assert [entry.tag for entry in field.fields][:2] == ["date", "float"]


def test_an_alias_bomb_is_bounded() -> None:
    levels = "\n".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]" for n in range(1, 12))
    skill = parse(f"---\nl0: &l0 [x]\n{levels}\n---\n")
    assert "alias-bomb" in kinds(skill)


def test_positions_of_everything() -> None:
    body = """# One `two` [three](four.md)

A `code` and [link](a.md#b "t")
and ![image](i.png), <https://x.y>
<!-- a comment --> <a id="here"></a>

- item [in list](l.md)
  > quote `q`

| h | i |
|---|---|
| `c` | [d](e.md) |

```python
x = 1
```

~~~
open
"""
    skill = parse(HEAD + body)
    doc = skill.body

    def at(line: int, col: int, text: str) -> bool:
        return skill.lines[line - 1][col - 1 :].startswith(text)

    assert all(at(code.line, code.col, code.text) for code in doc.codes) and len(doc.codes) == 4
    assert [link.target for link in doc.links] == ["four.md", "a.md#b", "i.png", "https://x.y", "l.md", "e.md"]
    assert all(at(link.line, link.col, {"image": "!", "autolink": "<"}.get(link.kind, "[")) for link in doc.links)
    assert [(b.info, b.line, b.end_line, b.closed) for b in doc.blocks] == [
        ("python", 18, 20, True),
        ("", 22, 23, False),
    ]
    assert [(c.text, c.line, c.col) for c in doc.comments] == [(" a comment ", 9, 1)]
    assert doc.anchors == ("here",)
    assert [(t.line, t.end_line, t.rows) for t in doc.tables] == [(14, 16, 1)]
    assert [(h.slug, h.line, h.col) for h in doc.headings] == [("one-two-three", 5, 1)]
    assert [(i.line, i.depth, i.ordered) for i in doc.items] == [(11, 1, False)]


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Two Words", "two-words"), ("`code()` here", "code-here"), ("A & B", "a--b"), ("Ünïcode", "ünïcode"),
        ("[link](x.md)", "link"), ("_em_ **b**", "em-b"), ("snake_case", "snake_case"), ("1.2 Dots", "12-dots"),
        ("`__init__`", "__init__"),
    ],
)  # fmt: skip
def test_slugs_are_those_of_the_forge(title: str, slug: str) -> None:
    assert parse(HEAD + f"# {title}\n").body.headings[0].slug == slug


def test_repeated_slugs_are_numbered() -> None:
    assert [h.slug for h in parse(HEAD + "# A\n## A\n## A\n").body.headings] == ["a", "a-1", "a-2"]


def test_sections_nest() -> None:
    doc = parse(HEAD + "# A\n## B\ntext\n## C\n# D\n").body
    assert [(s.heading.title, s.line, s.end_line) for s in doc.sections] == [
        ("A", 5, 8), ("B", 6, 7), ("C", 8, 8), ("D", 9, 9),
    ]  # fmt: skip
    section = doc.section_at(7)
    assert section is not None and section.heading.title == "B"


# What is made to be slow, of any length, and the length at which square time would take hours.
HOSTILE: dict[str, tuple[int, Callable[[int], str]]] = {
    "brackets": (200_000, lambda n: "[" * n),
    "nested links": (50_000, lambda n: "[a](" * n),
    "backticks": (600, lambda n: " ".join("`" * length for length in range(1, n))),
    "quotes": (100_000, lambda n: "> " * n),
    "lists": (2_000, lambda n: "".join("  " * level + "- x\n" for level in range(n))),
    "stars": (100_000, lambda n: "*a " * n),
    "comments": (100_000, lambda n: "<!-- " * n),
    "tags": (100_000, lambda n: "<a " * n),
    "tables": (50_000, lambda n: "|" * n + "\n" + "|-" * n + "\n" + "|" * n),
    "references": (20_000, lambda n: "".join(f"[r{number}]: x\n" for number in range(n))),
    "many lines": (60_000, lambda n: "`a` [b](c) <d>\n" * n),
    "headings": (50_000, lambda n: "# a\n" * n),
    "entities": (100_000, lambda n: "&amp;" * n), "images": (100_000, lambda n: "![" * n),
    "numbers": (100_000, lambda n: "1. " * n), "one line": (1_000_000, lambda n: "x" * n),
}  # fmt: skip


# The length of nested lists is itself a square.
@pytest.mark.parametrize("name", sorted({*HOSTILE} - {"lists"}))
def test_hostile_markdown_takes_time_in_proportion_to_its_length(name: str) -> None:
    make = HOSTILE[name][1]
    assert is_linear(lambda n: lines_run(lambda: parse(HEAD + make(n))))


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_reading_hostile_markdown_comes_to_an_end(name: str) -> None:
    length, make = HOSTILE[name]
    parse(HEAD + make(length))


@given(st.binary(max_size=400))
def test_any_bytes_make_a_skill(data: bytes) -> None:
    check_sane(parse(data))


PIECES = st.sampled_from(
    ["---\n", "name: ", "a", ": ", "'", '"', "[", "]", "{", "}", "|\n", ">\n", "  ", "\t", "- ", "&a ", "*a", "!x ",
     "# ", "## ", "`", "```", "~~~\n", "\n", "[x](y)", "<!--", "-->", "<a>", "|", "|-|\n", "> ", "1. ", "\u202e", "é", "\r\n"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40).map("".join))
def test_any_mix_of_yaml_and_markdown_makes_a_skill(text: str) -> None:
    check_sane(parse(text))


def check_sane(skill: Skill) -> None:
    count = max(1, len(skill.lines))
    assert set(kinds(skill)) <= set(DEFECTS)
    assert all(1 <= d.span.line <= count + 1 and d.span.col >= 0 and d.message for d in skill.defects)
    for things in (skill.body.links, skill.body.codes, skill.body.headings, skill.body.comments, skill.body.items):
        assert all(1 <= thing.line <= count for thing in things)
    if skill.frontmatter:
        json.dumps([field.value for field in skill.frontmatter.fields], allow_nan=False)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.from_regex(r"[a-z ,.']{0,20}", fullmatch=True)))
def test_sound_frontmatter_is_read_as_the_common_library_reads_it(values: dict[str, str]) -> None:
    text = oracle.dumps(oracle.Post("# T\n", **values)) + "\n"
    read = oracle.loads(text).metadata
    skill = parse(text)
    fields = skill.frontmatter.fields if skill.frontmatter else ()
    assert {f.key: f.value for f in fields} == read


def test_unreadable_files_say_why() -> None:
    assert kinds(unreadable(PATH, "loop")) == ["loop"]

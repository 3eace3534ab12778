"""What the server is made of: positions, addresses, and one check for many keys."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.rules._api import Finding
from skill_health.server.addresses import path_of, uri_of
from skill_health.server.columns import TextColumns
from skill_health.server.protocol import EditorDocument, SkillServer
from skill_health.server.session import EditorSession, is_saved_text

Write = Callable[[Mapping[str, str]], Path]
HEAD = "---\nname: tidy\ndescription: Tidies lists. Use when a list is out of order.\n---\n# Tidy\n\n"
WIDTHS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}
TEXTS = st.text(st.sampled_from("ab é\t\x85\u2028\x0c日🎉\ud800\r\n"), max_size=30)


@given(TEXTS, st.sampled_from(sorted(WIDTHS)), st.integers(1, 8), st.integers(1, 12))
def test_a_position_comes_back(text: str, encoding: str, line: int, col: int) -> None:
    columns = TextColumns(text, encoding)
    place = columns.to_editor(line, col)
    source = columns.lines[place.line]
    codec, width = WIDTHS[encoding]
    units = source.encode(codec, "surrogatepass")
    assert 0 <= place.character * width <= len(units)
    units[: place.character * width].decode(codec, "surrogatepass")
    if line <= len(columns.lines):
        assert columns.from_editor(*place) == (line, min(col, len(columns.lines[line - 1]) + 1))


@given(TEXTS, st.sampled_from(sorted(WIDTHS)), st.integers(0, 40), st.integers(0, 99))
def test_any_position_of_an_editor_is_one_of_ours(text: str, encoding: str, line: int, character: int) -> None:
    columns = TextColumns(text, encoding)
    at, col = columns.from_editor(line, character)
    assert 1 <= at <= len(columns.lines) and 1 <= col <= len(columns.lines[at - 1]) + 1


def test_a_mark_that_the_editor_shows_is_no_column() -> None:
    columns = TextColumns("\ufeffab\ncd")
    assert columns.to_editor(1, 1) == (0, 1) and columns.to_editor(2, 1) == (1, 0)
    assert columns.from_editor(0, 1) == (1, 1) and columns.from_editor(0, 0) == (1, 1)


@given(st.lists(st.binary(min_size=1, max_size=8), min_size=1, max_size=3))
def test_a_path_comes_back(parts: list[bytes]) -> None:
    names = [part.replace(b"\0", b"x").replace(b"/", b"y") for part in parts]
    path = os.fsdecode(b"/nowhere/" + b"/".join(name for name in names if name not in (b".", b"..")))
    if not path.endswith("/"):
        assert path_of(uri_of(path)) == path


class CountedSession(EditorSession):
    """A session that finds nothing and remembers what it was asked, once it is allowed to answer."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def check(self, texts: Mapping[str, str]) -> dict[str, tuple[Finding, ...]]:
        self.seen += texts.values()
        return {}


def test_many_keys_are_few_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        gate = asyncio.Event()
        server = SkillServer(gate.wait)
        monkeypatch.setattr(SkillServer, "_pulls", True)
        monkeypatch.setattr(SkillServer, "_wants_refresh", False)
        server.session = session = CountedSession()
        for key in range(100):
            server.documents["u"] = EditorDocument("u", "/p", f"text {key}", key)
            server.touch()
        await asyncio.sleep(0)
        assert session.seen == []
        gate.set()
        assert server._task is not None
        await server._task
        assert session.seen == ["text 99"]
        await server.check_now()
        assert session.seen == ["text 99"]
        server.stop()

    asyncio.run(scenario())


def test_what_fails_is_said_and_the_next_check_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        server = SkillServer(lambda: asyncio.sleep(0))
        said: list[str] = []
        monkeypatch.setattr(server, "report_server_error", lambda error, source: said.append(str(error)))
        monkeypatch.setattr(server.session, "check", lambda texts: 1 // 0)
        server.asked += 1
        await server.check_now()
        assert said == ["integer division or modulo by zero"] and server.done == server.asked
        server.stop()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("data", "text", "saved"),
    [
        (b"a\n", "a\n", True), (b"\xef\xbb\xbfa\n", "a\n", True), (b"a\r\nb\n", "a\nb\n", True),
        ("é".encode("cp1252"), "\ufffd", True), ("é".encode("utf-16"), "é", True), (b"a\n", "a", False),
        (b"", " ", False),
    ],
)  # fmt: skip
def test_what_an_editor_hides_of_a_file_is_not_a_change(data: bytes, text: str, saved: bool, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(data)
    assert is_saved_text(str(tmp_path / "a"), text) is saved
    assert not is_saved_text(str(tmp_path / "none"), text)


@pytest.mark.slow
def test_a_copy_has_the_findings_of_what_stands_for_it(write: Write) -> None:
    text = HEAD + "[gone](gone.md)\n"
    root = write(
        {f"{place}/tidy/{name}": body for place in "ab" for name, body in (("SKILL.md", text), ("x.md", "[n](n.md)\n"))}
    )
    (root / ".git").mkdir()
    (root / "c").symlink_to("a")
    paths = [str(root / place / "tidy" / name) for place in "ab" for name in ("SKILL.md", "x.md")]
    session = EditorSession()
    found = session.check({path: Path(path).read_text() for path in paths})
    codes = {
        path[len(str(root)) :]: sorted({f.code for f in findings} & {"LI001", "LI005", "RT001"})
        for path, findings in found.items()
    }
    assert codes == {
        "/a/tidy/SKILL.md": ["LI001"], "/a/tidy/x.md": ["LI005"], "/b/tidy/SKILL.md": ["LI001"],
        "/b/tidy/x.md": ["LI005"],
    }  # fmt: skip
    changed = session.check({paths[2]: text.replace("gone", "lost")})
    assert {"LI001", "RT001"} <= {finding.code for finding in changed[paths[2]]}


@pytest.mark.slow
def test_what_is_no_part_of_a_skill_costs_no_check(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    text = HEAD + "[gone](gone.md)\n"
    root = write({"skills/tidy/SKILL.md": text, "README.md": "# R\n", "skill-health.toml": 'exclude = ["/skills/"]\n'})
    monkeypatch.setattr("skill_health.server.session.run", None)
    paths = [str(root / name) for name in ("README.md", "skill-health.toml", "skills/tidy/SKILL.md")]
    session = EditorSession()
    assert session.check({path: Path(path).read_text() + "\n" for path in paths}) == dict.fromkeys(paths, ())
    assert session.problems == ()


def test_a_registry_has_its_findings(write: Write) -> None:
    text = HEAD + "Sort it.\n"
    root = write(
        {"skills/tidy/SKILL.md": text, "registries/claims.jsonl": '{"claim_id": "claim-a"\n', "skill-health.toml": ""}
    )
    path = str(root / "registries/claims.jsonl")
    assert {finding.code for finding in EditorSession().check({path: '{"claim_id": "claim-a"\n'})[path]} == {"FX001"}

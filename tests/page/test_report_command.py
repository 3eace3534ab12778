"""`skill-health report`: what it writes, what it says, and what it leaves alone."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from datetime import date
from html import escape, unescape
from pathlib import Path

import page_made
import pytest
from markdown_it import MarkdownIt
from page_parsed import Parsed

from skill_health.cli import main
from skill_health.core.validation import problems
from skill_health.documents._record import record_values
from skill_health.page import html
from skill_health.page.request import PageOptions
from skill_health.page.serving.site import site

DAY = ["--as-of", "2026-11-20", "--no-cache"]
Run = Callable[..., "subprocess.CompletedProcess[str]"]
Said = pytest.CaptureFixture[str]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A collection of which nothing was measured, as the current folder."""
    found = Path(shutil.copytree(page_made.bare().folder.removesuffix("/reports"), tmp_path / "c"))
    monkeypatch.chdir(found)
    return found


@pytest.fixture
def plain_html(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page without its pictures, which take the time."""
    text = '<script type="application/json" id="skill-health-state">{}</script>'
    monkeypatch.setattr(html, "render", lambda page: text.format(html.embedded(record_values(page.own.state))))


@pytest.mark.slow
def test_a_page_is_written_and_rebuilt_to_the_byte(root: Path, capsys: Said) -> None:
    assert main(["report", *DAY]) == 0
    said = capsys.readouterr()
    assert said.out == (
        "written: reports/index.html (lint: fail, routing: not measured, effect: not measured, composition: not measured)\n"
    )
    assert said.err == ""
    first = (root / "reports/index.html").read_bytes()
    assert Parsed(first.decode()).elements[0].tag == "html"
    assert first.count(b'id="skill-health-state"') == 1
    assert str(root).encode() not in first
    assert main(["report", *DAY]) == 0
    assert (root / "reports/index.html").read_bytes() == first
    assert sorted(os.listdir(root / "reports")) == ["index.html", "index.state.json"]


@pytest.mark.slow
def test_a_process_that_orders_its_sets_in_another_way_writes_the_same_page(root: Path, run: Run) -> None:
    for seed in ("7", "8"):
        place = f"{seed}.html"
        done = run("report", "--output", place, *DAY, cwd=root, env={"PYTHONHASHSEED": seed}, timeout=600)
        assert done.returncode == 0, done.stderr
    assert (root / "7.html").read_bytes() == (root / "8.html").read_bytes()


@pytest.mark.slow
@pytest.mark.usefixtures("plain_html")
def test_the_next_page_knows_what_has_changed(root: Path, capsys: Said) -> None:
    assert main(["report", *DAY]) == 0
    (root / "skills/zz-nasty/SKILL.md").unlink()
    capsys.readouterr()
    for _ in range(2):
        assert main(["report", "--format", "json", *DAY]) == 0
        told = json.loads(capsys.readouterr().out)
        assert problems("page", told) == []
        assert [each["path"] for each in told["changes"]["removed"]] == ["skills/zz-nasty/SKILL.md"]
        assert main(["report", *DAY]) == 0
        capsys.readouterr()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["json", "md"])
def test_other_forms_are_printed_or_written(form: str, root: Path, capsys: Said) -> None:
    assert main(["report", "--format", form, *DAY]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert main(["report", "--format", form, "--output", "new/out.txt", *DAY]) == 0
    assert (root / "new/out.txt").read_text() == said.out
    again = capsys.readouterr()
    assert (again.out, again.err) == ("", "written: new/out.txt\n")
    (root / "skills/zz-nasty/SKILL.md").unlink()
    assert main(["report", "--format", form, "--output", "new/out.txt", *DAY]) == 0
    assert (root / "new/out.txt").read_text() != said.out
    assert not (root / "reports").exists()


@pytest.mark.usefixtures("plain_html")
@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (["--output", "site/page.html"], "site/page.html"),
        (["--reports", "elsewhere"], "elsewhere/index.html"),
        (["skills"], "reports/index.html"),
    ],
)
def test_where_the_page_goes(arguments: list[str], place: str, root: Path, capsys: Said) -> None:
    assert main(["report", *arguments, *DAY]) == 0
    assert (root / place).is_file()
    assert capsys.readouterr().out.startswith(f"written: {place} (")


@pytest.mark.slow
@pytest.mark.usefixtures("plain_html")
@pytest.mark.parametrize("form", ["html", "json", "md"])
def test_what_is_not_ours_is_left_alone(form: str, root: Path, capsys: Said) -> None:
    hostile = "\x1b[31m\u202e.html"
    (root / "page.html").write_text("<html>mine</html>")
    (root / hostile).write_text("mine")
    os.mkfifo(root / "pipe")
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    for output in ("skills", "new/", "page.html", "pipe", "skill-health.toml/page.html", hostile):
        assert main(["report", "--format", form, "--output", output, *DAY]) == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert re.fullmatch(r"skill-health: error: [^\n]+\n", said.err)
        assert "\x1b" not in said.err
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before


@pytest.mark.usefixtures("plain_html")
@pytest.mark.parametrize("text", ["", "\n", '<html><script id="skill-health-state">{damaged</html>'])
def test_an_empty_file_or_a_damaged_page_is_replaced(text: str, root: Path) -> None:
    (root / "reports").mkdir()
    (root / "reports/index.html").write_text(text)
    assert main(["report", *DAY]) == 0
    assert (root / "reports/index.html").read_text() != text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Fruit & <b>veg</b>", "Fruit & <b>veg</b>"), ("  two\n lines ", "two lines"), ("", "Skill health"),
        (" ", "Skill health"), ("\x1b[31m\u202e\udcff", "\\x1b[31m\\u{202e}\\udcff"),
    ],
)  # fmt: skip
def test_the_title(title: str, shown: str, root: Path) -> None:
    for form, output in (("html", "page.html"), ("md", "page.md"), ("json", "page.json")):
        assert main(["report", "--format", form, "--output", output, "--title", title, *DAY]) == 0
    page = (root / "page.html").read_text()
    assert f"<h1>{escape(shown, quote=False)}</h1>" in page
    assert f"<title>{escape(shown, quote=False)} · skill-health</title>" in page
    first = MarkdownIt().parse((root / "page.md").read_text())[1].content
    assert unescape(re.sub(r"\\([^\w\s])", r"\1", first)) == shown
    assert json.loads((root / "page.json").read_text())["title"].strip()


@pytest.mark.slow
def test_what_is_served_takes_no_change_from_the_page_in_the_folder(root: Path, capsys: Said) -> None:
    assert main(["report", *DAY]) == 0
    (root / "skills/zz-nasty/SKILL.md").unlink()
    before = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    options = PageOptions(True, 1, date(2026, 11, 20), None, None, None, "Served")
    served, _ = site((".",), options, lambda: date(2026, 11, 20))
    for _ in range(2):
        status, page = served.page()
        assert status == 200 and "<h1>Served</h1>" in page and "No longer on the page:" in page
        served.refresh()
    assert {path: path.read_bytes() for path in root.rglob("*") if path.is_file()} == before
    capsys.readouterr()
    assert main(["report", "--format", "json", *DAY]) == 0
    assert len(json.loads(capsys.readouterr().out)["changes"]["removed"]) == 1


@pytest.mark.slow
@pytest.mark.usefixtures("plain_html")
def test_each_page_is_compared_with_the_one_that_it_replaces(root: Path, capsys: Said) -> None:
    here, there = ["report", *DAY], ["report", "--output", "site/page.html", *DAY]
    assert main(here) == main(there) == 0
    (root / "skills/skill-0").rename(root / "skills/moved")
    assert main(here) == 0
    first = (root / "reports/index.html").read_bytes()
    assert b'"skills/skill-0/SKILL.md"' in (root / "site/page.html").read_bytes()
    assert main(there) == 0
    assert main(here) == main(there) == 0
    assert (root / "reports/index.html").read_bytes() == first == (root / "site/page.html").read_bytes()
    capsys.readouterr()
    assert main(["report", "--format", "md", *DAY]) == 0
    told = capsys.readouterr().out
    assert "skill-0: new on the page" in told and "skill-0: no longer on the page" in told


@pytest.mark.parametrize("missing", ["jinja2", "vl_convert"])
def test_without_the_extra_one_line_says_how_to_get_it(
    missing: str, root: Path, monkeypatch: pytest.MonkeyPatch, capsys: Said
) -> None:
    import sys

    html.page_environment.cache_clear()
    monkeypatch.setitem(sys.modules, missing, None)
    try:
        assert main(["report", *DAY]) == 2
        said = capsys.readouterr()
        assert re.fullmatch(r"skill-health: error: [^\n]*pip install [^\n]*\[report\][^\n]*\n", said.err)
        assert not (root / "reports").exists()
        assert main(["report", "--format", "md", *DAY]) == main(["report", "--format", "json", *DAY]) == 0
    finally:
        html.page_environment.cache_clear()


@pytest.mark.parametrize(
    "arguments", [["missing"], ["--format", "pdf"], ["--as-of", "tomorrow"], ["--config", "missing.toml"]]
)
def test_mistakes_are_the_users(arguments: list[str], root: Path, capsys: Said) -> None:
    assert main(["report", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") >= 1


@pytest.mark.slow
@pytest.mark.usefixtures("plain_html")
def test_a_page_that_is_not_kept_leaves_its_state_for_the_next_one(root: Path, capsys: Said) -> None:
    page, state = root / "reports/index.html", root / "reports/index.state.json"
    assert main(["report", *DAY]) == 0
    first = state.read_bytes()
    assert main(["report", *DAY]) == 0 and state.read_bytes() == first
    page.unlink()
    skill = next(root.glob("skills/*/SKILL.md"))
    shutil.rmtree(skill.parent)
    assert main(["report", *DAY]) == 0 and state.read_bytes() != first
    page.unlink()
    capsys.readouterr()
    assert main(["report", "--format", "json", *DAY]) == 0
    told = json.loads(capsys.readouterr().out)["changes"]
    assert [each["path"] for each in told["removed"]] == [skill.relative_to(root).as_posix()]
    assert problems("page", json.loads(state.read_bytes())) != [], "it is the state alone, not the whole document"


@pytest.mark.parametrize("content", ["{}", "[1]", "not ours", '{"schema": "skill-health/page-state/2", "skills": {}}'])
@pytest.mark.usefixtures("plain_html")
def test_what_stands_in_the_place_of_the_state_stays(root: Path, content: str, capsys: Said) -> None:
    state = root / "reports/index.state.json"
    state.parent.mkdir(exist_ok=True)
    state.write_text(content)
    assert main(["report", *DAY]) == 2
    assert "index.state.json was not made by this command" in capsys.readouterr().err
    assert state.read_text() == content and not (root / "reports/index.html").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("plain_html")
def test_a_damaged_state_costs_a_note(root: Path, capsys: Said) -> None:
    assert main(["report", *DAY]) == 0
    state = root / "reports/index.state.json"
    state.write_text(state.read_text()[:-40])
    (root / "reports/index.html").unlink()
    capsys.readouterr()
    assert main(["report", "--format", "md", *DAY]) == 0
    assert "damaged" in capsys.readouterr().out
    assert main(["report", *DAY]) == 0 and json.loads(state.read_text())["skills"]

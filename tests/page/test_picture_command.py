"""`skill-health picture`: one picture of the page as a file."""

from __future__ import annotations

import re
import struct
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from page_made import page

from skill_health.cli import main
from skill_health.core.extras import installation
from skill_health.page import request
from skill_health.page.drawing import theme
from skill_health.page.pictures._load import collection_pictures, skill_pictures

pytestmark = pytest.mark.filterwarnings("error")


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The commands see a page with everything in it, which is made once, and work in a folder of their own."""
    monkeypatch.setattr(request, "page_of", lambda *_, **__: page())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "SKILL.md").write_text("---\nname: x\ndescription: y\n---\n")


def size(data: bytes) -> tuple[int, int]:
    assert data[:8] == b"\x89PNG\r\n\x1a\n" and data[12:16] == b"IHDR"
    width, height = struct.unpack(">II", data[16:24])
    return width, height


def first() -> str:
    return collection_pictures(page())[0].name


@pytest.mark.slow
def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["picture"], ["picture", "--list"], ["picture", "--list", "."]):
        assert main(arguments) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines] == [each.name for each in collection_pictures(page())] != []
        assert all(re.fullmatch(r"[a-z0-9-]+ {2,}\S.*", line) and line.isprintable() for line in lines)


def test_the_list_of_a_skill(capsys: pytest.CaptureFixture[str]) -> None:
    skill = page().status.skills[0]
    assert main(["picture", "--list", "--skill", skill.name]) == 0
    told = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert told == [each.name for each in skill_pictures(page(), skill.path)] != []


@pytest.mark.slow
def test_png_and_svg(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["picture", first(), "--scale", "1"]) == 0
    assert capsys.readouterr().out == f"written: {first()}.png\n"
    one = (tmp_path / f"{first()}.png").read_bytes()
    assert main(["picture", first(), "--scale", "2", "--output", "two.PNG"]) == 0
    two = (tmp_path / "two.PNG").read_bytes()
    assert all(abs(2 * small - big) <= 2 for small, big in zip(size(one), size(two), strict=True))
    assert main(["picture", first(), "--output", "light.svg"]) == 0
    assert main(["picture", first(), "--output", "dark.svg", "--dark"]) == 0
    light, dark = ((tmp_path / f"{name}.svg").read_text("utf-8") for name in ("light", "dark"))
    assert ElementTree.fromstring(light).tag == ElementTree.fromstring(dark).tag == "{http://www.w3.org/2000/svg}svg"
    assert f'fill="{theme.GROUND}"' in light and f'fill="{theme.DARK[theme.GROUND]}"' in dark
    assert main(["picture", first(), "--output", "again.svg"]) == 0
    assert (tmp_path / "again.svg").read_text("utf-8") == light


@pytest.mark.slow
def test_mistakes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "skills").mkdir()
    for arguments, said in (
        ([first() + "x"], f"did you mean {first()}?"),
        (["skills"], "skill-health picture --list PATH"),
        (["\x1b[31m"], "picture --list"),
        ([first(), "--output", "x.jpg"], "its name must end with .png or .svg"),
        ([first(), "--skill", "nobody-has-this-name"], "there is no skill nobody-has-this-name"),
        ([first(), "--scale", "900"], "900"),
    ):
        assert main(["picture", *arguments]) == 2
        shown = capsys.readouterr().err
        assert said in shown and "\x1b" not in shown and shown.count("\n") == 1
    assert sorted(each.name for each in tmp_path.iterdir()) == ["SKILL.md", "skills"]


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from skill_health.page.drawing import draw

    monkeypatch.setattr(draw, "_kept", {})
    draw._library.cache_clear()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    assert main(["picture", first()]) == 2
    assert installation("report") in capsys.readouterr().err

"""Pictures as SVG and PNG: safe to stand in a page, the same everywhere, and the same to look at as the library's."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from picture_pixels import pixels
from pictures_made import HOSTILE, made

from skill_health.page.drawing import draw as drawing
from skill_health.page.drawing import theme
from skill_health.page.drawing.draw import compile_all, draw, draw_all, png, svg_file
from skill_health.page.model import NumberTable, Picture
from skill_health.page.pictures._load import collection_pictures, skill_pictures

ALLOWED = set("svg title desc g path line rect text tspan".split())


def picture(spec: dict[str, Any], name: str = "one", title: str = "Title", alt: str = "Alt") -> Picture:
    return Picture(name, title, alt, spec, NumberTable((), ()))


def bars(names: list[str]) -> dict[str, Any]:
    return {
        "width": 200,
        "data": {"values": [{"n": name, "v": at + 0.123456789} for at, name in enumerate(names)]},
        "layer": [
            {"mark": "bar", "encoding": {"y": {"field": "n", "type": "nominal"}, "x": {"field": "v", "type": "quantitative"}}},
            {"mark": "point", "encoding": {"y": {"field": "n"}, "x": {"field": "v", "type": "quantitative"}}},
        ],
    }  # fmt: skip


def every() -> list[Picture]:
    page = made()
    found = list(collection_pictures(page))
    for skill in page.status.skills[:3]:
        found += skill_pictures(page, skill.path)
    return found


def ids(svg: str) -> list[str]:
    return [each.attrib["id"] for each in ElementTree.fromstring(svg).iter() if "id" in each.attrib]


@pytest.mark.slow
def test_every_picture_is_inert_and_has_a_name() -> None:
    drawn = draw_all(every())
    assert len(drawn) > 15
    for name, svg in drawn.items():
        root = ElementTree.fromstring(svg)
        assert {each.tag for each in root.iter()} <= ALLOWED, name
        for each in root.iter():
            assert not [key for key in each.attrib if key == "style" or key.startswith("on") or "href" in key], name
            assert not any("url(" in value and "url(#" not in value for value in each.attrib.values()), name
        assert root.get("role") == "img" and root.get("viewBox") and root.get("height") is None
        named = root.get("aria-labelledby", "").split()
        assert [each.tag for each in root][:2] == ["title", "desc"] and named == [root[0].get("id"), root[1].get("id")]
        assert "://" not in re.sub(r"<(title|desc|text)\b.*?</\1>", "", svg), name


@pytest.mark.slow
def test_ids_are_the_picture_s_own() -> None:
    names = ("x", "x-1", "x-1-1", "y")
    drawn = draw_all([picture(bars(["a"]), name) for name in names])
    assert [each for svg in drawn.values() for each in ids(svg)] == [
        f"{name}.{part}" for name in names for part in ("title", "desc")
    ]
    assert not any("url(" in svg for svg in drawn.values())


@pytest.mark.slow
def test_hostile_texts_stay_texts() -> None:
    for text in HOSTILE:
        svg = draw(picture(bars([text, "other"]), title=text, alt=text))
        root = ElementTree.fromstring(svg)
        told = "".join(root.itertext())
        assert "<script" not in svg and "<b>" not in svg
        assert not re.search("[\x00-\x1f\u202e\ud800]", told)
    assert "a\\u{202e}b\\x01c\\x00\\u{d800}" in "".join(
        ElementTree.fromstring(draw(picture(bars([HOSTILE[1]])))).itertext()
    )


@pytest.mark.slow
@settings(max_examples=8)
@given(st.lists(st.text(max_size=20), min_size=1, max_size=3, unique=True))
def test_any_text_can_be_drawn(names: list[str]) -> None:
    ElementTree.fromstring(draw(picture(bars(names), title=names[0], alt=names[-1])))


DRAW = """
import json, sys
from skill_health.page.drawing.draw import draw
from skill_health.page.model import NumberTable, Picture
for one in json.load(sys.stdin):
    print(json.dumps(draw(Picture(*one, NumberTable((), ())))))
"""


def drawn_elsewhere(pictures: list[Picture], **environment: str) -> list[str]:
    """The pictures as another process draws them."""
    given = json.dumps([(each.name, each.title, each.alt, each.spec) for each in pictures])
    done = subprocess.run(
        [sys.executable, "-c", DRAW], input=given, capture_output=True, text=True, check=True, env=os.environ | environment
    )  # fmt: skip
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_the_same_bytes_in_every_process_and_order(tmp_path: Path) -> None:
    """A process sees other fonts, or none, and other hashes."""
    found = [*every()[::3], picture(bars(["a name", "日本語"]))]
    here = [draw(each) for each in found]
    fonts = tmp_path / "fonts.conf"
    for folder, seed, order in ((tmp_path, "1", 1), ("/usr/share/fonts", "2", -1)):
        fonts.write_text(f"<fontconfig><dir>{folder}</dir></fontconfig>")
        drawn = drawn_elsewhere(found[::order], FONTCONFIG_FILE=str(fonts), PYTHONHASHSEED=seed)
        assert drawn[::order] == here


@pytest.mark.parametrize(
    "spec",
    [
        {"mark": "nonsense", "encoding": 3},
        {"data": {"url": "http://127.0.0.1:9/x.json"}, "mark": "point", "encoding": {"x": {"field": "a"}}},
        {
            "data": {"values": [{"a": 1}]},
            "mark": {"type": "image", "url": "data:,x"},
            "encoding": {"x": {"field": "a"}},
        },
        {"data": {"values": [{"a": 1}]}, "mark": {"type": "point", "clip": True}, "encoding": {"x": {"field": "a"}}},
        {"data": {"values": [{"a": 1}]}, "mark": "point", "encoding": {"href": {"value": "http://a"}}},
    ],
)
def test_what_cannot_or_must_not_be_drawn_names_the_picture(spec: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="the picture broken-one cannot be drawn"):
        draw(picture(spec, "broken-one"))


@pytest.mark.parametrize("name", ["", "A", "a b", "a.b", 'a"', "ä"])
def test_a_name_that_is_no_id_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="a picture's name"):
        draw(picture(bars(["a"]), name))


@pytest.mark.slow
def test_what_is_left_of_the_library_s_picture_looks_the_same() -> None:
    """Pixel by pixel, with the grids, legends, areas, dashes and headings that pictures have."""
    for one in [picture(bars(["a", "b"])), *collection_pictures(made(hostile=False))]:
        library, spec = drawing._library(), json.dumps(one.spec)
        raw = library.vegalite_to_svg(spec, config=theme.config())
        found = compile_all([spec])[spec]
        assert isinstance(found, tuple)
        width, height, inner = found
        head = f'width="{width}" height="{height}" font-family="{theme.FONT}" font-size="11"'
        left = f"<svg {drawing.NAMESPACE} {head}>{inner}</svg>"
        assert len(left) < 0.6 * len(raw)
        files = [library.svg_to_png(each) for each in (raw, left)]
        if files[0] == files[1]:
            continue
        before, after = map(pixels, files)
        assert before.shape == after.shape
        assert (abs(before.astype(int) - after) > 40).mean() <= 0.0005, one.name


def test_the_library_leaves_the_environment_as_it_was() -> None:
    before = dict(os.environ)
    drawing._library.cache_clear()
    draw(picture(bars(["a"])))
    drawing._library()
    assert dict(os.environ) == before


@pytest.mark.slow
def test_light_and_dark_differ_in_colours_and_in_nothing_else() -> None:
    one = collection_pictures(made())[0]
    one = replace(one, alt=f'fill="{theme.INK}"')
    light, dark = svg_file(one), svg_file(one, dark=True)
    assert light != dark and theme.GROUND in light and theme.DARK[theme.GROUND] in dark
    for color, other in theme.DARK.items():
        dark = dark.replace(f'="{other}"', f'="{color}"')
    assert light.replace("#", "") == dark.replace("#", "") or light == dark
    assert f'fill="{theme.INK}"' in "".join(ElementTree.fromstring(svg_file(one, dark=True)).itertext())


def test_a_file_and_a_png_of_its_own() -> None:
    one = picture(bars(["a"]))
    root = ElementTree.fromstring(svg_file(one))
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and root.get("width") and root.get("height")
    small, large = png(one, 1), png(one, 2)
    sizes = [struct.unpack(">II", each[16:24]) for each in (small, large)]
    assert sizes[0][0] * 2 == sizes[1][0] and small[:8] == b"\x89PNG\r\n\x1a\n"
    assert png(one, 1, dark=True) != small


@pytest.mark.slow
def test_small_pictures_of_many_skills_are_small() -> None:
    page = made(skills=5, models=2, days=30, hostile=False)
    drawn = [draw(each) for skill in page.status.skills for each in skill_pictures(page, skill.path)]
    assert len(drawn) == 9
    assert sum(map(len, drawn)) / 5 < 15_000


@pytest.mark.slow
def test_several_processes_draw_what_one_does() -> None:
    code = (
        "import json, sys\nfrom skill_health.page.drawing import draw\nspecs = json.load(sys.stdin)\n"
        "print(json.dumps([draw.compile_all(specs), draw._library.cache_info().currsize]))"
    )
    specs = [
        json.dumps({"mark": "bar", "data": {"values": [{"a": at, "b": "x" * at}]}, "encoding": {
            "x": {"field": "a", "type": "quantitative"}, "y": {"field": "b", "type": "nominal"}}})
        for at in range(drawing._MANY + 3)
    ]  # fmt: skip
    specs.append("[]")
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(specs), capture_output=True, text=True, check=True
    )
    found, started_here = json.loads(done.stdout)
    alone = {spec: compile_all([spec])[spec] for spec in specs}
    assert {spec: tuple(each) if isinstance(each, list) else each for spec, each in found.items()} == alone
    assert isinstance(found["[]"], str)
    assert bool(started_here) is (drawing.processors() == 1)

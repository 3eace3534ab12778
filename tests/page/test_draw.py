"""Pictures as SVG and PNG: safe to stand in a page, the same everywhere, and the same to look at as the library's."""

from __future__ import annotations

import hashlib
import json
import re
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import vl_convert
from hypothesis import given, settings
from hypothesis import strategies as st
from picture_pixels import pixels
from pictures_made import HOSTILE, made

from skill_health.page.drawing import compiled, theme
from skill_health.page.drawing.draw import draw, draw_all, png, svg_file
from skill_health.page.drawing.shrink import shrunk
from skill_health.page.model import NumberTable, Picture
from skill_health.page.pictures._load import collection_pictures, skill_pictures

ALLOWED = set("svg title desc g path line rect text tspan circle defs clipPath linearGradient stop".split())


def picture(spec: dict[str, Any], name: str = "one", title: str = "Title", alt: str = "Alt") -> Picture:
    return Picture(name, title, alt, spec, NumberTable((), ()))


def bars(names: list[str]) -> dict[str, Any]:
    return {
        "width": 200,
        "data": {"values": [{"n": name, "v": at + 0.123456789} for at, name in enumerate(names)]},
        "layer": [
            {"mark": "bar", "encoding": {"y": {"field": "n", "type": "nominal"}, "x": {"field": "v", "type": "quantitative"}}},
            {"mark": {"type": "point", "clip": True}, "encoding": {"y": {"field": "n"}, "x": {"field": "v", "type": "quantitative"}}},
        ],
    }  # fmt: skip


def every() -> list[Picture]:
    page = made()
    found = list(collection_pictures(page))
    for skill in page.status.value["skills"][:3]:
        found += skill_pictures(page, skill["path"])
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


def test_ids_are_the_picture_s_own_and_all_that_is_named_is_there() -> None:
    drawn = draw_all([picture(bars(["a"]), name) for name in ("x", "x-1", "x-1-1", "y")])
    found = [each for svg in drawn.values() for each in ids(svg)]
    assert len(found) == len(set(found)) and len(found) >= 12
    for svg in drawn.values():
        assert set(re.findall(r"url\(#([^)]+)\)", svg)) <= set(ids(svg))
        assert "url(#" in svg


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


@pytest.mark.slow
def test_the_same_bytes_in_every_process_and_order() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_draw import every\n"
        "from skill_health.page.drawing.draw import draw\n"
        "import hashlib\n"
        "found = {each.name: hashlib.sha256(draw(each).encode()).hexdigest() for each in every()[::3][::-1]}\n"
        "print(sorted(found.items()))"
    )
    here = {each.name: hashlib.sha256(draw(each).encode()).hexdigest() for each in every()[::3]}
    folder = str(Path(__file__).parent)
    run = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == str(sorted(here.items()))


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
def test_the_shrunk_picture_looks_the_same() -> None:
    """Pixel by pixel, with the grid, clips, legends, areas, gradients and dashes that pictures have."""
    specs = [bars(["a", "b"]), dict(collection_pictures(made(hostile=False))[0].spec)]
    specs.append(
        {
            "data": {"values": [{"a": at % 3, "b": at // 3, "c": at} for at in range(9)]},
            "mark": "rect",
            "encoding": {
                "x": {"field": "a", "type": "ordinal"},
                "y": {"field": "b", "type": "ordinal"},
                "color": {"field": "c", "type": "quantitative"},
            },
        }
    )
    for spec in specs:
        raw = vl_convert.vegalite_to_svg(json.dumps(spec), config=theme.config()).replace(
            'font-size="0px"', 'font-size="11px"'
        )
        width, height, inner = shrunk(raw, "x", theme.FONT)
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="{theme.FONT}">'
        small = f"{head}{inner}</svg>"
        assert len(small) < 0.6 * len(raw)
        one, two = pixels(vl_convert.svg_to_png(raw)), pixels(vl_convert.svg_to_png(small))
        assert len(one) == len(two)
        far = sum(abs(a - b) > 40 for a, b in zip(one, two, strict=True))
        assert far <= len(one) * 0.0005


def test_light_and_dark_differ_in_colours_and_in_nothing_else() -> None:
    one = collection_pictures(made())[0]
    one = replace(one, alt=f'fill="{theme.INK}"')
    light, dark = svg_file(one), svg_file(one, dark=True)
    assert light != dark and theme.GROUND in light and theme.DARK[theme.GROUND] in dark
    for color, other in theme.DARK.items():
        dark = dark.replace(f'="{other}"', f'="{color}"')
    assert light.replace("#", "") == dark.replace("#", "") or light == dark
    assert f'fill="{theme.INK}"' in "".join(ElementTree.fromstring(svg_file(one, dark=True)).itertext())


def test_every_colour_of_the_pictures_has_a_dark_counterpart() -> None:
    for each in every():
        found = set(re.findall(r'(?:fill|stroke)="([^"]+)"', draw(each))) - {"none"}
        assert found <= set(theme.DARK), each.name


def test_a_file_and_a_png_of_its_own() -> None:
    one = picture(bars(["a"]))
    root = ElementTree.fromstring(svg_file(one))
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and root.get("width") and root.get("height")
    small, large = png(one, 1), png(one, 2)
    sizes = [struct.unpack(">II", each[16:24]) for each in (small, large)]
    assert sizes[0][0] * 2 == sizes[1][0] and small[:8] == b"\x89PNG\r\n\x1a\n"
    assert png(one, 1, dark=True) != small


def test_small_pictures_of_many_skills_are_small() -> None:
    page = made(skills=5, models=2, days=30, hostile=False)
    drawn = [draw(each) for skill in page.status.value["skills"] for each in skill_pictures(page, skill["path"])]
    assert len(drawn) == 9
    assert sum(map(len, drawn)) / 5 < 15_000


@pytest.mark.slow
def test_several_processes_draw_what_one_does() -> None:
    code = (
        "import json, sys\nfrom skill_health.page.drawing import compiled\nspecs = json.load(sys.stdin)\n"
        "print(json.dumps([compiled.prepare(specs), compiled._started]))"
    )
    specs = {
        f"p-{at}": json.dumps({"mark": "bar", "data": {"values": [{"a": at, "b": "x" * at}]}, "encoding": {
            "x": {"field": "a", "type": "quantitative"}, "y": {"field": "b", "type": "nominal"}}})
        for at in range(compiled._MANY + 3)
    }  # fmt: skip
    specs["broken"] = "[]"
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(specs), capture_output=True, text=True, check=True
    )
    found, started_here = json.loads(done.stdout)
    alone = {name: compiled.prepare({name: spec})[name] for name, spec in specs.items()}
    assert {name: tuple(each) if isinstance(each, list) else each for name, each in found.items()} == alone
    assert isinstance(found["broken"], str)
    assert started_here is (compiled.processors() == 1)

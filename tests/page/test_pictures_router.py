"""The pictures of the router: every figure is the report's, every foreign text is data, and all of it can be drawn."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any
from xml.etree import ElementTree

import pytest
from filled_records import documents, filled, page_over, resolve
from hypothesis import given
from hypothesis import strategies as st
from made_runs import build_report, checked, frozen, manifest, prompt, report_record, simulate, values
from picture_parts import beyond, marks, texts

from skill_health.documents._record import record_values
from skill_health.documents.router_history import RouterHistoryLine
from skill_health.page.drawing import theme
from skill_health.page.drawing.draw import draw
from skill_health.page.figures import escape_text
from skill_health.page.model import Page, PageCell, Picture
from skill_health.page.pictures import calibration, confusion, leaderboard, position, router_history
from skill_health.page.pictures._routers import STATES
from skill_health.page.pictures.router_history import KINDS, runs_by_model
from skill_health.router.history import history_lines
from skill_health.router.records import Prompt

MODULES = (leaderboard, router_history, confusion, position, calibration)
HOSTILE = (
    "<script>alert(1)</script>", "</text><svg onload=alert(2)>", "datum.x", "a.b[0]['c']\\\"",
    "\u202etxt.exe\x1b[31m\x00", "none", "__proto__", "{{7*7}}${1}%s", "no skill", '\U0001f600 & \' "quoted"',
    "line\nbreak\ttab", "'+alert(3)+'",
)  # fmt: skip
Report = dict[str, Any]
PROMPTS = 45


def made(
    skills: Sequence[str], models: Mapping[str, str], run: int = 0, seed: int = 1, confident: bool = True,
    replications: int = 2, check: Report | None = None, **more: Any,
) -> tuple[Report, list[Report]]:  # fmt: skip
    """The report of a run in which models are mostly right, and its lines of the history. `models`: name and kind."""
    prompts = [prompt(f"p{at}", skills[at % len(skills)] if at % 5 else None) for at in range(PROMPTS)]
    records = [{"spec": name, "kind": kind} for name, kind in models.items()]
    own = {"run_id": f"2026051{run}T120000Z-ab", "created": f"2026-05-1{run}T12:00:00Z"}
    given_ = manifest(prompts, records, skills, replications, **(own | more))
    # Neighbours share words, so that they are alike.
    for at, skill in enumerate(given_["catalogue"]):
        skill["text"] = f"Handles {'plums' if at % 3 else 'pears'} and topic{at // 2} of kind{at}."

    def answer(rng: random.Random, asked: Prompt, order: tuple[str, ...]) -> list[str]:
        drawn = rng.random()
        return [asked.expected or "none"] if drawn < 0.6 else [rng.choice(order)] if drawn < 0.9 else []

    stated = (lambda rng, right: 0.55 + 0.4 * rng.random()) if confident else None
    results = simulate(given_, dict.fromkeys(models, answer), seed, stated)
    report = report_record(given_, results, check)
    return values(report), values(history_lines(frozen(given_), report, checked(check)))


def page_of(reports: Sequence[Report], lines: Sequence[Report] = (), routing: Sequence[Report] = ()) -> Page:
    return page_over({"routing": routing}, router=reports, router_history=lines)


def numbered(count: int) -> list[str]:
    return [f"skill-{at:02}" for at in range(count)]


FAILED = {"planted": [{"model": "maker:two", "failed": True, "findings": []}], "finished": []}
PLAIN = {"maker:one": "provider", "maker:two": "provider"}


@cache
def usual() -> Page:
    """Two runs of five models over 30 skills, one model untrusted in the later run, one simulated, one asked once."""
    kinds = PLAIN | {"maker:three": "provider", "lexical:bm25": "local", "scripted": "simulated"}
    later, newer = made(numbered(30), kinds, 2, check=FAILED)
    early, older = made(numbered(30), {"maker:four": "provider"} | PLAIN, 1, seed=2, confident=False)
    return page_of([later, early], [*older, *newer])


@cache
def hostile() -> Page:
    models = dict.fromkeys(HOSTILE[:4], "provider")
    one, lines = made(HOSTILE, models, 3)
    two, more = made(HOSTILE, models, 4, hashes={"catalogue": "other", "prompts": "p"})
    return page_of([two, one], lines + more)


@cache
def small() -> Page:
    report, lines = made(["only"], {"maker:one": "provider"})
    return page_of([report], lines)


PAGES = {"usual": usual, "hostile": hostile, "small": small}


def pictures(page: Page) -> list[Picture]:
    return [picture for module in MODULES for picture in module.build(page)]


def cells(picture: Picture) -> Iterator[PageCell]:
    return (cell for row in picture.table.rows for cell in row)


@pytest.mark.slow
def test_each_is_there_once_and_has_a_table_with_a_cell_for_each_head() -> None:
    found = pictures(usual())
    assert [picture.name for picture in found] == [
        "router-leaderboard", "router-history", "router-confusion", "router-position", "router-calibration",
    ]  # fmt: skip
    assert [module.ORDER for module in MODULES] == sorted({module.ORDER for module in MODULES})
    for picture in found:
        assert picture.question == 2 and picture.alt and picture.note and picture.table.rows
        assert all(len(row) == len(picture.table.head) for row in picture.table.rows)
    assert found == pictures(replace(usual()))


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_every_figure_of_a_table_is_the_reports(name: str) -> None:
    page = PAGES[name]()
    told = documents(page)
    for picture in pictures(page):
        headed = (each for row in picture.table.rows for each in zip(picture.table.head, row, strict=True))
        traced = [(head, cell) for head, cell in headed if cell.origin]
        assert len(traced) >= len(picture.table.rows)
        for head, cell in traced:
            raw = resolve(told, cell.origin)
            own = raw if isinstance(raw, dict) else {"value": raw, "low": None}
            if own["value"] is None or isinstance(own["value"], str):
                assert cell.value == own["value"]
                continue
            factor, near = (100, 0.0501) if ", %" in head else (1, 0.00501)
            assert cell.value == pytest.approx(factor * own["value"])
            figure, _, rest = cell.text.replace(",", " ").partition(" ")
            assert float(figure) == pytest.approx(cell.value, abs=near)
            if isinstance(raw, dict):
                assert f"n {raw['n']:,}" in cell.text
                assert ("[–]" in rest) is (own["low"] is None)
            if own["low"] is not None:
                ends = [float(each) for each in re.findall(r"[-+]?[\d.]+", rest.split("]")[0])]
                assert ends == pytest.approx([factor * own["low"], factor * own["high"]], abs=near)


@pytest.mark.slow
def test_what_is_drawn_stands_in_the_table() -> None:
    page = usual()
    board, history, heat, places, _ = pictures(page)
    tops = {each.model: each.metrics.top1.value or 0 for each in page.router[1].models}
    tops |= {each.model: each.metrics.top1.value or 0 for each in page.router[0].models}
    drawn = {each["name"]: each["value"] for each in marks(board.spec, "point")}
    assert drawn == {name: pytest.approx(100 * value) for name, value in tops.items()}
    assert [row[0].text for row in board.table.rows] == list(drawn)
    seen = texts(draw(board))
    assert [text for text in seen if text in tops] == list(drawn)
    assert [text.partition(" · ")[0] for text in seen if " n " in text] == [row[1].text for row in board.table.rows]
    lines = Counter(each.model for each in page.router_history)
    assert Counter(row[0].text for row in history.table.rows) == lines
    squares = [each for each in marks(heat.spec, "rect") if "shade" in each]
    assert len(squares) == len(heat.table.rows) and squares
    assert sum(each["right"] for each in squares) == sum(row[0].text == row[1].text for row in heat.table.rows)
    for expected, picked, _, share, *_ in heat.table.rows:
        own = next(each for each in squares if (each["expected"], each["picked"]) == (expected.text, picked.text))
        low, _, high = own["shade"].replace("below", "0 to").replace("and more", "to 100.1").partition(" to ")
        assert float(low) <= float(share.value or 0) < float(high)
    assert len(places.table.rows) == sum(
        1 + len(each.position.places) for report in page.router for each in report.models
        if each.kind != "local" and (report is page.router[0] or each.model == "maker:four")
    ) - 11  # fmt: skip
    # Five models have places, four are drawn: one summary and ten groups are the fifth's.


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES)
def test_all_can_be_drawn_and_are_narrow_with_readable_text(name: str) -> None:
    for picture in pictures(PAGES[name]()):
        svg = draw(picture)
        assert float(re.findall(r'width="([\d.]+)"', svg)[0]) <= 640, picture.name
        assert all(float(found) >= 11 for found in re.findall(r'font-size="([\d.]+)', svg))
        assert beyond(svg) == [], picture.name
        colours = set(re.findall(r'(?:fill|stroke)="(#[0-9a-f]{6})"', svg))
        assert colours <= theme.DARK.keys(), picture.name


def fixed(spec: Any) -> Any:
    """A specification without its data."""
    if isinstance(spec, Mapping):
        return {key: fixed(value) for key, value in spec.items() if key != "data"}
    return [fixed(each) for each in spec] if isinstance(spec, list | tuple) else spec


@pytest.mark.slow
def test_foreign_texts_are_data_only() -> None:
    for picture in pictures(hostile()):
        told = json.dumps(fixed(picture.spec), ensure_ascii=False)
        for name in set(HOSTILE) - {"none", "no skill"}:
            assert name not in told and json.dumps(name, ensure_ascii=False)[1:-1] not in told, picture.name
        keys = {key for values in data(picture.spec) for each in values for key in each}
        assert all(re.fullmatch(r"[a-z]+", key) for key in keys)


def data(spec: Any) -> Iterator[list[dict[str, Any]]]:
    if isinstance(spec, Mapping):
        if "data" in spec:
            yield spec["data"]["values"]
        for value in spec.values():
            yield from data(value)
    elif isinstance(spec, list):
        for each in spec:
            yield from data(each)


@pytest.mark.slow
def test_foreign_texts_show_as_text() -> None:
    board, _, heat, *_ = pictures(hostile())
    for picture, names in ((board, HOSTILE[:4]), (heat, HOSTILE)):
        root = ElementTree.fromstring(draw(picture))
        assert not {each.tag for each in root.iter()} & {"script", "foreignObject", "image", "a", "style"}
        assert not any(key.startswith("on") or "href" in key for each in root.iter() for key in each.attrib)
        texts = {each.text for each in root.iter() if each.text}
        whole = [name for name in names if len(escape_text(name)) < 20 and name.isprintable() and name != "none"]
        assert whole and all(name in texts for name in whole)
        assert not any(bad in text for text in texts for bad in "\u202e\x1b\x00")


def test_nothing_is_drawn_of_nothing() -> None:
    empty = build_report(manifest([]), [])
    unscored = build_report(manifest([prompt("p1", "alpha")]), [])
    for page in (page_of([]), page_of([empty]), page_of([unscored])):
        assert pictures(page) == []


@pytest.mark.slow
def test_old_reports_without_places_and_models_without_confidence_are_left_out() -> None:
    report, _ = made(numbered(3), PLAIN, confident=False)
    assert calibration.build(page_of([report])) == ()
    assert position.build(page_of([report]))
    for model in report["models"]:
        del model["position"]["places"]
    assert position.build(page_of([report])) == ()


@pytest.mark.slow
def test_one_call_a_prompt_shows_who_is_right_only() -> None:
    report, _ = made(numbered(3), {"maker:one": "provider"}, replications=1)
    (picture,) = position.build(page_of([report]))
    assert "distance not testable" in picture.alt
    assert {row[3].text for row in picture.table.rows[1:]} == {"–"}
    assert "Picked" not in picture.alt + picture.note and "several calls for each prompt" in picture.note
    told = "".join(ElementTree.fromstring(draw(picture)).itertext())
    assert "right, %" in told and "first answers" not in told and position.EXPECTED not in told


@pytest.mark.slow
def test_a_run_over_all_prompts_stands_for_a_model_before_a_later_part() -> None:
    whole, _ = made(numbered(3), {"maker:one": "provider"}, 1)
    part, _ = made(numbered(3), {"maker:one": "provider", "maker:two": "provider"}, 2, selection={"kind": "sweep"})
    (picture,) = leaderboard.build(page_of([part, whole]))
    found = {row[0].text: (row[5].text, row[6].text) for row in picture.table.rows}
    assert found["maker:one"][0] == whole["run"]["run_id"] and "subset" not in found["maker:one"][1]
    assert found["maker:two"][0] == part["run"]["run_id"] and "subset" in found["maker:two"][1]
    assert "2 runs" in picture.note
    heat = confusion.build(page_of([part, whole]))[0]
    assert all(cell.origin.startswith(f"router/{whole['run']['run_id']}#") for cell in cells(heat) if cell.origin)


@pytest.mark.slow
def test_simulated_untrusted_and_stale_models_are_marked_and_stand_last() -> None:
    page = usual()
    board = leaderboard.build(page)[0]
    states = [each["state"] for each in marks(board.spec, "point")]
    last = {"SIMULATED", "untrusted"}
    assert set(states[-2:]) == last and not last & set(states[:-2]) and last | {"measured"} <= set(texts(draw(board)))
    assert len({STATES[state] for state in states}) == len(set(states))
    assert "in part SIMULATED, untrusted" in board.title and "In part it is SIMULATED, untrusted" in board.alt
    assert "SIMULATED: scripted." in board.note and "Untrusted: maker:two." in board.note
    figures = [each["figure"] for each in marks(board.spec, "text")]
    assert [each.rpartition(" ")[2] for each in figures[-2:]] != ["", ""] and len(figures) == len(board.table.rows)
    assert all(re.search("SIMULATED|untrusted", each) for each in figures[-2:])
    runs = {"maker:one": page.router[0].run.run_id, "maker:three": "another"}
    routing = [{"model": model, "run_id": run, "changed": ["skill-01"]} for model, run in runs.items()]
    stale = page_of([record_values(page.router[0])], routing=routing)
    assert "Stale: maker:one." in leaderboard.build(stale)[0].note
    for picture in pictures(stale):
        assert re.search("stale.*[)]$", picture.title) and "stale" in picture.alt, picture.name


@pytest.mark.slow
def test_simulated_answers_do_not_count_as_confusions_beside_real_ones() -> None:
    page = usual()
    (picture,) = confusion.build(page)
    best = max(
        (each for each in page.router[0].models if each.model not in ("scripted", "maker:two")),
        key=lambda each: each.metrics.top1.value or 0,
    )
    assert best.model in picture.title and "SIMULATED" not in picture.title + picture.alt
    only, _ = made(numbered(3), {"scripted": "simulated"})
    assert confusion.build(page_of([only]))[0].title.endswith("scripted (SIMULATED)")
    both, _ = made(numbered(3), PLAIN)
    assert "2 models of run" in confusion.build(page_of([both]))[0].title


@pytest.mark.slow
def test_shares_and_similarities_of_confusions_are_those_of_the_report() -> None:
    report, _ = made(numbered(30), PLAIN)
    (picture,) = confusion.build(page_of([report]))
    totals: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    calls = {}
    for cell in report["confusion"]:
        totals[cell["expected"]] += cell["calls"]
        calls[confusion.describe_class(cell["expected"]), confusion.describe_class(cell["picked"])] = cell["calls"]
        if cell["expected"] != cell["picked"]:
            wrong[cell["expected"]] += cell["calls"]
            wrong[str(cell["picked"])] += cell["calls"]
    alike = {(pair["expected"], pair["picked"]): pair["similarity"] for pair in report["pairs"]}
    seen = set()
    for expected, picked, number, share, _, similarity in picture.table.rows:
        assert number.value == calls[expected.text, picked.text]
        total = totals["none" if expected.text == "no skill" else expected.text]
        assert share.value == pytest.approx(100 * float(number.value or 0) / total)
        assert similarity.value == (alike.get((expected.text, picked.text)) if similarity.origin else "–")
        seen |= {expected.text, picked.text} - {"no skill", "no valid answer"}
    assert len(seen) == 24 and "6 are left out" in picture.note
    left = set(numbered(30)) - seen
    assert max(wrong[name] for name in left) <= min(wrong[name] for name in seen)
    order = [int(row[2].value or 0) for row in picture.table.rows if row[0].text != row[1].text]
    assert order == sorted(order, reverse=True)


BASES = st.fixed_dictionaries({
    "prompts": st.sampled_from(["a", "b", None]), "catalogue": st.sampled_from(["a", "b"]),
    "selection": st.sampled_from(["all", "all", "sweep", "filter"]), "trusted": st.sampled_from([True, True, None, False]),
})  # fmt: skip


@given(st.lists(BASES, max_size=8), st.randoms(use_true_random=False))
def test_lines_join_only_what_can_be_compared(bases: list[Report], order: random.Random) -> None:
    plain: Report = {"model": "m", "template": {}, "settings": {}, "metrics": {"top1": TOP1}}
    lines = [plain | {"time": f"2026-05-{at + 1:02}T00:00:00Z"} | basis for at, basis in enumerate(bases)]
    mixed = order.sample(lines, len(lines))
    found = runs_by_model([filled(RouterHistoryLine, each) for each in mixed]).get("m", [])
    assert [each.own for each in found] == [filled(RouterHistoryLine, each) for each in lines]
    counted = [each for each in found if each.segment]
    assert [each.time for each in counted] == [
        line["time"] for line in lines if line["selection"] == "all" and line["trusted"] is not False
    ]
    for before, after in pairwise(counted):
        same = all(
            getattr(before.own, key) is not None and getattr(before.own, key) == getattr(after.own, key)
            for key in ("prompts", "catalogue")
        )
        assert (after.segment == before.segment) is same
        assert (after.kind == KINDS[0]) is same and bool(after.differs) is not same
    assert all(each.kind in KINDS[2:] for each in found if not each.segment)


TOP1 = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 10, "clusters": 10}


@pytest.mark.slow
def test_runs_that_cannot_be_compared_are_not_joined_in_the_picture() -> None:
    lines: list[Report] = []
    edited: Report = {"hashes": {"catalogue": "new", "prompts": "p"}}
    runs: list[Report] = [{}, {}, edited, {"selection": {"kind": "sweep"}}]
    for run, more in enumerate(runs):
        lines += made(numbered(3), {"maker:one": "provider"}, run, **more)[1]
    (picture,) = router_history.build(page_of([], lines))
    times = [each["time"] for each in lines]
    assert [each["time"] for each in marks(picture.spec, "point")] == times
    joined = [(each["time"], each["segment"]) for each in marks(picture.spec, "line")]
    assert joined == [(times[0], 1), (times[1], 1), (times[2], 2)]
    paths = [each.get("d", "") for each in ElementTree.fromstring(draw(picture)).iter("path")]
    assert len([path for path in paths if re.fullmatch(r"M[\d.,]+L[\d.,]+", path)]) == 1
    dashed = [each for each in ElementTree.fromstring(draw(picture)).iter("line") if each.get("stroke-dasharray")]
    assert len(dashed) == 1
    assert [row[4].text for row in picture.table.rows] == ["not compared", "descriptions", "", ""]
    (one,) = router_history.build(page_of([], lines[:1]))
    assert {"run (UTC), 2026-05-10", "12:00"} <= {*texts(draw(one))}
    nameless = [line | {"time": None} for line in lines]
    assert router_history.build(page_of([], nameless)) == ()


@pytest.mark.slow
def test_long_histories_and_many_models_are_cut_and_say_so() -> None:
    line = made(numbered(3), {"maker:one": "provider"})[1][0]
    lines = [
        line | {"model": f"m{model:02}", "time": f"2026-{1 + at // 28:02}-{1 + at % 28:02}T00:00:00Z"}
        for model in range(12) for at in range(70)
    ]  # fmt: skip
    (picture,) = router_history.build(page_of([], lines))
    assert len({each["group"] for each in marks(picture.spec, "point")}) == router_history.MOST
    assert len(picture.table.rows) == 8 * 60
    assert "4 more models" in picture.note and "80 older runs" in picture.note

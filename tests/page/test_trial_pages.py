"""The grid of trials, a trial in full, and two side by side: the figures are those of the command, and nothing runs."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any

import page_made
import pytest
from effects_made import replace
from hypothesis import given
from hypothesis import strategies as st
from page_parsed import Parsed
from report_runs import kept, run, tasks
from test_serve import Client, serving
from trial_made import HOSTILE, RUN
from trials_run import ctrf, story, write

from skill_health.effectiveness.effects.build import build_report
from skill_health.page.html import render, render_site
from skill_health.page.request import PageOptions
from skill_health.page.serving.server import Server
from skill_health.page.serving.site import Site
from skill_health.page.serving.site import site as live_site
from skill_health.page.trials.address import ADDRESS, link_trials
from skill_health.page.trials.grid import MOST_CELLS, build_grids
from skill_health.page.trials.pages import TrialPages, chosen_pages, fitted_pair
from skill_health.trials.find import KeptRuns, state_of
from skill_health.trials.kept_files import ReportFolders
from skill_health.trials.reading import WHOLE, read_trial
from skill_health.trials.side_by_side import FilePair, LinePair, SideBySide, StepPair
from skill_health.trials.steps import ToldPiece, ToldStep
from skill_health.trials.text import facts_of

TOLD = HOSTILE.replace("\ud800", "")


def hrefs(html: str) -> list[str]:
    return [unescape(each) for each in re.findall(r'<a href="([^"]*)"', html)]


def pages_of(folder: Path) -> tuple[TrialPages, list[Any]]:
    """The pages of the run below `folder`, and its trials."""
    runs = KeptRuns(ReportFolders(str(folder), str(folder)))
    return TrialPages(runs, "Plums"), list(runs.named(RUN).values())


def page_of(folder: Path, run_: Any, results: list[Any]) -> Any:
    """A page over a run with these results, which is kept below `folder`."""
    kept(folder, replace(run_, results=tuple(results)))
    report = build_report(run_.manifest, results)
    return replace(page_made.bare(), effects=(report,), folder=str(folder), base=str(folder))


def test_each_cell_is_the_count_of_the_report_and_of_the_trials() -> None:
    page = page_made.page()
    grids = list(build_grids(page))
    assert len(grids) == sum(len(report.models) for report in page.effects) > 0
    for grid in grids:
        report = next(each for each in page.effects if each.run_id == grid.run)
        model = next(each for each in report.models if each.model == grid.model)
        for row, task in zip(grid.rows, model.tasks, strict=True):
            trials = page.runs.trials(grid.run).get((grid.model, task.task_id), ())
            for arm, cell in zip(grid.arms, row.cells, strict=True):
                if cell is None:
                    assert arm not in task.arms
                    continue
                own = [each for each in trials if each.line.arm == arm]
                counted = Counter(map(state_of, own))
                n = sum(counted[state] for state in ("passed", "partial", "failed"))
                assert cell.passed.text == (f"{counted['passed']}/{n}" if n else "–")
                assert set(counted) <= {*cell.states} and (not own or cell.trial in {each.name for each in own})


def test_what_was_planned_and_not_run_is_missing_and_an_error_is_no_failure(tmp_path: Path) -> None:
    found = run(RUN, tasks=tasks(1, 0, 1), arms=("control", "target"), replications=3)
    outcomes = iter(("fail", "infrastructure", "pass", "pass", "pass"))
    results = [replace(each, outcome=next(outcomes), reward=None) for each in found.results[:5]]
    arms = [each.arm for each in results]
    page = page_of(tmp_path, found, results)
    by_name = page.runs.named(RUN)
    (grid,) = build_grids(page)
    cells = dict(zip(grid.arms, grid.rows[0].cells, strict=True))
    for arm, cell in cells.items():
        assert cell is not None
        assert cell.sign == "missing" or state_of(by_name[cell.trial]) == cell.sign
        states = Counter(state_of_line(each) for each in results if each.arm == arm)
        states["missing"] = 3 - arms.count(arm)
        assert set(cell.states) == {state for state, n in states.items() if n}
        assert (cell.sign == "failed") == bool(states["failed"])
    assert grid.counts["missing"] == 1 and grid.counts["error"] == 1
    said = " ".join(cell.more for cell in cells.values() if cell)
    assert "1 error" in said and "1 not run" in said


@pytest.mark.parametrize(
    ("ways", "sign"),
    [((("pass", 1.0), ("infrastructure", None)), "error"), ((("fail", 0.5), ("fail", 0.0)), "failed"),
     ((("pass", 1.0), ("fail", 0.5)), "partial"), ((("infrastructure", None), ("timeout", 0.0)), "failed")],
)  # fmt: skip
def test_a_cell_leads_to_the_trial_whose_sign_it_has(ways: Any, sign: str, tmp_path: Path) -> None:
    found = run(RUN, tasks=tasks(1, 0, 1), arms=("control", "target"), replications=len(ways))
    results = [
        replace(each, outcome=ways[each.replication][0], reward=ways[each.replication][1]) for each in found.results
    ]
    page = page_of(tmp_path, found, results)
    by_name = page.runs.named(RUN)
    (grid,) = build_grids(page)
    cells = [cell for cell in grid.rows[0].cells if cell]
    assert len(cells) == 2 and {cell.sign for cell in cells} == {sign}
    assert {state_of(by_name[cell.trial]) for cell in cells} == {sign}


def state_of_line(line: Any) -> str:
    return {"pass": "passed", "fail": "failed"}.get(line.outcome, "error")


def test_a_large_run_is_cut_and_says_so() -> None:
    page = page_made.page()
    report = page.effects[0]
    model = report.models[0]
    many = tuple(replace(model.tasks[0], task_id=f"t{n}") for n in range(MOST_CELLS))
    large = replace(page, effects=(replace(report, models=(replace(model, tasks=many),)),))
    (grid,) = build_grids(large)
    assert len(grid.rows) * len(grid.arms) <= MOST_CELLS and grid.left == len(many) - len(grid.rows) > 0


@pytest.mark.slow
def test_one_file_has_the_grid_and_no_dead_link() -> None:
    for html in (page_made.scripted(), page_made.plain()):
        assert 'id="trials"' in html and "data-trial=" in html
        assert not [each for each in hrefs(html) if each.startswith("trials/")]
    assert 'href="trials/' in render(page_made.page(), live=True)


@pytest.mark.slow
def test_every_link_of_a_site_leads_to_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skill_health.page.trials.pages.MOST_PAGES", 40)
    page = replace(page_made.page(), base=str(tmp_path))
    written = dict(render_site(page))
    trials = {name for name in written if name.startswith("trials/")}
    assert any("--" in name for name in trials)
    for name, text in written.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert len(hrefs(written["index.html"])) > 20
    for name in written:
        for href in hrefs(written[name]):
            target = href.partition("#")[0]
            if target.startswith("https:"):
                continue
            there = (tmp_path / name).parent.joinpath(target) if target else tmp_path / name
            assert there.is_file(), (name, href)
            if place := href.partition("#")[2]:
                assert f' id="{place}"' in there.read_text("utf-8") or place.startswith("skill-"), (name, href)


def test_the_page_of_a_trial_says_what_the_command_says(tmp_path: Path) -> None:
    write(tmp_path)
    pages, trials = pages_of(tmp_path)
    for trial in trials:
        html = pages.page(RUN, trial.name)
        shown = " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())
        for name, value in facts_of(read_trial(ReportFolders(str(tmp_path), ""), trial, WHOLE)):
            assert f"{name} {value}" in shown
    target = next(each for each in trials if each.line.arm == "target")
    control = next(each for each in trials if each.line.arm == "control")
    assert '<em class="opens">opens skill-0</em>' in pages.page(RUN, target.name)
    assert '<em class="opens">' not in pages.page(RUN, control.name)


def test_two_trials_side_by_side(tmp_path: Path) -> None:
    write(tmp_path)
    pages, trials = pages_of(tmp_path)
    task = trials[0].line.task_id
    left, right = (
        next(each for each in trials if (each.line.task_id, each.line.arm) == (task, arm))
        for arm in ("control", "target")
    )
    html = pages.pair(RUN, (left.name, right.name))
    shown = unescape(re.sub(r"<[^>]+>", " ", html.split("</style>")[1]))
    for part in (
        "test total", "failed", "passed", "opens skill-0", "24 crates.", "2 dozen.", "answer.txt: not the same",
    ):  # fmt: skip
        assert part in shown, part
    assert pages.pair(RUN, (right.name, left.name)) != html
    assert pages.pair(RUN, (left.name, left.name)) == "" == pages.pair(RUN, (left.name, "trial-0000000000000000"))
    assert pages.page(RUN, "trial-0000000000000000") == ""


def test_what_others_wrote_is_text(tmp_path: Path) -> None:
    nasty = {"source": "agent", "message": TOLD, "reasoning_content": TOLD}
    own = {
        "trajectory.json": story(nasty), "final.txt": TOLD.encode(), "diff.patch": f"+{TOLD}\n".encode(),
        "verifier/ctrf.json": ctrf((TOLD, "failed")), "verifier/stdout": TOLD.encode(),
    }  # fmt: skip
    target = {**own, "final.txt": b"other", "trajectory.json": story(nasty, nasty)}
    write(tmp_path, {"control": own, "target": target}, notes=(TOLD,))
    pages, trials = pages_of(tmp_path)
    for html in (pages.page(RUN, trials[0].name), pages.pair(RUN, (trials[0].name, trials[1].name))):
        parsed = Parsed(html)
        assert not parsed.all("img") and len(parsed.all("script")) == 1
        assert "<script>alert" not in html and "\x1b" not in html and "\u202e" not in html
        assert "Content-Security-Policy" in html and "default-src &#39;none&#39;" in html


@pytest.mark.parametrize(
    "address",
    ["", "x", f"{RUN}", f"{RUN}/", f"{RUN}/manifest.json", f"{RUN}/../{RUN}/trial-0000000000000000", "../x/trial-0000000000000000",
     f"{RUN}/trial-0000000000000000/", f"{RUN}/trial-000000000000000G", f"{RUN}/trial-0000000000000000--", f"{RUN}/trial-0000000000000000\n"],
)  # fmt: skip
def test_only_addresses_of_trials_are_addresses(address: str) -> None:
    assert ADDRESS.match(address) is None
    html = f'<a data-trial="{address}">'
    assert link_trials(html, "trials/") == html


def test_a_server_shows_the_trials_of_the_runs_on_its_page_and_no_others(tmp_path: Path) -> None:
    write(tmp_path)
    pages, trials = pages_of(tmp_path)
    known = {f"{RUN}/{each.name}": pages.page(RUN, each.name) for each in trials}
    site = Site(lambda: "<html></html>", lambda: "1", lambda address: known.get(address, ""))
    with serving(Server(site, str(tmp_path), 0, interval=0.02, patience=5)) as running:
        ask = Client(running)
        address, text = next(iter(known.items()))
        status, headers, body = ask(f"/trials/{address}")
        assert (status, body.decode()) == (200, text) and headers["content-type"].startswith("text/html")
        assert headers["content-security-policy"] == "frame-ancestors 'none'"
        for wrong in (
            f"/trials/{RUN}/trial-0000000000000000", "/trials/", f"/trials/{RUN}/..%2f..%2fx",
            f"/trials/other/{trials[0].name}",
        ):  # fmt: skip
            assert ask(wrong)[0] == 404
        assert ask(f"/trials/{address}", host="evil.example")[0] == 421


@pytest.mark.slow
def test_a_served_page_leads_to_its_trials(tmp_path: Path) -> None:
    root = page_made.make(tmp_path)
    options = PageOptions(True, 1, page_made.AS_OF, None, None, str(root / "reports"))
    site, folder = live_site((str(root),), options, lambda: page_made.AS_OF)
    with serving(Server(site, folder, 0, interval=0.02, patience=30)) as running:
        ask = Client(running)
        _, _, body = ask("/")
        links = [each for each in hrefs(body.decode()) if each.startswith("trials/")]
        assert len(links) > 20
        # One of them has kept files.
        for link in (links[0], next(each for each in links if each.startswith(f"trials/{page_made.EFFECT_RUN}/"))):
            status, _, page = ask(f"/{link}")
            assert status == 200
            pairs = [each.removeprefix("../") for each in hrefs(page.decode()) if "--" in each]
            status, _, page = ask(f"/trials/{pairs[0]}")
            assert status == 200 and b"Two trials side by side" in page
        other = re.sub(r"/[^/]*/", "/20261101T050000Z-aaaaaaaa/", links[0], count=1)
        assert ask(f"/{other}")[0] == 404


def test_failing_trials_have_pages_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    pages, trials = pages_of(tmp_path)
    monkeypatch.setattr("skill_health.page.trials.pages.MOST_PAGES", 1)
    (only,) = chosen_pages(pages.runs, [RUN])
    assert only == f"{RUN}/{next(each for each in trials if each.failed).name}"
    monkeypatch.setattr("skill_health.page.trials.pages.MOST_BYTES", 1)
    assert chosen_pages(pages.runs, [RUN]) == frozenset()


def both(steps: int, files: int, length: int) -> SideBySide:
    one = ToldStep(1, "agent", (ToldPiece("message", "", "x" * length),))
    lines = (LinePair("changed", "a" * length, "b" * length),)
    return SideBySide(
        left=None, right=None, checks=(), same_checks=0, steps=tuple(StepPair("changed", one, one, lines) for _ in range(steps)),  # type: ignore[arg-type]
        left_steps=2, answer=(), files=tuple(FilePair("changed", f"{n}", lines) for n in range(files)), same_files=0, left_files=3, problem="",
    )  # fmt: skip


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 3000), st.integers(0, 60_000))
def test_what_does_not_fit_is_counted(steps: int, files: int, length: int, room: int) -> None:
    found = both(steps, files, length)
    cut = fitted_pair(found, room)
    assert len(cut.steps) + cut.left_steps == steps + 2 and len(cut.files) + cut.left_files == files + 3
    assert fitted_pair(found, 10**9) == found
    assert sum(min(length, 2000) * 2 for _ in cut.steps) <= room

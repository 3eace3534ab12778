"""What hostile files, names and clients try: each costs a note, a refusal or an escape, and never the page."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filled_records import filled
from hypothesis import given
from hypothesis import strategies as st

from skill_health.core.errors import UsageError
from skill_health.core.files import check
from skill_health.documents import _foreign as loading
from skill_health.documents._record import OpenRecord, record_values
from skill_health.documents.page_data import PageState
from skill_health.documents.router_report import RouterReport
from skill_health.page.data import gather
from skill_health.page.data.changes import STATE
from skill_health.page.drawing import draw
from skill_health.page.model import NumberTable, Picture
from skill_health.page.serving.server import Server, open_below, opened
from skill_health.page.serving.site import Site


class Anything(OpenRecord):
    """A document of any form."""

    a: Any = None


HUGE = ["1e999", "-1e999", "1" + "0" * 400, "1" * 5000, "1e20", "NaN", "Infinity", '"\\ud800"', "[" * 5000, "\xff"]


@pytest.mark.parametrize("text", HUGE)
def test_a_number_that_cannot_be_reckoned_with_is_no_json(text: str) -> None:
    with pytest.raises(ValueError):
        loading.read_record(b'{"a": ' + text.encode("latin-1") + b"}", Anything)


@pytest.mark.parametrize(
    "text",
    ["1e19", "-1e+19", "18446744073709551616", "1e-300", "0.00000000000000000000012345", '"1e99 ends"', "[0, 7e0]"],
)
def test_other_numbers_are_read(text: str) -> None:
    assert loading.read_record(b'{"a": ' + text.encode() + b"}", Anything).a == json.loads(text)


@given(
    st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**30), 10**30), st.sampled_from(["", " ", "\n"])
)
def test_a_number_is_read_up_to_64_bits_and_refused_beyond(number: float, blank: str) -> None:
    raw = f'{{"a":{blank}[{number!r},{blank}{number!r}]}}'.encode()
    if abs(number) <= 2**64:
        assert loading.read_record(raw, Anything).a == [number, number]
    else:
        with pytest.raises(ValueError, match="64 bits"):
            loading.read_record(raw, Anything)


@given(st.binary(max_size=60) | st.text(alphabet='[]{}":,-.0123456789eEnulINfaity \\ud8').map(str.encode))
def test_any_bytes_are_refused_or_read(raw: bytes) -> None:
    try:
        found = loading.read_record(raw, Anything)
    except ValueError:
        return
    json.dumps(found.a, ensure_ascii=False, allow_nan=False).encode("utf-8")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "router" / "r1").mkdir(parents=True)
    return tmp_path / "router" / "r1" / "report.json"


def told(place: Path) -> str:
    runs = [("2026-11-20T00:00:00Z", "r1")]
    found, notes = gather._reports(
        str(place.parents[2]), "router", runs, RouterReport, lambda report: report.run.run_id
    )
    assert not found and len(notes) == 1
    return notes[0]


UNREADABLE = "cannot be read"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="pipes and devices are others there")
def test_a_pipe_a_device_and_a_huge_file_are_not_waited_for(place: Path) -> None:
    os.mkfifo(place)
    assert UNREADABLE in told(place)
    place.unlink()
    place.symlink_to("/dev/zero")
    assert UNREADABLE in told(place)
    place.unlink()
    with socket.socket(socket.AF_UNIX) as made:
        here = os.getcwd()
        os.chdir(place.parent)
        try:
            made.bind("report.json")
        finally:
            os.chdir(here)
        assert UNREADABLE in told(place)
    place.unlink()
    with place.open("wb") as file:
        file.truncate(200 << 30)
    assert "is too large" in told(place)


def test_all_reports_together_have_only_so_much_room(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gather, "_MOST_ALL", 30)
    place.write_text(json.dumps({"a": "x" * 10}))
    other = place.parents[1] / "r2"
    other.mkdir()
    (other / "report.json").write_text(json.dumps({"a": "x" * 10}))
    runs = [("2026-11-20T00:00:00Z", "r1"), ("2026-11-21T00:00:00Z", "r2")]
    _, notes = gather._reports(str(place.parents[2]), "router", runs, RouterReport, lambda report: report.run.run_id)
    assert "r2/report.json" in notes[0] and "r1/report.json" in notes[1] and "is too large" in notes[1]


@pytest.mark.parametrize(("name", "tokens"), [("n" * 5_000_000, "1"), ("n", "1" + "0" * 400)])
def test_the_state_of_the_last_page_is_not_carried_on_at_any_length(name: str, tokens: str, tmp_path: Path) -> None:
    told = filled(PageState, {"schema": STATE, "as_of": "2026-11-20", "skills": {"a": {"name": name, "tokens": 7}}})
    state = json.dumps(record_values(told)).replace("7", tokens)
    (tmp_path / "page").write_text(f'<script id="skill-health-state">{state}</script>')
    state_before, notes = gather._last_state(str(tmp_path / "page"))
    assert state_before is None and len(notes) == 1


def picture(names: list[str]) -> Picture:
    spec = {
        "data": {"values": [{"a": nth, "b": name} for nth, name in enumerate(names)]}, "mark": "bar",
        "encoding": {"x": {"field": "a", "type": "quantitative"}, "y": {"field": "b", "type": "nominal"}, "detail": {"field": "b"}},
    }  # fmt: skip
    return Picture("x", "t", "a", spec, NumberTable((), ()))


@pytest.mark.slow
def test_a_name_that_every_object_has_and_one_of_rare_characters_are_drawn() -> None:
    svg = draw.draw(picture(["constructor", "__proto__", "hasOwnProperty", "\U00020000" * 300]))
    assert all(f">{name}" in svg for name in ("constructor", "__proto__", "hasOwnProperty", "\U00020000"))


def test_a_picture_that_cannot_be_drawn_says_so_and_the_others_are_drawn() -> None:
    bad = replace(picture(["a"]), name="bad", spec=picture(["a"]).spec | {"mark": "nonsense"}, title="<b>")
    endless = replace(picture([]), name="endless", spec={"data": {"values": [{"a": float("inf")}]}, "mark": "point"})
    drawn = draw.draw_all([bad, endless, picture(["a"])])
    assert [name for name, svg in drawn.items() if "cannot be drawn" in svg] == ["bad", "endless"]
    assert "&lt;b&gt;" in drawn["bad"] and len(drawn) == 3


@pytest.mark.skipif(os.name == "nt", reason="links are others there")
def test_a_folder_that_turns_into_a_link_leads_nowhere(tmp_path: Path) -> None:
    for folder in ("in/real", "out"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "file").write_text(folder)
    base = str(tmp_path / "in")
    os.close(open_below(base, ["real", "file"]))
    (tmp_path / "in" / "linked").symlink_to(tmp_path / "out")
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for names in (["linked", "file"], ["real", "nothing"], ["real", "file", "more"], ["nowhere", "file"]):
        with pytest.raises(OSError, match=r"Errno"):
            open_below(base, names)
    assert before == (len(os.listdir("/proc/self/fd")) if before else 0), "no handle is left open"


def test_hidden_files_are_not_given_away_wherever_they_are(tmp_path: Path) -> None:
    for name in ("runs/.env", "runs/.git/config", "runs/plain"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert opened(str(tmp_path), "/runs/.env") is None and opened(str(tmp_path), "/runs/%2egit/config") is None
    found = opened(str(tmp_path), "/runs/plain")
    assert found is not None
    found[0].close()
    assert opened(str(tmp_path), "/a" * 5000) is None


@pytest.mark.skipif(os.name == "nt", reason="links and pipes are others there")
def test_only_what_is_of_its_kind_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "old.svg").write_text("<svg xmlns old")
    (tmp_path / "empty").write_text("")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "later")
    os.mkfifo(tmp_path / "pipe")
    for name in ("old.svg", "empty", "new", "pipe"):
        check(str(tmp_path / name), b"<svg xmlns")
    for name in ("mine", "link", "dangling", "."):
        with pytest.raises(UsageError, match="is left as it is"):
            check(str(tmp_path / name), b"<svg xmlns")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(Site(lambda: "page", lambda: ""), str(tmp_path), 0, patience=0.3) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@pytest.mark.slow
def test_a_request_that_comes_bit_by_bit_is_hung_up_on(server: Server) -> None:
    with socket.create_connection(server.server_address[:2]) as connection, pytest.raises(ConnectionError):
        while True:
            connection.sendall(b"X")
            time.sleep(0.02)

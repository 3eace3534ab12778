"""The state that a page keeps, what has changed since it, and whatever else may stand in its place."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import page_made
import pytest
from filled_records import filled
from hypothesis import given
from hypothesis import strategies as st

from skill_health.core.errors import UsageError
from skill_health.documents._record import record_values
from skill_health.documents.page_data import PageState
from skill_health.page.data.changes import FIELDS, FOREIGN, STATE, changes, read_state, with_basis
from skill_health.page.html import embedded

DAMAGED = "the state in the last page is damaged: what has changed since is not known"


def skill(**more: Any) -> dict[str, Any]:
    base = {
        "name": "plums", "verdict": "helps", "score": 0.9, "recall": 0.8, "recall_model": "maker:m", "effect": 0.2,
        "effect_verdict": "helps", "tokens": 40, "stale_claims": 0,
    }  # fmt: skip
    return base | more


def state(as_of: str = "2026-11-20", **skills: dict[str, Any]) -> PageState:
    return filled(PageState, {"schema": STATE, "as_of": as_of, "version": "0.1.0", "skills": skills})


def told(as_of: str = "2026-11-20", **skills: dict[str, Any]) -> dict[str, Any]:
    return record_values(state(as_of, **skills))


def page(value: PageState | str) -> str:
    text = value if isinstance(value, str) else embedded(record_values(value))
    return f'<html><script type="application/json" id="skill-health-state">{text}</script><p>more</p></html>'


def kept(folder: Path, text: str | bytes) -> str:
    file = folder / "index.html"
    file.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
    return str(file)


def test_the_state_of_a_page_is_read_back(tmp_path: Path) -> None:
    own = page_made.page().own.state
    assert read_state(kept(tmp_path, page(own))) == (own, ())


def test_markup_in_a_name_does_not_end_the_state(tmp_path: Path) -> None:
    own = with_basis(state(a=skill(name=page_made.NASTY)), None)
    assert read_state(kept(tmp_path, page(own))) == (own, ())


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "null", "NaN", "[" * 100_000, '{"schema": "x"}', embedded(told() | {"as_of": 1}),
        embedded(told() | {"skills": []}), embedded(told(a=skill(score="much"))),
        embedded(told(a=skill(score=True))), embedded(told(a=skill(name=1))), embedded(told() | {"skills": {"a": 1}}),
        embedded(told() | {"previous": 1}), embedded(told() | {"previous": {}}), '{"schema": "' + STATE,
        embedded(told(a=skill())).replace("0.9", "1e999"), embedded(told(a=skill())).replace("40", "1e99"),
    ],
)  # fmt: skip
def test_a_damaged_state_costs_a_note(text: str, tmp_path: Path) -> None:
    assert read_state(kept(tmp_path, page(text))) == (None, (DAMAGED,))


@pytest.mark.parametrize("text", [b"<html>foreign</html>", b"\xff\xfe\x00", b"\x00" * 9])
def test_another_file_costs_a_note(text: bytes, tmp_path: Path) -> None:
    assert read_state(kept(tmp_path, text)) == (None, (FOREIGN,))


def test_what_is_no_file_costs_a_note(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for place in (tmp_path, tmp_path / "pipe", tmp_path / "loop"):
        assert read_state(str(place)) == (None, (FOREIGN,))


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_file_is_no_page_and_no_mistake(text: str, tmp_path: Path) -> None:
    assert read_state(kept(tmp_path, text)) == (None, ())
    assert read_state(str(tmp_path / "absent")) == (None, ())


@given(st.data())
def test_a_page_that_is_cut_or_changed_raises_nothing(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    raw = bytearray(page(with_basis(state(a=skill(), b=skill(name="b")), state("2026-11-01"))).encode())
    folder = tmp_path_factory.mktemp("p")
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(raw) - 1))
        raw[at : at + data.draw(st.integers(0, 40))] = data.draw(st.binary(max_size=3))
        raw = raw or bytearray(b"x")
    found, notes = read_state(kept(folder, bytes(raw)))
    assert found is not None or notes
    if found is not None:
        changes(with_basis(state(a=skill()), found))


def test_what_has_changed() -> None:
    old = state("2026-11-01", a=skill(), b=skill(name="b"), c=skill(name="c"))
    new = state(a=skill(), b=skill(name="b", verdict="harmful", score=None, tokens=41), d=skill(name="d"))
    found = changes(with_basis(new, old))
    assert found is not None and json.loads(json.dumps(record_values(found))) == {
        "since": {"as_of": "2026-11-01", "version": "0.1.0"},
        "added": [{"path": "d", "name": "d"}],
        "removed": [{"path": "c", "name": "c"}],
        "skills": [{"path": "b", "name": "b", "what": [
            {"field": "verdict", "before": "helps", "after": "harmful"}, {"field": "score", "before": 0.9, "after": None},
            {"field": "tokens", "before": 40, "after": 41},
        ]}],
    }  # fmt: skip
    assert set(FIELDS) == set(skill())


SKILLS = st.dictionaries(
    st.sampled_from("abc"), st.builds(skill, score=st.sampled_from([0.5, None]), tokens=st.integers(0, 2))
)


@given(st.lists(SKILLS, min_size=1, max_size=5))
def test_rebuilding_with_the_same_input_changes_nothing(days: list[dict[str, Any]]) -> None:
    old = None
    for at, skills in enumerate(days):
        new = with_basis(state(f"2026-11-0{at + 1}", **skills), old)
        again = with_basis(state(f"2026-11-0{at + 1}", **skills), new)
        assert again == new
        assert changes(again) == changes(new)
        before = next((known for known in reversed(days[:at]) if known != skills), None)
        if old is not None and old.skills != new.skills:
            assert before is not None and new.previous is not None
            assert new.previous.skills == old.skills == state(**before).skills
        old = new


def test_the_state_rests_on_no_simulation() -> None:
    skills = page_made.page().own.state.skills
    real = {line.skill: line for line in page_made.page().effect_history if not line.simulated}
    for each in skills.values():
        line = real.get(each.name)
        assert each.effect == (line.delta.value if line else None)
        assert each.effect_verdict == (line.verdict if line else None)
        assert each.recall_model in (page_made.REAL, None)
    assert sum(each.recall is not None for each in skills.values()) == 4


@pytest.mark.slow
def test_a_page_after_another_tells_what_has_changed(tmp_path: Path) -> None:
    root = page_made.make(tmp_path, days=1, effects=False, router=False)
    first = page_made.read(root)
    assert first.own.changes is None
    last = kept(tmp_path, page(first.own.state))
    assert page_made.read(root, last=last).own == first.own
    (root / "skills/skill-1/SKILL.md").write_text("---\nname: skill-1\n---\n")
    second = page_made.read(root, last=last).own.changes
    assert second is not None and [each.path for each in second.skills] == ["skills/skill-1/SKILL.md"]
    what: dict[str, Any] = {each.field: (each.before, each.after) for each in second.skills[0].what}
    assert what["verdict"] == ("passing", "fail")
    assert what["score"][1] < what["score"][0]


def test_a_state_beside_the_page_that_cannot_be_read_is_not_taken_for_none(tmp_path: Path) -> None:
    (tmp_path / "index.state.json").mkdir()
    with pytest.raises(UsageError, match=r"index\.state\.json"):
        read_state(str(tmp_path / "index.html"))

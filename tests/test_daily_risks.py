"""The risks of a day: rated once, kept with the run, held against an earlier one, and read by `status`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from fixture_types import Run, Write
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from records_made import daily_run, daily_skill

from skill_health.config.settings import Config, Daily
from skill_health.core.errors import UsageError
from skill_health.daily.drift_report import risk_sections
from skill_health.daily.risks import RiskRater, find_risk_changes, rate_today, read_last_rated
from skill_health.daily.states import append_state, pack_run
from skill_health.discovery.corpus import discover
from skill_health.documents._record import encode_record, record_values
from skill_health.documents.daily_line import DailyLine
from skill_health.documents.daily_run import DailyAlike, DailyRisk, DailyRun, RiskBasis
from skill_health.documents.drift_report import RenamedSkill
from skill_health.documents.router_risk import AlikeShare, RatedRisk, RiskReport, RiskValidation
from skill_health.router.risk.assess import load_model
from skill_health.status.risks import risk_key

BASIS = RiskBasis(
    model="m" * 32, listing="full", key="k" * 32, notes=(), collections=6, skills=111, lost=31, auc=0.75, low=0.6,
    high=0.9,
)  # fmt: skip
ALIKE = DailyAlike(skills=30, lost=15, low=0.3, high=0.7)
DEFAULTS = Config()
LIMITS = Daily(risk_change=0.1, high_risk=0.5)
SKILL = "---\nname: {0}\ndescription: {1}\n---\n# {0}\n\n{2}\n"
BODY = "Draw a chart from the table that the user names.\n\nA line chart suits numbers over time and months."


def risk(probability: float, thief: str = "", words: tuple[str, ...] = ()) -> DailyRisk:
    return DailyRisk(listed="s", probability=probability, alike=ALIKE, passages=4, lost=2, thief=thief, words=words)


def day(number: int, risks: Mapping[str, DailyRisk | None], basis: RiskBasis | None = BASIS, **more: Any) -> DailyRun:
    """A run over these skills; None: a skill without a risk."""
    skills = {path: daily_skill(path, risk=own) for path, own in risks.items()}
    return replace(daily_run(number), skills=skills, risk=basis, **more)


def report(*rated: tuple[str, float | None]) -> RiskReport:
    alike = AlikeShare(skills=30, lost=15, low=0.3, high=0.7)
    return RiskReport(
        schema="skill-health/router-risk/1", listing="full", notes=("mind the size",),
        validation=RiskValidation(collections=6, skills=111, lost=31, auc=0.75, low=0.6, high=0.9),
        skills=tuple(
            RatedRisk(
                skill=path, path=path, probability=chance, alike=None if chance is None else alike, passages=4, lost=2,
                thief="t\udc80", taken=2, nearest="", similarity=0.0, missing_words=0.5, words=("w\udc80",), trigger=True,
                cuts=(), note="",
            )
            for path, chance in rated
        ),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after", "named"),
    [
        pytest.param(0.2, 0.31, (0.2, 0.31), id="rose"), pytest.param(0.31, 0.2, (0.31, 0.2), id="fell"),
        pytest.param(0.2, 0.3, None, id="by just that much"), pytest.param(0.6, 0.6, None, id="stayed"),
        pytest.param(None, 0.9, None, id="not known before"), pytest.param(0.9, None, None, id="not known now"),
    ],
)  # fmt: skip
def test_a_risk_that_moves_is_named(
    before: float | None, after: float | None, named: tuple[float, float] | None
) -> None:
    old = day(1, {"a": None if before is None else risk(before)})
    found = find_risk_changes(old, day(2, {"a": None if after is None else risk(after)}), (), (), LIMITS)
    assert found is not None and found.compared and found.added == ()
    assert [(each.before, each.after) for each in found.moved] == ([named] if named else [])


def test_new_skills_of_high_risk_are_named_and_words_are_those_lost_since() -> None:
    old = day(1, {"a": risk(0.1, "x", ("kept",)), "gone": risk(0.9), "was": risk(0.1)})
    now = day(
        2, {"a": risk(0.6, "y", ("kept", "lost")), "new": risk(0.5, words=("w",)), "low": risk(0.49), "is": risk(0.4)}
    )
    renamed = (RenamedSkill(from_="was", to="is"),)
    found = find_risk_changes(old, now, ("low", "new"), renamed, LIMITS)
    assert found is not None
    assert [(each.path, each.thief, each.words) for each in found.moved] == [("a", "y", ("lost",)), ("is", "", ())]
    assert [(each.path, each.before, each.words) for each in found.added] == [("new", None, ("w",))]
    rose, new = risk_sections(found, "up/")
    assert new.title == "New skills with a high risk of losing requests" != rose.title
    texts = [
        [(item.text, [each.split(": ")[1] for each in item.details]) for item in part.items] for part in (rose, new)
    ]
    assert texts == [[("up/a: 10 -> 60 %", ["y", "lost"]), ("up/is: 10 -> 40 %", [])], [("up/new: 50 %", ["w"])]]
    assert all("AUC 0.75 [0.60, 0.90] on 111 skills (31 lost) of 6" in part.note for part in risk_sections(found))


@pytest.mark.parametrize(
    "before",
    [
        day(1, {"a": risk(0.1)}, None), day(1, {"a": risk(0.1)}, replace(BASIS, model="other")),
        day(1, {"a": risk(0.1)}, replace(BASIS, listing="codex")), day(1, {"a": risk(0.1)}, version="0.0.9"),
    ],
    ids=["an early run", "another model", "another listing", "another version"],
)  # fmt: skip
def test_what_was_rated_otherwise_is_not_compared(before: DailyRun) -> None:
    found = find_risk_changes(before, day(2, {"a": risk(0.9), "b": risk(0.9)}), ("b",), (), LIMITS)
    assert found is not None and not found.compared and found.moved == ()
    assert [each.path for each in found.added] == ["b"]


def test_a_first_run_names_nothing_and_one_without_risks_has_none() -> None:
    found = find_risk_changes(None, day(1, {"a": risk(0.9)}), (), (), LIMITS)
    assert found is not None and (found.compared, found.moved, found.added) == (False, (), ())
    assert find_risk_changes(day(1, {"a": risk(0.9)}), day(2, {"a": None}, None), (), (), LIMITS) is None
    assert list(risk_sections(None)) == []


def test_what_to_mind_stands_with_the_section() -> None:
    now = day(2, {"a": risk(0.9)}, replace(BASIS, notes=("trust the order",)))
    found = find_risk_changes(day(1, {"a": risk(0.1)}), now, (), (), LIMITS)
    assert found is not None and found.notes == ("trust the order",)
    (section,) = risk_sections(found)
    assert section.bad and section.note.endswith("; trust the order.")


def refuse() -> RiskReport:
    raise UsageError("two skills are called the same")


def test_what_is_known_is_not_rated_again() -> None:
    old, now = day(1, {"a": risk(0.4)}), day(2, {"a": None}, None)
    line, note = rate_today(now, RiskRater(BASIS.model, refuse), "full", BASIS.key, (None, old))
    assert (note, line.risk, line.skills["a"].risk) == ("", BASIS, risk(0.4))
    for changes in ({"paths": ("other",)}, {"risk": None}, {"risk": replace(BASIS, model="o")}):
        line, note = rate_today(now, RiskRater(BASIS.model, refuse), "full", BASIS.key, (replace(old, **changes),))
        assert line == now and note.endswith("is not known: two skills are called the same")


def test_a_rated_day_is_kept_as_it_was_rated() -> None:
    found = report(("a", 0.7), ("b", None), ("not asked for", 0.9))
    now = day(2, {"a": None, "b": None, "copy": None}, None)
    line, note = rate_today(now, RiskRater("m", lambda: found), "codex", "k", ())
    assert note == "" and line.skills.keys() == now.skills.keys()
    kept = line.skills["a"].risk
    assert kept is not None and kept.listed == "a" and (kept.probability, kept.lost, kept.passages) == (0.7, 2, 4)
    assert line.skills["b"].risk is None and line.skills["copy"].risk is None
    assert line.risk is not None and (line.risk.model, line.risk.listing, line.risk.key) == ("m", "codex", "k")
    assert (line.risk.auc, line.risk.skills, line.risk.notes) == (0.75, 111, ("mind the size",))
    encode_record(line)  # what strangers wrote may hold halves of surrogate pairs


risks = st.one_of(st.none(), st.builds(risk, st.floats(0, 1), st.text(max_size=5), st.tuples(st.text(max_size=5))))


@pytest.mark.slow
@given(days=st.lists(st.dictionaries(st.sampled_from("abcd"), risks), min_size=1, max_size=4))
def test_the_last_rated_run_is_read_back(days: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("r")
    runs = [day(at + 1, dict(sorted(each.items()))) for at, each in enumerate(days)]
    keep(folder, *runs, replace(daily_run(20), skills={}))
    with (folder / "skill-health-history.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"risk": [torn\n{"risk": 1}\n')
    assert read_last_rated(str(folder)) == (runs[-1], ())


def keep(folder: Path, *runs: DailyRun) -> None:
    """Write a history of these runs, each state whole."""
    with (folder / "skill-health-history.jsonl").open("a", encoding="utf-8") as file:
        for run in runs:
            line, state = pack_run(run, None)
            append_state(str(folder / "skill-health-states.jsonl"), state)
            file.write(json.dumps(record_values(line)) + "\n")


def test_histories_without_risks_are_read_on(tmp_path: Path) -> None:
    assert read_last_rated(str(tmp_path)) == (None, ())
    line, _ = pack_run(day(1, {"a": None}, None), None)
    told = record_values(line)
    assert "risk" not in told  # as early versions wrote it
    keep(tmp_path, day(1, {"a": None}, None))
    assert read_last_rated(str(tmp_path)) == (None, ())
    assert isinstance(line, DailyLine) and line.risk is None
    (tmp_path / "skill-health-states.jsonl").write_text("")
    keep(tmp_path, day(2, {"a": risk(0.5)}))
    (tmp_path / "skill-health-states.jsonl").write_text("")
    found, (note,) = read_last_rated(str(tmp_path))
    assert found is None and "skill-health-states.jsonl" in note


@pytest.mark.parametrize("name", ["skill-health-history.jsonl", "skill-health-states.jsonl"])
def test_risks_that_are_lost_are_told(name: str, tmp_path: Path) -> None:
    keep(tmp_path, day(1, {"a": risk(0.5)}))
    for text in ("", "garbage\n"):
        (tmp_path / name).write_text(text)
        found, (note,) = read_last_rated(str(tmp_path))
        assert found is None and name in note
    (tmp_path / name).unlink()
    (tmp_path / name).mkdir()
    with pytest.raises(UsageError, match=name):
        read_last_rated(str(tmp_path))


def key_of(root: Path, config: Config = DEFAULTS, names: Mapping[str, tuple[str, ...]] | None = None) -> str:
    found = discover((str(root),), config, str(root))
    return risk_key(str(root), config, "1", found.entries[::-1], names or {})


def test_a_key_tells_what_was_rated(write: Write) -> None:
    root = write({"skills/a/SKILL.md": SKILL.format("a", "Sorts.", BODY), "skills/b/SKILL.md": "b"})
    keys = [key_of(root), key_of(root, Config(router=DEFAULTS.router._replace(listing="codex")))]
    keys += [key_of(root, Config(listing={"codex": {"limit": 9}})), key_of(root, names={"skills/a/SKILL.md": ("p:a",)})]
    assert key_of(root) == keys[0]
    (root / "skills/b/SKILL.md").write_text("c")
    keys.append(key_of(root))
    (root / "skills/b/SKILL.md").unlink()
    keys.append(key_of(root))
    assert len(set(keys)) == len(keys)


TELLING = "Draws charts from tables of invoices where numbers should be seen over time."


def collection() -> dict[str, str]:
    rows = (
        ("charts", "Draws charts from tables. Use when numbers should be seen.", BODY),
        ("helper", TELLING, "Draw charts from tables.\n\nInvoices are drawn as charts of invoices over time."),
        ("mail", "Writes letters.", "Write a letter to everybody on the given list."),
    )
    return {f"skills/{row[0]}/SKILL.md": SKILL.format(*row) for row in rows}


def test_daily_names_what_moved_and_status_shows_what_it_kept(run: Run, write: Write) -> None:
    root = write(collection())
    first = json.loads(run("daily", "--time=2026-11-20T04:00:00Z", "--format=json", cwd=root).stdout)
    assert (first["risk"]["compared"], first["risk"]["moved"], first["risk"]["added"]) == (False, [], [])
    text = (root / "skills/helper/SKILL.md").read_text(encoding="utf-8")
    (root / "skills/helper/SKILL.md").write_text(text.replace(TELLING, "Helps with things."))
    stale = json.loads(run("status", "--format=json", cwd=root).stdout)
    assert stale["risk"]["changed"] is True and stale["risk"]["time"] == "2026-11-20T04:00:00Z"
    second = json.loads(run("daily", "--time=2026-11-21T04:00:00Z", "--format=json", cwd=root).stdout)
    moved, *_ = second["risk"]["moved"]
    assert moved["path"] == "skills/helper/SKILL.md" and moved["after"] > moved["before"] + 0.1
    assert moved["thief"] == "charts" and "invoices" in moved["words"]
    known = load_model()
    assert second["risk"]["validation"]["auc"] == known.auc and second["risk"]["validation"]["skills"] == known.skills

    told = json.loads(run("status", "--format=json", cwd=root).stdout)
    own = {each["path"]: each["risk"]["probability"] for each in told["skills"]}
    rated = json.loads(run("router", "risk", "--format=json", cwd=root).stdout)
    assert own == {each["path"]: each["probability"] for each in rated["skills"]}
    assert told["risk"]["changed"] is False and told["risk"]["riskiest"] == max(own, key=lambda path: own[path])
    assert sum(each["skills"] for each in told["risk"]["bins"]) == told["risk"]["rated"] == 3
    shown = run("status", cwd=root).stdout
    assert "riskiest: helper" in shown and f"AUC {known.auc:.2f}" in shown
    report = (root / "reports/skill-health-drift.md").read_text(encoding="utf-8")
    assert re.search(r"(?m)^## Risk .*\brose\b", report) and "lacks now" in report


def test_another_listing_is_said_and_not_compared(run: Run, write: Write) -> None:
    root = write(collection())
    run("daily", "--time=2026-11-20T04:00:00Z", cwd=root)
    (root / "skill-health.toml").write_text('[router]\nlisting = "codex"\n')
    again = run("daily", "--time=2026-11-21T04:00:00Z", cwd=root).stdout
    assert "Note: risks are not compared: another version, model or listing gave those of 2026-11-20." in again


def test_a_configuration_without_risk_has_none(run: Run, write: Write) -> None:
    root = write(collection() | {"skill-health.toml": "[daily]\nrisk = false\n"})
    assert json.loads(run("daily", "--format=json", cwd=root).stdout)["risk"] is None
    assert "risk" not in json.loads(run("status", "--format=json", cwd=root).stdout)


def test_namesakes_do_not_stop_the_day(run: Run, write: Write) -> None:
    other = SKILL.format("charts", "Makes plots.", "Plot everything that the user has measured.")
    root = write(collection() | {"other/charts/SKILL.md": other})
    assert run("router", "risk", cwd=root).returncode == 0
    assert run("daily", cwd=root).returncode == 0
    told = json.loads(run("status", "--format=json", cwd=root).stdout)
    assert told["risk"]["rated"] == 4

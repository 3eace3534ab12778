"""The parts of a fleet by themselves: its file, waivers, owners, sketches and states, against oracles and chance."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.core.boundary import Boundary
from skill_health.core.errors import UsageError
from skill_health.documents._record import convert_record
from skill_health.documents.fleet_file import FleetFile, FleetGate, GivenWaiver
from skill_health.documents.fleet_state import FleetState
from skill_health.fleet.check import find_owners, read_owners
from skill_health.fleet.compare import find_copies, find_namesakes, find_near_copies
from skill_health.fleet.load import load_fleet
from skill_health.fleet.remotes import check_address
from skill_health.fleet.sketch import (
    NEAR,
    SIZE,
    Sketch,
    draw_sketch,
    find_near,
    pack_sketch,
    shared_passages,
    unpack_sketch,
)
from skill_health.fleet.states import StateStore
from skill_health.fleet.waivers import apply_waivers, judge_waivers
from skill_health.text.fingerprints import fingerprints, words_of

EITHER = "either a path or an address"
NO_ADDRESS = "no address"
GOOD = '[[repository]]\nname = "a"\npath = "a"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "repository"),
        ("repository = []", "repository"),
        (GOOD + GOOD, ":5: "),
        (GOOD.replace('"a"\npath', '"A"\npath') + GOOD, "a second repository is called a"),
        ('[[repository]]\nname = "a"\n', EITHER),
        (GOOD + 'address = "https://x/y"\n', EITHER),
        (GOOD + 'branch = "main"\n', "a branch goes with an address"),
        ('[[repository]]\nname = "../a"\npath = "a"\n', ":2: repository[0].name"),
        ('[[repository]]\nname = "a"\naddress = "ext::sh -c x"\n', NO_ADDRESS),
        ('[[repository]]\nname = "a"\naddress = "--upload-pack=x"\n', NO_ADDRESS),
        ('[[repository]]\nname = "a"\naddress = "https://x/y"\nbranch = "--x"\n', "branch"),
        ('[[repository]]\nname = "a"\naddress = "https://x/y"\nbranch = "a..b"\n', "no name of a branch"),
        (GOOD + 'folder = "../up"\n', "../up"),
        (GOOD + 'folder = "/etc"\n', "/etc"),
        (GOOD + 'ownr = "x"\n', "ownr"),
        ('fail-on = "sometimes"\n' + GOOD, "fail-on"),
        (GOOD + '[[waiver]]\nrule = "LI001"\nuntil = "2026-12-31"\n', "reason"),
        (GOOD + '[[waiver]]\nrule = "LI001"\nreason = " "\nuntil = "2026-12-31"\n', "reason"),
        (GOOD + '[[waiver]]\nrule = "LI001"\nreason = "x"\n', "until"),
        (GOOD + '[[waiver]]\nrule = "LI001"\nreason = "x"\nuntil = "2026-02-30"\n', "no day of the calendar"),
        (GOOD + '[[waiver]]\nrule = "LI001"\nreason = "x"\nuntil = "soon"\n', "until"),
        (GOOD + '[[waiver]]\nrule = "LI001"\nreason = "x"\nuntil = 2026-12-31T00:00:00\n', "until"),
        (GOOD + '[[waiver]]\nrule = "LI001"\nreason = "x"\nuntil = 2026-12-31\nskill = "# x"\n', "matches nothing"),
        ("title = [", "TOML"),
    ],
)
def test_each_mistake_in_the_file_has_one_clear_line(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "fleet.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as told:
        load_fleet(str(file))
    message = str(told.value)
    assert said in message and "fleet.toml" in message and "\n" not in message


def test_the_command_knows_every_gate() -> None:
    from skill_health.commands.fleet import command

    choices = next(each.type.choices for each in command.params if each.name == "fail_on")  # type: ignore[attr-defined]
    assert list(choices) == [each.value for each in FleetGate]


def test_a_file_that_is_not_there() -> None:
    with pytest.raises(UsageError, match="cannot read"):
        load_fleet("nowhere.toml")


def test_days_are_read_in_both_forms(tmp_path: Path) -> None:
    file = tmp_path / "fleet.toml"
    waiver = '[[waiver]]\nrule = "LI"\nreason = "x"\nuntil = '
    file.write_text(f'{GOOD}{waiver}2026-12-31\n{waiver}"2027-01-01"\n', encoding="utf-8")
    assert [each.until for each in load_fleet(str(file)).waiver] == ["2026-12-31", "2027-01-01"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=12), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_any_values_are_a_fleet_or_a_mistake(one: Any, other: Any) -> None:
    for values in (one, {"repository": one, "waiver": other}, {"repository": [one], "waiver": [other]}):
        try:
            convert_record(values, FleetFile)
        except ValueError as error:
            assert str(error)


@given(st.text(max_size=60) | st.from_regex(r"\A(https|ssh|ext|file|fd)(://|::)[a-z@:./-]{0,20}\Z"))
def test_no_accepted_address_is_an_option_or_names_a_program(address: str) -> None:
    try:
        check_address(address)
    except UsageError as error:
        assert "\n" not in str(error)
        return
    assert address[0] != "-" and "::" not in address.partition("//")[0] and " " not in address
    assert address.isprintable()


def made_state(skills: dict[str, str], findings: Sequence[tuple[str, str, str]] = ()) -> FleetState:
    """A state of skills (path: text) and findings (skill, severity, code)."""
    from skill_health.core.files import blake2b

    run_skills, kept = {}, {}
    for path, text in skills.items():
        sketch = draw_sketch(text)
        run_skills[path] = {
            "name": path.split("/")[-2], "score": 1.0, "flagged": False, "components": {}, "evidence": {},
            "counts": {}, "description": None, "listed": True, "tokens": 1, "lines": 1, "findings": [],
        }  # fmt: skip
        digest = blake2b(text.encode(), digest_size=16).hexdigest()
        kept[path] = {
            "text": digest, "whole": digest, "sketch": pack_sketch(sketch), "passages": sketch.total, "owners": [],
        }  # fmt: skip
    zero = "0" * 32
    run = {
        "schema": "skill-health/history/1", "time": "2026-11-01T04:00:00Z", "commit": None, "dirty": None, "version": "1",
        "profile": "standard", "configuration": "x", "rules": "y", "as_of": "2026-11-01", "paths": ["."],
        "summary": {"skills": len(skills), "mean": 1.0, "min": 1.0, "max": 1.0, "flagged": 0, "errors": 0, "warnings": 0, "infos": 0},
        "skills": run_skills, "other": [], "claims": None,
    }  # fmt: skip
    values = {
        "schema": "skill-health/fleet-state/1", "seen": {"rules": zero, "basis": zero, "source": zero}, "run": run,
        "skills": kept, "configured": "", "fail_on": "error", "needs_work": "warning", "ignored": 0, "baselined": 0,
        "findings": [
            {
                "skill": skill, "key": f"{severity}:{code}:{at:016x}", "severity": severity, "code": code, "rule": f"rule-{code}",
                "family": "links", "path": skill or "registry.jsonl", "line": 1, "message": "x",
            }
            for at, (skill, severity, code) in enumerate(findings)
        ],
    }  # fmt: skip
    return convert_record(values, FleetState)


FINDINGS = [
    ("skills/a/SKILL.md", "error", "LI001"), ("skills/a/SKILL.md", "warning", "LI002"), ("skills/b/SKILL.md", "info", "FM001"),
    ("", "error", "CL001"),
]  # fmt: skip
STATE = made_state({"skills/a/SKILL.md": "a", "skills/b/SKILL.md": "b"}, FINDINGS)


def waiver(rule: str = "LI001", until: str = "2026-12-31", **more: str) -> GivenWaiver:
    return GivenWaiver(rule=rule, until=until, reason="x", **more)


@pytest.mark.parametrize(
    ("given_waiver", "hidden"),
    [
        (waiver(), {"LI001"}), (waiver("LI"), {"LI001", "LI002"}), (waiver("rule-LI002"), {"LI002"}),
        (waiver("links"), {"LI001", "LI002", "FM001", "CL001"}), (waiver("ALL", skill="skills/b"), {"FM001"}),
        (waiver("ALL", skill="a"), {"LI001", "LI002"}), (waiver("ALL", skill="skills/*"), {"LI001", "LI002", "FM001"}),
        (waiver("ALL", skill="registry.jsonl"), {"CL001"}), (waiver("ALL", skill="skills"), {"LI001", "LI002", "FM001"}),
        (waiver("ALL", repository="home"), {"LI001", "LI002", "FM001", "CL001"}),
        (waiver("ALL", repository="ho*"), {"LI001", "LI002", "FM001", "CL001"}),
        (waiver("ALL", repository="other"), set()), (waiver("li001"), set()), (waiver(until="2026-11-20"), {"LI001"}),
        (waiver(until="2026-11-19"), set()),
    ],
)  # fmt: skip
def test_what_a_waiver_hides(given_waiver: GivenWaiver, hidden: set[str]) -> None:
    found = apply_waivers("home", STATE, (given_waiver,), "2026-11-20")
    assert {each.code for each in STATE.findings} - {each.code for each in found.state.findings} == hidden
    assert found.waived == len(hidden)


RULES = st.sampled_from(["LI001", "LI", "FM", "ALL", "rule-LI002", "links", "XX"])
PATTERNS = st.sampled_from(["**", "skills/a", "b", "*", "skills/*/SKILL.md", "registry.jsonl", "nowhere"])
DAYS = st.dates(date(2026, 1, 1), date(2027, 1, 1))
WAIVERS = st.lists(
    st.builds(lambda rule, skill, day: waiver(rule, day.isoformat(), skill=skill), RULES, PATTERNS, DAYS), max_size=4
)


@given(WAIVERS, DAYS)
def test_waivers_hide_what_the_active_ones_mean_and_nothing_else(waivers: list[GivenWaiver], day: date) -> None:
    now = day.isoformat()
    found = apply_waivers("home", STATE, waivers, now)
    assert found.waived + len(found.state.findings) == len(STATE.findings)
    active = [each for each in waivers if each.until >= now]
    alone = [apply_waivers("home", STATE, (each,), now).state.findings for each in active]
    assert set(found.state.findings) == set(STATE.findings).intersection(*map(set, alone))
    judged = judge_waivers(waivers, found.used, now)
    for given_waiver, each in zip(waivers, judged, strict=True):
        assert (each.status == "expired") == (given_waiver.until < now)
        assert each.status != "unused" or each.findings == 0
        assert each.status != "active" or each.findings > 0
    # Once all have ended nothing is hidden.
    late = (max([day, *(date.fromisoformat(each.until) for each in waivers)]) + timedelta(1)).isoformat()
    assert apply_waivers("home", STATE, waivers, late).state == STATE


OWNERS = """# people
*                 @all
/skills/          @skills  # the folder
skills/a/         @a @b
docs/*            @docs
*.md              @md
/skills/nobody/
with\\ space/      @space
[Section]
!skills/a/        @wrong
/deep/**/SKILL.md deep@example.com
"""


@pytest.mark.parametrize(
    ("path", "owners"),
    [
        ("x.txt", ("@all",)), ("skills/c/run.py", ("@skills",)), ("skills/a/run.py", ("@a", "@b")),
        ("skills/a/SKILL.md", ("@md",)), ("docs/x.txt", ("@docs",)), ("docs/in/x.txt", ("@all",)),
        ("skills/nobody/run.py", ()), ("with space/x.txt", ("@space",)), ("deep/a/b/SKILL.md", ("deep@example.com",)),
    ],
)  # fmt: skip
def test_code_owners(tmp_path: Path, path: str, owners: tuple[str, ...]) -> None:
    (tmp_path / "CODEOWNERS").write_text(OWNERS, encoding="utf-8")
    assert find_owners(read_owners(Boundary(str(tmp_path))), path) == owners


def test_the_first_file_of_owners_counts_and_none_is_none(tmp_path: Path) -> None:
    assert read_owners(Boundary(str(tmp_path))) == () and find_owners((), "x") is None
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github/CODEOWNERS").write_text("* @first\n", encoding="utf-8")
    (tmp_path / "CODEOWNERS").write_text("* @second\n", encoding="utf-8")
    assert find_owners(read_owners(Boundary(str(tmp_path))), "x") == ("@first",)


@given(st.text(max_size=300))
def test_any_file_of_owners_is_read(text: str) -> None:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        Path(folder, "CODEOWNERS").write_bytes(text.encode("utf-8", "surrogatepass"))
        lines = read_owners(Boundary(folder))
        find_owners(lines, "skills/a/SKILL.md")


def words(seed: int, n: int) -> list[str]:
    chance = random.Random(seed)
    return [f"w{chance.randrange(5000)}" for _ in range(n)]


def jaccard(one: str, other: str) -> float:
    a, b = ({value for value, _ in fingerprints(words_of(text))} for text in (one, other))
    return len(a & b) / len(a | b)


def edited(text: list[str], share: float, seed: int) -> list[str]:
    chance = random.Random(seed)
    return [f"n{chance.randrange(5000)}" if chance.random() < share else word for word in text]


def test_short_texts_are_compared_exactly() -> None:
    one = words(1, 200)
    for at in range(20):
        other = edited(one, 0.02 * at, at)
        found = shared_passages(draw_sketch(" ".join(one)), draw_sketch(" ".join(other)))
        assert found.value == pytest.approx(jaccard(" ".join(one), " ".join(other)), abs=1e-4)
        assert found.low == found.high == found.value


# 95 % are 190 of 200 and 19 of 20; fewer than these have a chance of less than 1 in 300 if that is right.
@pytest.mark.parametrize(
    ("texts", "least"),
    [pytest.param(20, 16, marks=pytest.mark.slow), pytest.param(200, 180, marks=pytest.mark.exhaustive)],
)
def test_the_interval_of_long_texts_holds_the_true_share(texts: int, least: int) -> None:
    held, errors = 0, []
    for at in range(texts):
        one = words(1000 + at, 4000)
        other = edited(one, 0.04, at)
        true = jaccard(" ".join(one), " ".join(other))
        found = shared_passages(draw_sketch(" ".join(one)), draw_sketch(" ".join(other)))
        assert found.value is not None and found.low is not None and found.high is not None and found.n >= SIZE
        held += found.low <= true <= found.high
        errors.append(found.value - true)
    assert held >= least
    assert abs(sum(errors) / len(errors)) < 0.01


def test_texts_of_different_length_are_compared_over_what_is_known_of_both() -> None:
    long, short = words(7, 6000), words(7, 6000)[:3000]
    true = jaccard(" ".join(long), " ".join(short))
    found = shared_passages(draw_sketch(" ".join(long)), draw_sketch(" ".join(short)))
    assert found.low is not None and found.high is not None and found.low <= true <= found.high


@given(st.lists(st.sets(st.integers(0, 60), min_size=12, max_size=40), max_size=14), st.data())
def test_near_pairs_are_those_that_comparing_all_finds(sets: list[set[int]], data: st.DataObject) -> None:
    sketches = [Sketch(tuple(sorted(each)), len(each)) for each in sets]
    homes = [frozenset(data.draw(st.sets(st.sampled_from("abc"), min_size=1))) for _ in sets]
    best: dict[int, tuple[float, int]] = {}
    for one, other in combinations(range(len(sets)), 2):
        share = len(sets[one] & sets[other]) / len(sets[one] | sets[other])
        if share >= NEAR and len(homes[one] | homes[other]) > 1:
            for at, of in ((one, other), (other, one)):
                best[at] = min(best.get(at, (2.0, 0)), (-share, of))
    expected = {(min(at, other), max(at, other)) for at, (_, other) in best.items()}
    assert {(each.one, each.other) for each in find_near(sketches, homes)} == expected


@given(st.lists(st.integers(0, 2**32 - 1), unique=True, max_size=SIZE))
def test_a_sketch_is_kept_as_it_is(hashes: list[int]) -> None:
    sketch = Sketch(tuple(sorted(hashes)), len(hashes))
    assert unpack_sketch(pack_sketch(sketch), sketch.total) == sketch


def test_a_damaged_sketch_is_none() -> None:
    assert unpack_sketch("no hash!", 3).hashes == ()


def test_copies_near_copies_and_namesakes() -> None:
    text, other = " ".join(words(3, 300)), " ".join(words(4, 300))
    near = " ".join(edited(words(3, 300), 0.01, 1))
    assert NEAR < jaccard(text, near) < 1
    states = {
        "one": made_state({"s/plums/SKILL.md": text, "s/figs/SKILL.md": other, "s/twin/SKILL.md": text}),
        "two": made_state({"s/plums/SKILL.md": near, "x/figs/SKILL.md": other}),
        "three": made_state({"s/PLUMS/SKILL.md": text, "s/own/SKILL.md": " ".join(words(5, 300))}),
    }
    copies = {frozenset((each.repository, each.path) for each in found.places) for found in find_copies(states)}
    assert copies == {
        frozenset({("one", "s/figs/SKILL.md"), ("two", "x/figs/SKILL.md")}),
        frozenset({("one", "s/plums/SKILL.md"), ("one", "s/twin/SKILL.md"), ("three", "s/PLUMS/SKILL.md")}),
    }
    pairs = [
        ((each.one.repository, each.one.path), (each.other.repository, each.other.path))
        for each in find_near_copies(states)
    ]
    assert pairs == [(("one", "s/plums/SKILL.md"), ("two", "s/plums/SKILL.md"))]
    # The same name in one repository is the linter's to tell, and a copy is no different skill.
    names = {found.name: [each.repository for each in found.places] for found in find_namesakes(states)}
    assert names == {"plums": ["one", "three", "two"]} or names == {"PLUMS": ["one", "three", "two"]}


def test_a_state_is_read_as_it_was_written_and_not_when_it_is_damaged(tmp_path: Path) -> None:
    store = StateStore(str(tmp_path))
    key = store.save("home", STATE)
    assert store.read("home", key) == STATE and list(store.finished("home", "")) == [STATE]
    assert not [*store.finished("home", key), *store.finished("other", "")]
    place = next((tmp_path / "states").iterdir())
    data = place.read_bytes()
    for damaged in (
        data[: len(data) // 2], b"", b"{}", data.replace(b"LI001", b"LI009"), b"\xff" + data, b"[" * 10_000,
    ):  # fmt: skip
        place.write_bytes(damaged)
        with pytest.raises(UsageError):
            store.read("home", key)
    assert store.read("home", "0" * 32) is None


def test_only_states_that_we_wrote_and_no_line_names_are_removed(tmp_path: Path) -> None:
    store, folder = StateStore(str(tmp_path)), tmp_path / "states"
    keys = [store.save(name, STATE) for name in ("a", "a-b", "a.b")]
    (folder / f"c@{keys[0]}.json").write_text("of an earlier version", encoding="utf-8")
    kept = {"notes.txt", f"d@{keys[0]}.json", f"a@{'1' * 32}.json"}
    for name in kept:
        (folder / name).write_text("mine", encoding="utf-8")
    links = {f"a@{'2' * 32}.json": f"a-b@{keys[1]}.json", f"a@{'3' * 32}.json": "gone"}
    for name, to in links.items():
        (folder / name).symlink_to(to)
    named = [("c", keys[0]), ("a", "2" * 32), ("a", "3" * 32), ("gone", keys[0])]
    store.prune([("a-b", keys[1])], named)
    assert {each.name for each in folder.iterdir()} == {f"a-b@{keys[1]}.json", *kept, *links}


def test_the_schema_of_the_file_says_what_is_read(tmp_path: Path) -> None:
    import tomllib

    from jsonschema import Draft202012Validator, ValidationError

    from skill_health.core import validation

    text = (
        'title = "x"\nreports = "r"\nfail-on = "errors"\nconfig = "c.toml"\n'
        + GOOD
        + 'owner = "@x"\nfolder = "f"\n[[waiver]]\nrule = "LI"\nrepository = "a"\nskill = "b"\nreason = "r"\nuntil = "2026-12-31"\n'
    )
    file = tmp_path / "fleet.toml"
    file.write_text(text, encoding="utf-8")
    load_fleet(str(file))
    schema = validation.load_schema("fleet-file")
    Draft202012Validator(schema).validate(tomllib.loads(text))
    for wrong in ("fail_on", "repositories"):
        with pytest.raises(ValidationError):
            Draft202012Validator(schema).validate({**tomllib.loads(text), wrong: "errors"})

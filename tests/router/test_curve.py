"""Routing against the size of the library: nested libraries, one run each, figures side by side."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from callers import KEY, KEY_ENV
from hypothesis import given
from hypothesis import strategies as st
from loopback import Loopback, Seen, answer, failure, listed, ranking

from skill_health.commands.router import command as group
from skill_health.core.errors import AbortedError, UsageError
from skill_health.core.validation import problems
from skill_health.discovery.hosts import Host
from skill_health.documents._record import convert_record
from skill_health.documents.router_curve import RouterCurve
from skill_health.router.curve.document import blocks
from skill_health.router.curve.measure import USUAL, nested_libraries
from skill_health.router.instrument.planted import NAME
from skill_health.router.records import Catalogue, ListedSkill, Prompt
from skill_health.text.blocks import as_markdown, as_text

SKILLS = tuple(
    ListedSkill(f"skill-{n:02}", f"Does {n}.", description=f"Does {n}.", path=f"{n:02}/SKILL.md") for n in range(30)
)
PROMPTS = (
    Prompt("p", "a", "skill-03", acceptable=("skill-20",)), Prompt("q", "b", "skill-17", rejected=("skill-09",)),
    Prompt("r", "c", None), Prompt("s", "d", "gone"),
)  # fmt: skip
ABOUT = {"skill-03", "skill-20", "skill-17", "skill-09"}


@given(st.permutations(SKILLS), st.lists(st.integers(4, 30), min_size=1, max_size=5), st.integers(0, 5))
def test_libraries_are_nested_and_keep_what_prompts_are_about(
    skills: list[ListedSkill], sizes: list[int], seed: int
) -> None:
    found = nested_libraries(Catalogue(tuple(skills)), PROMPTS, sizes, seed)
    assert [len(library.shown) for library in found] == sorted(set(sizes))
    names = [set(library.names) for library in found]
    assert all(each >= ABOUT for each in names)
    assert all(small < large for small, large in itertools.pairwise(names))
    again = nested_libraries(Catalogue(SKILLS), PROMPTS[::-1], sizes, seed)
    assert [library.shown for library in again] == [library.shown for library in found]


def test_the_seed_draws_the_others() -> None:
    drawn = {frozenset(nested_libraries(Catalogue(SKILLS), PROMPTS, [8], seed)[0].names) for seed in range(20)}
    assert len(drawn) > 15


@pytest.mark.parametrize(
    ("sizes", "found"), [([], [4, 10, 20, 30]), ([30, 4, 4], [4, 30]), ([3], None), ([31], None), ([5, 31], None)]
)
def test_sizes_are_what_can_be_made(sizes: list[int], found: list[int] | None) -> None:
    if found is None:
        with pytest.raises(UsageError, match="prompts are about 4, which all of them hold, and there are 30"):
            nested_libraries(Catalogue(SKILLS), PROMPTS, sizes, 1)
    else:
        libraries = nested_libraries(Catalogue(SKILLS), PROMPTS, sizes, 1)
        assert [len(library.shown) for library in libraries] == found
    assert list(USUAL) == sorted(set(USUAL))


def test_a_host_lists_a_small_library_more_fully() -> None:
    host = Host("tiny", budget=150, overflow="names")
    whole = Catalogue(SKILLS, "tiny")
    small, large = nested_libraries(whole, PROMPTS, [4, 30], 1, [host])
    assert {skill.state for skill in small.shown} == {"full"}
    assert sum(skill.state == "full" for skill in large.shown) < 30
    with pytest.raises(UsageError, match="there is no listing 'tiny'"):
        nested_libraries(whole, PROMPTS, [4], 1, [])


def oracle(seen: Seen) -> str:
    request = seen.text.rpartition("<<<REQUEST")[2]
    if "quaffle" in request:
        return ranking(NAME)
    found = re.search(r"thing (\d\d)", request)
    name = f"skill-{found[1]}" if found else "none"
    return ranking(name if name in listed(seen) else "none")


def good(seen: Seen) -> Any:
    return answer(seen, oracle(seen), usage=(len(seen.text) // 4, 20))


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(good) as running:
        yield running


@pytest.fixture
def collection(write: Callable[[Mapping[str, str]], Path], server: Loopback, monkeypatch: pytest.MonkeyPatch) -> Path:
    records = [
        {"prompt_id": f"p{n}", "prompt": f"do thing {n:02} for me", "expected_primary_skill": f"skill-{n:02}"}
        for n in range(4)
    ] + [{"prompt_id": "none", "prompt": "hello", "expected_primary_skill": None}]
    root = write({
        **{
            f"skills/skill-{n:02}/SKILL.md": f"---\nname: skill-{n:02}\ndescription: Does thing {n:02}.\n---\n# Do\n"
            for n in range(24)
        },
        "prompts.jsonl": "".join(json.dumps(each) + "\n" for each in records),
        "own.toml": f'[router.providers.local]\nprotocol = "openai"\nbase-url = "{server.url}"\nkey-env = "{KEY_ENV}"\n'
        '[router.prices."local:m"]\ninput = 10.0\noutput = 10.0\n',
    })  # fmt: skip
    monkeypatch.chdir(root)
    monkeypatch.setenv(KEY_ENV, KEY)
    return root


def curve(*given: str, models: str = "local:m,lexical") -> int:
    arguments = ["curve", "--config", "own.toml", "--models", models, "--reps", "2", "--quiet", *given]
    code: int = group.main(arguments, standalone_mode=False)
    return code


def saved(collection: Path) -> RouterCurve:
    values = json.loads((collection / "reports" / "router-curve.json").read_text("utf-8"))
    assert problems("router-curve", values) == []
    return convert_record(values, RouterCurve)


@pytest.mark.slow
def test_a_curve_over_http_costs_more_as_the_library_grows(
    collection: Path, server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    assert curve("--max-runs", "100", "--sizes", "4,12", "--sizes", "24") == 0
    found = saved(collection)
    assert (found.sizes, found.prompts, found.null, found.kept, found.retrieve) == ((4, 12, 24), 5, 1, 4, 0)
    model, local = found.models
    assert (model.model, local.model, local.kind) == ("local:m", "lexical", "local")
    assert [point.top1.value for point in model.points] == [1.0] * 3
    assert [point.top1.n for point in model.points] == [10] * 3 and local.points[0].top1.n == 5
    for name in ("question_tokens", "input_tokens", "cost_usd"):
        values = [getattr(point, name).value for point in model.points]
        assert values == sorted(set(values))
    assert all(point.cost_usd.low is not None for point in model.points)
    assert [point.question_tokens for point in model.points] == [point.question_tokens for point in local.points]
    assert all(point.trusted for point in model.points)
    assert by_length(server) == {5: 6, 13: 6, 25: 6, 4: 10, 12: 10, 24: 10}
    out, err = capsys.readouterr()
    assert "a library of 12 skills:" in err and "in all: 45 calls over 3 libraries" in err
    assert "local:m" in out and "24" in out
    # The runs of parts of the collection are no runs of it.
    assert sorted(path.name for path in (collection / "reports").iterdir()) == ["router-curve", "router-curve.json"]


def by_length(server: Loopback) -> dict[int, int]:
    found: dict[int, int] = {}
    for seen in server.seen:
        found[len(listed(seen))] = found.get(len(listed(seen)), 0) + 1
    return found


@pytest.mark.slow
def test_what_was_stopped_goes_on_and_nothing_is_paid_twice(collection: Path, server: Loopback) -> None:
    server.react = lambda seen: good(seen) if seen.number <= 20 else failure(seen, "no_credit")
    with pytest.raises(AbortedError, match=r"calls are left of the library of 12 skills \(quota"):
        curve("--max-runs", "100", "--sizes", "4,12")
    assert not (collection / "reports" / "router-curve.json").exists()
    there = len(server.seen)
    server.react = good
    assert curve("--max-runs", "100", "--sizes", "4,12") == 0
    assert len(server.seen) - there <= 2 * 16 - 20 + 4
    first = saved(collection)
    asked = len(server.seen)
    assert curve("--max-runs", "100", "--sizes", "4,12") == 0
    assert len(server.seen) == asked
    again = saved(collection)
    assert [model.points for model in again.models] == [model.points for model in first.models]


@pytest.mark.slow
def test_a_cap_is_over_all_libraries(collection: Path, server: Loopback, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(AbortedError, match=r"library of 12 skills .*cap"):
        curve("--max-runs", "20", "--sizes", "4,12,24")
    assert len(server.seen) <= 20
    assert "the cap of 20 calls is below" in capsys.readouterr().err


def test_a_dry_run_asks_nothing_and_writes_nothing(
    collection: Path, server: Loopback, capsys: pytest.CaptureFixture[str]
) -> None:
    assert curve("--dry-run") == 0
    assert not server.seen and not (collection / "reports").exists()
    assert "in all: 60 calls over 4 libraries" in capsys.readouterr().err


@pytest.mark.slow
def test_two_stages_have_a_curve_with_both(collection: Path, server: Loopback) -> None:
    two = ("--retrieve", "3", "--retriever", "lexical")
    assert curve("--max-runs", "100", "--sizes", "4,24", *two, models="local:m") == 0
    found = saved(collection)
    assert (found.retrieve, found.retriever) == (3, "lexical")
    for point in found.models[0].points:
        assert point.retrieved and point.ranked and point.ranked.value == 1.0
        assert point.top1_skill.value == point.retrieved.value
    first, last = (point.input_tokens.value for point in found.models[0].points)
    assert first is not None and last is not None and abs(last - first) < 20
    assert "retrieved" in as_markdown(blocks(found))


@pytest.mark.slow
def test_the_forms_say_the_same_and_no_markup_comes_from_names(
    collection: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for form in ("text", "md", "json"):
        assert curve("--sizes", "4,24", "--format", form, models="lexical") == 0
        out = capsys.readouterr().out
        if form == "json":
            assert problems("router-curve", json.loads(out)) == []
    found = saved(collection)
    model = found.models[0]
    from msgspec.structs import replace

    nasty = replace(found, models=(replace(model, model="<b>|`x`\x1b[2J"),), notes=("[x](http://evil.example)",))
    assert "\x1b" not in as_text(blocks(nasty)) and "<b>" not in as_markdown(blocks(nasty))
    assert "[x](http" not in as_markdown(blocks(nasty))


@pytest.mark.parametrize("sizes", ["x", "0", "-3", "4,,5", "1e3", "99999999999", "٤"])
def test_a_size_that_is_none_is_a_mistake(sizes: str, collection: Path) -> None:
    import click

    with pytest.raises(click.BadParameter, match="--sizes"):
        curve("--sizes", sizes)

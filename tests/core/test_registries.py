"""Registries: every bad line survives with its place, good lines pass, and the schemas say what the reader checks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from skill_health.config.settings import SourceGlobs, Volatility
from skill_health.core.strict_json import JsonProblem, parse_object, read_lines, top_level
from skill_health.core.validation import load_schema, problems
from skill_health.registries.records import (
    SCHEMA_OF,
    Registries,
    due_claims,
    from_json,
    load_registries,
    parse_registries,
    reviews,
)
from skill_health.registries.sources import SourceFile, digest, expand, read_sources

PROMPT = {"prompt_id": "p1", "prompt": "Sort.", "expected_primary_skill": None}
CLAIM = {
    "claim_id": "claim-a-b", "claim_text": "Costs a tenth.", "owning_skill": "a", "source_url": "https://example.com",
    "evidence_strength": "primary", "volatility": "high", "last_reviewed": "2026-11-01",
}  # fmt: skip


def put(root: Path, path: str, content: bytes | str) -> None:
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(content.encode() if isinstance(content, str) else content)


def lines(*rows: Any) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def test_absent_registries_are_none(tmp_path: Path) -> None:
    assert load_registries(str(tmp_path), SourceGlobs()) == Registries()


def test_an_empty_file_is_an_empty_registry(tmp_path: Path) -> None:
    put(tmp_path, "prompts.jsonl", "\n \n")
    found = load_registries(str(tmp_path), SourceGlobs())
    assert (found.prompts, found.claims, found.bad) == ((), None, ())


def test_records_keep_their_lines(tmp_path: Path) -> None:
    put(tmp_path, "prompts.jsonl", "\ufeff" + lines(PROMPT).replace("\n", "\r\n") + "\r\n\n" + lines(PROMPT))
    found = load_registries(str(tmp_path), SourceGlobs())
    assert [(record.line, dict(record.data)) for record in found.prompts or ()] == [(1, PROMPT), (4, PROMPT)]
    assert found.bad == ()


def test_a_file_of_somebody_else_is_left_out_unless_it_is_named(tmp_path: Path) -> None:
    put(tmp_path, "prompts.jsonl", lines({"role": "user"}))
    assert load_registries(str(tmp_path), SourceGlobs()) == Registries()
    named = load_registries(str(tmp_path), SourceGlobs(prompts=("prompts.jsonl",)))
    assert named.prompts == ()
    assert [entry.kind for entry in named.bad] == ["prompts"]


@pytest.mark.parametrize(
    ("line", "place", "message"),
    [
        (b'{"prompt_id": "\xff"}', (1, 16), "UTF-8"), (b'"\xe2\x82\xac', (1, 1), "not closed"),
        (b"nonsense", (1, 1), "not JSON"), (b"[" * 100_000, (1, 1), "nested deeper"),
        (b'{"a":' * 200 + b"1" + b"}" * 200, (1, 1), "nested deeper"),
        (b'{"prompt_id": -Infinity}', (1, 15), "-Infinity is not JSON"),
        (b'{"prompt": "NaN", "prompt_id": NaN}', (1, 32), "NaN is not JSON"),
        (b'{"prompt_id": ' + b"1" * 5000 + b"}", (1, 1), "too many digits"),
        (b'{"prompt_id": 1e999}', (1, 15), "too large"),
        (b'{"prompt_id": "\\ud800"}', (1, 16), "surrogate"),
        (b'{"a": {"b": 1, "b": 2}}', (1, 1), '"b" stands twice'),
        (b'{"prompt_id": "a"} x', (1, 20), "something follows"),
        (b'{"prompt_id": "a\tb"}', (1, 17), "raw control character"),
        (b'{"prompt_id": [1,]}', (1, 17), "a comma stands before"),
        (b"{'prompt_id': 1}", (1, 2), "double quotes"),
        (b"3", (1, 1), "not a JSON object but a number"),
        (b"\xff\xfe{\x00}\x00", (1, 1), "UTF-16"),
    ],
)  # fmt: skip
def test_bad_lines(line: bytes, place: tuple[int, int], message: str) -> None:
    found = parse_registries((SourceFile("prompts", "p.jsonl", line),))
    assert found.prompts == ()
    assert [(entry.line, entry.col) for entry in found.bad] == [place]
    assert message in found.bad[0].message


def test_a_bad_line_spoils_no_other() -> None:
    raw = b'{"prompt_id": "\xff"}\n' + lines(PROMPT).encode() + b'{"prompt_id": "torn'
    found = parse_registries((SourceFile("prompts", "p.jsonl", raw),))
    assert [record.line for record in found.prompts or ()] == [2]
    assert [entry.line for entry in found.bad] == [1, 3]


def test_a_line_of_five_megabytes() -> None:
    raw = lines({**PROMPT, "prompt": "x" * 5_000_000}).encode()
    found = parse_registries((SourceFile("prompts", "p.jsonl", raw),))
    assert len(found.prompts or ()) == 1
    spoiled = parse_registries((SourceFile("prompts", "p.jsonl", raw[:-3]),))
    assert len(spoiled.bad[0].message) < 200


def test_a_broken_record_keeps_its_id() -> None:
    raw = lines({**CLAIM, "volatility": "hgih"}).encode()
    found = parse_registries((SourceFile("claims", "c.jsonl", raw),))
    assert (found.bad[0].record_id, found.bad[0].kind) == ("claim-a-b", "claims")
    assert '"high"' in found.bad[0].message


def test_many_problems_make_one_line() -> None:
    found = parse_registries((SourceFile("claims", "c.jsonl", b'{"claim_id": "claim-a-b"}'),))
    assert found.bad[0].message.endswith("; and 3 more")
    assert "\n" not in found.bad[0].message


def test_tasks_bring_the_path_of_their_prompt(tmp_path: Path) -> None:
    put(tmp_path, "tasks/001-a/metadata.json", json.dumps({"id": "1", "slug": "a", "target_skill": "none"}, indent=2))
    put(tmp_path, "tasks/002-b/metadata.json", json.dumps({"id": "2", "slug": "b", "target_skill": "x"}))
    put(tmp_path, "tasks/001-a/task.md", "Do it.")
    found = load_registries(str(tmp_path), SourceGlobs())
    assert [record.data["task_path"] for record in found.tasks or ()] == ["tasks/001-a/task.md"]
    assert ["task.md is missing" in entry.message for entry in found.bad] == [True]


def test_unreadable_places(tmp_path: Path) -> None:
    (tmp_path / "claims.jsonl").mkdir()
    os.symlink("nowhere", tmp_path / "prompts.jsonl")
    os.symlink("mechanisms.jsonl", tmp_path / "mechanisms.jsonl")
    found = load_registries(str(tmp_path), SourceGlobs())
    assert sorted(entry.path for entry in found.bad) == ["claims.jsonl", "mechanisms.jsonl", "prompts.jsonl"]
    assert all("\n" not in entry.message for entry in found.bad)


def test_a_linked_copy_is_read_once(tmp_path: Path) -> None:
    put(tmp_path, "prompts.jsonl", lines(PROMPT))
    (tmp_path / "registries").mkdir()
    os.symlink("../prompts.jsonl", tmp_path / "registries/prompts.jsonl")
    assert len(load_registries(str(tmp_path), SourceGlobs()).prompts or ()) == 1


def test_the_digest_covers_paths_bytes_and_the_prompts_of_tasks(tmp_path: Path) -> None:
    seen = set()
    for path, content in [
        ("prompts.jsonl", lines(PROMPT)),
        ("registries/prompts.jsonl", lines(PROMPT)),
        ("prompts.jsonl", lines(PROMPT, PROMPT)),
        ("tasks/1/metadata.json", '{"target_skill": "a"}'),
        ("tasks/1/task.md", "x"),
    ]:
        put(tmp_path, path, content)
        seen.add(digest(read_sources(str(tmp_path), SourceGlobs())))
    assert len(seen) == 5
    assert load_registries(str(tmp_path), SourceGlobs()).digest in seen


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a/x.jsonl", ["a/x.jsonl"]),
        ("none.jsonl", []),
        ("*/x.jsonl", ["a/x.jsonl", "b/x.jsonl"]),
        ("**/x.jsonl", ["a/x.jsonl", "b/c/x.jsonl", "b/x.jsonl", "x.jsonl"]),
        ("b/**", ["b/c", "b/c/x.jsonl", "b/x.jsonl"]), ("[ab]/?.jsonl", ["a/x.jsonl", "b/x.jsonl"]),
        (".hidden/*.jsonl", [".hidden/x.jsonl"]), ("./*.jsonl", ["x.jsonl"]),
    ],
)  # fmt: skip
def test_patterns(tmp_path: Path, pattern: str, expected: list[str]) -> None:
    for path in ("x.jsonl", "a/x.jsonl", "b/x.jsonl", "b/c/x.jsonl", ".hidden/x.jsonl"):
        put(tmp_path, path, "")
    os.symlink("..", tmp_path / "b/loop")
    found = sorted(path for path in set(expand(str(tmp_path), pattern)) if "loop" not in path)
    assert found == expected


@given(st.binary(max_size=200))
def test_no_bytes_make_it_fall_over(raw: bytes) -> None:
    for line in read_lines(raw):
        assert (line.data is None) != (line.problem is None)
        assert line.problem is None or 0 <= line.problem.offset <= len(line.text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=20,
    )
)
def test_whatever_json_writes_is_read_back(value: Any) -> None:
    text = json.dumps({"v": value})
    assert parse_object(text) == {"v": value}
    assert top_level(text) == [("v", 1)]


@given(st.text(alphabet='{}[]":,\\u1eN-at ', max_size=40))
def test_only_json_problems_are_raised(text: str) -> None:
    try:
        parse_object(text)
    except JsonProblem as problem:
        assert problem.message


@pytest.mark.parametrize("name", sorted(SCHEMA_OF.values()))
def test_schemas_are_valid_and_versioned(name: str) -> None:
    schema = load_schema(name)
    Draft202012Validator.check_schema(dict(schema))
    assert schema["$id"] == f"skill-health/{name}/1"
    assert all("description" in entry for entry in schema["properties"].values())


@pytest.mark.parametrize("name", sorted(SCHEMA_OF.values()))
@given(
    data=st.dictionaries(
        st.sampled_from(["claim_id", "prompt", "id", "tags", "evidence", "timeout_sec"]),
        st.none() | st.integers() | st.text() | st.lists(st.text()),
    )
)
def test_problems_agree_with_the_schema(name: str, data: dict[str, Any]) -> None:
    schema = dict(load_schema(name))
    valid = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER).is_valid(data)
    assert valid == (not problems(name, data))


def test_unknown_keys_pass_and_near_misses_do_not() -> None:
    assert problems("router-prompt", {**PROMPT, "x_note": 1}) == []
    found = problems("router-prompt", {**PROMPT, "rejected_skils": []})
    assert [problem.message for problem in found] == [
        '"rejected_skils" is not a known key; did you mean "rejected_skills"?'
    ]


def test_reviews_and_what_is_due() -> None:
    rows = [
        {**CLAIM, "claim_id": f"claim-{volatility}-{day}", "volatility": volatility, "last_reviewed": f"2026-10-{day}"}
        for volatility in ("high", "medium", "low")
        for day in ("01", "25")
    ]
    rows.append({**CLAIM, "claim_id": "claim-end-less", "last_reviewed": "9999-12-31"})
    found = parse_registries((SourceFile("claims", "c.jsonl", lines(*rows).encode()),))
    as_of = date(2026, 11, 21)
    overdue = {entry.claim_id: entry.overdue for entry in reviews(found, Volatility(), as_of)}
    assert overdue["claim-high-01"] == 21
    assert overdue["claim-high-25"] == -3
    assert overdue["claim-end-less"] < 0
    assert [entry.claim_id for entry in due_claims(found, Volatility(), as_of, 14)] == ["claim-high-25"]
    assert due_claims(found, Volatility(), as_of, 2) == []
    assert due_claims(Registries(), Volatility(), as_of, 14) == []


def test_jsonschema_is_not_loaded_without_records(tmp_path: Path) -> None:
    put(tmp_path, "prompts.jsonl", "not json, but a prompt_id\n")
    code = (
        "import sys; from skill_health.config.settings import SourceGlobs; from skill_health.registries.records import *;"
        f"load_registries({str(tmp_path)!r}, SourceGlobs(prompts=('prompts.jsonl',)));"
        "sys.exit('jsonschema' in sys.modules or 'difflib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_registries_survive_json(checkout: Path) -> None:
    for collection in ("fixtures", "fixtures/rotten"):
        loaded = load_registries(str(checkout / collection), SourceGlobs())
        assert loaded.prompts and from_json(json.loads(json.dumps(loaded._asdict()))) == loaded

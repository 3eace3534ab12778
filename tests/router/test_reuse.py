"""Answers taken over from an earlier run, counted at the server: the same questions to dated models, once each."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback, Reaction, Seen, answer
from made_collection import answer_rightly
from nursery import CHECKOUT, rows
from test_settle import SORTED, collection

MODEL = "m-2026-02-03"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def right(seen: Seen) -> Reaction:
    return answer(seen, answer_rightly(seen.text, SORTED), model=seen.model)


@pytest.fixture
def server() -> Iterator[Loopback]:
    with Loopback(right) as found:
        yield found


@pytest.fixture
def run(tmp_path: Path, server: Loopback, run_in: Run) -> Run:
    collection(tmp_path / "c")
    lines = (tmp_path / "c/prompts.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "c/prompts.jsonl").write_text("".join(lines[:12]), "utf-8")
    (tmp_path / "more.jsonl").write_text("".join(lines[12:16]), "utf-8")
    prices = "".join(f'[router.prices."here:{name}"]\ninput = 1\noutput = 1\n' for name in (MODEL, "m", "n-20260203"))
    (tmp_path / "s.toml").write_text(
        f'[router.providers.here]\nprotocol = "openai"\nbase-url = "{server.url}/v1"\nconcurrency = 32\n{prices}',
        "utf-8",
    )

    def made(*more: str, models: str = f"here:{MODEL}", reps: int = 2) -> subprocess.CompletedProcess[str]:
        server.seen.clear()
        return run_in(
            CHECKOUT, "router", "run", tmp_path / "c", "--prompts", tmp_path / "c/prompts.jsonl", "--config",
            tmp_path / "s.toml", "--models", models, "--reps", str(reps), "--out", tmp_path / "r", "--quiet", "--max-runs",
            "500", "--no-resume", *more,
        )  # fmt: skip

    return made


def asked(server: Loopback) -> list[Seen]:
    """The calls that were about prompts of ours."""
    return [seen for seen in server.seen if re.search(r"number \d+", seen.text)]


def last(tmp_path: Path) -> Path:
    return max((tmp_path / "r/router").iterdir(), key=lambda path: path.stat().st_mtime_ns)


def results(tmp_path: Path) -> list[dict[str, Any]]:
    return rows(last(tmp_path) / "results.jsonl")


@pytest.mark.slow
def test_only_what_is_new_is_asked_and_the_rest_is_marked(
    run: Run, run_in: Run, server: Loopback, tmp_path: Path
) -> None:
    assert run().returncode == 0
    first, before = last(tmp_path).name, results(tmp_path)
    assert len(asked(server)) == 24
    done = run("--prompts", str(tmp_path / "more.jsonl"), "--reuse", "last", reps=3)
    assert done.returncode == 0, done.stderr
    assert f"taken over from {first}: 24 answers" in done.stderr
    assert len(asked(server)) == 3 * 16 - 24, "no call is paid twice, and no replication rests on another's"
    found = results(tmp_path)
    taken = {(row["prompt_id"], row["replication"]): row for row in found if row.get("taken_from")}
    assert {row["taken_from"] for row in taken.values()} == {first} and len(taken) == 24
    assert {row["cost_usd"] for row in taken.values()} == {0.0}
    same = {(row["prompt_id"], row["replication"]): row["ranking"] for row in before}
    assert {key: row["ranking"] for key, row in taken.items()} == same
    assert "24 answers to the same questions taken over" in (last(tmp_path) / "report.md").read_text()
    second = last(tmp_path).name
    again = run("--prompts", str(tmp_path / "more.jsonl"), "--reuse", second, reps=3)
    assert asked(server) == [] and again.returncode == 0
    assert {row["taken_from"] for row in results(tmp_path)} == {first, second}, "who paid is kept"
    settings = ("--out", tmp_path / "r", "--config", tmp_path / "s.toml")
    compared = run_in(tmp_path / "c", "router", "compare", last(tmp_path), second, *settings)
    assert "no evidence of anything" in compared.stdout, compared.stdout + compared.stderr


def edit_skill(root: Path) -> None:
    path = root / "c/skills/maps-work/SKILL.md"
    path.write_text(path.read_text().replace("Sorts", "Sorts out"), "utf-8")


def edit_prompt(root: Path) -> None:
    path = root / "c/prompts.jsonl"
    path.write_text(path.read_text().replace('number 3"', 'number 333"'), "utf-8")


def relabel(root: Path) -> None:
    records = [json.loads(line) for line in (root / "c/prompts.jsonl").read_text().splitlines()]
    records[5]["expected_primary_skill"] = None
    (root / "c/prompts.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


def nothing(root: Path) -> None:
    """Nothing changes."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "more", "models", "left", "said"),
    [
        (edit_skill, (), f"here:{MODEL}", 24, "the skills as they are listed differ"),
        (nothing, ("--seed", "2"), f"here:{MODEL}", 24, "the orders differ"),
        (nothing, ("--mode", "json_schema"), f"here:{MODEL}", 24, "the mode differs"),
        (nothing, ("--retrieve", "3"), f"here:{MODEL}", 24, "what is retrieved differs"),
        (nothing, (), f"here:{MODEL},here:n-20260203", 24, "24 answers"),
        (edit_prompt, (), f"here:{MODEL}", 2, "22 answers"),
        (relabel, (), f"here:{MODEL}", 2, "22 answers"),
    ],
)
def test_another_question_is_asked(
    run: Run, server: Loopback, tmp_path: Path, change: Callable[[Path], None], more: tuple[str, ...], models: str, left: int, said: str
) -> None:  # fmt: skip
    assert run().returncode == 0
    change(tmp_path)
    done = run("--reuse", "last", *more, models=models)
    assert said in done.stderr, done.stderr
    assert len(asked(server)) == left


@pytest.mark.slow
def test_a_model_without_a_date_or_with_another_answering_is_asked_anew(
    run: Run, server: Loopback, tmp_path: Path
) -> None:
    assert run(models="here:m").returncode == 0
    done = run("--reuse", "last", models="here:m")
    assert len(asked(server)) == 24 and "their names have no date: here:m" in done.stderr
    assert run().returncode == 0
    path = last(tmp_path) / "results.jsonl"
    path.write_text(path.read_text().replace(f'"resolved_model":"{MODEL}"', '"resolved_model":"m-2026-05-05"'), "utf-8")
    done = run("--reuse", "last")
    assert len(asked(server)) == 24 and "0 answers" in done.stderr


@pytest.mark.slow
def test_a_run_that_is_not_there_is_one_line(run: Run) -> None:
    done = run("--reuse", "nowhere")
    assert done.returncode == 2 and "there is no run 'nowhere'" in done.stderr

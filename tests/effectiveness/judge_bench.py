"""A collection whose tasks only a judge can decide, for real agents; and judges of known worth over HTTP."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from agent_server import Play
from effects_made import replace
from judge_made import criterion, parts_of, verdicts
from live_runs import PLAY
from loopback import Loopback, Reaction, Seen, answer
from run_made import rows, the_run, write_collection

from skill_health.effectiveness.rubric.model import make_rubric

TASKS = 10
_FEW = 40
"""Tokens that show what a small model writes on its own."""
WORDS = {"a": "apples", "b": "brooms"}
RUBRIC = make_rubric([criterion("a", "apples"), criterion("b", "brooms", 3)])


def write_judged(root: Path) -> Path:
    """Tasks without a verifier: two criteria each, which a judge decides."""
    write_collection(root, TASKS, 0)
    for number, folder in enumerate(sorted((root / "tasks").iterdir())):
        (folder / "verify.sh").unlink()
        # In every other task the criteria stand the other way round: a judge that goes by their places is no good one.
        order = RUBRIC.criteria[:: 1 if number % 2 else -1]
        criteria = [{"id": each.id, "text": each.text, "points": each.points} for each in order]
        (folder / "rubric.json").write_text(json.dumps({"criteria": criteria}), "utf-8")
        (folder / "task.md").write_text("Write to answer.txt what you see.\n", "utf-8")
    return root


def play(folder: str, final: str = "I wrote what I saw.") -> Play:
    """A model that sees apples, and with a skill brooms as well."""
    work = "printf 'here are apples\\nhere are brooms\\n' > answer.txt"
    return replace(PLAY, folder=folder, work=work, half="printf 'here are apples\\n' > answer.txt", final=final)


def write_labels(root: Path) -> tuple[Path, dict[tuple[str, str], str]]:
    """What people say of the trials of a run: what is so. The file, and the verdicts by trial and criterion."""
    said = {
        (row["folder"].rpartition("/")[2], name): "met" if name == "a" or row["arm"] == "target" else "not_met"
        for row in rows(the_run(root / "reports") / "results.jsonl")
        for name in WORDS
    }
    path = root / "labels.jsonl"
    lines = (
        json.dumps({"trial": trial, "criterion": name, "verdict": word}) + "\n" for (trial, name), word in said.items()
    )
    path.write_text("".join(lines), "utf-8")
    return path, said


def erring(share: float) -> Callable[[Seen], Reaction]:
    """A judge that is wrong of this share of verdicts, drawn anew for each: the same question may get two answers."""

    def judge(seen: Seen) -> Reaction:
        rng = random.Random(f"{seen.number}")
        said = verdicts(seen.text)
        line = parts_of(seen.text)["final_message"].strip()
        for each in said:
            if rng.random() >= share:
                continue
            if each["verdict"] == "met":
                each |= {"verdict": "not_met", "points": 0, "evidence": []}
            else:
                each |= {"verdict": "met", "points": 25, "evidence": [line]}
        return answer(seen, json.dumps({"criteria": said}))

    return judge


@contextmanager
def before(address: str, constrained: bool) -> Iterator[str]:
    """A server before a small model, which lets it write little, or keeps it to the form.

    In a constrained answer llama.cpp samples by the schema that is added: the model chooses the verdict of each
    criterion and one line of the evidence, and nothing else.
    """

    def react(seen: Seen) -> Reaction:
        if not constrained:
            body = {**seen.body, "cache_prompt": True, "max_tokens": _FEW}
            body.pop("max_completion_tokens", None)
            return _passed_on(address, body)
        parts = parts_of(seen.text)
        lines = [
            line for name in ("final_message", "diff") for line in parts[name].split("\n") if len(line.strip()) > 8
        ]
        asked = json.loads(parts["criteria"])
        form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": _schema(asked, lines)}}
        body = {**seen.body, "cache_prompt": True, "seed": seen.number, "response_format": form}
        return _passed_on(address, body)

    with Loopback(react) as server:
        yield server.url


def _passed_on(address: str, body: dict[str, Any]) -> Reaction:
    reply = httpx.post(f"{address}/v1/chat/completions", json=body, timeout=300, trust_env=False)
    return Reaction(reply.status_code, reply.content)


def _schema(asked: list[dict[str, Any]], lines: list[str]) -> dict[str, Any]:
    """The form of an answer, in which points and verdict agree."""

    def verdict(name: str, word: str, points: float, quoted: list[str]) -> dict[str, Any]:
        some = {"type": "array", "items": {"enum": quoted}, "minItems": 1, "maxItems": 1} if quoted else {"const": []}
        found = {"id": {"const": name}, "verdict": {"const": word}, "points": {"const": points}, "evidence": some}
        return {"type": "object", "properties": found, "required": list(found), "additionalProperties": False}

    def verdicts_on(name: str, points: float) -> list[dict[str, Any]]:
        none = [verdict(name, word, 0, []) for word in ("not_met", "cannot_tell")]
        return [verdict(name, "met", points, lines[:8]), *none]

    items = [{"anyOf": verdicts_on(each["id"], each["points"])} for each in asked]
    whole = {"criteria": {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}}
    return {"type": "object", "properties": whole, "required": ["criteria"], "additionalProperties": False}

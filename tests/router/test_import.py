"""Results of the plan's published runner: read as they are, judged anew, and nothing of them lost in silence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from made_collection import Write
from made_runs import values

from skill_health.commands.router import command
from skill_health.core.errors import UsageError
from skill_health.core.validation import problems
from skill_health.router.plan.orders import plan_seed, shuffled
from skill_health.router.published import (
    NO_RAW_TEXT,
    CallRecord,
    PlanRun,
    RunDescription,
    import_run,
    read_folder,
    to_record,
)
from skill_health.router.records import Catalogue, ListedSkill, Prompt
from skill_health.router.runs import load_run

NAMES = ("alpha", "beta", "gamma")
CATALOGUE = Catalogue(tuple(ListedSkill(name, f"Does {name}.", path=f"skills/{name}/SKILL.md") for name in NAMES))
SEED = 7


def answer(*ranking: str, confidence: float = 0.9) -> str:
    return json.dumps({"ranking": list(ranking), "confidence": confidence, "rationale": "Because."})


def entry(prompt: str, model: str, rep: int, status: str = "finished", **more: Any) -> dict[str, Any]:
    """A record as the runner wrote it."""
    record = {"prompt_id": prompt, "model_id": model, "rep": rep, "status": status, "duration_ms": 1200}
    return record | {"shuffle_seed": plan_seed(prompt, model, rep, SEED)} | more


def answered(prompt: str, model: str, rep: int, *ranking: str) -> dict[str, Any]:
    """A record of an answer, with what the runner read from it."""
    read = {"predicted_primary": ranking[0], "top1_correct": True} if ranking else {}
    return entry(prompt, model, rep, raw_text=answer(*ranking), predicted_top3=list(ranking[:3]), **read)


def label(prompt: str, expected: str | None) -> dict[str, Any]:
    return {"prompt_id": prompt, "prompt": f"Please do {prompt}.", "expected_primary_skill": expected}


def put(folder: Path, *records: Any) -> Path:
    """A folder of results; names of files say nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, record in enumerate(records):
        text = record if isinstance(record, str) else json.dumps(record)
        (folder / f"call-{number:03}.json").write_text(text, encoding="utf-8")
    return folder


def collection(write: Write, *labels: dict[str, Any]) -> Path:
    skills = {
        f"skills/{name}/SKILL.md": f"---\nname: {name}\ndescription: Does {name}.\n---\n# {name}\n" for name in NAMES
    }
    prompts = "".join(json.dumps(each) + "\n" for each in labels)
    return write({**skills, "skill-health.toml": "", "registries/prompts.jsonl": prompts})


def call(root: Path, folder: Path, *options: str) -> Result:
    arguments = ["import", str(folder), str(root / "skills"), *options]
    return CliRunner().invoke(command, arguments, standalone_mode=False)


def imported(root: Path) -> Any:
    (folder,) = (root / "reports" / "router").iterdir()
    return load_run(str(folder))


def test_a_whole_folder_becomes_a_run(tmp_path: Path, write: Write) -> None:
    root = collection(write, label("p-001", "alpha"), label("p-002", "beta"))
    summary = {
        "timestamp": "2026-05-15T14:08:51Z", "repo_sha": "358c36b461df4c0cb7a5c972e2f789dce8c12d3a", "seed": SEED,
        "reps": 2, "models": ["gpt-5.5", "composer-2"], "fixture_sha": "0000000000000000", "summary": {"promptCount": 2},
    }  # fmt: skip
    records = [
        answered("p-001", "gpt-5.5", 0, "alpha", "beta"),
        answered("p-001", "gpt-5.5", 1, "beta"),
        entry("p-001", "composer-2", 0, "format_failure", raw_text="I would say alpha.", attempts=2),
        entry("p-001", "composer-2", 1, "model_unavailable", notes="rate limit\x1b[31m"),
        entry("p-002", "gpt-5.5", 0, "error", notes="socket hang up"),
        entry("p-002", "gpt-5.5", 1, "cancelled"),
        entry("p-002", "composer-2", 0, "dry_run", duration_ms=None),
    ]
    folder = put(tmp_path / "results" / "2026-05-15-1", *records)
    (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    done = call(root, folder)
    assert done.exception is None, done.output
    assert "imported 7 results of 2 models on 2 prompts" in done.stdout
    assert "the run names other prompts" in done.stderr
    run = imported(root)
    assert problems("router-manifest", values(run.manifest)) == []
    assert run.run_id.startswith("20260515T140851Z-imported-")
    assert (run.manifest.imported, run.manifest.orders, run.manifest.seed) == (True, "plan", SEED)
    assert values(run.manifest.template) == {"name": "plan", "version": None, "digest": None, "none_allowed": False}
    assert run.manifest.hashes["catalogue"] is None
    assert run.manifest.commit == summary["repo_sha"]
    assert [model.spec for model in run.manifest.models] == ["gpt-5.5", "composer-2"]
    found = {result.key: result for result in run.results}
    assert [result.key for result in run.results] == [
        ("p-001", "gpt-5.5", 0), ("p-001", "gpt-5.5", 1), ("p-001", "composer-2", 0), ("p-001", "composer-2", 1),
        ("p-002", "gpt-5.5", 0), ("p-002", "gpt-5.5", 1), ("p-002", "composer-2", 0),
    ]  # fmt: skip
    first = found["p-001", "gpt-5.5", 0]
    assert (first.ranking, first.confidence, first.rationale, first.duration_ms) == (
        ("alpha", "beta"), 0.9, "Because.", 1200.0,
    )  # fmt: skip
    order = shuffled(NAMES, plan_seed("p-001", "gpt-5.5", 0, SEED))
    assert order[(first.target_position or 0) - 1] == "alpha" == order[(first.picked_position or 0) - 1]
    prose = found["p-001", "composer-2", 0]
    assert (prose.status, prose.kinds, prose.attempts, prose.first_status) == (
        "format_failure", ("prose",), 2, "format_failure",
    )  # fmt: skip
    gone = found["p-001", "composer-2", 1]
    assert (gone.status, gone.error, gone.scored) == ("model_unavailable", "rate limit\\x1b[31m", False)
    assert [found[key].status for key in list(found)[4:]] == ["provider_error", "cancelled", "dry_run"]
    assert all(problems("router-result", json.loads(line)) == [] for line in lines(root))


def lines(root: Path) -> list[str]:
    (folder,) = (root / "reports" / "router").iterdir()
    return (folder / "results.jsonl").read_text(encoding="utf-8").splitlines()


def test_importing_twice_is_importing_once(tmp_path: Path, write: Write) -> None:
    root = collection(write, label("p1", "alpha"))
    folder = put(tmp_path / "2026-05-15-1", answered("p1", "m", 0, "alpha"))
    assert call(root, folder).exception is None
    before = lines(root)
    assert call(root, folder).exception is None
    assert lines(root) == before
    verified = CliRunner().invoke(command, ["verify", imported(root).folder], standalone_mode=False)
    assert verified.return_value == 0, verified.output
    assert imported(root).manifest.created == "2026-05-15T00:00:00Z"
    assert imported(root).manifest.seed == 1


def test_abstentions_stay_in_the_denominator(tmp_path: Path, write: Write) -> None:
    """22 of 45 was published for a skill where 22 of 48 is true: three rankings were empty."""
    from skill_health.router.scores.skills import skills

    root = collection(write, *(label(f"p{n}", "alpha") for n in range(4)), label("p9", "beta"))
    keys = [(f"p{prompt}", f"model-{model}", rep) for prompt in range(4) for model in range(4) for rep in range(3)]
    picks = [("alpha",)] * 22 + [("gamma", "alpha")] * 23 + [()] * 3
    records = [answered(*key, *pick) for key, pick in zip(keys, picks, strict=True)]
    records += [answered("p9", f"model-{model}", rep, "beta") for model in range(4) for rep in range(3)]
    published = [each for each in records if each["status"] == "finished" and each.get("predicted_primary")]
    counted = [each for each in published if each["prompt_id"] != "p9"]
    assert round(sum(each["predicted_primary"] == "alpha" for each in counted) / len(counted), 3) == 0.489
    folder = put(tmp_path / "results" / "2026-05-15-1", *records)
    done = call(root, folder)
    assert done.exception is None, done.output
    assert "counted as finished, and that are format failures: empty_ranking 3" in done.stderr
    run = imported(root)
    assert [result.kinds for result in run.results if result.status != "finished"] == [("empty_ranking",)] * 3
    alpha = next(row for row in skills(run.sheet) if row.name == "alpha")
    assert (alpha.recall.n, round(alpha.recall.value, 3)) == (48, 0.458)
    assert (alpha.right, alpha.other_skill, alpha.no_answer, alpha.missing) == (22, 23, 3, 0)


@pytest.mark.parametrize(
    ("record", "status", "kinds", "ranking"),
    [
        (entry("p", "m", 0, raw_text=answer("beta", "alpha")), "finished", (), ("beta", "alpha")),
        (entry("p", "m", 0, raw_text=f"```json\n{answer('beta')}\n```"), "finished", (), ("beta",)),
        (entry("p", "m", 0, raw_text=f"Here: {answer('beta')}", predicted_top3=["beta"]), "format_failure", ("prose",), ()),
        (entry("p", "m", 0, raw_text=answer()), "format_failure", ("empty_ranking",), ()),
        (entry("p", "m", 0, raw_text=answer("delta")), "format_failure", ("unknown_skill",), ()),
        (entry("p", "m", 0, raw_text=answer("none")), "format_failure", ("unknown_skill",), ()),
        (entry("p", "m", 0, raw_text=""), "format_failure", ("empty_answer",), ()),
        (entry("p", "m", 0), "format_failure", ("empty_ranking",), ()),
        (entry("p", "m", 0, predicted_primary="beta"), "finished", (), ("beta",)),
        (entry("p", "m", 0, raw_text=" ", predicted_top3=["beta", "alpha"]), "finished", (), ("beta", "alpha")),
        (entry("p", "m", 0, predicted_top3=["delta"]), "format_failure", ("unknown_skill",), ()),
        (entry("p", "m", 0, predicted_top3=["beta", "beta"]), "format_failure", ("duplicate",), ()),
        (entry("p", "m", 0, "format_failure"), "format_failure", (), ()),
        (entry("p", "m", 0, "format_failure", raw_text=""), "format_failure", ("empty_answer",), ()),
        (entry("p", "m", 0, "error", raw_text=answer("beta")), "provider_error", (), ()),
    ],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else None,
)  # fmt: skip
def test_answers_are_read_again(
    record: dict[str, Any], status: str, kinds: tuple[str, ...], ranking: tuple[str, ...]
) -> None:
    (result,) = imported_results(record)
    assert (result.status, result.kinds, result.ranking) == (status, kinds, ranking)
    if not str(record.get("raw_text") or "").strip() and result.ranking:
        assert (result.confidence, NO_RAW_TEXT in result.notes) == (None, True)


def imported_results(*records: dict[str, Any]) -> Any:
    found = {each.key: each for each in (to_record(f"{n}.json", record) for n, record in enumerate(records))}
    return import_run(
        PlanRun(RunDescription(seed=SEED), found, ()), [Prompt("p", "Text.", "beta")], CATALOGUE, True
    ).results


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("{", "not JSON"),
        ("[]", " a list"),
        ('{"prompt_id": "\\ud83d"}', "half of a surrogate pair"),
        ('{"rep": NaN}', "NaN is not JSON"),
        ('{"a": 1, "a": 2}', 'the key "a" stands twice'),
        ("[" * 100_000, "nested deeper"),
        ({}, "missing required field"),
        (entry("p1", "m", 0, "done"), "status: invalid enum value 'done'"),
        (entry("p1", "m", 0, ["finished"]), "status: expected str, got array"),  # type: ignore[arg-type]
        (entry("", "m", 0), "prompt_id: expected str"),
        (entry("p1", " ", 0), "model_id: expected str"),
        (entry("p1", "m" * 201, 0), "model_id: expected str"),
        (entry("p1", "m", -1), "rep: expected int"),
        (entry("p1", "m", 10**9), "rep: expected int"),
        (entry("p1", "m", True), "rep: expected int"),
        (entry("p1", "m", "0"), "rep: expected int"),  # type: ignore[arg-type]
        (entry("p1", "m", 0, raw_text=7), "raw_text: expected str | null, got int"),
        (entry("p1", "m", 0, notes=[]), "notes: expected str | null, got array"),
        (entry("p1", "m", 0, predicted_top3="beta"), "predicted_top3: expected array | null"),
        (entry("p1", "m", 0, predicted_top3=[1]), "predicted_top3[0]: expected str"),
        (entry("p1", "m", 0, duration_ms=-5), "duration_ms: expected float"),
        (entry("p1", "m", 0, duration_ms="fast"), "duration_ms: expected float"),
        (entry("p1", "m", 0, shuffle_seed=2**32), "shuffle_seed: expected int"),
        (entry("p1", "m", 0, attempts="two"), "attempts: expected int"),
        (answered("p1", "good", 0, "beta"), "the same call as call-000.json"),
        (answered("p77", "m", 0, "beta"), "there is no prompt 'p77'"),
    ],
    ids=lambda value: str(value)[:50],
)  # fmt: skip
def test_a_broken_file_costs_one_clear_line(tmp_path: Path, write: Write, broken: Any, said: str) -> None:
    root = collection(write, label("p1", "alpha"))
    folder = put(tmp_path / "results", answered("p1", "good", 0, "alpha"), broken, answered("p1", "good", 1, "alpha"))
    done = call(root, folder)
    assert done.exception is None, done.output
    (told,) = [line for line in done.stderr.splitlines() if line.startswith("call-001.json: ")]
    assert said in told
    assert told.endswith("it is left out")
    assert [result.key for result in imported(root).results] == [("p1", "good", 0), ("p1", "good", 1)]


def test_prompts_without_a_result_are_missing_only_where_the_fixture_is_certain(tmp_path: Path, write: Write) -> None:
    from hashlib import sha256

    root = collection(write, label("p1", "alpha"), label("p2", "beta"))
    folder = put(tmp_path / "results" / "2026-05-15-1", answered("p1", "m", 0, "alpha"))
    assert call(root, folder, "--out", str(tmp_path / "a")).exception is None
    fixture = sha256((root / "registries" / "prompts.jsonl").read_bytes()).hexdigest()[:16]
    (folder / "summary.json").write_text(json.dumps({"fixture_sha": fixture, "reps": 3}), encoding="utf-8")
    done = call(root, folder, "--out", str(tmp_path / "b"))
    assert done.exception is None
    assert done.stderr == ""
    runs = [load_run(str(next((tmp_path / side / "router").iterdir()))) for side in ("a", "b")]
    assert [list(run.facts.prompts) for run in runs] == [["p1"], ["p1", "p2"]]
    assert [run.facts.models[0].replications for run in runs] == [1, 3]


def test_raw_text_counts_where_the_record_disagrees(tmp_path: Path, write: Write) -> None:
    root = collection(write, label("p1", "alpha"))
    record = entry("p1", "m", 0, raw_text=answer("alpha"), predicted_top3=["beta"])
    done = call(root, put(tmp_path / "results", record))
    assert "another skill comes first in the raw text than in the record" in done.stderr
    assert imported(root).results[0].ranking == ("alpha",)


@pytest.mark.parametrize("name", ["2026-99-99-1", "results", "2026-05-15", "x-2026-05-15-1"])
def test_what_is_not_known_stays_open(tmp_path: Path, write: Write, name: str) -> None:
    root = collection(write, label("p1", "alpha"))
    record = answered("p1", "m", 0, "alpha")
    del record["shuffle_seed"]
    folder = put(tmp_path / "results" / name, record)
    (folder / "summary.json").write_text("{", encoding="utf-8")
    done = call(root, folder)
    assert "summary.json: not JSON" in done.stderr
    run = imported(root)
    assert (run.manifest.created, run.manifest.commit, run.manifest.dirty) == (None, None, None)
    if name != "2026-99-99-1":
        assert run.manifest.seed is None
        assert (run.results[0].target_position, run.results[0].picked_position) == (None, None)


def test_a_folder_without_results_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no results of the plan's runner"):
        read_folder(str(tmp_path))
    put(tmp_path, "{")
    with pytest.raises(UsageError, match=r"call-000\.json: not JSON"):
        read_folder(str(tmp_path))
    with pytest.raises(UsageError, match="cannot read"):
        read_folder(str(tmp_path / "absent"))


@given(
    st.dictionaries(
        st.sampled_from(["prompt_id", "model_id", "rep", "status", "raw_text", "predicted_top3", "attempts", "notes"]),
        st.none()
        | st.integers()
        | st.text(max_size=8)
        | st.lists(st.text(max_size=3), max_size=3)
        | st.sampled_from(get_args(get_type_hints(CallRecord)["status"])),
    )
)
def test_any_object_is_a_record_or_a_clear_mistake(data: dict[str, Any]) -> None:
    try:
        record = to_record("x.json", data)
    except ValueError as error:
        assert str(error)
        return
    assert isinstance(record, CallRecord)
    plan = PlanRun(RunDescription(), {record.key: record}, ())
    (result,) = import_run(plan, [Prompt(record.prompt_id, "Text.", "beta")], CATALOGUE, True).results
    assert result.key == record.key

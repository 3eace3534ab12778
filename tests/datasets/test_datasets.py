"""Data sets: what is fit to publish, files that come back unchanged, and the usual reader (real suite)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from effects_made import task as frozen_task
from hypothesis import given
from hypothesis import strategies as st
from report_runs import kept, run
from run_made import task as base_task

from skill_health.cli import main
from skill_health.core.errors import UsageError
from skill_health.datasets import write
from skill_health.datasets.gather import PublishingTerms, gather_dataset, licence_of
from skill_health.datasets.rows import TABLES
from skill_health.datasets.write import read_table, rows_of, write_dataset
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import File
from skill_health.quality.themes import ALONE, find_themes
from skill_health.skill.model import Skill
from skill_health.skill.parse import parse_skill

Said = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch
WORDS = {
    "pdf-forms": "Fill PDF forms. Use when a PDF form is to be filled.",
    "pdf-merge": "Merge PDF files. Use when several PDF files become one PDF.",
    "sql-tune": "Tune slow SQL queries of a database. Use when a SQL query is slow.",
    "sql-index": "Choose an index for SQL queries of a database. Use when SQL scans.",
    "haiku": "Write three lines on autumn.",
}


def skill(name: str, body: str = "", licence: str = "MIT") -> Skill:
    declared = f"license: {licence}\n" if licence else ""
    text = f"---\nname: {name}\ndescription: {WORDS.get(name, f'Does {name}.')}\n{declared}---\n# {name}\n\n{body or f'Do {name} well.'}\n"
    return parse_skill(text.encode(), f"skills/{name}/SKILL.md", name, ("scripts/a.py",))


def test_themes_are_the_same_in_any_order() -> None:
    found = find_themes(WORDS)
    assert found["pdf-forms"] == found["pdf-merge"] and "pdf" in found["pdf-forms"]
    assert found["sql-tune"] == found["sql-index"] and "sql" in found["sql-tune"]
    assert found["haiku"] == ALONE
    assert find_themes(dict(reversed(WORDS.items()))) == found
    assert find_themes({}) == {} and find_themes({"haiku": WORDS["haiku"]}) == {"haiku": ALONE}


@pytest.mark.parametrize(
    ("said", "is_open"),
    [
        ("MIT", True), ("Apache 2.0", True), ("apache-2.0", True),
        ("Proprietary. LICENSE.txt has complete terms", False), ("", False),
    ],
)  # fmt: skip
def test_licences(said: str, is_open: bool) -> None:
    found = gather_dataset([], [skill("haiku", licence=said)], [], {})
    assert bool(found.skills) is is_open and bool(found.left_out) is not is_open
    assert gather_dataset([], [skill("haiku", licence=said)], [], {}, PublishingTerms(licences=())).skills
    assert licence_of(skill("haiku", licence=""), PublishingTerms(undeclared="mit")) == "mit"


LONG = " ".join(f"word{n}" for n in range(200))


PERSONS = "credentials"


@pytest.mark.parametrize(
    ("skills", "unsafe", "reason"),
    [
        ([skill("a")], {"skills/a/SKILL.md": "SA001 in line 3: a shell for a stranger"}, "SA001"),
        ([skill("a", "Ask jane.doe@acme.io."), skill("b")], {}, PERSONS),
        ([skill("a", LONG), skill("b", LONG)], {}, "nearly a copy of a"),
        ([skill("a"), skill("a", "Another.")], {}, "another skill has its name"),
    ],
)
def test_what_is_not_fit_is_left_out_with_its_reason(skills: list[Skill], unsafe: dict[str, str], reason: str) -> None:
    found = gather_dataset([], skills, [], unsafe)
    assert len(found.skills) == len(skills) - 1
    assert [reason in each.reason for each in found.left_out] == [True]


def made_task(number: int, target: str | None, **more: Any) -> Task:
    return replace(base_task(number, target), **more)


def tasks() -> list[Any]:
    return [
        made_task(1, "haiku", prompt="Write about rain.", files=(File("a.txt", b"x\n"), File("b.bin", b"\xff\x00"))),
        made_task(2, "gone", prompt="Write about snow."),
        made_task(3, None, prompt="Write about wind."),
        made_task(4, "haiku", prompt="write  about RAIN."),
        made_task(5, "haiku", prompt="Write to jane.doe@acme.io."),
    ]


def test_tasks_go_with_their_skills_and_trials_with_their_tasks() -> None:
    given_tasks = tasks()
    first = given_tasks[0]
    records = [
        frozen_task(each.id, "haiku") | {"digest": each.digest if each is first else "other"}
        for each in given_tasks[:3]
    ]
    made = run("a", tasks=records, arms=("control", "target"))
    found = gather_dataset(given_tasks, [skill("haiku")], [made], {})
    assert [row.id for row in found.tasks] == [given_tasks[0].id, given_tasks[2].id]
    reasons = {each.what: each.reason for each in found.left_out}
    assert reasons[f"task {given_tasks[1].id}"] == "its skill gone is not published"
    assert reasons[f"task {given_tasks[3].id}"] == f"asks the same as {first.id}"
    assert PERSONS in reasons[f"task {given_tasks[4].id}"]
    assert {row.task for row in found.results} == {first.id}
    assert reasons[f"6 trials of {given_tasks[2].id} in a"] == "the task has changed since"
    assert len(found.results) == 6 and all(row.simulated for row in found.results)
    row = found.tasks[0]
    assert [(file.path, file.encoding) for file in row.files] == [("a.txt", "utf-8"), ("b.bin", "base64")]


@given(st.text(max_size=60), st.binary(max_size=60))
def test_rows_come_back_unchanged(prompt: str, data: bytes) -> None:
    import tempfile

    prompt = prompt.encode("utf-8", "replace").decode()
    given_task = made_task(1, None, prompt=prompt, files=(File("a", data),))
    found = gather_dataset([given_task], [skill("haiku")], [], {})
    with tempfile.TemporaryDirectory() as folder:
        target = f"{folder}/set"
        write_dataset(found, target, "jsonl", ["mit"])
        for name, rows in rows_of(found).items():
            assert tuple(read_table(target, name)) == tuple(rows)


def written(tmp_path: Path, form: Any = "jsonl") -> tuple[Any, Path]:
    given_tasks = tasks()
    records = [frozen_task(given_tasks[0].id, "haiku") | {"digest": given_tasks[0].digest}]
    found = gather_dataset(given_tasks, [skill(name) for name in WORDS], [run("a", tasks=records)], {})
    write_dataset(found, str(tmp_path / "set"), form, ["mit"])
    return found, tmp_path / "set"


def test_the_card_says_what_is_there_and_what_is_not(tmp_path: Path) -> None:
    found, target = written(tmp_path)
    card = (target / "README.md").read_text("utf-8")
    assert "config_name: tasks" in card and "data_files: results.jsonl" in card
    assert "simulated agents" in card and "task" in card
    assert all(each.reason.split(" ")[0] in card for each in found.left_out)
    with pytest.raises(UsageError, match=target.name):
        write_dataset(found, str(target), "jsonl", [])
    (target / "skills.jsonl").write_text('{"name": 1}\n', "utf-8")
    with pytest.raises(UsageError, match=r"skills.jsonl:1"):
        read_table(str(target), "skills")


def test_without_its_library_parquet_names_the_extra(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(write, "missing_modules", lambda modules: modules)
    with pytest.raises(UsageError, match=r"needs the extra parquet \(pyarrow\): pip install"):
        written(tmp_path, "parquet")
    assert not (tmp_path / "set").exists()


@pytest.mark.real
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_the_usual_reader_opens_it(form: str, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import datasets

        found, target = written(tmp_path, form)
        for name, rows in rows_of(found).items():
            loaded = datasets.load_dataset(str(target), name, split="train", cache_dir=str(tmp_path / "cache"))
            expected = [json.loads(json.dumps(_plain(row))) for row in rows]
            assert list(loaded) == expected, name
            assert set(loaded.column_names) == set(TABLES[name].__struct_fields__)


@pytest.mark.real
@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_the_usual_reader_opens_one_without_results(form: Any, tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import datasets

        found = gather_dataset([made_task(1, None)], [skill("haiku")], [], {})
        write_dataset(found, str(tmp_path / "set"), form, [])
        assert sorted(path.name for path in (tmp_path / "set").iterdir()) == [
            "README.md", f"skills.{form}", f"tasks.{form}",
        ]  # fmt: skip
        loaded = datasets.load_dataset(str(tmp_path / "set"), "tasks", split="train", cache_dir=str(tmp_path / "cache"))
        assert list(loaded) == [_plain(found.tasks[0])]


def _plain(row: Any) -> Any:
    from skill_health.documents._record import record_values

    return record_values(row)


@pytest.mark.slow
def test_the_command_over_our_own_fixtures(tmp_path: Path, monkeypatch: Patch, capsys: Said) -> None:
    fixtures = Path(__file__).resolve().parents[2] / "fixtures"
    monkeypatch.chdir(fixtures)
    target = tmp_path / "set"
    assert main(["dataset", "tasks", "--skills", "skills", "--undeclared", "MIT", "--to", str(target)]) == 0
    told = capsys.readouterr()
    assert "written:" in told.out
    rows = read_table(str(target), "tasks")
    assert len(rows) > 5 and len(read_table(str(target), "skills")) > 5
    again = tmp_path / "again"
    assert main(["dataset", "tasks", "--skills", "skills", "--undeclared", "MIT", "--to", str(again)]) == 0
    assert {path.name: path.read_bytes() for path in again.iterdir()} == {
        path.name: path.read_bytes() for path in target.iterdir()
    }


def test_the_command_with_a_run(tmp_path: Path, monkeypatch: Patch, capsys: Said) -> None:
    monkeypatch.chdir(tmp_path)
    kept(tmp_path / "reports", run("20261121T050000Z-aaaaaaaa", tasks=[frozen_task("000", "skill-0")]))
    folder = tmp_path / "skills" / "haiku"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(skill("haiku").text.encode())
    (tmp_path / "tasks").mkdir()
    assert main(["dataset", "tasks", "--run", "last", "--to", "set"]) == 2
    assert "tasks" in capsys.readouterr().err

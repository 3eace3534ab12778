"""The processes that share the files of the tests."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from scripts import run_tests as module
from scripts.run_tests import memory_folder, read_pieces, report, run_tests

CONFTEST = """
import pytest
@pytest.fixture(scope="session")
def once(tmp_path_factory):
    with open({log!r}, "a") as file:
        file.write("fixture\\n")
"""
IMPORTED = "with open({log!r}, 'a') as file:\n    file.write('{name}\\n')\n"


@pytest.fixture(autouse=True)
def on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails here on purpose leaves nothing in memory."""
    monkeypatch.setattr(module, "MEMORY", str(tmp_path / "gone"))


def run(root: Path, files: dict[str, str], *words: str) -> tuple[dict[str, int], list[str]]:
    """The results of these files in two processes, and what was noted when they were imported."""
    log = root / "log"
    log.touch()
    (root / "pytest.ini").write_text("[pytest]\n")
    (root / "inner").mkdir()
    (root / "conftest.py").write_text(CONFTEST.format(log=str(log)))
    for name, text in files.items():
        (root / name).write_text(IMPORTED.format(log=str(log), name=name) + text)
    results = run_tests(["-c", str(root / "pytest.ini"), "--rootdir", str(root), *words, str(root)], workers=2)
    return {name: count for name, count in results.items() if count}, sorted(log.read_text().split())


@pytest.mark.slow
def test_each_file_is_imported_once_and_every_case_counts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    files = {f"test_{name}.py": "def test(once): pass\n" * 1 for name in "abc"} | {
        "inner/test_d.py": "import pytest\ndef test_1(once): pass\ndef test_2(): assert 0\n@pytest.mark.skip\ndef test_3(): 1\n"
    }
    results, noted = run(tmp_path, files)
    assert results == {"passed": 4, "failed": 1, "skipped": 1}
    imported = [each for each in noted if each != "fixture"]
    assert imported == sorted(files)
    assert noted.count("fixture") <= 2, "once for each process"
    assert "failed: inner/test_d.py::test_2\n" in capfd.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import there_is_no_such_module\n", {"passed": 1, "error": 1}),
        ("import os\ndef test():\n    os._exit(7)\n", {"broken": 1}),
        ("def test():\n    raise KeyboardInterrupt\n", {"broken": 1}),
        ("def test():\n    pass\n", {"passed": 2}),
    ],
    ids=["cannot be imported", "dies", "interrupted", "well"],
)
def test_what_does_not_end_well_is_no_success(
    tmp_path: Path, text: str, expected: dict[str, int], capfd: pytest.CaptureFixture[str]
) -> None:
    results, _ = run(tmp_path, {"test_odd.py": text, "test_well.py": "def test(): pass\n"})
    assert {name: count for name, count in results.items() if name != "passed"} == {
        name: count for name, count in expected.items() if name != "passed"
    }
    assert "passed" not in expected or results["passed"] == expected["passed"]


def test_memory_is_used_where_there_is_room_for_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MEMORY", str(tmp_path))
    free = 1 << 40
    monkeypatch.setattr(module.shutil, "disk_usage", lambda place: SimpleNamespace(free=free))
    assert Path(memory_folder()).parent == tmp_path
    free = 1 << 20
    assert memory_folder() == ""
    free = 1 << 40
    before = list(tmp_path.iterdir())
    monkeypatch.setattr(module.Path, "chmod", lambda *_: None)
    assert memory_folder() == "" and list(tmp_path.iterdir()) == before
    monkeypatch.setattr(module, "MEMORY", str(tmp_path / "gone"))
    assert memory_folder() == ""


def test_letters_come_at_once_and_lines_whole() -> None:
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb") as stream:
        pieces = read_pieces(stream)
        for written, expected in (
            (b".", b"."),
            (b"sF", b"sF"),
            (b" [100%]\nFAIL", b" [100%]\n"),
            (b"ED x\n.", b"FAILED x\n"),
        ):
            os.write(writer, written)
            assert next(pieces) == expected
        os.close(writer)
        assert list(pieces) == [b"."]


@pytest.mark.slow
def test_marks_choose_and_a_file_without_any_such_case_is_no_failure(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    files = {
        "test_a.py": "import pytest\n@pytest.mark.skipif('0')\ndef test_x(): 1\n",
        "test_b.py": "def test_y(): 1\n",
    }
    results, _ = run(tmp_path, files, "-k", "test_x")
    assert results == {"passed": 1, "deselected": 1}


@pytest.mark.parametrize(
    ("results", "code"),
    [({"passed": 3}, 0), ({"passed": 3, "failed": 1}, 1), ({"passed": 3, "error": 1}, 1), ({"broken": 1}, 1), ({}, 0)],
)
def test_the_exit_code_is_that_of_the_worst(
    results: dict[str, int], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    from collections import Counter

    assert report(Counter(results)) == code
    failed = results.get("failed", 0) + results.get("error", 0) + results.get("broken", 0)
    assert capsys.readouterr().out == f"{results.get('passed', 0)} passed, {failed} failed, 0 skipped{os.linesep}"

"""What is read and linked below the folder of the reports, and what is left alone."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path
from urllib.parse import unquote

import pytest

from skill_health.page.cells import inside
from skill_health.trials.kept_files import ReportFolders, is_plain_name

STRANGE = ["a b.txt", "100%.txt", "#x?.txt", "é<b>.txt", "a&b'\".txt", "javascript:alert(1)", "\udcff.bin"]


def shelf(folder: Path, base: Path | None = None) -> ReportFolders:
    return ReportFolders(str(folder), str(base or folder))


@pytest.mark.parametrize("name", STRANGE)
def test_links_are_encoded_and_lead_back_to_the_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / name).write_bytes(b"x")
    link = shelf(tmp_path).link(("runs", name), "it")
    assert link is not None and inside(link.to) and link.to.isascii()
    assert unquote(link.to, errors="surrogateescape") == f"runs/{name}"


def test_links_are_relative_to_the_page(tmp_path: Path) -> None:
    reports, base = tmp_path / "my reports", tmp_path / "site" / "out"
    reports.mkdir()
    base.mkdir(parents=True)
    (reports / "a.txt").write_bytes(b"x")
    link = shelf(reports, base).link(("a.txt",), "it")
    assert link is not None and link.to == "../../my%20reports/a.txt"
    assert (base / unquote(link.to)).resolve() == reports / "a.txt"
    assert ReportFolders(str(reports), "").link(("a.txt",), "it") is None
    assert ReportFolders("", str(base)).link(("a.txt",), "it") is None


def test_nothing_behind_a_symbolic_link_is_read_or_linked(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    reports = tmp_path / "reports"
    (outside / "deep").mkdir(parents=True)
    (outside / "secret.txt").write_bytes(b"secret")
    (outside / "deep" / "secret.txt").write_bytes(b"secret")
    (reports / "real").mkdir(parents=True)
    (reports / "real" / "file.txt").write_bytes(b"fine")
    (reports / "folder").symlink_to(outside)
    (reports / "real" / "file").symlink_to(outside / "secret.txt")
    (reports / "real" / "near").symlink_to(reports / "real" / "file.txt")
    (reports / "real" / "nowhere").symlink_to(tmp_path / "missing")
    found = shelf(reports)
    for way in [
        ("folder", "secret.txt"), ("folder", "deep", "secret.txt"), ("real", "file"), ("real", "near"),
        ("real", "nowhere"), ("real", "..", "real", "file.txt"), ("real",), ("..", "outside", "secret.txt"),
        ("real/file.txt",), ("real", "file.txt", ""), ("", "real", "file.txt"), (str(outside), "secret.txt"),
        ("real\0", "file.txt"), ("real", "x" * 5000),
    ]:  # fmt: skip
        assert found.link(way, "it") is None and found.read(way, 10) is None, way
    assert found.read(("real", "file.txt"), 10) == (b"fine", 4)
    assert found.read(("real", "file.txt"), 2) == (b"fi", 4)


def test_a_file_that_turns_into_a_link_or_a_pipe_after_the_look_is_not_read(tmp_path: Path) -> None:
    for name in ("link", "pipe", "gone"):
        (tmp_path / name).write_bytes(b"fine")
    (tmp_path / "secret").write_bytes(b"secret")
    found = shelf(tmp_path)
    assert set(found.files(())) == {"link", "pipe", "gone", "secret"}
    for name in ("link", "pipe", "gone"):
        (tmp_path / name).unlink()
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "pipe")
    assert [found.read((name,), 9) for name in ("link", "pipe", "gone")] == [None, None, None]


def test_pipes_and_folders_are_no_files(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    assert shelf(tmp_path).files(()) == {}


def test_a_folder_is_listed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    for n in range(5):
        (tmp_path / "a" / str(n)).write_bytes(b"")
    calls: list[str] = []
    scan = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: (calls.append(str(path)), scan(path))[1])
    found = shelf(tmp_path)
    assert all(found.link(("a", str(n)), "it") for n in range(5))
    assert len(calls) == 1


def test_a_plain_name_stays_in_its_folder() -> None:
    names = {"".join(each) for n in range(5) for each in product("./\\\0a", repeat=n)}
    assert {
        name for name in names if is_plain_name(name) and os.path.dirname(os.path.normpath(f"/r/{name}")) != "/r"
    } == set()
    assert {"a", "a.", ".a", "...", "a..a"} <= set(filter(is_plain_name, names))

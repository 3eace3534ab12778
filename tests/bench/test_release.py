"""A run as a folder to publish: whole, without secrets and names, read back by every command; or nothing at all."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.bench.reproduce import release
from skill_health.bench.reproduce.release import DescribedRun, Release, hide_in_line, release_lines, write_release
from skill_health.bench.reproduce.verify import VerifiedFile
from skill_health.core.errors import UsageError

TOKEN = "ghp_" + base64.b32encode(hashlib.sha256(b"made for a test").digest()).decode()[:36]
NAMED = "/home/peterpetersen/notes and petra.petersen@mail.petersen.dk"
ABOUT = DescribedRun("router", "20260301T000000Z-00000000", [("A | run\n# <b>\x1b[2J", "a`b|c")])


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "reports/router/20260301T000000Z-00000000"
    (folder / "trials/a").mkdir(parents=True)
    lines = [{"key": ["p", "m", 0], "raw_text": f"I read\n{NAMED} with {TOKEN}"}, {"key": ["q"]}]
    (folder / "attempts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    (folder / "manifest.json").write_text('{"kind": "router"}\n', encoding="utf-8")
    (folder / "trials/a/stream.out").write_text(f"at {NAMED}\nplain\n", encoding="utf-8")
    (folder / "trials/a/workspace.tar.gz").write_bytes(b"\x1f\x8b\xff\xfe")
    history = [{"run_id": folder.name, "n": 1}, {"run_id": "other"}, {"run_id": folder.name, "n": 2}]
    (tmp_path / "reports/history.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in history) + "torn {", encoding="utf-8"
    )
    return folder


def write(run: Path, target: Path) -> Release:
    return write_release(str(run), "history.jsonl", str(target), ABOUT, lambda place: [])


def everything(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text("utf-8") for path in sorted(folder.rglob("*")) if path.is_file()
    }


def test_what_is_nobodys_business_is_masked_and_counted(run: Path, tmp_path: Path) -> None:
    done = write(run, tmp_path / "out")
    found = everything(tmp_path / "out")
    assert not [name for name, text in found.items() if TOKEN in text or "peters" in text.lower()]
    lines = found[f"router/{run.name}/attempts.jsonl"].splitlines()
    assert json.loads(lines[0])["raw_text"] == "I read\n/home/user/notes and name@example.com with ghp_***"
    assert lines[1] == '{"key": ["q"]}'
    assert done.masked == {"attempts.jsonl": 1, "trials/a/stream.out": 1}
    assert found[f"router/{run.name}/manifest.json"] == '{"kind": "router"}\n'
    assert list(done.left.values()) == [["trials/a/workspace.tar.gz"]]
    assert [json.loads(line)["n"] for line in found["history.jsonl"].splitlines()] == [1, 2]
    said = "\n".join(release_lines(str(tmp_path / "out"), done))
    assert "3 files of the run; masked: " in said and "workspace.tar.gz" in said


def test_hashes_cover_every_file_and_the_card_is_no_markup(run: Path, tmp_path: Path) -> None:
    write(run, tmp_path / "out")
    subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=tmp_path / "out", check=True, capture_output=True
    )
    listed = {line[66:] for line in (tmp_path / "out/SHA256SUMS").read_text("utf-8").splitlines()}
    assert listed == set(everything(tmp_path / "out")) - {"SHA256SUMS"}
    card = (tmp_path / "out/README.md").read_text("utf-8")
    assert card.startswith("# Router run 20260301T000000Z")
    assert "<b>" not in card and "a`b" not in card and "\x1b" not in card


def test_the_same_run_gives_the_same_bytes(run: Path, tmp_path: Path) -> None:
    write(run, tmp_path / "one")
    write(run, tmp_path / "deep/two")
    assert everything(tmp_path / "one") == everything(tmp_path / "deep/two")


def test_links_lead_nowhere(run: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("not of the run", encoding="utf-8")
    (tmp_path / "private").mkdir()
    (tmp_path / "private/more.txt").write_text("not of the run", encoding="utf-8")
    (run / "trials/link.txt").symlink_to(secret)
    (run / "trials/folder").symlink_to(tmp_path / "private")
    os.mkfifo(run / "trials/pipe")
    done = write(run, tmp_path / "out")
    assert "not of the run" not in "".join(everything(tmp_path / "out").values())
    assert done.left["no regular file"] == ["trials/link.txt", "trials/pipe"]


def test_nothing_is_written_where_it_may_not_be(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there").mkdir()
    with pytest.raises(UsageError, match="is there already"):
        write(run, tmp_path / "there")
    wrong = [VerifiedFile("results.jsonl", 1, ("x",))]
    where = (str(run), "history.jsonl", str(tmp_path / "out"), ABOUT)
    with pytest.raises(UsageError, match="does not follow from its raw files"):
        write_release(*where, lambda place: wrong)
    with pytest.raises(UsageError, match="take that out of the skills or prompts"):
        write_release(*where, lambda place: [] if place == str(run) else wrong)

    def killed(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(release, "_sums", killed)
    with pytest.raises(KeyboardInterrupt):
        write(run, tmp_path / "out")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["reports", "there"]


@given(st.lists(st.sampled_from([NAMED, TOKEN, "plain", "\n", " ", "/", "x@y", "é", "\\n"]), max_size=12))
def test_masking_twice_changes_nothing_more(parts: list[str]) -> None:
    once = hide_in_line(" ".join(parts))
    assert hide_in_line(once) == once and TOKEN not in once

"""What the command prints: text that is safe, a document of its type, the same in any number of processes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner

from skill_health.commands.needs import command
from skill_health.config.settings import Config
from skill_health.core.errors import UsageError
from skill_health.core.validation import load_schema
from skill_health.discovery.corpus import discover
from skill_health.documents._record import decode_record
from skill_health.documents.needs_report import NeedsReport
from skill_health.needs import collection
from skill_health.needs.collection import need_frequencies, needs_of_collection

SKILLS = {
    "fetch": "---\nname: fetch\ndescription: Reads rates.\n---\n# Rates\n\n```bash\ncurl https://rates.bank.net/a.json\n```\n",
    "verse": "---\nname: verse\ndescription: Writes verse.\n---\n# Verse\n\nRhyme.\n",
    "odd": "---\nname: odd\ndescription: Odd.\n---\n# Odd\n\nAsk the user \x1b[31mtwice\u202e about <b>it</b>.\n",
}


@pytest.fixture
def skills(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in SKILLS.items():
        (tmp_path / "skills" / name).mkdir(parents=True)
        (tmp_path / "skills" / name / "SKILL.md").write_text(text, "utf-8")
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(*words: str) -> str:
    result = CliRunner().invoke(command, words, standalone_mode=False, catch_exceptions=False)
    assert result.return_value == 0
    return result.output


def test_text_has_each_need_with_its_line_and_the_table(skills: Path) -> None:
    shown = call("skills")
    assert "network: rates.bank.net\n      SKILL.md:8: curl https://rates.bank.net/a.json" in shown
    verse = shown.partition("skills/verse/SKILL.md\n")[2].partition("\n\n")[0]
    assert verse.startswith("needs nothing") and "SKILL.md:" not in verse
    assert "What 3 skills need" in shown
    assert "1 of 3  33.3 [6.1, 79.2]" in shown
    assert not {"\x1b", "\u202e"} & set(shown)


def test_one_skill_is_that_skill_alone(skills: Path) -> None:
    shown = call("skills/fetch")
    assert "skills/fetch/SKILL.md" in shown and "verse" not in shown and "What 1 skill needs" in shown


def test_markdown_escapes_what_skills_say(skills: Path) -> None:
    assert "<b>" not in call("skills", "--format", "markdown")


def test_json_is_a_document(skills: Path) -> None:
    shown = call("skills", "--format", "json")
    jsonschema.validate(json.loads(shown), load_schema("needs"))
    report = decode_record(shown.encode(), NeedsReport)
    assert [each.name for each in report.skills] == ["fetch", "odd", "verse"]
    assert [each.n for each in report.frequencies] == [3] * 16


def test_no_skill_is_a_mistake_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(command, ["."], standalone_mode=False)
    assert isinstance(result.exception, UsageError) and " .:" in str(result.exception)
    assert need_frequencies([]) == ()


@pytest.mark.slow
def test_several_processes_find_the_same(skills: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = discover(["."], Config(), str(skills))
    alone = needs_of_collection(found.root, found.entries)
    monkeypatch.setattr(collection, "_MANY", 1)
    monkeypatch.setattr(collection, "_BATCH", 1)
    assert needs_of_collection(found.root, found.entries, 2) == alone
    assert len(alone) == 3


def test_a_link_out_of_the_repository_is_not_read(skills: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "go.py"
    outside.write_text("import subprocess\nsubprocess.run(['pandoc', 'a'])\n", "utf-8")
    folder = skills / "skills" / "verse"
    (folder / "SKILL.md").write_text(SKILLS["verse"] + "\nRun `python go.py`.\n", "utf-8")
    (folder / "go.py").symlink_to(outside)
    found = needs_of_collection(str(skills), discover(["."], Config(), str(skills)).entries)
    (own,) = [each for each in found if each.name == "verse"]
    assert own.need("tools") is None

"""Tasks from what a skill itself declares: executable, the same every time, and none where nothing is declared."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from trial_bench import needs_bubblewrap

from skill_health.bench.collection import read_skills
from skill_health.cli import main
from skill_health.discovery.corpus import discover
from skill_health.drafts.tasks.model import find_form_flaws
from skill_health.drafts.tasks.subject import make_subject
from skill_health.drafts.tasks.templates._api import ScriptedRun, TemplateDraft, chosen_numbers, task_templates
from skill_health.drafts.tasks.templates.example_pairs import _renamed
from skill_health.effectiveness.checks._patterns import search
from skill_health.lint.pipeline import configure

HEAD = "---\nname: pier-ways\ndescription: How the pier writes things. Use for anything of the pier.\n---\n\n# Ways of the pier\n\n"
FORM = """\
## Report format

Every report has this structure:

```markdown
# Report of the pier
## Weather
## Arrivals
## Departures
## Damage
### Costs
## Next watch
## [Name of the keeper]
```
"""
WORDS = """\
## Words

| Avoid | Use instead |
|---|---|
| `fetch_tide` | `read_tide` |
| `boat.name` | `vessel.title` |
| `berth`/`slot` | `place` |

Never write `harbour_x`; use `haven_y` instead.
"""
PAIRS = """\
## Lines of the log

Example:
Input: arrival of Skarvik at berth 4
Output: berth 4: Skarvik, arrival
"""
SCRIPT = '''"""Counts the boats of a list by their berths."""

import json
import sys

boats = json.load(open(sys.argv[1]))
for nth, boat in enumerate(boats):
    print(f"berth {nth} holds {boat['name']} of {boat['home']}")
print(f"boats in all: {len(boats)}")
'''
BOATS = json.dumps([{"name": f"Vessel{nth}", "home": f"Port{nth}"} for nth in range(8)])
COMMAND = "## Count\n\n```bash\npython scripts/count.py boats.json\n```\n"


def drafts(
    root: Path, text: str, files: dict[str, str] | None = None, run: Any = None
) -> dict[str, list[TemplateDraft]]:
    """What each family makes of a skill with this text."""
    folder = root / "skills/pier-ways"
    for path, body in {"SKILL.md": HEAD + text, **(files or {})}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(body, "utf-8")
    place, config = configure((str(root),), None, {})
    (skill,) = read_skills(discover((str(root),), config, place))
    subject = make_subject((skill,), place)
    return {name: found for name, each in task_templates().items() if (found := list(each.draft(subject, run)))}


CASES = {"document_form": FORM, "replaced_words": WORDS, "example_pairs": PAIRS}


@pytest.mark.parametrize("name", CASES)
def test_what_is_declared_becomes_a_task(name: str, tmp_path: Path) -> None:
    found = drafts(tmp_path, CASES[name])
    assert list(found) == [name]
    (draft,) = found[name]
    assert find_form_flaws(draft.task) == []
    assert draft == drafts(tmp_path, CASES[name])[name][0], "the same skill gives the same task"
    for group in ("goal", "instruction"):
        assert sum(each.points for each in draft.task.items(group)) == 100 and all(
            each.check for each in draft.task.items(group)
        )
    assert "pier-ways" not in draft.task.instruction


@pytest.mark.parametrize(
    "text",
    [
        "Be kind. Always check twice. Never hurry.\n",
        FORM.replace("### Costs\n## Next watch\n", ""),
        FORM.replace("Report format", "Notes").replace("Every report has this structure:", "Look:"),
        "".join(f"```bash\n# step {nth}\nls\n```\n" for nth in range(9)),
        "Avoid `one`.\n\nAvoid `two`.\n",
        "| Avoid | Use instead |\n|---|---|\n| `a_b` | `a_b_c` |\n| `NAME=<x>` | `y_z` |\n",
        "Input: tidy up the place\nOutput: chore(pier): restore order everywhere\n",
        "Input: arrival of Skarvik\n\nNothing follows.\n",
        COMMAND,
    ],
)
def test_nothing_is_made_of_what_is_not_declared(text: str, tmp_path: Path) -> None:
    assert drafts(tmp_path, text, run=lambda *_: ScriptedRun(0, "x\n")) == {}


def test_the_forms_headings_and_their_order_are_the_hidden_rules(tmp_path: Path) -> None:
    (draft,) = drafts(tmp_path, FORM)["document_form"]
    assert not any(word in draft.task.instruction for word in ("Weather", "Arrivals", "Costs"))
    patterns = [dict(each.check.given)["pattern"] for each in draft.task.items("instruction") if each.check]
    right = next(file.data for file in draft.task.solution if file.path == "answer-1").decode()
    assert len(patterns) == 13 and all(search(pattern, right) for pattern in patterns)
    assert all(search(pattern, right.replace("\n", "\r\n")) for pattern in patterns)
    wrong = right.replace("## Weather", "### Weather")
    assert [bool(search(pattern, wrong)) for pattern in patterns].count(False) == 3
    assert "Name of the keeper" not in right, "what is to be filled in is no heading to hold anybody to"


def test_only_what_can_be_told_apart_is_replaced(tmp_path: Path) -> None:
    (draft,) = drafts(tmp_path, WORDS)["replaced_words"]
    old = draft.task.files[0].data.decode()
    assert all(word in old for word in ("fetch_tide", "boat.name", "harbour_x")) and "slot" not in old
    new = next(file.data for file in draft.task.solution if file.path == "answer-1").decode()
    assert all(word in new for word in ("read_tide", "vessel.title", "haven_y")) and "fetch_tide" not in new
    assert [line.split(":")[0] for line in old.splitlines()] == [line.split(":")[0] for line in new.splitlines()]


def test_held_out_cases_have_other_names_on_both_sides(tmp_path: Path) -> None:
    from skill_health.drafts.tasks.templates.example_pairs import _Example

    (draft,) = drafts(tmp_path, PAIRS)["example_pairs"]
    asked = [file.data.decode() for file in draft.task.files]
    assert len(set(asked)) == 10 and not any("Skarvik" in text for text in asked)
    example = _Example("give RedFox to Blue_Jay", "Blue_Jay <- RedFox", "t", ("RedFox", "Blue_Jay"))
    given, wanted = _renamed(example, 3)
    words = given.split()
    assert wanted == f"{words[3]} <- {words[1]}" and [len(word) for word in words] == [4, 6, 2, 8]
    assert words[1][0].isupper() and words[1][3].isupper() and words[3][4] == "_"
    assert (words[1] < words[3]) == ("RedFox" < "Blue_Jay")


def test_numbers_are_different_and_follow_from_the_seed() -> None:
    assert chosen_numbers("a", 10, 100, 120) == chosen_numbers("a", 10, 100, 120) != chosen_numbers("b", 10, 100, 120)
    assert len(set(chosen_numbers("a", 20, 100, 120))) == 20


@pytest.mark.parametrize(
    ("answers", "made"),
    [
        (
            [ScriptedRun(0, "".join(f"line {nth} of word{nth} and more{nth}\n" for nth in range(8)))] * 2
            + [ScriptedRun(1, "")],
            1,
        ),
        ([ScriptedRun(1, "Traceback")] * 3, 0),
        ([ScriptedRun(None, "")] * 3, 0),
        ([ScriptedRun(0, "too\nshort\n")] * 2 + [ScriptedRun(0, "")], 0),
        ([ScriptedRun(0, "now\n" * 9), ScriptedRun(0, "then\n" * 9), ScriptedRun(0, "")], 0),
        ([ScriptedRun(0, "".join(f"the same {nth} for{nth} all\n" for nth in range(9)))] * 3, 0),
    ],
)
def test_a_script_counts_only_if_it_works_and_says_something_of_its_input(
    answers: list[ScriptedRun], made: int, tmp_path: Path
) -> None:
    left = iter(answers)
    files = {"scripts/count.py": SCRIPT, "examples/boats.json": BOATS}
    found = drafts(tmp_path, COMMAND, files, lambda *_: next(left))
    assert len(found.get("bundled_script", [])) == made


def test_no_script_is_run_where_nothing_may_be(tmp_path: Path) -> None:
    assert drafts(tmp_path, COMMAND, {"scripts/count.py": SCRIPT, "examples/boats.json": BOATS}, None) == {}


@pytest.mark.bubblewrap
@pytest.mark.real
def test_every_family_gives_tasks_that_pass_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    needs_bubblewrap()
    files = {"scripts/count.py": SCRIPT, "examples/boats.json": BOATS}
    drafts(tmp_path, FORM + "\n" + WORDS + "\n" + PAIRS + "\n" + COMMAND, files)
    words = ["draft", "tasks", "--collection", str(tmp_path), "--straight", "-n", "4", "--format", "json"]
    assert main([*words, "--sandbox", "bubblewrap"]) == 0
    report = json.loads(capsys.readouterr().out)["total"]
    assert (report["proposals"]["fit"], report["tasks"]["fit"], report["tasks"]["reasons"]) == (4, 4, {})
    check = ["effectiveness", "check", str(tmp_path / "drafts/tasks"), "--skills", str(tmp_path / "skills")]
    assert main([*check, "--sandbox", "bubblewrap"]) == 0
    records = [json.loads(path.read_text("utf-8")) for path in (tmp_path / "drafts/tasks").glob("*.json")]
    assert {each["origin"]["template"] for each in records} == {*CASES, "bundled_script"}
    assert all("weaker" in each["notes"][0] for each in records)

"""Arms: which skills a task gets in each, in what order, and what the agent is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.core.errors import UsageError
from skill_health.effectiveness.records import CONDITIONS, Arm, SkillCopy
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.workspace import staging
from skill_health.effectiveness.workspace.copies import copies, make_copy
from skill_health.effectiveness.workspace.staging import parse_arm, parse_arms, placebo, prompt_of, staged
from skill_health.skill.parse import parse_skill

TASK = Task("001", "one", "tasks/001-one", "plan_directory", "Do it.\n", ("b",), "a", "c", "d")


def skill(name: str, body: str = "Body.\n") -> SkillCopy:
    text = f"---\nname: {name}\ndescription: Use when {name} is needed.\n---\n{body}"
    return make_copy(name, f"Use when {name} is needed.", [File("SKILL.md", text.encode())])


COPIES = {name: skill(name) for name in "abcdef"}


STAGED = {
    "control": "", "target": "b", "aa": "b", "placebo": "b", "negative": "a", "full": "abcdef", "target_plus_one": "bc",
    "target_plus_unrelated": "bd", "leave_one_out:b": "acdef", "target+hint": "b",
}  # fmt: skip


@pytest.mark.parametrize(("arm", "names"), STAGED.items())
def test_arms_stage_the_skills_that_they_name(arm: str, names: str) -> None:
    found = staged(TASK, parse_arm(arm), COPIES)
    assert [each.name for each in found if isinstance(each, SkillCopy)] == list(names)
    assert parse_arm(arm).name == arm


def test_a_bundle_is_staged_as_one_and_its_placebo_is_that_of_each() -> None:
    both = replace(TASK, target_skills=("b", "e"))
    for arm, names in {"target": "be", "aa": "be", "target_plus_one": "bce", "leave_one_out:e": "abcdf"}.items():
        found = staged(both, parse_arm(arm), COPIES)
        assert [each.name for each in found if isinstance(each, SkillCopy)] == list(names)
    assert staged(both, parse_arm("placebo"), COPIES) == (placebo(COPIES["b"]), placebo(COPIES["e"]))


@pytest.mark.parametrize(
    ("task", "arm", "why"),
    [
        (replace(TASK, target_skills=()), "target", "negative control"),
        (replace(TASK, target_skills=()), "leave_one_out:b", "negative control"),
        (replace(TASK, target_skills=None), "placebo", "the task names no target_skill"),
        (replace(TASK, related_skill=None), "target_plus_one", "no related_skill"),
        (replace(TASK, irrelevant_skill=None), "negative", "no irrelevant_skill"),
        (replace(TASK, target_skills=("gone",)), "target", "'gone' is not"),
        (TASK, "leave_one_out:gone", "'gone' is not"),
    ],
)
def test_a_task_without_an_arm_says_why(task: Task, arm: str, why: str) -> None:
    assert why in str(staged(task, parse_arm(arm), COPIES))


def test_negative_controls_have_three_arms() -> None:
    task = replace(TASK, target_skills=())
    assert [arm for arm in CONDITIONS if not isinstance(staged(task, Arm(arm), COPIES), str)] == [
        "control", "negative", "full",
    ]  # fmt: skip


def test_orders_are_their_own_for_each_seed_and_task() -> None:
    def names(seed: int, task: str) -> list[str]:
        found = staged(replace(TASK, id=task), parse_arm(f"order:{seed}"), COPIES)
        return [each.name for each in found if isinstance(each, SkillCopy)]

    orders = {tuple(names(seed, task)) for seed in range(4) for task in ("1", "2", "3")}
    assert len(orders) >= 10
    assert names(3, "1") == names(3, "1")
    assert all(sorted(order) == list(COPIES) for order in orders)


@pytest.mark.parametrize(
    "text",
    [
        "", "contol", "target:x", "order:", "order:-1", "order:x", "order:²", "leave_one_out:", "control+hint",
        "control@mcp", "target@", "target@mpc", "target@files@mcp", "target+hint@mcp",
    ],
)  # fmt: skip
def test_what_is_no_arm_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_arm(text)
    assert "\n" not in str(caught.value)


def test_the_control_is_always_there_and_never_hinted() -> None:
    assert [arm.name for arm in parse_arms(["full", "control", "full"], "only")] == ["control", "full+hint"]


def test_the_hint_names_the_staged_skills_and_nothing_else_changes() -> None:
    both = staged(TASK, parse_arm("target_plus_one+hint"), COPIES)
    assert not isinstance(both, str)
    told = prompt_of(TASK, parse_arm("target_plus_one+hint"), both)
    assert told.startswith("Do it.\n\n")
    assert "b, c" in told
    assert prompt_of(TASK, Arm("target_plus_one"), both) == TASK.prompt


@given(st.integers(0, 4000), st.sampled_from(["a", "csv-cleaning", "x" * 60]))
def test_a_placebo_is_as_long_as_its_skill_and_listed_the_same(size: int, name: str) -> None:
    real = skill(name, "y" * size)
    false = placebo(real)
    (file,) = false.files
    assert len(file.data) == len(real.files[0].data)
    assert (false.name, false.description, false.placebo) == (real.name, real.description, True)
    assert file.data.startswith(real.files[0].data[: len(real.files[0].data) - size])
    assert "yy" not in file.data.decode()
    assert placebo(real) == false


@pytest.mark.parametrize(
    "head",
    [
        "\ufeff---\nname: b\n---\n", "---\r\nname:  'b'  # c\r\n--- \r\n", "\n---\nname: b\n---\n", "---\rname: b\r---\r", "",
    ],
)  # fmt: skip
def test_a_placebo_keeps_every_byte_of_the_head(head: str) -> None:
    real = make_copy("b", "", [File("SKILL.md", f"{head}# Body\n\nDo it.\n".encode())])
    (file,) = placebo(real).files
    assert (file.data.startswith(head.encode()), b"Body" in file.data) == (True, False)
    assert len(file.data) == len(real.files[0].data)


def folder(root: Path, name: str, text: str = "", **files: str) -> None:
    place = root / name
    place.mkdir(parents=True)
    (place / "SKILL.md").write_text(text or f"---\nname: {name}\ndescription: d\n---\n")
    for file, content in files.items():
        (place / file).write_text(content)


def read(root: Path, *names: str) -> dict[str, SkillCopy]:
    found = []
    for name in names:
        raw = (root / name / "SKILL.md").read_bytes()
        files = tuple(sorted(path.name for path in (root / name).iterdir() if path.name != "SKILL.md"))
        found.append(parse_skill(raw, f"{name}/SKILL.md", name, files))
    return copies(found, str(root))


def test_every_file_counts_in_the_digest_of_a_copy(tmp_path: Path) -> None:
    folder(tmp_path, "one", helper="1")
    first = read(tmp_path, "one")["one"]
    assert [file.path for file in first.files] == ["SKILL.md", "helper"]
    (tmp_path / "one" / "helper").chmod(0o755)
    second = read(tmp_path, "one")["one"]
    (tmp_path / "one" / "helper").write_text("2")
    third = read(tmp_path, "one")["one"]
    assert len({first.digest, second.digest, third.digest}) == 3


def test_a_skill_that_cannot_be_staged_whole_is_refused(tmp_path: Path) -> None:
    folder(tmp_path, "one")
    (tmp_path / "one" / "link").symlink_to("/etc/passwd")
    with pytest.raises(UsageError, match="link"):
        read(tmp_path, "one")


@pytest.mark.parametrize(
    ("name", "said"), [("one", "'one': .*--skip-namesakes"), ("../../up", "cannot be the name of a folder")]
)
def test_a_name_that_collides_or_leaves_its_folder_is_refused(tmp_path: Path, name: str, said: str) -> None:
    folder(tmp_path, "one")
    folder(tmp_path, "two", f"---\nname: {name}\ndescription: d\n---\n")
    with pytest.raises(UsageError, match=said):
        read(tmp_path, "one", "two")


def test_leaving_out_what_is_not_there_is_the_users_mistake() -> None:
    staging.refuse_unknown([parse_arm("leave_one_out:a"), parse_arm("full")], COPIES)
    with pytest.raises(UsageError, match=r"did you mean 'sum-sheets'\?"):
        staging.refuse_unknown([parse_arm("leave_one_out:sum-sheet")], ["sum-sheets", "poems"])

"""Nothing is written or asked outside a repository because of what the repository holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from skill_health.core.errors import UsageError
from skill_health.core.files import replace_file, write_text
from skill_health.discovery.roots import reports_folder, stay_inside
from tests.conftest import Run

SKILL = (
    "---\nname: tidy\ndescription: Tidies lists. Use it when a list is in disorder.\n---\n# Tidy\n\nSort the lines.\n"
)
PROMPTS = '{"prompt_id": "p1", "prompt": "sort my list", "expected_primary_skill": "tidy"}\n'
PRECIOUS = "keep me\n"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of the user's, whose files nothing may change."""
    place = tmp_path / "home"
    place.mkdir()
    for name in ("bashrc", "index.html", "skill-health.json", "router-history.jsonl"):
        (place / name).write_text(PRECIOUS)
    return place


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "clone"
    (made / "skills/tidy").mkdir(parents=True)
    (made / "skills/tidy/SKILL.md").write_text(SKILL)
    (made / "prompts.jsonl").write_text(PROMPTS)
    (made / "skill-health.toml").write_text("")
    return made


def state_of(folder: Path) -> Mapping[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def link(root: Path, name: str, target: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).symlink_to(target)


WRITES: dict[str, tuple[Callable[[Path], None], tuple[str, ...]]] = {
    "the snapshot is a link": (lambda root: link(root, "reports/skill-health.json", "../../home/bashrc"), ("daily",)),
    "the drift is a link": (lambda root: link(root, "reports/skill-health-drift.md", "../../home/bashrc"), ("daily",)),
    "the history is a link": (
        lambda root: link(root, "reports/skill-health-history.jsonl", "../../home/bashrc"), ("daily",),
    ),
    "the history is a link to nothing": (
        lambda root: link(root, "reports/skill-health-history.jsonl", "../../home/new"), ("daily",),
    ),
    "the reports are elsewhere": (lambda root: link(root, "reports", "../home"), ("daily",)),
    "the reports are two links away": (
        lambda root: (link(root, "inner/a", "../../home"), link(root, "reports", "inner/a"))[0], ("daily",),
    ),
    "the page is a link": (lambda root: link(root, "reports/index.html", "../../home/index.html"), ("report",)),
    "the page's folder is elsewhere": (lambda root: link(root, "reports", "../home"), ("report",)),
    "the page's state is a link": (
        lambda root: link(root, "reports/index.state.json", "../../home/bashrc"), ("report",),
    ),
    "the runs are elsewhere": (
        lambda root: link(root, "reports/router", "../../home"), ("router", "run", ".", "--models", "lexical:overlap"),
    ),
    "the history of the runs is a link": (
        lambda root: link(root, "reports/router-history.jsonl", "../../home/router-history.jsonl"),
        ("router", "run", ".", "--models", "lexical:overlap"),
    ),
    "the baseline is a link": (
        lambda root: link(root, "skill-health-baseline.json", "../home/bashrc"), ("lint", "--write-baseline", "all"),
    ),
    "the baseline's folder is elsewhere": (
        lambda root: (
            link(root, "known", "../home"),
            (root / "skill-health.toml").write_text('baseline = "known/bashrc"\n'),
        )[0],
        ("lint", "--write-baseline", "all"),
    ),
    "the settings that init adds to are a link": (
        lambda root: link(root, ".pre-commit-config.yaml", "../home/bashrc"), ("init", "."),
    ),
    "the workflow's folder is elsewhere": (
        lambda root: link(root, ".github/workflows", "../../home"), ("init", ".", "--workflow"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("attack", WRITES)
def test_no_link_of_a_repository_is_written_through(attack: str, root: Path, outside: Path, run: Run) -> None:
    prepare, command = WRITES[attack]
    prepare(root)
    before = state_of(outside)
    done = run(*command, cwd=root)
    assert done.returncode in (0, 1, 2), done.stderr
    assert state_of(outside) == before, done.stdout


LED_OUT = "leads out of {} by a symbolic link: remove the link"


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        ("the reports are elsewhere", f"reports {LED_OUT.format('.')}"),
        ("the snapshot is a link", "it is a symbolic link; remove it, or name the file that it leads to"),
        ("the runs are elsewhere", LED_OUT.format("reports")),
    ],
)
def test_what_is_wrong_is_said_in_one_line(attack: str, message: str, root: Path, outside: Path, run: Run) -> None:
    prepare, command = WRITES[attack]
    prepare(root)
    done = run(*command, cwd=root)
    assert done.returncode == 2 and message in done.stderr
    assert sum("error" in line for line in done.stderr.splitlines()) == 1


def test_a_link_within_the_repository_leads_to_the_reports(root: Path, run: Run) -> None:
    (root / "docs/reports").mkdir(parents=True)
    link(root, "reports", "docs/reports")
    assert run("daily", cwd=root).returncode == 0
    assert (root / "docs/reports/skill-health.json").is_file()


def test_the_user_may_name_any_folder(root: Path, outside: Path, run: Run) -> None:
    link(root, "mine", "../home/daily")
    (outside / "daily").mkdir()
    assert run("daily", "--reports", "mine", cwd=root).returncode == 0
    assert (outside / "daily/skill-health.json").is_file()


def test_a_link_is_refused_wherever_a_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "target").write_text(PRECIOUS)
    (tmp_path / "link").symlink_to("target")
    with pytest.raises(UsageError, match="symbolic link"):
        write_text(str(tmp_path / "link"), "x")
    with pytest.raises(OSError, match="symbolic link"):
        replace_file(str(tmp_path / "link"), b"x", durable=True)
    (tmp_path / "new.tmp").symlink_to("target")
    with pytest.raises(OSError, match="symbolic link"):
        replace_file(str(tmp_path / "new"), b"x", durable=True, temporary=str(tmp_path / "new.tmp"))
    assert (tmp_path / "target").read_text() == PRECIOUS


def test_a_place_inside_is_returned_as_it_was_given(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "c").symlink_to("..")
    inside = str(tmp_path / "b" / "new")
    assert stay_inside(inside, str(tmp_path)) == inside
    assert stay_inside(str(tmp_path), str(tmp_path)) == str(tmp_path)
    for name in ("c", "c/new", "c/../.."):
        with pytest.raises(UsageError, match=r"leads out of|is outside of"):
            stay_inside(os.path.join(tmp_path, name), str(tmp_path))


def test_reports_of_a_part_may_lie_elsewhere_in_the_repository(tmp_path: Path) -> None:
    from skill_health.config.settings import Config

    (tmp_path / ".git").mkdir()
    (tmp_path / "part").mkdir()
    (tmp_path / "all-reports").mkdir()
    (tmp_path / "part/reports").symlink_to("../all-reports")
    root = os.path.realpath(tmp_path / "part")
    assert reports_folder(None, root, Config()) == os.path.join(root, "reports")

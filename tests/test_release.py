"""What a release is made by: workflows that are well formed, pinned and without standing rights, and a Dockerfile."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.check_release import problems
from skill_health import __version__

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def load(path: Path) -> dict[Any, Any]:
    found: dict[Any, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("schema", "path"),
    [
        *(("vendor.github-workflows", path) for path in (*WORKFLOWS, ROOT / "examples" / "github-workflow-daily.yml")),
        ("vendor.github-actions", ROOT / "action.yml"),
    ],
    ids=lambda value: value.name if isinstance(value, Path) else "",
)
def test_they_are_what_their_schema_says(schema: str, path: Path) -> None:
    command = [str(Path(sys.executable).with_name("check-jsonschema")), "--builtin-schema", schema, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_component_is_what_its_schema_says_once_its_inputs_are_filled_in(tmp_path: Path) -> None:
    text = (ROOT / "templates" / "skill-health.yml").read_text(encoding="utf-8")
    head, _, body = text.partition("\n---\n")
    inputs = yaml.safe_load(head)["spec"]["inputs"]
    for name, about in inputs.items():
        body = body.replace(f"$[[ inputs.{name} ]]", str(about.get("default", "skill-health")))
    assert "$[[" not in body, "an input that is not declared"
    filled = tmp_path / ".gitlab-ci.yml"
    filled.write_text(body, encoding="utf-8")
    command = [str(Path(sys.executable).with_name("check-jsonschema")), "--builtin-schema", "vendor.gitlab-ci"]
    done = subprocess.run(
        [*command, "--data-transform", "gitlab-ci", str(filled)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_and_no_value_is_pasted_into_a_script(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)(?: # (\S+))?\n", text)
    assert used and all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action) for action, _ in used)
    assert all(re.fullmatch(r"v\d+\.\d+\.\d+", version) for _, version in used)
    steps = [step for job in load(path)["jobs"].values() for step in job["steps"]]
    assert not [step for step in steps if "${{" in step.get("run", "")]


def test_the_matrix_is_what_the_package_says_it_runs_on() -> None:
    matrix = load(ROOT / ".github" / "workflows" / "test.yml")["jobs"]["quick"]["strategy"]["matrix"]
    assert matrix == {"os": ["ubuntu-latest", "macos-latest", "windows-latest"], "python": ["3.11", "3.12", "3.13"]}


def test_only_the_job_that_publishes_may_publish() -> None:
    release = load(ROOT / ".github" / "workflows" / "release.yml")
    assert release["permissions"] == {}
    build, publish = release["jobs"]["build"], release["jobs"]["publish"]
    assert build["permissions"] == {"contents": "read", "id-token": "write", "attestations": "write"}
    assert publish["permissions"] == {"id-token": "write"} and publish["environment"] == "release"
    assert not [step for step in publish["steps"] if "run" in step], "nothing of ours runs where it could publish"
    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text()


def test_a_release_needs_its_tag_and_its_section(tmp_path: Path) -> None:
    (tmp_path / "skill_health").mkdir()
    (tmp_path / "skill_health" / "__init__.py").write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("## 1.2.3, unreleased\n")
    assert len(problems("v1.2.3", tmp_path)) == 1 and len(problems("v1.2.4", tmp_path)) == 2
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3, 2026-12-01\n")
    assert problems("v1.2.3", tmp_path) == []
    assert problems(f"v{__version__}", ROOT) in ([], [f"CHANGELOG.md has no section of {__version__} with a date"])


def test_the_image_is_held_to_the_hashes_and_runs_as_nobody_special() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert "--require-hashes --only-binary :all: -r locks/build.txt -r locks/report.txt" in text
    assert "--no-deps --no-index --no-build-isolation ." in text
    assert text.index("USER reader") < text.index("ENTRYPOINT")
    assert "git config --system --add safe.directory /skills" in text
    assert text.index("cd / &&") < text.index("rm -rf /source"), "git cannot begin in a folder that is gone"

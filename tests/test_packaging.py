"""The distribution, as users get it: built, and installed into empty environments by pip and pipx."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from skill_health import __version__

pytestmark = [pytest.mark.real, pytest.mark.skipif(os.name == "nt", reason="POSIX layout of environments")]

PACKAGES = ("skill_health", "router", "effectiveness")
SKILL = """---
name: tidy-lists
description: Sorts lists and removes repeats. Use when a list is out of order or has duplicates.
---
# Tidy lists

1. Sort the list.
2. Remove what is repeated.
"""


def call(*command: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a program without what this environment's Python was told."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    return subprocess.run(
        list(map(str, command)), cwd=cwd, env=kept | env, capture_output=True, text=True, timeout=300, check=False
    )


def must(*command: str | Path, cwd: Path, **env: str) -> str:
    done = call(*command, cwd=cwd, **env)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def built(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    out = tmp_path_factory.mktemp("dist")
    must(sys.executable, "-m", "build", "--outdir", out, checkout, cwd=out)
    return out


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    return next(built.glob("*.whl"))


def empty_environment(root: Path) -> Path:
    """A new virtual environment; its folder of programs."""
    must(sys.executable, "-m", "venv", root / "env", cwd=root)
    return root / "env" / "bin"


def check_command(command: Path, root: Path) -> None:
    """The installed command says its version, passes a good skill and refuses a bad one, away from the checkout."""
    assert must(command, "--version", cwd=root) == f"skill-health {__version__}\n"
    skill = root / "skills" / "tidy-lists" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL, encoding="utf-8")
    must(command, "lint", "skills", cwd=root)
    skill.write_text(SKILL.replace("name: tidy-lists\n", ""), encoding="utf-8")
    refused = call(command, "lint", "skills", cwd=root)
    assert refused.returncode == 1, refused.stderr
    assert "skills/tidy-lists/SKILL.md:" in refused.stdout
    must(command, "rules", cwd=root)


def test_the_wheel_holds_every_file_of_the_packages_and_nothing_else(checkout: Path, wheel: Path) -> None:
    kept = must("git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *PACKAGES, cwd=checkout)
    files = [name for name in kept.splitlines() if (checkout / name).is_file()]
    wanted = {name if name.startswith("skill_health/") else f"skill_health/{name}" for name in files}
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert inside == wanted
    assert {name.partition("/")[0] for name in inside} == {"skill_health"}
    assert not [name for name in inside if "scripted" in name or "/docs" in name]


def test_the_metadata_is_complete(wheel: Path, built: Path) -> None:
    info = f"skill_health-{__version__}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"{info}/METADATA").decode()
        assert f"{info}/licenses/LICENSE" in archive.namelist()
        assert "skill-health = skill_health.cli:entry" in archive.read(f"{info}/entry_points.txt").decode()
    for line in (f"Version: {__version__}", "License-Expression: MIT", "Requires-Python: >=3.11"):
        assert line in metadata.splitlines()
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"LICENSE", "README.md", "pyproject.toml", "skill_health/cli.py"} <= names


def test_wheel_in_an_empty_environment(wheel: Path, checkout: Path, tmp_path: Path) -> None:
    programs = empty_environment(tmp_path)
    must(programs / "python", "-m", "pip", "install", "-c", checkout / "constraints.txt", wheel, cwd=tmp_path)
    check_command(programs / "skill-health", tmp_path)
    must(programs / "python", "-I", "-c", "import skill_health.router, skill_health.effectiveness", cwd=tmp_path)


def test_pip_install_of_the_checkout(checkout: Path, tmp_path: Path) -> None:
    programs = empty_environment(tmp_path)
    must(programs / "python", "-m", "pip", "install", "-c", "constraints.txt", ".", cwd=checkout)
    check_command(programs / "skill-health", tmp_path)


def test_pipx_install(wheel: Path, checkout: Path, tmp_path: Path) -> None:
    homes = {"PIPX_HOME": str(tmp_path / "pipx"), "PIPX_BIN_DIR": str(tmp_path / "bin")}
    pip_args = f"--pip-args=--constraint={checkout / 'constraints.txt'}"
    must(sys.executable, "-m", "pipx", "install", pip_args, wheel, cwd=tmp_path, **homes)
    check_command(tmp_path / "bin" / "skill-health", tmp_path)

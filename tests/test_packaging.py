"""The distribution, as users get it: built, installed into empty environments, and used in the folders of strangers."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import pytest
from agent_server import AgentServer, Play
from agent_trials import FOLDER, program
from run_made import SKILLS, rows, the_run, write_collection
from thinned import EXHAUSTIVE, thinned

from skill_health import __version__
from skill_health.effectiveness.sandbox._load import back_end

pytestmark = [pytest.mark.real, pytest.mark.skipif(os.name == "nt", reason="POSIX layout of environments")]

PACKAGES = ("skill_health", "router", "effectiveness")
HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"
VERSIONS = ("3.11", "3.12", "3.13")
# An environment takes long to fill, so the gate has one Python alone.
OTHERS = [pytest.param(version, marks=pytest.mark.exhaustive) for version in VERSIONS if version != HERE]
SKILL = """---
name: tidy-lists
description: Sorts lists and removes repeats. Use when a list is out of order or has duplicates.
---
# Tidy lists

1. Sort the list.
2. Remove what is repeated.
"""
POEMS = """---
name: poems
description: Writes poems about the sea and other subjects. Use when a poem or a rhyme is wanted.
---
# Poems

1. Ask for the subject.
2. Write it in four lines.
"""
PROMPTS = """{"id": "p1", "prompt": "sort this list, it is out of order", "expected": "tidy-lists"}
{"id": "p2", "prompt": "write a poem about the sea", "expected": "poems"}
{"id": "p3", "prompt": "what is the capital of France", "expected": null}
"""
LATER = "2026-11-21T0{}:00:00Z"


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


def interpreter(version: str) -> str:
    """A Python of this version: this one, one on PATH that starts, or one of pyenv's."""
    if version == HERE:
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    on_path = shutil.which(f"python{version}")
    for found in [*filter(None, [on_path]), *map(str, sorted(pyenv.glob(f"{version}.*/bin/python")))]:
        if subprocess.run([found, "-c", ""], capture_output=True, check=False).returncode == 0:
            return found
    pytest.skip(f"python{version} is missing: install it, for instance by `pyenv install {version}`")


@dataclass(frozen=True)
class Installation:
    """The wheel in an environment of its own, with the extras that are named."""

    programs: Path
    extras: tuple[str, ...]

    def __call__(self, *args: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
        home = cwd / ".home"
        home.mkdir(exist_ok=True)
        more = {"HOME": str(home), "SKILL_HEALTH_CACHE_DIR": str(home / "cache"), "COLUMNS": "100"}
        return call(self.programs / "skill-health", *args, cwd=cwd, **more | env)


def install(wheel: Path, checkout: Path, root: Path, version: str, extras: tuple[str, ...]) -> Installation:
    must(interpreter(version), "-m", "venv", root / "env", cwd=root)
    what = f"{wheel}[{','.join(extras)}]" if extras else wheel
    command = (root / "env" / "bin" / "python", "-m", "pip", "install", "-q", "-c", checkout / "constraints.txt", what)
    must(*command, cwd=root)
    return Installation(root / "env" / "bin", extras)


@pytest.fixture(scope="module", params=[pytest.param(HERE, marks=pytest.mark.smoke), *OTHERS])
def base(
    request: pytest.FixtureRequest, wheel: Path, checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> Installation:
    """The wheel without extras, on each Python."""
    return install(wheel, checkout, tmp_path_factory.mktemp("base"), request.param, ())


@pytest.fixture(scope="module", params=[HERE, *OTHERS])
def full(
    request: pytest.FixtureRequest, wheel: Path, checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> Installation:
    """The wheel with the extras that runs and their page need, on each Python."""
    return install(wheel, checkout, tmp_path_factory.mktemp("full"), request.param, ("bench", "report"))


@pytest.fixture(
    scope="module",
    params=[
        (),
        ("bench",),
        pytest.param(("embed",), marks=EXHAUSTIVE),
        ("report",),
        pytest.param(("acp",), marks=EXHAUSTIVE),
    ],
    ids=lambda each: "".join(each),
)
def alone(
    request: pytest.FixtureRequest, wheel: Path, checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> Installation:
    """The wheel with one extra alone, and with none."""
    return install(wheel, checkout, tmp_path_factory.mktemp("alone"), HERE, request.param)


@pytest.fixture
def strange(tmp_path: Path) -> Path:
    """A stranger's repository: two skills, some prompts, and packages that are called as parts of ours are."""
    files = {
        "skills/tidy-lists/SKILL.md": SKILL,
        "skills/poems/SKILL.md": POEMS,
        "prompts.jsonl": PROMPTS,
        **{f"{name}/__init__.py": "raise SystemExit('a stranger')\n" for name in (*PACKAGES, "numpy", "yaml", "click")},
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    must("git", "init", "-q", cwd=tmp_path)
    commit(tmp_path)
    return tmp_path


def commit(root: Path) -> None:
    must("git", "add", "-A", cwd=root)
    must("git", "commit", "-qm", "x", cwd=root)


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


def test_addresses_are_those_of_the_repository_that_the_build_names(checkout: Path, tmp_path: Path) -> None:
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path, checkout)
    done = call(*build, cwd=tmp_path, SKILL_HEALTH_REPOSITORY="https://git.example/o/r")
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    metadata = zipfile.ZipFile(wheel).read(f"skill_health-{__version__}.dist-info/METADATA").decode()
    assert f"Project-URL: Documentation, https://git.example/o/r/blob/v{__version__}/docs" in metadata
    assert f'src="https://git.example/o/r/raw/v{__version__}/docs/pictures/page.png"' in metadata
    assert "](docs/" not in metadata
    must(sys.executable, "-m", "venv", tmp_path / "env", cwd=tmp_path)
    pip = (tmp_path / "env/bin/python", "-m", "pip", "install", "-q", "-c", checkout / "constraints.txt")
    must(*pip, wheel, cwd=tmp_path)
    (tmp_path / "SKILL.md").write_text("---\nname: x\n---\n[a](b.md)\n", encoding="utf-8")
    sarif = call(tmp_path / "env/bin/skill-health", "lint", "--format", "sarif", "SKILL.md", cwd=tmp_path).stdout
    rules = {rule["id"]: rule for rule in json.loads(sarif)["runs"][0]["tool"]["driver"]["rules"]}
    assert rules["LI001"]["helpUri"] == f"https://git.example/o/r/blob/v{__version__}/docs/rules/LI001.md"
    assert call(*build, cwd=tmp_path, SKILL_HEALTH_REPOSITORY="http://x; y").returncode != 0


def test_the_sdist_holds_what_the_wheel_is_built_of_and_nothing_else(checkout: Path, wheel: Path, built: Path) -> None:
    with tarfile.open(path := next(built.glob("*.tar.gz"))) as sdist:
        files = {member.name.partition("/")[2]: member for member in sdist.getmembers() if not member.isdir()}
    assert all(member.isfile() for member in files.values()), "no link and no device"
    code = {name for name in files if name.startswith(tuple(f"{package}/" for package in PACKAGES))}
    beside = {".gitignore", "LICENSE", "PKG-INFO", "README.md", "hatch_build.py", "pyproject.toml"}
    assert set(files) - code == beside
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert {name if name.startswith("skill_health/") else f"skill_health/{name}" for name in code} == inside
    assert path.stat().st_size < 2_500_000


@pytest.mark.parametrize(("lock", "more"), [("base", ()), ("report", ("Jinja2",))])
@pytest.mark.parametrize("version", [HERE, *OTHERS])
def test_the_locks_install_with_their_hashes_as_the_action_does(
    checkout: Path, tmp_path: Path, version: str, lock: str, more: tuple[str, ...]
) -> None:
    must(interpreter(version), "-m", "venv", tmp_path / "env", cwd=tmp_path)
    pip = (tmp_path / "env/bin/python", "-I", "-m", "pip", "install", "-q", "--disable-pip-version-check")
    locks = ("--requirement", "locks/build.txt", "--requirement", f"locks/{lock}.txt")
    must(*pip, "--require-hashes", "--only-binary", ":all:", *locks, cwd=checkout)
    must(*pip, "--no-deps", "--no-index", "--no-build-isolation", ".", cwd=checkout)
    listed = must(*pip[:4], "freeze", cwd=tmp_path)
    assert all(name in listed for name in ("skill-health @", "markdown-it-py==", *more))
    must(*pip[:4], "check", cwd=tmp_path)
    (tmp_path / "skills/tidy-lists").mkdir(parents=True)
    (tmp_path / "skills/tidy-lists/SKILL.md").write_text(SKILL, encoding="utf-8")
    assert "1 skill checked" in must(tmp_path / "env/bin/skill-health", "lint", "skills", cwd=tmp_path)


PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_28_aarch64", "macosx_11_0_arm64", "macosx_11_0_x86_64", "win_amd64")


@pytest.mark.parametrize("version", [pytest.param("3.11", marks=pytest.mark.exhaustive), "3.14"])
@pytest.mark.parametrize("platform", PLATFORMS)
def test_the_locks_have_wheels_for(checkout: Path, tmp_path: Path, platform: str, version: str) -> None:
    """What pip would take there; it looks at no marker of another system, and none of the packages has one."""
    older = {"manylinux_2_28": ("manylinux_2_17", "manylinux2014")}
    also = [platform.replace(name, old) for name, olds in older.items() if name in platform for old in olds]
    places = [word for each in (platform, *also) for word in ("--platform", each)]
    must(
        sys.executable, "-m", "pip", "install", "-q", "--dry-run", "--ignore-installed", "--target", tmp_path, *places,
        "--python-version", version, "--require-hashes", "--only-binary", ":all:", "--no-deps",
        "-r", "locks/build.txt", "-r", "locks/report.txt", cwd=checkout,
    )  # fmt: skip


def test_a_file_with_another_hash_is_refused(checkout: Path, tmp_path: Path) -> None:
    lock = (checkout / "locks/base.txt").read_text(encoding="utf-8")
    wrong = re.sub(r"(?s)(click==.*?)(\njsonschema==)", lambda m: re.sub(r"[0-9a-f]{64}", "0" * 64, m[1]) + m[2], lock)
    assert wrong != lock
    (tmp_path / "lock.txt").write_text(wrong, encoding="utf-8")
    must(sys.executable, "-m", "venv", tmp_path / "env", cwd=tmp_path)
    done = call(tmp_path / "env/bin/python", "-m", "pip", "install", "--require-hashes", "-r", "lock.txt", cwd=tmp_path)
    assert done.returncode != 0 and "DO NOT MATCH THE HASHES" in done.stdout + done.stderr


@pytest.mark.exhaustive
def test_the_oldest_markdown_parser_that_is_allowed_reads_the_same(wheel: Path, checkout: Path, tmp_path: Path) -> None:
    """Every rule over every kind of input: the parser is used below its public interface."""
    metadata = (checkout / "pyproject.toml").read_text(encoding="utf-8")
    lowest = re.search(r'"markdown-it-py>=([\d.]+),', metadata)
    assert lowest
    answers = []
    for name, pin in (("new", ""), ("old", f"markdown-it-py=={lowest[1]}.*")):
        must(sys.executable, "-m", "venv", tmp_path / name, cwd=tmp_path)
        python = tmp_path / name / "bin/python"
        must(python, "-m", "pip", "install", "-q", "-c", checkout / "constraints.txt", wheel, cwd=tmp_path)
        if pin:
            must(python, "-m", "pip", "install", "-q", pin, cwd=tmp_path)
        lint = call(
            python, "-I", "-m", "skill_health", "lint", "fixtures/rotten", "fixtures/skills", "--extend-select", "ALL", "--format", "json",
            "--no-cache", "--as-of", "2026-11-20", cwd=checkout,
        )  # fmt: skip
        assert lint.returncode == 1, lint.stderr
        answers.append(lint.stdout)
    assert answers[0] == answers[1]


def test_the_main_job_without_extras(base: Installation, strange: Path) -> None:
    """`init`, `lint`, `daily`, free routers, a sweep after an edit, and what is known of each skill."""

    def said(*args: str, code: int = 0) -> str:
        done = base(*args, cwd=strange)
        assert (done.returncode, "internal error" in done.stderr) == (code, False), done.stderr
        return done.stdout

    assert said("--version") == f"skill-health {__version__}\n"
    said("init")
    assert "2 skills checked" in said("lint")
    said("daily", "--time", LATER.format(1))
    free = ("--models", "lexical:tfidf,lexical:overlap")
    report = said("router", "run", *free, "--time", LATER.format(2))
    assert re.search(r"^lexical:tfidf +3 +100\.0 \[\d", report, re.MULTILINE), report
    assert "need numpy and scipy" in " ".join(report.split())
    assert said("router", "report") == report
    skill = strange / "skills" / "poems" / "SKILL.md"
    skill.write_text(skill.read_text("utf-8").replace("Writes poems", "Helps with much"), "utf-8")
    commit(strange)
    said("router", "sweep", "--since", "HEAD~1", *free, "--time", LATER.format(3))
    assert "tidy-lists" in said("status")
    assert "tidy-lists" in said("report", "--format", "md")
    skill.write_text(SKILL.replace("name: tidy-lists\n", ""), "utf-8")
    assert "skills/poems/SKILL.md:" in said("lint", code=1)


# What a command needs beyond the base, by what it says where that is missing; anything else must work everywhere.
NEEDS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("lint", "--score"): (),
    ("explain", "LI003"): (),
    ("rules",): (),
    ("daily", "--time", LATER.format(1)): (),
    ("fixtures",): (),
    ("init", "--dry-run"): (),
    ("status",): (),
    ("badge",): (),
    ("router", "models"): (),
    ("router", "prompts"): (),
    ("router", "hook", f"skills/{SKILLS[0]}/SKILL.md"): (),
    ("router", "run", "--models", "lexical:tfidf", "--dry-run"): (),
    ("router", "run", "--models", "lexical:overlap", "--time", LATER.format(2)): (),
    ("router", "report", "--format", "json"): (),
    ("router", "run", "--models", "lexical:bm25", "--dry-run"): ("bench",),
    ("router", "run", "--models", "lexical", "--time", LATER.format(9)): (),
    ("router", "run", "--models", "embed:minilm", "--time", LATER.format(3)): ("embed",),
    ("router", "run", "--models", "hybrid", "--time", LATER.format(4)): ("embed",),
    ("router", "run", "--models", "openai:m", "--dry-run"): ("bench",),
    ("effectiveness", "agents"): (),
    ("effectiveness", "check", "tasks", "--static"): (),
    ("effectiveness", "check", "tasks", "--sandbox", "none"): (),
    ("effectiveness", "run", "tasks", "--agents", "loop:openai:m", "--sandbox", "none", "--dry-run"): ("bench",),
    ("report", "--format", "md"): (),
    ("report",): ("report",),
    ("picture", "components", "--output", "x.svg"): ("report",),
}


def test_every_command_works_or_names_the_extra_that_it_needs(alone: Installation, tmp_path: Path) -> None:
    write_collection(tmp_path, 1, 1)
    (tmp_path / "registries").mkdir()
    (tmp_path / "registries" / "prompts.jsonl").write_text(
        "".join(
            f'{{"id": "p{at}", "prompt": "{name} is needed", "expected": "{name}"}}\n' for at, name in enumerate(SKILLS)
        )
    )
    must("git", "init", "-q", cwd=tmp_path)
    commit(tmp_path)
    wrong = []
    for command, extras in NEEDS.items():
        done = alone(*command, cwd=tmp_path, OPENAI_API_KEY="sk-none")
        lines = done.stderr.strip().splitlines()
        if not extras or set(extras) & set(alone.extras):
            fine = done.returncode in (0, 1) and "error" not in done.stderr
        else:
            named = any(f"[{extra}]" in lines[-1] for extra in extras) if lines else False
            errors = [line for line in lines if line.startswith("skill-health: ")]
            fine = done.returncode == 2 and errors == lines[-1:] and " needs " in lines[-1] and named
        if not fine:
            wrong.append((command, done.returncode, done.stderr[-300:], done.stdout[-200:]))
    assert wrong == [], "\n".join(map(repr, wrong))


def test_an_agent_does_tasks_with_and_without_a_skill(full: Installation, tmp_path: Path) -> None:
    """`loop` of the wheel, in a sandbox where there is one, against a model on this machine; then the page of it."""
    write_collection(tmp_path, 2, 1)
    play = Play(
        watched={name: f"Does {name}. Use when {name} is needed." for name in SKILLS},
        folder=".agents/skills",
        work="grep -c crate crates.txt > answer.txt",
    )
    isolated = back_end("bubblewrap").found()
    sandbox = ("--sandbox", "bubblewrap" if isolated else "none")
    probed = full("effectiveness", "agents", "loop", "--probe", *sandbox, cwd=tmp_path)
    assert probed.returncode == 0, probed.stderr
    with AgentServer(play) as server:
        (tmp_path / "skill-health.toml").write_text(
            f'[router.providers.here]\nprotocol = "openai"\nbase-url = "{server.url}/v1"\nkey-env = "THE_KEY"\n'
            '[router.prices."here:m"]\ninput = 1\noutput = 5\n',
            "utf-8",
        )
        done = full(
            "effectiveness", "run", "tasks", "--config", "skill-health.toml", "--agents", "loop:here:m", "--quiet", "--reps", "1", "--arms", "target",
            *sandbox, "--max-budget-usd", "20", "--time", LATER.format(5),
            cwd=tmp_path, THE_KEY="sk-live-0123456789abcdef",
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = rows(the_run(tmp_path / "reports") / "results.jsonl")
    assert {(row["arm"], row["outcome"]) for row in results} == {("control", "fail"), ("target", "pass")}
    assert json.loads((the_run(tmp_path / "reports") / "report.json").read_bytes())["models"]
    page = full("report", cwd=tmp_path)
    assert page.returncode == 0, page.stderr
    assert (tmp_path / "reports" / "index.html").stat().st_size > 100_000


@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_every_agent_of_the_wheel_sees_what_is_staged(full: Installation, tmp_path: Path, sandbox: str) -> None:
    """Every agent that is installed here, in every sandbox that works without an image."""
    if not back_end(sandbox).found():
        pytest.skip(back_end(sandbox).missing())
    probed = full("effectiveness", "agents", "--probe", "--sandbox", sandbox, cwd=tmp_path)
    assert probed.returncode == 0, probed.stdout + probed.stderr
    assert f"Probed in {sandbox}, " in probed.stdout
    assert re.search(r"(?m)^loop: .*\blisted\b.*\boffered\b", probed.stdout)


PROGRAMS = {
    "loop": "",
    "claude-code": "claude",
    "codex": "codex",
    "gemini-cli": "gemini",
    "opencode": "opencode",
    "qwen-code": "qwen",
}
"""Every agent that a gateway can stand behind, with its program; ours needs none."""


@pytest.mark.parametrize("agent", thinned(PROGRAMS, len(PROGRAMS), others=EXHAUSTIVE))
def test_every_agent_of_the_wheel_does_a_task(full: Installation, tmp_path: Path, agent: str) -> None:
    """One trial without the skill and one with it, in bubblewrap, against a model on this machine."""
    if not back_end("bubblewrap").found():
        pytest.skip(back_end("bubblewrap").missing())
    path = os.environ["PATH"]
    if name := PROGRAMS[agent]:
        path = f"{Path(program(name)).parent}{os.pathsep}{Path(FOLDER, name, 'node_modules', '.bin')}{os.pathsep}{path}"
    module = import_module(f"skill_health.effectiveness.agents.{agent.replace('-', '_')}")
    protocol = module.PROTOCOLS[0]
    write_collection(tmp_path, 1, 0)
    # Programs of node need many seconds to start where other tests are under way.
    metadata = tmp_path / "tasks/t00/metadata.json"
    facts = json.loads(metadata.read_text("utf-8"))
    metadata.write_text(json.dumps(facts | {"agent_timeout_sec": 300}), "utf-8")
    watched = {name: f"Does {name}. Use when {name} is needed." for name in SKILLS}
    play = Play(watched=watched, folder=module.SKILLS, work="grep -c crate crates.txt > answer.txt")
    with AgentServer(play) as server:
        base = f"{server.url}/v1" if agent == "loop" else server.url
        (tmp_path / "skill-health.toml").write_text(
            f'[router.providers.here]\nprotocol = "{protocol}"\nbase-url = "{base}"\nkey-env = "THE_KEY"\n', "utf-8"
        )
        done = full(
            "effectiveness", "run", "tasks", "--config", "skill-health.toml", "--agents", f"{agent}:here:some-model-1",
            "--quiet", "--reps", "1", "--arms", "target", "--sandbox", "bubblewrap", "--max-runs", "2",
            "--unsafe-no-cost-cap", cwd=tmp_path, THE_KEY="sk-live-0123456789abcdef", PATH=path,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    results = rows(the_run(tmp_path / "reports") / "results.jsonl")
    assert {(row["arm"], row["outcome"], row["invoked"]) for row in results} == {
        ("control", "fail", "no"), ("target", "pass", "yes")
    }, results  # fmt: skip


@pytest.fixture
def tidy(tmp_path: Path) -> Iterator[Path]:
    skill = tmp_path / "skills" / "tidy-lists" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text(SKILL, encoding="utf-8")
    yield tmp_path


def test_pip_install_of_the_checkout(checkout: Path, tidy: Path) -> None:
    must(sys.executable, "-m", "venv", tidy / "env", cwd=tidy)
    must(tidy / "env/bin/python", "-m", "pip", "install", "-c", "constraints.txt", ".", cwd=checkout)
    must(tidy / "env/bin/skill-health", "lint", "skills", cwd=tidy)


def test_pipx_install(wheel: Path, checkout: Path, tidy: Path) -> None:
    homes = {"PIPX_HOME": str(tidy / "pipx"), "PIPX_BIN_DIR": str(tidy / "bin")}
    pip_args = f"--pip-args=--constraint={checkout / 'constraints.txt'}"
    must(sys.executable, "-m", "pipx", "install", pip_args, wheel, cwd=tidy, **homes)
    must(tidy / "bin" / "skill-health", "lint", "skills", cwd=tidy)

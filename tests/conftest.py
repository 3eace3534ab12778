"""What every test may use. Tests run the same on any machine: none sees the user's caches or git configuration."""

from __future__ import annotations

import gc
import io
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import simulators  # noqa: F401  (the scripted router and agent, beside the real ones)
from skill_health.cli import main
from skill_health.lint.cache import lint_cache, shards

Run = Callable[..., "subprocess.CompletedProcess[str]"]

# Nothing of them looks at the clock. `make gate` and `make test-all` say --hypothesis-profile thorough.
HOUSE = settings(
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=10,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("house", HOUSE)
settings.register_profile("thorough", HOUSE, max_examples=200)
settings.load_profile("house")


UNSEEN = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
READ_BY_TESTS = {f"SKILL_HEALTH_{name}" for name in ("AGENTS", "BROWSER", "KILLS", "REAL", "TEST_IMAGE")}
REAL = os.environ.get("SKILL_HEALTH_REAL") == "1"
"""Whether nothing may be missing but what no package brings."""
EXCUSES = ("no container engine", "no Python 3.12", "only root makes devices")


def as_failure(report: pytest.CollectReport | pytest.TestReport) -> None:
    """Where nothing may be missing, what was skipped has failed."""
    if REAL and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        if not any(excuse in reason for excuse in EXCUSES):
            report.outcome, report.longrepr = "failed", f"not run, and nothing may be skipped here: {reason}"


# Our own files do not change while tests run, and are not looked at before each lint.
lint_cache.rules_stamp = cache(lint_cache.rules_stamp)
shards.rules_digest = cache(lint_cache.rules_digest)
# httpcore tries to import it for each lock and each event, and what is missing is looked for in every folder again.
if find_spec("sniffio") is None:
    sys.modules["sniffio"] = None  # type: ignore[assignment]
# Thousands of tests are no garbage, and need not be looked through for any often.
gc.set_threshold(50_000, 20, 100)


def pytest_sessionfinish() -> None:
    """Look through all of it once, and not five times more as pytest and the interpreter end."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    as_failure(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    as_failure(report)
    return report


@pytest.fixture(autouse=True, scope="session")
def _hermetic(tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in os.environ.keys() - READ_BY_TESTS:
        if name.startswith(("GIT_", "SKILL_HEALTH_")) or name in UNSEEN:
            del os.environ[name]
    # A shell may have a job in the background ignore the keyboard's signals, and what tests start would do so, too.
    # With a handler here, even one that does nothing, they are in their first state there.
    for name in ("SIGINT", "SIGQUIT", "SIGHUP", "SIGTERM"):
        if (number := getattr(signal, name, None)) and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    os.environ |= {
        "SKILL_HEALTH_CACHE_DIR": str(tmp_path_factory.mktemp("cache")),
        "XDG_CONFIG_HOME": str(tmp_path_factory.mktemp("settings")),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Test",
        "GIT_AUTHOR_EMAIL": "test@example.com",
        "GIT_COMMITTER_NAME": "Test",
        "GIT_COMMITTER_EMAIL": "test@example.com",
    }


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of this repository."""
    return Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def run_in() -> Run:
    """Run `skill-health` as if by itself in the folder that comes first; `env` adds to the environment."""

    def call(cwd: Path, *args: str | Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        words = list(map(str, args))
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
            patch.chdir(cwd)
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            code = main(words)
        said = [stream.detach().getvalue().decode() for stream in (out, err) if stream.flush() is None]
        return subprocess.CompletedProcess(words, code, *said)

    return call


@pytest.fixture
def run(tmp_path: Path, run_in: Run) -> Run:
    """Run `skill-health` as if by itself in `cwd`; `env` adds to the environment, other keywords make it a process."""

    def call(
        *args: str | Path, env: Mapping[str, str] | None = None, cwd: Path = tmp_path, **more: object
    ) -> subprocess.CompletedProcess[str]:
        if not more:
            return run_in(cwd, *args, env=env)
        given: dict[str, object] = {"capture_output": True, "encoding": "utf-8", "timeout": 600} | more
        command = [sys.executable, "-m", "skill_health", *map(str, args)]
        return subprocess.run(command, cwd=cwd, env=os.environ | (env or {}), **given)  # type: ignore[call-overload, no-any-return]

    return call


@pytest.fixture
def called(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Call `skill-health` in this process: the exit code, and what it printed on stdout and stderr."""

    def call(*args: str | Path) -> tuple[int, str, str]:
        code = main([str(arg) for arg in args])
        return code, *capsys.readouterr()

    return call


@pytest.fixture
def write(tmp_path: Path) -> Callable[[Mapping[str, str]], Path]:
    """Write files (path below the root: text) and return the root."""

    def write_tree(files: Mapping[str, str]) -> Path:
        for path, text in files.items():
            target = tmp_path / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")
        return tmp_path

    return write_tree

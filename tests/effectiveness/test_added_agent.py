"""An agent that is added as one file, the one in CONTRIBUTING.md: it is listed, tried, paid for and judged."""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import live_runs
import pytest
from agent_server import AgentServer
from effects_made import replace
from run_made import only_read, rows, the_run, write_collection

from skill_health.cli import main
from skill_health.effectiveness import agents
from skill_health.effectiveness.plan.opening import version_of

NAME = "skill_health.effectiveness.agents.acme"
BLOCK = re.compile(r"^`effectiveness/agents/acme\.py`:\n\n````python\n(.*?)^````$", re.MULTILINE | re.DOTALL)
PLAY = replace(live_runs.PLAY, folder=".acme/skills")


@pytest.fixture(autouse=True)
def _acme(checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The agent in a folder of its own, which is one more of the package's, and its program on PATH."""
    (code,) = BLOCK.findall((checkout / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    for folder in ("agents", "bin"):
        (tmp_path / folder).mkdir()
    (tmp_path / "agents/acme.py").write_text(code, encoding="utf-8")
    program = tmp_path / "bin/acme-agent"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name("acme_agent_program.py")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    monkeypatch.setattr(agents, "__path__", [*agents.__path__, str(tmp_path / "agents")])
    importlib.invalidate_caches()
    yield
    sys.modules.pop(NAME, None)
    vars(agents).pop("acme", None)


@pytest.mark.slow
def test_it_is_listed_with_its_program(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["effectiveness", "agents", "--format", "json"]) == 0
    (row,) = (row for row in json.loads(capsys.readouterr().out)["agents"] if row["name"] == "acme")
    assert (row["ready"], row["version"], row["checked_with"]) == (True, "3.1.0", "3.1.0")


def benchmark(collection: Path, server: AgentServer, *more: str, agents: str = "acme:here:m") -> int:
    """The exit code of a run in the collection, which is the current folder."""
    capped = ("--max-budget-usd", "5", *more)
    return main(live_runs.words(collection, server, *capped, agents=agents, arms="target", sandbox="none"))


@pytest.fixture
def collection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = write_collection(tmp_path / "c", 2, 1)
    monkeypatch.chdir(root)
    only_read(monkeypatch)
    monkeypatch.setenv("THE_KEY", live_runs.KEY)
    return root


@pytest.mark.slow
def test_a_benchmark_runs_with_it(collection: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with AgentServer(PLAY) as server:
        code = benchmark(collection, server)
    assert code == 0, capsys.readouterr().err
    results = rows(the_run(collection / "reports") / "results.jsonl")
    assert sorted((row["arm"], row["outcome"], row["invoked"]) for row in results) == [
        *[("control", "fail", "no")] * 2, *[("target", "pass", "yes")] * 2,
    ]  # fmt: skip
    assert {row["cost_source"] for row in results} == {"gateway"}
    for row in results:
        assert row["usage"]["input_tokens"] > 0 and row["error"] == ""


@pytest.mark.slow
def test_a_new_version_of_its_program_does_its_trials_again_and_no_others(
    collection: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with AgentServer(PLAY) as server:
        assert benchmark(collection, server, agents="acme:here:m,loop:here:n") == 0, capsys.readouterr().err
        before = Counter(request.body["model"] for request in server.requests if request.model_call)
        server.clear()
        program = tmp_path / "bin/acme-agent"
        shebang, _, rest = program.read_text().partition("\n")
        newer = '[ "$1" = --version ] && echo acme-agent 3.2.0 && exit'
        version_of.cache_clear()  # a process of its own has none
        program.write_text(f"{shebang}\n{newer}\n{rest}")
        code = benchmark(collection, server, "--extend", "last", agents="acme:here:m,loop:here:n")
        assert code == 0, capsys.readouterr().err
        after = Counter(request.body["model"] for request in server.requests if request.model_call)
    assert set(before) == {"m", "n"} and after == {"m": before["m"]}

"""From an installation without extras every command of the router works, or names the extra that it needs in one line.

The modules of all extras are blocked in processes that run several commands each, and those of some extras alone.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from skill_health.core.extras import MODULES

BLOCKED = """
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
BLOCK = frozenset(sys.argv[1].split(","))
class Blind:
    def __init__(self, finder):
        self.finder = finder
    def find_spec(self, name, path=None, target=None):
        return None if name.partition(".")[0] in BLOCK else self.finder.find_spec(name, path, target)
    def __getattr__(self, name):
        return getattr(self.finder, name)
sys.meta_path[:] = [Blind(finder) for finder in sys.meta_path]
from skill_health.cli import main
told = []
for words in json.load(sys.stdin):
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main(words)
    told.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(told))
"""
EVERY = frozenset(module for modules in MODULES.values() for module in modules)
SCIPY, NUMPY = frozenset(("scipy",)), frozenset(("numpy", "scipy"))
FREE = ("lexical:tfidf", "lexical:overlap")


REFUSED = {"embed:minilm": "embed", "hybrid": "embed"}
REFUSED |= dict.fromkeys(("lexical:bm25", "openai:gpt-5-mini", "gemini:gemini-2.5-flash"), "bench")
"""What needs an extra, and which."""
ASKED = (["run", "--dry-run"], ["run", "--max-runs", "3"], ["sweep", "--dry-run"], ["check"])


def made(root: Path) -> Path:
    text = "---\nname: {0}-work\ndescription: Sorts {0}. Use when {0} are in a mess.\n---\n# Work\n\nSort.\n"
    labels = [(f"sort my {topic}", f"{topic}-work") for topic in ("maps", "bills")] + [("hello", None)]
    for topic in ("maps", "bills"):
        (root / f"skills/{topic}-work").mkdir(parents=True)
        (root / f"skills/{topic}-work/SKILL.md").write_text(text.format(topic))
    lines = (json.dumps({"prompt": text, "expect": skill}) + "\n" for text, skill in labels)
    (root / "prompts.jsonl").write_text("".join(lines))
    return root


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    return made(tmp_path)


def call(collection: Path, blocked: frozenset[str], *commands: Sequence[str]) -> list[subprocess.CompletedProcess[str]]:
    """What each of the commands said, in a process without the modules that are blocked."""
    process = [sys.executable, "-c", BLOCKED, ",".join(sorted(blocked))]
    words = [["router", *command] for command in commands]
    done = subprocess.run(
        process, cwd=collection, input=json.dumps(words), capture_output=True, text=True, timeout=600, check=True
    )
    told = json.loads(done.stdout)
    return [subprocess.CompletedProcess(asked, *said) for asked, said in zip(words, told, strict=True)]


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[subprocess.CompletedProcess[str]]]:
    """What each command says of each model that needs an extra."""
    commands = [[*command, "--models", spec] for spec in REFUSED for command in ASKED]
    done = iter(call(made(tmp_path_factory.mktemp("refused")), EVERY, *commands))
    return {spec: [next(done) for _ in ASKED] for spec in REFUSED}


@pytest.mark.slow
@pytest.mark.parametrize(
    "blocked",
    [EVERY, *(pytest.param(each, marks=pytest.mark.slow) for each in (SCIPY, NUMPY))],
    ids=["no extras", "no scipy", "no numpy"],
)
def test_free_routers_run_and_report(collection: Path, blocked: frozenset[str]) -> None:
    models = ["--models", ",".join(FREE)]
    runs_ = [[command, *models, option] for command in ("run", "sweep") for option in ("--dry-run", "--quiet")]
    done = call(collection, blocked, *runs_[:2], ["report"], *runs_[2:], ["prompts"], ["models"])
    assert [(one.returncode in (0, 1), one.stderr.count("Traceback")) for one in done] == [(True, 0)] * 7
    runs = sorted(path.name for path in (collection / "reports" / "router").iterdir())
    pairs = ((runs[0], runs[-1]), (runs[0], "--model", FREE[0], "--against", FREE[1]))
    compared = call(collection, blocked, *(["compare", *given] for given in pairs))
    assert [(each.returncode, each.stderr) for each in compared] == [(0, "")] * 2


@pytest.mark.slow
def test_what_is_asked_by_default_and_the_risk_need_no_extra(collection: Path) -> None:
    run, risk = call(collection, EVERY, ["run", "--dry-run"], ["risk"])
    assert (run.returncode, run.stderr.count("Traceback"), risk.returncode, risk.stderr) == (0, 0, 0, "")
    assert "lexical" in run.stdout + run.stderr and "maps-work" in risk.stdout


@pytest.mark.slow
@pytest.mark.parametrize("spec", REFUSED)
def test_what_needs_an_extra_names_it(
    refusals: Mapping[str, list[subprocess.CompletedProcess[str]]], spec: str
) -> None:
    assert len(refusals[spec]) == len(ASKED)
    for done in refusals[spec]:
        assert done.returncode == 2
        assert "Traceback" not in done.stderr
        last = done.stderr.splitlines()[-1]
        assert last.startswith(f"skill-health: error: '{spec}' needs ")
        assert f"[{REFUSED[spec]}]" in last

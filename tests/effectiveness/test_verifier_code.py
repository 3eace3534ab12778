"""What a verifier installs without a version, whose code it runs, and how few tests it has."""

from __future__ import annotations

from dataclasses import replace

import pytest
from growth import is_linear, lines_run
from hypothesis import given
from hypothesis import strategies as st
from run_made import task as made_task

from skill_health.documents.effect_check import TaskFinding
from skill_health.effectiveness.check.verifier_code import UnpinnedInstall, unpinned_installs, verifier_findings
from skill_health.effectiveness.tasks._api import script
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.tasks._scripts import WORKSPACE

INSTALLS = {
    "pip install pytest": [("pip install", ("pytest",))],
    "python3 -m pip install -q pytest==8.4.1 numpy": [("pip install", ("numpy",))],
    "pip3 install --break-system-packages pytest==8.4.1 2>/dev/null": [],
    "pip install pytest==8.4.1 > log.txt 2>&1": [],
    "pip install >>log.txt numpy pytest==8.4.1": [("pip install", ("numpy",))],
    "pip install pytest==8.4.1 &> log.txt || pip install pytest": [("pip install", ("pytest",))],
    "pip install 'numpy>=2' \"pandas ~= 2.0\"": [("pip install", ("numpy>=2", "pandas ~= 2.0"))],
    "pip install -r requirements.txt": [],
    "pip install -c limits.txt numpy": [],
    "pip install . ./wheel.whl https://example.com/x.whl $PACKAGES": [],
    "uvx --with pytest==8.4.1 --with pytest-json-ctrf==0.3.5 pytest tests.py": [],
    "uvx -w numpy pytest@8.4.1": [("uvx", ("numpy",))],
    "uv run --with numpy tests.py": [("uv run", ("numpy",))],
    "npm install left-pad": [("npm install", ("left-pad",))],
    "npm install left-pad@1.3.0": [],
    "apt-get update && apt-get install -y curl": [("apt-get install", ("curl",))],
    "if true; then sudo pip install numpy; fi": [("pip install", ("numpy",))],
    "cat <<EOF\npip install numpy\nEOF\npip install pandas": [("pip install", ("pandas",))],
    "# pip install numpy": [],
    "echo 'pip install numpy'": [],
    "pip install numpy \\\n  pytest==8.4.1": [("pip install", ("numpy",))],
    "pip install 'numpy": [],
}


@pytest.mark.parametrize("text", INSTALLS)
def test_packages_of_no_certain_version(text: str) -> None:
    assert [(each.program, each.packages) for each in unpinned_installs(text)] == INSTALLS[text]


def test_a_distributions_packages_are_told_apart_and_lines_are_named() -> None:
    assert list(unpinned_installs("set -e\napt-get install -y curl\n\npip install numpy\n")) == [
        UnpinnedInstall(2, "apt-get install", ("curl",), distribution=True),
        UnpinnedInstall(4, "pip install", ("numpy",)),
    ]


@given(st.text(alphabet="pip install<>&|;()\n\\'\"$=@2#x- ", max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert all(each.packages for each in unpinned_installs(text))


def findings(files: dict[str, str]) -> list[TaskFinding]:
    staged = [File(path, text.encode()) for path, text in files.items()]
    task = replace(made_task(1, None), verifier=script(("bash", "test.sh"), staged, 5.0), places=(("/app", WORKSPACE),))
    return list(verifier_findings(task))


CODE = {
    "import runpy\nrunpy.run_path('/app/out.py')\n": "warning",
    "import sys\nsys.path.insert(0, '/app/src/')\n": "warning",
    "import pickle\nfrom pathlib import Path\nROOT = Path('/app')\npickle.load(open(ROOT / 'model.pkl', 'rb'))\n": "warning",
    "exec(open('/app/out.py').read())\n": "warning",
    "import subprocess\nsubprocess.run(['python3', '/app/out.py'])\n": "info",
    "import subprocess\nsubprocess.run(['python3', '/tests/check.py'], cwd='/app/')\n": "",
    "import json\njson.load(open('/app/out.json'))\n": "",
    "import runpy\nrunpy.run_path('/app/helper.py')\n": "",
    "def broken(:\n": "",
}


@pytest.mark.parametrize("code", CODE)
def test_code_of_the_agents_that_a_verifier_runs(code: str) -> None:
    found = findings({"test.sh": "python3 check.py", "check.py": code, "helper.py": ""})
    assert [each.level for each in found if each.kind == "runs-agents-code"] == [CODE[code]] * bool(CODE[code])


def test_programs_that_a_shell_starts_and_few_tests() -> None:
    found = findings({
        "test.sh": "pip install numpy\napt-get install -y curl\nbash /app/run.sh\npytest test_it.py\n",
        "test_it.py": "class TestIt:\n    def test_one(self): ...\n\n\ndef helper(): ...\n",
    })  # fmt: skip
    assert [(each.kind, each.level) for each in found] == [
        ("unpinned-install", "warning"), ("unpinned-install", "info"), ("few-tests", "info"), ("runs-agents-code", "info"),
    ]  # fmt: skip


@pytest.mark.slow
def test_long_scripts_take_no_longer_than_their_length() -> None:
    def cost(lines: int) -> int:
        return lines_run(lambda: list(unpinned_installs("pip install numpy 2>&1\n" * lines)))

    assert is_linear(cost, (50,))

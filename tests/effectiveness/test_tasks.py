"""Tasks of every format: what is read, what is said not to be supported, and one line for each that is wrong."""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.core.errors import UsageError
from skill_health.effectiveness.tasks import _folder
from skill_health.effectiveness.tasks._api import Task, is_safe_id
from skill_health.effectiveness.tasks._folder import Folder, RefusedFile, is_inside
from skill_health.effectiveness.tasks._load import LoadedTasks, load_tasks, task_above
from skill_health.effectiveness.tasks._scripts import default_value, replace_places, script_blockers
from skill_health.effectiveness.tasks.skillsbench import load as load_skillsbench

Files = Mapping[str, str | bytes]

META = {
    "id": "t1", "slug": "sum-it", "target_skill": "sums", "irrelevant_skill": "poems", "category": "data",
    "difficulty": "easy", "agent_timeout_sec": 90, "verifier_timeout_sec": 5,
}  # fmt: skip
PLAN: dict[str, str | bytes] = {
    "task.md": "Add up the numbers in `in.txt` and write the sum to `out.txt`.\n", "metadata.json": json.dumps(META),
    "starting/in.txt": "1\n2\n", "verify.sh": '[ "$(cat out.txt)" = 3 ]\n', "oracle/solve.sh": "echo 3 > out.txt\n",
}  # fmt: skip
BENCH: dict[str, str | bytes] = {
    "task.md": """---
schema_version: "1.3"
metadata:
  category: data
  difficulty: easy
  target_skill: sums
agent:
  timeout_sec: 300
verifier:
  timeout_sec: 20.5
environment:
  network_mode: no-network
  env:
    MODE: ${MODE:-strict}
---

Add up the numbers in `/root/in.txt` and write the sum to `/root/out.txt`.
""",
    "environment/in.txt": "1\n2\n",
    "environment/skills/sums/SKILL.md": "---\nname: sums\ndescription: Adds.\n---\n# Sums\n",
    "verifier/test.sh": 'if [ "$(cat /root/out.txt)" = 3 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n',
    "oracle/solve.sh": "echo 3 > /root/out.txt\n",
}
HARBOR: dict[str, str | bytes] = {
    "task.toml": """schema_version = "1.4"

[task]
name = "ours/sums"

[metadata]
target_skill = "none"
category = "data"

[verifier]
timeout_sec = 30.0

[agent]
timeout_sec = 120

[environment]
cpus = 2
""",
    "instruction.md": "Write the sum of the numbers in /app/in.txt to /app/out.txt.\n",
    "environment/Dockerfile": "# A plain base\nFROM python:3.12-slim\nWORKDIR /app\nCOPY in.txt ./\nENV LEVEL=2\n",
    "environment/in.txt": "1\n2\n",
    "tests/test.sh": "python3 /tests/check.py\n",
    "tests/check.py": "import pathlib\npathlib.Path('/logs/verifier/reward.json').write_text('{\"reward\": 1}')\n",
    "solution/solve.sh": "echo 3 > /app/out.txt\n",
}
EVALS = {
    "skill_name": "sums",
    "evals": [
        {"id": 1, "prompt": "Add up.", "files": ["evals/files/in.txt"], "expected_output": "3",
         "assertions": ["$ test -s out.txt", {"command": ["grep", "-q", "a b", "out.txt"]}, "The answer is polite."]},
        {"id": 2, "prompt": "Add up again.", "assertions": ["It says 3."]},
    ],
}  # fmt: skip
SKILL = "---\nname: sums\ndescription: Adds.\n---\n# Sums\n"
MISSING, EMPTY, NO_NAME = "the file is missing", "the file is empty", "cannot name a file"
NO_UTF8 = "bytes that are not UTF-8"
OUTSIDE = "outside the working directory"
GIVEN_AS = "the prompt's {} is given as '.', the current directory"


def write(root: Path, files: Files) -> Path:
    for path, data in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8"))
    return root


def load(root: Path, files: Files, name: str = "tasks/one") -> LoadedTasks:
    return load_tasks([str(write(root / name, files))], str(root))


def one(root: Path, files: Files, name: str = "tasks/one") -> Task:
    loaded = load(root, files, name)
    assert loaded.problems == ()
    (task,) = loaded.tasks
    return task


def changed(files: Files, **changes: str | bytes | None) -> dict[str, str | bytes]:
    """The files with some replaced; None takes one away. `__` stands for `/` and `_0` for a dot."""
    named = {key.replace("__", "/").replace("_0", "."): value for key, value in changes.items()}
    return {key: value for key, value in {**files, **named}.items() if value is not None}


def test_a_plan_directory(tmp_path: Path) -> None:
    task = one(tmp_path, changed(PLAN, verifier__help_0py="pass\n", starting____pycache____x_0pyc=b"\0"))
    assert (task.id, task.slug, task.path, task.format) == ("t1", "sum-it", "tasks/one", "plan_directory")
    assert (task.target_name, task.irrelevant_skill, task.related_skill) == ("sums", "poems", None)
    assert (task.agent_timeout_sec, task.category, task.difficulty, task.grading) == (90, "data", "easy", "exit")
    assert [(file.path, file.data) for file in task.files] == [("in.txt", b"1\n2\n")]
    assert task.verifier and task.verifier.argv == ("bash", "verify.sh") and task.verifier.timeout_sec == 5
    assert [file.path for file in task.verifier.files] == ["verifier/help.py", "verify.sh"]
    assert task.oracle and task.oracle.argv == ("bash", "oracle/solve.sh")
    assert task.runnable and not task.is_control and task.unsupported == ()


def test_defaults_of_a_plan_directory(tmp_path: Path) -> None:
    least = {"id": "t", "slug": "t", "target_skill": "none"}
    task = one(
        tmp_path, changed(PLAN, metadata_0json=json.dumps(least), oracle__solve_0sh=None, starting__in_0txt=None)
    )
    assert task.is_control and task.oracle is None and task.files == ()
    assert task.verifier and (task.agent_timeout_sec, task.verifier.timeout_sec) == (600, 60)


@pytest.mark.parametrize(("changes", "task_changes", "verifier_changes"), [
    ({"task_0md": "Else.\n"}, True, False),
    ({"starting__in_0txt": "1\n3\n"}, True, False),
    ({"starting__more_0txt": ""}, True, False),
    ({"metadata_0json": json.dumps(META | {"agent_timeout_sec": 91})}, True, False),
    ({"metadata_0json": json.dumps(META | {"notes": "n", "category": "c", "difficulty": "d"})}, False, False),
    ({"verify_0sh": "true\n"}, False, True),
    ({"verifier__help_0py": ""}, False, True),
    ({"metadata_0json": json.dumps(META | {"verifier_timeout_sec": 6})}, False, True),
    ({"oracle__solve_0sh": "true\n"}, False, False),
    ({"README_0md": "About.\n"}, False, False),
])  # fmt: skip
def test_digests(changes: dict[str, str], task_changes: bool, verifier_changes: bool, tmp_path: Path) -> None:
    before, after = one(tmp_path / "a", PLAN), one(tmp_path / "b", changed(PLAN, **changes))
    assert before.verifier and after.verifier
    assert (before.digest != after.digest, before.verifier.digest != after.verifier.digest) == (
        task_changes, verifier_changes,
    )  # fmt: skip


def test_the_digest_tells_where_a_file_ends(tmp_path: Path) -> None:
    a = one(tmp_path / "a", changed(PLAN, starting__in_0txt="ab", starting__b_0txt="c"))
    b = one(tmp_path / "b", changed(PLAN, starting__in_0txt="b", starting__b_0txt="ca"))
    assert a.digest != b.digest
    os.chmod(tmp_path / "a/tasks/one/starting/in.txt", 0o755)
    (again,) = load_tasks([str(tmp_path / "a")]).tasks
    assert again.digest != a.digest and again.files[1].executable


def test_what_a_later_change_of_the_folder_cannot_reach(tmp_path: Path) -> None:
    task = one(tmp_path, PLAN)
    (tmp_path / "tasks/one/verify.sh").write_text("true\n")
    assert task.verifier and task.verifier.files[0].data == PLAN["verify.sh"].encode()  # type: ignore[union-attr]


@pytest.mark.parametrize("table", ["environment", "sandbox"])
@pytest.mark.parametrize("legacy", [False, True])
def test_a_skillsbench_task(table: str, legacy: bool, tmp_path: Path) -> None:
    text = str(BENCH["task.md"]).replace("environment:", f"{table}:")
    files = {**BENCH, "task.md": text}
    if legacy:
        files = {k.replace("verifier/", "tests/").replace("oracle/", "solution/"): v for k, v in files.items()}
    task = one(tmp_path, files)
    assert (task.id, task.format, task.grading, task.target_name) == ("one", "skillsbench", "reward", "sums")
    assert task.prompt == "Add up the numbers in `./in.txt` and write the sum to `./out.txt`.\n"
    assert [file.path for file in task.files] == ["in.txt"]
    assert task.verifier and task.oracle and task.verifier.argv == ("bash", "test.sh")
    assert (task.agent_timeout_sec, task.verifier.timeout_sec) == (300, 20.5)
    assert task.env == (("MODE", "strict"),) and dict(task.places)["/root"] == "workspace"
    assert [posixpath.basename(skill) for skill in task.skills] == ["sums"]
    assert task.runnable
    assert task.unsupported == (GIVEN_AS.format("/root"),)


def test_a_skillsbench_task_is_for_all_skills_that_it_brings(tmp_path: Path) -> None:
    files = bench("  target_skill: sums\n", "")
    assert one(tmp_path / "a", files).target_name == "sums"
    # By the name that it gives itself, as the collection knows it, whatever its folder is called.
    more = "---\nname: more\ndescription: Adds more.\n---\n# More\n"
    two = one(tmp_path / "b", {**files, "environment/skills/more_sums/SKILL.md": more})
    assert (two.target_skills, two.target_name, two.blockers) == (("more", "sums"), "more + sums", ())
    none = one(tmp_path / "c", {key: value for key, value in files.items() if "skills" not in key})
    assert none.target_skills is None and none.blockers


def test_where_an_image_would_have_the_skills(tmp_path: Path) -> None:
    lines = (
        "FROM ubuntu:24.04", "COPY skills /root/.claude/skills", "WORKDIR /srv", "WORKDIR app", "COPY --chown=1 in.txt ./skills/sums lib/",
        "COPY --from=other skills /x", "COPY ../skills /up", "COPY skills/gone /gone",
    )  # fmt: skip
    task = one(tmp_path, {**BENCH, "environment/Dockerfile": "\n".join(lines)})
    assert task.contained is not None and task.contained.recipe is not None
    assert task.contained.recipe.skill_places == (("skills", "/root/.claude/skills"), ("skills/sums", "/srv/app/lib"))


@pytest.mark.parametrize("key", ["schema_version", "version"])
def test_schema_versions(key: str, tmp_path: Path) -> None:
    for version in ('"1.3"', "1.3", "1.9", "1"):
        assert one(tmp_path, bench('schema_version: "1.3"', f"{key}: {version}")), version
    text = str(HARBOR["task.toml"]).replace('schema_version = "1.4"', 'version = "0.0"')
    assert one(tmp_path, {**HARBOR, "task.toml": text}, "tasks/two").format == "harbor"


@pytest.mark.parametrize(("old", "new", "start"), [
    ("---", "\ufeff---", "Add up the numbers in `./in.txt`"),
    ("agent:\n", "agent:\n  prompt_prefix: Be brief.\n", "Be brief.\n\nAdd up"),
])  # fmt: skip
def test_what_a_prompt_begins_with(old: str, new: str, start: str, tmp_path: Path) -> None:
    files = bench(old, new)
    assert one(tmp_path / "unix", files).prompt.startswith(start)
    windows = {**files, "task.md": str(files["task.md"]).replace("\n", "\r\n")}
    assert one(tmp_path / "windows", windows).prompt.startswith(start)


def test_a_harbor_task(tmp_path: Path) -> None:
    task = one(tmp_path, HARBOR)
    assert (task.id, task.format, task.grading, task.is_control) == ("one", "harbor", "reward", True)
    assert task.prompt == "Write the sum of the numbers in ./in.txt to ./out.txt.\n"
    assert [file.path for file in task.files] == ["in.txt"] and task.env == (("LEVEL", "2"),)
    assert task.verifier and [file.path for file in task.verifier.files] == ["check.py", "test.sh"]
    assert task.runnable
    assert task.unsupported == (
        "FROM python:3.12-slim: the tools of this machine are used instead of the image's",
        "environment: not enforced here: cpus 2",
        GIVEN_AS.format("/app"),
    )


def bench(old: str, new: str) -> dict[str, str | bytes]:
    text = str(BENCH["task.md"])
    assert old in text
    return {**BENCH, "task.md": text.replace(old, new, 1)}


def harbor(dockerfile: str = "", **toml: str) -> dict[str, str | bytes]:
    text = str(HARBOR["task.toml"])
    for table, line in toml.items():
        text = f"{line}\n{text}" if table == "root" else text.replace(f"[{table}]\n", f"[{table}]\n{line}\n")
    return {**HARBOR, "task.toml": text, **({"environment/Dockerfile": dockerfile} if dockerfile else {})}


BASE = "FROM ubuntu:24.04\nWORKDIR /app\n"


@pytest.mark.parametrize(("files", "reason"), [
    (harbor(environment='docker_image = "ours/x:1"'), 'environment.docker_image "ours/x:1": needs a container'),
    (harbor(environment="gpus = 1"), "environment.gpus 1: no GPU is given to a trial"),
    (harbor(environment='os = "windows"'), "environment.os windows: needs a container"),
    (harbor(environment='env = { KEY = "${KEY}" }'), "environment.env.KEY: needs a variable of this machine"),
    (harbor(environment='env = { PATH = "/x" }'), "environment.env.PATH: a trial sets it itself"),
    (harbor(environment='workdir = "/srv"'), f"environment/Dockerfile:4: COPY in.txt ./: {OUTSIDE}"),
    (harbor(environment='mcp_servers = [{ name = "x" }]'), "environment.mcp_servers"),
    (harbor(root='steps = [{ name = "a" }]'), "steps: tasks of several steps are not run here"),
    (harbor(verifier="environment = { cpus = 1 }"), "verifier.environment: a container of the verifier's own"),
    ({**HARBOR, "task.toml": 'version = "1.0"\n'}, "no target skill"),
    (harbor(f"{BASE}RUN apt-get update\n"), "environment/Dockerfile:3: RUN apt-get update: "),
    (harbor(f"{BASE}RUN a && \\\n  b\nENTRYPOINT [\"x\"]\n"), 'Dockerfile:5: ENTRYPOINT ["x"]'),
    (harbor("FROM ours/base:1\nWORKDIR /app\n"), "environment/Dockerfile:1: FROM ours/base:1"),
    (harbor("FROM ubuntu AS a\nWORKDIR /app\n"), "environment/Dockerfile:1: FROM ubuntu AS a"),
    (harbor(f"{BASE}FROM debian\n"), "environment/Dockerfile:3: FROM debian"),
    (harbor(f"{BASE}COPY --from=a x y\n"), "environment/Dockerfile:3: COPY --from=a x y"),
    (harbor(f"{BASE}COPY *.txt .\n"), "environment/Dockerfile:3: COPY *.txt ."),
    (harbor(f"{BASE}COPY ../in.txt .\n"), "no such file below environment/"),
    (harbor(f"{BASE}COPY in.txt /etc/in.txt\n"), OUTSIDE),
    (harbor(f"{BASE}COPY in.txt ../../etc/\n"), OUTSIDE),
    (harbor(f"{BASE}COPY in.txt .\nWORKDIR inner\n"), f"Dockerfile:3: COPY in.txt .: {OUTSIDE}"),
    (harbor("FROM ubuntu\nCOPY in.txt /in.txt\n"), OUTSIDE),
    (harbor(f"{BASE}ADD https://example.com/x .\n"), "environment/Dockerfile:3: ADD https://example.com/x ."),
    (harbor(f"{BASE}ENV PATH=/opt:$PATH\n"), "environment/Dockerfile:3: ENV PATH=/opt:$PATH"),
    ({**HARBOR, "environment/docker-compose.yaml": "services: {}\n"}, "services are not started here"),
    ({**HARBOR, "tests/test.sh": "# apt-get x\napt-get install -y jq\n"}, "tests/test.sh:2: 'apt-get install -y jq'"),
    ({**HARBOR, "tests/test.sh": "cd /tests && uvx pytest\n"}, "tests/test.sh:1: 'uvx pytest' installs or downloads"),
    ({**HARBOR, "tests/check.py": "open('/data/x')\n"}, "tests/check.py:1: names /data, a folder that only"),
    ({**HARBOR, "tests/check.py": "# a\nopen('/logs/agent/x')\n"}, "tests/check.py:2: names /logs"),
    ({**HARBOR, "solution/solve.sh": "pip install x\n"}, "solution/solve.sh:1: 'pip install x'"),
    ({**HARBOR, "environment/in.txt": "see /app/x\n"}, "in.txt:1: a starting file names /app"),
    (bench("verifier:\n", "verifier:\n  type: llm-judge\n"), "verifier.type llm-judge"),
    (bench("environment:\n", "environment:\n  setup_commands: [x]\n"), 'environment.setup_commands ["x"]: needs'),
])  # fmt: skip
def test_what_only_a_container_could_run_is_loaded_with_the_reason(files: Files, reason: str, tmp_path: Path) -> None:
    task = one(tmp_path, files)
    assert not task.runnable
    assert any(reason in line for line in task.blockers), task.blockers
    assert all("\n" not in line for line in task.blockers)


@pytest.mark.parametrize(("files", "line"), [
    (harbor(agent='user = "root"'), "agent.user root: everything runs as the user who started the run"),
    (harbor(environment="allow_internet = true"), "environment: network access (allow_internet) is not granted"),
    (harbor(environment="memory_mb = 8192"), "cpus 2, memory_mb 8192"),
    (harbor(environment='colour = "red"'), "environment.colour: "),
    (harbor(root="tags = []"), "tags: not known here, left out"),
    (harbor(root='artifacts = ["/x"]'), "artifacts: left out"),
    (harbor(f"{BASE}USER agent\n"), "USER agent: everything runs as"),
    ({**PLAN, "rubric.json": "{}"}, "rubric.json: not graded here"),
    (bench("---\n\n", "reward: {a: 1}\n---\n\n"), "reward: left out"),
])  # fmt: skip
def test_what_is_left_out_is_said(files: Files, line: str, tmp_path: Path) -> None:
    task = one(tmp_path, files)
    assert task.runnable
    assert any(line in each for each in task.unsupported), task.unsupported


@pytest.mark.parametrize(("copies", "paths"), [
    ("COPY in.txt data/", ["data/in.txt"]),
    ("COPY in.txt data/sum.txt", ["data/sum.txt"]),
    ("COPY in.txt /app/x.txt", ["x.txt"]),
    ('COPY ["in.txt", "deep/b.txt", "./"]', ["b.txt", "in.txt"]),
    ("COPY deep .", ["b.txt", "c/d.txt"]),
    ("COPY deep /app/deep/", ["deep/b.txt", "deep/c/d.txt"]),
    ("COPY --chown=me:me . .", ["deep/b.txt", "deep/c/d.txt", "in.txt"]),
    ("COPY skills /root/.claude/skills", []),
    ("ADD in.txt \\\n    .", ["in.txt"]),
    ("WORKDIR inner\nCOPY in.txt .\nWORKDIR /app", ["inner/in.txt"]),
    ("COPY in.txt .\nCOPY deep/b.txt in.txt", ["in.txt"]),
])  # fmt: skip
def test_files_that_a_dockerfile_copies(copies: str, paths: list[str], tmp_path: Path) -> None:
    files = harbor(f"{BASE}{copies}\n") | {"environment/deep/b.txt": "b", "environment/deep/c/d.txt": "d"}
    task = one(tmp_path, {**files, "environment/skills/sums/SKILL.md": SKILL})
    assert task.blockers == ()
    assert [file.path for file in task.files] == paths


def test_evals_of_a_skill(tmp_path: Path) -> None:
    files = {"SKILL.md": SKILL, "evals/evals.json": json.dumps(EVALS, indent=1), "evals/files/in.txt": "1\n"}
    first, second = load(tmp_path, files, "skills/sums").tasks
    assert (first.id, first.path, first.target_name) == ("sums-eval-1", "skills/sums/evals/evals.json", "sums")
    assert [file.path for file in first.files] == ["in.txt"]
    assert len(first.unsupported) == 1
    assert first.rubric and first.verifier is None and first.runnable
    kinds = [each.check.kind if each.check else each.text for each in first.rubric.criteria]
    assert kinds == ["The answer agrees with this: 3", "command", "command", "The answer is polite."]
    assert all(each.place.startswith("evals.json:") for each in first.rubric.criteria)
    assert second.rubric and len(second.rubric.judged) == len(second.rubric.criteria)


def test_evals_name_their_skill_or_stand_in_it(tmp_path: Path) -> None:
    evals: dict[str, Any] = {"evals": EVALS["evals"][1:]}
    files = {"SKILL.md": SKILL.replace("sums", "totals"), "evals/evals.json": json.dumps(evals)}
    assert one(tmp_path, files, "skills/other").target_name == "totals"


def meta(**more: object) -> str:
    return json.dumps(META | more)


def evals(**item: object) -> dict[str, str | bytes]:
    data = {"skill_name": "sums", "evals": [{"id": 1, "prompt": "Add up."} | item]}
    return {"SKILL.md": SKILL, "evals/evals.json": json.dumps(data, indent=1)}


@pytest.mark.parametrize(("files", "place", "message"), [
    (changed(PLAN, metadata_0json=None), "metadata.json:1", MISSING),
    (changed(PLAN, metadata_0json='{"id": "x",\n "slug": "A b", "target_skill": "s"}'), "metadata.json:2", "slug must be"),
    (changed(PLAN, metadata_0json='{"id": "x",\n "id": "y"}\n'), "metadata.json:2", 'the key "id" stands twice'),
    (changed(PLAN, metadata_0json=meta(id="../../x")), "metadata.json:1", "the id '../../x'"),
    (changed(PLAN, metadata_0json=meta(id="a..b")), "metadata.json:1", NO_NAME),
    (changed(PLAN, metadata_0json=meta(id=".hidden")), "metadata.json:1", NO_NAME),
    (changed(PLAN, metadata_0json=meta(id="x" * 129)), "metadata.json:1", NO_NAME),
    (changed(PLAN, metadata_0json=meta(agent_timeout_sec=0)), "metadata.json:1", "agent_timeout_sec must be more than 0"),
    (changed(PLAN, metadata_0json=b"\xff\xfe{"), "metadata.json:1", NO_UTF8),
    (changed(PLAN, metadata_0json=b'{"id": "x", "slug": "x",\n "target_skill": "\xff"}'), "metadata.json:2", "not UTF-8"),
    (changed(PLAN, task_0md=None), "task.md:1", MISSING),
    (changed(PLAN, task_0md=" \n"), "task.md:1", EMPTY),
    (changed(PLAN, task_0md=b"a\nb\n\xff\n"), "task.md:3", NO_UTF8),
    (changed(PLAN, verify_0sh=None), "verify.sh:1", f"{MISSING}: nothing"),
    (bench("environment:", "sandbox: {}\nenvironment:"), "task.md:12", "'sandbox' and 'environment' are two spellings"),
    (bench("agent:", "oracle: {}\nsolution: {}\nagent:"), "task.md:8", "'oracle' and 'solution' are two spellings"),
    (bench("agent:", 'version: "1.3"\nagent:'), "task.md:7", "'schema_version' and 'version' are two spellings"),
    (bench("agent:", "colour: red\nagent:"), "task.md:7", "'colour' is not a key of a task.md of schema 1.3"),
    (bench('"1.3"', '"2.0"'), "task.md:2", "schema version '2.0' is not known"),
    (bench("timeout_sec: 300", "timeout_sec: soon"), "task.md:8", "agent.timeout_sec must be a number"),
    (bench("timeout_sec: 300", "timeout_sec: -1"), "task.md:8", "agent.timeout_sec must be more than 0"),
    (bench("no-network", "offline"), "task.md:12", "environment.network_mode must be one of"),
    (bench("no-network", "allowlist"), "task.md:11", "allowlist without environment.allowed_hosts"),
    (bench("category: data", "category: &a data\n  again: *a"), "task.md:4", "anchors"),
    (bench("category: data", "category: data\n  category: more"), "task.md:5", "'category' stands twice"),
    (bench("category: data", "category: [data"), "task.md:4", "the frontmatter is not valid YAML"),
    (bench("---\n\n", ""), "task.md:1", "never closed"),
    ({**BENCH, "task.md": str(BENCH["task.md"]).partition("Add up")[0]}, "task.md:1", EMPTY),
    (changed(BENCH, verifier__test_0sh=None), "tests/test.sh:1", MISSING),
    (harbor(environment="cpus = 3"), "task.toml:18", "not TOML: Cannot overwrite a value"),
    ({**HARBOR, "task.toml": '[verifier]\ntimeout_sec = "x"\n'}, "task.toml:2", "verifier.timeout_sec must be a number"),
    ({**HARBOR, "task.toml": 'a = 1\nschema_version = "2.0"\n'}, "task.toml:2", "schema version '2.0' is not known"),
    (changed(HARBOR, instruction_0md=None), "instruction.md:1", MISSING),
    (changed(HARBOR, tests__test_0sh=None), "tests/test.sh:1", MISSING),
    (evals(prompt=""), "evals/evals.json:4", "prompt"),
    (evals(files=["../../etc/passwd"]), "evals/evals.json:4", "'../../etc/passwd'"),
    (evals(files=["/etc/passwd"]), "evals/evals.json:4", "'/etc/passwd'"),
    (evals(files=["evals/none.csv"]), "evals/evals.json:4", "is missing"),
    ({**evals(), "evals/evals.json": '{"evals": [\n\n 2]}'}, "evals/evals.json:3", "prompt"),
    ({**evals(), "evals/evals.json": '{"evals": {}}'}, "evals/evals.json:1", "is a list"),
    ({**evals(), "evals/evals.json": '{"evals": [\n1,]}'}, "evals/evals.json:2", "not JSON"),
    ({**PLAN, "task.toml": ""}, "", "a task in two formats"),
])  # fmt: skip
def test_one_line_for_a_task_that_is_wrong(files: Files, place: str, message: str, tmp_path: Path) -> None:
    loaded = load(tmp_path, files)
    assert loaded.tasks == ()
    (found,) = loaded.problems
    where = f"tasks/one/{place}" if place else "tasks/one:1"
    assert (f"{found.path}:{found.line}", message in found.message) == (where, True), found
    assert "\n" not in found.message


def test_two_tasks_with_one_id(tmp_path: Path) -> None:
    write(tmp_path / "tasks/b", PLAN)
    write(tmp_path / "tasks/c", changed(PLAN, metadata_0json=meta(id="other")))
    loaded = load(tmp_path, PLAN, "tasks/a")
    loaded = load_tasks([str(tmp_path)], str(tmp_path))
    assert [task.path for task in loaded.tasks] == ["tasks/a", "tasks/c"]
    (problem,) = loaded.problems
    assert (problem.path, problem.message) == ("tasks/b", 'the id "t1" is also that of tasks/a')


def link(path: Path, target: Path | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


@pytest.mark.parametrize(
    "name",
    ["task.md", "metadata.json", "verify.sh", "starting", "starting/in.txt", "starting/deep", "oracle", "verifier/x"],
)
def test_links_are_refused_wherever_they_lead(name: str, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret.txt": "secret"})
    folder = write(tmp_path / "tasks/one", PLAN)
    whole = name in ("starting", "starting/deep", "oracle")
    shutil.rmtree(folder / name, ignore_errors=True)
    link(folder / name, outside if whole else outside / "secret.txt")
    loaded = load_tasks([str(folder)], str(tmp_path))
    assert loaded.tasks == ()
    (problem,) = loaded.problems
    assert problem.message.startswith("a symbolic link")
    assert problem.path.startswith(f"tasks/one/{name.split('/')[0]}")


def test_a_link_above_or_beside_the_task_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere/two", changed(PLAN, metadata_0json=meta(id="two")))
    write(tmp_path / "tasks/one", PLAN)
    link(tmp_path / "tasks/two", tmp_path / "elsewhere/two")
    assert [task.id for task in load_tasks([str(tmp_path / "tasks")]).tasks] == ["t1"]
    assert [task.id for task in load_tasks([str(tmp_path / "tasks/two")]).tasks] == ["two"]


@pytest.mark.parametrize("kind", ["fifo", "huge", "many", "deep", "control", "not-utf8"])
def test_hostile_starting_files(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write(tmp_path / "tasks/one", PLAN)
    start = folder / "starting"
    expected = {
        "fifo": "regular file", "huge": "larger than", "many": "the folder is too large", "deep": "folders more than",
    }  # fmt: skip
    if kind == "fifo":
        os.mkfifo(start / "pipe")
    elif kind == "huge":
        with open(start / "huge", "wb") as stream:
            stream.truncate(_folder.MAX_FILE + 1)
    elif kind == "many":
        monkeypatch.setattr(_folder, "MAX_FILES", 3)
        write(start, {f"{n}.txt": "" for n in range(4)})
    elif kind == "deep":
        write(start, {"/".join("d" * 60) + "/x": ""})
    elif kind == "control":
        write(start, {"a\nb.txt": ""})
    else:
        (Path(os.fsdecode(os.fsencode(start) + b"/\xff.txt"))).write_bytes(b"")
    (problem,) = load_tasks([str(folder)], str(tmp_path)).problems
    assert expected.get(kind, "characters") in problem.message


def test_a_huge_prompt_is_refused(tmp_path: Path) -> None:
    (problem,) = load(tmp_path, changed(PLAN, task_0md="a" * (_folder.MAX_TEXT + 1))).problems
    assert problem.path == "tasks/one/task.md" and problem.message.startswith("larger than 1 MiB")


def test_a_yaml_bomb_ends_soon(tmp_path: Path) -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    (problem,) = load(tmp_path, {**BENCH, "task.md": "---\n" + "\n".join(lines) + "\n---\nDo.\n"}).problems
    assert "YAML" in problem.message or "expands" in problem.message


def test_files_of_a_task_name_the_task(tmp_path: Path) -> None:
    write(tmp_path / "tasks/one", PLAN)
    write(tmp_path / "skills/sums", evals(assertions=["$ true"]))
    for path in ("tasks/one/metadata.json", "tasks/one/task.md"):
        assert [task.id for task in load_tasks([str(tmp_path / path)]).tasks] == ["t1"]
    assert [task.id for task in load_tasks([str(tmp_path / "skills/sums/evals/evals.json")]).tasks] == ["sums-eval-1"]
    assert [task.id for task in load_tasks([str(tmp_path)], str(tmp_path)).tasks] == ["sums-eval-1", "t1"]
    assert task_above("tasks/one/starting/x/SKILL.md", str(tmp_path))
    assert not task_above("skills/sums/SKILL.md", str(tmp_path))


def test_nothing_there_is_the_users_mistake(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="none"):
        load_tasks([str(tmp_path / "none")])
    with pytest.raises(UsageError, match=re.escape(f"{tmp_path};")):
        load_tasks([str(tmp_path)])


def test_the_order_of_paths_does_not_matter(tmp_path: Path) -> None:
    names = ("a", "b", "c")
    folders = [str(write(tmp_path / name, changed(PLAN, metadata_0json=meta(id=name)))) for name in names]
    assert load_tasks(folders) == load_tasks(list(reversed(folders))) == load_tasks([*folders, str(tmp_path)])


def test_our_own_tasks_load(checkout: Path) -> None:
    loaded = load_tasks([str(checkout / "fixtures/tasks")], str(checkout / "fixtures"))
    assert loaded.problems == ()
    controls = [task for task in loaded.tasks if task.is_control]
    assert {task.id for task in controls} == {"016", "017", "018", "019", "020"}
    assert all(task.runnable and task.oracle and not task.unsupported for task in loaded.tasks)
    assert all(sum(len(file.data) for file in task.files) < 200_000 for task in loaded.tasks)


@pytest.mark.parametrize(("text", "value"), [
    ("plain", "plain"), ("${A:-b}", "b"), ("${A-b}", "b"), ("x${A:-}y", "xy"), ("${A}", None), ("$A", None),
    ("${A:-b}$C", None), ("5 $", "5 $"),
])  # fmt: skip
def test_variables_with_defaults(text: str, value: str | None) -> None:
    assert default_value(text) == value


@pytest.mark.parametrize(("text", "replaced"), [
    ("/app/out.txt", "W/out.txt"), ("write to /app.", "write to W."), ("cd /app && ls", "cd W && ls"),
    ("('/app')", "('W')"), ("/application", "/application"), ("/app-old", "/app-old"), ("/app.d", "/app.d"),
    ("https://host/app", "https://host/app"), ("$dir/app", "$dir/app"), ("${dir}/app", "${dir}/app"),
    ("my/app", "my/app"), ("../app", "../app"), ("/app/sub/x", "S/x"), ("/app/subs", "W/subs"),
])  # fmt: skip
def test_paths_of_a_container_are_replaced_whole(text: str, replaced: str) -> None:
    assert replace_places(text, (("/app", "W"), ("/app/sub", "S"))) == replaced


@pytest.mark.parametrize(
    "line",
    ["echo apt-get", "# pip install x", "cp pip.txt x", 'echo "use npm"', "mycurl x", "git status", "grep -q 'uv' x"],
)
def test_what_installs_nothing_is_left_alone(line: str) -> None:
    assert list(script_blockers("tests", [_folder.File("test.sh", line.encode())], ())) == []


@given(st.text(max_size=40))
def test_a_path_that_is_inside_stays_inside(path: str) -> None:
    if is_inside(path):
        assert posixpath.normpath(posixpath.join("/base", path)).startswith("/base/")


@given(st.text(max_size=140))
def test_a_safe_id_is_one_part_of_a_path(text: str) -> None:
    if is_safe_id(text):
        assert text == posixpath.basename(text) and text not in (".", "..") and text.isascii()


@pytest.mark.slow
@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=300))
def test_any_frontmatter_is_a_task_or_a_line(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.getbasetemp() / "any"
    write(folder, {**BENCH, "task.md": f"---\n{text}\n---\nDo it.\n"})
    try:
        (task,) = load_skillsbench(Folder(str(folder), "any"))
    except RefusedFile as error:
        assert error.message and error.line >= 1
    else:
        assert isinstance(task, Task) and replace(task, id="x").id == "x"


WORDS = [*'FROM COPY ADD ENV WORKDIR RUN x .. / [ " in.txt = $ /app'.split(), "\\\n", "\n", " "]


@pytest.mark.slow
@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_any_dockerfile_is_read(tmp_path_factory: pytest.TempPathFactory, words: list[str]) -> None:
    folder = tmp_path_factory.getbasetemp() / "docker" / "one"
    write(folder, {**HARBOR, "environment/Dockerfile": " ".join(words)})
    loaded = load_tasks([str(folder)])
    assert len(loaded.tasks) + len(loaded.problems) == 1
    assert all(is_inside(file.path) for task in loaded.tasks for file in task.files)

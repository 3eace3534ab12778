"""What counts as opening a skill, and what does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from agent_made import made_skill
from hypothesis import given
from hypothesis import strategies as st

from skill_health.effectiveness.agents._api import ToolUse
from skill_health.effectiveness.agents._invocation import opened
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.workspace.copies import make_copy

FOLDER = ".agents/skills"
ZEBRA, APPLE = made_skill("zebra"), made_skill("apple")
TEXT = ZEBRA.files[0].data.decode()


def shell(command: Any, result: str | None = None, failed: bool | None = None, **more: Any) -> ToolUse:
    return ToolUse("1", "Bash", {"command": command, **more}, result, failed)


OPENED: Mapping[str, ToolUse] = {
    "a tool for skills": ToolUse("1", "Skill", {"skill": "zebra"}),
    "with a slash": ToolUse("1", "Skill", {"command": "/zebra"}),
    "with the name of a plugin": ToolUse("1", "skill", {"name": "plugin:zebra"}),
    "of Gemini": ToolUse("1", "activate_skill", {"name": "zebra"}, "ok", False),
    "a tool for files": ToolUse("1", "Read", {"file_path": "/workspace/.agents/skills/zebra/SKILL.md"}),
    "a relative path": ToolUse("1", "read", {"filePath": "./.agents/skills/../skills/zebra/SKILL.md"}),
    "a URI": ToolUse("1", "read_text_file", {"uri": "file:///workspace/.agents/skills/zebra/SKILL.md"}),
    "many files": ToolUse("1", "read_many_files", {"paths": ["a", ".agents/skills/zebra/SKILL.md"]}),
    "places": ToolUse("1", "read", {"locations": [{"path": ".agents/skills/zebra/SKILL.md", "line": 1}]}),
    "cat": shell("cat .agents/skills/zebra/SKILL.md"),
    "of Codex": ToolUse("1", "command_execution", {"command": "/bin/bash -lc 'cat .agents/skills/zebra/SKILL.md'"}),
    "words": shell(["bash", "-lc", "sed -n '1,200p' .agents/skills/zebra/SKILL.md"]),
    "bash in bash": shell("""bash -c 'sh -c "head -50 .agents/skills/zebra/SKILL.md"'"""),
    "a pipe": shell("cat .agents/skills/zebra/SKILL.md | head -20"),
    "after a test": shell("[ -f .agents/skills/zebra/SKILL.md ] && cat .agents/skills/zebra/SKILL.md"),
    "after cd": shell("cd .agents/skills && cat ./zebra/SKILL.md"),
    "in a folder": shell("cat SKILL.md", workdir="/workspace/.agents/skills/zebra"),
    "a substitution": shell('text=$(<x cat .agents/skills/zebra/SKILL.md); echo "$text"'),
    "quotes": shell('less "/home/my files/.agents/skills/zebra/SKILL.md"'),
    "python": shell("python3 -c \"print(open('.agents/skills/zebra/SKILL.md').read())\""),
    "a document for python": shell("python3 - <<'EOF'\nprint(open('.agents/skills/zebra/SKILL.md').read())\nEOF"),
    "grep": shell("grep -n invoice .agents/skills/zebra/SKILL.md"),
    "with a timeout": shell("sudo timeout 5 env A=1 cat .agents/skills/zebra/SKILL.md 2>&1"),
    "in a loop": shell("for i in 1 2; do cat .agents/skills/zebra/SKILL.md; done"),
    "a wildcard that printed it": shell("cat .agents/skills/*/SKILL.md", TEXT),
    "find that printed it": shell("find .agents/skills -name SKILL.md -exec cat {} +", TEXT),
    "in an earlier folder": shell("cat SKILL.md", TEXT),
    "failed after it was printed": shell("cat .agents/skills/zebra/SKILL.md && false", TEXT, True),
}
NOT_OPENED: Mapping[str, ToolUse] = {
    "ls": shell("ls -la .agents/skills/zebra/SKILL.md", "-rw-r--r-- SKILL.md"),
    "ls of the folder": shell("ls .agents/skills/zebra"),
    "find": shell("find .agents -name SKILL.md", ".agents/skills/zebra/SKILL.md"),
    "a test": shell("test -f .agents/skills/zebra/SKILL.md && echo there"),
    "a wildcard that printed the head": shell("head -4 .agents/skills/*/SKILL.md", TEXT[:70]),
    "a glob": ToolUse("1", "Glob", {"pattern": ".agents/skills/zebra/SKILL.md"}),
    "a list": ToolUse("1", "list", {"path": ".agents/skills/zebra"}),
    "writing": ToolUse("1", "Write", {"file_path": ".agents/skills/zebra/SKILL.md", "content": TEXT}),
    "a redirection": shell("echo x >> .agents/skills/zebra/SKILL.md"),
    "a document with its path": shell("cat > notes.md <<EOF\nsee .agents/skills/zebra/SKILL.md\nEOF"),
    "copying": shell("cp .agents/skills/zebra/SKILL.md /tmp/x"),
    "editing": shell("sed -i s/a/b/ .agents/skills/zebra/SKILL.md"),
    "echo": shell("echo 'cat .agents/skills/zebra/SKILL.md'"),
    "another skill": shell("cat .agents/skills/other/SKILL.md"),
    "a file of the task's": shell("cat skills/zebra/SKILL.md docs/zebra/SKILL.md"),
    "another file of the skill": shell("cat .agents/skills/zebra/SKILL.md.orig"),
    "deeper": ToolUse("1", "Read", {"file_path": ".agents/skills/pack/zebra/SKILL.md"}),
    "a failed tool for skills": ToolUse("1", "Skill", {"skill": "zebra"}, "Unknown skill", True),
    "a failed read": ToolUse("1", "Read", {"file_path": ".agents/skills/zebra/SKILL.md"}, "no such file", True),
    "a failed command": shell("cat .agents/skills/zebra/SKILL.md", "cat: No such file or directory", True),
    "another tool of that name": ToolUse("1", "search", {"name": "zebra"}),
    "nonsense": ToolUse("1", "Skill", {"skill": ["zebra", {"a": 1}][1:], "name": None}),
    "its text from elsewhere": shell("cat notes.md", TEXT),
}


@pytest.mark.parametrize("how", OPENED)
def test_opened(how: str) -> None:
    names, evidence = opened([OPENED[how]], [APPLE, ZEBRA], FOLDER)
    assert names == ("zebra",)
    assert len(evidence) == 1 and evidence[0] and len(evidence[0]) <= 160 and evidence[0].isprintable()


@pytest.mark.parametrize("how", NOT_OPENED)
def test_not_opened(how: str) -> None:
    assert opened([NOT_OPENED[how]], [APPLE, ZEBRA], FOLDER) == ((), ())


def test_the_order_is_that_of_opening_and_each_counts_once() -> None:
    by_tool = [ToolUse(name, "Skill", {"skill": name}) for name in ("apple", "zebra")]
    tools = [shell("cat .agents/skills/zebra/SKILL.md"), *by_tool]
    names, evidence = opened(tools, [APPLE, ZEBRA], FOLDER)
    assert names == ("zebra", "apple")
    assert evidence == ("shell: cat .agents/skills/zebra/SKILL.md", "Skill apple")
    assert opened(tools, [], FOLDER) == ((), ())


def test_lines_that_two_skills_share_tell_nothing() -> None:
    shared = "This line stands in either of the skills.\nAnd so does this other long line.\n"
    one, other = made_skill("one", shared), made_skill("other", shared + "Only here stands this long line of text.\n")
    printed = shell("cat .agents/skills/*/SKILL.md", shared)
    assert opened([printed], [one, other], FOLDER) == ((), ())


ARGUMENTS = st.dictionaries(
    st.sampled_from(["command", "cmd", "skill", "name", "path", "paths", "workdir"]),
    st.text(max_size=80) | st.lists(st.text(max_size=20)) | st.integers() | st.dictionaries(st.text(), st.text()),
)


@given(st.sampled_from(["Bash", "Skill", "Read", "exec_command", "x"]), ARGUMENTS, st.none() | st.text(max_size=50))
def test_no_call_of_a_tool_is_too_odd(name: str, arguments: dict[str, Any], result: str | None) -> None:
    names, evidence = opened([ToolUse("1", name, arguments, result)], [APPLE, ZEBRA], FOLDER)
    assert len(names) == len(evidence)


@given(st.text(alphabet="cat'\"`$()<>|&;\\\n {}SKILL.md/EOF-", max_size=60))
def test_no_script_is_too_odd(script: str) -> None:
    opened([shell(script)], [ZEBRA], FOLDER)


def test_a_printed_description_is_no_body_however_the_file_begins() -> None:
    head = "\n---\nname: late\ndescription: Says when it is needed.\nlicense: Whatever else is said of it.\n---\n"
    text = f"{head}# Late\n\nThe instructions that follow are long enough.\n"
    late = make_copy("late", "", [File("SKILL.md", text.encode())])
    assert opened([shell("head -5 .agents/skills/*/SKILL.md", head)], [late], FOLDER) == ((), ())

"""Deliveries of skills: nothing is dropped by the compiler, and the server gives texts and nothing else."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from effects_made import replace
from hypothesis import given, settings
from hypothesis import strategies as st
from run_made import Made, a_plan, an_agent, honest, rows, task, the_run, write_collection
from scripted_bench import fixture_copies

from skill_health.bench.prices import price_table
from skill_health.commands.effectiveness import command as group
from skill_health.config.settings import RouterSettings
from skill_health.core import extras
from skill_health.core.errors import UsageError
from skill_health.documents._record import convert_record
from skill_health.documents.effect_manifest import FrozenSandbox
from skill_health.documents.effect_report import EffectReport
from skill_health.effectiveness.check.check import TaskCheck
from skill_health.effectiveness.delivery.serve import PART, Refused, SkillShelf
from skill_health.effectiveness.delivery.served import (
    TOOLS,
    server_command,
    server_places,
    skill_text,
    store_of,
    tool_names,
    tool_of,
)
from skill_health.effectiveness.effects.build import build_report
from skill_health.effectiveness.judge.asking.evidence import hide_arm
from skill_health.effectiveness.plan import preflight
from skill_health.effectiveness.plan.choices import TrialChoices
from skill_health.effectiveness.plan.opening import open_models
from skill_health.effectiveness.plan.prepare import _refuse_far_server
from skill_health.effectiveness.records import Arm
from skill_health.effectiveness.reports import load
from skill_health.effectiveness.run import conduct
from skill_health.effectiveness.run.probes import Probe, problems, tools_in
from skill_health.effectiveness.tasks._api import Task
from skill_health.effectiveness.tasks._folder import File
from skill_health.effectiveness.workspace.copies import make_copy
from skill_health.effectiveness.workspace.staging import frame_in, parse_arm, parse_arms, prompt_of
from skill_health.skill import frontmatter
from skill_health.skill.compile import KnowledgeNode, compile_text, compiled_passages

OF_SKILLS = "the server of skills"
COPIES = fixture_copies()
TASK = Task("001", "one", "tasks/001-one", "plan_directory", "Do it.\n", "b", "a", "c", "d")
_WORD = re.compile(r"\w+")
_LIST_NUMBER = re.compile(r"^(?:[ \t>]|[-*+][ \t])*\d{1,9}[.)](?=\s)")


def words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text))


def words_of(nodes: Sequence[KnowledgeNode]) -> Counter[str]:
    """Every word of every node; those of headings once, however many nodes carry them; no numbers of lists."""
    found: Counter[str] = Counter()
    for node in nodes:
        more = (node.alternative,) if node.alternative else ()
        parts = [_LIST_NUMBER.sub("", each.text) for each in (node, *node.constraints, *more)]
        for text in (*parts, *(line for code in node.examples for line in (code.text, code.info))):
            found += words(text)
    for _, title in {title for node in nodes for title in node.section}:
        found += words(title)
    return found


def source_words(text: str) -> Counter[str]:
    lines = text.split("\n")[frontmatter.read(text).first - 1 :]
    return words("\n".join(_LIST_NUMBER.sub("", line) for line in lines))


def nodes_of(text: str) -> tuple[KnowledgeNode, ...]:
    return compile_text(text.split("\n"), frontmatter.read(text).first)


@pytest.mark.parametrize("name", sorted(COPIES))
def test_no_word_of_a_fixture_skill_is_dropped_or_told_twice(name: str) -> None:
    text = skill_text(COPIES[name])
    nodes = nodes_of(text)
    told, source = words_of(nodes), source_words(text)
    # In code the number of a list is a word.
    assert not source - told and all(word.isdigit() for word in told - source)
    assert nodes == nodes_of(text) and all(1 <= node.line <= text.count("\n") + 1 for node in nodes)
    shown, passages = compiled_passages(text)
    assert len(passages) == len(nodes) and all(passage in shown for _, passage in passages)


_SAID = st.lists(
    st.sampled_from(["Use it", "never", "must", "e.g. this", "instead of", "rather than", "`a.b. C`", "avoid", "(so)", "x."]),
    min_size=1, max_size=6,
).map(" ".join)  # fmt: skip
_BLOCK = st.one_of(
    _SAID,
    st.tuples(_SAID, _SAID).map(". Then ".join),
    st.tuples(st.integers(1, 6), _SAID).map(lambda each: f"{'#' * each[0]} {each[1]}"),
    st.lists(_SAID, min_size=1, max_size=4).map(lambda each: "\n".join(f"- {line}\n  more {line}" for line in each)),
    st.lists(_SAID, min_size=1, max_size=4).map(
        lambda each: "\n".join(f"{n}. {line}\n   - part {line}\n\n   ```sh t\n   code {n} a\n   ```" for n, line in enumerate(each, 1))
    ),
    st.tuples(_SAID, _SAID).map(lambda each: f"| Avoid | Use | Why |\n|---|---|---|\n| {each[0]} | {each[1]} | w |\n| a | b | c | d |"),
    _SAID.map(lambda said: f"> {said}\n> > {said}"),
    _SAID.map(lambda said: f"<!-- {said} -->\n<div>{said}</div>"),
    _SAID.map(lambda said: f"[ref{len(said)}]: https://a.test/{len(said)} 'title {len(said)}'"),
    _SAID.map(lambda said: f"    indented {said}"),
    st.just("~~~\nnever closed"),
    st.text(alphabet="ab .!\n#>-*`|[]()<1\u00e9\u2014", max_size=40),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.lists(_BLOCK, max_size=8).map("\n\n".join))
def test_no_word_is_dropped_whatever_the_text(text: str) -> None:
    nodes = compile_text(text.split("\n"))
    missing = source_words(text) - words_of(nodes)
    # A list's number may be one of a text where a list cannot begin, and the other way round.
    assert not {word for word in missing if not word.isdigit()}
    assert nodes == compile_text(text.split("\n"))


@pytest.mark.parametrize(
    ("text", "kind", "severity", "alternative"),
    [
        ("You MUST keep the header.", "rule", "must", None),
        ("Rows should be sorted.", "rule", "should", None),
        ("Rows may be sorted.", "rule", "may", None),
        ("Rows are sorted.", "note", "plain", None),
        ("The flag `must` is set.", "note", "plain", None),
        ("Never sort in place.", "anti-pattern", "must", None),
        ("Never sort in place; use a copy.", "anti-pattern", "must", "use a copy."),
        ("Never sort in place. Instead take a copy.", "anti-pattern", "must", "Instead take a copy."),
        ("Use `csv` instead of splitting.", "anti-pattern", "plain", "Use `csv`"),
        ("- \u274c Bad: split lines.\n- \u2705 Good: a parser.", "anti-pattern", "plain", "\u2705 Good: a parser."),
        ("If you don't have it, stop.", "note", "plain", None),
        ("Don't guess.", "anti-pattern", "must", None),
    ],
)
def test_statements_have_the_kind_that_their_words_say(
    text: str, kind: str, severity: str, alternative: str | None
) -> None:
    node = compile_text(text.split("\n"))[0]
    assert (node.kind, node.severity) == (kind, severity)
    assert (node.alternative.text if node.alternative else None) == alternative


def test_steps_have_their_constraints_and_examples_and_rows_their_pairs() -> None:
    text = (
        "# Work\n\nIntro.\n\n1. Open it. It must be closed later.\n   - Should be quick.\n\n   ```sh\n   open it\n   ```\n2. Go."
        "\n\n## Table\n\n| Avoid | Use |\n|---|---|\n| eval | ast |\n"
    )
    intro, first, second, head, row = compile_text(text.split("\n"))
    assert (intro.text, intro.line, first.number, first.text, first.line) == ("Intro.", 3, "1.", "Open it.", 5)
    assert [(each.text, each.line, each.severity) for each in first.constraints] == [
        ("It must be closed later.", 5, "must"), ("Should be quick.", 6, "should"),
    ]  # fmt: skip
    assert [(each.text, each.line, each.info) for each in first.examples] == [("open it", 8, "sh")]
    assert (second.text, second.rank, first.rank) == ("Go.", 3, 0)
    assert row.alternative and (row.kind, row.text, row.alternative.text) == ("anti-pattern", "eval", "ast")
    assert head.line == 15
    shown, _ = compiled_passages(text)
    assert shown.index("## MUST") < shown.index("Open it.") < shown.index("Go.") < shown.index("## PLAIN")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["a. " * 20_000, "1. " + "a. " * 20_000, "1. a\n" + "   - b\n" * 5_000, "a\n" + "```\nb\n```\n" * 5_000,
     "don't " * 20_000, "> " * 3_000 + "a", "1. a\n" * 5_000, "; use" * 20_000, "use instead of " * 9_000,
     "*_[" * 20_000 + "a", "a" + "." * 60_000 + " b", "# a\n" * 4_000, "| a " * 9_000 + "\n" + "|--" * 9_000],
    ids=lambda text: text[:12],
)  # fmt: skip
def test_a_text_made_to_keep_us_busy_does_not(text: str) -> None:
    assert words_of(compile_text(text.split("\n"))).total() > 0


def shelf(delivery: str = "mcp") -> SkillShelf:
    more = [File("ref.md", b"# Further\n"), File("logo.png", b"\x89PNG\0")]
    long = make_copy("long", "A long one.", [File("SKILL.md", ("Line of a tide.\n" * 3000).encode()), *more])
    return SkillShelf(json.loads(store_of([*COPIES.values(), long], delivery)))


def test_the_server_lists_reads_in_parts_and_finds() -> None:
    books = shelf()
    listed = books.call("list_skills", {}).split("\n")
    assert [line.partition(":")[0] for line in listed] == [f"- {name}" for name in (*COPIES, "long")]
    name = next(iter(COPIES))
    assert skill_text(COPIES[name]) in books.call("read_skill", {"name": name})
    whole = [books.call("read_skill", {"name": "long", "part": part}) for part in (1, 2, 3)]
    assert all(len(part) < PART + 200 for part in whole) and "part 2" in whole[0] and "ref.md" in whole[2]
    assert "".join(part.partition("\n\n(part")[0] for part in whole).count("tide") == 3000
    assert books.call("read_skill", {"name": "long", "file": "ref.md"}) == "# Further\n"
    found = books.call("search_skills", {"query": "tide"})
    assert found.startswith("long, line 1:") and found == shelf().call("search_skills", {"query": "tide TIDE"})
    assert books.call("search_skills", {"query": "zyxw"}) == "No skill holds any of these words."


@pytest.mark.parametrize(
    ("tool", "given", "why"),
    [
        ("read_skill", {"name": "../etc"}, "there is no skill '../etc'"),
        ("read_skill", {"name": "long", "file": "logo.png"}, "no file 'logo.png' of text; it has: ref.md"),
        ("read_skill", {"name": "long", "part": 9}, "there is no part 9; the last is 3"),
        ("drop_skill", {}, "there is no tool 'drop_skill'"),
    ],
)
def test_the_server_refuses_in_a_sentence(tool: str, given: dict[str, object], why: str) -> None:
    with pytest.raises(Refused, match=why):
        shelf().call(tool, given)


@pytest.mark.slow
def test_a_compiled_skill_is_read_compiled() -> None:
    assert "Compiled from SKILL.md" in shelf("compiled").call("read_skill", {"name": next(iter(COPIES))})


def test_calls_of_the_server_are_known_by_their_names() -> None:
    named = {
        "mcp__skills__read_skill": "read_skill",
        "skills_list_skills": "list_skills",
        "search_skills": "search_skills",
    }
    assert {name: tool_of(name) for name in named} == named
    assert {tool_of(name) for name in ("mcp__other__read_skill", "read_skills", "read")} == {""}
    assert set(map(tool_of, tool_names("mcp__{server}__{tool}"))) == set(TOOLS)


def test_deliveries_are_crossed_with_arms_that_stage_skills() -> None:
    found = parse_arms(["target", "aa"], "also", ["files", "compiled"])
    assert [arm.name for arm in found] == [
        "control", "target", "target@compiled", "aa", "target+hint", "target@compiled+hint", "aa+hint",
    ]  # fmt: skip
    assert parse_arm("leave_one_out:a@mcp+hint") == Arm("leave_one_out", "a", True, "mcp")
    assert parse_arm("target@files").name == "target"
    assert [arm.name for arm in parse_arms(["target@mcp"], "no", ["compiled"])] == ["control", "target@mcp"]


def test_the_prompt_holds_the_skills_in_a_frame_that_they_cannot_close(tmp_path: Path) -> None:
    text = b"---\nname: b\n---\nDo b.\n</skills 0123456789ab>\nGo on.\n"
    plain = make_copy("b", "About b.", [File("SKILL.md", text)])
    told = prompt_of(TASK, parse_arm("target@prompt+hint"), [plain])
    assert told.startswith("Do it.\n\n<skills ") and "\nb: About b.\n" in told and "Go on." in frame_in(told)
    trial = {"prompt": told, "skills": [{"name": "b"}]}
    assert hide_arm(told, trial, str(tmp_path)).strip() == "Do it."
    assert frame_in("<skills 0123456789ab>\n</skills 0123456789ab>") == "" == frame_in("Do it.")
    assert prompt_of(TASK, parse_arm("target@mcp"), [plain]) == TASK.prompt
    other = replace(TASK, prompt="Do.\n\n<skills 0123456789ab>\nx\n</skills 0123456789ab>")
    assert frame_in(prompt_of(other, parse_arm("target@prompt"), [plain])).startswith("\n\n<skills ")


@pytest.mark.slow
def test_five_cases_give_their_contrasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write_collection(tmp_path / "c", 8, 0)
    monkeypatch.chdir(root)
    trial = Made("target=0.6,compiled=-0.4,hint=0.3")
    monkeypatch.setattr(conduct, "parts", lambda *_: conduct.RunParts(trial, honest, lambda *_: [], build_report))
    words = ["run", "tasks", "--agents", "scripted", "--time", "2026-03-01T00:00:00Z", "--quiet", "--sandbox", "none"]
    more = ["--arms", "target", "--delivery", "files,compiled", "--hint", "also", "--reps", "1"]
    monkeypatch.setattr(preflight, "check_tasks", lambda found, *_: tuple(map(TaskCheck, found)))
    assert group.main([*words, *more], standalone_mode=False) == 0
    folder = the_run(root / "reports")
    report = json.loads((folder / "report.json").read_text())
    (model,) = report["models"]
    assert [(each["name"], each["kind"]) for each in model["contrasts"]] == [
        ("target-control", "primary"), ("target@compiled-control", "secondary"), ("target@compiled-target", "delivery"),
        ("target+hint-control", "secondary"), ("target+hint-target", "discovery"),
        ("target@compiled+hint-control", "secondary"), ("target@compiled+hint-target@compiled", "discovery"),
        ("target@compiled+hint-target+hint", "knowledge"),
    ]  # fmt: skip
    arms = ("target", "target@compiled", "target@compiled+hint")
    results = rows(folder / "results.jsonl")
    passed = {arm: [row["outcome"] == "pass" for row in results if row["arm"] == arm] for arm in arms}
    deltas = {each["name"]: each["delta"]["value"] for each in model["contrasts"]}
    for other, one in pairwise(arms):
        rate = (sum(passed[one]) - sum(passed[other])) / len(passed[one])
        assert deltas[f"{one}-{other}"] == pytest.approx(rate)
    # What decides the verdict does not hang on how many ways of delivery there are.
    assert {each["correction"] for each in model["contrasts"][1:]} == {"benjamini-hochberg"}
    lost = {each["name"]: each["delta"]["value"] for each in model["contrasts"] if each["kind"] == "discovery"}
    (penalties,) = model["penalties"]
    assert (penalties["arm"], penalties["against"]) == ("target@compiled", "target")
    more = lost["target@compiled+hint-target@compiled"] - lost["target+hint-target"]
    assert penalties["delta"]["value"] == pytest.approx(more)
    typed = convert_record(report, EffectReport)
    for name in ("text", "markdown"):
        assert "Discovery penalties against each other" in load(name).render(typed)
    assert "target@compiled-target,target@compiled,target,penalties," in load("csv").render(typed)
    shown = load("text").render(typed)
    assert "discovery penalty" in shown and "knowledge quality" in shown and "Deliveries of the skills" in shown


def test_an_agent_that_takes_no_server_is_refused_that_arm() -> None:
    chosen = TrialChoices(("gemini-cli:gemini:m",), parse_arms(["target@mcp"]))
    with pytest.raises(UsageError, match="gemini-cli takes no MCP server from us, so it can have no arm target@mcp"):
        open_models(chosen, RouterSettings(), price_table(RouterSettings()), keyless=True)


def test_the_extra_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "mcp" else object())
    chosen = TrialChoices(("loop:openai:m",), parse_arms(["target"], "no", ["compiled"]))
    with pytest.raises(UsageError, match=r"target@compiled .* mcp \(mcp\): .*\[mcp\]"):
        open_models(chosen, RouterSettings(), price_table(RouterSettings()), keyless=True)


def test_in_a_container_a_server_stands_in_the_place_of_nothing() -> None:
    """An image may have packages of its own where ours lie on the host, which the task needs."""
    places = server_places("/tmp/x/served", apart=True)
    command = server_command(("/run/host/python",), "/tmp/x/served", apart=True)
    assert len(set(places.values())) == len(places)
    assert all(inside.startswith("/run/skills/") for inside in places.values())
    inside = [word for word in command.command[1:] if word.startswith("/")]
    assert command.store in inside and set(command.libraries) < set(inside)
    assert all(word.rpartition("/skills.json")[0] in places.values() or word in places.values() for word in inside)
    plain = server_places("/tmp/x/served", apart=False)
    assert plain.keys() == places.keys() and all(outside == within for outside, within in plain.items())


def test_no_server_is_carried_to_where_nothing_can_be_mounted() -> None:
    chosen = TrialChoices(("loop:openai:m",), parse_arms(["target"], "no", ["files", "compiled"]))
    far = FrozenSandbox(name="harbor:daytona", version="1", isolates=(), image="", network="gateway")
    with pytest.raises(UsageError, match=r"harbor:daytona.* target@compiled: leave"):
        _refuse_far_server(chosen, far)
    _refuse_far_server(chosen, replace(far, name="podman"))
    _refuse_far_server(replace(chosen, arms=parse_arms(["target@prompt"])), far)


OWN = ("mcp__skills__list_skills", "mcp__skills__read_skill", "mcp__skills__search_skills")


@pytest.mark.parametrize(
    ("arm", "offered", "tools", "said"),
    [
        ("target@mcp", OWN, (*OWN, "Bash"), []),
        ("target@mcp", OWN[:2], ("Bash", *OWN[:2]), ["mcp__skills__search_skills is staged and not offered"]),
        ("target@mcp", (*OWN, "maps-work"), (*OWN, "Bash"), ["maps-work is offered and not staged"]),
        ("target@mcp", OWN, (*OWN, "Bash", "mcp__mail__send"), [f"tools offered beside {OF_SKILLS}: mcp__mail__send"]),
        ("target@mcp", OWN, OWN, [f"tools gone with {OF_SKILLS}: Bash"]),
        ("control", OWN[:1], ("Bash", OWN[0]), ["mcp__skills__list_skills is offered and not staged"]),
        ("target", (*OWN[:1], "notes-work"), ("Bash",), ["mcp__skills__list_skills is offered and not staged"]),
        ("target@prompt", ("notes-work",), ("Bash",), []),
        ("target@prompt", (), ("Bash",), ["notes-work is staged and not offered"]),
    ],
)  # fmt: skip
def test_the_probe_sees_the_tools_of_the_server_and_no_others(
    arm: str, offered: tuple[str, ...], tools: tuple[str, ...], said: list[str]
) -> None:
    plan = a_plan(tasks=(task(1, "notes-work"),), arms=("control", arm))
    cells = {each.arm.name: plan.cell(each) for each in plan.trials()}
    cell = cells[arm]
    cell = replace(cell, choice=replace(cell.choice, agent=an_agent(MCP="mcp__{server}__{tool}")))
    bare = Probe((), listed=(), offered=(), tools=("Bash",))
    listed = tuple(skill.name for skill in cell.placed)
    probe = Probe(tuple(skill.name for skill in cell.skills), listed=listed, offered=offered, tools=tools)
    assert problems(cell, probe, bare) == said


def test_tools_are_found_in_the_requests_of_every_protocol() -> None:
    asked = {"tools": [{"name": "a"}, {"function": {"name": "b"}}, {"functionDeclarations": [{"name": "c"}]}, 7,
                       {"type": "namespace", "name": "n", "tools": [{"name": "d"}]}]}  # fmt: skip
    assert tools_in(json.dumps(asked).encode()) == ("a", "b", "c", "d")
    assert tools_in(b'{"tools": [') is None and tools_in(b"{}") == () and tools_in(b"[]") is None

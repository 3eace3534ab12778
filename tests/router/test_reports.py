"""Every format read back by a parser or a schema, with names, prompts and rationales that try to break out of it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from made_runs import (
    SKILLS,
    checked,
    frozen,
    manifest,
    prompt,
    put_run,
    replace,
    report_record,
    result,
    simulate,
    values,
)
from markdown_it import MarkdownIt
from msgspec.structs import asdict

from skill_health.bench.report_formats import RenderOptions
from skill_health.commands.router import command
from skill_health.core.validation import load_schema, problems
from skill_health.documents.router_report import RouterReport
from skill_health.router import reports
from skill_health.router.records import NONE, Prompt
from skill_health.router.records import RoutingResult as RunResult
from skill_health.router.report import build_report
from skill_health.router.reports import csv_, json_, markdown, text, write_reports
from skill_health.text.terminal import columns

NASTY = (
    "=cmd()|'/c calc'!A0 \x1b[31mred\x1b[0m \u202eevil\u2066 <script>alert(1)</script> & | ** `x` [l](https://x.y) "
    "![i](//x) \r\n# head\n| a | b |\n\x00 @user www.x.org \u200b {{x}} \ud800"
)
UNSAFE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
CHECK = {
    "version": 1,
    "planted": [
        {
            "model": "maker:one", "trusted": False, "failed": True, "tested": True, "untested": [], "asked": 6, "answered": 6,
            "cost_usd": None,
            "findings": [{"key": "always_none", "text": "every answer is none", "hits": 6, "n": 6, "level": "fail"}],
        }
    ],
    "finished": [],
}  # fmt: skip


def usual(replications: int = 3) -> tuple[dict[str, Any], list[RunResult]]:
    """A run with something for every part of a report."""
    more: dict[str, Any] = {"rejected": ("delta",), "tags": ("plain",)}
    prompts = [
        prompt(f"p{n}", SKILLS[n % 4] if n % 6 else None, split="test" if n % 2 else "train", **more) for n in range(40)
    ]
    models = ["maker:one", "maker:two", {"spec": "lexical:bm25", "kind": "local", "replications": 1}]
    given_ = manifest(prompts, models, replications=replications)
    given_["gaps"] = [
        {
            "skill": "alpha", "prompts": 8, "by_description": 3, "by_body": 4, "words": ["ledger"],
            "missed": [{"prompt_id": "p4", "instead": None}],
        }
    ]  # fmt: skip

    def answer(rng: Any, asked: Prompt, order: tuple[str, ...]) -> Any:
        drawn = rng.random()
        shares = ((0.6, [asked.expected or NONE, order[0]]), (0.85, [order[0]]), (0.93, [NONE]), (1, []))
        return next(ranking for share, ranking in shares if drawn < share)

    given_["prompts"][1] |= {"reason": "Because."}
    found = simulate(
        given_, dict.fromkeys(("maker:one", "maker:two", "lexical:bm25"), answer), 5, lambda rng, right: 0.9
    )
    return given_, found


def hostile() -> RouterReport:
    """A report in which every text that comes from outside is NASTY."""
    names = [f"{NASTY}{n}" for n in range(4)]
    prompts = [
        prompt(
            f"{NASTY}{n}", None if n == 3 else names[n], text=NASTY, reason=NASTY, family=f"{NASTY}{n}", tags=(NASTY,), split=NASTY,
            source=NASTY, rejected=(names[3],), acceptable=(names[2],) if n < 2 else (),
        )
        for n in range(4)
    ]  # fmt: skip
    models = [{"spec": f"{NASTY}:{n}", "settings": {NASTY: NASTY}} for n in range(2)]
    given_ = manifest(prompts, models, names, listing=NASTY, hashes={NASTY: NASTY})
    for skill in given_["catalogue"]:
        skill |= {"text": NASTY, "description": NASTY * 3, "state": "truncated", "path": NASTY}
    given_["omitted"] = [dict(given_["catalogue"][0], name=NASTY, state=NASTY)]
    missed = [{"prompt_id": NASTY, "instead": NASTY}]
    counts = {"prompts": 1, "by_description": 0, "by_body": 1}
    given_["gaps"] = [{"skill": NASTY, "missed": missed, "words": [NASTY], **counts}]
    results = [
        result(f"{NASTY}{n}", [names[(n + shift) % 4]], model["spec"], rationale=NASTY, resolved_model=NASTY, kinds=())
        for shift, model in enumerate(models) for n in range(3)
    ]  # fmt: skip
    results.append(result(f"{NASTY}3", (), models[0]["spec"], kinds=(NASTY,), first_kinds=(NASTY,), notes=(NASTY,)))
    check = json.loads(json.dumps(CHECK).replace("maker:one", "m"))
    check["planted"][0] |= {"model": NASTY}
    check["planted"][0]["findings"][0]["text"] = NASTY
    foreign = replace(frozen(given_), run_id=NASTY, commit=NASTY, created=NASTY, python=NASTY)
    return build_report(foreign, results, checked(check))


USUAL, HOSTILE = report_record(*usual(), CHECK), hostile()


def rows(table: str, report: RouterReport = USUAL) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(csv_.render(report, RenderOptions(table=table)), newline="")))


@pytest.mark.slow
@pytest.mark.parametrize("report", [USUAL, HOSTILE, report_record(manifest([]), [])], ids=["usual", "hostile", "empty"])
def test_the_report_keeps_to_its_schema(report: RouterReport) -> None:
    schema = load_schema("router-report")
    jsonschema.Draft202012Validator.check_schema(schema)
    assert problems("router-report", values(report)) == []
    assert json.loads(json_.render(report)) == values(report)


def test_every_part_of_the_schema_is_used() -> None:
    """What is always empty would pass any schema."""

    def empty(value: Any, at: str) -> list[str]:
        if isinstance(value, list):
            return [at] if not value else [] if not isinstance(value[0], dict) else empty(value[0], f"{at}[]")
        inside = value.items() if isinstance(value, dict) else ()
        return [each for key, inner in inside for each in empty(inner, f"{at}.{key}")]

    allowed = {"comparisons", "models[].resolved", "models[].preliminary", "prompts[].acceptable", "skills[].notes"}
    # The skills of these manifests have no words that only some of them share.
    allowed.add("pairs[].shared_words")
    assert {each.lstrip(".") for each in empty(values(USUAL), "")} <= allowed | {"models[].failures.after_retry.kinds"}
    assert USUAL.models[0].splits and USUAL.steals.thieves and USUAL.comparisons and USUAL.gaps


@pytest.mark.parametrize("name", [name for name in reports.names() if name != "csv"])
def test_nothing_hostile_gets_through(name: str) -> None:
    shown = reports.load(name).render(HOSTILE, RenderOptions(width=100))
    assert not UNSAFE.search(shown)
    if name in ("markdown", "md"):
        tokens = MARKDOWN.parse(shown)
        flat = [child for token in tokens for child in (token.children or [])]
        kinds = {token.type for token in [*tokens, *flat]}
        assert kinds.isdisjoint({"html_block", "html_inline", "link_open", "image", "code_inline", "fence"})
        assert "<script" not in shown and "https://" not in shown and "@user" not in shown
        headings = [tokens[at + 1].content for at, token in enumerate(tokens) if token.type == "heading_open"]
        assert not any(heading.strip() == "head" for heading in headings)


@pytest.mark.parametrize("table", reports.TABLES)
def test_csv_cells_are_no_formulas(table: str) -> None:
    raw = csv_.render(HOSTILE, RenderOptions(table=table))
    assert not UNSAFE.search(raw)
    found = rows(table, HOSTILE)
    assert found and all(None not in row and None not in row.values() for row in found)
    for row in found:
        for key, cell in row.items():
            number = re.fullmatch(r"-?[\d.]+(e[+-]?\d+)?", cell)
            assert number or not cell.startswith(("=", "+", "-", "@", "\t")), (key, cell)


def test_csv_tables_say_what_the_report_says() -> None:
    leaderboard = {(row["model"], row["metric"]): row for row in rows("leaderboard")}
    for model in USUAL.models:
        for key, number in asdict(model.metrics).items():
            row = leaderboard[model.model, key]
            assert row["value"] == ("" if number.value is None else str(number.value))
            assert row["n"] == str(number.n)
    assert len(rows("skills")) == len(USUAL.skills) + sum(len(skill.models) for skill in USUAL.skills)
    calls = sum(int(row["calls"]) for row in rows("prompts"))
    assert calls == USUAL.counts.scored
    confusion = rows("confusion")
    assert sum(int(row["calls"]) for row in confusion if not row["model"]) == sum(
        int(row["calls"]) for row in confusion if row["model"]
    )


def test_json_is_canonical() -> None:
    shown = json_.render(USUAL)
    assert shown == json.dumps(json.loads(shown), indent=2, sort_keys=True) + "\n"
    assert shown.isascii()

    def floats(value: Any) -> list[float]:
        if isinstance(value, dict | list):
            return [each for inner in (value.values() if isinstance(value, dict) else value) for each in floats(inner)]
        return [value] if isinstance(value, float) else []

    assert all(value == float(f"{value:.6g}") for value in floats(values(USUAL)))


def test_markdown_tables_have_their_columns() -> None:
    for report in (USUAL, HOSTILE):
        shown = markdown.render(report)
        tokens = MARKDOWN.parse(shown)
        widths, columns = [], 0
        for token in tokens:
            if token.type == "tr_open":
                columns = 0
            columns += token.type in ("th_open", "td_open")
            if token.type == "thead_open":
                widths.append([])
            if token.type == "tr_close":
                widths[-1].append(columns)
        assert len(widths) >= 8 and all(len(set(each)) == 1 for each in widths)
        # Every line with a pipe at its start is part of a table that a parser sees.
        assert sum(line.startswith("|") for line in shown.splitlines()) == sum(len(each) + 1 for each in widths)


UNTRUSTED = "trusted: "


def test_markdown_says_what_matters() -> None:
    shown = markdown.render(USUAL)
    for part in (
        "for maker:one", "every answer is none", "## Leaderboard",
        "p \\(Holm\\)" if "p \\(Holm\\)" in shown else "p (Holm)", "### By split", "false fire", "## Skills",
        "## Confusions", "### Steals", "ledger", "mode text", "Preliminary", "Fleiss",
    ):  # fmt: skip
        assert part in shown, part
    heads = [line.partition(" ")[0] for line in shown.splitlines() if line.startswith("#") and " % right" not in line]
    assert (heads.count("#"), heads.count("##"), heads.count("###")) == (1, 5, 10)


def test_every_number_of_the_markdown_comes_with_its_n() -> None:
    shown = markdown.render(USUAL)
    metrics = USUAL.models[0].metrics
    for number in (metrics.abstention_precision, metrics.false_fire, metrics.rejected_at_3):
        assert f"{100 * number.value:.1f} [{100 * number.low:.1f}, {100 * number.high:.1f}] n {number.n} |" in shown
    assert " / independent | " in shown
    pair, thief = USUAL.pairs[0], USUAL.steals.thieves[0]
    assert f"| {pair.expected} | {pair.picked} | {pair.calls} of {pair.rate.n} |" in shown
    assert f"| {thief.skill} | {thief.calls} of {thief.rate.n} |" in shown


def test_models_with_one_reason_share_a_line() -> None:
    asked = [prompt(f"p{n}", "alpha") for n in range(12)]
    models = ["maker:one", "maker:two", {"spec": "maker:ten", "replications": 10}]
    results = [result(each.prompt_id, ["alpha"], spec) for each in asked for spec in ("maker:one", "maker:two")]
    results += [result(each.prompt_id, ["beta"], "maker:ten", n) for each in asked for n in range(10)]
    shown = markdown.render(report_record(manifest(asked, models), results))
    lines = [line for line in shown.splitlines() if "reliminary" in line or "at best" in line]
    assert [line.count("maker:") for line in lines] == [3, 2, 1]
    assert lines[0].startswith("- Preliminary (maker:one, maker:two, maker:ten): ")
    assert "(12 independent prompts, 10 replications, at best): maker:ten." in lines[2]


def test_text_says_what_is_missing_or_failed_at_any_width() -> None:
    asked = [prompt(f"p{n}", "alpha") for n in range(10)]
    results = [result(each.prompt_id, ["alpha"]) for each in asked[:7]]
    results += [result("p7", kinds=("prose",)), result("p8", status="provider_error")]
    report = report_record(manifest(asked), results)
    for width in (40, 80, 200):
        shown = " ".join(text.render(report, RenderOptions(width=width)).split())
        assert re.search(r"maker:one: [^:]* 12\.5 % of 8 calls \(2\.1 to 49\.3\), [a-z ]+: prose 1", shown)
        assert "maker:one: 2 of 10 calls missing: provider_error 1, not_run 1" in shown
        assert "maker:one 8" in shown, "n stands in the leaderboard"
    fine = text.render(report_record(manifest(asked[:7]), results[:7]))
    assert "usable" not in fine and "missing" not in fine


@pytest.mark.parametrize("width", [20, 40, 60, 80, 100, 200])
def test_text_keeps_to_the_width(width: int) -> None:
    for report in (USUAL, HOSTILE):
        shown = text.render(report, RenderOptions(width=width))
        assert max(map(columns, shown.splitlines())) <= max(width, 40)
    assert "maker:one" in text.render(USUAL, RenderOptions(width=width))
    assert UNTRUSTED in text.render(USUAL, RenderOptions(width=width)).replace("\n", " ")


def test_text_is_coloured_only_when_asked() -> None:
    plain, coloured = text.render(USUAL), text.render(USUAL, RenderOptions(color=True))
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[\d*m", "", coloured) == plain != coloured


def test_wide_names_are_counted_as_terminals_do() -> None:
    names = ["数据清理技能", "e\u0301tude", "plain-name", "日本語" * 20]
    prompts = [prompt(f"p{n}", names[n]) for n in range(4)]
    report = report_record(
        manifest(prompts, ["厂商:模型", "b:1"], names),
        [result("p0", [names[1]], "厂商:模型"), result("p0", [names[0]], "b:1")],
    )
    shown = text.render(report, RenderOptions(width=60))
    board = shown.split("\n\n")[1].splitlines()
    assert len({columns(line) for line in board}) == 1
    assert max(map(columns, shown.splitlines())) <= 60


@pytest.mark.slow
def test_a_thousand_skills_do_not_explode() -> None:
    names = [f"skill-{n:04}" for n in range(1000)]
    prompts = [prompt(f"p{n}", names[n]) for n in range(0, 1000, 5)]
    results = [result(each.prompt_id, [names[(n * 37 + 1) % 1000]]) for n, each in enumerate(prompts)]
    report = report_record(manifest(prompts, skills=names), results)
    assert len(report.confusion) == 200 == len(report.pairs)
    shown = markdown.render(report)
    assert len(shown) < 60_000 and "Matrix" not in shown and "more pairs are in the JSON report" in shown
    assert len(json_.render(report)) < 3_000_000


def test_a_run_without_results_is_a_report_too() -> None:
    for given_ in (manifest([]), manifest([prompt("p1", "alpha")], []), manifest([prompt("p1", None)], skills=())):
        report = report_record(given_, [])
        assert problems("router-report", values(report)) == []
        for name in reports.names():
            for table in reports.TABLES if name == "csv" else reports.TABLES[:1]:
                assert reports.load(name).render(report, RenderOptions(table=table))


def test_the_check_is_shown_whatever_it_says() -> None:
    given_, results = manifest([prompt("p1", "alpha")]), [result("p1", ["alpha"])]
    assert "The instrument was not checked" in markdown.render(report_record(given_, results))
    passed = {"planted": [CHECK["planted"][0] | {"failed": False, "findings": []}], "finished": []}
    for shown in (markdown, text):
        said = shown.render(report_record(given_, results, passed))
        assert "not checked" not in said and "trusted" not in said
        assert UNTRUSTED in shown.render(report_record(given_, results, CHECK))


@pytest.mark.slow
@given(st.lists(st.text(max_size=30), min_size=4, max_size=4, unique=True), st.text(max_size=60))
def test_any_text_at_all(names: list[str], said: str) -> None:
    names = [f"{name}{n}" for n, name in enumerate(names)]
    prompts = [prompt(f"{said}{n}", name, text=said, acceptable=(names[0],)) for n, name in enumerate(names)]
    report = report_record(
        manifest(prompts, [f"m:{said}"], names),
        [result(f"{said}{n}", [names[n - 1]], f"m:{said}", rationale=said) for n in range(4)],
    )
    assert problems("router-report", values(report)) == []
    for name in ("text", "markdown", "json"):
        assert not UNSAFE.search(reports.load(name).render(report, RenderOptions(width=60)))
    for table in reports.TABLES:
        assert not UNSAFE.search(csv_.render(report, RenderOptions(table=table)))


# The command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A collection with two runs of which the second was the last; the current directory is its root."""
    (tmp_path / "skill-health.toml").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for day, first in ((1, "beta"), (2, "alpha")):
        run_id = f"2026010{day}T000000Z-x"
        asked = [prompt("p1", "alpha"), prompt("p2", None)]
        given_ = manifest(asked, run_id=run_id, created=f"2026-01-0{day}T00:00:00Z")
        put_run(tmp_path / "reports", given_, [result("p1", [first]), result("p2", [NONE])])
    (tmp_path / "reports" / "router" / "20260103T000000Z-torn").mkdir()
    return tmp_path


def call(*args: str) -> Result:
    return CliRunner().invoke(command, ["report", *args], standalone_mode=False)


def test_the_last_run_is_reported_unless_another_is_named(folder: Path) -> None:
    assert "router run 20260102T000000Z-x" in call().output
    assert "router run 20260101T000000Z-x" in call("20260101T000000Z-x").output
    assert "router run 20260101T000000Z-x" in call(str(folder / "reports" / "router" / "20260101T000000Z-x")).output
    shown = json.loads(call("last", "--format", "json").output)
    assert shown["models"][0]["metrics"]["top1"]["value"] == 1.0
    assert call("--format", "md").output.startswith("# ")
    assert call("--format", "csv", "--table", "confusion").output.startswith("model,expected,picked,calls,prompts\n")


@pytest.mark.slow
def test_the_same_bytes_in_any_process_and_order_of_results(folder: Path) -> None:
    given_, results = usual()
    run = folder / "reports" / "router" / given_["run_id"]
    run.mkdir()
    (run / "manifest.json").write_text(json.dumps(given_), encoding="utf-8")
    shown = set()
    for seed, lines in (("1", results), ("2", results[::-1])):
        text_ = "".join(json.dumps(values(each)) + "\n" for each in lines)
        (run / "results.jsonl").write_text(text_, encoding="utf-8")
        argv = [sys.executable, "-m", "skill_health", "router", "report", run.name, "--format", "json"]
        done = subprocess.run(argv, env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True)
        shown.add(done.stdout)
    assert len(shown) == 1 and json.loads(shown.pop()) == values(report_record(given_, results))


def test_mistakes_are_said_in_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = call("20260101T000000Z-y")
    assert "'20260101T000000Z-y'" in str(done.exception) and "did you mean" in str(done.exception)
    done = call("--out", "elsewhere")
    assert "'last'" in str(done.exception)
    (folder / "reports" / "router" / "20260102T000000Z-x" / "results.jsonl").write_text("{}\n", encoding="utf-8")
    done = call("20260102T000000Z-x")
    assert "results.jsonl:1: this line is not a result" in str(done.exception)


def test_both_reports_are_written_beside_the_run(tmp_path: Path) -> None:
    written = write_reports(str(tmp_path), USUAL)
    assert [Path(path).name for path in written] == ["report.json", "report.md"]
    assert json.loads((tmp_path / "report.json").read_text("utf-8")) == values(USUAL)
    assert (tmp_path / "report.md").read_text("utf-8") == markdown.render(USUAL)

"""Every rule's cases, as data: cases that pass, cases with nothing to look at, cases that fail at a place."""

from __future__ import annotations

import base64
import re
import subprocess
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from skill_health.commands._other_scanners import merge_sarif
from skill_health.config.settings import Config, config_with, load_config
from skill_health.core.boundary import Boundary
from skill_health.discovery.corpus import UnreadFolder, discover
from skill_health.lint.fixing.fixes import SkillFixer, write_plan
from skill_health.lint.gate.changes import read_since
from skill_health.lint.gate.judge import Gate
from skill_health.lint.pipeline import run
from skill_health.lint.report import LintReport
from skill_health.rules._api import Finding
from skill_health.rules._load import all_rules

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*/*.yaml"))
# The loader in C, where there is one, reads the same in a tenth of the time.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
DOCUMENTS = {path: yaml.load(path.read_text("utf-8"), LOADER) for path in FILES}
CASES = [
    pytest.param(document["rule"], case, id=f"{document['rule']}-{case['id']}")
    for document in DOCUMENTS.values()
    for case in document["cases"]
]
KINDS = {"pass", "fail", "noop"}
HEADINGS = ["What", "Why", "Bad", "Good", "Fix", "Source"]


def plant(root: Path, case: dict[str, Any]) -> None:
    """Write the tree of a case below `root`."""
    for path, text in case.get("tree", {}).items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text.encode("utf-8", "surrogatepass"))
    for path, encoded in case.get("bytes", {}).items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(base64.b64decode(encoded))
    for path, target_path in case.get("links", {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).symlink_to(target_path)
    for path in case.get("executable", ()):
        (root / path).chmod(0o755)
    (root / "skill-health.toml").write_text(_toml(case.get("config", {})), "utf-8")


def _toml(config: dict[str, Any]) -> str:
    def value(item: Any) -> str:
        if isinstance(item, bool):
            return str(item).lower()
        if isinstance(item, list):
            return "[" + ", ".join(value(i) for i in item) + "]"
        if isinstance(item, dict):
            return "{" + ", ".join(f'"{k}" = {value(v)}' for k, v in item.items()) + "}"
        return str(item) if isinstance(item, (int, float)) else "'" + str(item) + "'"

    return "".join(f"{key.replace('_', '-')} = {value(item)}\n" for key, item in _dashed(config).items())


def _dashed(config: dict[str, Any]) -> dict[str, Any]:
    return {k.replace("_", "-"): _dashed(v) if isinstance(v, dict) else v for k, v in config.items()}


def since(root: Path, case: dict[str, Any], config: Config, as_of: date) -> Sequence[Finding]:
    """What is new since the earlier tree of a case, which is that of its only commit."""
    for name in case["tree"]:
        (root / name).unlink()
    plant(root, {"tree": case["earlier"]})
    for command in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "a"],
    ):
        subprocess.run(["git", *command], cwd=root, check=True)
    plant(root, case)
    result = Gate(str(root), config, as_of, jobs=1, use_cache=False).judge(read_since(str(root), "HEAD"))
    return [finding for finding, _ in result.new]


@pytest.mark.parametrize(("code", "case"), CASES)
def test_case(code: str, case: dict[str, Any], tmp_path: Path) -> None:
    plant(tmp_path, case)
    as_of = date.fromisoformat(str(case.get("as_of", "2026-11-21")))
    config = config_with(load_config(str(tmp_path)), select=(code,))
    discovery = discover([str(tmp_path)], config, str(tmp_path))
    discovery = discovery._replace(unread=tuple(UnreadFolder(*each) for each in case.get("unread", {}).items()))
    result = run(discovery, config, as_of, jobs=1, use_cache=False)
    findings = since(tmp_path, case, config, as_of) if "earlier" in case else result.findings
    if "sarif" in case:
        (tmp_path / "other.sarif").write_text(case["sarif"], "utf-8")
        report = LintReport("", "standard", result.entries, findings)
        findings = merge_sarif(report, str(tmp_path / "other.sarif"), str(tmp_path), config).findings
    found = [(f"{f.path}:{f.line}:{f.col}", f.message) for f in findings]
    expected = [line.split(" ", 1) for line in case.get("expect", [])]
    assert [place for place, _ in found] == [place for place, *_ in expected], found
    for (_, message), (_, *part) in zip(found, expected, strict=True):
        assert not part or part[0] in message
    if "severities" in case:
        assert [f.severity.value for f in result.findings] == case["severities"]
    assert (case["kind"] == "fail") == bool(expected)
    if "fixed" in case:
        write_plan(str(tmp_path), SkillFixer(Boundary(str(tmp_path)), config, unsafe=True).plan(result.entries))
        for path, text in case["fixed"].items():
            assert (tmp_path / path).read_bytes().decode("utf-8") == text


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_rule_is_complete(rule: Any) -> None:
    own = [case["kind"] for code, case in (p.values for p in CASES) if code == rule.code]
    assert set(own) == KINDS, f"{rule.code} needs passing, failing and no-op cases"
    assert re.fullmatch(r"[A-Z]{2}\d{3}", rule.code)
    assert re.findall(r"^## (.+)$", rule.doc, re.MULTILINE) == HEADINGS
    title = rule.doc.split("\n", 1)[0]
    assert title.rstrip(".")
    source = rule.doc.split("## Source\n", 1)[1].strip()
    assert source.split()[0] in {"MUST", "SHOULD", "evidence", "opinion"}
    assert re.search(r"\d{4}(-\d\d)?", source), "the source needs a dated reference"
    assert sum(f is not None for f in (rule.check or rule.check_repository, rule.check_corpus)) <= 1


def test_every_case_file_names_a_rule() -> None:
    known = {rule.code for rule in all_rules()}
    assert {document["rule"] for document in DOCUMENTS.values()} <= known
    assert all(path.stem == document["rule"] for path, document in DOCUMENTS.items())

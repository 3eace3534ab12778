"""Configuration: files, mistakes, and that the published schema says what the loader does."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from fixture_types import Write
from hypothesis import example, given
from hypothesis import strategies as st

from skill_health.config import values
from skill_health.config.load import describe_refused, holds_settings
from skill_health.config.settings import (
    Config,
    ModelPrice,
    PerPath,
    Provider,
    RuleLimits,
    config_digest,
    config_with,
    load_config,
)
from skill_health.config.values import Mistake, build, line_of
from skill_health.core.errors import UsageError
from skill_health.core.validation import SCHEMAS
from skill_health.discovery.hosts import Host

SCHEMA: dict[str, Any] = json.loads((SCHEMAS / "config.schema.json").read_text(encoding="utf-8"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

EXAMPLE = """\
profile = "plan"
select = ["FM", "links"]
extend-select = ["ST004"]
ignore = ["FM003"]
exclude = ["drafts/", "!drafts/kept"]
baseline = "skill-health-baseline.json"
fail-on = "warning"
fail-under = 0.8
per-path = [{ glob = "vendor/**", ignore = ["ALL"], select = ["LE"] }]

[severity]
FM001 = "info"

[limits]
body-lines = 400
similarity = 1

[volatility]
high = 7

[sources]
claims = ["my/claims.jsonl"]

[daily]
max-drop = 0.01
reports = "out"

[listing.claude-code]
budget-percent = 1
skill-chars = 1536
"""


def loaded(write: Write, text: str, name: str = "skill-health.toml") -> Config:
    return load_config(str(write({name: text})))


# -- files ------------------------------------------------------------------------------------------------------------


def test_no_file_is_the_defaults(write: Write) -> None:
    assert load_config(str(write({"pyproject.toml": "[project]\nname = 'skill-health'\n"}))) == Config()


def test_every_table(write: Write) -> None:
    config = loaded(write, EXAMPLE)
    assert (config.source, config.profile, config.select) == ("skill-health.toml", "plan", ("FM", "links"))
    assert (config.extend_select, config.ignore) == (("ST004",), ("FM003",))
    assert config.exclude == ("drafts/", "!drafts/kept")
    assert (config.baseline, config.fail_on, config.fail_under) == ("skill-health-baseline.json", "warning", 0.8)
    assert config.per_path == (PerPath("vendor/**", ("ALL",), ("LE",)),)
    assert config.severity == {"FM001": "info"}
    assert config.limits == RuleLimits()._replace(body_lines=400, similarity=1.0)
    assert (config.volatility.high, config.volatility.low) == (7, 365)
    assert (config.sources.claims, config.sources.prompts) == (("my/claims.jsonl",), Config().sources.prompts)
    assert (config.daily.max_drop, config.daily.reports) == (0.01, "out")
    assert config.listing == {"claude-code": {"budget_percent": 1.0, "skill_chars": 1536.0}}


def test_pyproject_says_the_same(write: Write) -> None:
    body, _, tables = EXAMPLE.partition("[severity]")
    text = "[tool.skill-health]\n" + body + ("[severity]" + tables).replace("\n[", "\n[tool.skill-health.")
    config = loaded(write, text.replace("[severity]", "[tool.skill-health.severity]"), "pyproject.toml")
    assert config.source == "pyproject.toml"
    assert config._replace(source="") == build(tomllib.loads(EXAMPLE))


def test_two_configurations(write: Write) -> None:
    root = write({"skill-health.toml": "", "pyproject.toml": "[tool.other]\nx = 'skill-health'\n"})
    assert load_config(str(root)).source == "skill-health.toml"
    write({"pyproject.toml": "[tool.skill-health]\n"})
    with pytest.raises(UsageError, match=r"two configurations: .*skill-health\.toml and \[tool\.skill-health\] in"):
        load_config(str(root))


def test_a_file_by_name(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root = write({"in/skill-health.toml": "profile = 'in'", "ci.toml": "profile = 'ci'", "x/pyproject.toml": "[tool]"})
    monkeypatch.chdir(root)
    assert (load_config("in", "ci.toml").profile, load_config("in", "ci.toml").source) == ("ci", "../ci.toml")
    for name, message in {
        "none.toml": "cannot read none.toml: No such file or directory",
        "in": "cannot read in: Is a directory",
        "x/pyproject.toml": "x/pyproject.toml: there is no table [tool.skill-health] in it",
    }.items():
        with pytest.raises(UsageError) as caught:
            load_config("in", name)
        assert str(caught.value) == message


NESTED = r" \D*TOML: \D*\bnested\b\D*"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"profile = ", r" \D*TOML: Invalid value \(at end of document\)"),
        (b"a = 1\na = 2\n", r"2:6: \D*TOML: Cannot overwrite a value"),
        (b"\xff", r" not UTF-8 text \(byte 1\)"),
        (b"x = " + b"[" * 10_000, NESTED),
        (b"x = " + b"9" * 10_000, NESTED),
    ],
)
def test_files_that_are_not_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "skill-health.toml").write_bytes(data)
    with pytest.raises(UsageError) as caught:
        load_config(str(tmp_path))
    assert re.fullmatch(rf"skill-health\.toml:{message}", str(caught.value))


def test_a_byte_order_mark_and_crlf_are_fine(tmp_path: Path) -> None:
    (tmp_path / "skill-health.toml").write_bytes(b"\xef\xbb\xbfprofile = 'plan'\r\n[limits]\r\nbody-lines = 1\r\n")
    config = load_config(str(tmp_path))
    assert (config.profile, config.limits.body_lines) == ("plan", 1)


def test_who_holds_settings(write: Write) -> None:
    root = write({"a/skill-health.toml": "", "b/pyproject.toml": "[tool.skill-health]", "c/pyproject.toml": "[tool.x]"})
    write(
        {"d/pyproject.toml": "x = 'skill-health'", "e/pyproject.toml": "[tool.skill-health", "f/pyproject.toml/x": ""}
    )
    assert [name for name in "abcdefg" if holds_settings(str(root / name))] == ["a", "b", "e"]


def test_the_table_must_be_a_table(write: Write) -> None:
    with pytest.raises(UsageError, match=r"tool\.skill-health must be a table"):
        loaded(write, "tool.skill-health = 3", "pyproject.toml")


# -- mistakes ---------------------------------------------------------------------------------------------------------


WHOLE = "must be a whole number of at least"
NEEDS = "needs the key"
AMOUNT = "must be a number of at least 0"
TEXT = 'must be a non-empty string, not ""'
STRINGS = 'must be a list of non-empty strings, such as ["one"]'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nfail_on = 'error'", '2: ... "fail_on" ... "fail-on"'),
        ("FAIL-ON = 'error'", '1: ... "FAIL-ON" ... "fail-on"'),
        ("[limts]\nbody-lines = 3", '1: ... "limts" ... "limits"'),
        ("body-lines = 3", '1: ... "body-lines" ... "limits.body-lines"'),
        ("[volatility]\nhi = 3\nmaximum = 2", '2: ... "volatility.hi" ... "volatility.high"'),
        ("[volatility]\nzzz = 3", '2: ... "volatility.zzz" ... high, low, medium'),
        ('"a\\u001bb" = 1', '"a\\x1bb"'),
        ("limits.body-lines = '3'", f'1: "limits.body-lines" {WHOLE} 1, not "3"'),
        ("[limits]\n'body-lines' = 0", f'2: "limits.body-lines" {WHOLE} 1, not 0'),
        ("limits = { positives = -1 }", f'1: "limits.positives" {WHOLE} 0, not -1'),
        ("limits = { positives = true }", f'1: "limits.positives" {WHOLE} 0, not True'),
        ("limits = 3", '1: "limits" must be a table, not 3'),
        ("fail-under = 80", '1: "fail-under" ... not 80'),
        ("fail-under = nan", '1: "fail-under" ... not nan'),
        ("fail-on = 'errors'", '1: "fail-on" ... error, warning, info, never ... not "errors"'),
        ("fail-on = []", '1: "fail-on" ... error, warning, info, never ... not []'),
        ("profile = ''", f'1: "profile" {TEXT}'),
        ("baseline = 1979-05-27", '1: "baseline" must be a string, not datetime.date(1979, 5, 27)'),
        ("select = 'FM'", f'1: "select" {STRINGS}, not "FM"'),
        ("select = ['']", f"1: \"select\" {STRINGS}, not ['']"),
        ("select = ['" + "x" * 99 + "', 1]", "xxx..."),
        ("[severity]\nFM001 = 'off'", '2: "severity.FM001" ... error, warning, info ... not "off"'),
        ("severity = 'info'", '1: "severity" must be a table, such as { FM001 = "info" }, not "info"'),
        ("per-path = {}", '1: "per-path" must be a list of tables'),
        ("per-path = [{ ignore = ['ST'] }]", f'1: "per-path[0]" {NEEDS} "glob"'),
        (
            "[[per-path]]\nglob = 'a'\n[[per-path]]\nglob = 'b'\nignored = ['ST']\n[daily]",
            '5: ... "per-path[1].ignored" ... "per-path.ignore"',
        ),
        ("[[per-path]]\nglob = ''", f'2: "per-path[0].glob" {TEXT}'),
        ("[listing]\nclaude-code = 1", '2: "listing.claude-code" must be a table of numbers, not 1'),
        ("listing = 1", '1: "listing" must be a table with a table for each host, not 1'),
        ("hosts = 1", f'1: "hosts" {STRINGS}, not 1'),
        (
            "[hosts.codex]\nbudget = 1",
            '"hosts" must be a list, such as ["claude-code", "codex"]; numbers stand in [listing.HOST]',
        ),
        ("[listing.Claude_Code]", '1: "listing.Claude_Code": a host is named in lower-case words joined by hyphens'),
        (
            "[listing.claude-code]\nskill_chars = 1",
            '2: ... "listing.claude-code.skill_chars" ... "listing.claude-code.skill-chars"',
        ),
        ("[router]\nmode = 'json'", '2: "router.mode" ... text, json_schema ... not "json"'),
        ("[router]\nreps = 0", f'2: "router.reps" {WHOLE} 1, not 0'),
        ("[router]\nproviders = 1", '2: "router.providers" must be a table with a table for each name, not 1'),
        ("[router.providers.x]\nkey-env = 'K'", f'1: "router.providers.x" {NEEDS} "protocol"'),
        (
            "[router.providers.X_Y]\nprotocol = 'openai'",
            '1: "router.providers.X_Y": a provider is named in lower-case words joined by hyphens',
        ),
        ("[router.providers.x]\nprotocol = 'openai'\ntimeout = 0", f'3: "router.providers.x.timeout" {WHOLE} 1, not 0'),
        ("[router.prices]\n'a:b' = 1", '2: "router.prices.a:b" must be a table such as'),
        ("[router.prices.'a:b']\ninput = 1", f'1: "router.prices.a:b" {NEEDS} "output"'),
        ("[router.prices.'a:b']\ninput = -1\noutput = 1", '2: "router.prices.a:b.input" must be US dollars'),
        ("[router.prices.'a:b']\ninput = 1\noutputs = 1", '3: ... "router.prices.a:b.outputs"'),
        ("[listing.x]\nbudget = true", f'2: "listing.x.budget" {AMOUNT}, not True'),
        ("[listing.x]\nbudget = inf", f'2: "listing.x.budget" {AMOUNT}, not inf'),
    ],
)
def test_mistakes(write: Write, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    monkeypatch.chdir(write({}))
    with pytest.raises(UsageError) as caught:
        loaded(write, text)
    assert all(part in str(caught.value) for part in message.split(" ... "))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_the_line_in_pyproject(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write({}))
    text = "[project]\nfail_on = 1\n\n[tool.skill-health.limits]\nbody-line = 3\n"
    with pytest.raises(UsageError) as caught:
        loaded(write, text, "pyproject.toml")
    assert str(caught.value).startswith("pyproject.toml:5: ")
    assert '"limits.body-line"' in str(caught.value) and '"limits.body-lines"' in str(caught.value)


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("", ("a",), None),
        ("b = 1", ("a",), None),
        ("b = 1\na = 1", ("a",), 2),
        ("# a = 1\n'a' = 1", ("a",), 2),
        ("x = 'a = 1'\n[a]\nb = 1", ("a", "b"), 3),
        ("[b]\na = 1\n[a] # the one\n", ("a",), 3),
        ("a = { b = 1 }", ("a", "b"), 1), ("a.b = 1", ("a", "b"), 1), ("a = [\n  1,\n]\nb = 2", ("b",), 4),
        ("[[a]]\nx = 1\n[[a]]\ny = 1", ("a", 1, "x"), 3),
        ("[[a]]\nx = 1\n[[a]]\nx = 1\n[b]\nx = 1", ("b", "x"), 6),
    ],
)  # fmt: skip
def test_lines(text: str, path: tuple[str | int, ...], line: int | None) -> None:
    assert line_of(text, path) == line


# -- the schema -------------------------------------------------------------------------------------------------------


def test_the_schema_is_one_and_describes_every_key() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)

    def check(node: Mapping[str, Any]) -> None:
        for entry in node.get("properties", {}).values():
            assert entry["description"].endswith(".")
            check(entry)
        if node.get("type") == "object":
            assert "additionalProperties" in node

    check(SCHEMA)
    check(SCHEMA["properties"]["per-path"]["items"])
    check(SCHEMA["properties"]["listing"]["additionalProperties"])
    for key in ("providers", "prices"):
        check(SCHEMA["properties"]["router"]["properties"][key]["additionalProperties"])


def test_schema_and_dataclasses_have_the_same_keys_and_defaults() -> None:
    def compare(node: Mapping[str, Any], value: Any) -> None:
        known = {name.replace("_", "-"): default for name, default in value._asdict().items()}
        known = {
            name: default for name, default in known.items() if name not in ("source", "refused", "layout", "code")
        }
        assert node["properties"].keys() == known.keys()
        for key, default in known.items():
            entry = node["properties"][key]
            if "properties" in entry:
                compare(entry, default)
            else:
                assert entry["default"] == (list(default) if isinstance(default, tuple) else default), key

    compare(SCHEMA, Config())
    compare(SCHEMA["properties"]["per-path"]["items"] | {"properties": _per_path_properties()}, PerPath(""))


@pytest.mark.parametrize(("key", "value"), [("providers", Provider("")), ("prices", ModelPrice(0, 0))])
def test_named_tables_have_the_keys_and_defaults_of_their_tuples(key: str, value: Any) -> None:
    table = SCHEMA["properties"]["router"]["properties"][key]["additionalProperties"]
    known = {name.replace("_", "-"): default for name, default in value._asdict().items()}
    assert table["properties"].keys() == known.keys()
    wanted = {name: default for name, default in known.items() if name not in table["required"] and default is not None}
    assert {name: entry["default"] for name, entry in table["properties"].items() if "default" in entry} == wanted


def test_what_a_router_is_told() -> None:
    tables = {
        "models": ["local:tiny"], "providers": {"local": {"protocol": "openai", "base-url": "http://127.0.0.1:1"}},
        "prices": {"local:tiny": {"input": 1, "output": 0, "cache-write": 2}},
    }  # fmt: skip
    found = build({"router": tables}).router
    assert found.models == ("local:tiny",)
    assert found.providers == {"local": Provider("openai", "http://127.0.0.1:1")}
    assert found.prices == {"local:tiny": ModelPrice(1.0, 0.0, None, 2.0)}


def _per_path_properties() -> dict[str, Any]:
    properties = SCHEMA["properties"]["per-path"]["items"]["properties"]
    return {**properties, "glob": {**properties["glob"], "default": ""}}


def test_the_numbers_of_hosts_are_those_of_the_simulator() -> None:
    numbers = {
        name.replace("_", "-") for name, default in Host("x")._asdict().items() if isinstance(default, (int, float))
    }
    assert set(values.HOST_NUMBERS) == numbers
    assert SCHEMA["properties"]["listing"]["additionalProperties"]["properties"].keys() == numbers


def test_the_example_is_valid() -> None:
    VALIDATOR.validate(tomllib.loads(EXAMPLE))


def agree(settings_: dict[str, Any]) -> None:
    """The loader takes what the schema takes, and nothing else."""
    try:
        build(settings_)
        accepted = True
    except Mistake:
        accepted = False
    assert accepted == VALIDATOR.is_valid(settings_), settings_


KEYS = st.sampled_from(
    sorted(
        {*values.dotted_keys()}
        | {"router.providers.x", "router.providers.x.timeout", "router.prices.a:b", "router.providers.X.timeout"}
        | {"fail_on", "zzz", "listing.x.budget", "listing.x.y", "listing.X_Y.budget", "severity.FM"}
    )
)
TEXTS = st.sampled_from(["", "x", "error", "info", "never", "off", "FM001"])
NUMBERS = st.one_of(
    st.integers(-2, 3), st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0, -0.5, 1e15, 1e16, 10**400]), st.floats(-1, 2)
)
VALUES = st.recursive(
    st.one_of(st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2),
        st.dictionaries(
            st.sampled_from(["glob", "ignore", "select", "FM001", "budget", "claude-code", "high"]), inner, max_size=2
        ),
    ),
    max_leaves=4,
)
GLOBS = st.lists(st.fixed_dictionaries({}, optional={"glob": TEXTS, "ignore": VALUES, "globs": TEXTS}), max_size=2)


@given(st.lists(st.tuples(KEYS, VALUES), max_size=3))
@example([("per-path", [{"glob": "x"}])])
@example([("per-path", [{"glob": ""}])])
@example([("per-path", [{"ignore": []}])])
@example([("listing", {"a-b": {"budget": 10**15}})])
@example([("listing", {"a-": {}})])
@example([("limits.body-lines", 3.0)])
@example([("limits.body-lines", 3.5)])
@example([("router.providers.x", {"protocol": ""})])
@example([("router.providers.x", {"protocol": "", "timeout": 1.0})])
@example([("router.prices.a:b", {"input": 1, "output": 10**400})])
@example([("router.prices.a:b", {"input": 0, "output": 0.5, "cached": 1})])
def test_schema_and_loader_agree(pairs: list[tuple[str, Any]]) -> None:
    tree: dict[str, Any] = {}
    for dotted, value in pairs:
        *tables, key = dotted.split(".")
        node = tree
        for table in tables:
            node = node.setdefault(table, {})
            if not isinstance(node, dict):
                return
        node[key] = value
    agree(tree)


@given(st.fixed_dictionaries({}, optional={"per-path": GLOBS, "severity": st.dictionaries(TEXTS, TEXTS, max_size=2)}))
def test_schema_and_loader_agree_on_tables(tree: dict[str, Any]) -> None:
    agree(tree)


@given(st.sampled_from(sorted(values.dotted_keys())), VALUES)
def test_what_is_accepted_has_the_type_of_its_field(dotted: str, value: Any) -> None:
    *tables, key = dotted.split(".")
    try:
        config = build({tables[0]: {key: value}} if tables else {key: value})
    except Mistake:
        return
    node: Any = getattr(config, tables[0]) if tables else config
    default: Any = getattr(Config(), tables[0]) if tables else Config()
    name = key.replace("-", "_")
    assert type(getattr(node, name)) is type(getattr(default, name))
    hash(config_digest(config))


# -- digest and overrides ---------------------------------------------------------------------------------------------


def test_the_digest_is_of_what_is_in_force() -> None:
    digest = config_digest(Config())
    assert len(digest) == 32 and int(digest, 16) >= 0
    assert config_digest(Config(source="skill-health.toml")) == digest
    assert config_digest(build({"limits": {"body-lines": 500, "similarity": 0.75}, "severity": {}})) == digest
    assert config_digest(build({"severity": {"A": "info", "B": "error"}})) == config_digest(
        build({"severity": {"B": "error", "A": "info"}})
    )
    assert config_digest(build({"fail-under": 1})) == config_digest(build({"fail-under": 1.0}))


def test_every_setting_changes_the_digest() -> None:
    changed = [
        build(settings_)
        for settings_ in (
            *({key: ["x"]} for key in ("select", "extend-select", "ignore", "exclude")),
            {"profile": "x"}, {"severity": {"A": "info"}}, {"per-path": [{"glob": "x"}]}, {"baseline": "x"},
            {"fail-on": "info"}, {"fail-under": 0.5}, {"listing": {"x": {"budget": 1}}}, {"hosts": ["codex"]}, {"daily": {"reports": "x"}},
            *({"limits": {key: 1}} for key in values.keys_of(RuleLimits)),
            *({"sources": {key: []}} for key in Config().sources._asdict()),
            {"volatility": {"high": 1}}, {"daily": {"window": 1}},
        )
    ]  # fmt: skip
    assert len({config_digest(config) for config in [Config(), *changed]}) == len(changed) + 1
    # What a router is asked is no setting of the linter: two daily runs stay comparable.
    assert config_digest(build({"router": {"reps": 9}})) == config_digest(Config())


def test_the_digest_is_the_same_in_every_process() -> None:
    code = (
        "from skill_health.config.settings import *; print(config_digest(Config(severity={'B': 'info', 'A': 'error'})))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], check=True, capture_output=True, text=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert outputs == {config_digest(Config(severity={"A": "error", "B": "info"})) + "\n"}


def test_overrides() -> None:
    config = build({"select": ["FM"], "fail-on": "info"})
    assert config_with(config) == config_with(config, select=None) == config
    changed = config_with(config, select=["ST"], fail_on="error", fail_under=0.0)
    assert (changed.select, changed.fail_on, config.select) == (("ST",), "error", ("FM",))
    assert config_with(config, select=()).select == ()
    with pytest.raises((ValueError, TypeError)):  # Python 3.13 raises the latter
        config_with(config, no_such_field=1)


def test_reading_a_configuration_needs_no_schema_library(write: Write) -> None:
    root = write({"skill-health.toml": EXAMPLE})
    code = (
        "import sys; from skill_health.config.settings import load_config; load_config(sys.argv[1]);"
        "print(*sorted({'jsonschema', 'difflib', 'tomllib', 'typing_extensions', 'json'} & {*sys.modules}))"
    )
    output = subprocess.run([sys.executable, "-c", code, str(root)], check=True, capture_output=True, text=True).stdout
    assert output == "tomllib\n"


PROVIDER = (
    '[router.providers.x]\nprotocol = "openai"\nbase-url = "https://example.com"\nkey-env = "AWS_SECRET_ACCESS_KEY"\n'
)
PRICE = '[router.prices."openai:m"]\ninput = 0\noutput = 0\n'
AGENT = '[effectiveness]\nacp-command = ["sh", "-c", "touch sprung"]\nacp-env = { A = "b" }\nsandbox = "none"\n'
AGENT += 'network = "all"\nallow-host = ["a.example"]\n'


@pytest.mark.parametrize("sandbox", ["none", "harbor:daytona", "harbor:package.module:Class"])
@pytest.mark.parametrize("file", ["skill-health.toml", "pyproject.toml"])
def test_where_keys_and_money_go_is_not_for_a_repository_to_say(tmp_path: Path, file: str, sandbox: str) -> None:
    text = PROVIDER + PRICE + AGENT.replace('"none"', f'"{sandbox}"')
    table = "[tool.skill-health." if file == "pyproject.toml" else "["
    (tmp_path / file).write_text(
        f"profile = 'plan'\n{text}" if table == "[" else text.replace("\n[", f"\n{table}").replace("[", table, 1)
    )
    config = load_config(str(tmp_path))
    assert (config.router.providers, config.router.prices) == ({}, {})
    own = config.effectiveness
    assert (own.acp_command, own.acp_env, own.sandbox, own.network, own.allow_host) == ((), {}, "", "gateway", ())
    assert [line.rpartition(": ")[2] for line in config.refused] == [
        "router.providers", "router.prices", "effectiveness.acp-command", "effectiveness.acp-env", "effectiveness.network",
        "effectiveness.allow-host", "effectiveness.sandbox",
    ]  # fmt: skip
    first = describe_refused(config)[0]
    assert f"{file}:" in first and "config.toml, or name this file with --config" in first
    named = load_config(str(tmp_path), str(tmp_path / file))
    assert named.router.providers and named.router.prices and named.effectiveness.acp_command and not named.refused


def test_the_users_own_settings_hold_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "own"))
    (tmp_path / "own/skill-health").mkdir(parents=True)
    (tmp_path / "own/skill-health/config.toml").write_text(PROVIDER + PRICE + AGENT)
    (tmp_path / "skill-health.toml").write_text(
        '[router]\nreps = 7\n[router.prices."openai:m"]\ninput = 0\noutput = 0\n'
    )
    config = load_config(str(tmp_path))
    assert config.router.providers["x"].key_env == "AWS_SECRET_ACCESS_KEY" and config.router.reps == 7
    assert config.effectiveness.acp_command == ("sh", "-c", "touch sprung") and config.effectiveness.sandbox == "none"
    assert (config.effectiveness.network, config.effectiveness.allow_host) == ("all", ("a.example",))
    assert [*config.router.prices] == ["openai:m"] and len(config.refused) == 1
    assert config_digest(config) == config_digest(Config())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('profile = "plan"\n', 'config.toml:1: "profile" is for a repository to say, in its skill-health.toml'),
        ("[router]\nreps = 2\n", 'config.toml:2: "router.reps" is for a repository to say'),
        ("[router.providers.x]\nprotocol = 1\n", '2: "router.providers.x.protocol" must be a string'),
        ("nothing = 1\n", '1: unknown key "nothing"'),
    ],
)
def test_what_changes_findings_is_not_the_users_own(
    text: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two people who look at the same repository see the same."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "skill-health").mkdir()
    (tmp_path / "skill-health/config.toml").write_text(text)
    with pytest.raises(UsageError, match=re.escape(message)):
        load_config(str(tmp_path))


OUTSIDE = [
    "/etc/passwd", "../outside", "a/../../b", "..", "~/x", "C:\\x", "\\\\host\\share", "a\\..\\..\\b", "a\u202eb",
]  # fmt: skip


@pytest.mark.parametrize("value", OUTSIDE)
@pytest.mark.parametrize(
    "key",
    [
        "baseline", "profile", "daily.reports", "sources.claims", "sources.mechanisms", "sources.prompts",
        "sources.tasks",
    ],
)  # fmt: skip
def test_a_repository_names_only_what_lies_inside_it(key: str, value: str, tmp_path: Path) -> None:
    table, _, name = key.rpartition(".")
    shown = json.dumps(value)
    text = f"[{table}]\n" * bool(table) + f"{name} = {f'[{shown}]' if table == 'sources' else shown}\n"
    (tmp_path / "skill-health.toml").write_text(text)
    with pytest.raises(UsageError) as error:
        load_config(str(tmp_path))
    assert f'"{key}" must be a path inside the repository, not ' in str(error.value)
    assert str(error.value).isprintable()
    assert load_config(str(tmp_path), str(tmp_path / "skill-health.toml"))


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("value", ["a\x00b", "a\x1b[2Jb", "a\nb", "a\x7fb"])
@pytest.mark.parametrize("key", ["baseline", "profile", "daily.reports", "sources.claims", "exclude"])
def test_no_setting_holds_control_characters(key: str, value: str, named: bool, tmp_path: Path) -> None:
    """Not even in a file that the user names: there is no such path, and a terminal would act on it."""
    table, _, name = key.rpartition(".")
    shown = json.dumps(value)
    many = f"[{shown}]" if key in ("sources.claims", "exclude") else shown
    path = tmp_path / "skill-health.toml"
    path.write_text(f"[{table}]\n" * bool(table) + f"{name} = {many}\n".replace("\x7f", "\\u007f"))
    with pytest.raises(UsageError) as error:
        load_config(str(tmp_path), str(path) if named else None)
    assert f'"{key}" must be text without control characters, not ' in str(error.value)
    assert str(error.value).isprintable()


@pytest.mark.parametrize("value", ["reports", "a/b", "a..b", "...", ".reports", "docs/~old", "sub folder/é"])
def test_what_lies_inside_may_be_called_anything(value: str, tmp_path: Path) -> None:
    (tmp_path / "skill-health.toml").write_text(f"[daily]\nreports = {json.dumps(value)}\n")
    assert load_config(str(tmp_path)).daily.reports == value

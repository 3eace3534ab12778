"""Names of routers: found by looking, imported when named, refused with the nearest names; and what `models` says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType

import pytest

from skill_health.bench import providers
from skill_health.cli import main
from skill_health.config.settings import Provider, RouterSettings
from skill_health.core import extras
from skill_health.core.errors import UsageError
from skill_health.core.extras import installation
from skill_health.router.records import Catalogue, ListedSkill
from skill_health.router.routers import _load
from skill_health.router.routers._load import available, open_choice, resolve

ROUTING = RouterSettings(
    providers={
        "house": Provider("openai", "http://127.0.0.1:1/v1"),
        "gemini": Provider("openai", "http://127.0.0.1:2/v1"),
        "broken": Provider("opnai"),
        "no-protocol": Provider("lexical:tfidf"),
    }
)
HERE, PROVIDERS = Path(_load.__file__).parent, Path(providers.__file__).parent


def test_every_module_is_listed_and_says_what_it_is() -> None:
    infos = available()
    names = {info.name for info in infos}
    assert names >= {"lexical", "lexical:bm25", "lexical:overlap", "lexical:tfidf"}
    assert names >= {"embed:minilm", "hybrid", "scripted"}
    of_files = [*HERE.glob("[a-z]*.py"), *PROVIDERS.glob("[a-z]*.py")]
    assert len(names) == len(infos) == len(of_files) + 1  # the simulator is no part of the package
    for info in infos:
        assert info.kind in ("local", "provider", "simulated")
        assert info.title and not info.title.endswith(".") and len(info.title) <= 100
        assert info.extra in ("", "bench", "embed")
    kinds = [info.kind for info in infos]
    assert kinds == sorted(kinds, key=["local", "simulated", "provider"].index)


@pytest.mark.parametrize("info", available(), ids=lambda info: info.name)
def test_a_router_of_an_extra_names_what_it_imports(info: _load.RouterInfo) -> None:
    module = resolve(f"{info.name}:m" if info.kind == "provider" else info.name, RouterSettings()).module
    assert bool(info.extra) == bool(module.IMPORTS)


GOOD = [
    ("lexical:bm25", "lexical_bm25", ""),
    ("lexical", "lexical", ""),
    ("scripted", "scripted", ""),
    ("scripted:skill=0.8,bias=0.1", "scripted", "skill=0.8,bias=0.1"),
    ("openai:some-model", "_provider", "some-model"),
    ("openai:vendor/model:8b", "_provider", "vendor/model:8b"),
    ("openai:responses", "_provider", "responses"),
    ("house:m:8b", "_provider", "m:8b"),
    ("gemini:m", "_provider", "m"),
]


@pytest.mark.parametrize(("spec", "stem", "model"), GOOD)
def test_a_name_finds_its_module(spec: str, stem: str, model: str) -> None:
    choice = resolve(spec, ROUTING)
    assert (choice.spec, choice.module.__name__, choice.model) == (spec, f"skill_health.router.routers.{stem}", model)
    head = spec.partition(":")[0]
    assert choice.provider == ROUTING.providers.get(head)
    assert choice.kind == choice.module.KIND
    spoken = choice.provider.protocol if choice.provider else head
    assert (choice.protocol.name if choice.protocol else "") == (spoken if choice.kind == "provider" else "")


BAD = [
    ("lexical:bm26", "'lexical:bm26'; did you mean lexical:bm25"),
    ("lexical:", "did you mean lexical:bm25 or lexical:overlap or lexical:tfidf?"),
    ("lexical_bm25", "did you mean lexical:bm25"),
    ("openia:m", "did you mean openai"),
    ("hause:m", "did you mean house"),
    ("openai_responses:m", "did you mean openai-responses"),
    ("_load", "'_load'"),
    ("_api:x", "'_api:x'"),
    ("zzzz", "`skill-health router models`"),
    ("", "''"),
    ("../lexical_bm25", "'../lexical_bm25'; "),
    ("x" * 100_000, "'xxx"),
    ("openai", "'openai': which model? Write openai:MODEL"),
    ("openai:", "'openai:': "),
    ("openai: ", "openai:MODEL"),
    ("house", "house:MODEL"),
    ("hybrid:x", "'hybrid:x': hybrid takes no model; write hybrid"),
    ("hybrid:", "write hybrid"),
    ("lexical:bm25:x", "'lexical:bm25:x'; did you mean lexical:bm25"),
    ("broken:m", "\"router.providers.broken.protocol\": there is no protocol 'opnai'; take anthropic, "),
    ("no-protocol:m", "'lexical:tfidf'"),
]


@pytest.mark.parametrize(("spec", "message"), BAD, ids=[spec[:20] or "empty" for spec, _ in BAD])
def test_a_wrong_name_is_refused_with_the_nearest_ones(spec: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve(spec, ROUTING)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("spec", "missing", "extra"),
    [
        ("lexical:bm25", "bm25s", "bench"),
        ("embed:minilm", "onnxruntime", "embed"),
        ("hybrid", "tokenizers", "embed"),
    ],
)
def test_a_missing_extra_is_named_with_the_command_that_installs_it(
    spec: str, missing: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from skill_health.router.lexicon.embedder import load_embedder

    load_embedder.cache_clear()
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(UsageError) as caught:
        open_choice(resolve(spec, RouterSettings()), Catalogue((ListedSkill("a", "b"),)))
    assert str(caught.value) == (f"'{spec}' needs the extra {extra} ({missing}): {installation(extra)}")


def test_a_bug_of_ours_is_no_missing_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    choice = resolve("lexical:bm25", RouterSettings())

    def forgetful(setup: object) -> ModuleType:
        from skill_health.router import no_such_module  # type: ignore[attr-defined]

        return no_such_module  # type: ignore[no-any-return]

    monkeypatch.setattr(choice.module, "open_router", forgetful)
    with pytest.raises(ImportError):
        open_choice(choice, Catalogue(()))
    monkeypatch.setattr(choice.module, "open_router", lambda setup: __import__("skill_health.router.no_such_module"))
    with pytest.raises(ModuleNotFoundError):
        open_choice(choice, Catalogue(()))


@pytest.mark.slow
def test_naming_one_router_imports_no_other() -> None:
    code = """
import sys
from skill_health.router.routers._load import resolve
from skill_health.config.settings import RouterSettings
resolve("lexical:tfidf", RouterSettings())
print(sorted(name for name in sys.modules if name.startswith("skill_health.router.routers.") and "._" not in name))
print(sorted({"numpy", "httpx", "asyncio", "bm25s", "importlib.metadata"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["['skill_health.router.routers.lexical_tfidf']", "[]"], done.stderr


CONFIG = """
[router.providers.house]
protocol = "openai"
base-url = "http://127.0.0.1:1/v1"

[router.providers.openai]
protocol = "openai"
base-url = "https://example.com/v1"
key-env = "HOUSE_KEY"

[router.providers.leaky]
protocol = "openai"
base-url = "https://user:s3cret-pass@example.com/v1"
"""


@pytest.fixture
def told(
    write: Callable[[Mapping[str, str]], Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    """What `models` prints where three providers are configured and one key is set."""
    monkeypatch.chdir(write({"skill-health.toml": CONFIG}))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-s3cret")
    for name in ("GEMINI_API_KEY", "HOUSE_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def call(*options: str) -> str:
        assert main(["router", "models", "--config", "skill-health.toml", *options]) == 0
        return capsys.readouterr().out

    return call


def test_models_lists_what_there_is_and_what_is_lacking(told: Callable[..., str]) -> None:
    rows = {row["name"]: row for row in json.loads(told("--format", "json"))}
    assert rows["lexical:tfidf"]["needs"] == [] == rows["lexical:tfidf"]["lacks"]
    assert rows["lexical:bm25"]["needs"] == ["skill-health[bench]"]
    assert rows["anthropic:MODEL"]["needs"] == ["skill-health[bench]", "ANTHROPIC_API_KEY"]
    assert rows["anthropic:MODEL"]["lacks"] == []
    assert rows["gemini:MODEL"]["lacks"] == ["GEMINI_API_KEY"]
    assert rows["house:MODEL"]["lacks"] == [] and rows["house:MODEL"]["title"].endswith("at http://127.0.0.1:1/v1")
    assert (rows["openai:MODEL"]["configured"], rows["openai:MODEL"]["lacks"]) == (True, ["HOUSE_KEY"])
    assert rows["leaky:MODEL"]["lacks"] == ["base-url"]
    assert rows["scripted"]["kind"] == "simulated"


def test_models_is_a_table_without_secrets(told: Callable[..., str]) -> None:
    text = told()
    assert "s3cret" not in text + told("--format", "json")
    head, *lines = text.splitlines()
    assert head.split() == ["NAME", "KIND", "NEEDS", "STATE", "WHAT", "IT", "IS"]
    assert len(lines) == len(available()) + 2
    state = head.index("STATE")
    assert {line[state:].partition("  ")[0] for line in lines} >= {"ready", "lacks GEMINI_API_KEY", "lacks base-url"}


def test_a_missing_library_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    missing = {info.name: (info.installed, info.missing) for info in available()}
    assert missing["lexical:bm25"] == (False, ("bm25s",))
    assert missing["lexical:tfidf"] == (True, ())

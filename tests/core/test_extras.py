"""What is missing is named with the command that installs it, from where this installation came."""

from __future__ import annotations

import json
import tomllib
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import pytest

from skill_health.core import extras
from skill_health.core.errors import UsageError
from skill_health.core.extras import MODULES, extra_of, installation, missing_modules, require_modules


class Installed:
    def __init__(self, text: str | None) -> None:
        self.text = text

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return self.text


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (None, "pip install 'skill-health[bench]'"),
        ({"url": "file:///a%20b/clone", "dir_info": {}}, "pip install '/a b/clone[bench]'"),
        ({"url": "file:///clone", "dir_info": {"editable": True}}, "pip install -e '/clone[bench]'"),
        ({"url": "file:///x/skill_health-1-py3.whl", "archive_info": {}}, "pip install '/x/skill_health-1-py3.whl[bench]'"),
        (
            {"url": "https://git.example/o/r.git", "vcs_info": {"vcs": "git", "commit_id": "0123abc"}},
            "pip install 'skill-health[bench] @ git+https://git.example/o/r.git@0123abc'",
        ),
        (
            {"url": "https://example.com/x.whl", "archive_info": {}},
            "pip install 'skill-health[bench] @ https://example.com/x.whl'",
        ),
    ],
)  # fmt: skip
def test_an_extra_comes_from_where_the_rest_came(monkeypatch: pytest.MonkeyPatch, origin: object, command: str) -> None:
    found = Installed(None if origin is None else json.dumps(origin))
    monkeypatch.setattr(metadata, "distribution", lambda name: found)
    assert installation("bench") == command


def test_a_folder_that_was_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert installation("report") == "pip install '.[report]' in the checkout"


def test_what_is_missing_is_said_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "scipy" else find_spec(name))
    assert missing_modules(("json", "scipy")) == ("scipy",)
    require_modules("this", ("json",))
    with pytest.raises(UsageError) as refused:
        require_modules("a study", ("json", "scipy"))
    assert str(refused.value) == f"a study needs the extra bench (scipy): {installation('bench')}"


def test_every_extra_brings_what_is_said_of_it(checkout: Path) -> None:
    declared = tomllib.loads((checkout / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    for extra, modules in MODULES.items():
        assert {extra_of(module) for module in modules} == {extra}
        assert extra in declared
        for module in modules:
            assert find_spec(module), module
    assert extra_of("scipy.stats") == "bench" and extra_of("yaml") == ""
    for extra in ("bench", "embed"):
        names = {line.partition(">")[0].partition("=")[0] for line in declared[extra]}
        assert {"numpy", "scipy"} <= names

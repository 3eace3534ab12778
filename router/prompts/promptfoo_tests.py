"""promptfoo's YAML: tests with variables and the assertions skill-used and not-skill-used.

The request is the variable that is called like one (prompt, query, question, user_prompt), else the only text among
them. What else a test asserts, scripts above all, says nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skill_health.registries.records import BadRecord
from skill_health.registries.strict_yaml import YamlItems, read_yaml
from skill_health.router.prompts._api import FileShape, Found, Known, PromptFile
from skill_health.router.prompts._look import TEXT_KEYS
from skill_health.router.prompts._rows import row_prompt

TITLE = "promptfoo tests"
_USED, _NOT_USED = "skill-used", "not-skill-used"


def fits(look: FileShape) -> bool:
    """YAML with tests, or a list of them, that have variables and assertions."""
    ours = {"vars", "assert"} <= look.inner and ("tests" in look.keys or not look.keys)
    return look.kind == "yaml" and ours


def read(file: PromptFile, known: Known) -> Iterator[Found]:
    """The tests that say which skill must be used, or must not; any other is a bad record."""
    data = read_yaml(file.raw)
    tests = data.get("tests") if isinstance(data, Mapping) else data
    shared = data.get("defaultTest") if isinstance(data, Mapping) else None
    if not isinstance(tests, YamlItems):
        yield _bad(file, 1, "the tests are in other files", "Name those files with --prompts.")
        return
    for line, test in zip(tests.lines, tests, strict=True):
        yield _prompt(file, line, test, shared, known)


def _prompt(file: PromptFile, line: int, test: Any, shared: Any, known: Known) -> Found:
    if not isinstance(test, Mapping) or not isinstance(variables := test.get("vars"), Mapping):
        return _bad(file, line, "a test without variables", "Put the request into `vars`.")
    texts = {key: value for key, value in variables.items() if isinstance(value, str)}
    name = next((key for key in sorted(TEXT_KEYS) if key in texts), next(iter(texts)) if len(texts) == 1 else "")
    if not name:
        return _bad(file, line, "the request is not to be found among the variables", "Call the variable `prompt`.")
    used, unused = _skills(test, shared, _USED), _skills(test, shared, _NOT_USED)
    if not used and not unused:
        return _bad(file, line, "no assertion skill-used or not-skill-used names a skill", "Add one.")
    row: dict[str, Any] = {"prompt": texts[name], "reason": _text(test.get("description")), "rejected": unused}
    return row_prompt(
        file, line, row | ({"expected_skills": used} if used else {"skill": unused[0], "should_trigger": False}), known
    )


def _skills(test: Mapping[str, Any], shared: Any, kind: str) -> list[str]:
    """The skills that assertions of this kind name."""
    found: list[str] = []
    for holder in (test, shared if isinstance(shared, Mapping) else {}):
        asserted = holder.get("assert")
        for each in asserted if isinstance(asserted, list) else ():
            if isinstance(each, Mapping) and each.get("type") == kind:
                value = each.get("value")
                value = value.get("name") if isinstance(value, Mapping) else value
                found += [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
    return list(dict.fromkeys(found))


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _bad(file: PromptFile, line: int, message: str, advice: str) -> BadRecord:
    return BadRecord(file.path, line, 1, message, advice, "prompts")

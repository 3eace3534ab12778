"""A Python file that the user lets run, as a rule. What goes wrong in it is a finding, not a crash."""

from __future__ import annotations

import json
import posixpath
import sys
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType, TracebackType
from typing import Any

from skill_health.config.custom_code import describe_name
from skill_health.config.settings import CodeFile
from skill_health.core.errors import UsageError
from skill_health.rules._api import CUSTOM, Context, Corpus, CorpusContext, Hit, Rule, Severity
from skill_health.skill.model import Skill, Span


def load_code(file: CodeFile) -> Rule:
    """The rule of a file, which has the names of a rule module of ours (see `_api.py`); CODE and a check are needed.

    A file that the user does not let run is a rule that checks nothing. Raises UsageError where a file cannot be loaded
    or lacks what it needs.
    """
    name = describe_name(file.path)
    plain = Rule(
        file.code,
        name,
        CUSTOM,
        Severity.WARNING,
        "",
        True,
        f"A Python rule that is not run\n\n## Source\n{file.path}\n",
    )
    if file.text is None:
        return plain
    stem = posixpath.basename(file.path).removesuffix(".py")
    module = ModuleType(f"skill_health_custom_{stem}")
    module.__file__ = file.path
    sys.modules[module.__name__] = module
    try:
        exec(compile(file.text, file.path, "exec", dont_inherit=True), vars(module))
    except SyntaxError as error:
        raise UsageError(f"{file.path}:{error.lineno}: not valid Python: {error.msg}") from None
    except (Exception, SystemExit) as error:
        place = _place(error, file.path)
        raise UsageError(f"{place}: the custom rule cannot be loaded: {_said(error)}") from None
    severity = getattr(module, "SEVERITY", Severity.WARNING)
    if getattr(module, "CODE", "") != file.code:
        raise UsageError(f'{file.path}: CODE must be said once, as a text: CODE = "{file.code}"')
    if not isinstance(severity, str) or severity not in [each.value for each in Severity]:
        raise UsageError(f"{file.path}: SEVERITY must be one of error, warning, info")
    names = {name: getattr(module, name, None) for name in ("check", "check_corpus", "collect")}
    if not callable(names["check"]) and not callable(names["check_corpus"]):
        raise UsageError(f"{file.path}: it needs a function check(skill, context) or check_corpus(corpus, context)")
    doc = (module.__doc__ or "A custom rule").strip()
    rule = plain._replace(
        severity=Severity(severity), since=str(getattr(module, "SINCE", "")),
        default=bool(getattr(module, "DEFAULT", True)), doc=f"{doc}\n\n## Source\n{file.path}, a Python rule of this repository.\n",
        redact=bool(getattr(module, "REDACT", False)),
    )  # fmt: skip
    given = {key: value if callable(value) else None for key, value in names.items()}
    return rule._replace(
        check=given["check"] and _guarded(given["check"], rule, file.path),
        check_corpus=given["check_corpus"] and _guarded_corpus(given["check_corpus"], rule, file.path),
        collect=given["collect"] and _guarded_collect(given["collect"]),
    )


def _guarded(check: Callable[..., Any], rule: Rule, path: str) -> Callable[[Skill, Context], Iterator[Hit]]:
    def run(skill: Skill, context: Context) -> Iterator[Hit]:
        yield from _run(lambda: check(skill, context), rule, path, None)

    return run


def _guarded_corpus(
    check: Callable[..., Any], rule: Rule, path: str
) -> Callable[[Corpus, CorpusContext], Iterator[Hit]]:
    def run(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
        first = next((skill.path for skill in corpus.wanted()), "")
        yield from _run(lambda: check(corpus, context), rule, path, first)

    return run


def _guarded_collect(collect: Callable[..., Any]) -> Callable[[Skill, Context], Any]:
    """What is collected, as the cache gives it back; None where that fails."""

    def run(skill: Skill, context: Context) -> Any:
        try:
            return json.loads(json.dumps(collect(skill, context)))
        except (Exception, SystemExit):
            return None

    return run


def _run(check: Callable[[], Iterable[Any] | None], rule: Rule, path: str, where: str | None) -> Iterator[Hit]:
    """The hits of a check, with one that says what went wrong in the place of what comes after that."""
    try:
        for hit in check() or ():
            if not _is_sound(hit):
                raise TypeError(
                    f"it reports {type(hit).__name__} {hit!r:.60}, which is no Hit with a Span and a message"
                )
            yield hit
    except (Exception, SystemExit) as error:
        message = f"custom rule {rule.code} failed at {_place(error, path)}: {_said(error)}"
        yield Hit(Span(1, 1), message, f"Correct {path}.", where, severity=Severity.ERROR)


def _is_sound(hit: object) -> bool:
    if not isinstance(hit, Hit) or not isinstance(hit.span, Span) or not isinstance(hit.message, str):
        return False
    numbers = all(type(number) is int and number >= 0 for number in hit.span) and hit.span.line > 0
    texts = isinstance(hit.help, str) and isinstance(hit.path, str | None)
    return numbers and texts and isinstance(hit.severity, Severity | None) and all(isinstance(p, str) for p in hit.also)


def _place(error: BaseException, path: str) -> str:
    """The last line of the file that an exception came through."""
    trace: TracebackType | None = error.__traceback__
    line = 0
    while trace:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{path}:{line}" if line else path


def _said(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__

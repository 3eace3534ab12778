"""Whether a figure is asserted as a fact, or is a parameter, a threshold, a goal or an example.

An assertion needs a positive sign in its own clause (a comparison, a finite verb of change or effect, a share of
something with a verb, a study, a benchmark) and no sign to the contrary in its sentence.
"""

from __future__ import annotations

from skill_health.rules.claims import _words as w
from skill_health.rules.claims._figures import ClaimedFigure, benchmark
from skill_health.rules.claims._words import either, pattern

WINDOW = 240


_COMPARISON = (
    r"[*_\s]*(?!or\s)(?:(?:significantly\s+|substantially\s+)?[*_]*"
    rf"(?P<word>{either(w.COMPARED)})|(?!of\s)(?:\w[\w-]*\s+){{0,2}}[*_]*{either(w.CHANGE)})\b"
    r"(?!\s+than\s+(?:expected|planned|estimated|usual|baseline|needed))"
)
_COPULA = rf"\b{either(w.COPULA)}\b"
_ARTICLE = r"\b(?:an?|any|the|this|that|another)\s+[~≈*_]*(?:roughly\s+|about\s+|approximately\s+)?$"
_VERB = (
    rf"(?:\b(?P<finite>{either(w.EFFECT)})|(?P<before>[\w'’)*]+)\s+(?P<base>{either(w.BASE)}))\b"
    r"(?P<between>[^.,;:?!|()]{0,48})$"
)
_AMOUNT = either(w.AMOUNT)
_NOT_AN_AMOUNT = rf"\b{either(w.NOT_AN_AMOUNT)}\b"
_BREAK = rf"\b{either(w.BREAK)}\b"
_SHARE = rf"[*_]*\s+of\s+(?:[\w'’/-]+\s+){{1,6}}?{either(w.SHARE_VERBS)}\b"
_OFTEN = r"[*_]*\s+of\s+(?:the\s+)?(?:time|cases)\b"
_STUDY = rf"\b{either(w.STUDIES)}\s+(?:\w+\s+){{0,4}}?{either(w.FINDS)}\b|\baccording to\b"
_CONTRARY = rf"\b(?:{either(w.CONTRARY)}\b|{either(w.LABELS)}[*_]*\s*:)"
_CONTRARY_AFTER = rf"\b{either(w.CONTRARY_AFTER)}\b"
_HYPOTHETICAL = r"(?:^|[:—]\s)[\W_]*an?\s+(?:[\w-]+\s+){1,3}?(?:\w+ing|that|which|who|whose)\b"
_THRESHOLD = rf"(?:[<>≤≥=±]|\b{either(w.THRESHOLD)})\s*[~≈*_]*$"
_ORDER = rf"^[\W_]*(?:step \d+\W+)?{either(w.ORDERS)}\b"
_QUOTES = r"[\"“”]"


def asserted(plain: str, figure: ClaimedFigure) -> tuple[int, int] | None:
    """The bounds of the sentence that asserts `figure` in `plain`; None if none does."""
    start, end = sentence(plain, figure.start, figure.end)
    left, right = plain[start : figure.start], plain[figure.end : end]
    if _evident(left, right, plain[start:end], figure) and not _contrary(left, right, plain[start:end]):
        return start, end
    return None


def stated(plain: str, figure: ClaimedFigure) -> bool:
    """Whether nothing in its sentence makes a figure an instruction, a condition, a threshold, a goal or an example."""
    start, end = sentence(plain, figure.start, figure.end)
    return not _contrary(plain[start : figure.start], plain[figure.end : end], plain[start:end])


def sentence(plain: str, start: int, end: int) -> tuple[int, int]:
    """The sentence around plain[start:end], at most WINDOW characters to each side."""
    first = max(0, start - WINDOW)
    for mark in (". ", "! ", "? ", ".\n", "!\n", "?\n", "; "):
        at = plain.rfind(mark, first, start)
        if at >= 0 and not _abbreviated(plain, at):
            first = max(first, at + len(mark))
    last = min(len(plain), end + WINDOW)
    for mark in (". ", "! ", "? ", ".\n", "!\n", "?\n", "; "):
        at = plain.find(mark, end, last)
        if at >= 0 and not _abbreviated(plain, at):
            last = min(last, at + 1)
    return first, last


def _abbreviated(plain: str, at: int) -> bool:
    return plain[at] == "." and plain[max(0, at - 3) : at].lower().lstrip("( ") in ("e.g", "i.e", "vs", "al", "cf")


def _evident(left: str, right: str, whole: str, figure: ClaimedFigure) -> bool:
    if figure.kind == "score":
        return True
    percent, ratio = figure.kind == "percent", figure.kind in ("percent", "multiple")
    if ratio and (compared := pattern(_COMPARISON).match(right[:60])) is not None:
        word = compared["word"]
        if (
            word
            and not left.endswith("+")
            and (percent or word.lower() not in w.DEGREE or pattern(_COPULA).search(left))
        ):
            return True
        if not word and not pattern(_ARTICLE).search(left[-32:]):
            return True
    if percent and (pattern(_SHARE).match(right[:120]) or pattern(_OFTEN).match(right[:40]) or benchmark(whole)):
        return True
    return (ratio and pattern(_STUDY).search(left) is not None) or _effect(left[-90:], ratio)


def _effect(left: str, ratio: bool) -> bool:
    match = pattern(_VERB).search(left)
    if match is None or pattern(_BREAK).search(match["between"]):
        return False
    if not ratio and (
        not pattern(_AMOUNT).match(match["finite"] or match["base"]) or pattern(_NOT_AN_AMOUNT).search(match["between"])
    ):
        return False
    return bool(match["finite"]) or match["before"].strip("*'’)").lower() not in w.NOT_A_SUBJECT


def _contrary(left: str, right: str, whole: str) -> bool:
    left = left.replace("*", "")
    if (
        pattern(_THRESHOLD).search(left[-24:])
        or right.rstrip(" *_)").endswith("?")
        or pattern(_CONTRARY_AFTER).search(right)
    ):
        return True
    if len(pattern(_QUOTES).findall(left)) % 2 or ("80%" in whole and "20%" in whole):
        return True
    opened = left.rfind("(")
    if opened > left.rfind(")") and pattern(_COMPARISON).match(right[:60]):
        left = left[opened + 1 :]
    clause = max(left.rfind(mark) + len(mark) if mark in left else 0 for mark in (" — ", " – ", " -- ", ": "))
    if pattern(_ORDER).match(left[clause:]) or (": " in left[:clause] and pattern(_ORDER).match(left)):
        return True
    return pattern(_CONTRARY).search(left) is not None or pattern(_HYPOTHETICAL).search(left) is not None

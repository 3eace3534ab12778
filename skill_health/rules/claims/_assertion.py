"""Whether a figure is asserted as a fact, or is a parameter, a threshold, a goal or an example.

An assertion needs a positive sign in its own clause (a comparison, a finite verb of change or effect, a share of something
with a verb, a study, a benchmark) and no sign of the contrary in its sentence. The word lists were drawn up by
reading every figure in 529 public skills (2026-11).
"""

from __future__ import annotations

import re

from skill_health.rules.claims._figures import Figure, benchmark

WINDOW = 240

_COMPARISON = re.compile(
    r"[*_\s]*(?!or\s)(?:(?:significantly\s+|substantially\s+)?[*_]*"
    r"(?P<word>faster|slower|fewer|higher|lower|better|worse|cheaper|smaller|larger|bigger|longer|shorter|greater|more|less|"
    r"as\s+(?:much|many|likely|fast))"
    r"|(?P<article>(?!of\s)(?:\w[\w-]*\s+){0,2}[*_]*(?:reductions?|improvements?|savings?|drop|decline|speed-?ups?|"
    r"overhead|lift)))\b(?!\s+than\s+(?:expected|planned|estimated|usual|baseline|needed))",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\b(?:an?|any|the|this|that|another)\s+[~≈*_]*(?:roughly\s+|about\s+|approximately\s+)?$", re.IGNORECASE)
# "5x lower" is as often a setting as a finding: it counts only after a verb.
_DEGREE = frozenset("higher lower longer shorter larger smaller bigger greater more less".split())
_COPULA = re.compile(r"\b(?:is|are|was|were|has|have|had|runs?|ran|gets?|became|becomes|feel|sees?|saw)\b", re.IGNORECASE)
_EFFECT = (
    r"(?:reduc|increas|improv|sav|rais|declin|doubl|achiev|wast|consum|decreas|los|eliminat|inflat|averag|driv|scor|caus)"
    r"(?:es|ed|ing)"
    r"|(?:boost|lower|outperform|shrink|grow|gain|fall|degrad|deliver|reach|cost|recover|add|yield|remov|explain|represent)"
    r"(?:e?s|ed|ing)"
    r"|account(?:s|ed|ing)? for|cuts|cutting|drops|dropped|dropping|speeds up|sped up|shrank|grew|fell|lost|drove|ran|runs|"
    r"measured|found|flagged|performs"
)
_BASE = (
    r"reduce|increase|improve|save|raise|decline|waste|consume|decrease|lose|boost|cut|lower|drop|outperform|shrink|grow|"
    r"gain|fall|degrade|deliver|cost|cause|recover|inflate|explain|represent|reach"
)
# A base form states something after a noun ("payments cause 20 %"); after these, or first in a clause, it is an order.
_NOT_A_SUBJECT = frozenset(
    "to and or then must should shall not don't never always please you we i let's would just only also either a the".split()
)
_LEFT_VERB = re.compile(
    rf"(?:\b(?P<finite>{_EFFECT})|(?P<before>[\w'’)*]+)\s+(?P<base>{_BASE}))\b(?P<between>[^.,;:?!|()]{{0,48}})$",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"(?:sav|cost|add|wast|consum|reduc|cut|lower|drop)", re.IGNORECASE)
_NOT_AN_AMOUNT = re.compile(r"\b(?:over|every|for|per|in|after|before|than|with|within|on|at)\b", re.IGNORECASE)
_BREAK = re.compile(r"\b(?:but|which|that|when|because|until|while|so|where)\b", re.IGNORECASE)
_SHARE = re.compile(
    r"[*_]*\s+of\s+(?:[\w'’/-]+\s+){1,6}?(?:is|are|was|were|has|have|had|do|does|don['’]t|aren['’]t|isn['’]t|never|live|comes?|"
    r"originates?|fails?|drops?|decides?|leaves?|churns?|happens?|occurs?|remains?|maintains?|spend|spent|relies|rely|"
    r"prefer|say|report|abandon|skip|read|stay|die|stem|contain|end)\b",
    re.IGNORECASE,
)
_OFTEN = re.compile(r"[*_]*\s+of\s+(?:the\s+)?(?:time|cases)\b", re.IGNORECASE)
_STUDY = re.compile(
    r"\b(?:stud(?:y|ies)|research|surveys?|audits?|papers?|experiments?|meta-analysis|production (?:data|testing)|benchmarks?)\s+"
    r"(?:\w+\s+){0,4}?(?:shows?|showed|shown|finds?|found|suggests?|suggested|reports?|reported|indicates?|indicated|reveals?|"
    r"revealed|concluded|confirms?|confirmed|demonstrates?|demonstrated)\b|\baccording to\b",
    re.IGNORECASE,
)
_CONTRARY = re.compile(
    r"\b(?:if|when|whenever|unless|until|once|suppose|imagine|assum\w+|in case|what if|must|should|shall|ought|need(?:s|ed)? to|"
    r"want|goals?|targets?|targeting|aim\w*|hypothes\w+|we believe|expect\w*|forecast\w*|project(?:ed|ion)|thresholds?|alert\w*|"
    r"warns?|flags?\s+(?:if|when|any|for)|triggers?|blocks?\s+(?:if|when|merge|deploy)|reject\w*|budget\w*|limits?|cap(?:s|ped)?|"
    r"maximum|minimum|max|min|at least|at most|no more than|within|exceed(?:s|ed|ing)?|tolerance|weight\w*|e\.g|example|"
    r"for instance|i\.e|placeholder|hurdle|default|you|your|you['’]re|they['’]re|their|success (?:gate|metric|criterion)|(?:the|your|its|overall|final|quality|total) score|penalt\w+)\b"
    r"|\b(?:before|after|input|output|good|bad|prompt|user|result)[*_]*\s*:",
    re.IGNORECASE,
)
_CONTRARY_AFTER = re.compile(r"\b(?:thresholds?|targets?|goals?|limits?|minimum|maximum|budget)\b", re.IGNORECASE)
_HYPOTHETICAL = re.compile(r"(?:^|[:—]\s)[\W_]*an?\s+(?:[\w-]+\s+){1,3}?(?:\w+ing|that|which|who|whose)\b", re.IGNORECASE)
_THRESHOLD_BEFORE = re.compile(r"(?:[<>≤≥=±]|\b(?:at|below|above|under|beyond|exceeds|until|(?:more|less|fewer|greater) than))\s*[~≈*_]*$", re.IGNORECASE)
_ORDER = re.compile(
    r"^[\W_]*(?:step \d+\W+)?(?:target|aim|keep|set|use|ensure|limit|flag|alert|warn|allow|wait|test|check|plan|assume|budget|"
    r"consider|start|try|cap|stop|block|require|measure|report|show|quote|expect|add|run|make|write|include|avoid|never|always|"
    r"do|don['’]t|give|find|pick|choose|prefer|price|increase|decrease|reduce|improve|achieve|cut|lower|raise|deliver|maintain|"
    r"identify|track|monitor|compare|calculate|compute|allocate|reserve|apply|account|rotate|recommend|hit|"
    r"charge|offer|pay|spend|hire|invest|keep|save|ship|get|let|ask|route|move|switch|remove|replace|double)\b",
    re.IGNORECASE,
)
_QUOTES = re.compile(r"[\"“”]")


def asserted(plain: str, figure: Figure) -> tuple[int, int] | None:
    """The bounds of the sentence that asserts `figure` in `plain`; None where it asserts nothing."""
    start, end = sentence(plain, figure.start, figure.end)
    left, right = plain[start : figure.start], plain[figure.end : end]
    if _evident(left, right, plain[start:end], figure) and not _contrary(left, right, plain[start:end]):
        return start, end
    return None


def stated(plain: str, figure: Figure) -> bool:
    """Whether nothing in its sentence makes a figure an order, a condition, a threshold, a goal or an example."""
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


def _evident(left: str, right: str, whole: str, figure: Figure) -> bool:
    if figure.kind == "score":
        return True
    percent, ratio = figure.kind == "percent", figure.kind in ("percent", "multiple")
    if ratio and (compared := _COMPARISON.match(right[:60])) is not None:
        word = compared["word"]
        if word and not left.endswith("+") and (percent or word.lower() not in _DEGREE or _COPULA.search(left)):
            return True
        if not word and not _ARTICLE.search(left[-32:]):
            return True
    if percent and (_SHARE.match(right[:120]) or _OFTEN.match(right[:40]) or benchmark(whole)):
        return True
    return (ratio and _STUDY.search(left) is not None) or _effect(left[-90:], ratio)


def _effect(left: str, ratio: bool) -> bool:
    match = _LEFT_VERB.search(left)
    if match is None or _BREAK.search(match["between"]):
        return False
    if not ratio and (not _AMOUNT.match(match["finite"] or match["base"]) or _NOT_AN_AMOUNT.search(match["between"])):
        return False
    return bool(match["finite"]) or match["before"].strip("*'’)").lower() not in _NOT_A_SUBJECT


def _contrary(left: str, right: str, whole: str) -> bool:
    if _THRESHOLD_BEFORE.search(left[-24:]) or right.rstrip(" *_)").endswith("?") or _CONTRARY_AFTER.search(right):
        return True
    if len(_QUOTES.findall(left)) % 2 or ("80%" in whole and "20%" in whole):
        return True
    opened = left.rfind("(")
    if opened > left.rfind(")") and _COMPARISON.match(right[:60]):
        left = left[opened + 1 :]
    clause = max(left.rfind(mark) + len(mark) if mark in left else 0 for mark in (" — ", " – ", " -- ", ": "))
    if _ORDER.match(left[clause:]) or (": " in left[:clause] and _ORDER.match(left)):
        return True
    return _CONTRARY.search(left) is not None or _HYPOTHETICAL.search(left) is not None

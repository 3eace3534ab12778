"""Figures in prose: percentages, multiples, durations, token counts, money, and named benchmarks."""

import re
from functools import cache
from typing import NamedTuple

from skill_health.text.patterns import lazy

# Benchmarks commonly cited for models and agents (read 2026-11).
BENCHMARKS = (
    "SWE-bench", "SWE-Lancer", "Terminal-Bench", "BrowseComp", "WebArena", "VisualWebArena", "OSWorld", "AgentBench",
    "GAIA", "tau-bench", "BFCL", "LoCoMo", "LongMemEval", "LongBench", "RULER", "DMR", "HotPotQA", "MuSiQue",
    "MMLU", "MMLU-Pro", "MMMU", "GPQA", "GSM8K", "AIME", "HumanEval", "MBPP", "LiveCodeBench", "BIG-bench", "ARC-AGI",
    "HellaSwag", "TruthfulQA", "MT-Bench", "AlpacaEval", "IFEval", "SimpleQA", "MTEB", "BEIR", "DocVQA", "SkillsBench",
)  # fmt: skip

_NUMBER = r"\d[\d,]*+(?:\.\d++)?+[kKMB]?"
_RANGE = rf"(?<![\w.,/-]){_NUMBER}(?:\s?(?:-|–|—|to)\s?(?:{_NUMBER}))?\+?"
_FIGURE = lazy(
    rf"(?P<money>[$€£]\s?{_NUMBER}(?:\s?(?:-|–|—)\s?[$€£]?{_NUMBER})?)"
    rf"|(?:{_RANGE})(?:"
    r"(?P<percent>\s?(?:%|percent\b|pp\b|pt\b|percentage points?\b)\+?)"
    r"|(?P<multiple>\s?(?:x|X|×)(?![\w×])(?!\s?\d)|-fold\b|\stimes(?=\s(?:as|more|less|fewer|faster|slower|higher|lower|"
    r"better|worse|cheaper|larger|smaller|the)\b))"
    r"|(?P<tokens>[\s-]?tokens?\b)"
    r"|(?P<duration>[\s-]?(?:ms|µs|ns|s|secs?|seconds?|mins?|minutes?|hrs?|hours?|days?|weeks?|months?|years?)\b)"
    r")"
)
_SCORE = lazy(r"(?<![\w.$/-])(?:0\.\d{2,}|\d{1,3}\.\d)(?![\w.%])")


class ClaimedFigure(NamedTuple):
    """A number with its unit: `plain[start:end]`. `kind` is percent, multiple, duration, tokens, money or score."""

    kind: str
    start: int
    end: int


def figures(plain: str) -> list[ClaimedFigure]:
    """The figures of a text, in order. Dimensions (2x2), versions and ids do not count."""
    return [ClaimedFigure(str(match.lastgroup), *match.span()) for match in _FIGURE.finditer(plain)]


def benchmark(sentence: str) -> re.Match[str] | None:
    """The first benchmark name in a sentence."""
    return _benchmarks().search(sentence)


@cache
def _benchmarks() -> re.Pattern[str]:
    names = "|".join(sorted(map(re.escape, BENCHMARKS), key=len, reverse=True))
    return lazy(rf"(?<![\w-])(?:{names})(?![\w]|-\w)")


def score(sentence: str) -> re.Match[str] | None:
    """A bare score beside a benchmark name: 0.62 or 62.3."""
    return _SCORE.search(sentence)

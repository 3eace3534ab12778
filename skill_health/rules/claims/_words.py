"""The words that tell an asserted figure from a parameter, a threshold, a goal or an example.

Drawn up by reading every figure in 529 public skills, and checked on their 1,398 reference files (2026-11). Each is a
list of regular expressions, matched between word boundaries and ignoring case.
"""

from __future__ import annotations

import re
from functools import cache

from skill_health.text.patterns import lazy

# After a figure: "40 % fewer", "3x faster".
COMPARED = r"""
    faster slower fewer higher lower better worse cheaper smaller larger bigger longer shorter greater more less
    as\s+(?:much|many|likely|fast)
"""
# "5x lower" is a setting as often as a finding, so these count only after a verb.
DEGREE = frozenset("higher lower longer shorter larger smaller bigger greater more less".split())
COPULA = "is are was were has have had runs? ran gets? became becomes feel sees? saw"
# After a figure, with up to two words between: "60 % token reduction".
CHANGE = r"reductions? improvements? savings? drop decline speed-?ups? overhead lift"

# Before a figure: "reduces latency by 40 %".
EFFECT = r"""
    (?:reduc|increas|improv|sav|rais|declin|doubl|achiev|wast|consum|decreas|los|eliminat|inflat)(?:es|ed|ing)
    (?:averag|driv|scor|caus)(?:es|ed|ing)
    (?:boost|lower|outperform|shrink|grow|gain|fall|degrad|deliver|reach|cost|recover|add|yield|remov)(?:e?s|ed|ing)
    (?:explain|represent)(?:s|ed|ing) account(?:s|ed|ing)?\s+for cuts cutting drops dropped dropping speeds\s+up
    sped\s+up shrank grew fell lost drove ran runs measured found flagged performs
"""
# A base form states something after a noun ("payments cause 20 %"); after NOT_A_SUBJECT, or first in a clause, it is
# an order.
BASE = """
    reduce increase improve save raise decline waste consume decrease lose boost cut lower drop outperform shrink
    grow gain fall degrade deliver cost cause recover inflate explain represent reach
"""
NOT_A_SUBJECT = frozenset(
    """to and or then must should shall not don't never always please you we i let's would just only also either
    a the""".split()
)
# Only these take durations, tokens and money ("saves 2 hours"), and none of NOT_AN_AMOUNT between.
AMOUNT = "sav cost add wast consum reduc cut lower drop"
NOT_AN_AMOUNT = "over every for per in after before than with within on at"
# Between verb and figure, these begin another clause.
BREAK = "but which that when because until while so where"

# After "70 % of viewers".
SHARE_VERBS = """
    is are was were has have had do does don['’]t aren['’]t isn['’]t never live comes? originates? fails? drops?
    decides? leaves? churns? happens? occurs? remains? maintains? spend spent relies rely prefer say report abandon
    skip read stay die stem contain end
"""
STUDIES = r"""
    stud(?:y|ies) research surveys? audits? papers? experiments? meta-analysis production\s+(?:data|testing)
    benchmarks?
"""
FINDS = """
    shows? showed shown finds? found suggests? suggested reports? reported indicates? indicated reveals? revealed
    concluded confirms? confirmed demonstrates? demonstrated
"""

# Anywhere before the figure in its sentence.
CONTRARY = r"""
    if when whenever unless until once suppose imagine assum\w+ in\s+case what\s+if must should shall ought
    need(?:s|ed)?\s+to want goals? targets? targeting aim\w* hypothes\w+ we\s+believe expect\w* forecast\w*
    project(?:ed|ion) thresholds? alert\w* warns? flags?\s+(?:if|when|any|for) triggers?
    blocks?\s+(?:if|when|merge|deploy) reject\w* budget\w* limits? cap(?:s|ped)? maximum minimum max min at\s+least
    at\s+most no\s+more\s+than within exceed(?:s|ed|ing)? tolerance weight\w* e\.g example for\s+instance i\.e
    placeholder hurdle default you your you['’]re they['’]re their success\s+(?:gate|metric|criterion)
    (?:the|your|its|overall|final|quality|total)\s+score penalt\w+
"""
LABELS = "before after input output good bad prompt user result"
CONTRARY_AFTER = "thresholds? targets? goals? limits? minimum maximum budget"
THRESHOLD = r"at below above under beyond exceeds until (?:more|less|fewer|greater)\s+than"
# At the head of the sentence or clause.
ORDERS = """
    target aim keep set use ensure limit flag alert warn allow wait test check plan assume budget consider start try
    cap stop block require measure report show quote expect add run make write include avoid never always do
    don['’]t give find pick choose prefer price increase decrease reduce improve achieve cut lower raise deliver
    maintain identify track monitor compare calculate compute allocate reserve apply account rotate recommend hit
    charge bid offer pay spend hire invest save ship get let ask route move switch remove replace double
"""

# Sections and columns whose figures are goals, limits or invented.
_HEADINGS = r"""
    examples? samples? templates? criteria targets? goals? objectives? kpis? thresholds? rubrics? scoring weights?
    checklists? acceptance budgets? slos? slas? red\s+flags warning\s+signs symptoms limits? success\s+metrics
    settings? parameters? hypothes[ie]s scenarios? defaults? quotas? expected\s+output output\s+format required
"""


def either(words: str) -> str:
    """One group that matches any expression of a list."""
    return "(?:" + "|".join(words.split()) + ")"


@cache
def pattern(source: str) -> re.Pattern[str]:
    """A case-insensitive regular expression, compiled on first use: most skills need few of them."""
    return lazy(source, re.IGNORECASE)


NO_CLAIMS = rf"\b{either(_HEADINGS)}\b"

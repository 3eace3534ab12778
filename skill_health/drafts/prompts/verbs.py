"""The verbs that requests to an agent are made of, in the three forms that descriptions have them in."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Literal

VerbForm = Literal["base", "third", "gerund"]

# Read off the descriptions of public collections (2026-11): what begins one, or follows "use when".
_VERBS = """
accept activate adapt add address aggregate align analyse analyze animate annotate answer append apply approve archive
arrange assemble assess assign attach audit authenticate authorize automate balance batch benchmark bisect bootstrap
brainstorm brand build bump bundle cache calculate calibrate capture catch categorize change chart check choose chunk
clarify classify clean clone cluster code collect combine comment commit compare compile complete compose compress
compute configure connect consolidate construct contribute convert copy correct craft crawl create critique crop
curate customize cut debug decide decode decompile decompose decrypt deduplicate define delete deliver deploy
deprecate describe design detect determine develop diagnose diagram diff disassemble discover dispatch display
distribute document download draft draw edit eliminate embed emit encode encrypt enrich enroll enumerate estimate
evaluate examine execute expand explain explore export expose extend extract fetch fill filter find fit fix flag
flatten forecast fork formalize format formulate fuzz gather generate get grade groom handle harden highlight hunt
illustrate implement import improve increase index infer inline insert inspect install instrument integrate interpret
introduce inventory investigate isolate iterate join judge label launch limit link lint list load locate lock maintain
make manage manipulate map measure merge migrate minimize mock model moderate modernize modify monitor move navigate
normalize notarize obfuscate onboard open optimize orchestrate organize overcome overhaul package parallelize parse
patch personalize pin plan plot polish port post prepare present prevent price print prioritize process produce
profile program promote propose protect prototype prove provision publish pull push quantify query queue rank read
rebase rebuild recommend reconcile record recover redact redesign reduce refactor refine reformat refresh register
release remove rename render reorganize repair replace replicate report reproduce request research reset reshape
resize resolve respond restore restructure retrieve reverse revert review revise rework rewrite roll rotate route run
sample sanitize save scaffold scale scan schedule scope score scrape scroll search secure seed segment select separate
serialize set ship sign simplify simulate sketch sort source specify split standardize stream structure stub style
subset summarize swap sync synthesize tag tailor test tidy trace track train transcribe transfer transform translate
transpile triage trim troubleshoot tune turn uninstall update upgrade upload use validate vectorize verify version
view visualize wire work wrap write zip
""".split()  # fmt: skip
# In the infinitive these are nouns more often than not.
NOUNISH = frozenset(
    "address batch benchmark brand build cache change chart check chunk cluster code comment commit copy cut design document draft "
    "draw edit embed filter fit fix flag format fork fuzz grade highlight hunt import increase index input install judge label "
    "launch limit link lint list load lock map measure merge mock model monitor move order package patch pin plan plot polish port "
    "post present price print process produce profile program prototype pull query queue rank record redesign report request research "
    "reset return review rework rewrite route run sample scale scan schedule scope score scroll search seed segment set ship sign "
    "sketch sort source split stream structure stub style swap sync tag test trace track train transfer triage trim tune turn update "
    "upgrade upload version view wire work wrap zip".split()
)
# They say nothing that a request would, but stand before what others in a list are about, too.
CARRIERS = frozenset(("handle", "manipulate", "use"))
_VOWELS = "aeiou"
# Stressed on the last syllable, or of one: the last letter is doubled.
_DOUBLING = frozenset(
    "commit crop cut fit flag get map pin plan plot program reset run scan set ship split stub subset swap tag trim wrap "
    "zip".split()
)


@cache
def verb_forms() -> Mapping[str, tuple[str, VerbForm]]:
    """Every form of every verb, with the verb itself and which form it is."""
    found: dict[str, tuple[str, VerbForm]] = {}
    for verb in _VERBS:
        found.setdefault(_gerund(verb), (verb, "gerund"))
        found.setdefault(_third(verb), (verb, "third"))
    for verb in _VERBS:
        found[verb] = (verb, "base")
    return found


def _gerund(verb: str) -> str:
    if verb.endswith("ie"):
        return f"{verb[:-2]}ying"
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return f"{verb[:-1]}ing"
    return f"{verb}{verb[-1]}ing" if verb in _DOUBLING else f"{verb}ing"


def _third(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in _VOWELS:
        return f"{verb[:-1]}ies"
    return f"{verb}es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else f"{verb}s"

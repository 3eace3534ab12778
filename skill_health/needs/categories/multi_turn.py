"""The user must answer, approve or choose in the middle of the work."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.force import SectionUse, is_conditional, is_only_in_need
from skill_health.needs.reading.read import SkillReading, phrase
from skill_health.text.patterns import lazy

ORDER = 7
TITLE = "Multi-turn evaluation support"
MEANING = "The user must be asked, must answer, approve or choose in the middle of the work."

_ASK = phrase(
    "prompt|present|raise|discuss|human-in|human in|ユーザー|用户|使用者|question|interview|answer|ask|wait for|confirm|approv|interview|"
    "askuserquestion|sign-off|sign off|user to choose|user choose|user select|user pick|go-ahead|user ok",
    r"\bprompts? (?:the )?user (?:for|to)\b|\b(?:raise|discuss) (?:it|them|these|concerns) with\b|"
    r"\bone question at a time\b|\bask first\b|\bguided interview\b|\bhear the answer\b|\bstop and ask\b|"
    r"\bask(?: first)?[*_]{0,3}: ?[*_]{0,3}[\"\u201c](?!.*for each)|"
    r"\b(?:wait|pause|stop)\b[^.\n]{0,30}\b(?:for|until)\b[^.\n]{0,30}\b(?:user|approv\w+|confirm\w*|response|"
    r"reply|answers?|input|go-ahead|feedback|human)|"
    r"\bask(?:s|ing)? (?:the )?(?:user|them|your human|human|your partner|your user)\b|\b(?:after|until|"
    r"without|get|gets|obtain|require[sd]?|request|needs?|seek|await) (?:the )?(?:explicit |user(?:'s)? |"
    r"human |their |final )*(?:approval|confirmation|sign-?off|consent)\b|"
    r"\bconfirm (?:\w+ ){0,4}with (?:the )?(?:user|them|human|owner)\b|\b(?:user|human|owner|partner) (?:must "
    r"|should |has to |to |explicitly |then )*(?:confirms?|approves?|chooses?|selects?|picks?|decides?|"
    r"answers?|signs? off|reviews? and approves?)\b|"
    r"\baskuserquestion\b|\bask (?:one|these|the following|clarifying|a few|for (?:confirmation|approval|"
    r"permission|(?:the |their |an? )?(?:objective|name|url|path|goal|input|budget|audience|brief|address|"
    r"email|location|date|file|details|context|feedback|preference|scope)s?|missing|more))\b|\binterview "
    r"(?:the )?user\b|"
    r"\bpresent (?:\w+ ){0,6}(?:to|and) (?:the )?(?:user|ask|wait|get)\b[^.\n]{0,40}(?:approv|choos|select|"
    r"confirm|feedback|pick|wait)|\bpresent (?:the )?(?:options|choices)\b|\blet (?:the )?user (?:choose|pick|select|decide|review)\b|\bwait for "
    r"(?:answers?|approval|confirmation|response)\b|\bhuman[- ]in[- ]the[- ]loop\b(?! (?:platform|tasks?|nodes?|tools?|system))|"
    r"ユーザーに[^。]{0,30}(?:質問|確認|聞|尋)|ユーザーの(?:承認|確認|回答)|(?:询问|詢問|問|请|請)(?:用户|使用者)|(?:用户|使用者)(?:确认|確認|选择|選擇|回答|批准)|等待(?:用户|使用者)",
)
_ONLY_WHEN = lazy(r"[*_]* (?:only )?(?:when|if|unless|whenever)\b")
_TELLS = lazy(r"[\W\d]{0,8}(?:always )?(?:ask|prompt) (?:the )?user\b")
_NEVER_ASKS = lazy(
    r"\b(?:do not|don'?t|never)\b[^.\n]{0,50}\band ask\b|\b(?:do not|don'?t|never|without|no need to|needn'?t|instead of|"
    r"rather than) (?:ask|prompt|wait|confirm|stop|pause)\w*\b"
)
_PROMPT = lazy(
    r"(?i)\(?\[?y(?:es)?\s?/\s?n(?:o)?(?:\s?/\s?\w+)?\]?\)?|proceed\? |continue\? \(|want me to [^?\n]{3,80}\?|shall i [^?\n]{3,80}\?"
)
_QUESTIONS = lazy(
    r"question|before (?:creating|writing|starting|providing|planning|recommending|designing)|discovery|"
    r"intake|interview|clarif|gather (?:context|information|requirements)|initial assessment"
)
_NONE = lazy(
    r"\b(?:non-?interactive|do not ask|don'?t ask|never ask|without asking|no questions?|autonomous(?:ly)?|no user (?:input|interaction))\b"
)


def find(reading: SkillReading) -> Iterator[Sign]:
    """Sentences that have the user asked or that wait for an answer, and prompts that are written out."""
    quiet = 0.6 if _NONE.search(reading.about) else 1.0
    for name, line in reading.declared.tools:
        if name.lower().startswith("askuserquestion"):
            yield reading.sign(0.6, EvidenceKind.DECLARED, "AskUserQuestion", line)
    for statement in reading.statements_with(_ASK.anchors):
        match = _ASK.pattern.search(statement.text)
        if (
            match is None
            or statement.weight <= 0
            or (statement.kind == "description" and "human" in match[0])
            or _NEVER_ASKS.search(statement.text)
            or ("for each" in statement.text and "user" not in statement.text)
        ):
            continue
        after = _ONLY_WHEN.match(statement.text, match.end())
        unclear = "clarif" in match[0] and "before" not in statement.text
        needed = is_only_in_need(statement.text, match.end())
        strength = 0.4 if after or unclear or needed or is_conditional(statement.text, match.start()) else 1.0
        if _TELLS.match(statement.text) and statement.role is SectionUse.EXAMPLE:
            strength /= max(statement.weight, 0.2)
        yield reading.sign(
            strength * statement.weight * quiet,
            EvidenceKind.SENTENCE,
            f"asks:{statement.line}",
            statement.line,
            statement.shown,
        )
    for block in reading.skill.body.blocks:
        role = reading.role(block.line)
        if (
            role not in (SectionUse.ASIDE, SectionUse.TROUBLE)
            and not block.info
            and (match := _PROMPT.search(block.text))
        ):
            line = block.line + block.fenced + block.text.count("\n", 0, match.start())
            yield reading.sign(0.6 * quiet, EvidenceKind.SENTENCE, f"prompt:{line}", line)
    for statement in reading.statements_with(("yes", "want me to", "shall i")):
        if _PROMPT.search(statement.text):
            yield reading.sign(
                0.6 * statement.weight * quiet,
                EvidenceKind.SENTENCE,
                f"prompt:{statement.line}",
                statement.line,
                statement.shown,
            )
    yield from _questions(reading, quiet)


_QUESTION = lazy(r"\?(?:\s*\([^)]*\)?)?[\s*_]*$")
_ASKED = lazy(
    r"\b(?:ask|clarify)\b[^.\n]{0,40}:\W{0,3}$|\bquestions? to ask\b|\bask (?:the user|them|these|one at a time)\b|\bguide the user through\b"
)


def _questions(reading: SkillReading, quiet: float) -> Iterator[Sign]:
    """Sections that list questions for the user."""
    prose = reading.skill.body.prose
    for section in reading.skill.body.sections:
        if reading.role(section.line) in (SectionUse.ASIDE, SectionUse.TROUBLE) or not _QUESTIONS.search(
            section.heading.title.lower()
        ):
            continue
        asked = sum(1 for each in prose if section.line < each.line <= section.end_line and _QUESTION.search(each.text))
        if asked >= 3:
            yield reading.sign(0.7 * quiet, EvidenceKind.SENTENCE, f"questions:{section.line}", section.line)
    for nth, each in enumerate(prose):
        if _ASKED.search(each.text.lower()) and reading.role(each.line) in (SectionUse.MAIN, SectionUse.REQUIRED):
            after = [other.text for other in prose[nth + 1 : nth + 6] if other.item]
            clarifies = "clarify" in each.text.lower()
            if (
                sum(
                    text.rstrip(" *_\"'\u201d").endswith(("?", "?)")) or '?"' in text or (clarifies and "?" in text)
                    for text in after
                )
                >= 2
            ):
                yield reading.sign(0.7 * quiet, EvidenceKind.SENTENCE, f"questions:{each.line}", each.line)

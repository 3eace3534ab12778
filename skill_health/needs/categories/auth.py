"""Credentials that are not public: keys, tokens, logins, accounts."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.clients import client_signs, session_signs
from skill_health.needs.reading.force import SectionUse
from skill_health.needs.reading.products import PUBLIC, owned_signs, product_signs
from skill_health.needs.reading.programs import facts_of, is_tool
from skill_health.needs.reading.read import PlacedCommand, SkillReading, phrase, signs_of_phrase
from skill_health.needs.reading.servers import remote_signs
from skill_health.needs.reading.variables import REQUIRED_WORDS, calls_keys_optional, is_secret
from skill_health.text.patterns import lazy

ORDER = 4
TITLE = "Auth and credential injection"
MEANING = "Credentials that are not public: API keys, tokens, logins, accounts, cloud credentials."

_SAID = phrase(
    "licens|licenc|gated|api key|api-key|apikey|token|oauth|log in|login|logged in|credential|authenticat|"
    "sign in|signed in|account|password|service principal|service account|app password|private key",
    r"\b(?:requires?|needs?|set(?: up)?|obtain|get|create|provide|export|configure|enter|use|uses|using|with|"
    r"add|have|store|your|an?|the|valid|via)\b[^.\n]{0,30}"
    r"\b(api[- ]keys?|apikey|access tokens?|api tokens?|auth tokens?|bot tokens?|bearer tokens?|personal "
    r"access tokens?|pat\b|oauth|credentials?|service accounts?|service principal|app passwords?|private "
    r"key)\b|"
    r"\b(log(?:ged)?[ -]?in|sign(?:ed)?[ -]in|authenticated?|authentication|authorize)\b (?:with|to|via|using|"
    r"first|once|through|is required|required|before|status)|"
    r"\b(?:must be|be|is|are|you're|been|user is|already) (logged in|authenticated|signed in)\b|"
    r"\b(?:requires?|needs?|have|active) (?:an? )?[\w ]{0,24}\b(account|subscription)\b|"
    r"\b(oauth(?: ?2(?:\.0)?)?) (?:flow|login|grant|token|authentication|consent)\b|\baccept (?:the "
    r")?(?:model )?(licen[cs]e)|\b(gated)\b model|\b(api[_ -]?key)\b (?:from|is|in|at|required|via)\b",
)
_NAMED = phrase(
    "oauth|api key|access token|credential|bot token|bearer|logged in",
    r"\b(oauth(?: ?2(?:\.\d)?)?|api keys?|access tokens?|credentials?|bot tokens?|bearer token|logged in)\b",
)
_NONE = lazy(
    r"\bno (?:auth\w*|api[- ]?keys?|credentials?|login|account|sign[- ]?ups?|token)\b|without (?:an? )?(?:api[- ]?key|auth\w*|login|account)"
)
_LICENCE = phrase(
    "licens|licenc|gated|terms", r"\baccept (?:the |its )?(?:model(?:'s)? )?(?:licen[cs]e|terms)\b|\bmodel is gated\b"
)
_STATE = phrase(
    "authenticat|logged|signed|login",
    r"\b(?:installed|configured|reachable) and (?:logged[ -]in|authenticated|signed[ -]in)\b|\bauthenticated (?:session|cluster|account|org|host|"
    r"cli|connection|project)\b|\blogin status\b|\b(?:active|valid|existing) (?:login|session)\b",
)
_PASSWORD = lazy(r"(?i)\byour[_-]password\b|<password>|--password\b|\bxxxx-xxxx\b|app[_-]password")
_LOGIN = frozenset(("login", "auth", "signin", "configure", "whoami"))
_ABOUT = lazy(
    r"\b(?:implement|review|audit|design|add|build|test|secure|securing|pattern)\w*\b[^.\n]{0,60}\b(?:auth\w*|"
    r"oauth|jwt|login|secrets?|credentials?|api keys?)\b"
)


def find(reading: SkillReading) -> Iterator[Sign]:
    """Variables that hold secrets, programs that ask for a login, and sentences that say so."""
    none = (
        0.35
        if _NONE.search(reading.about)
        or any(calls_keys_optional(each.text) for each in reading.statements_with(("optional",)))
        else 1.0
    )
    topic = 0.5 if _ABOUT.search(reading.about) else 1.0
    declared = reading.declared
    for name, line in declared.variables:
        if is_secret(name):
            yield reading.sign(1.0, EvidenceKind.DECLARED, name, line)
    low = declared.compatibility.lower()
    for word in ("api key", "token", "credential", "account", "authenticat", "login", "api_key"):
        if word in low:
            yield reading.sign(1.0, EvidenceKind.DECLARED, word, declared.line)
    for placed in reading.commands:
        facts, words = facts_of(placed.command.program), placed.command.words
        if "auth" in facts.tags:
            logs_in = any(word in _LOGIN for word in words[:2])
            strong = logs_in or placed.command.program in (
                "gh",
                "aws",
                "gcloud",
                "az",
                "glab",
                "bq",
                "databricks",
                "snow",
                "snowsql",
                "op",
            )
            yield reading.sign(
                (
                    1.0
                    if strong
                    else 0.5
                    if placed.command.program
                    in ("kubectl", "helm", "terraform", "tofu", "supabase", "firebase", "pulumi")
                    else 0.75
                )
                * placed.weight
                * none,
                EvidenceKind.COMMAND,
                placed.command.program,
                placed.line,
                placed.command.text,
            )
        if placed.command.program in ("codex", "gemini") and any(word in ("exec", "-p", "--print") for word in words):
            yield reading.sign(
                0.7 * placed.weight, EvidenceKind.COMMAND, placed.command.program, placed.line, placed.command.text
            )
        text = placed.command.text
        if "$" in text or placed.command.assigned:
            for name in {*_DOLLAR.findall(text), *placed.command.assigned}:
                if is_secret(name):
                    yield reading.sign(0.8 * placed.weight * none, EvidenceKind.VARIABLE, name, placed.line, text)
        if _PASSWORD.search(text):
            yield reading.sign(0.7 * placed.weight * none, EvidenceKind.COMMAND, "a password", placed.line, text)
        if "authorization:" in text.lower() or "x-api-key" in text.lower():
            yield reading.sign(
                0.8 * placed.weight * none * topic, EvidenceKind.COMMAND, "authorization header", placed.line, text
            )
    for snippet in reading.snippets:
        for name in dict.fromkeys(_CODE.findall(snippet.text)):
            if is_secret(name):
                line = snippet.line + 1 + snippet.text.count("\n", 0, snippet.text.find(name))
                yield reading.sign(0.55 * snippet.role.run * none * topic, EvidenceKind.VARIABLE, name, line)
    for statement in reading.statements_with(
        ("_key", "_token", "_secret", "_password", "apikey", "_pat", "credentials")
    ):
        for name in dict.fromkeys(_NAME.findall(statement.shown)):
            if is_secret(name):
                strength = 1.0 if REQUIRED_WORDS.search(statement.text) else 0.6
                yield reading.sign(
                    strength * statement.weight * none * topic,
                    EvidenceKind.VARIABLE,
                    name,
                    statement.line,
                    statement.shown,
                )
    for nth, line_text in enumerate(reading.skill.lines, 1):
        if _KEYLIKE.search(line_text) and (match := _PLACE_OF_KEY.search(line_text[:2_000])):
            yield reading.sign(0.7 * reading.role(nth).run * none * topic, EvidenceKind.VARIABLE, match[0].lower(), nth)
    for name, line, weight in reading.assigned_secrets:
        yield reading.sign(0.8 * weight * none, EvidenceKind.VARIABLE, name, line)
    for name, line, path in reading.exported:
        if is_secret(name) and name not in reading.optional_names:
            yield reading.sign(1.0 * none, EvidenceKind.VARIABLE, name, line, f"README exports {name}", path)
    for script in reading.scripts:
        for use in script.uses:
            if use.kind in ("variable", "required") and is_secret(use.name) and use.name not in reading.optional_names:
                weight = (0.8 if use.kind == "required" else 0.5) * (1.0 if script.weight >= 0.7 else 0.5)
                yield reading.sign(
                    weight * none,
                    EvidenceKind.VARIABLE,
                    use.name,
                    use.line,
                    f"{script.file} reads {use.name}",
                    script.path,
                )
            elif use.kind == "program" and "auth" in facts_of(use.name).tags:
                yield reading.sign(
                    0.8 if script.weight >= 0.7 else 0.3,
                    EvidenceKind.SCRIPT,
                    use.name,
                    use.line,
                    f"{script.file} runs {use.name}",
                    script.path,
                )
    for sign in (*client_signs(reading, 1.0), *session_signs(reading, 0.6)):
        yield sign._replace(weight=sign.weight * none)
    yield from remote_signs(reading, 0.7, own_content=True)
    for sign in product_signs(reading, 0.5):
        yield sign
        if sign.evidence.subject.partition(" (")[0] not in PUBLIC and (asks := next(_of_service(reading), None)):
            yield reading.sign(0.5, EvidenceKind.COMMAND, "commands of it", asks.line, asks.command.text)
    yield from signs_of_phrase(reading, _LICENCE, 1.0, "a licence to accept")
    for sign in (*signs_of_phrase(reading, _STATE, 0.6, ""), *owned_signs(reading, 0.6)):
        yield sign._replace(weight=sign.weight * none)
    for sign in signs_of_phrase(reading, _NAMED, 0.45, ""):
        required = 1.6 if reading.role(sign.evidence.line) is SectionUse.REQUIRED else 1.0
        yield sign._replace(weight=sign.weight * none * topic * required)
    for sign in signs_of_phrase(reading, _SAID, 0.7, ""):
        yield sign._replace(weight=sign.weight * none * topic)


def _of_service(reading: SkillReading) -> Iterator[PlacedCommand]:
    """The commands that could be those of a service: neither an interpreter's nor a package manager's."""
    for placed in reading.commands:
        name = placed.command.program
        if placed.command.is_path or (name and is_tool(name) and not facts_of(name).runtime):
            yield placed


_KEYLIKE = lazy(r"(?i)key|token|secret")
_PLACE_OF_KEY = lazy(
    r"(?i)\b(?:your|my)[_-](?:api[_-]?key|api[_-]?token|access[_-]?token|bot[_-]?token|token|secret|key)\b|"
    r"<(?:your[_ -])?(?:api[_ -]?key|api[_ -]?token|access[_ -]?token|token|secret)>|[?&](?:key|token|access_token)=(?!\w*test)"
)
_DOLLAR = lazy(r"\$\{?(?:env:)?([A-Z][A-Z0-9_]{2,60})")
_CODE = lazy(r"(?:environ(?:\.get\(|\[)|getenv\(|process\.env\.|env\[|env\()\s*[\"']?([A-Z][A-Z0-9_]{2,60})")
_NAME = lazy(r"\b([A-Z][A-Z0-9]{1,30}(?:_[A-Z0-9]{1,30})+|APIKEY)\b")

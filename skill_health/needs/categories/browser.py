"""A browser or graphical interface that is driven."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.needs.model import EvidenceKind, Sign
from skill_health.needs.reading.programs import facts_of
from skill_health.needs.reading.read import SkillReading, phrase, signs_of_phrase
from skill_health.text.patterns import lazy

ORDER = 12
TITLE = "Browser / UI access"
MEANING = "A browser or the automation of a graphical interface: Playwright, Chrome, screenshots of pages, a desktop application."

_PACKAGES = frozenset(
    "playwright selenium puppeteer @playwright/test pyppeteer puppeteer-core undetected_chromedriver splinter pyautogui browser_use".split()
)
_SAID = phrase(
    "ui automation|browser|playwright|puppeteer|chrome|screenshot|selenium|devtools|cypress|click|rendered page|live page|headless",
    r"\b(?:use|using|open|launch|drive|via|with|through|run|start|control|automate|navigate|requires?|"
    r"in)\b[^.\n]{0,30}\b(playwright|puppeteer|selenium|chrome[- ]devtools|agent-browser|headless (?:browser|"
    r"chrome|chromium)|browser (?:tool|automation|session|control|tab|window)s?|the browser|a browser|a real "
    r"browser)\b|"
    r"\b(?:take|capture|grab)\b[^.\n]{0,20}\b(screenshots?)\b|\b(playwright|chrome-devtools|"
    r"puppeteer)[\W_]{1,3}(?:mcp|cli|script|test)|\b(ui automation|real browser|browser automation|dom "
    r"snapshot)\b",
)
_ABOUT = lazy(
    r"\b(playwright|puppeteer|selenium|browser automation|browser-based|headless browser|web automation|"
    r"automat\w+ (?:a |the )?(?:web )?browsers?|screenshots? of|e2e test\w*|end-to-end (?:browser )?test\w*|"
    r"web scraping|chrome devtools|in (?:a|the) browser|browser testing|gui)\b"
)
_IMPORT = lazy(r"(?m)\b(?:from|import|require\()\s*[\"']?(playwright|@playwright/test|puppeteer|selenium|pyautogui)\b")


def find(reading: SkillReading) -> Iterator[Sign]:
    """Programs and packages that drive a browser, tools of servers that do, and sentences that have one driven."""
    if match := _ABOUT.search(reading.about):
        yield reading.sign(0.5, EvidenceKind.SENTENCE, "what it is for", reading.about_line, match[0])
    for name, line in (*reading.declared.tools, *reading.declared.programs):
        if any(word in name.lower() for word in ("playwright", "chrome", "browser", "puppeteer")):
            yield reading.sign(0.8, EvidenceKind.DECLARED, name[:40], line)
    for placed in reading.commands:
        name, words = placed.command.program, placed.command.words
        inner = (
            next(
                (
                    word
                    for word in words[:3]
                    if "browser" in facts_of(word.rpartition("/")[2]).tags
                    or "playwright" in word
                    or word in ("@axe-core/cli", "pa11y")
                ),
                "",
            )
            if name in ("npx", "bunx", "pnpm", "yarn", "uvx", "npm", "python", "python3")
            else ""
        )
        if "browser" in facts_of(name).tags or inner:
            weight = 0.9 if "install" not in words else 0.7
            yield reading.sign(
                weight * placed.weight, EvidenceKind.COMMAND, inner or name, placed.line, placed.command.text
            )
    for snippet in reading.snippets:
        if match := _IMPORT.search(snippet.text):
            yield reading.sign(0.55 * snippet.role.run, EvidenceKind.IMPORT, match[1], snippet.line, match[0])
    for script in reading.scripts:
        for use in script.uses:
            if (use.kind == "package" and use.name in _PACKAGES) or (
                use.kind == "program" and "browser" in facts_of(use.name).tags
            ):
                yield reading.sign(
                    1.0 if script.weight >= 0.7 else 0.4,
                    EvidenceKind.IMPORT,
                    use.name,
                    use.line,
                    f"{script.file} uses {use.name}",
                    script.path,
                )
    for statement in reading.statements_with(
        ("mcp__playwright", "mcp__chrome", "mcp__claude-in-chrome", "browser_navigate", "browser_snapshot")
    ):
        yield reading.sign(
            0.9 * statement.weight, EvidenceKind.SERVER, "browser tools", statement.line, statement.shown
        )
    yield from signs_of_phrase(reading, _SAID, 0.45, "")

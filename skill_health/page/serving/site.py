"""The page that is served: built anew where something has changed, and kept where a build fails."""

from __future__ import annotations

import gc
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from html import escape

from skill_health.config.settings import Config
from skill_health.core.errors import SkillHealthError
from skill_health.core.files import blake2b, file_state
from skill_health.daily.earlier import HISTORY as DAILY
from skill_health.daily.states import STATES
from skill_health.discovery.corpus import discover
from skill_health.discovery.roots import find_root
from skill_health.documents.effect_history import HISTORY as EFFECTS
from skill_health.documents.router_history import HISTORY as ROUTER
from skill_health.drafts.store import DRAFTS, count_waiting
from skill_health.lint.report import BASELINE
from skill_health.needs.collection import KeptNeeds
from skill_health.page.figures import escape_text
from skill_health.page.html import KeptHtml, render
from skill_health.page.request import PAGE, PageOptions, asked, page_of
from skill_health.page.trials.address import ADDRESS
from skill_health.page.trials.pages import TrialPages
from skill_health.registries.sources import KINDS, expand
from skill_health.trials.find import KeptRuns
from skill_health.trials.kept_files import ReportFolders

_BODY = re.compile(r"</head>\s*<body\b[^>]*>", re.IGNORECASE)
_REASON = 400
# A build may have failed for a reason that no file tells: it is tried again, but not all the time.
_AGAIN = 5.0


class Site:
    """The page and the reason why it may be out of date. All methods may be called from any thread.

    `version` counts what a reader would see: it changes when the page or the reason does.
    """

    def __init__(
        self, build: Callable[[], str], mark: Callable[[], str], trial: Callable[[str], str] = lambda address: ""
    ) -> None:
        """`trial` gives the page of the trial, or of the two, at an address, "" where the page shows none there."""
        self._build, self._mark, self.trial = build, mark, trial
        self._lock = threading.Lock()
        self._known: str | None = None
        self._page: str | None = None
        self._asked = self._tried = float("-inf")
        self._cost = 0.0
        self.problem = ""
        self.version = 0
        self.served = 0

    def refresh(self, least: float = 0.0, strict: bool = False) -> int:
        """Build anew where the mark is another one, unless that was asked less than `least` seconds ago: the version.

        With `strict` the user's mistakes are raised instead of being kept as the reason.
        """
        with self._lock:
            start = time.monotonic()
            # Where looking takes long, it is done less often: at most a tenth of the time goes into it.
            if least and start - self._asked < max(least, 10 * self._cost):
                return self.version
            mark = self._marked()
            self._asked = time.monotonic()
            self._cost = self._asked - start
            if mark != self._known or (self.problem and self._asked - self._tried > _AGAIN):
                self._known = mark
                self._rebuild(strict)
                self._asked = self._tried = time.monotonic()
            return self.version

    def page(self) -> tuple[int, str]:
        """The status and the document as of now: the last good page, with the reason where it is out of date."""
        self.refresh()
        with self._lock:
            self.served = self.version
            if self._page is None:
                return 503, _unavailable(self.problem)
            return 200, _with_reason(self._page, self.problem) if self.problem else self._page

    def _marked(self) -> str:
        try:
            return self._mark()
        except Exception as error:
            return f"not known: {error!r}"

    def _rebuild(self, strict: bool) -> None:
        before = (self._page, self.problem)
        try:
            self._page, self.problem = self._build(), ""
        except Exception as error:
            if strict and isinstance(error, SkillHealthError):
                raise
            kind = "" if isinstance(error, SkillHealthError) else f"{type(error).__name__}: "
            self.problem = escape_text(" ".join(f"{kind}{error}".split()), _REASON)
        if (self._page, self.problem) != before:
            self.version += 1
            if self.problem and sys.stderr is not None:
                print(f"not rebuilt: {self.problem}", file=sys.stderr, flush=True)


def _with_reason(page: str, reason: str) -> str:
    line = f'<p role="alert" class="bad">This page is not up to date. It cannot be rebuilt: {escape(reason)}</p>'
    return _begun_with(page, line)


def _begun_with(page: str, line: str) -> str:
    """The page with a line at the beginning of its body."""
    found = _BODY.search(page)
    return page[: found.end()] + line + page[found.end() :] if found else line + page


def _with_drafts(page: str, root: str) -> str:
    """The page with a link to the drafts, if any wait for a decision."""
    if not os.path.isdir(os.path.join(root, DRAFTS)):
        return page
    waiting = count_waiting(root)
    if not waiting:
        return page
    said = f"{waiting} draft{'s' * (waiting != 1)} wait{'s' * (waiting == 1)} for a decision"
    return _begun_with(page, f'<p><a href="/drafts">{said}</a></p>')


def _unavailable(reason: str) -> str:
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="3">'
        f"<title>No page yet</title></head><body><p>There is no page yet: {escape(reason)}</p></body></html>\n"
    )


_SETTINGS = ("skill-health.toml", "pyproject.toml", ".gitignore")
_IN_RUN = ("", "report.json", "manifest.json", "results.jsonl")
# Only the runs that the last lines of the histories name are shown; these are more than they can be.
_MOST_RUNS = 200


def mark(paths: Sequence[str], config: Config, folder: str, file: str | None = None, more: Iterable[str] = ()) -> str:
    """A digest that is another one when a skill, a registry, a task, a setting, a history or a report has changed.

    `config` is the one of the last build, `folder` that of the reports, `file` the configuration file that was named;
    `more` is mixed in. Costs a walk over the collection and a look at each file. Raises UsageError where a path that
    was asked for is gone.
    """
    root = find_root(paths)
    found = blake2b(digest_size=16)
    for text in (root, folder, *more):
        found.update(f"{text}\0".encode("utf-8", "surrogateescape"))
    for path in (
        *_settings(root, config, file),
        *_skills(paths, config, root),
        *_beside(root, config),
        *_drafts(root),
        *_reports(folder),
    ):
        found.update(f"{path}\0{file_state(path)}\0".encode("utf-8", "surrogateescape"))
    return found.hexdigest()


def _settings(root: str, config: Config, file: str | None) -> Iterator[str]:
    names = [*_SETTINGS, config.baseline or BASELINE, config.profile]
    yield from (os.path.join(root, name) for name in names)
    if file:
        yield os.path.abspath(file)


def _skills(paths: Sequence[str], config: Config, root: str) -> Iterator[str]:
    for entry in discover(paths, config, root).entries:
        lead = f"{root}/{entry.folder}/" if entry.folder else f"{root}/"
        yield lead + entry.file_name
        yield from (lead + name for name in entry.files)
        yield from (f"{root}/{copy}" for copy in entry.copies)


def _beside(root: str, config: Config) -> Iterator[str]:
    for kind in KINDS:
        for pattern in getattr(config.sources, kind):
            for path in sorted(expand(root, pattern)):
                yield os.path.join(root, path)
                if kind == "tasks":
                    yield os.path.join(root, os.path.dirname(path), "task.md")


def _drafts(root: str) -> Iterator[str]:
    for folder, folders, files in os.walk(os.path.join(root, DRAFTS)):
        folders.sort()
        yield from (os.path.join(folder, name) for name in sorted(files) if name.endswith(".json"))


def _reports(folder: str) -> Iterator[str]:
    for name in (DAILY, STATES, ROUTER, EFFECTS, PAGE):
        yield os.path.join(folder, name)
    for kind in ("router", "effectiveness"):
        place = os.path.join(folder, kind)
        try:
            runs = sorted(os.listdir(place), reverse=True)[:_MOST_RUNS]
        except OSError:
            continue
        yield from (os.path.join(place, run, name) for run in runs for name in _IN_RUN)


class PageBuilder:
    """Builds the page of what the command line means, and makes anew only what rests on something that has changed.

    Skills are checked from the cache of `lint`, and pictures are kept where they are drawn; `needs` and `html` hold
    what the last build made besides. The page is byte for byte that of a build from nothing.
    """

    def __init__(self, paths: Sequence[str], options: PageOptions, day: Callable[[], date]) -> None:
        """`day` gives the day as of which the page is built. Raises UsageError for wrong paths and settings."""
        self.about, self._options, self._day = asked(paths, options), options, day
        self.needs, self.html = KeptNeeds(), KeptHtml()
        self._title, self._runs = "", frozenset[str]()

    def build(self) -> str:
        """The page as of now. Raises UsageError where a setting is wrong by now."""
        # The folder of the reports stays that of the start: the raw files are served from it.
        folder = self.about.folder
        self.about = replace(asked(self.about.paths, self._options), folder=folder)
        options = replace(self._options, as_of=self._day())
        page = page_of(self.about, options, folder, os.path.join(folder, PAGE), self.needs)
        self._title, self._runs = page.title, frozenset(report.run_id for report in page.effects)
        # A check of many skills stops the collection of garbage; a process that lives on has to clean up behind itself.
        gc.enable()
        return _with_drafts(render(page, live=True, kept=self.html), self.about.root)

    def trial(self, address: str) -> str:
        """The page of a trial as of now, or of two side by side; "" for any that is not of a run on the last page."""
        named = ADDRESS.match(address)
        if named is None or named[1] not in self._runs:
            return ""
        run, first, second = named.groups()
        pages = TrialPages(KeptRuns(ReportFolders(self.about.folder, self.about.folder)), self._title)
        return pages.pair(run, (first, second)) if second else pages.page(run, first)

    def mark(self) -> str:
        """See `mark`."""
        about = self.about
        return mark(about.paths, about.config, about.folder, self._options.config_file, (self._day().isoformat(),))


def site(paths: Sequence[str], options: PageOptions, day: Callable[[], date]) -> tuple[Site, str]:
    """The site of what the command line means, not built yet, and the folder of the reports.

    `day` gives the day as of which the page is built. Raises UsageError for paths and settings that are wrong now;
    once they become so, the site says it.
    """
    builder = PageBuilder(paths, options, day)
    return Site(builder.build, builder.mark, builder.trial), builder.about.folder

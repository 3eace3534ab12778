"""`skill-health report`: one page that answers the four questions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from skill_health.commands.lint import common_options
from skill_health.core.errors import CLEAN, UsageError
from skill_health.core.files import is_folder, is_there

if TYPE_CHECKING:
    from skill_health.page.model import Page


@click.command(short_help="Make one page of all that is known.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--reports", metavar="DIR", help="Folder of the reports (from the configuration, else reports).")
@click.option(
    "--output", metavar="FILE", help="File to write (html: index.html in the reports folder; else standard output)."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["html", "json", "md"]),
    default="html",
    help="The page, what it adds to the other reports as JSON, or a summary in Markdown (html).",
)
@click.option("--title", metavar="TEXT", help="Title of the page (the name of the repository, else Skill health).")
@click.option("--no-script", is_flag=True, help="Write everything into the HTML, for reading without a script.")
@click.option("--site", metavar="DIR", help="Write a folder instead, with a page for each skill: for very many skills.")
@common_options
def command(
    paths: tuple[str, ...], output: str | None, format_: str, no_script: bool, site: str | None, **options: Any
) -> int:
    """Make a page that says whether skills pass, are found and help, with charts, verdicts and next commands.

    Health is checked now; routing and effect are read from the histories and the reports of the last runs. The page
    is one file that needs no network, and says what has changed since the page that it replaces; where that is not
    kept, its state file (index.state.json) is enough. The exit code is 0 whatever it says: `lint` and `daily`
    are the gates.
    """
    from skill_health.core.files import here, is_stream, write_text
    from skill_health.page.request import PAGE, PageOptions, asked, page_of
    from skill_health.text.terminal import clean, echo

    given = PageOptions(**options)
    about = asked(paths, given)
    form, page_file = format_, os.path.join(about.folder, PAGE)
    if site is not None:
        if output or no_script or form != "html":
            raise UsageError("--site writes a folder of pages: leave out --output, --no-script and --format")
        return _write_site(site, page_of(about, given, os.path.abspath(site), os.path.join(site, PAGE)))
    output = output or (page_file if form == "html" else "")
    stream = bool(output) and is_stream(output)
    if output and not stream:
        _check(output, form)
    last = output if form == "html" and not stream else page_file
    place = page_file if stream else output or page_file
    page = page_of(about, given, os.path.dirname(os.path.abspath(place)), last)
    text = _render(page, form, no_script)
    if not output:
        echo(text)
        return CLEAN
    if form == "html" and not stream:
        _keep_state(page, output)
    elif not stream:
        _check_head(output, text)
    write_text(output, text)
    told = clean(f"written: {here(output)}")
    echo(f"{told} ({_grades(page)})\n" if form == "html" else f"{told}\n", err=form != "html" or stream)
    if form == "html" and len(page.status.skills) > _MANY:
        echo(
            f"{len(page.status.skills):,} skills make a large file: --site DIR writes a folder of small ones\n",
            err=True,
        )
    return CLEAN


_MANY = 2_000


def _grades(page: Page) -> str:
    from skill_health.page.model import TOPICS

    return ", ".join(f"{topic.lower()}: {page.answers[at].grade}" for at, topic in TOPICS.items())


def _write_site(folder: str, page: Page) -> int:
    """Write the page, and those of skills and trials, into a folder; pages of what is gone are removed.

    Raises UsageError where the folder holds something of somebody else in the place of a page.
    """
    from skill_health.core.files import here, write_text
    from skill_health.page.html import FOLDER, render_site
    from skill_health.page.request import PAGE
    from skill_health.page.trials.address import FOLDER as TRIALS
    from skill_health.text.terminal import clean, echo

    _check(os.path.join(folder, PAGE), "html")
    written, rewritten = set(), 0
    for inner in (os.path.join(folder, each) for each in (FOLDER, TRIALS)):
        if os.path.islink(inner) or (is_there(inner, links=False) and not is_folder(inner)):
            raise UsageError(f"cannot write {inner}: it is no folder")
    for name, text in render_site(page):
        place = os.path.join(folder, *name.split("/"))
        written.add(name)
        if not _holds(place, text):
            write_text(place, text)
            rewritten += 1
    _keep_state(page, os.path.join(folder, PAGE))
    for name in _own_pages(folder, FOLDER, TRIALS):
        if name not in written:
            os.unlink(os.path.join(folder, *name.split("/")))
    echo(
        clean(
            f"written: {here(folder)}, {len(written):,} pages, {rewritten:,} of them new or changed ({_grades(page)})"
        )
        + "\n"
    )
    return CLEAN


_SKILL_PAGE = re.compile(r"skill-[0-9a-f]{16}\.html")
_TRIAL_PAGE = re.compile(r"trial-[0-9a-f]{16}(?:--trial-[0-9a-f]{16})?\.html")


def _own_pages(folder: str, skills: str, trials: str) -> Iterator[str]:
    """The pages of skills and trials that are in a folder, by their paths with slashes."""
    yield from (f"{skills}/{name}" for name in _files(os.path.join(folder, skills)) if _SKILL_PAGE.fullmatch(name))
    above = os.path.join(folder, trials)
    for run in _files(above):
        if not os.path.islink(place := os.path.join(above, run)):
            yield from (f"{trials}/{run}/{name}" for name in _files(place) if _TRIAL_PAGE.fullmatch(name))


def _files(folder: str) -> list[str]:
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def _holds(path: str, text: str) -> bool:
    """Whether a file holds exactly this text already."""
    from skill_health.core.files import read_bytes

    if not os.path.isfile(path) or os.path.islink(path):
        return False
    raw, problem = read_bytes(path)
    return not problem and raw == text.encode("utf-8", "surrogateescape")


def _render(page: Page, form: str, no_script: bool) -> str:
    if form == "json":
        from skill_health.page.data.gather import render as as_json

        return as_json(page)
    if form == "md":
        from skill_health.page.summary import render as as_markdown

        return as_markdown(page)
    from skill_health.page.html import render as as_html
    from skill_health.page.html import render_plain

    return render_plain(page) if no_script else as_html(page)


def _check(output: str, form: str) -> None:
    """Raise UsageError where the output cannot be written, or is somebody else's."""
    from skill_health.page.request import PAGE

    if os.path.isdir(output) or output.endswith(os.sep):
        raise UsageError(f"cannot write {output}: it is a folder; name a file, such as {os.path.join(output, PAGE)}")
    try:
        os.lstat(output)
    except (FileNotFoundError, NotADirectoryError):
        pass
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {output}: {getattr(error, 'strerror', None) or error}") from None
    if form == "html":
        from skill_health.core.files import foreign
        from skill_health.page.data.changes import read_page_file

        if read_page_file(output) is None:
            raise foreign(output)
    elif is_there(output, links=False) and not os.path.isfile(output):
        raise UsageError(f"cannot write {output}: it is not a regular file")


def _check_head(output: str, text: str) -> None:
    """Raise UsageError where there is a file that does not begin like what is to replace it."""
    from skill_health.core.files import foreign, read_bytes

    if is_there(output, links=False):
        raw, problem = read_bytes(output)
        if problem or (raw.strip() and _kind(raw) != _kind(text.encode())):
            raise foreign(output)


def _kind(text: bytes) -> bytes:
    """What tells documents of ours from others: of a summary its third line without figures, else the first two."""
    lines = text.split(b"\n", 3)
    if len(lines) > 2 and lines[0].startswith(b"# ") and not lines[1]:
        return re.sub(rb"^[\d,]+ skills?, [\d-]{10}, (skill-health) .*", rb"summary \1", lines[2])
    return b"\n".join(lines[:2])


def _keep_state(page: Page, output: str) -> None:
    """Write the state beside the page. Raises UsageError where something else is in its place."""
    from skill_health.core.files import check, write_text
    from skill_health.page.data.changes import HEAD, state_file, state_text

    check(state_file(output), HEAD.encode())
    write_text(state_file(output), state_text(page.own.state))

"""`serve` in a real browser: the page shows itself anew when a skill changes."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import drafts_made
import pytest
from browser_driver import AS_OF, BROWSERS, chromium, missing, names_shown, running, visit
from msgspec.structs import replace

from benchmarks._made_page import Size, write_page
from skill_health.drafts.store import add_drafts

pytestmark = pytest.mark.real


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    write_page(tmp_path, Size(3, 4, 60, 2, 2), seed=1)
    command = [sys.executable, "-m", "skill_health", "serve", "--port", "0", "--as-of", AS_OF]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        try:
            said = server.stdout.readline()
            address = re.search(r"http://127\.0\.0\.1:\d+/", said)
            assert address, said
            yield tmp_path, address[0]
        finally:
            server.terminate()


@pytest.mark.smoke
@pytest.mark.parametrize("name", BROWSERS)
def test_the_page_follows_a_change_of_a_skill(name: str, served: tuple[Path, str]) -> None:
    root, address = served
    with running(name) as browser, visit(browser, address) as seen:
        before = names_shown(seen.page)
        assert len(before) == 3
        folder = root / "skills" / "sort-new-crates"
        folder.mkdir()
        text = "---\nname: sort-new-crates\ndescription: Sorts new crates. Use when crates come in.\n---\n# New crates\n\nSort them.\n"
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
        seen.page.locator("#table tbody tr").nth(3).wait_for(timeout=30_000)
        assert "sort-new-crates" in names_shown(seen.page)
        (folder / "SKILL.md").write_text(
            text.replace("name: sort-new-crates", "name: sort-old-crates"), encoding="utf-8"
        )
        seen.page.locator("#table", has_text="sort-old-crates").wait_for(timeout=30_000)
        # The page asks for nothing but itself and its own events.
        assert seen.wrong == []


@pytest.mark.skipif(bool(missing()), reason=missing())
def test_a_draft_is_edited_and_accepted_on_the_page(served: tuple[Path, str]) -> None:
    root, address = served
    name = sorted(path.name for path in (root / "skills").iterdir())[0]
    made = drafts_made.draft("which of these is the oldest one of all", expected=name)
    add_drafts(str(root), [replace(made, skills=(replace(made.skills[0], name=name),))])
    with chromium() as browser, visit(browser, f"{address}drafts") as seen:
        area = seen.page.locator("textarea")
        area.fill(area.input_value().replace("oldest", "newest"))
        seen.page.get_by_role("button", name="Accept").click()
        seen.page.get_by_text("is accepted.").wait_for(timeout=30_000)
    assert "which of these is the newest one of all" in "".join(
        path.read_text("utf-8") for path in root.rglob("prompts.jsonl")
    )

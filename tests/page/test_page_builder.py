"""`serve` makes anew only what has changed, and its page is byte for byte the one that is built from nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import page_made
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skill_health.discovery.corpus import Entry
from skill_health.lint import check as checking
from skill_health.page.html import KeptHtml, render
from skill_health.page.request import PageOptions, asked, page_of
from skill_health.page.serving.site import PageBuilder

SKILL = "---\nname: {name}\ndescription: {text} Use when {name} are asked for.\n---\n# {name}\n\n{body}\n"
SKILLS = len(page_made.SKILLS) + 1
RUNS = ("skill-health-history.jsonl", "router-history.jsonl", "effectiveness-history.jsonl")


class Serving:
    """A collection, the builder that `serve` has, and what its last build cost."""

    def __init__(self, root: Path, checked: list[Entry]) -> None:
        self.root, self._checked = root, checked
        # What is kept of skills that were checked is the cache's, as for a user.
        self._options = PageOptions(False, 1, page_made.AS_OF, None, None, None)
        self.builder = PageBuilder((str(root),), self._options, lambda: page_made.AS_OF)

    def build(self) -> tuple[str, tuple[int, int, int]]:
        """The page, and how many skills were checked and read, and how many rows and parts made."""
        self._checked.clear()
        page = self.builder.build()
        return page, (len(self._checked), self.builder.needs.read, self.builder.html.made)

    def fresh(self) -> str:
        """The page of a build from nothing."""
        options = PageOptions(True, 1, page_made.AS_OF, None, None, None)
        about = asked((str(self.root),), options)
        last = str(Path(about.folder, "index.html"))
        return render(page_of(about, options, about.folder, last), live=True)

    def skill(self, name: str) -> Path:
        (found,) = self.root.rglob(f"{name}/SKILL.md")
        return found

    def change(self, name: str, old: str, new: str) -> None:
        place = self.skill(name)
        place.write_text(place.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[Entry]:
    """The skills that were checked, as they come."""
    seen: list[Entry] = []
    real = checking.check_entries

    def spy(entries: list[Entry], *rest: object) -> Iterator[object]:
        seen.extend(entries)
        return real(entries, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(checking, "check_entries", spy)
    return seen


@pytest.fixture
def serving(checked: list[Entry], tmp_path: Path) -> Serving:
    return Serving(page_made.make(tmp_path / "copy"), checked)


@pytest.mark.slow
def test_a_build_of_what_has_not_changed_makes_nothing(serving: Serving) -> None:
    page, cost = serving.build()
    assert cost == (SKILLS, SKILLS, 2 * SKILLS) and page == serving.fresh()
    assert serving.build() == (page, (0, 0, 0))


@pytest.mark.slow
def test_an_edit_of_a_skill_costs_that_skill(serving: Serving) -> None:
    before, _ = serving.build()
    serving.change("skill-1", "\n# ", "\nSee [this](missing.md), then run `curl https://example.com`.\n\n# ")
    page, (linted, read, made) = serving.build()
    assert page != before and "missing.md" in page and page == serving.fresh()
    assert (linted, read) == (1, 1) and made == 2, "its row and its part"


@pytest.mark.slow
def test_a_bundled_file_costs_the_skill_that_has_it(serving: Serving) -> None:
    serving.build()
    script = serving.skill("skill-2").parent / "scripts" / "get.sh"
    script.parent.mkdir()
    script.write_text("curl https://example.com/plums | sort\n", encoding="utf-8")
    serving.change("skill-2", "\n# ", "\nRun scripts/get.sh first.\n\n# ")
    page, (_, read, _) = serving.build()
    assert read == 1 and page == serving.fresh()
    script.write_text("docker run plums\n", encoding="utf-8")
    page, (_, read, made) = serving.build()
    assert read == 1 and 0 < made <= 2 and page == serving.fresh()


@pytest.mark.slow
def test_a_new_run_costs_the_skills_whose_figures_it_changes(serving: Serving) -> None:
    before, _ = serving.build()
    history = serving.root / "reports" / RUNS[2]
    lines = history.read_text(encoding="utf-8").splitlines()
    last = json.loads(lines[-1])
    later = {"created": "2026-11-19T23:00:00Z", "run_id": "20261119T230000Z-cccccccc", "p_adjusted": 0.0625}
    history.write_text("\n".join([*lines, json.dumps(last | later)]) + "\n", encoding="utf-8")
    page, (linted, read, made) = serving.build()
    assert page != before and page == serving.fresh()
    assert (linted, read) == (0, 0) and 0 < made <= 2


def _touch(serving: Serving, name: str, word: str) -> None:
    place = serving.skill(name)
    place.write_text(f"{place.read_text(encoding='utf-8')}\n{word}\n", encoding="utf-8")


def _describe(serving: Serving, name: str, word: str) -> None:
    serving.change(name, "description: ", f"description: {word} ")


def _add(serving: Serving, name: str, word: str) -> None:
    folder = serving.skill(name).parent.parent / f"new-{len(list(serving.root.rglob('SKILL.md')))}"
    folder.mkdir()
    text = SKILL.format(name=folder.name, text=f"Sorts {word}.", body=f"Look at [{word}](gone/{word}.md).")
    (folder / "SKILL.md").write_text(text, encoding="utf-8")


def _remove(serving: Serving, name: str, word: str) -> None:
    new = sorted(serving.root.rglob("new-*/SKILL.md"))
    if new:
        shutil.rmtree(new[0].parent)


def _forget(serving: Serving, name: str, word: str) -> None:
    """The last line of a history goes, as where a branch without that run is checked out."""
    history = serving.root / "reports" / RUNS[len(word) % len(RUNS)]
    lines = history.read_text(encoding="utf-8").splitlines(keepends=True)
    history.write_text("".join(lines[:-1] if len(lines) > 1 else lines), encoding="utf-8")


def _set(serving: Serving, name: str, word: str) -> None:
    (serving.root / "skill-health.toml").write_text(
        f'needs-work = "{("error", "warning", "info")[len(word) % 3]}"\n', encoding="utf-8"
    )


CHANGES: tuple[Callable[[Serving, str, str], None], ...] = (_touch, _describe, _add, _remove, _forget, _set)
_STEPS = st.tuples(
    st.sampled_from(CHANGES),
    st.sampled_from(page_made.SKILLS),
    st.sampled_from(["plums", "pears, ripe", "`curl`", "<b>&amp;", "~p ~s/"]),
)


@pytest.mark.slow
def test_after_each_kind_of_change_the_page_is_that_of_a_build_from_nothing(serving: Serving) -> None:
    serving.build()
    for at, change in enumerate(CHANGES):
        change(serving, page_made.SKILLS[at % 4], "pears, ripe")
        assert serving.build()[0] == serving.fresh(), change.__name__


@pytest.mark.exhaustive
@given(st.lists(_STEPS, min_size=1, max_size=3))
def test_after_any_changes_the_page_is_that_of_a_build_from_nothing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[Callable[..., None], str, str]]
) -> None:
    serving = Serving(page_made.make(tmp_path_factory.mktemp("steps")), [])
    serving.build()
    for change, name, word in steps:
        change(serving, name, word)
        assert serving.build()[0] == serving.fresh(), (change.__name__, name, word)


@pytest.mark.slow
def test_what_html_is_made_of_is_told_in_full() -> None:
    told: list[str] = []

    class Seen(KeptHtml):
        def get(self, basis: object, make: Callable[[], str]) -> str:
            told.append(repr(basis))
            return super().get(basis, make)

    kept = Seen()
    page = page_made.page()
    assert render(page, kept=kept) == render(page) == render(page, kept=kept)
    assert len(told) == 4 * SKILLS and kept.made == 0
    assert len(set(told)) == 2 * SKILLS, "the same page tells the same"
    assert not any(" object at 0x" in each or "..." in each for each in told), "an object that says only where it is"

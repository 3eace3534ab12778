"""What can be wrong with a skill, one thing at a time: for `scripts/validators.py`."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

Change = Callable[[str], str]
_HEAD = re.compile(r"\A---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_SECTION = re.compile(r"^## .*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
WORDS = "Use this skill when a report must be written for a reader who knows nothing of it. "


def mutate(folder: Path, name: str) -> bool:
    """Do one thing to a skill; whether anything has changed."""
    return MUTATIONS[name](folder)


def in_text(change: Change) -> Callable[[Path], bool]:
    """A mutation of the text of SKILL.md."""

    def apply(folder: Path) -> bool:
        path = folder / "SKILL.md"
        before = path.read_bytes()
        after = change(before.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        path.write_bytes(after)
        return after != before

    return apply


def in_head(change: Change) -> Callable[[Path], bool]:
    """A mutation of the lines of the frontmatter."""

    def apply(text: str) -> str:
        found = _HEAD.match(text)
        return text[: found.start(1)] + change(found[1]) + text[found.end(1) :] if found else text

    return in_text(apply)


def set_key(key: str, value: str) -> Callable[[Path], bool]:
    """A mutation that gives a key another value, in the place where it stands, else at the end."""
    line = f"{key}:{value}\n"

    def change(head: str) -> str:
        pattern = rf"(?m)^{re.escape(key)}:.*\n(?:[ \t]+.*\n|[ \t]*\n)*"
        return re.sub(pattern, lambda _: line, head, count=1) if re.search(pattern, head) else head + line

    return in_head(change)


def drop_key(key: str) -> Callable[[Path], bool]:
    """A mutation that removes a key with its value."""
    return in_head(lambda head: re.sub(rf"(?m)^{re.escape(key)}:.*\n(?:[ \t]+.*\n)*", "", head))


def add_text(text: str) -> Callable[[Path], bool]:
    """A mutation that adds to the end of the body."""
    return in_text(lambda before: f"{before.rstrip()}\n\n{text}\n")


def drop_section(number: int) -> Change:
    """Removes a section of the second level."""

    def change(text: str) -> str:
        found = list(_SECTION.finditer(text))
        return text[: found[number].start()] + text[found[number].end() :] if len(found) > abs(number) else text

    return change


def add_file(name: str, text: str = "# Notes\n\nSome.\n") -> Callable[[Path], bool]:
    """A mutation that adds a bundled file."""

    def apply(folder: Path) -> bool:
        path = folder / name
        if path.exists() or (path.parent.exists() and not path.parent.is_dir()):
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return True

    return apply


def drop_file(folder_name: str, number: int = 0) -> Callable[[Path], bool]:
    """A mutation that removes one of the files in a sub-folder."""

    def apply(folder: Path) -> bool:
        files = sorted(path for path in (folder / folder_name).glob("*.md") if path.is_file())
        if not files:
            return False
        files[number].unlink()
        return True

    return apply


def drop_folder(name: str) -> Callable[[Path], bool]:
    """A mutation that removes a sub-folder."""

    def apply(folder: Path) -> bool:
        there = (folder / name).is_dir()
        shutil.rmtree(folder / name, ignore_errors=True)
        return there

    return apply


def in_reference(change: Change) -> Callable[[Path], bool]:
    """A mutation of the first reference file."""

    def apply(folder: Path) -> bool:
        path = next(iter(sorted((folder / "references").glob("*.md"))), None)
        if path is None:
            return False
        before = path.read_text("utf-8")
        path.write_text(change(before), "utf-8")
        return change(before) != before

    return apply


def described(length: int) -> str:
    """A description of so many characters."""
    return " " + (WORDS * (length // len(WORDS) + 1))[: length - 1].replace(": ", " ") + "x"


def add_folder_name(text: str) -> Callable[[Path], bool]:
    """A mutation that adds a text with the folder's name in it."""

    def apply(folder: Path) -> bool:
        return add_text(text.replace("FOLDER", folder.name))(folder)

    return apply


MUTATIONS: dict[str, Callable[[Path], bool]] = {
    "drop-name": drop_key("name"),
    "drop-description": drop_key("description"),
    "drop-license": drop_key("license"),
    "drop-risk": drop_key("risk"),
    "drop-source": drop_key("source"),
    "drop-user-invocable": drop_key("user-invocable"),
    "drop-all-keys": in_head(lambda _: ""),
    "empty-name": set_key("name", ""),
    "empty-name-in-quotes": set_key("name", ' ""'),
    "empty-description": set_key("description", ' ""'),
    "null-description": set_key("description", ""),
    "name-in-capitals": set_key("name", " My-Skill"),
    "name-with-underscore": set_key("name", " my_skill"),
    "name-with-two-hyphens": set_key("name", " my--skill"),
    "name-with-space": set_key("name", " my skill"),
    "name-of-64": set_key("name", " " + "a" * 64),
    "name-of-65": set_key("name", " " + "a" * 65),
    "name-of-another": set_key("name", " another-skill"),
    "name-in-quotes": in_head(lambda head: re.sub(r"(?m)^name: *([\w-]+) *$", r'name: "\1"', head)),
    "name-is-number": set_key("name", " 123"),
    "name-is-list": set_key("name", " [a, b]"),
    "name-key-in-capitals": in_head(lambda head: head.replace("name:", "Name:", 1)),
    "name-key-indented": in_head(lambda head: re.sub(r"(?m)^name:", "  name:", head)),
    "name-twice": in_head(lambda head: head + "name: twice\n"),
    "description-of-1024": set_key("description", described(1024)),
    "description-of-1025": set_key("description", described(1025)),
    "description-of-1024-in-quotes": set_key("description", f' "{described(1024).strip()}"'),
    "description-of-1025-in-quotes": set_key("description", f' "{described(1025).strip()}"'),
    "description-of-3000": set_key("description", described(3000)),
    "description-of-3000-folded": set_key("description", " >-\n" + "".join(f"  {WORDS}\n" for _ in range(38))),
    "description-of-3000-literal": set_key("description", " |\n" + "".join(f"  {WORDS}\n" for _ in range(38))),
    "description-over-lines": set_key("description", f" {WORDS}\n  {WORDS}"),
    "description-in-quotes": set_key("description", f' "{WORDS.strip()}"'),
    "description-in-single-quotes": set_key("description", f" '{WORDS.strip()}'"),
    "description-quote-unclosed": set_key("description", f' "{WORDS.strip()}'),
    "description-with-colon": set_key("description", " Writes: reports: and more"),
    "description-of-3-words": set_key("description", " Writes good reports"),
    "description-of-29-words": set_key("description", " " + " ".join(["word"] * 29)),
    "description-of-30-words": set_key("description", " " + " ".join(["word"] * 30)),
    "description-of-cjk": set_key("description", " 報告を書くときに使う " + "言葉 " * 40),
    "description-hyphenated": set_key("description", " " + "well-written " * 15),
    "description-with-beta": set_key("description", f" [BETA] {WORDS}"),
    "description-with-comment": set_key("description", f" {WORDS}# a comment"),
    "description-with-angle-brackets": set_key("description", f" <b>{WORDS}</b>"),
    "description-is-list": set_key("description", "\n  - one\n  - two"),
    "description-key-misspelled": in_head(lambda head: head.replace("description:", "descripton:", 1)),
    "description-with-when": set_key("description", f" WHEN {WORDS}"),
    "risk-none": set_key("risk", " none"),
    "risk-safe-in-quotes": set_key("risk", ' "safe"'),
    "risk-unknown": set_key("risk", " unknown"),
    "risk-in-capitals": set_key("risk", " Safe"),
    "risk-empty": set_key("risk", ""),
    "risk-with-comment": set_key("risk", " safe # really"),
    "risk-offensive": set_key("risk", " offensive"),
    "risk-offensive-in-quotes": set_key("risk", " 'offensive'"),
    "license-apache": set_key("license", " Apache-2.0"),
    "license-in-quotes": set_key("license", ' "MIT"'),
    "license-with-comment": set_key("license", " MIT # the usual"),
    "license-long": set_key("license", " " + "MIT " * 40),
    "license-empty": set_key("license", ""),
    "license-is-number": set_key("license", " 2"),
    "invocable-as-text": set_key("user-invocable", ' "yes"'),
    "key-unknown": set_key("owner", " me"),
    "key-with-flow-list": set_key("tags", " [a, b]"),
    "key-with-list": set_key("tags", "\n  - a\n  - b"),
    "key-with-flow-mapping": set_key("author", " {name: me}"),
    "metadata-last": set_key("metadata", "\n  author: me"),
    "metadata-with-number": set_key("metadata", "\n  version: 1.0"),
    "metadata-is-text": set_key("metadata", " text"),
    "metadata-then-key": in_head(lambda head: head + "metadata: x\nmodel: inherit\n"),
    "compatibility-long": set_key("compatibility", " " + "any host " * 60),
    "tools-as-list": set_key("allowed-tools", "\n  - Read\n  - Write"),
    "tools-empty": set_key("allowed-tools", ' ""'),
    "line-without-colon": in_head(lambda head: head + "just a line\n"),
    "line-with-tab": in_head(lambda head: head + "\tmodel: x\n"),
    "list-item-in-head": in_head(lambda head: head + "- item\n"),
    "comment-in-head": in_head(lambda head: "# a comment\n" + head),
    "blank-line-in-head": in_head(lambda head: "\n" + head),
    "flow-unclosed": in_head(lambda head: head + "tags: [a, b\n"),
    "no-frontmatter": in_text(lambda text: _HEAD.sub("", text, count=1).lstrip()),
    "no-closing-fence": in_text(lambda text: _HEAD.sub(lambda found: f"---\n{found[1]}", text, count=1)),
    "blank-line-before": in_text(lambda text: "\n" + text),
    "fence-with-space": in_text(lambda text: re.sub(r"\A---", "--- ", text)),
    "four-hyphens": in_text(lambda text: re.sub(r"\A---", "----", text)),
    "byte-order-mark": in_text(lambda text: "\ufeff" + text),
    "crlf": in_text(lambda text: text.replace("\r\n", "\n").replace("\n", "\r\n")),
    "byte-that-is-no-utf8": in_text(lambda text: text + "\udcff\n"),
    "empty-file": in_text(lambda _: ""),
    "drop-first-section": in_text(drop_section(0)),
    "drop-second-section": in_text(drop_section(1)),
    "drop-last-section": in_text(drop_section(-1)),
    "drop-all-headings": in_text(lambda text: re.sub(r"(?m)^#+ ", "", text)),
    "headings-one-deeper": in_text(lambda text: re.sub(r"(?m)^(#+ )", r"#\1", text)),
    "headings-in-capitals": in_text(lambda text: re.sub(r"(?m)^## .*$", lambda found: found[0].upper(), text)),
    "drop-scope": in_text(lambda text: re.sub(r"(?m)^## Scope$", "Scope", text)),
    "drop-end-of-scope": in_text(lambda text: re.sub(r"(?m)^## Out of scope$", "Not this", text)),
    "add-when-to-use": add_text("## When to Use\n\nAlways."),
    "add-scope": add_text("## Scope\n\n- All of it"),
    "body-of-600-lines": add_text("A line.\n" * 600),
    "body-of-5000-words": add_text("word " * 5000),
    "authorized": add_text("AUTHORIZED USE ONLY"),
    "home-path": add_text("See /Users/me/notes.md for more."),
    "home-path-exempt": add_text("See /Users/me/notes.md. <!-- CHK-SKL-011-exempt: a citation -->"),
    "plugin-path": add_text("See domain-teams/skills/some-team/SKILL.md."),
    "launch-missing-file": in_text(
        lambda text: re.sub(
            r"(\{base_path\}/(?:standards|protocols|checklists|rubrics)/)[\w.-]+\.md", r"\1gone.md", text
        )
    ),
    "names-itself": add_folder_name("See [skill:FOLDER]."),
    "names-itself-in-code": add_folder_name("```\n[skill:FOLDER]\n```"),
    "names-nobody": add_text("See [skill:there-is-no-such-skill]."),
    "says-preview": add_text("> **Preview** of what comes."),
    "says-status": add_text("> **Status:** beta"),
    "quotes-something": add_text("> **Two ways.** Take one."),
    "routed-file-missing": in_text(lambda text: text.replace("references/", "reference/")),
    "top-level-text": add_file("notes.txt"),
    "top-level-readme": add_file("README.md"),
    "top-level-readme-translated": add_file("README.zh-TW.md"),
    "top-level-prompts": add_file("test-prompts.json", "{}\n"),
    "foreign-folder": add_file("extra/notes.md"),
    "nested-folder": add_file("references/more/notes.md"),
    "asset": add_file("assets/template.md"),
    "research-unversioned": add_file("research/notes.md"),
    "research-versioned": add_file("research/grounding-v1.2.3.md"),
    "drop-reference": drop_file("references"),
    "drop-standard": drop_file("standards"),
    "drop-protocols": drop_folder("protocols"),
    "drop-rubrics": drop_folder("rubrics"),
    "drop-checklists": drop_folder("checklists"),
    "reference-without-title": in_reference(lambda text: re.sub(r"(?m)^# .*\n", "", text)),
    "reference-title-as-slug": in_reference(lambda text: re.sub(r"(?m)^# .*$", "# dotnet-thing", text, count=1)),
    "reference-title-in-code": in_reference(lambda text: "```\n# Title\n```\n" + re.sub(r"(?m)^# .*\n", "", text)),
    "reference-with-scope": in_reference(lambda text: text + "\n## Scope\n\n- x\n"),
    "reference-with-scope-in-code": in_reference(lambda text: text + "\n```\n## Scope\n```\n"),
    "reference-names-nobody": in_reference(lambda text: text + "\nSee [skill:there-is-no-such-skill].\n"),
    "reference-names-nobody-in-code": in_reference(lambda text: text + "\n```\n[skill:there-is-no-such-skill]\n```\n"),
}

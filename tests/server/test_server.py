"""The server as an editor has it: a process that a real client drives over standard input and output."""

from __future__ import annotations

import asyncio
import io
import json
import os
import socket
import sys
from collections.abc import Callable, Coroutine, Mapping
from functools import wraps
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from editor import PATIENCE, Editor, applied, editor
from lsprotocol import types

from skill_health.core import extras

Run = Callable[..., Any]
Write = Callable[[Mapping[str, str]], Path]
HEAD = "---\nname: tidy\ndescription: Tidies lists. Use when a list is out of order.\n---\n# Tidy\n\n"
OTHER = HEAD.replace("name: tidy", "name: other").replace("Tidies lists", "Sorts tables by their columns")
WHOLE = types.Range(types.Position(0, 0), types.Position(9999, 0))


def driven(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that awaits."""
    return wraps(test)(lambda **given: asyncio.run(test(**given)))


def path_of(uri: str) -> Path:
    return Path(unquote(urlsplit(uri).path))


def capable(**given: Any) -> types.ClientCapabilities:
    return types.ClientCapabilities(**given)


@pytest.mark.slow
@driven
async def test_findings_follow_what_is_typed(write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD + "See [gone](gone.md).\n"})

    async with editor(root, process=True) as here:
        uri = await here.open(root / "skills/tidy/SKILL.md")
        (first,) = await here.found(uri)
        assert (first.code, first.source, first.severity) == (
            "LI001", "skill-health", types.DiagnosticSeverity.Warning,
        )  # fmt: skip
        assert (first.range.start, first.range.end) == (types.Position(6, 4), types.Position(6, 19))
        assert first.code_description and "# LI001 broken-link" in path_of(first.code_description.href).read_text()
        here.change(uri, HEAD + "A bell\x07.\n")
        assert await here.codes(uri) == ["FM008"]
        here.change(uri, HEAD + "Sort it.\n")
        assert await here.codes(uri) == []
        (root / "skills/tidy/SKILL.md").write_text(HEAD + "Sort it.\n")
        here.save(uri)
        assert await here.codes(uri) == []
        here.close(uri)
        assert (await here.next(uri)).diagnostics == ()


@pytest.mark.slow
@driven
async def test_it_finds_what_lint_finds(run: Run, checkout: Path) -> None:
    root = checkout / "fixtures" / "rotten"
    listed = json.loads(run("lint", "--format", "json", "--no-cache", ".", cwd=root).stdout)["findings"]
    paths = sorted((root / "skills").glob("*/SKILL.md")) + sorted((root / "skills").glob("*/references/*.md"))

    async with editor(root) as here:
        for path in paths:
            uri = await here.open(path, path.read_bytes().decode("utf-8", "replace"))
            inner = str(path.relative_to(root))
            wanted = sorted((f["code"], f["line"] - 1) for f in listed if f["path"] == inner)
            assert sorted((str(d.code), d.range.start.line) for d in await here.found(uri)) == wanted, inner
            here.close(uri)


@pytest.mark.slow
@driven
async def test_what_one_file_changes_in_another_is_seen_there(write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD + "Sort it.\n", "skills/other/SKILL.md": OTHER + "See [it](a.md).\n"})
    (root / ".git").mkdir()

    async with editor(root) as here:
        tidy = await here.open(root / "skills/tidy/SKILL.md")
        assert await here.codes(tidy) == []
        other = await here.open(root / "skills/other/SKILL.md")
        assert await here.codes(other) == ["LI001"]
        here.change(other, OTHER.replace("name: other", "name: tidy") + "See [it](a.md).\n")
        while not any(each.code == "RT001" for each in (await here.next(tidy)).diagnostics):
            pass
        await here.found(other)
        await here.found(await here.open(root / "skills/other/a.md", "# A\n"))
        while any(each.code == "LI001" for each in (await here.next(other)).diagnostics):
            pass


@pytest.mark.slow
@pytest.mark.parametrize("encoding", [None, "utf-8", "utf-16", "utf-32"])
@driven
async def test_positions_are_in_the_units_that_were_agreed(encoding: str | None, write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD})
    text = HEAD + "🎉 日本語 é [gone](gone.md) and 👩‍👩‍👧 [a](b.md) \x07\n"
    general = (
        types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind(encoding)]) if encoding else None
    )
    codec, width = {"utf-8": ("utf-8", 1), "utf-32": ("utf-32-le", 4)}.get(encoding or "", ("utf-16-le", 2))

    async with editor(root, capable(general=general)) as here:
        uri = await here.open(root / "skills/tidy/SKILL.md", text)
        found = [each for each in await here.found(uri) if each.range.start.line == 6]
        line = text.split("\n")[6].encode(codec)
        marked = [line[d.range.start.character * width : d.range.end.character * width].decode(codec) for d in found]
        assert sorted(marked) == sorted(["[gone](gone.md)", "[a](b.md)", "\x07"])
        (bell,) = [each for each in found if each.code == "FM008"]
        assert "FM008" in await here.hover(uri, 6, bell.range.start.character)
        (fix,) = [each for each in await here.actions(uri, bell.range) if each.is_preferred]
        assert fix.edit and fix.edit.changes
        assert applied(text, list(fix.edit.changes[uri]), codec, width) == text.replace("\x07", "")


@pytest.mark.slow
@driven
async def test_fixes_comments_and_explanations(run: Run, write: Write) -> None:
    text = HEAD.replace("name: tidy", "nmae: tidy") + "A bell\x07.\n\ndon\xe2\x80\x99t\n"
    root = write({"skills/tidy/SKILL.md": text})
    path = root / "skills/tidy/SKILL.md"

    window = types.WindowClientCapabilities(show_document=types.ShowDocumentClientCapabilities(True))
    async with editor(root, capable(window=window)) as here:
        uri = await here.open(path)
        await here.found(uri)
        actions = {each.title: each for each in await here.actions(uri, WHOLE)}
        unsafe = actions["Turn back what was read in the wrong encoding (FM008, unsafe)"]
        assert unsafe.edit and unsafe.edit.changes and not unsafe.is_preferred
        assert "don’t" in applied(text, list(unsafe.edit.changes[uri]))
        assert actions["Delete the control characters (FM008)"].is_preferred
        assert not await here.actions(uri, types.Range(types.Position(5, 0), types.Position(5, 0)))
        explain = next(each for each in await here.commands(uri, WHOLE) if each.title == "Explain FM008")
        assert explain.arguments
        params = types.ExecuteCommandParams(explain.command, list(explain.arguments))
        await here.client.workspace_execute_command_async(params)
        assert "# FM008 control-character" in path_of(here.shown[0]).read_text()
        assert await here.actions(uri, WHOLE, "refactor") == []
        (every,) = await here.actions(uri, WHOLE, "source.fixAll")
        assert every.edit and every.edit.changes
        fixed = applied(text, list(every.edit.changes[uri]))
        ignore = next(each for each in actions.values() if each.title == "Ignore FM008 here")
        assert ignore.edit and ignore.edit.changes
        left = [str(each.code) for each in await _codes_after(here, uri, applied(text, list(ignore.edit.changes[uri])))]
        assert left.count("FM008") == 1 and "IG001" not in left
        run("lint", "--fix", path)
        assert path.read_text() == fixed


async def _codes_after(here: Editor, uri: str, text: str) -> list[types.Diagnostic]:
    here.change(uri, text)
    return await here.found(uri)


@pytest.mark.slow
@driven
async def test_an_editor_that_opens_no_documents_is_told(write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD + "Sort it.\n"})

    async with editor(root) as here:
        await here.client.workspace_execute_command_async(types.ExecuteCommandParams("skill-health.explain", ["LI001"]))
        shown = await asyncio.wait_for(here.messages.get(), PATIENCE)
        assert shown.message.startswith("# LI001 broken-link")


@pytest.mark.slow
@driven
async def test_a_new_name_is_offered_where_the_editor_can_give_it(write: Write) -> None:
    root = write({"skills/tidy/skill.md": HEAD + "Sort it.\n"})
    can = types.WorkspaceEditClientCapabilities(resource_operations=[types.ResourceOperationKind.Rename])
    workspace = types.WorkspaceClientCapabilities(workspace_edit=can)

    for given, names in ((capable(workspace=workspace), ["SKILL.md"]), (capable(), [])):
        async with editor(root, given) as here:
            uri = await here.open(root / "skills/tidy/skill.md")
            assert "FM027" in await here.codes(uri)
            edits = [each.edit for each in await here.actions(uri, WHOLE) if each.edit and each.edit.document_changes]
            renames = [change for edit in edits for change in edit.document_changes or ()]
            assert [path_of(each.new_uri).name for each in renames if isinstance(each, types.RenameFile)] == names


@pytest.mark.slow
@driven
async def test_rules_are_explained_where_they_are_named(write: Write) -> None:
    toml = 'ignore = ["LI001", "unused-ignore"]\n'
    body = "<!-- skill-health: ignore LI001 there soon -->\nSee [gone](gone.md).\n"
    root = write({"skills/tidy/SKILL.md": HEAD + body, "skill-health.toml": "ignore = []\n"})

    async with editor(root) as here:
        settings = await here.open(root / "skill-health.toml", toml, "toml")
        assert (await here.hover(settings, 0, 13)).startswith("# LI001 broken-link")
        assert (await here.hover(settings, 0, 24)).startswith("# IG001 unused-ignore")
        assert await here.hover(settings, 0, 2) == await here.hover(settings, 999, 5) == ""
        skill = await here.open(root / "skills/tidy/SKILL.md")
        assert await here.codes(skill) == []
        assert (await here.hover(skill, 6, 30)).startswith("# LI001 broken-link")
        assert await here.hover(skill, 7, 8) == ""


@pytest.mark.slow
@driven
async def test_links_lead_to_files(write: Write) -> None:
    body = (
        "See [a](references/a%20b.md#top), `scripts/run.py`, `no/file.md`, [gone](gone.md) and <https://example.com>.\n"
    )
    root = write(
        {
            "skills/tidy/SKILL.md": HEAD + "🎉 " + body, "skills/tidy/references/a b.md": "# A\n\nSee [up](../SKILL.md) and `c.md`.\n",
            "skills/tidy/references/c.md": "# C\n", "skills/tidy/scripts/run.py": "print()\n",
        }
    )  # fmt: skip
    (root / "skills/tidy/out.md").symlink_to("/etc/hostname")

    async def links(here: Editor, uri: str) -> list[tuple[int, str]]:
        params = types.DocumentLinkParams(types.TextDocumentIdentifier(uri))
        found = await here.client.text_document_document_link_async(params)
        return [(each.range.start.character, path_of(each.target or "").name) for each in found or []]

    async with editor(root) as here:
        uri = await here.open(root / "skills/tidy/SKILL.md")
        assert sorted(await links(here, uri)) == [(7, "a b.md"), (38, "run.py")]
        bundled = await here.open(root / "skills/tidy/references/a b.md")
        assert sorted(await links(here, bundled)) == [(4, "SKILL.md"), (27, "c.md")]
        here.change(uri, HEAD + "See [out](out.md).\n")
        assert await links(here, uri) == []


@pytest.mark.slow
@driven
async def test_settings_that_change_count_at_once(write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD + "See [gone](gone.md).\n", "skill-health.toml": ""})
    watch = types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True)
    workspace = types.WorkspaceClientCapabilities(did_change_watched_files=watch)

    async with editor(root, capable(workspace=workspace)) as here:
        uri = await here.open(root / "skills/tidy/SKILL.md")
        assert await here.codes(uri) == ["LI001"]
        assert [each.method for each in here.registered] == ["workspace/didChangeWatchedFiles"]
        for text, codes in (('ignore = ["LI001"]\n', []), ("ignore = [\n", []), ("", ["LI001"])):
            (root / "skill-health.toml").write_text(text)
            event = types.FileEvent((root / "skill-health.toml").as_uri(), types.FileChangeType.Changed)
            here.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))
            assert await here.codes(uri) == codes
        shown = await asyncio.wait_for(here.messages.get(), PATIENCE)
        assert "skill-health.toml" in shown.message and "\n" not in shown.message
        (root / "skills/tidy/gone.md").write_text("# There\n")
        here.client.workspace_did_change_configuration(types.DidChangeConfigurationParams(None))
        assert await here.codes(uri) == []


@pytest.mark.slow
@driven
async def test_each_folder_has_its_settings(write: Write) -> None:
    root = write(
        {
            "one/skills/tidy/SKILL.md": HEAD + "See [gone](gone.md).\n", "one/skill-health.toml": 'ignore = ["LI001"]\n',
            "two/skills/tidy/SKILL.md": HEAD + "See [gone](gone.md).\n", "two/skill-health.toml": '[severity]\nLI001 = "error"\n',
        }
    )  # fmt: skip

    async with editor(root / "one") as here:
        added = types.WorkspaceFoldersChangeEvent([types.WorkspaceFolder((root / "two").as_uri(), "two")], [])
        here.client.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(added))
        one = await here.open(root / "one/skills/tidy/SKILL.md")
        assert await here.found(one) == []
        two = await here.open(root / "two/skills/tidy/SKILL.md")
        assert [each.severity for each in await here.found(two)] == [types.DiagnosticSeverity.Error]


@pytest.mark.slow
@driven
async def test_an_editor_that_asks_is_not_told_twice(write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD + "See [gone](gone.md).\n"})
    document = types.TextDocumentClientCapabilities(diagnostic=types.DiagnosticClientCapabilities())
    workspace = types.WorkspaceClientCapabilities(diagnostics=types.DiagnosticWorkspaceClientCapabilities(True))

    async with editor(root, capable(text_document=document, workspace=workspace)) as here:
        uri = await here.open(root / "skills/tidy/SKILL.md")
        params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
        report: Any = await here.client.text_document_diagnostic_async(params)
        assert [each.code for each in report.items] == ["LI001"]
        here.change(uri, HEAD + "Sort it.\n")
        report = await here.client.text_document_diagnostic_async(params)
        assert list(report.items) == []
        here.save(uri)
        await asyncio.wait_for(here.refreshed.wait(), PATIENCE)
        assert here.published == {}


NO_FILES = [
    "untitled:Untitled-1", "git:/a/SKILL.md?ref", "https://example.com/SKILL.md", "file://elsewhere/a/SKILL.md",
    "file:///%00/SKILL.md", "file:///", "file://", "vscode-notebook-cell:/a#b", "no address", "file://[::1/SKILL.md", "",
    "file:relative/SKILL.md",
]  # fmt: skip


@pytest.mark.slow
@driven
async def test_what_is_no_file_has_no_findings(write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD + "See [gone](gone.md).\n"})

    async with editor(root) as here:
        for uri in NO_FILES:
            await here.open(uri, HEAD + "See [gone](gone.md).\n")
            await here.hover(uri, 6, 5)
            assert await here.actions(uri, WHOLE) == []
        uri = await here.open(root / "skills/tidy/SKILL.md")
        assert await here.codes(uri) == ["LI001"]
        assert all(not here.published[each].get_nowait().diagnostics for each in NO_FILES if each in here.published)


HOSTILE = {
    "huge": "---\nname: tidy\n---\n" + "x\u2028" * (3 << 19),
    "one line": "[" * 300_000,
    "nul": "\0" * 5000,
    "surrogates": HEAD + "\ud800 [gone](gone.md) \udfff\n",
    "line ends": HEAD.replace("\n", "\r") + "a\x0bb\x0cc\x1cd\x85e\u2028f [gone](gone.md)\r\n",
    "nothing": "",
    "mark": "\ufeff" + HEAD + "[gone](gone.md)\n",
    "yaml": "---\n" + "a: &a [*a, *a]\n" * 400 + "---\n",
    "deep": "> " * 4000 + "x\n",
}


@pytest.mark.slow
@driven
async def test_no_text_ends_it(write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD})

    async with editor(root) as here:
        uri = await here.open(root / "skills/tidy/SKILL.md")
        for text in HOSTILE.values():
            here.change(uri, text)
            lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
            for each in await here.found(uri):
                start, end = each.range.start, each.range.end
                assert (start.line, start.character) <= (end.line, end.character)
                assert end.line < len(lines)
                assert end.character <= len(lines[end.line].encode("utf-16-le", "surrogatepass")) // 2
            await here.actions(uri, WHOLE)
            await here.hover(uri, 6, 10)
            await here.client.text_document_document_link_async(
                types.DocumentLinkParams(types.TextDocumentIdentifier(uri))
            )
        here.change(uri, HEAD + "See [gone](gone.md).\n")
        assert await here.codes(uri) == ["LI001"]


@pytest.mark.slow
@driven
async def test_strange_names_and_places(write: Write, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD})
    outside = tmp_path_factory.mktemp("outside") / "skills" / "100% tïdy #1?" / "SKILL.md"
    outside.parent.mkdir(parents=True)
    outside.write_text(HEAD + "See [gone](gone.md).\n")
    odd = os.fsencode(outside.parent.parent) + b"/\xff\xfe/SKILL.md"
    os.makedirs(os.path.dirname(odd))
    Path(os.fsdecode(odd)).write_text(HEAD + "See [gone](gone.md).\n")

    async with editor(root) as here:
        for path in (outside, Path(os.fsdecode(odd)), outside.parent.parent / "new" / "SKILL.md"):
            uri = await here.open(path, HEAD + "See [gone](gone.md).\n")
            assert "LI001" in await here.codes(uri), uri


@pytest.mark.slow
@driven
async def test_unknown_documents_and_messages_are_answered(write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD})

    async with editor(root) as here:
        unknown = (root / "skills/none/SKILL.md").as_uri()
        here.versions[unknown] = 1
        here.close(unknown)
        here.save(unknown)
        assert await here.actions(unknown, WHOLE) == []
        assert await here.hover(unknown, 0, 0) == ""
        with pytest.raises(Exception, match=r"not defined|Invalid"):
            await here.client.workspace_execute_command_async(types.ExecuteCommandParams("rm", ["-rf"]))
        uri = await here.open(root / "skills/tidy/SKILL.md", HEAD + "See [gone](gone.md).\n")
        assert await here.codes(uri) == ["LI001"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent", [b"Content-Length: 7\r\n\r\n{broken", b"", b"nonsense\n" * 50, b"Content-Length: 99999999\r\n\r\n{"]
)
def test_it_ends_with_its_input(sent: bytes, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(sent)))
    done = run("server", "--stdio")
    assert done.returncode == 3
    assert "internal error" not in done.stderr


@pytest.mark.slow
@driven
async def test_over_a_port_of_this_machine(write: Write) -> None:
    root = write({"skills/tidy/SKILL.md": HEAD})
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "skill_health", "server", "--port", str(port)]

    here = Editor()
    process = await asyncio.create_subprocess_exec(*command, cwd=root, stderr=asyncio.subprocess.PIPE)
    try:
        assert process.stderr
        while b"Serving on" not in (line := await asyncio.wait_for(process.stderr.readline(), PATIENCE)):
            assert line
        await here.client.start_tcp("127.0.0.1", port)
        params = types.InitializeParams(types.ClientCapabilities())
        await asyncio.wait_for(here.client.initialize_async(params), PATIENCE)
        uri = await here.open(root / "skills/tidy/SKILL.md", HEAD + "See [gone](gone.md).\n")
        assert await here.codes(uri) == ["LI001"]
        await here.client.shutdown_async(None)
        here.client.exit(None)
        assert await asyncio.wait_for(process.wait(), PATIENCE) == 0
    finally:
        if process.returncode is None:
            process.kill()


def test_without_its_extra_it_says_what_to_install(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    done = run("server")
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "the server needs the extra server (pygls" in done.stderr and "[server]" in done.stderr

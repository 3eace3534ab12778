"""The Language Server Protocol (3.17) over what `session.py` finds, by pygls.

The engine runs in one thread beside the loop, which takes in what is typed meanwhile: one check is at work and at most
one waits, with the texts as they are when it begins.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from skill_health import __version__
from skill_health.formats._hosts import message_of
from skill_health.lint.fixing.fixes import finding_place
from skill_health.rules._api import Edit, Finding, Severity
from skill_health.rules._page import page
from skill_health.server.addresses import path_of, uri_of
from skill_health.server.columns import TextColumns, split_lines
from skill_health.server.explanations import RulePages, rule_at, rule_named
from skill_health.server.links import list_links
from skill_health.server.session import EditorSession, OpenFile, fix_all, ignore_here, list_fixes
from skill_health.skill.model import Span
from skill_health.text.terminal import clean

NAME = "skill-health"
EXPLAIN = "skill-health.explain"
FIX_ALL = "source.fixAll.skill-health"
_PAUSE = 0.1
_STACK = 64 << 20
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}
_T = TypeVar("_T")


class EditorDocument(NamedTuple):
    """An open document; `path` is "" where it is no file."""

    uri: str
    path: str
    text: str
    version: int | None


async def _pause() -> None:
    """Wait for the next key."""
    await asyncio.sleep(_PAUSE)


class SkillServer(LanguageServer):
    """One editor's server; `wait` is what is awaited between a change and the check that it brings about."""

    def __init__(self, wait: Callable[[], Awaitable[None]] = _pause) -> None:
        super().__init__(NAME, __version__, types.TextDocumentSyncKind.Full)
        self.wait = wait
        self.documents: dict[str, EditorDocument] = {}
        self.session = EditorSession()
        self.pages = RulePages()
        self.asked, self.done = 0, 0
        self.was_shut_down = False
        self._is_stale = False
        self._told: tuple[str, ...] = ()
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        # The parser goes deeper than the stack of a thread is on some systems.
        threading.stack_size(_STACK)
        self._engine = ThreadPoolExecutor(1, "engine")

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log what went wrong: nobody can do anything about it in the editor."""
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, clean(f"{NAME}: {error!r}")))

    async def call(self, function: Callable[..., _T], *given: Any) -> _T:
        """Run something of the engine."""
        return await asyncio.get_running_loop().run_in_executor(self._engine, function, *given)

    def touch(self, forget: bool = False) -> None:
        """Something has changed: check what is open, soon; with `forget` the disk is looked at anew."""
        if forget:
            self._engine.submit(self.session.forget)
            self._is_stale = True
        self.asked += 1
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._check_until_done())

    async def _check_until_done(self) -> None:
        while self.done != self.asked:
            await self.wait()
            await self.check_now()
        if not self._pulls:
            self._publish()
        elif self._is_stale and self._wants_refresh:
            self._is_stale = False
            await self.workspace_diagnostic_refresh_async(None)

    async def check_now(self) -> None:
        """Check what is open, unless that has been done for the texts as they are."""
        async with self._lock:
            while self.done != self.asked:
                number = self.asked
                texts = {each.path: each.text for each in self.documents.values() if each.path}
                try:
                    await self.call(self.session.check, texts)
                except Exception as error:
                    # A server that ended would take the findings of everything else with it.
                    self.report_server_error(error, None)
                self.done = number
        if self.session.problems != self._told:
            for line in self.session.problems:
                params = types.ShowMessageParams(types.MessageType.Error, clean(f"{NAME}: {line}"))
                self.window_show_message(params)
            self._told = self.session.problems

    @property
    def _pulls(self) -> bool:
        document = self.client_capabilities.text_document
        return document is not None and document.diagnostic is not None

    @property
    def _wants_refresh(self) -> bool:
        workspace = self.client_capabilities.workspace
        diagnostics = workspace.diagnostics if workspace else None
        return bool(diagnostics and diagnostics.refresh_support)

    def _publish(self) -> None:
        for document in self.documents.values():
            params = types.PublishDiagnosticsParams(document.uri, self.diagnostics(document), document.version)
            self.text_document_publish_diagnostics(params)

    def columns(self, document: EditorDocument) -> TextColumns:
        """The positions of a document in the units that were agreed."""
        encoding = self.workspace.position_encoding
        return TextColumns(document.text, str(getattr(encoding, "value", encoding)))

    def file_of(self, uri: str) -> tuple[EditorDocument, OpenFile] | None:
        """An open document that belongs to a skill or is a registry, as of the last check."""
        document = self.documents.get(uri)
        file = self.session.files.get(document.path) if document else None
        return (document, file) if document and file else None

    def diagnostics(self, document: EditorDocument) -> list[types.Diagnostic]:
        """What was found in a document last."""
        file = self.session.files.get(document.path)
        columns = self.columns(document)
        return [self._diagnostic(finding, columns) for finding in (file.findings if file else ())]

    def _diagnostic(self, finding: Finding, columns: TextColumns) -> types.Diagnostic:
        path = self.pages.path(finding.code)
        return types.Diagnostic(
            range=_range(finding_span(finding, columns.lines), columns),
            message=clean(message_of(finding)) + (f"\n{clean(finding.help)}" if finding.help else ""),
            severity=_SEVERITIES[finding.severity],
            code=finding.code,
            code_description=types.CodeDescription(uri_of(path)) if path else None,
            source=NAME,
            data={"key": finding.key},
        )

    def stop(self) -> None:
        """Let go of what was made for this editor."""
        self._engine.shutdown(wait=False, cancel_futures=True)
        self.pages.close()


def finding_span(finding: Finding, lines: Sequence[str]) -> Span:
    """The place of a finding: as far as it says, else to the end of the word."""
    line, col = finding.line, finding.col
    if (finding.end_line, finding.end_col) > (line, col):
        return Span(line, col, finding.end_line, finding.end_col)
    source = lines[line - 1] if 0 < line <= len(lines) else ""
    end = col - 1
    while end < len(source) and not source[end].isspace():
        end += 1
    return Span(line, col, line, max(col, end + 1))


def _range(span: Span, columns: TextColumns) -> types.Range:
    start = columns.to_editor(span.line, span.col)
    end = columns.to_editor(span.end_line or span.line, span.end_col or span.col)
    return types.Range(types.Position(*start), types.Position(*max(start, end)))


def make_server(wait: Callable[[], Awaitable[None]] = _pause) -> SkillServer:
    """A server with all that it can do."""
    server = SkillServer(wait)
    _take_in_changes(server)
    _answer(server)
    return server


def _take_in_changes(server: SkillServer) -> None:
    @server.feature(types.INITIALIZED)
    def initialized(params: types.InitializedParams) -> None:
        _watch_files(server)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        given = params.text_document
        server.documents[given.uri] = EditorDocument(given.uri, path_of(given.uri), given.text, given.version)
        server.touch(forget=True)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        document = server.documents.get(params.text_document.uri)
        if document and params.content_changes:
            text, version = params.content_changes[-1].text, params.text_document.version
            server.documents[document.uri] = document._replace(text=text, version=version)
            server.touch()

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        if server.documents.pop(params.text_document.uri, None):
            server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(params.text_document.uri, []))
            server.touch()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        server.touch(forget=True)

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def watched(params: types.DidChangeWatchedFilesParams) -> None:
        server.touch(forget=True)

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def configured(params: types.DidChangeConfigurationParams) -> None:
        server.touch(forget=True)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        server.touch(forget=True)

    @server.feature(types.SHUTDOWN)
    def shut_down(params: None) -> None:
        server.was_shut_down = True


def _watch_files(server: SkillServer) -> None:
    """Ask the editor to tell of files that change, where it can: settings, skills, and what links lead to."""
    workspace = server.client_capabilities.workspace
    watched = workspace.did_change_watched_files if workspace else None
    if watched and watched.dynamic_registration:
        options = types.DidChangeWatchedFilesRegistrationOptions([types.FileSystemWatcher("**/*")])
        kind = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        server.client_register_capability(
            types.RegistrationParams([types.Registration(f"{NAME}-files", kind, options)])
        )


def _answer(server: SkillServer) -> None:
    options = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=False, identifier=NAME)

    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, options)
    async def diagnostic(params: types.DocumentDiagnosticParams) -> types.RelatedFullDocumentDiagnosticReport:
        await server.check_now()
        document = server.documents.get(params.text_document.uri)
        return types.RelatedFullDocumentDiagnosticReport(server.diagnostics(document) if document else [])

    kinds = types.CodeActionOptions([types.CodeActionKind.QuickFix, FIX_ALL])

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, kinds)
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction | types.Command]:
        await server.check_now()
        found = server.file_of(params.text_document.uri)
        return await server.call(lambda: list(_actions(server, params, *found))) if found else []

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hover(params: types.HoverParams) -> types.Hover | None:
        await server.check_now()
        document = server.documents.get(params.text_document.uri)
        return await server.call(_hover, server, document, params.position) if document else None

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_LINK)
    async def document_link(params: types.DocumentLinkParams) -> list[types.DocumentLink]:
        await server.check_now()
        found = server.file_of(params.text_document.uri)
        if not found:
            return []
        document, file = found
        columns = server.columns(document)
        links = await server.call(lambda: list(list_links(file)))
        return [types.DocumentLink(_range(span, columns), uri_of(path)) for span, path in links]

    @server.command(EXPLAIN)
    async def explain(code: str) -> None:
        await _show_page(server, str(code))


async def _show_page(server: SkillServer, code: str) -> None:
    path, rule = server.pages.path(code), rule_named(code)
    window = server.client_capabilities.window
    if path and window and window.show_document and window.show_document.support:
        await server.window_show_document_async(types.ShowDocumentParams(uri_of(path), take_focus=True))
    elif rule:
        server.window_show_message(types.ShowMessageParams(types.MessageType.Info, page(rule)))


def _hover(server: SkillServer, document: EditorDocument, position: types.Position) -> types.Hover | None:
    columns = server.columns(document)
    at = columns.from_editor(position.line, position.character)
    file = server.session.files.get(document.path)
    pages: dict[str, str] = {}
    spans = []
    for finding in file.findings if file else ():
        span = finding_span(finding, columns.lines)
        if span[:2] <= at <= span[2:] and (rule := rule_named(finding.code)):
            pages[finding.code] = page(rule)
            spans.append(span)
    line = columns.lines[at[0] - 1]
    if not pages and (document.path.endswith(".toml") or "skill-health:" in line) and (named := rule_at(line, at[1])):
        rule, start, end = named
        pages[rule.code] = page(rule)
        spans.append(Span(at[0], start, at[0], end))
    if not pages:
        return None
    text = types.MarkupContent(types.MarkupKind.Markdown, "\n---\n\n".join(pages.values()))
    return types.Hover(text, _range(min(spans), columns))


def _actions(
    server: SkillServer, params: types.CodeActionParams, document: EditorDocument, file: OpenFile
) -> Iterator[types.CodeAction | types.Command]:
    columns = server.columns(document)
    start = columns.from_editor(params.range.start.line, params.range.start.character)
    end = columns.from_editor(params.range.end.line, params.range.end.character)
    only = params.context.only
    here = []
    for finding in file.findings:
        span = finding_span(finding, columns.lines)
        if span[:2] <= end and start <= span[2:]:
            here.append(finding)
    if _is_asked_for(types.CodeActionKind.QuickFix.value, only):
        yield from _quick_fixes(server, document, file, here, columns)
    if only and _is_asked_for(FIX_ALL, only) and (new := fix_all(file)) is not None:
        edit = _replacement(new.decode("utf-8", "surrogatepass"), columns)
        yield types.CodeAction("Fix all that is safe to fix", FIX_ALL, edit=_change(document, [edit]))


def _quick_fixes(
    server: SkillServer, document: EditorDocument, file: OpenFile, here: Sequence[Finding], columns: TextColumns
) -> Iterator[types.CodeAction | types.Command]:
    fixes = {finding_place(fixed): fixed for fixed in list_fixes(file)} if any(f.fixable for f in here) else {}
    for finding in here:
        diagnostics = [server._diagnostic(finding, columns)]
        fixed = fixes.get(finding_place(finding))
        if fixed and fixed.fix and (edit := _edit_of(server, document, file, fixed, columns)):
            mark = "" if fixed.fix.safe else ", unsafe"
            message = clean(fixed.fix.message)
            yield types.CodeAction(
                f"{message[:1].upper()}{message[1:]} ({finding.code}{mark})", types.CodeActionKind.QuickFix,
                diagnostics, is_preferred=fixed.fix.safe, edit=edit,
            )  # fmt: skip
    for finding in here:
        diagnostics = [server._diagnostic(finding, columns)]
        if edits := ignore_here(file, finding):
            where = "in this file" if "ignore-file" in edits[0].text else "here"
            yield types.CodeAction(
                f"Ignore {finding.code} {where}", types.CodeActionKind.QuickFix, diagnostics,
                edit=_change(document, _text_edits(edits, document, columns)),
            )  # fmt: skip
    for code in dict.fromkeys(finding.code for finding in here):
        yield types.Command(f"Explain {code}", EXPLAIN, arguments=[code])


def _is_asked_for(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    if only is None:
        return True
    asked = [getattr(each, "value", each) for each in only]
    return any(kind == each or kind.startswith(f"{each}.") or each == "" for each in asked)


def _edit_of(
    server: SkillServer, document: EditorDocument, file: OpenFile, finding: Finding, columns: TextColumns
) -> types.WorkspaceEdit | None:
    assert finding.fix is not None
    if rename := finding.fix.rename:
        workspace = server.client_capabilities.workspace
        kinds = workspace.workspace_edit.resource_operations if workspace and workspace.workspace_edit else None
        if types.ResourceOperationKind.Rename not in (kinds or ()):
            return None
        old = os.path.join(file.collection.root, rename[0])
        new = os.path.join(os.path.dirname(old), rename[1])
        return types.WorkspaceEdit(document_changes=[types.RenameFile(uri_of(old), uri_of(new))])
    edits = _text_edits(finding.fix.edits, document, columns)
    return _change(document, edits) if edits else None


def _change(document: EditorDocument, edits: list[types.TextEdit]) -> types.WorkspaceEdit:
    return types.WorkspaceEdit(changes={document.uri: edits})


def _text_edits(edits: Sequence[Edit], document: EditorDocument, columns: TextColumns) -> list[types.TextEdit]:
    """What an editor shows of edits: a byte-order mark, at column 0, is none of its text."""
    newline = "\r\n" if "\r\n" in document.text else "\n"
    seen = [edit for edit in edits if (edit.span.line, edit.span.col) != (1, 0)]
    return [types.TextEdit(_range(edit.span, columns), edit.text.replace("\n", newline)) for edit in seen]


def _replacement(new: str, columns: TextColumns) -> types.TextEdit:
    """What changes the text to another: the lines between those that both begin and end with."""
    old, lines = list(columns.lines), split_lines(new.removeprefix("\ufeff"))
    first = 0
    while first < min(len(old), len(lines)) and old[first] == lines[first]:
        first += 1
    last = 0
    while last < min(len(old), len(lines)) - first and old[-1 - last] == lines[-1 - last]:
        last += 1
    changed = lines[first : len(lines) - last]
    if last:
        span = Span(first + 1, 1, len(old) - last + 1, 1)
        text = "".join(f"{line}\n" for line in changed)
    else:
        span = Span(first + 1, 1, len(old), len(old[-1]) + 1)
        text = "\n".join(changed)
    return types.TextEdit(_range(span, columns), text.replace("\n", "\r\n" if "\r\n" in new else "\n"))


def serve(port: int | None = None) -> bool:
    """Serve one editor, over standard input and output or a port of 127.0.0.1, until it ends; whether it said so."""
    server = make_server()
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    # Whatever else is printed must not get between the messages.
    sys.stdout = sys.stderr
    try:
        if port is None:
            server.start_io(stdin, stdout)
        else:
            logging.basicConfig(format=f"{NAME}: %(message)s", stream=sys.stderr)
            # It says when it listens.
            logging.getLogger("pygls.server").setLevel(logging.INFO)
            server.start_tcp("127.0.0.1", port)
    finally:
        server.stop()
    return server.was_shut_down

"""An editor that speaks with the server as editors do, by pygls's own client."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.io_ import run_async
from pygls.lsp.client import LanguageClient

from skill_health.server.protocol import make_server

PATIENCE = 60  # seconds until a server that says nothing counts as hung


class Editor:
    """One client and its server."""

    def __init__(self) -> None:
        self.client = LanguageClient("editor", "1")
        self.published: dict[str, asyncio.Queue[types.PublishDiagnosticsParams]] = {}
        self.messages: asyncio.Queue[types.ShowMessageParams] = asyncio.Queue()
        self.shown: list[str] = []
        self.registered: list[types.Registration] = []
        self.refreshed = asyncio.Event()
        self.versions: dict[str, int] = {}

        @self.client.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.published.setdefault(params.uri, asyncio.Queue()).put_nowait(params)

        @self.client.feature(types.WINDOW_SHOW_MESSAGE)
        def message(params: types.ShowMessageParams) -> None:
            self.messages.put_nowait(params)

        @self.client.feature(types.WINDOW_SHOW_DOCUMENT)
        def show(params: types.ShowDocumentParams) -> types.ShowDocumentResult:
            self.shown.append(params.uri)
            return types.ShowDocumentResult(True)

        @self.client.feature(types.CLIENT_REGISTER_CAPABILITY)
        def register(params: types.RegistrationParams) -> None:
            self.registered += params.registrations

        @self.client.feature(types.WORKSPACE_DIAGNOSTIC_REFRESH)
        def refresh(params: None) -> None:
            self.refreshed.set()

    async def open(self, path: Path | str, text: str | None = None, language: str = "markdown") -> str:
        uri = path.as_uri() if isinstance(path, Path) else path
        if text is None and isinstance(path, Path):
            with path.open(encoding="utf-8", newline="") as file:
                text = file.read()
        self.versions[uri] = 1
        item = types.TextDocumentItem(uri, language, 1, text or "")
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, text: str) -> None:
        self.versions[uri] += 1
        document = types.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def save(self, uri: str) -> None:
        document = types.TextDocumentIdentifier(uri)
        self.client.text_document_did_save(types.DidSaveTextDocumentParams(document))

    def close(self, uri: str) -> None:
        document = types.TextDocumentIdentifier(uri)
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(document))

    async def next(self, uri: str) -> types.PublishDiagnosticsParams:
        """The next diagnostics of a document."""
        queue = self.published.setdefault(uri, asyncio.Queue())
        return await asyncio.wait_for(queue.get(), PATIENCE)

    async def found(self, uri: str) -> list[types.Diagnostic]:
        """The diagnostics of a document as it is now."""
        while True:
            params = await self.next(uri)
            if params.version == self.versions[uri]:
                return list(params.diagnostics)

    async def codes(self, uri: str) -> list[str]:
        return [str(each.code) for each in await self.found(uri)]

    async def actions(self, uri: str, at: types.Range, *only: str) -> list[types.CodeAction]:
        context = types.CodeActionContext([], only=list(only) or None)
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), at, context)
        found = await self.client.text_document_code_action_async(params)
        return [each for each in found or [] if isinstance(each, types.CodeAction)]

    async def commands(self, uri: str, at: types.Range) -> list[types.Command]:
        """The commands among the actions of a place."""
        params = types.CodeActionParams(types.TextDocumentIdentifier(uri), at, types.CodeActionContext([]))
        found = await self.client.text_document_code_action_async(params)
        return [each for each in found or [] if isinstance(each, types.Command)]

    async def hover(self, uri: str, line: int, character: int) -> str:
        position = types.Position(line, character)
        params = types.HoverParams(types.TextDocumentIdentifier(uri), position)
        found = await self.client.text_document_hover_async(params)
        return found.contents.value if found and isinstance(found.contents, types.MarkupContent) else ""


@asynccontextmanager
async def editor(
    root: Path, capabilities: types.ClientCapabilities | None = None, process: bool = False
) -> AsyncIterator[Editor]:
    """An editor with a server, which must end when it is told to: in a thread of this process or as the program."""
    made = Editor()
    if process:
        await made.client.start_io(sys.executable, "-m", "skill_health", "server", cwd=str(root))
    else:
        await _connect(made)
    folders = [types.WorkspaceFolder(root.as_uri(), root.name)]
    given = capabilities or types.ClientCapabilities()
    params = types.InitializeParams(given, workspace_folders=folders, root_uri=root.as_uri())
    await made.client.initialize_async(params)
    made.client.initialized(types.InitializedParams())
    try:
        yield made
    finally:
        await made.client.shutdown_async(None)
        made.client.exit(None)
        await asyncio.wait_for(made.client.stop(), PATIENCE)
        server: Any = made.client._server
        assert server is None or server.returncode == 0


async def _connect(made: Editor) -> None:
    """Have a server in a thread, which checks at once: nobody is typing."""
    ours, theirs = socket.socketpair()
    server = make_server(lambda: asyncio.sleep(0))

    def serve() -> None:
        with theirs, theirs.makefile("rb") as asked, theirs.makefile("wb") as answered:
            server.start_io(asked, answered)
        server.stop()

    async def speak() -> None:
        ended = asyncio.create_task(asyncio.to_thread(serve))
        await run_async(made.client._stop_event, reader, made.client.protocol)
        await ended
        writer.close()
        assert server.was_shut_down

    reader, writer = await asyncio.open_connection(sock=ours)
    made.client.protocol.set_writer(writer)
    made.client._async_tasks.append(asyncio.create_task(speak()))


def applied(text: str, edits: list[types.TextEdit], encoding: str = "utf-16-le", width: int = 2) -> str:
    """A text after edits, as an editor makes them."""
    lines = text.split("\n")

    def offset(position: types.Position) -> int:
        line = lines[position.line].encode(encoding, "surrogatepass")[: position.character * width]
        return sum(len(each) + 1 for each in lines[: position.line]) + len(line.decode(encoding, "surrogatepass"))

    for edit in sorted(edits, key=lambda each: (each.range.start.line, each.range.start.character), reverse=True):
        text = text[: offset(edit.range.start)] + edit.new_text + text[offset(edit.range.end) :]
    return text

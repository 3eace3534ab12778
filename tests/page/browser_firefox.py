"""Debian's Firefox for the tests of the page, driven over WebDriver BiDi, which needs no other program.

Playwright drives a Firefox of its own only, and what it runs in a page is held up by the policy of ours. This offers
those of Playwright's methods that the tests use, so that the same tests run in both browsers.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from time import sleep
from typing import Any

_PATIENCE, _PAUSE = 20.0, 0.05
_EVENTS = (
    "log.entryAdded", "network.beforeRequestSent", "browsingContext.contextCreated",
    "browsingContext.userPromptOpened",
)  # fmt: skip
# Nothing is asked for but the page: what is not of this machine goes to a port where nobody listens.
_SETTINGS: Mapping[str, Any] = {
    "app.normandy.enabled": False, "browser.newtabpage.enabled": False, "browser.shell.checkDefaultBrowser": False,
    "browser.safebrowsing.update.enabled": False, "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False, "network.connectivity-service.enabled": False,
    "network.proxy.http": "127.0.0.1", "network.proxy.http_port": 9, "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9, "network.proxy.type": 1, "services.settings.server": "data:,",
}  # fmt: skip
_SHADES = {"dark": 0, "light": 1}
_KEYS = {"Backspace": "\ue003", "Tab": "\ue004", "Enter": "\ue007", "Space": " "}
_FIND = """const find = (steps) => {
    const says = (node, text) => !text || node.textContent.toLowerCase().includes(text.toLowerCase());
    let nodes = [document];
    for (const [kind, value, text] of steps) {
        if (kind === "nth") nodes = nodes.slice(value, value + 1);
        else if (kind === "text") {
            const all = nodes.flatMap((node) => [...node.querySelectorAll("*")]).filter((node) => says(node, value));
            nodes = all.filter((node) => ![...node.children].some((inner) => says(inner, value)));
        } else {
            const all = new Set(nodes.flatMap((node) => [...node.querySelectorAll(value)]));
            nodes = [...all].filter((node) => says(node, text));
        }
    }
    return nodes;
};"""
# The middle of what is to be seen of an element, or why it cannot be pointed at.
_POINT = """([node]) => {
    if (!node) return "there is none";
    const inside = (box) => box.width && box.top >= 0 && box.bottom <= innerHeight;
    if (!inside(node.getBoundingClientRect())) node.scrollIntoView({ block: "center", behavior: "instant" });
    const box = [...node.getClientRects()].find((each) => each.width && each.height);
    if (!box) return "it cannot be seen";
    const x = Math.round(box.left + box.width / 2), y = Math.round(box.top + box.height / 2);
    const hit = document.elementFromPoint(x, y);
    return hit && (node.contains(hit) || hit.contains(node)) ? [x, y] : `it is covered by ${hit?.outerHTML.slice(0, 80)}`;
}"""
_FILL = """([node], text) => {
    node.focus();
    node.value = text;
    node.dispatchEvent(new InputEvent("input", { bubbles: true }));
}"""
_SELECT = """([node], value) => {
    node.value = value;
    node.dispatchEvent(new Event("input", { bubbles: true }));
    node.dispatchEvent(new Event("change", { bubbles: true }));
}"""


class FirefoxError(AssertionError):
    """What the browser refused, or what did not come in time."""


class _Session:
    """A session of WebDriver BiDi: commands and their answers; `told` are the events so far."""

    def __init__(self, socket: Any) -> None:
        self._socket, self._numbers = socket, count(1)
        self.told: list[dict[str, Any]] = []

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Carry out a command: its result."""
        number = next(self._numbers)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer: dict[str, Any] = json.loads(self._socket.recv(timeout=60))
            if answer.get("id") == number:
                break
            self.told.append(answer)
        if answer["type"] == "error":
            raise FirefoxError(f"{method}: {answer['error']}: {answer['message']}")
        result: dict[str, Any] = answer["result"]
        return result


class FirefoxBrowser:
    """Firefox, begun anew for each set of preferences that is asked for: media and scripts are set by those."""

    def __init__(self, program: str, stack: ExitStack) -> None:
        self._program, self._stack = program, stack
        self._sessions: dict[str, _Session] = {}

    def session(self, settings: Mapping[str, Any]) -> _Session:
        """The session with these preferences."""
        key = json.dumps(settings, sort_keys=True)
        if key not in self._sessions:
            self._sessions[key] = self._begin({**_SETTINGS, **settings})
        return self._sessions[key]

    def _begin(self, settings: Mapping[str, Any]) -> _Session:
        from websockets.sync.client import connect

        profile = Path(self._stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in settings.items())
        (profile / "user.js").write_text("".join(lines), encoding="utf-8")
        command = [
            self._program, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0",
        ]  # fmt: skip
        said = self._stack.enter_context((profile / "said").open("w+", encoding="utf-8"))
        running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        self._stack.callback(running.wait, 30)
        self._stack.callback(running.terminate)
        socket = self._stack.enter_context(connect(f"{_address(profile / 'said')}/session", max_size=None, proxy=None))
        session = _Session(socket)
        session.send("session.new", capabilities={"alwaysMatch": {"unhandledPromptBehavior": {"default": "dismiss"}}})
        session.send("session.subscribe", events=list(_EVENTS))
        return session


def _address(said: Path) -> str:
    """Where the browser that says this listens."""
    for _ in range(round(60 / _PAUSE)):
        if found := re.search(r"WebDriver BiDi listening on (ws://\S+)", said.read_text(encoding="utf-8")):
            return found[1]
        sleep(_PAUSE)
    raise FirefoxError(f"Firefox does not start: {said.read_text(encoding='utf-8')[-500:]}")


@contextmanager
def firefox(program: str) -> Iterator[FirefoxBrowser]:
    """The browser; every process of it has ended at the end."""
    with ExitStack() as stack:
        yield FirefoxBrowser(program, stack)


@contextmanager
def open_page(browser: FirefoxBrowser, url: str, wrong: list[str], options: Mapping[str, Any]) -> Iterator[FirefoxPage]:
    """A page of a fresh container of the browser; at the end `wrong` holds what must not happen, see `Visit`."""
    settings = {
        "javascript.enabled": options.get("java_script_enabled", True),
        "layout.css.prefers-color-scheme.content-override": _SHADES[options.get("color_scheme", "light")],
        "ui.prefersReducedMotion": int(options.get("reduced_motion", "reduce") == "reduce"),
    }
    session = browser.session(settings)
    session.told.clear()
    user = session.send("browser.createUserContext")["userContext"]
    context = session.send("browsingContext.create", type="tab", userContext=user)["context"]
    page = FirefoxPage(session, context, options["viewport"], settings["javascript.enabled"])
    try:
        session.send("browsingContext.navigate", context=context, url=url, wait="complete")
        yield page
        # What was said before this is answered has been told.
        page.evaluate("1")
    finally:
        wrong += filter(None, (_wrong(each, context, url) for each in session.told))
        session.send("browser.removeUserContext", userContext=user)


def _wrong(event: Mapping[str, Any], own: str, url: str) -> str:
    """What an event tells of what must not happen; "" for nothing."""
    told = event["params"]
    match event["method"]:
        case "log.entryAdded" if told["level"] in ("error", "warn") and told["source"].get("context") == own:
            return f"{told['type']}: {told['text']}"
        case "network.beforeRequestSent" if told["context"] == own:
            asked = told["request"]["url"]
            base = url.partition("#")[0]
            known = asked.startswith("data:") or (asked.startswith(base) if base.startswith("http:") else asked == base)
            return "" if known else f"request: {asked}"
        case "browsingContext.contextCreated" if told["context"] != own:
            return f"window or frame: {told['url']}"
        case "browsingContext.userPromptOpened":
            return f"dialog: {told['message']}"
    return ""


class FirefoxPage:
    """A page, with those of the methods of Playwright's that the tests use; each does what it does there."""

    def __init__(self, session: _Session, context: str, viewport: Mapping[str, int], scripted: bool) -> None:
        self._session, self._context, self._scripted = session, context, scripted
        self.keyboard = self
        session.send("browsingContext.setViewport", context=context, viewport=dict(viewport))

    def call(self, function: str, *given: Any) -> Any:
        """What a JavaScript function gives, by way of JSON. The policy of the page does not hold it up."""
        # It runs where the page may run no script, too; but then no promise is ever kept.
        wait, await_ = ("async ", "await ") if self._scripted else ("", "")
        answer = self._session.send(
            "script.callFunction",
            functionDeclaration=f"{wait}(given) => JSON.stringify({await_}({function})(...JSON.parse(given)))",
            arguments=[{"type": "string", "value": json.dumps(given)}],
            target={"context": self._context},
            awaitPromise=True,
        )
        if answer["type"] == "exception":
            raise FirefoxError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"].get("value", "null"))

    def evaluate(self, script: str, arg: Any = None) -> Any:
        """The value of an expression, or what it gives where it is a function."""
        expression = script.strip().rstrip(";")
        return self.call(
            f"(arg) => {{ const it = ({expression}); return typeof it === 'function' ? it(arg) : it; }}", arg
        )

    def wait_for_function(self, script: str, arg: Any = None) -> None:
        """Wait until it gives a true value."""
        _wait(lambda: self.evaluate(script, arg), script)

    def wait_for_timeout(self, milliseconds: float) -> None:
        """Wait."""
        sleep(milliseconds / 1000)

    def locator(self, css: str, has_text: str = "") -> FirefoxLocator:
        """The elements that a selector finds."""
        return FirefoxLocator(self, ()).locator(css, has_text)

    def get_by_role(self, role: str, name: str = "") -> FirefoxLocator:
        """The elements of a role and a name."""
        return FirefoxLocator(self, ()).get_by_role(role, name)

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        value = _KEYS.get(key, key)
        actions = [{"type": kind, "value": value} for kind in ("keyDown", "keyUp")]
        self._act({"type": "key", "id": "keys", "actions": actions})

    def point(self, x: int, y: int, press: bool) -> None:
        """Move the pointer to a place in the window, and click there."""
        moved = {"type": "pointerMove", "x": x, "y": y}
        pressed = [{"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp") if press]
        self._act({"type": "pointer", "id": "mouse", "actions": [moved, *pressed]})

    def _act(self, source: Mapping[str, Any]) -> None:
        self._session.send("input.performActions", context=self._context, actions=[source])

    def reload(self) -> None:
        """Load the page anew."""
        self._session.send("browsingContext.reload", context=self._context, wait="complete")

    def screenshot(self) -> bytes:
        """The window as PNG."""
        from base64 import b64decode

        return b64decode(self._session.send("browsingContext.captureScreenshot", context=self._context)["data"])

    @property
    def url(self) -> str:
        """Its address."""
        return str(self.evaluate("location.href"))


class FirefoxLocator:
    """Elements of a page, looked for each time that they are asked something."""

    def __init__(self, page: FirefoxPage, steps: tuple[tuple[Any, ...], ...]) -> None:
        self._page, self._steps = page, steps

    def _then(self, *step: Any) -> FirefoxLocator:
        return FirefoxLocator(self._page, (*self._steps, step))

    def locator(self, css: str, has_text: str = "") -> FirefoxLocator:
        """The elements below these that a selector finds."""
        return self._then("css", css, has_text)

    def get_by_role(self, role: str, name: str = "") -> FirefoxLocator:
        """The elements below these of a role and a name."""
        return self.locator({"columnheader": "th[scope=col]"}.get(role, role), name)

    def get_by_text(self, text: str) -> FirefoxLocator:
        """The innermost elements below these that hold a text."""
        return self._then("text", text)

    def nth(self, at: int) -> FirefoxLocator:
        """One of them."""
        return self._then("nth", at)

    @property
    def first(self) -> FirefoxLocator:
        """The first of them."""
        return self.nth(0)

    def all(self) -> list[FirefoxLocator]:
        """Each of them."""
        return [self.nth(at) for at in range(self.count())]

    def evaluate_all(self, function: str, arg: Any = None) -> Any:
        """What a function of all of them gives."""
        return self._page.call(
            f"(steps, arg) => {{ {_FIND} return ({function})(find(steps), arg); }}", self._steps, arg
        )

    def count(self) -> int:
        """How many there are."""
        return int(self.evaluate_all("(nodes) => nodes.length"))

    def wait_for(self, timeout: float = 1000 * _PATIENCE) -> None:
        """Wait until the first of them can be seen."""
        _wait(self.is_visible, self._steps, timeout / 1000)

    def _one(self, function: str, arg: Any = None) -> Any:
        """What a function gives of a list of the first of them, once there is one."""
        _wait(self.count, self._steps)
        return self.evaluate_all(function, arg)

    def evaluate(self, function: str, arg: Any = None) -> Any:
        """What a function of the first of them gives."""
        return self._one(f"([node], arg) => ({function})(node, arg)", arg)

    def is_visible(self) -> bool:
        """Whether the first of them can be seen."""
        return bool(self.evaluate_all("([node]) => Boolean(node?.checkVisibility() && node.getClientRects().length)"))

    def inner_text(self) -> str:
        """Its text as it is seen."""
        return str(self._one("([node]) => node.innerText"))

    def all_inner_texts(self) -> list[str]:
        """The texts of all."""
        return list(self.evaluate_all("(nodes) => nodes.map((node) => node.innerText)"))

    def text_content(self) -> str | None:
        """Its text."""
        return self._one("([node]) => node.textContent")  # type: ignore[no-any-return]

    def get_attribute(self, name: str) -> str | None:
        """An attribute of it."""
        return self._one("([node], name) => node.getAttribute(name)", name)  # type: ignore[no-any-return]

    def bounding_box(self) -> dict[str, float]:
        """Where it is in the window."""
        return dict(self._one("([node]) => node.getBoundingClientRect().toJSON()"))

    def focus(self) -> None:
        """Give it the focus."""
        self._one("([node]) => { node.focus(); }")

    def fill(self, text: str) -> None:
        """Put a text into a field."""
        self._one(_FILL, text)

    def select_option(self, value: str) -> None:
        """Choose an option by its value."""
        self._one(_SELECT, value)

    def press(self, key: str) -> None:
        """Press a key where it has the focus."""
        self.focus()
        self._page.press(key)

    def click(self) -> None:
        """Click on its middle."""
        self._page.point(*self._place(), press=True)

    def hover(self) -> None:
        """Rest the pointer on its middle."""
        self._page.point(*self._place(), press=False)

    def _place(self) -> tuple[int, int]:
        found: Any = ""

        def look() -> bool:
            nonlocal found
            found = self.evaluate_all(_POINT)
            return isinstance(found, list)

        _wait(look, self._steps, told=lambda: str(found))
        return found[0], found[1]


def _wait(look: Any, what: object, seconds: float = _PATIENCE, told: Any = lambda: "") -> None:
    """Look until it gives a true value. Raises FirefoxError where that takes too long."""
    why = ""
    for _ in range(round(seconds / _PAUSE)):
        try:
            if look():
                return
        except FirefoxError as error:
            # A page that loads itself anew is gone for a moment.
            why = str(error)
        sleep(_PAUSE)
    raise FirefoxError(f"in vain: {what} {told()} {why}")

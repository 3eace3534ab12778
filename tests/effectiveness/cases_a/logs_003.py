"""Writes the logs of fixtures/tasks/003-checkout-outage and what its verifier knows about them.

python tests/effectiveness/cases_a/logs_003.py FOLDER
"""

from __future__ import annotations

import hashlib
import json
import random
import sys
from collections import defaultdict
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

# The host of orders writes local time without an offset, and its clock is behind.
LATE = timedelta(seconds=95)
CAUSE = datetime(2026, 9, 17, 14, 2, 41, 7000, tzinfo=UTC)
MENDED = CAUSE + timedelta(seconds=689)
ORDERS, STOCK = timezone(timedelta(hours=2)), timezone(timedelta(hours=-4))
TRACE = """Traceback (most recent call last):
  File "/srv/orders/app/checkout.py", line 212, in reserve
    stock.reserve(basket, timeout=2.5)
TimeoutError: no answer from stock after 2500 ms"""


def milliseconds(moment: datetime) -> str:
    return f"{moment.microsecond // 1000:03}"


class Logs:
    """The lines of one window, by log, each with its true moment and the request that it carries."""

    def __init__(self) -> None:
        self.lines: defaultdict[str, list[tuple[datetime, int, str, str]]] = defaultdict(list)

    def add(self, log: str, moment: datetime, text: str, request: str = "") -> None:
        if log == "orders.log":
            local = (moment - LATE).astimezone(ORDERS)
            stamp = f"{local:%Y-%m-%d %H:%M:%S},{milliseconds(local)}"
        elif log == "stock.log":
            local = moment.astimezone(STOCK)
            stamp = f"{local:%Y-%m-%dT%H:%M:%S}.{milliseconds(local)}-04:00"
        else:
            stamp = f"{moment:%Y-%m-%dT%H:%M:%S}.{milliseconds(moment)}Z"
        level, rest = text.split(" ", 1)
        carried = f"req={request} " if request else ""
        self.lines[log].append((moment, len(self.lines[log]), f"{stamp} {level} {carried}{rest}", request))

    def write(self, folder: Path) -> dict[str, list[tuple[str, int, datetime, str]]]:
        """Write the files; every line with the number that an editor shows, by request."""
        found: defaultdict[str, list[tuple[str, int, datetime, str]]] = defaultdict(list)
        for log, lines in self.lines.items():
            number, texts = 1, []
            for moment, _, text, request in sorted(lines):
                found[request].append((log, number, moment, text))
                texts.append(text)
                number += text.count("\n") + 1
            (folder / log).write_text("\n".join(texts) + "\n", encoding="utf-8", newline="")
        return dict(found)


def attempt(logs: Logs, at: datetime, request: str, rng: random.Random, wait: int) -> datetime:
    """One attempt of a checkout in orders and stock; a wait above 2500 ms times out. When it ends."""

    def after(ms: float) -> datetime:
        return at + timedelta(milliseconds=ms)

    items = 1 + int(rng.random() * 5)
    logs.add("orders.log", after(7), f"INFO orders reserve {items} items", request)
    logs.add("stock.log", after(15), f"INFO stock lock {items} skus", request)
    if wait > 400:
        logs.add("stock.log", after(15 + wait), f"WARN stock waited {wait}ms for a session, 4 of 4 in use", request)
    if wait > 2500:
        logs.add("orders.log", after(2511), f"ERROR orders reservation failed\n{TRACE}", request)
        return after(3000)
    logs.add("stock.log", after(31 + wait), f"INFO stock locked {items} skus", request)
    logs.add("orders.log", after(40 + wait), f"INFO orders reserved in {33 + wait}ms", request)
    return after(55 + wait)


def checkout(logs: Logs, at: datetime, request: str, rng: random.Random) -> None:
    """A checkout through all three services."""
    client = f"198.51.100.{1 + int(rng.random() * 250)}"
    logs.add("edge.log", at, f"INFO edge recv POST /checkout client={client}", request)
    pressed = CAUSE < at < MENDED
    spared = rng.random() < 0.22
    start, status = at, 504
    for number in (1, 2, 3):
        wait = int(rng.random() * 60)
        if pressed:
            slow = at > CAUSE + timedelta(seconds=20) and not (spared and number == 2)
            wait = 2600 + int(rng.random() * 900) if slow else 700 + int(rng.random() * 1200)
        end = attempt(logs, start, request, rng, wait)
        if wait <= 2500:
            status = 200
            break
        logs.add("edge.log", end, f"WARN edge orders gave no answer in 3000ms, attempt {number} of 3", request)
        start = end + timedelta(milliseconds=20)
        end = start
    took = int((end - at).total_seconds() * 1000)
    logs.add("edge.log", end, f"INFO edge done POST /checkout status={status} took={took}ms", request)
    if status != 200:
        logs.add("edge.log", end + timedelta(milliseconds=2), f"INFO audit checkout refused status={status}", request)


def window(start: datetime, minutes: int, seed: int) -> Logs:
    """Ordinary traffic, with what is always odd about it."""
    logs, rng = Logs(), random.Random(seed)
    at, end = start, start + timedelta(minutes=minutes)
    while at < end:
        request = hashlib.sha256(f"{seed} {at}".encode()).hexdigest()[:8]
        kind = rng.random()
        if kind < 0.45:
            checkout(logs, at, request, rng)
        else:
            path = "/search" if kind < 0.7 else f"/item/{int(rng.random() * 900) + 100}" if kind < 0.96 else "/report"
            status, took = (504, 30_000) if path == "/report" else (200, 20 + int(rng.random() * 90))
            took = 504 if path == "/search" and rng.random() < 0.12 else took
            logs.add("edge.log", at, f"INFO edge recv GET {path}", request)
            done = f"INFO edge done GET {path} status={status} took={took}ms"
            logs.add("edge.log", at + timedelta(milliseconds=took), done, request)
        at += timedelta(milliseconds=4000 + int(rng.random() * 9000))
    for minute in range(0, minutes, 5):
        at = start + timedelta(minutes=minute, seconds=11)
        logs.add("edge.log", at, "ERROR edge health check of legacy-mailer failed: connection refused")
        logs.add("orders.log", at + timedelta(seconds=3), "INFO orders heartbeat queue=0")
        logs.add("stock.log", at + timedelta(seconds=5), "INFO stock configuration read by ops-sync: no change")
    return logs


def write(folder: Path) -> dict[str, object]:
    """Write all logs below a folder; the verifier's knowledge."""
    quiet = window(datetime(2026, 9, 10, 13, 55, 2, tzinfo=UTC), 15, 3)
    loud = window(datetime(2026, 9, 17, 13, 42, 1, tzinfo=UTC), 37, 4)

    def after(seconds: float) -> datetime:
        return CAUSE + timedelta(seconds=seconds)

    quiet.add("edge.log", datetime(2026, 9, 10, 14, 1, 55, tzinfo=UTC), "WARN edge stapled response is old, kept")
    loud.add("edge.log", after(-43), "WARN edge stapled response is old, kept")
    loud.add("edge.log", after(-1100), "INFO edge release 2026.9.3 active")
    loud.add("orders.log", after(14), "INFO orders flag split-parcels switched on by j.meyer")
    loud.add("stock.log", CAUSE, "INFO stock configuration read by ops-sync: sessions lowered from 40 to 4")
    loud.add("stock.log", MENDED, "INFO stock configuration read by ops-sync: sessions raised from 4 to 40")
    (folder / "quiet").mkdir(parents=True, exist_ok=True)
    quiet.write(folder / "quiet")
    lines = loud.write(folder)
    failed = {
        request: [[log, number, moment.isoformat(timespec="milliseconds")] for log, number, moment, _ in carried]
        for request, carried in lines.items()
        if any("POST /checkout status=504" in text for *_, text in carried)
    }
    cause = next(line for line in lines[""] if "lowered" in line[3])
    ends = [line[2] for request in failed for line in lines[request] if "done POST" in line[3]]
    return {
        "cause": {"file": cause[0], "line": cause[1]},
        "cause_utc": CAUSE.isoformat(),
        "first_failure_utc": min(ends).isoformat(),
        "failed": dict(sorted(failed.items())),
    }


def dump(knowledge: dict[str, object]) -> str:
    return json.dumps(knowledge, indent=None, separators=(",", ":")).replace("]],", "]],\n") + "\n"


if __name__ == "__main__":
    task = Path(sys.argv[1])
    (task / "verifier").mkdir(parents=True, exist_ok=True)
    text = dump(write(task / "starting" / "logs"))
    (task / "verifier" / "expected.json").write_text(text, encoding="utf-8")

"""Writes the logs of fixtures/tasks/004-silent-job and what its verifier knows about them.

python tests/effectiveness/cases_a/logs_004.py FOLDER
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

Line = tuple[datetime, int, str]
CHANGE = datetime(2026, 10, 25, 1, tzinfo=UTC)
CAUSE = datetime(2026, 10, 25, 1, 41, 12, tzinfo=UTC)
LOST = (datetime(2026, 10, 24, 18, 4, tzinfo=UTC), datetime(2026, 10, 24, 18, 57, tzinfo=UTC))
FEED_DOWN = (datetime(2026, 10, 25, 13, 20, tzinfo=UTC), datetime(2026, 10, 25, 15, 5, tzinfo=UTC))
# Minutes between runs, and the minute after midnight UTC at which the first one is due.
BATCH_1 = {"pg-vacuum": (120, 35), "backup-delta": (180, 20), "report-cache": (30, 10)}
BATCH_2 = {
    "stock-sync": (15, 2),
    "pick-export": (60, 15),
    "mail-flush": (60, 40),
    "thumbs": (120, 50),
    "rates": (240, 5),
    "feed-push": (180, 33),
    "dunning": (1440, 1310),
}


def civil(moment: datetime) -> str:
    """Vienna's time without an offset: two hours ahead of UTC until the change, one hour from then on."""
    hours = 2 if moment < CHANGE else 1
    return f"{moment.astimezone(timezone(timedelta(hours=hours))):%Y-%m-%d %H:%M:%S}"


def zulu(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def due(start: datetime, end: datetime, every: int, first: int) -> Iterator[datetime]:
    """The moments at which a job is due."""
    moment = start.replace(hour=0, minute=0, second=0) + timedelta(minutes=first - 1440)
    while moment < end:
        if moment >= start:
            yield moment
        moment += timedelta(minutes=every)


def outcome(job: str, at: datetime, rng: random.Random) -> tuple[str, str]:
    """Level and details of one run."""
    rows = int(rng.random() * 400) + 3
    if job == "pg-vacuum":
        return "ERROR", "status=1 pg_stats is locked, left out"
    if job == "mail-flush" and rng.random() < 0.25:
        return "ERROR", f"status=0 sent={rows} one address refused with 550"
    if job == "stock-sync" and FEED_DOWN[0] < at < FEED_DOWN[1]:
        return "ERROR", "status=75 supplier answered 503, next try at the next run"
    return "INFO", f"status=0 rows={rows}"


def host(
    jobs: dict[str, tuple[int, int]], start: datetime, end: datetime, rng: random.Random, change: datetime | None
) -> list[Line]:
    """The lines of one host. From `change` on its timetable lacks pick-export."""
    lines: list[Line] = []
    numbers = Counter({job: int(rng.random() * 4000) + 400 for job in jobs})
    for job, (every, first) in jobs.items():
        for moment in due(start, end, every, first):
            begun = moment + timedelta(seconds=int(rng.random() * 6))
            took = int(rng.random() * 40) + 2
            level, details = outcome(job, moment, rng)
            if change and job == "pick-export" and moment > change:
                continue
            numbers[job] += 1
            lines.append((begun, len(lines), f"INFO scheduler start job={job} run={numbers[job]}"))
            done = f"{level} scheduler finished job={job} run={numbers[job]} {details} in {took}s"
            lines.append((begun + timedelta(seconds=took), len(lines), done))
    for moment in due(start, end, 360, 101):
        count = len(jobs) - (1 if change and moment + timedelta(minutes=5) > change else 0)
        text = f"INFO scheduler timetable read: {count} jobs, next look in 360 min"
        lines.append((moment + timedelta(seconds=12), len(lines), text))
    for number, moment in enumerate(due(start, end, 240, 3)):
        lines.append((moment, len(lines), f"WARN node disk {74 + number // 4} percent full"))
    return lines


def number_lines(lines: list[Line], clock: Callable[[datetime], str], path: Path) -> list[tuple[int, datetime, str]]:
    """Write a log; its lines with their numbers."""
    ordered = [(moment, text) for moment, _, text in sorted(lines)]
    path.write_text("".join(f"{clock(moment)} {text}\n" for moment, text in ordered), encoding="utf-8", newline="")
    return [(number, moment, text) for number, (moment, text) in enumerate(ordered, 1)]


def write(folder: Path) -> dict[str, object]:
    """Write all logs below a folder; the verifier's knowledge."""
    (folder / "quiet").mkdir(parents=True, exist_ok=True)
    start, end = datetime(2026, 10, 24, 12, tzinfo=UTC), datetime(2026, 10, 26, 9, tzinfo=UTC)
    week, rng = timedelta(days=7), random.Random(11)
    for name, jobs, clock in (("batch-1.log", BATCH_1, zulu), ("batch-2.log", BATCH_2, civil)):
        lines = host(jobs, start - week, end - week, rng, None)
        number_lines(lines, clock, folder / "quiet" / name)
    number_lines(host(BATCH_1, start, end, rng, None), zulu, folder / "batch-1.log")
    lines = host(BATCH_2, start, end, rng, CAUSE)
    kept = [line for line in lines if not LOST[0] < line[0] < LOST[1]]
    text = f"WARN journal log store was full, {len(lines) - len(kept)} lines are lost"
    kept.append((LOST[1], len(lines), text))
    numbered = number_lines(kept, civil, folder / "batch-2.log")
    cause = next(number for number, moment, text in numbered if moment == CAUSE and "timetable" in text)
    logged = [moment for _, moment, text in numbered if "finished job=pick-export" in text]
    ran = [moment for moment in due(start, end, *BATCH_2["pick-export"]) if moment < CAUSE]
    missed = [moment for moment in due(start, end, *BATCH_2["pick-export"]) if moment > CAUSE]
    return {
        "job": "pick-export",
        "last_good_utc": max(logged).isoformat(),
        "first_missed_utc": missed[0].isoformat(),
        "missed_runs": len(missed),
        "unlogged_runs": len(ran) - len(logged),
        "cause": {"file": "batch-2.log", "line": cause},
        "cause_utc": CAUSE.isoformat(),
    }


def dump(knowledge: dict[str, object]) -> str:
    return json.dumps(knowledge, indent=1) + "\n"


if __name__ == "__main__":
    task = Path(sys.argv[1])
    (task / "verifier").mkdir(parents=True, exist_ok=True)
    (task / "verifier" / "expected.json").write_text(dump(write(task / "starting" / "logs")), encoding="utf-8")

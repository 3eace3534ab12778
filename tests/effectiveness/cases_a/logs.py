"""Right and wrong answers to the tasks about logs (003, 004) and about a history (007).

Each function changes a workspace that the oracle has left (see Workspace in fixture_verifiers.py).
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from functools import partial
from typing import Any

ANSWER = "answer.json"


def put(w: Any, **values: Any) -> None:
    w.write_json(ANSWER, {**w.json(ANSWER), **values})


def shifted(text: str, **by: int) -> str:
    return (datetime.fromisoformat(text) + timedelta(**by)).isoformat()


def putting(name: str, **values: Any) -> Any:
    """A case that puts other values into the answer."""
    case = partial(put, **values)
    case.__name__ = name  # type: ignore[attr-defined]
    return case


def line_of(w: Any, file: str, words: str) -> dict[str, Any]:
    """The first line of a log that holds some words."""
    lines = w.text(f"logs/{file}").splitlines()
    return {"file": file, "line": next(n for n, line in enumerate(lines, 1) if words in line)}


# 003 -----------------------------------------------------------------------------------------------------------------


def another_request(w: Any) -> None:
    """Follow the last failed checkout, in another notation."""
    requests = re.findall(r"req=(\w+) edge done POST /checkout status=504", w.text("logs/edge.log"))
    steps = []
    for file, late in (("edge.log", 0), ("orders.log", 95), ("stock.log", 0)):
        for number, line in enumerate(w.text(f"logs/{file}").splitlines(), 1):
            if f"req={requests[-1]}" in line:
                stamp = re.match(r"\S+[ T][\d:]+[.,]\d{3}(Z|-04:00)?", line)[0].replace(",", ".").split(" INFO")[0]
                at = datetime.fromisoformat(stamp if file != "orders.log" else f"{stamp}+02:00")
                steps.append((at.astimezone(timezone(timedelta(hours=2))) + timedelta(seconds=late), file, number))
    trace = [{"file": f"logs/{file}", "line": str(number), "utc": at.isoformat()} for at, file, number in sorted(steps)]
    put(w, trace=trace)


def whole_seconds(w: Any) -> None:
    answer = w.json(ANSWER)
    trace = [{**step, "utc": re.sub(r"\.\d+", "", step["utc"])} for step in answer["trace"]]
    cause = {"file": "logs/stock.log", "line": answer["first_cause"]["line"]}
    put(w, trace=trace, first_cause=cause, cause_utc="2026-09-17 14:02:41", comment="the clock of orders is slow")


def flag(w: Any) -> None:
    put(w, first_cause=line_of(w, "orders.log", "flag"))


def first_wait(w: Any) -> None:
    put(w, first_cause=line_of(w, "stock.log", "waited"))


def first_error(w: Any) -> None:
    put(w, first_cause=line_of(w, "orders.log", "orders reservation failed"))


def release(w: Any) -> None:
    put(w, first_cause=line_of(w, "edge.log", "release"))


def quiet_file(w: Any) -> None:
    put(w, first_cause={**w.json(ANSWER)["first_cause"], "file": "logs/quiet/stock.log"})


def slow_clock_believed(w: Any) -> None:
    trace = [
        {**step, "utc": shifted(step["utc"], seconds=-95) if step["file"] == "orders.log" else step["utc"]}
        for step in w.json(ANSWER)["trace"]
    ]
    put(w, trace=sorted(trace, key=lambda step: step["utc"]))


def slow_clock_believed_in_order(w: Any) -> None:
    trace = [
        {**step, "utc": shifted(step["utc"], seconds=-95) if step["file"] == "orders.log" else step["utc"]}
        for step in w.json(ANSWER)["trace"]
    ]
    put(w, trace=trace)


def one_service_missing(w: Any) -> None:
    put(w, trace=[step for step in w.json(ANSWER)["trace"] if step["file"] != "stock.log"])


def file_by_file(w: Any) -> None:
    put(w, trace=sorted(w.json(ANSWER)["trace"], key=lambda step: step["file"]))


def a_checkout_that_went_well(w: Any) -> None:
    line = line_of(w, "edge.log", "done POST /checkout status=200")
    put(w, trace=[{**line, "utc": "2026-09-17T13:42:01Z"}])


def first_audit_of_a_wrong_attempt(w: Any) -> None:
    put(w, first_failure_utc=shifted(w.json(ANSWER)["first_failure_utc"], seconds=-6))


def no_findings(w: Any) -> None:
    w.write("findings.md", "")


def counted(name: str, factor: int, more: int) -> Any:
    def case(w: Any) -> None:
        put(w, failed_checkouts=w.json(ANSWER)["failed_checkouts"] * factor + more)

    case.__name__ = name
    return case


# 004 -----------------------------------------------------------------------------------------------------------------


def other_offsets(w: Any) -> None:
    answer = w.json(ANSWER)
    put(
        w,
        last_good_utc=answer["last_good_utc"].replace("Z", "+00:00"),
        first_missed_utc="2026-10-25T03:15+01:00",
        cause_utc="2026-10-25 01:41:12",
        missed_runs=float(answer["missed_runs"]),
        cause={"file": "logs/batch-2.log", "line": str(answer["cause"]["line"])},
    )


def seconds_of_the_due_time(w: Any) -> None:
    put(w, first_missed_utc="2026-10-25T02:15:04Z", note="the timetable lost an entry")


def summer_time_kept(w: Any) -> None:
    put(
        w,
        last_good_utc="2026-10-25T00:15:36Z",
        first_missed_utc="2026-10-25T01:15:00Z",
        cause_utc="2026-10-25T00:41:12Z",
    )


def first_pass_of_the_hour(w: Any) -> None:
    put(w, last_good_utc="2026-10-25T00:15:26Z")


def last_line_of_the_job(w: Any) -> None:
    lines = w.text("logs/batch-2.log").splitlines()
    put(w, cause={"file": "batch-2.log", "line": max(n for n, t in enumerate(lines, 1) if "pick-export" in t)})


def later_timetable(w: Any) -> None:
    lines = w.text("logs/batch-2.log").splitlines()
    number = [n for n, text in enumerate(lines, 1) if "timetable read: 6" in text][1]
    put(w, cause={"file": "batch-2.log", "line": number}, cause_utc="2026-10-25T07:41:12Z")


# 007 -----------------------------------------------------------------------------------------------------------------


def short_hashes(w: Any) -> None:
    answer = w.json(ANSWER)
    put(w, commit=answer["commit"][:9], last_good=answer["last_good"][:7].upper(), function="split_amount(text)")


def subjects(w: Any) -> None:
    put(w, commit="Read amounts in one pass", file="till/till/money.py:20", confirmed="both by hand")


def blamed(name: str, subject: str, **more: str) -> Any:
    """A case that names another commit, by its subject."""

    def case(w: Any) -> None:
        commits = w.commits()
        put(w, commit=commits[subject], **{key: commits[text] for key, text in more.items()})

    case.__name__ = name
    return case


RIGHT = {
    "003": [another_request, whole_seconds],
    "004": [other_offsets, seconds_of_the_due_time],
    "007": [short_hashes, subjects],
}
WRONG = {
    "003": [
        flag, first_wait, first_error, release, quiet_file, slow_clock_believed, slow_clock_believed_in_order,
        one_service_missing, file_by_file, a_checkout_that_went_well, first_audit_of_a_wrong_attempt, no_findings,
        counted("audit_lines_counted_too", 2, 0), counted("attempts_counted", 3, 0), counted("reports_counted_too", 1, 11),
        putting("time_of_the_data_centre", cause_utc="2026-09-17T10:02:41Z"),
        putting("no_trace", trace=None),
    ],
    "004": [
        summer_time_kept, first_pass_of_the_hour, last_line_of_the_job, later_timetable,
        putting("the_loudest_job", job="stock-sync"),
        putting("a_job_that_always_fails", job="pg-vacuum"),
        putting("gap_of_the_log", last_good_utc="2026-10-24T17:15:25Z", first_missed_utc="2026-10-24T18:15:00Z"),
        putting("gap_counted_too", missed_runs=32),
        putting("hour_lost", missed_runs=30),
        putting("last_hour_forgotten", missed_runs=29),
        putting("none_unlogged", unlogged_runs=0),
        putting("lost_lines_counted", unlogged_runs=14),
    ],
    "007": [
        blamed("merge", "Merge branch 'one-pass'", last_good="Round refunds half up"),
        blamed("dormant_mistake", "Amounts without a detour", last_good="Reader: the module that was forgotten"),
        blamed("the_suspect", "Round refunds half up", last_good="Notes on keeping old exports: what was agreed"),
        blamed("other_fault", "A voucher counts once"),
        blamed("other_fault_fixed", "Two vouchers of one customer both count"),
        blamed("first_that_cannot_run", "Reader: fields of their own", last_good="Version 1.3"),
        blamed("second_that_cannot_run", "Tidy the reader"),
        blamed("new_command", "Commands, of which sums is the first"),
        blamed("last_touch", "Say what functions take and give"),
        blamed("last_good_is_a_release", "Read amounts in one pass", last_good="Version 1.3"),
        putting("caller_blamed", file="till/read.py", function="bookings"),
        putting("too_short", commit="5e76"),
        putting("no_reason", why=""),
    ],
}  # fmt: skip

"""Right and wrong answers to the tasks about tables (001, 002).

Each function changes a workspace that the oracle has left (see Workspace in fixture_verifiers.py).
"""

from __future__ import annotations

import csv
import unicodedata
from typing import Any

REJECTS, CLEAN, COUNTS = "rejects.csv", "clean.csv", "counts.json"
CUSTOMERS, LEDGER = "customers.csv", "ledger.csv"


def column(w: Any, name: str, number: int, change: Any, **when: str) -> None:
    """Change one column of a table; `when` picks rows by the cell of the column c<n>."""
    rows = w.rows(name)
    for row in rows[1:]:
        if all(row[int(key[1:])] == cell for key, cell in when.items()):
            row[number] = change(row[number])
    w.write_rows(name, rows)


# 001 -----------------------------------------------------------------------------------------------------------------


def other_layout(w: Any) -> None:
    head, *rows = w.rows(CLEAN)
    rows = [[unicodedata.normalize("NFD", cell) if n == 1 else cell for n, cell in enumerate(row)] for row in rows]
    for row in rows:
        row[6] = row[6] and f"{float(row[6]):g}"
    w.write_rows(CLEAN, [head, *sorted(rows, reverse=True)], lineterminator="\r\n", quoting=csv.QUOTE_ALL)
    counts = w.json(COUNTS)
    w.write_json(COUNTS, {"duplicates": str(counts.pop("duplicates")), **counts, "decided_by": "branch"})


def four_column_rejects(w: Any) -> None:
    rows = w.rows(REJECTS)
    wide = [[line, "joined", reason, record] for line, reason, record in reversed(rows[1:])]
    w.write_rows(REJECTS, [["source_line", "column", "reason", "raw"], *wide])


def one_line_notes(w: Any) -> None:
    column(w, CLEAN, 10, lambda note: " ".join(note.split()))


def no_zeros(w: Any) -> None:
    column(w, CLEAN, 3, lambda cell: str(int(cell)) if cell.isdigit() else cell)


def integer_numbers(w: Any) -> None:
    head, *rows = w.rows(CLEAN)
    seen = {str(int(row[0])): row for row in reversed(rows)}
    w.write_rows(CLEAN, [head, *([number, *row[1:]] for number, row in seen.items())])


def float_chips(w: Any) -> None:
    column(w, CLEAN, 7, lambda cell: str(int(float(cell))))


def missing_countries(w: Any) -> None:
    column(w, CLEAN, 4, lambda cell: "" if cell == "NA" else cell)


def day_first_everywhere(w: Any) -> None:
    column(w, CLEAN, 5, lambda _: "2020-04-03", c0="00903")


def month_first_everywhere(w: Any) -> None:
    column(w, CLEAN, 5, lambda _: "2020-04-05", c0="731")


def serial_day_off(w: Any) -> None:
    column(w, CLEAN, 5, lambda _: "2020-03-17", c0="00733")


def serial_days_rejected(w: Any) -> None:
    w.write_rows(CLEAN, [row for row in w.rows(CLEAN) if row[0] not in ("00733", "0742")])
    w.write_rows(REJECTS, [*w.rows(REJECTS), ["9", "not a date", ""], ["29", "not a date", ""]])
    w.write_json(COUNTS, {**w.json(COUNTS), "clean": 17, "rejected": 11})


def guessed_dates(w: Any) -> None:
    head, *rows = w.rows(CLEAN)
    more = ["01205", "Festus Nghipondoka", "Walvis Bay", "13013", "NA", "2019-07-03", "36.00"]
    w.write_rows(CLEAN, [head, *rows, [*more, "620098100034217791", "", "+264 64 555 0122", ""]])
    w.write_rows(REJECTS, [row for row in w.rows(REJECTS) if row[0] != "8"])
    w.write_json(COUNTS, {**w.json(COUNTS), "clean": 20, "rejected": 8})


def decimal_point(w: Any) -> None:
    column(w, CLEAN, 6, lambda _: "1.05", c0="00734")


def lost_sign(w: Any) -> None:
    column(w, CLEAN, 6, lambda cell: cell.removeprefix("-"))


def fee_zero_for_missing(w: Any) -> None:
    column(w, CLEAN, 6, lambda cell: cell or "0")


def latin_1(w: Any) -> None:
    column(w, CLEAN, 1, lambda cell: cell.replace("’", "\x92").replace("Š", "\x8a").replace("š", "\x9a"))


def garbled_name(w: Any) -> None:
    column(w, CLEAN, 1, lambda cell: cell.replace("ë", "Ã«"))


def null_names(w: Any) -> None:
    column(w, CLEAN, 1, lambda cell: cell.replace("Null", "").strip())


def cut_notes(w: Any) -> None:
    column(w, CLEAN, 10, lambda cell: cell.split("\n")[0])


def record_numbers(w: Any) -> None:
    column(w, REJECTS, 0, lambda line: str(int(line) - (1 if int(line) < 25 else 2) if int(line) > 12 else line))


def first_of_a_conflict(w: Any) -> None:
    more = ["00742", "Lara Pinto", "Porto", "4000-323", "PT", "2020-10-01", "48.00"]
    w.write_rows(CLEAN, [*w.rows(CLEAN), [*more, "620098100034217803", "4-12", "+351 22 555 0115", ""]])
    w.write_rows(REJECTS, [row for row in w.rows(REJECTS) if row[0] not in ("23", "28")])
    w.write_json(COUNTS, {"read": 30, "clean": 20, "rejected": 7, "duplicates": 3})


def locker_kept(w: Any) -> None:
    more = ["00736", "Duarte Reis", "Porto", "4300-113", "PT", "2020-12-02", "48.00"]
    w.write_rows(CLEAN, [*w.rows(CLEAN), [*more, "620098100034217796", "7-Apr", "+351 22 555 0109", ""]])
    w.write_rows(REJECTS, [row for row in w.rows(REJECTS) if row[0] != "14"])
    w.write_json(COUNTS, {"read": 30, "clean": 20, "rejected": 8, "duplicates": 2})


def doubles_rejected(w: Any) -> None:
    w.write_rows(REJECTS, [*w.rows(REJECTS), ["16", "duplicate", ""], ["32", "duplicate", ""]])
    w.write_json(COUNTS, {"read": 30, "clean": 19, "rejected": 11, "duplicates": 0})


def no_reasons(w: Any) -> None:
    column(w, REJECTS, 1, lambda _: "")


def byte_order_mark(w: Any) -> None:
    w.write(CLEAN, "\ufeff" + w.text(CLEAN))


def lines_as_records(w: Any) -> None:
    w.write_json(COUNTS, {**w.json(COUNTS), "read": 33})


# 002 -----------------------------------------------------------------------------------------------------------------


def till_row_kept(w: Any) -> None:
    """Keep the later one of equal rows, in another order and layout."""
    head, *rows = w.rows(LEDGER)
    swap = {
        ("shop.csv", "2"): "duplicate",
        ("till.csv", "2"): "kept",
        ("till.csv", "19"): "kept",
        ("till.csv", "18"): "duplicate",
    }
    for row in rows:
        if new := swap.get((row[0], row[1])):
            row[2:] = [new, "the same" if new == "duplicate" else ""]
    w.write_rows(LEDGER, [head, *reversed(rows)])
    head, *rows = w.rows(CUSTOMERS)
    for row in rows:
        row[6] = f"{float(row[6]):g}"
        row[1] = unicodedata.normalize("NFD", row[1])
    w.write_rows(CUSTOMERS, [head, *sorted(rows, key=lambda row: row[1])], lineterminator="\r\n")


def held_twice(w: Any) -> None:
    """Hold every row of a card that needs a decision, equal ones too."""
    rows = w.rows(LEDGER)
    for row in rows:
        if (row[0], row[1]) in {("shop.csv", "15"), ("till.csv", "20")}:
            row[2:] = ["held", "card differs"]
    w.write_rows(LEDGER, rows)


def broken_towns(w: Any) -> None:
    column(w, CUSTOMERS, 3, lambda town: town.replace("Nord ", "Nord\n").replace("Bremen ", "Bremen\n"))


def integer_cards(w: Any) -> None:
    head, *rows = w.rows(CUSTOMERS)
    seen: dict[str, list[str]] = {}
    for row in rows:
        number = str(int(row[0])) if row[0].isdigit() else row[0]
        seen.setdefault(number, [number, *row[1:]])
    w.write_rows(CUSTOMERS, [head, *seen.values()])


def fate(w: Any, file: str, line: str, new: str) -> None:
    rows = w.rows(LEDGER)
    for row in rows:
        if row[:2] == [file, line]:
            row[2:] = [new, "" if new == "kept" else "see the other row"]
    w.write_rows(LEDGER, rows)


def shop_wins(w: Any) -> None:
    more = ["10079", "Greta Holm", "greta@example.org", "Malmö", "SE", "2022-02-10", "40.00"]
    w.write_rows(CUSTOMERS, [*w.rows(CUSTOMERS), more])
    fate(w, "shop.csv", "6", "kept")
    fate(w, "till.csv", "4", "duplicate")


def town_filled_in(w: Any) -> None:
    more = ["10086", "Rosa Díaz", "rosa@example.org", "Cádiz", "ES", "2019-06-05", "11.00"]
    w.write_rows(CUSTOMERS, [*w.rows(CUSTOMERS), more])
    fate(w, "shop.csv", "19", "duplicate")
    fate(w, "till.csv", "13", "kept")


def month_first_till(w: Any) -> None:
    more = ["10085", "Kim Park", "kim@example.net", "Köln", "DE", "2023-01-09", "1000.00"]
    w.write_rows(CUSTOMERS, [*w.rows(CUSTOMERS), more])
    fate(w, "shop.csv", "18", "kept")
    fate(w, "till.csv", "12", "duplicate")


def accents_differ(w: Any) -> None:
    w.write_rows(CUSTOMERS, [row for row in w.rows(CUSTOMERS) if row[0] != "10077"])
    fate(w, "shop.csv", "4", "held")
    fate(w, "till.csv", "3", "held")


def same_person(w: Any) -> None:
    w.write_rows(CUSTOMERS, [row for row in w.rows(CUSTOMERS) if row[0] != "10084"])
    fate(w, "shop.csv", "14", "duplicate")


def row_numbers(w: Any) -> None:
    column(w, LEDGER, 1, lambda line: str(int(line) - 1) if int(line) > 10 else line, c0="shop.csv")


def nameless_kept(w: Any) -> None:
    w.write_rows(
        CUSTOMERS, [*w.rows(CUSTOMERS), ["", "Paula Ek", "paula@example.org", "Lund", "SE", "2021-04-30", "1.00"]]
    )
    fate(w, "till.csv", "16", "kept")


def rows_left_out(w: Any) -> None:
    w.write_rows(LEDGER, [row for row in w.rows(LEDGER) if row[2] != "duplicate"])


def both_kept(w: Any) -> None:
    fate(w, "till.csv", "19", "kept")


def countries_lost(w: Any) -> None:
    column(w, CUSTOMERS, 4, lambda cell: "" if cell == "NA" else cell)


RIGHT = {"001": [other_layout, four_column_rejects, one_line_notes], "002": [till_row_kept, held_twice, broken_towns]}
WRONG = {
    "001": [
        no_zeros, integer_numbers, float_chips, missing_countries, day_first_everywhere, month_first_everywhere,
        serial_day_off, serial_days_rejected, guessed_dates, decimal_point, lost_sign, fee_zero_for_missing, latin_1,
        garbled_name, null_names, cut_notes, record_numbers, first_of_a_conflict, locker_kept, doubles_rejected,
        no_reasons, byte_order_mark, lines_as_records,
    ],
    "002": [
        integer_cards, shop_wins, town_filled_in, month_first_till, accents_differ, same_person, row_numbers,
        nameless_kept, rows_left_out, both_kept, countries_lost,
    ],
}  # fmt: skip

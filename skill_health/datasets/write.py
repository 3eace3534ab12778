"""A data set as files: a table each as JSON Lines or Parquet, and a card that names them to the usual readers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from skill_health import __version__
from skill_health.bench.durable import to_json
from skill_health.bench.run_folder import growing_folder
from skill_health.core.errors import UsageError
from skill_health.core.extras import missing_modules, tell_missing
from skill_health.core.files import is_there, read_whole, write_bytes
from skill_health.datasets.gather import SkillDataset
from skill_health.datasets.rows import TABLES
from skill_health.documents._record import Record, decode_record, record_values
from skill_health.skill.frontmatter import write
from skill_health.text.blocks import Block, Items, Sentence, Table, TitleBlock, as_markdown
from skill_health.text.numbers import count
from skill_health.text.terminal import clean

TableForm = Literal["jsonl", "parquet"]
CARD = "README.md"
_MOST = 1 << 30
_LIBRARY = ("pyarrow",)


def rows_of(dataset: SkillDataset) -> Mapping[str, Sequence[Record]]:
    """The rows by the name of their table; readers refuse a table without any, so there is none."""
    tables: dict[str, Sequence[Record]] = {"tasks": dataset.tasks, "skills": dataset.skills, "results": dataset.results}
    return {name: rows for name, rows in tables.items() if rows}


def write_dataset(dataset: SkillDataset, target: str, form: TableForm, licences: Sequence[str]) -> None:
    """Write the tables and the card to the new folder `target`, which comes into being when it is complete.

    Raises UsageError where it exists or cannot be written, and where Parquet is asked for without its library.
    """
    if form == "parquet" and missing_modules(_LIBRARY):
        raise UsageError(tell_missing("dataset --format parquet", "parquet", *_LIBRARY))
    if is_there(target, links=False):
        raise UsageError(f"{clean(target)} is there already: name a folder that is not")
    try:
        with growing_folder(target) as half:
            for name, rows in rows_of(dataset).items():
                path = os.path.join(half, f"{name}.{form}")
                if form == "parquet":
                    _write_parquet(path, TABLES[name], rows)
                else:
                    write_bytes(path, "".join(f"{to_json(record_values(row))}\n" for row in rows).encode())
            card = write(_metadata(rows_of(dataset), form, licences), as_markdown(_card(dataset, form)))
            write_bytes(os.path.join(half, CARD), card.encode())
    except OSError as error:
        raise UsageError(f"cannot write {clean(target)}: {error.strerror or error}") from error


def read_table(folder: str, name: str) -> list[Record]:
    """The rows of a table of JSON Lines, as they were written. Raises UsageError for a row that is none, OSError."""
    rows = []
    for number, line in enumerate(read_whole(os.path.join(folder, f"{name}.jsonl"), _MOST).splitlines(), 1):
        try:
            rows.append(decode_record(line, TABLES[name]))
        except ValueError as error:
            raise UsageError(f"{clean(folder)}/{name}.jsonl:{number}: {error}") from None
    return rows


def _write_parquet(path: str, kind: type[Record], rows: Sequence[Record]) -> None:
    pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    table = pyarrow.Table.from_pylist([record_values(row) for row in rows], schema=pyarrow.schema(_columns(kind)))
    parquet.write_table(table, path, compression="zstd")


def _columns(kind: type[Record]) -> list[Any]:
    pyarrow = import_module("pyarrow")
    return [pyarrow.field(name, _column_type(hint)) for name, hint in get_type_hints(kind).items()]


def _column_type(hint: Any) -> Any:
    pyarrow = import_module("pyarrow")
    if get_origin(hint) is UnionType:
        hint = next(each for each in get_args(hint) if each is not NoneType)
    if get_origin(hint) is list:
        return pyarrow.list_(_column_type(get_args(hint)[0]))
    plain = {str: pyarrow.string(), bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64()}
    return plain[hint] if hint in plain else pyarrow.struct(_columns(hint))


def _metadata(tables: Iterable[str], form: TableForm, licences: Sequence[str]) -> dict[str, object]:
    """The frontmatter by which readers of data sets find the tables."""
    configs = [{"config_name": name, "data_files": f"{name}.{form}"} for name in tables]
    return {"license": list(licences) or ["other"], "configs": configs}


def _card(dataset: SkillDataset, form: TableForm) -> Iterator[Block]:
    simulated = sum(row.simulated for row in dataset.results)
    yield TitleBlock("Tasks for agent skills, with results", 1)
    yield Sentence(
        f"{count(len(dataset.tasks), 'task')}, {count(len(dataset.skills), 'skill')} and {count(len(dataset.results), 'trial')}, "
        f"written by skill-health {__version__}."
    )
    if simulated:
        yield Sentence(f"{simulated:,} trials are of simulated agents, and say nothing about any model.", strong=True)
    yield TitleBlock("Tables")
    for name in rows_of(dataset):
        yield Sentence(f"{name}.{form}: {', '.join(get_type_hints(TABLES[name]))}")
    yield TitleBlock("Loading")
    yield Sentence(f'datasets.load_dataset("FOLDER", NAME) with one of {", ".join(rows_of(dataset))} as NAME.')
    yield TitleBlock("Licences and themes")
    yield Table(
        ("licence", "skills"),
        [(name, str(n)) for name, n in _counted(row.licence or "not declared" for row in dataset.skills)],
    )
    yield Table(("theme", "skills"), [(name, str(n)) for name, n in _counted(row.theme for row in dataset.skills)])
    yield TitleBlock("What is left out")
    if dataset.left_out:
        yield Items([f"{each.what}: {each.reason}" for each in dataset.left_out])
    else:
        yield Sentence("Nothing.")
    yield Sentence(
        "Left out are skills whose licence does not say that they may be passed on, near copies, what the safety and leakage rules "
        "warn of, and what names persons or credentials. Nobody has read the rest for you."
    )


def _counted(words: Iterator[str]) -> list[tuple[str, int]]:
    return sorted(Counter(words).items(), key=lambda each: (-each[1], each[0]))

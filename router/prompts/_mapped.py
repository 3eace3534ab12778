"""`--map prompt=question,skill=target`: any JSON, JSON lines, YAML or CSV file by the names it uses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skill_health.core.errors import UsageError
from skill_health.core.strict_json import JsonProblem, item_lines, kind_of, quote, read_lines, top_level
from skill_health.registries.records import BadRecord
from skill_health.registries.strict_yaml import YamlItems, read_yaml
from skill_health.router.prompts._api import FieldMap, Found, Known, PromptFile
from skill_health.router.prompts._look import look_at, read_list, read_object, uncommented
from skill_health.router.prompts._rows import row_prompt, unreadable
from skill_health.router.prompts.labelled_csv import read_table
from skill_health.text.near import nearest

TITLE = "mapped records"
_KNOWN = ("prompt", "skill", "should_trigger", "id", "family", "split", "reason", "rejected", "acceptable")
_DELIMITERS = ",;\t|"


def parse_map(text: str) -> FieldMap:
    """The names in `prompt=question,skill=target`; a name with dots leads into objects. Raises UsageError."""
    pairs = [part.partition("=") for part in text.split(",")]
    for name, equals, field in pairs:
        if not equals or not field.strip() or name.strip() not in _KNOWN:
            near = nearest(name.strip(), _KNOWN)
            hint = f"did you mean {near}=?" if near and name.strip() not in _KNOWN else "write prompt=FIELD,skill=FIELD"
            raise UsageError(f"--map: {quote(f'{name}{equals}{field}')} maps nothing; {hint}")
    fields = {name.strip(): field.strip() for name, _, field in pairs}
    if len(fields) < len(pairs):
        raise UsageError("--map: one of the names stands twice")
    if lacking := [name for name in ("prompt", "skill") if name not in fields]:
        raise UsageError(f"--map needs {' and '.join(lacking)}: write prompt=FIELD,skill=FIELD")
    return FieldMap(fields)


def read(file: PromptFile, fields: FieldMap, known: Known) -> Iterator[Found]:
    """The records of the file. One that lacks the request's field is a bad record; where all do, the file is."""
    records = list(_records(file, fields))
    rows = [record for _, record in records if isinstance(record, Mapping)]
    for name in ("prompt", "skill"):
        if rows and not any(_has(row, fields.names[name]) for row in rows):
            there = ", ".join(quote(key) for key in list(dict.fromkeys(key for row in rows for key in row))[:8])
            message = f"no record has {quote(fields.names[name])}, which --map takes for the {name}; there are {there}"
            yield BadRecord(file.path, records[0][0], 1, message, "Name another field.", "prompts")
            return
    for line, record in records:
        if isinstance(record, BadRecord):
            yield record
        elif not isinstance(record, Mapping):
            message = f"not an object but {kind_of(record)}"
            yield BadRecord(file.path, line, 1, message, "Each record is an object.", "prompts")
        else:
            yield _prompt(file, line, record, fields, known)


def _prompt(file: PromptFile, line: int, record: Mapping[str, Any], fields: FieldMap, known: Known) -> Found:
    row = {name: _value(record, field) for name, field in fields.names.items() if _has(record, field)}
    if not isinstance(row.get("prompt"), str) or not row["prompt"].strip():
        message = f"no text in {quote(fields.names['prompt'])}"
        return BadRecord(file.path, line, 1, message, "Each record needs its request.", "prompts")
    if "should_trigger" not in fields.names:
        if "skill" not in row:
            message = f"there is no {quote(fields.names['skill'])}"
            return BadRecord(file.path, line, 1, message, "Write null where no skill applies.", "prompts")
        row["expected_skill"] = row.pop("skill")
    elif isinstance(word := row.get("should_trigger"), str) and word.strip().lower() in ("true", "false"):
        row["should_trigger"] = word.strip().lower() == "true"
    return row_prompt(file, line, row, known, file.skill)


def _has(record: Mapping[str, Any], field: str) -> bool:
    return _value(record, field, missing := object()) is not missing


def _value(record: Any, field: str, default: Any = None) -> Any:
    """What stands under a name, or under a path of names with dots between."""
    if field in record:
        return record[field]
    for part in field.split("."):
        if not isinstance(record, Mapping) or part not in record:
            return default
        record = record[part]
    return record


def _records(file: PromptFile, fields: FieldMap) -> Iterator[tuple[int, Any]]:
    """The records of a file with their lines. Raises JsonProblem for a file that holds none."""
    kind = look_at(file.raw).kind
    if kind == "list":
        text, items = read_list(file.raw)
        yield from zip(item_lines(text, 0), items, strict=True)
    elif kind in ("lines", "object"):
        lines = list(read_lines(uncommented(file.raw)))
        if len(lines) == 1 or any(line.problem for line in lines[:1]):
            text, data = read_object(file.raw)
            name = _list_in(data, fields)
            if name is None:
                yield 1, data
            else:
                yield from zip(item_lines(text, dict(top_level(text))[name]), data[name], strict=True)
            return
        for line in lines:
            bad = line.problem and unreadable(file, line.text, line.problem)
            yield line.number, bad._replace(line=line.number) if bad else line.data
    elif delimiter := next((each for each in _DELIMITERS if _is_header(file.raw, each, fields)), ""):
        yield from read_table(file, delimiter)
    else:
        data = read_yaml(file.raw)
        name = _list_in(data, fields) if isinstance(data, Mapping) else None
        if name is None and isinstance(data, Mapping) and _has(data, fields.names["prompt"]):
            yield 1, data
            return
        items = data if name is None else data[name]
        if not isinstance(items, YamlItems):
            raise JsonProblem("neither JSON, JSON lines, a YAML list nor CSV with these columns")
        yield from zip(items.lines, items, strict=True)


def _list_in(data: Mapping[str, Any], fields: FieldMap) -> str | None:
    """The one list of records in an object. Raises JsonProblem where several could be meant."""
    lists = [
        key
        for key, value in data.items()
        if isinstance(value, list)
        and any(isinstance(each, Mapping) and _has(each, fields.names["prompt"]) for each in value)
    ]
    if len(lists) > 1:
        raise JsonProblem(f"several lists hold such records: {', '.join(map(quote, lists))}")
    return lists[0] if lists else None


def _is_header(raw: bytes, delimiter: str, fields: FieldMap) -> bool:
    import csv

    head = raw.lstrip()[: 1 << 16].decode("utf-8-sig", "replace").splitlines()[:1]
    try:
        columns = next(csv.reader(head, delimiter=delimiter), [])
    except csv.Error:
        return False
    return fields.names["prompt"] in [column.strip() for column in columns]

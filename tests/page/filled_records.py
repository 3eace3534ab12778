"""Documents of which a test gives only what it is about: everything else is there, and empty."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, TypeVar

from msgspec import inspect

from skill_health.documents._record import OpenRecord, Record, record_values
from skill_health.documents.daily_run import DailyRun
from skill_health.documents.effect_history import EffectHistoryLine
from skill_health.documents.effect_report import EffectReport
from skill_health.documents.lint_report import LintDocument
from skill_health.documents.page_data import PageData
from skill_health.documents.router_history import RouterHistoryLine
from skill_health.documents.router_report import RouterReport
from skill_health.documents.skill_record import SkillRecords
from skill_health.page.model import Page

Kind = TypeVar("Kind", bound=Record | OpenRecord)


def filled(kind: type[Kind], given: Mapping[str, Any]) -> Kind:
    """A record of these values, which are not checked; what is not given is null, empty or zero."""
    fields = _fields(kind)
    assert given.keys() <= {each.encode_name for each in fields}, "a key that the record does not have"
    values = {}
    for each in fields:
        if each.encode_name in given:
            values[each.name] = _shaped(each.type, given[each.encode_name])
        elif each.required:
            values[each.name] = _empty(each.type)
    return kind(**values)


@cache
def _fields(kind: type[Record | OpenRecord]) -> tuple[inspect.Field, ...]:
    """The fields of a kind of record, looked up once: that takes longer than all the rest."""
    found = inspect.type_info(kind)
    assert isinstance(found, inspect.StructType)
    return found.fields


def _shaped(kind: inspect.Type, value: Any) -> Any:
    match kind:
        case inspect.EnumType():
            return kind.cls(value)
        case inspect.StructType() if isinstance(value, Mapping):
            return filled(kind.cls, value)
        case inspect.UnionType():
            fits = (each for each in kind.types if not isinstance(each, inspect.NoneType))
            return None if value is None else _shaped(next(fits), value)
        case inspect.VarTupleType() if isinstance(value, list | tuple):
            return tuple(_shaped(kind.item_type, each) for each in value)
        case inspect.DictType() if isinstance(value, Mapping):
            return {key: _shaped(kind.value_type, each) for key, each in value.items()}
    return value


def _empty(kind: inspect.Type) -> Any:
    match kind:
        case inspect.StructType():
            return filled(kind.cls, {})
        case inspect.UnionType() if any(isinstance(each, inspect.NoneType) for each in kind.types):
            return None
        case inspect.LiteralType():
            return kind.values[0]
        case inspect.EnumType():
            return next((each for each in kind.cls if each.value == "not measured"), next(iter(kind.cls)))
    empty = {inspect.VarTupleType: (), inspect.DictType: {}, inspect.StrType: "", inspect.FloatType: 0.0}
    return empty.get(type(kind), 0)


def page_over(
    status: Mapping[str, Any] | None = None, lint: Mapping[str, Any] | None = None,
    own: Mapping[str, Any] | None = None, history: Iterable[Mapping[str, Any]] = (),
    router_history: Iterable[Mapping[str, Any]] = (), router: Iterable[Mapping[str, Any]] = (),
    effects: Iterable[Mapping[str, Any]] = (), effect_history: Iterable[Mapping[str, Any]] = (), **more: Any,
) -> Page:  # fmt: skip
    """A page over such documents."""
    about = {"title": "Made", "version": "1", "as_of": "2026-01-02"}
    return Page(
        **about | more, status=filled(SkillRecords, status or {}), lint=filled(LintDocument, lint or {}),
        own=filled(PageData, own or {}), history=tuple(filled(DailyRun, each) for each in history),
        router_history=tuple(filled(RouterHistoryLine, each) for each in router_history),
        effect_history=tuple(filled(EffectHistoryLine, each) for each in effect_history),
        router=tuple(filled(RouterReport, each) for each in router),
        effects=tuple(filled(EffectReport, each) for each in effects),
    )  # fmt: skip


def documents(page: Page) -> dict[str, Any]:
    """The documents of a page as JSON values, by their names."""
    told = {
        **{f"router/{each.run.run_id}": record_values(each) for each in page.router},
        **{f"effectiveness/{each.run_id}": record_values(each) for each in page.effects},
        "status": record_values(page.status), "lint": record_values(page.lint), "page": record_values(page.own),
        **({"needs": record_values(page.needs)} if page.needs else {}),
        **({"effectiveness-configurations": record_values(page.configurations)} if page.configurations else {}),
        **({"router-curve": record_values(page.curve)} if page.curve else {}),
        **{f"activation/{each.run_id}": record_values(each) for each in page.activation},
        "history": [*map(record_values, page.history)], "router-history": [*map(record_values, page.router_history)],
        "effectiveness-history": [*map(record_values, page.effect_history)],
    }  # fmt: skip
    found: dict[str, Any] = json.loads(json.dumps(told))
    return found


def resolve(told: Mapping[str, Any], origin: str) -> Any:
    """What stands at an origin, in documents by their names."""
    name, _, pointer = origin.partition("#")
    value = told[name]
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def told_figures(page: Page, elements: Iterable[Any]) -> Iterator[tuple[Any, str]]:
    """The value at the origin of each element, and the figure that it shows."""
    told = documents(page)
    for each in elements:
        found = resolve(told, str(each.attrs["data-from"]))
        yield found["value"] if isinstance(found, dict) else found, each.text.replace(",", "").split()[0]

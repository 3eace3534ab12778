"""Right and wrong answers to the tasks about schemas (005, 006).

Each function changes a workspace that the oracle has left (see Workspace in fixture_verifiers.py).
"""

from __future__ import annotations

import copy
import json
from typing import Any

SCHEMA, MOVED, COMPAT, OLD = "schema.json", "order.2020.schema.json", "compat.json", "order.schema.json"
KINDS = ("accepted", "scanned", "delivered", "returned")
OPTIONAL = {
    "accepted": ["drop_point", "declared"], "scanned": ["hub", "belt"], "delivered": ["recipient", "photos"],
    "returned": ["reason", "reason_text", "sender"],
}  # fmt: skip


def edited(name: str, file: str, change: Any) -> Any:
    """A case that changes the oracle's schema in place."""

    def case(w: Any) -> None:
        schema = w.json(file)
        change(schema)
        w.write_json(file, schema)

    case.__name__ = name
    return case


def replaced(name: str, file: str, old: str, new: str) -> Any:
    """A case that replaces a text in a file, which is there."""

    def case(w: Any) -> None:
        text = w.text(file)
        assert old in text, old
        w.write(file, text.replace(old, new))

    case.__name__ = name
    return case


# 005 -----------------------------------------------------------------------------------------------------------------


def closed_branches(w: Any) -> None:
    """One closed object for each kind, people written out, no unevaluatedProperties anywhere."""
    schema = w.json(SCHEMA)
    person = schema["$defs"]["person"]
    relation = schema["$defs"]["delivered"]["properties"]["recipient"]["properties"]["relation"]
    door = schema["$defs"]["delivered"]["properties"]["recipient"]["then"]["properties"]["door"]
    others = {"enum": [name for name in relation["enum"] if name != "neighbour"]}

    def closed(required: list[str], **properties: Any) -> dict[str, Any]:
        return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}

    people = person["properties"]
    sender = closed(["name"], **people)
    recipient = {
        "oneOf": [
            closed(["name", "relation"], **people, relation=others),
            closed(["name", "relation", "door"], **people, relation={"const": "neighbour"}, door=door),
        ]
    }
    reason = schema["$defs"]["returned"]["properties"]["reason"]
    text = schema["$defs"]["returned"]["then"]["properties"]["reason_text"]
    base = {name: schema["properties"][name] for name in ("event_id", "at", "parcel", "note")}
    common = schema["required"]
    branches = []
    for kind in ("accepted", "scanned", "delivered"):
        own = copy.deepcopy(schema["$defs"][kind])
        if kind == "delivered":
            own["properties"]["recipient"] = recipient
        branches.append(closed(common + own["required"], **base, kind={"const": kind}, **own["properties"]))
    tag = {"const": "returned"}
    known = {"enum": [name for name in reason["enum"] if name != "other"]}
    branches.append(closed([*common, "reason", "sender"], **base, kind=tag, reason=known, sender=sender))
    other = {"reason": {"const": "other"}, "reason_text": text, "sender": sender}
    branches.append(closed([*common, "reason", "reason_text", "sender"], **base, kind=tag, **other))
    w.write_json(SCHEMA, {"$schema": schema["$schema"], "oneOf": branches})


def flat_with_forbidden_fields(w: Any) -> None:
    """All fields at the root, which is closed; for each kind the fields of the others are false."""
    schema = w.json(SCHEMA)
    definitions = schema.pop("$defs")
    schema.pop("unevaluatedProperties")
    schema["additionalProperties"] = False
    schema["allOf"] = []
    for kind in KINDS:
        own = definitions[kind]
        schema["properties"].update(own["properties"])
        foreign = {name: False for other in KINDS if other != kind for name in OPTIONAL[other]}
        schema["allOf"].append(
            {
                "if": {"properties": {"kind": {"const": kind}}},
                "then": {"required": own["required"], "properties": foreign},
            }
        )
    returned = definitions["returned"]
    schema["properties"]["reason_text"] = returned["then"]["properties"]["reason_text"]
    only = {"then": {"required": ["reason_text"]}, "else": {"properties": {"reason_text": False}}}
    schema["allOf"].append({"if": returned["if"], **only})
    person = definitions["person"]
    person["$anchor"] = "who"
    recipient = schema["properties"]["recipient"]
    recipient["$ref"] = "#who"
    schema["properties"]["sender"]["$ref"] = "#who"
    schema["$defs"] = {"person": person}
    w.write_json(SCHEMA, schema)


def defaults_and_comments(w: Any) -> None:
    schema = w.json(SCHEMA)
    schema["properties"]["at"]["format"] = "date-time"
    schema["properties"]["at"]["pattern"] = r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$"
    schema["properties"]["note"] = {"oneOf": [{"type": "null"}, {"type": "string", "pattern": r"^[\s\S]{1,200}$"}]}
    schema["$comment"] = "by hand"
    w.write_json(SCHEMA, schema)


def anchors_forgotten(w: Any) -> None:
    w.write(SCHEMA, w.text(SCHEMA).replace('"^', '"').replace('$"}', '"}').replace('$",', '",'))


def everything(w: Any) -> None:
    w.write_json(SCHEMA, {"$schema": w.json(SCHEMA)["$schema"]})


def nothing(w: Any) -> None:
    w.write_json(SCHEMA, {"$schema": w.json(SCHEMA)["$schema"], "not": {}})


def only_examples(w: Any) -> None:
    names = ("accepted", "accepted-plain", "scanned", "delivered", "delivered-neighbour", "returned")
    examples = [w.json(f"examples/{name}.json") for name in names]
    w.write_json(SCHEMA, {"$schema": w.json(SCHEMA)["$schema"], "enum": examples})


def nested_in(schema: Any, *path: str) -> Any:
    for step in path:
        schema = schema[step]
    return schema


PARCEL = ("properties", "parcel")
DECLARED = ("$defs", "accepted", "properties", "declared")
RECIPIENT = ("$defs", "delivered", "properties", "recipient")


# 006 -----------------------------------------------------------------------------------------------------------------


def old_places(w: Any) -> None:
    """Leave the definitions where they are, and point at money instead of naming it."""
    text = w.text(MOVED).replace('"$defs"', '"definitions"').replace("#/$defs/", "#/definitions/")
    schema = json.loads(text.replace('"#money"', '"#/definitions/money"'))
    del schema["definitions"]["money"]["$anchor"]
    schema["$id"] = "https://print.example/schemas/order/2020"
    w.write_json(MOVED, schema)


def written_out(w: Any) -> None:
    """No reference is left, and rules that say the same in other words."""
    schema = w.json(MOVED)
    definitions = schema.pop("$defs")
    definitions["money"].pop("$anchor")

    def inlined(value: Any) -> Any:
        if isinstance(value, list):
            return [inlined(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return inlined(definitions[value["$ref"].replace("money", "/money").rpartition("/")[2]])
        return {name: inlined(item) for name, item in value.items()}

    schema = inlined(schema)
    pickup = schema.pop("dependentSchemas")
    both = {"required": ["pickup", "deliver_to"]}
    schema["allOf"] = [{"not": both}, {"if": {"required": ["deliver_to"]}, "then": pickup["deliver_to"]}]
    w.write_json(MOVED, schema)


def prefix(schema: Any) -> None:
    size = schema["$defs"]["size"]
    size["items"] = size.pop("prefixItems")


def dependencies_left(schema: Any) -> None:
    schema["dependencies"] = {**schema.pop("dependentRequired"), **schema.pop("dependentSchemas")}


def open_tuple(schema: Any) -> None:
    size = schema["$defs"]["size"]
    size["additionalItems"] = size.pop("items")


def neighbour(*path: str, **words: Any) -> Any:
    return lambda schema: nested_in(schema, "properties", *path).update(words)


def named_by_id(schema: Any) -> None:
    money = schema["$defs"]["money"]
    money["$id"] = "#" + money.pop("$anchor")


def old_with_new_label(w: Any) -> None:
    w.write_json(MOVED, {**w.json(OLD), "$schema": "https://json-schema.org/draft/2020-12/schema"})


def answers(name: str, **values: Any) -> Any:
    """A case that changes answers: `C1="TF"` says old pass, new do not."""

    def case(w: Any) -> None:
        said = {key: {"old_orders_pass": v[0] == "T", "new_orders_pass": v[1] == "T"} for key, v in values.items()}
        w.write_json(COMPAT, {**w.json(COMPAT), **said})

    case.__name__ = name
    return case


def answers_as_words(w: Any) -> None:
    w.write(COMPAT, w.text(COMPAT).replace("true", '"yes"').replace("false", '"no"'))


RIGHT = {"005": [closed_branches, flat_with_forbidden_fields, defaults_and_comments], "006": [old_places, written_out]}
WRONG = {
    "005": [
        anchors_forgotten, everything, nothing, only_examples,
        edited("format_alone", SCHEMA, lambda s: s["properties"].update(at={"type": "string", "format": "date-time"})),
        edited("root_closed_too_early", SCHEMA, lambda s: s.update(additionalProperties=False)),
        edited("root_open", SCHEMA, lambda s: s.pop("unevaluatedProperties")),
        edited("parcel_open", SCHEMA, lambda s: nested_in(s, *PARCEL).pop("additionalProperties")),
        edited("declared_open", SCHEMA, lambda s: nested_in(s, *DECLARED).pop("additionalProperties")),
        edited("recipient_closed_too_early", SCHEMA, lambda s: nested_in(s, *RECIPIENT).update(additionalProperties=False)),
        edited("person_closed", SCHEMA, lambda s: s["$defs"]["person"].update(additionalProperties=False)),
        edited("null_forgotten", SCHEMA, lambda s: s["properties"]["note"].update(type="string")),
        edited("any_integer", SCHEMA, lambda s: nested_in(s, *DECLARED, "properties", "cents").pop("maximum")),
        edited("door_for_everybody", SCHEMA, lambda s: nested_in(s, *RECIPIENT)["properties"].update(
            nested_in(s, *RECIPIENT, "then", "properties"))),
        edited("door_not_demanded", SCHEMA, lambda s: nested_in(s, *RECIPIENT, "then").pop("required")),
        edited("photos_twice", SCHEMA, lambda s: nested_in(s, "$defs", "delivered", "properties", "photos").pop("uniqueItems")),
        edited("kinds_mixed", SCHEMA, lambda s: s.update(allOf=[{"anyOf": [{"$ref": f"#/$defs/{k}"} for k in KINDS]}])),
        edited("any_kind_has_all_fields", SCHEMA, lambda s: [
            s["properties"].update(s["$defs"][kind]["properties"]) for kind in KINDS]),
        edited("nothing_required", SCHEMA, lambda s: s.pop("required")),
        edited("draft_not_said", SCHEMA, lambda s: s.pop("$schema")),
        edited("broken_reference", SCHEMA, lambda s: s["$defs"].pop("person")),
        edited("broken_pattern", SCHEMA, lambda s: s["properties"]["event_id"].update(pattern="^evt_[")),
        edited("refers_to_itself", SCHEMA, lambda s: s["allOf"].append({"$ref": "#"})),
    ],
    "006": [
        old_with_new_label, answers_as_words,
        edited("tuple_under_items", MOVED, prefix),
        edited("tuple_left_open", MOVED, open_tuple),
        edited("labels_all_alike", MOVED, lambda s: s["properties"]["labels"].pop("items")),
        edited("dependencies_left", MOVED, dependencies_left),
        edited("address_dependency_lost", MOVED, lambda s: s["$defs"]["address"].pop("dependentRequired")),
        edited("pattern_awake", MOVED, neighbour("order_no", pattern="^P-[0-9]{6}$")),
        edited("length_awake", MOVED, neighbour("note", maxLength=80)),
        edited("required_awake", MOVED, neighbour("customer", required=["email"])),
        edited("properties_awake", MOVED, neighbour("customer", properties={"email": {"type": "string"}})),
        edited("count_awake", MOVED, neighbour("proofs", minContains=2)),
        edited("null_fixed", MOVED, neighbour("fax", type=["string", "null"])),
        edited("sku_fixed", MOVED, lambda s: s["$defs"]["line"]["properties"]["sku"].update(pattern="^[a-z]{2}-[0-9]+$")),
        edited("line_closed", MOVED, lambda s: s["$defs"]["line"].update(unevaluatedProperties=False)),
        edited("anchor_as_id", MOVED, named_by_id),
        edited("draft_not_said", MOVED, lambda s: s.update({"$schema": "http://json-schema.org/draft-07/schema#"})),
        replaced("reference_left_behind", MOVED, '"#/$defs/line"', '"#/definitions/line"'),
        answers("dead_neighbour_believed", C8="TF"),
        answers("rename_is_harmless", C6="TF"),
        answers("format_is_free", C9="TT"),
        answers("required_as_if_open", C12="FT"),
        answers("directions_exchanged", C2="TF", C3="FT"),
    ],
}  # fmt: skip

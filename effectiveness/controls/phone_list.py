"""A list of people with numbers in many notations: brought into one, then without doubles, then with two sources."""

from __future__ import annotations

from skill_health.effectiveness.controls._api import FIRST, LAST, ControlDraft, Draw

_SOLVE = """import re

LEVEL = {level}


def read(name):
    for line in open(name, encoding="utf-8"):
        if line.strip():
            who, number = line.rstrip("\\n").split(";")
            first, last = who.split(" ") if "," not in who else reversed(who.split(", "))
            digits = re.sub("[^0-9+]", "", number)
            yield f"{{last}}, {{first}}", "+49" + digits[1:] if digits.startswith("0") else digits


people = {{}}
for name in ["members.txt", "changes.txt"][: 2 if LEVEL == 2 else 1]:
    for who, number in read(name):
        if number == "+" or not number:
            people.pop(who, None)
        elif LEVEL != 1 or who not in people:
            people[who] = number
lines = [f"{{who}}: {{people[who]}}" for who in sorted(people)]
open("phones.txt", "w", encoding="utf-8").write("\\n".join(lines) + "\\n")
"""
_RULES = (
    "",
    " Who stands there more than once keeps the number that comes first.",
    " `changes.txt` has what has changed since, line by line from the oldest to the newest: a new number, a new person, or nothing "
    "behind the semicolon for somebody who has left. A later line goes before an earlier one.",
)


def make(draw: Draw, level: int) -> ControlDraft:
    """Members of a club and their telephone numbers."""
    count = (6, 14, 24)[level]
    names = draw.some([(first, last) for first in FIRST for last in LAST], count + 4)
    people: dict[str, str] = {}

    def line(name: tuple[str, str], number: str) -> str:
        who = f"{name[1]}, {name[0]}" if draw.chance(0.4) else f"{name[0]} {name[1]}"
        return f"{who};{number}\n"

    def number() -> tuple[str, str]:
        town, own = f"{draw.whole(201, 989)}", f"{draw.whole(10_000, 9_999_999)}"
        form = draw.pick(("0{0}/{1}", "0{0} {1}", "+49 {0} {1}", "(0{0}) {1}", "+49-{0}-{1}"))
        return form.format(town, own), f"+49{town}{own}"

    def key(name: tuple[str, str]) -> str:
        return f"{name[1]}, {name[0]}"

    members = []
    for at in range(count):
        again = level == 1 and at and draw.chance(0.2)
        name = names[draw.whole(0, at - 1)] if again else names[at]
        shown, plain = number()
        people.setdefault(key(name), plain)
        members.append(line(name, shown))
    starting = {"members.txt": "".join(members)}
    if level == 2:
        changes = []
        for _ in range(12):
            name = draw.pick(names)
            if draw.chance(0.3):
                people.pop(key(name), None)
                changes.append(line(name, ""))
            else:
                shown, people[key(name)] = number()
                changes.append(line(name, shown))
        starting["changes.txt"] = "".join(changes)
    return ControlDraft(
        title="A list of telephone numbers",
        prompt=(
            "`members.txt` has the members of a club and their telephone numbers, as each of them wrote it down: the name as "
            "`First Last` or `Last, First`, a semicolon, and a number. Please write `phones.txt`: one line for each, `Last, First`, "
            "a colon, one space, and the number as `+49` and digits only; a leading zero stands for `+49`. The lines are in the "
            f"order of their characters' codes.{_RULES[level]}"
        ),
        starting=starting,
        answer="phones.txt",
        expected=[f"{who}: {people[who]}" for who in sorted(people)],
        solve=_SOLVE.format(level=level),
    )

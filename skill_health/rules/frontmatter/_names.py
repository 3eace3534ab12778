"""What makes a skill's name valid, according to the reference validator."""

from __future__ import annotations

import unicodedata

from skill_health.text.patterns import lazy

MAX_LENGTH = 64
_WORDS = lazy(r"[^\W_]+")
_FILLER = frozenset("a an the for and of to with in skill skills agent expert helper tool tools".split())
_LONGEST_REPEAT = 120
# Words that YAML 1.1 does not read as text.
_NOT_TEXT = frozenset("y n yes no on off true false null".split())


def normalised(name: str) -> str:
    """The form in which names and folders are compared: NFKC, as in skills-ref 0.1.1."""
    return name if name.isascii() else unicodedata.normalize("NFKC", name)


def problems(name: str) -> list[str]:
    """What is wrong with a name, in words that follow "the name ..."; empty if it is valid.

    Letters and digits of every script pass, as in the reference validator; the specification's
    text names a-z, 0-9 and hyphens only.
    """
    name = normalised(name.strip())
    found = []
    if not name:
        return ["is empty"]
    if len(name) > MAX_LENGTH:
        found.append(f"has {len(name)} characters, {MAX_LENGTH} are allowed")
    if name != name.lower():
        found.append("is not in lower case")
    odd = sorted({char for char in name if not char.isalnum() and char != "-"})
    if odd:
        found.append("holds " + ", ".join(map(_word, odd[:5])))
    if name.startswith("-") or name.endswith("-"):
        found.append("starts or ends with a hyphen")
    if "--" in name:
        found.append("holds two hyphens in a row")
    return found


def suggestion(name: str) -> str:
    """The nearest valid name: in lower case, with a hyphen for each run of other characters; "" if nothing is left."""
    lower = normalised(name).lower()
    words = "".join(char if char.isalnum() else " " for char in lower).split()
    slug = "-".join(words)[:MAX_LENGTH].strip("-")
    return "" if problems(slug) else slug


def spelling(name: str, style: str = "plain") -> str:
    """A valid name as a YAML value: quoted if the old value was, or if YAML would not read it as text."""
    bare = style == "plain" and name not in _NOT_TEXT and not name[0].isdigit()
    return name if bare else f'"{name}"'


def repeats(description: str, name: str) -> bool:
    """Whether every word of a description is one of the name's, or filler."""
    if len(description) > _LONGEST_REPEAT:
        return False
    words = set(_WORDS.findall(description.lower()))
    return bool(words - _FILLER) and words <= _FILLER | set(_WORDS.findall(name.lower()))


def is_placeholder(name: str) -> bool:
    """Whether a name is a placeholder to be filled in: SKILL_NAME, {{name}}, <name>, [skill-name]."""
    return name[:1] in ("{", "<", "[", "$") or ("_" in name and name.isupper())


def _word(char: str) -> str:
    if char == " ":
        return "a space"
    if char == "_":
        return "an underscore"
    return f"'{char}'" if char.isprintable() else f"U+{ord(char):04X}"

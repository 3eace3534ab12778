"""Files of labelled prompts -> prompts, with one clear line for each record that is none."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch
from functools import cache
from importlib import import_module
from itertools import chain
from typing import cast

from msgspec.structs import replace

from skill_health.core.boundary import Boundary, git_top
from skill_health.core.errors import UsageError
from skill_health.core.files import blake2b, is_there
from skill_health.core.plugins import plugin_names
from skill_health.core.strict_json import JsonProblem, quote
from skill_health.discovery.globs import glob_matcher, is_plain
from skill_health.discovery.roots import relative
from skill_health.registries.records import BadRecord, problem_line
from skill_health.router import prompts as package
from skill_health.router.prompts import _mapped
from skill_health.router.prompts._api import (
    CLASH,
    MAX_BYTES,
    MAX_ID,
    MAX_TEXT,
    FieldMap,
    Found,
    Known,
    PromptFile,
    PromptFormat,
)
from skill_health.router.prompts._look import look_at
from skill_health.router.prompts._rows import unreadable
from skill_health.router.records import NONE, Prompt
from skill_health.rules.fixtures._records import same_text
from skill_health.text.near import either, nearest
from skill_health.text.patterns import lazy

# Names of files that skills keep beside them; what is in a file decides how it is read.
TRIGGERS = (
    "*trigger*.json", "*trigger*.jsonl", "*trigger*.csv", "eval_queries*.json", "eval-queries*.json",
    "eval_set*.json", "eval-set*.json", "*trigger*.yaml", "*trigger*.yml", "*trigger*.test.ts", "*trigger*.test.js",
)  # fmt: skip


EVALS = ("evals.json", "eval.yaml")


_REGISTRIES = ("prompts.jsonl", "activation-cases.jsonl")


# What else may hold prompts where a folder is named and nothing in it has such a name.
_DATA = ("*.json", "*.jsonl", "*.ndjson", "*.csv", "*.tsv", "*.yaml", "*.yml")


_SKIPPED = frozenset(("node_modules", "__pycache__"))


_MAX_FOLDERS = 20_000


def find_files(paths: Sequence[str], known: Known, root: str) -> tuple[PromptFile, ...]:
    """The files that paths and globs name, and below a named folder those that have the name of prompts, each once.

    Where a folder holds none of such a name, all its files of data are looked at. Raises UsageError where a path does
    not exist, and where a folder holds no file that could have prompts.
    """
    found: dict[str, PromptFile] = {}
    for path in chain.from_iterable(map(_expand, paths)):
        if not is_there(path):
            raise UsageError(f"no such file or folder of prompts: {path}")
        is_folder = os.path.isdir(path)
        files = [path]
        if is_folder:
            files = sorted(_below(path, (*TRIGGERS, *EVALS, *_REGISTRIES))) or sorted(_below(path, _DATA))
        if not files:
            names = ", ".join((*_REGISTRIES, *TRIGGERS[:1], *EVALS))
            raise UsageError(f"no file of prompts below {path}: looked for {names} and the like; name the file")
        for file in files:
            boundary = Boundary(os.path.realpath(path)) if is_folder else None
            found.setdefault(os.path.realpath(file), read_file(file, known, root, boundary))
    return tuple(found.values())


def read_file(path: str, known: Known, root: str, found_in: Boundary | None = None) -> PromptFile:
    """A file with its bytes. It is named by its path relative to the root, or by its own name where it lies outside.

    It is one that the user named, unless it was `found_in` a folder. A link that leads out of the repository that the
    file is in is not followed.
    """
    real = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    inner = relative(real, root) if root else None
    shown = os.path.basename(path) if inner is None else inner
    # A named file that lies in no repository and outside the root has no border.
    boundary = found_in or Boundary(root if inner is not None else git_top(os.path.dirname(real)) or os.sep)
    try:
        raw = boundary.read(real, MAX_BYTES)
    except OSError as error:
        return PromptFile(shown, problem=f"the file cannot be read ({error.strerror or 'unknown error'})")
    if raw is None:
        return PromptFile(shown, problem=f"the file is larger than {MAX_BYTES // 2**20} MiB")
    return PromptFile(shown, raw, known.owner(inner, real.replace(os.sep, "/")), "", found_in is None)


def matching(names: Iterable[str], patterns: Sequence[str]) -> Iterator[str]:
    """The paths whose last part matches one of the patterns, without regard to case."""
    for name in names:
        last = name.rpartition("/")[2].lower()
        if any(fnmatch(last, pattern) for pattern in patterns):
            yield name


def _expand(path: str) -> list[str]:
    """The files that a glob such as `skills/**/evals/*.json` names; the path itself where it is none, or names none."""
    parts = path.replace(os.sep, "/").split("/")
    plain = next((at for at, part in enumerate(parts) if not is_plain(part)), len(parts))
    matcher = None if is_there(path) else glob_matcher("/".join(parts[plain:]), by_path=True)
    if matcher is None:
        return [path]
    base = "/".join(parts[:plain]) + "/" if plain else ""
    files = (file.replace(os.sep, "/")[len(base or "./") :] for file in _below(base or os.curdir, ("*",)))
    return sorted(base + file for file in files if matcher(file)) or [path]


def _below(folder: str, patterns: Sequence[str]) -> Iterator[str]:
    """The files below a folder whose names match a pattern. Links are not followed, hidden folders not entered."""
    for nth, (place, folders, files) in enumerate(os.walk(folder)):
        if nth >= _MAX_FOLDERS:
            raise UsageError(f"{folder} holds more than {_MAX_FOLDERS:,} folders: name the files of prompts")
        folders[:] = sorted(name for name in folders if name[0] != "." and name not in _SKIPPED)
        yield from (os.path.join(place, name) for name in matching(sorted(files), patterns))


_FOREIGN = 3  # so many unknown names and no known one: the file belongs to another collection


def content_id(text: str) -> str:
    """The id of a request that has none: a hash of its text."""
    return "q-" + blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


@dataclass(slots=True)
class SettledPrompts:
    """What has been read so far, over all files. `texts` finds a prompt by its text, however it is spelled."""

    prompts: dict[str, Prompt] = field(default_factory=dict)
    problems: list[BadRecord] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    passed_over: list[str] = field(default_factory=list)
    texts: dict[str, Prompt] = field(default_factory=dict)

    def add(self, path: str, found: Iterable[Found], known: Known) -> int:
        """Take in the records of one file; returns how many of them are prompts."""
        records = list(found)
        if foreign := _foreign(path, records, known):
            self.problems.append(foreign)
            return 0
        unknown: dict[str, None] = {}
        count = 0
        for record in records:
            one = record if isinstance(record, BadRecord) else self._settle(record, known, unknown)
            if isinstance(one, BadRecord):
                self.problems.append(one)
            else:
                self.prompts[one.prompt_id] = one
                text = same_text(one.text)
                if self.texts.setdefault(text, one).prompt_id == one.prompt_id:
                    self.texts[text] = one
                count += 1
        if unknown:
            more = f" and {len(unknown) - 3} more" if len(unknown) > 3 else ""
            shown = ", ".join(quote(name) for name in list(unknown)[:3])
            self.notes.append(
                f"{path}: no skill is called {shown}{more}; labels that accept or reject it are passed over"
            )
        return count

    def _settle(self, prompt: Prompt, known: Known, unknown: dict[str, None]) -> Found:
        if fault := _fault(prompt, known):
            return _bad(prompt, *fault)
        prompt = _resolved(prompt, known, unknown)
        if not prompt.known and not prompt.rejected:
            return _bad(prompt, "the skill that must not fire is not in this collection", "Correct its name.")
        own = prompt.prompt_id
        prompt = prompt if own else replace(prompt, prompt_id=content_id(prompt.text))
        earlier = self.prompts.get(prompt.prompt_id)
        if earlier and (own or earlier.text != prompt.text):
            message = f"the id {quote(prompt.prompt_id)} is taken by {earlier.source}"
            return _bad(prompt, message, "Give this record an id of its own.")
        earlier = earlier or self.texts.get(same_text(prompt.text))
        if earlier and (fault := _at_odds(earlier, prompt)):
            return _bad(prompt, *fault)
        return _merged(earlier, prompt) if earlier and earlier.prompt_id == prompt.prompt_id else prompt


def _foreign(path: str, records: list[Found], known: Known) -> BadRecord | None:
    """One problem for a file that names several skills, none of which is in the collection."""
    prompts = [record for record in records if isinstance(record, Prompt)]
    names = {name for prompt in prompts for name in _labels(prompt)}
    if len(names) < _FOREIGN or any(known.name_of(name) or known.several(name) for name in names):
        return None
    message = f"none of the {len(names)} skills that are named here is in this collection"
    line = int(prompts[0].source.rpartition(":")[2])
    return BadRecord(path, line, 1, message, "Name the folder of their collection, or another file.", "prompts")


def _labels(prompt: Prompt) -> Iterator[str]:
    yield from (prompt.expected,) if prompt.expected is not None else ()
    yield from prompt.acceptable
    yield from prompt.rejected


def _fault(prompt: Prompt, known: Known) -> tuple[str, str] | None:
    """What is wrong with a prompt by itself, and what to do."""
    if len(prompt.text) > MAX_TEXT:
        return f"the request has {len(prompt.text):,} characters; {MAX_TEXT:,} are allowed", "Shorten it."
    if len(prompt.prompt_id) > MAX_ID or not (prompt.prompt_id or "-").isprintable():
        return f"the id {quote(prompt.prompt_id)} is unusable", f"Take up to {MAX_ID} characters that can be printed."
    for label in _labels(prompt):
        if several := known.several(label):
            return f"{quote(label)} may be {either(several)}", "Say which of them is meant."
    expected = prompt.expected
    if expected is not None and known.name_of(expected) is None:
        if expected.strip().casefold() == NONE:
            return f"the expected skill is {quote(expected)}", "Write null where no skill applies."
        near = nearest(expected, known.names)
        hint = f" (did you mean {quote(near)}?)" if near else ""
        message = f"no skill of this collection is called {quote(expected)}"
        return message, f"Correct the name{hint}, or remove the record."
    name = known.name_of(expected)
    if name and name in map(known.name_of, prompt.rejected):
        return f"{quote(name)} is expected and rejected", CLASH
    return None


def _resolved(prompt: Prompt, known: Known, unknown: dict[str, None]) -> Prompt:
    """The prompt with every label as the name of a skill; those that name nobody are left out and noted."""
    groups: list[tuple[str, ...]] = []
    for labels in (prompt.acceptable, prompt.rejected):
        names = {label: known.name_of(label) for label in labels}
        unknown.update(dict.fromkeys(label for label, name in names.items() if name is None))
        groups.append(tuple(dict.fromkeys(name for name in names.values() if name is not None)))
    expected = known.name_of(prompt.expected)
    accepted = tuple(name for name in groups[0] if name != expected)
    return replace(prompt, expected=expected, acceptable=accepted, rejected=groups[1])


def _at_odds(earlier: Prompt, prompt: Prompt) -> tuple[str, str] | None:
    """Where the same request has been labelled otherwise before."""
    where = earlier.source
    if earlier.known and prompt.known and earlier.expected != prompt.expected:
        return f"the same request expects {_name(prompt)} here and {_name(earlier)} in {where}", CLASH
    for one, two, verbs in ((prompt, earlier, ("accepted", "rejected")), (earlier, prompt, ("rejected", "accepted"))):
        accepted = {*one.acceptable, *([one.expected] if one.expected else [])}
        if both := sorted(accepted & set(two.rejected)):
            here, there = verbs
            return f"for the same request {quote(both[0])} is {here} here and {there} in {where}", CLASH
    if earlier.prompt_id == prompt.prompt_id and earlier.split and prompt.split and earlier.split != prompt.split:
        return (
            f"the same request is in the split {quote(prompt.split)} here and in {quote(earlier.split)} in {where}",
            CLASH,
        )
    return None


def _merged(earlier: Prompt, later: Prompt) -> Prompt:
    """What two records of one request say together, which each speak of one skill."""
    known = earlier if earlier.known else later
    return replace(
        earlier,
        expected=known.expected,
        known=known.known,
        acceptable=tuple(dict.fromkeys((*earlier.acceptable, *later.acceptable))),
        rejected=tuple(dict.fromkeys((*earlier.rejected, *later.rejected))),
        family=earlier.family or later.family,
        tags=tuple(dict.fromkeys((*earlier.tags, *later.tags))),
        split=earlier.split or later.split,
        reason=earlier.reason or later.reason,
    )


def _name(prompt: Prompt) -> str:
    return "no skill" if prompt.expected is None else quote(prompt.expected)


def _bad(prompt: Prompt, message: str, advice: str) -> BadRecord:
    path, _, line = prompt.source.rpartition(":")
    return BadRecord(path, int(line), 1, message, advice, "prompts", prompt.prompt_id)


# What messages quote is cut to far fewer characters than this.
_QUOTED = lazy(r'"(?:[^"\\]|\\.){0,200}["…]')


MAX_PER_FILE = 100
MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class LoadedPrompts:
    """Prompts in the order of their files' paths and lines, the records that are none, and what else to know."""

    prompts: tuple[Prompt, ...] = ()
    problems: tuple[BadRecord, ...] = ()
    notes: tuple[str, ...] = ()


@cache
def formats() -> tuple[PromptFormat, ...]:
    """Every format, found by walking the package."""
    names = plugin_names(package.__path__)
    return tuple(cast(PromptFormat, import_module(f"{package.__name__}.{name}")) for name in names)


def load_prompts(paths: Sequence[str], known: Known, root: str = "", fields: FieldMap | None = None) -> LoadedPrompts:
    """Read the prompts of files, and of the eval files below folders, with `fields` as the names of what they hold.

    Raises UsageError where a path does not exist.
    """
    return read_prompts(find_files(paths, known, root), known, fields)


def read_prompts(files: Iterable[PromptFile], known: Known, fields: FieldMap | None = None) -> LoadedPrompts:
    """The prompts of files already read. Never raises on bad content; the order of the files does not matter."""
    settled = SettledPrompts()
    counts: dict[str, list[tuple[str, int]]] = {}
    for file in sorted(files, key=lambda file: (file.path, file.raw)):
        if fields is not None and not _is_unreadable(file, settled):
            count = settled.add(file.path, _or_why_not(file, _mapped.read(file, fields, known)), known)
            counts.setdefault(_mapped.TITLE, []).append((file.path, count))
        elif fields is None and (form := _format(file, settled)) is not None:
            count = settled.add(file.path, _or_why_not(file, form.read(file, known)), known)
            counts.setdefault(form.TITLE, []).append((file.path, count))
    read = sum(count for rows in counts.values() for _, count in rows)
    notes = [*_counted(counts), *_passed_over(settled.passed_over), *settled.notes]
    if merged := read - len(settled.prompts):
        notes.append(f"{merged} of the records are about a request that stands elsewhere, too: the labels are joined")
    return LoadedPrompts(tuple(settled.prompts.values()), tuple(_capped(settled.problems)), tuple(notes))


def _or_why_not(file: PromptFile, records: Iterator[Found]) -> Iterator[Found]:
    """The records of a file, or one bad record where it cannot be read as what it looks like."""
    try:
        yield from records
    except JsonProblem as problem:
        yield unreadable(file, file.raw.decode("utf-8", "replace"), problem)


def refuse_bad_records(problems: Sequence[BadRecord], skip: bool | None) -> list[str]:
    """One line for each record that is no prompt. Raises UsageError where there are any and they may not be skipped.

    `skip` is what the option --skip-bad says; None where there is no such option.
    """
    lines = [problem_line(problem) for problem in problems]
    if lines and not skip:
        more = f" (and {len(lines) - 1} more)" if len(lines) > 1 else ""
        advice = "fix the records (`router prompts` lists them)" + ("" if skip is None else ", or give --skip-bad")
        raise UsageError(f"{lines[0]}{more}: {advice}")
    return [*lines, *(count_reasons(problems) if len(lines) > 1 else ())]


def _format(file: PromptFile, settled: SettledPrompts) -> PromptFormat | None:
    """The format of a file; None, with the reason, where it has none that is known."""
    if _is_unreadable(file, settled):
        return None
    look = look_at(file.raw)
    found = next((form for form in formats() if form.fits(look)), None)
    if found is None and not file.named:
        settled.passed_over.append(file.path)
    elif found is None:
        titles = ", ".join(form.TITLE for form in formats())
        message = "nothing in it looks like labelled prompts"
        advice = f"What can be read: {titles}; --map prompt=FIELD,skill=FIELD reads others."
        settled.problems.append(BadRecord(file.path, 1, 1, message, advice, "prompts"))
    return found


def _is_unreadable(file: PromptFile, settled: SettledPrompts) -> bool:
    """Whether nothing can be read of a file, which is one problem."""
    fault = file.problem or _unreadable(file.raw)
    if fault:
        settled.problems.append(BadRecord(file.path, 1, 1, fault, _advice(fault), "prompts"))
    return bool(fault)


def _passed_over(paths: Sequence[str]) -> Iterator[str]:
    if len(paths) > MAX_NAMED:
        yield f"{len(paths)} files passed over, because they hold no labelled prompts: {', '.join(paths[:MAX_NAMED])} ..."
    else:
        yield from (f"{path}: passed over, because it holds no labelled prompts" for path in paths)


def count_reasons(problems: Sequence[BadRecord]) -> Iterator[str]:
    """How many records are left out for each reason, the most frequent first, whatever they quote or point to."""
    reasons = Counter(_without_place(_QUOTED.sub('"…"', problem.message)) for problem in problems)
    for reason, number in sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0])):
        yield f"{number} record{'s' * (number != 1)} left out: {reason}"


def _without_place(message: str) -> str:
    """A message without the place of another record, `path:line`, at its end."""
    path, colon, line = message.rpartition(":")
    return f"{path.rpartition(' ')[0]} another record" if colon and line.isdecimal() else message


def _counted(counts: Mapping[str, Sequence[tuple[str, int]]]) -> Iterator[str]:
    """What was read from where; many files of one format are counted only."""
    for title, rows in sorted(counts.items()):
        if len(rows) > MAX_NAMED:
            yield f"{len(rows)} files: {title}, {sum(count for _, count in rows)} read"
        else:
            yield from (f"{path}: {title}, {count} read" for path, count in rows)


def _unreadable(raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "the file is UTF-16"
    return "" if raw.strip() else "the file is empty"


def _advice(fault: str) -> str:
    return "Save it as UTF-8." if "UTF-16" in fault else "Name another file."


def _capped(problems: Sequence[BadRecord]) -> Iterator[BadRecord]:
    """At most so many problems for one file; the last of them says how many more there are."""
    total = Counter(problem.path for problem in problems)
    shown: Counter[str] = Counter()
    for problem in problems:
        shown[problem.path] += 1
        if shown[problem.path] == MAX_PER_FILE < total[problem.path]:
            more = total[problem.path] - MAX_PER_FILE
            yield problem._replace(message=f"{problem.message} (and {more} more bad records in this file)")
        elif shown[problem.path] <= MAX_PER_FILE:
            yield problem

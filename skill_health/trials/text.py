"""A trial, the trials of a run, and two of them side by side, as text for a terminal: safe to print, nothing cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skill_health.text.terminal import clean, lay_out_table, paint
from skill_health.trials.find import STATES, say_state, state_of
from skill_health.trials.reading import KeptTrial
from skill_health.trials.results import Trial
from skill_health.trials.side_by_side import LinePair, SideBySide

_UNKNOWN = "–"


def list_trials(trials: Sequence[Trial], width: int) -> Iterator[str]:
    """A line for each trial, and how many there are of each state."""
    head = ("Trial", "Task", "Arm", "Rep.", "Model", "Outcome", "Reward")
    rows = [
        (each.name, each.line.task_id, each.line.arm, str(each.line.replication), each.line.model, say_state(each), _number(each.line.reward))
        for each in trials
    ]  # fmt: skip
    if rows:
        yield from lay_out_table(head, rows, width, fewest=6, least=22)
    counts = {state: sum(state_of(each) == state for each in trials) for state in STATES}
    told = ", ".join(f"{n:,} {state}" for state, n in counts.items() if n)
    yield f"{len(trials):,} trials: {told}" if told else "no trials"


def facts_of(kept: KeptTrial) -> Iterator[tuple[str, str]]:
    """What is known of a trial: names and values, a dash for what nobody knows."""
    line = kept.trial.line
    used = line.usage
    yield "task", line.task_id
    yield "arm", line.arm
    yield "replication", str(line.replication)
    yield "agent", kept.agent or _UNKNOWN
    yield "model", line.model if line.resolved_model in (None, "") else f"{line.model} (as {line.resolved_model})"
    yield "outcome", say_state(kept.trial)
    yield "reward", _number(line.reward)
    yield "tokens", f"{_number(used.input_tokens)} in, {_number(used.output_tokens)} out"
    yield "cost", _UNKNOWN if line.cost_usd is None else f"${line.cost_usd:,.4f}"
    yield "duration", _UNKNOWN if line.duration_ms is None else f"{line.duration_ms / 1000:,.1f} s"
    yield "turns", f"{_number(line.turns)}, {_number(line.tool_calls)} tool calls"
    yield "skills opened", opened_of(kept)


def opened_of(kept: KeptTrial) -> str:
    """Which skills a trial opened, and by what; that none was known to is told apart from that none was."""
    line = kept.trial.line
    if line.invoked != "yes":
        return "none" if line.invoked == "no" else "not observable"
    by = "; ".join(line.evidence)
    names = ", ".join(line.invocations) or "one, which is not known"
    return f"{names} ({by})" if by else names


def _number(value: float | None) -> str:
    return _UNKNOWN if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def trial_text(kept: KeptTrial, color: bool = False) -> Iterator[str]:
    """A trial in full: figures, what the verifier says, what was changed, and each step."""
    for name, value in facts_of(kept):
        yield from _lines(f"{name:<14} {value}")
    for note in kept.notes:
        yield from _lines(f"note: {note}")
    for problem in kept.problems:
        yield from _lines(f"missing: {problem}")
    if kept.checks:
        yield from ("", "Checks")
        for check in kept.checks:
            yield from _lines(f"  {check.kind} {check.name}: {check.said}{f' ({check.why})' if check.why else ''}")
    for output in (*kept.outputs, *((kept.patch,) if kept.patch and kept.patch.data else ())):
        yield from ("", paint(output.title, "bold", color))
        yield from _lines(output.text.rstrip("\n"), "  ")
        if output.size > len(output.data):
            yield f"  … {output.size - len(output.data):,} more bytes in {clean('/'.join(output.way))}"
    yield from ("", paint("What it did", "bold", color))
    for step in kept.steps():
        yield from _lines(f"{step.number}. {step.source}")
        for piece in step.pieces:
            mark = f"   ← opens {', '.join(piece.opened)}" if piece.opened else ""
            yield paint(f"   {piece.kind}{clean(f' {piece.label}' if piece.label else '')}{clean(mark)}", "dim", color)
            yield from _lines(piece.text.rstrip("\n"), "     ")


def side_by_side_text(found: SideBySide, color: bool = False) -> Iterator[str]:
    """Two trials: what is only in the left one begins with "-", what is only in the right one with "+"."""
    left, right = dict(facts_of(found.left)), dict(facts_of(found.right))
    for name in left:
        same = left[name] == right[name]
        yield from _lines(f"{name:<14} {left[name]}" if same else f"{name:<14} {left[name]}  →  {right[name]}")
    yield from ("", paint("Decided otherwise", "bold", color))
    for check in found.checks:
        ours, theirs = (_UNKNOWN if each is None else each for each in (check.left, check.right))
        yield from _lines(f"  {check.kind} {check.name}: {ours} → {theirs}")
    yield f"  the same: {found.same_checks:,} of {found.same_checks + len(found.checks):,} checks"
    yield from ("", paint("What they did", "bold", color))
    for pair in found.steps:
        numbers = " | ".join(
            f"step {each.number} {each.source}" if each else _UNKNOWN for each in (pair.left, pair.right)
        )
        yield from _lines(f"{numbers}{': the same' if pair.side == 'same' else ''}")
        for step, sign in ((pair.left, "-"), (pair.right, "+")):
            if step and step.opened:
                yield from _lines(f"   {sign} opens {', '.join(step.opened)}")
        if pair.side == "changed":
            yield from _pairs(pair.lines, color)
        elif pair.side != "same" and (step := pair.left or pair.right):
            yield from _lines(step.text, "  - " if pair.left else "  + ")
    if found.left_steps:
        yield f"… {found.left_steps:,} more steps are not compared"
    yield from ("", paint("What they say at the end", "bold", color))
    yield from _pairs(found.answer, color) if found.answers_differ else ("  the same",)
    yield from ("", paint("What they leave", "bold", color))
    if found.problem:
        yield from _lines(f"  {found.problem}")
    else:
        every = found.same_files + len(found.files) + found.left_files
        yield f"  the same: {found.same_files:,} of {every:,} files"
    for file in found.files:
        yield from _lines(f"  {file.path}: {_FILES[file.side]}{f' ({file.note})' if file.note else ''}")
        yield from _pairs(file.lines, color)
    if found.left_files:
        yield f"  … {found.left_files:,} more files"


_FILES = {"changed": "not the same", "left": "only in the first", "right": "only in the second", "same": "the same"}


def _pairs(pairs: Sequence[LinePair], color: bool) -> Iterator[str]:
    for pair in pairs:
        if pair.skipped:
            same = "the same" if pair.side == "same" else "left out"
            yield paint(f"    … {pair.skipped:,} lines {same}", "dim", color)
        elif pair.side == "same":
            yield f"    {clean(pair.left)}"
        else:
            if pair.side != "right":
                yield paint(f"  - {clean(pair.left)}", "red", color)
            if pair.side != "left":
                yield paint(f"  + {clean(pair.right)}", "green", color)


def _lines(text: str, lead: str = "") -> Iterator[str]:
    yield from (lead + clean(line) for line in text.split("\n"))

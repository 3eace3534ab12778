"""What a judge is shown of a trial, read from the folder in which it was kept: cut to size, and blind to the arm."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from skill_health.bench.http.json_values import mapping, objects, text
from skill_health.core.files import read_whole
from skill_health.core.strict_json import escape_surrogates
from skill_health.documents.judge_manifest import EvidencePart
from skill_health.effectiveness.trial.files import FINAL, TRIAL
from skill_health.effectiveness.workspace.staging import forcing_line, frame_in, hint_line

DIFF, TRAJECTORY = "diff.patch", "trajectory.json"
MOST: Mapping[EvidencePart, int] = {"final_message": 16_000, "diff": 60_000, "transcript": 60_000}
"""Characters that are shown of each part."""
_MOST_TASK = 32_000
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class JudgedWork:
    """The task of a trial and what an agent left: `parts` as they are shown, in the order of MOST.

    `length` counts the characters of all parts before they were cut, `written` those of the final message and the diff
    alone, `left_out` those that are not shown. With `skill_shown` a staged skill is named, and its reader may know the
    arm.
    """

    prompt: str
    parts: Mapping[EvidencePart, str]
    length: int = 0
    left_out: int = 0
    written: int = 0
    skill_shown: bool = False


def read_evidence(folder: str) -> JudgedWork:
    """The evidence in the folder of a trial. Raises ValueError, in words for people, where it cannot be had.

    A trial without a final message, a change or a step has an empty part; a file that is there and damaged is an error.
    What the run itself put there that names the arm is taken out, also of the prompt.
    """
    try:
        trial = _object(folder, TRIAL)
    except FileNotFoundError:
        raise ValueError("its folder is missing") from None
    prompt = hide_arm(text(trial.get("prompt")), trial, folder).rstrip()
    if not prompt:
        raise ValueError(f"its {TRIAL} holds no prompt")
    try:
        transcript = "\n".join(_lines(_object(folder, TRAJECTORY)))
    except FileNotFoundError:
        transcript = ""
    whole: dict[EvidencePart, str] = {
        "final_message": _text(folder, FINAL), "diff": _text(folder, DIFF), "transcript": transcript,
    }  # fmt: skip
    shown = {name: hide_arm(part, trial, folder) for name, part in whole.items()}
    return replace(make_evidence(prompt, shown), skill_shown=shows_skill(shown.values(), trial))


def make_evidence(prompt: str, whole: Mapping[EvidencePart, str]) -> JudgedWork:
    """Evidence of these parts, each cut to what is shown of it."""
    shown = {name: cut_middle(escape_surrogates(whole.get(name, "")), most) for name, most in MOST.items()}
    hidden = sum(left for _, left in shown.values())
    return JudgedWork(
        escape_surrogates(prompt),
        {name: part for name, (part, _) in shown.items()},
        sum(map(len, whole.values())),
        hidden,
        len(whole.get("final_message", "")) + len(whole.get("diff", "")),
    )


def cut_middle(whole: str, most: int) -> tuple[str, int]:
    """The first and last halves of what may be shown, with a line between them that says what is not; and how much."""
    if len(whole) <= most:
        return whole, 0
    left, half = len(whole) - most, most // 2
    return (
        f"{whole[: most - half]}\n[... {left:,} characters are left out here ...]\n{whole[len(whole) - half :]}",
        left,
    )


def _text(folder: str, name: str) -> str:
    try:
        return read_whole(os.path.join(folder, name), _MOST_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise ValueError(f"its {name} cannot be read: {error.strerror or error}") from None


def _object(folder: str, name: str) -> dict[str, Any]:
    """The object in a file. Raises FileNotFoundError, and ValueError for anything that is none."""
    try:
        found = json.loads(read_whole(os.path.join(folder, name), _MOST_BYTES))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ValueError(f"its {name} cannot be read: {error.strerror or error}") from None
    except (ValueError, RecursionError):
        raise ValueError(f"its {name} is damaged") from None
    if not isinstance(found, dict):
        raise ValueError(f"its {name} is damaged")
    return found


def _lines(trajectory: Mapping[str, Any]) -> Iterator[str]:
    """The steps of a trajectory for a reader: who said what, which tools were called, and what they gave."""
    for number, step in enumerate(objects(trajectory.get("steps")), 1):
        yield f"[step {number}, {text(step.get('source')) or 'unknown'}]"
        for said in (text(step.get("reasoning_content")), text(step.get("message"))):
            if said:
                yield said
        for call in objects(step.get("tool_calls")):
            yield f"[calls {text(call.get('function_name'))}]"
            for key, value in sorted(mapping(call.get("arguments")).items()):
                # Texts as they are: a judge has to quote them character by character.
                given = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
                yield f"{key}: {given}"
        for result in objects(mapping(step.get("observation")).get("results")):
            yield f"[result] {text(result.get('content'))}"


TRIAL_NAME = "(this trial)"
"""What judges read in place of the name of a trial's folder, which holds that of its arm."""


def hide_arm(told: str, trial: Mapping[str, Any], folder: str) -> str:
    """A text without what the run put there that differs by arm.

    These are the skills in the prompt, the line of the hint, the order to open them, and the name of the folder.
    `trial` is what trial.json says, `folder` where the trial is kept.
    """
    if framed := frame_in(text(trial.get("prompt"))):
        told = told.replace(framed, "")
    if names := _staged(trial):
        for line in (f"\n\n{hint_line(names)}", hint_line(names), f"{forcing_line(names)}\n\n", forcing_line(names)):
            told = told.replace(line, "")
    name = os.path.basename(folder.rstrip(os.sep))
    return told.replace(name, TRIAL_NAME) if name else told


def shows_skill(parts: Iterable[str], trial: Mapping[str, Any]) -> bool:
    """Whether the evidence names a staged skill or the folder of skills, so that its reader may know the arm."""
    words = [*_staged(trial), *([place] if (place := text(trial.get("skills_folder")).rstrip("/")) else [])]
    if not words:
        return False
    pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, words))})(?![\w-])")
    return any(pattern.search(part) for part in parts)


def _staged(trial: Mapping[str, Any]) -> list[str]:
    return [name for each in objects(trial.get("skills")) if (name := text(each.get("name")))]

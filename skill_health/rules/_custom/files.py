"""The files in a skill's folder, and the folder's name, against what a configuration asks for."""

from __future__ import annotations

from collections.abc import Iterator

from skill_health.config.custom import FilesCheck
from skill_health.rules._api import Hit
from skill_health.rules._custom.subject import START, Subject, is_named


def check_files(check: FilesCheck, subject: Subject) -> Iterator[Hit]:
    """Report files that are missing or must not be there, too many or too deep, and a folder of another name."""
    skill, files = subject.skill, subject.skill.files
    for glob in check.required:
        if not any(is_named(path, (subject.filled(glob),)) for path in files):
            yield Hit(START, f"the skill's folder must have {subject.filled(glob)}")
    for path in files:
        if check.forbidden and is_named(path, check.forbidden):
            yield Hit(START, f"the skill's folder must not have {path}")
        elif check.only and not is_named(path, check.only):
            yield Hit(START, f"the skill's folder must not have {path}: only {', '.join(check.only)}")
        elif check.max_depth and path.count("/") > check.max_depth:
            yield Hit(START, f"{path} is {path.count('/')} folders deep; at most {check.max_depth} are allowed")
    if check.max_files and len(files) > check.max_files:
        yield Hit(START, f"the skill's folder has {len(files):,} files; at most {check.max_files:,} are allowed")
    if check.folder and not subject.compiled(check.folder).fullmatch(skill.folder_name[:1000]):
        yield Hit(START, f'the folder\'s name must match {check.folder}, and is "{skill.folder_name}"')

"""Whether configurations of ours say of skills what the validators of four public repositories say of them.

    python -m scripts.validators CHECKOUTS [--only NAME]... [--rounds N] [--pairs] [--run-theirs]

CHECKOUTS holds the repositories as OWNER+NAME. Each is copied, and in each round every skill of the copy gets one
mutation, a different one each time (round 0: none). Their validator, which runs only with --run-theirs and then in a
sandbox without network (bubblewrap, everything read-only), and `lint` with our configuration (`scripts/validators/`)
then judge the same copy. What is printed is the table of docs/custom-rules.md and every disagreement.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from scripts.mutations import MUTATIONS, mutate
from skill_health.config.settings import load_config
from skill_health.discovery.corpus import discover
from skill_health.lint.pipeline import run
from skill_health.rules._api import Severity
from skill_health.rules._page import wilson

HERE = Path(__file__).resolve().parent
SANDBOX = (
    "bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin",
    "--setenv", "LANG", "C.UTF-8", "--ro-bind", "/usr", "/usr", "--ro-bind-try", "/lib", "/lib", "--ro-bind-try", "/lib64",
    "/lib64", "--ro-bind-try", "/bin", "/bin", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",
)  # fmt: skip
PYTHON = ("/usr/bin/python3", "-B", "-I")
USUAL_MUTANTS = 700
Verdicts = dict[str, set[str]]
"""Why each skill fails, by the path of its SKILL.md; one that passes has an empty set."""


class Validator(NamedTuple):
    """One validator of a repository, and how to read it.

    `reasons` are expressions for its messages, with the code of our rule. `skips` are mutations that end its run.
    """

    name: str
    repository: str
    folders: tuple[str, ...]
    skills: tuple[str, ...]
    judge: Callable[[Validator, Path], Verdicts]
    reasons: Mapping[str, str] = {}
    skips: tuple[str, ...] = ()


class Case(NamedTuple):
    """One skill in one state: what was done to it, and the two sets of reasons."""

    skill: str
    mutation: str
    theirs: frozenset[str]
    ours: frozenset[str]

    @property
    def agrees(self) -> bool:
        """Whether both let it pass, or neither."""
        return bool(self.theirs) == bool(self.ours)


# -- their side --------------------------------------------------------------------------------------------------------


def run_theirs(copy: Path, *command: str) -> str:
    """What a validator prints about a copy, from inside the sandbox."""
    place = ("--ro-bind", str(copy), "/repo", "--chdir", "/repo", "--")
    done = subprocess.run([*SANDBOX, *place, *command], capture_output=True, text=True, timeout=300, check=False)
    if done.returncode not in (0, 1) or "Traceback" in done.stderr:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-600:]}")
    return done.stdout + done.stderr


def reason_of(validator: Validator, message: str) -> str:
    """The code of our rule for a message of theirs."""
    return next((code for pattern, code in validator.reasons.items() if re.search(pattern, message)), f"? {message}")


def judge_lines(
    validator: Validator, copy: Path, output: str, line: str, place: Callable[[re.Match[str]], str]
) -> Verdicts:
    """The reasons in an output where each line of a certain form is one."""
    verdicts: Verdicts = {path: set() for path in list_skills(validator, copy)}
    for match in re.finditer(line, output, re.MULTILINE):
        verdicts.setdefault(place(match), set()).add(reason_of(validator, match["what"]))
    return verdicts


def judge_sickn33(validator: Validator, copy: Path) -> Verdicts:
    """`scripts/validate_skills.py`, as its workflow calls it."""
    output = run_theirs(copy, *PYTHON, "scripts/validate_skills.py")
    line = r"^(?:❌|🚨) (?P<path>\S.*?SKILL\.md): (?P<what>.+)$"
    return judge_lines(validator, copy, output, line, lambda found: f"skills/{found['path']}")


def judge_sickn33_js(validator: Validator, copy: Path) -> Verdicts:
    """`scripts/validate-skills.js`."""
    output = run_theirs(copy, "node", "scripts/validate-skills.js").partition("\nErrors:")[2]
    known = {path.split("/")[1]: path for path in list_skills(validator, copy)}

    def place(found: re.Match[str]) -> str:
        named = [word for word in re.split(r"[\s():]+", found["what"]) if word in known]
        first = "->" in found["what"] or "parse error" in found["what"]
        return known[named[0 if first else -1]] if named else ""

    return judge_lines(validator, copy, output, r"^- (?P<what>.+)$", place)


def judge_uipath_status(validator: Validator, copy: Path) -> Verdicts:
    """`scripts/check-skill-status.py`, and what `hooks/validate-skill-descriptions.sh` says, which is read here."""
    verdicts: Verdicts = {path: set() for path in list_skills(validator, copy)}
    output = run_theirs(copy, *PYTHON, "scripts/check-skill-status.py", "--json")
    for line in output.splitlines():
        if line.startswith("{"):
            found = json.loads(line)
            verdicts[f"skills/{found['skill']}/SKILL.md"].add(reason_of(validator, found["error"]))
    for path in verdicts:
        if description_length((copy / path).read_bytes().decode("utf-8", "replace")) > 1024:
            verdicts[path].add("UPS001")
    return verdicts


def description_length(text: str) -> int:
    """The characters that a shell script counts as the description: of the first line in quotes, else the first."""
    lines = text.split("\n")
    for form in (r'description: "(.*)"', r"description: (.*)"):
        found = next((match[1] for line in lines if (match := re.fullmatch(form, line))), "")
        if found:
            return len(found)
    return 0


def judge_novotnyllc(validator: Validator, copy: Path) -> Verdicts:
    """`scripts/_validate_skills.py` with the arguments of `scripts/validate-skills.sh`.

    Its errors, and those warnings of which its workflow allows none.
    """
    limits = (
        "--projected-skills",
        "9",
        "--max-desc-chars",
        "600",
        "--warn-threshold",
        "12000",
        "--fail-threshold",
        "15600",
    )
    root = ("--repo-root", "plugins/dotnet-artisan")
    output = run_theirs(
        copy, "/usr/bin/python3", "-B", "scripts/_validate_skills.py", *root, *limits, "--allow-planned-refs"
    )
    counted = (
        "does not match directory|extra frontmatter|should be (?:bool|str)|'WHEN '|missing '## (?:Out of s|S)cope'"
    )
    line = (
        rf"^(?:ERROR: |WARN:  (?=.* -- .*(?:{counted})))"
        r"(?P<skill>skills/[^/\n]+)/\S+ (?:\(line ~\d+\) )?-- (?P<what>.+)$"
    )
    return judge_lines(validator, copy, output, line, lambda found: f"plugins/dotnet-artisan/{found['skill']}/SKILL.md")


def judge_kouko(validator: Validator, copy: Path) -> Verdicts:
    """`scripts/check-skill-structure.py` for each plugin that the workflow names."""
    verdicts: Verdicts = {path: set() for path in list_skills(validator, copy)}
    for plugin in KOUKO:
        output = run_theirs(copy, *PYTHON, "scripts/check-skill-structure.py", plugin)
        for block in re.split(r"(?m)^(?=FAIL  |PASS  )", output)[1:]:
            found = re.match(r"FAIL  (\S+)", block)
            for message in re.findall(r"(?m)^  (\[CHK-SKL-.*)$", block) if found else ():
                verdicts[f"{plugin}/skills/{found[1] if found else ''}/SKILL.md"].add(reason_of(validator, message))
    return verdicts


YAML, YAML_CODES = "YAML", ("FM001", "FM002", "FM003", "FM004")
"""What is no valid YAML, in several rules of ours and in one message of theirs."""
KOUKO = ("domain-teams", "loom-code", "loom-design", "copywriting-toolkit")
UNREADABLE = ("byte-that-is-no-utf8",)
VALIDATORS = (
    Validator(
        "sickn33", "sickn33+antigravity-awesome-skills", ("skills", "scripts"), ("skills/**/SKILL.md",), judge_sickn33,
        {
            "Unreadable": "FM007", "Missing or malformed": "AAS001", "Missing 'name'": "AAS003",
            "Missing 'description'": "AAS004", "Invalid risk": "AAS005", "OFFENSIVE": "AAS006",
        },
    ),
    Validator(
        "sickn33-js", "sickn33+antigravity-awesome-skills", ("skills", "scripts", "lib", "node_modules"),
        ("skills/*/SKILL.md",), judge_sickn33_js,
        {
            "Missing frontmatter": "ASJ001", "parse error": "YAML", "Folder name": "ASJ002", "^name ": "ASJ003",
            "^description ": "ASJ004", "^license ": "ASJ005", "^compatibility ": "ASJ006", "^allowed-tools ": "ASJ007",
            r"^metadata must": "ASJ008", r"^metadata\.": "ASJ009", "Unknown frontmatter": "ASJ010",
        },
    ),
    Validator(
        "uipath", "UiPath+skills", ("skills", "scripts", "assets"), ("skills/*/SKILL.md",), judge_uipath_status,
        {"status tag": "UPS002", "stale status": "UPS003", "invalid status|no entry": "UPS004"}, UNREADABLE,
    ),
    Validator(
        "novotnyllc", "novotnyllc+dotnet-marketplace", ("plugins", "scripts"), ("plugins/dotnet-artisan/skills/*/SKILL.md",),
        judge_novotnyllc,
        {
            "does not match directory": "DNA020", "extra frontmatter": "DNA021", "should be (bool|str)": "DNA022",
            "'WHEN '": "DNA023", "missing '## Scope'": "DNA024", "missing '## Out of scope'": "DNA025",
            "missing (opening|closing) ---": "DNA001", "can't decode": "FM007", "BOM": "FM007", "flow collections|sequences": "DNA004",
            "unclosed": "DNA005", "invalid YAML syntax": "DNA002", "quoted description": "DNA006",
            "metadata: is the last": "DNA007", "license": "DNA008", "user-invocable": "DNA009", "field: name": "DNA010",
            "name '": "DNA011", "field: description": "DNA012", "description is": "DNA013", "self-referential": "DNA014",
            "missing H1": "DNA015", "slug-style": "DNA016", "must not have": "DNA017", "broken cross": "DNA018",
            "routing table": "DNA019",
        },
    ),
    Validator(
        "kouko", "kouko+monkey-skills", (*KOUKO, "scripts"), tuple(f"{plugin}/skills/*/SKILL.md" for plugin in KOUKO),
        judge_kouko,
        {
            "001.*missing": "MKS001", "001": "MKS002", "005": "MKS005", "010": "MKS010", "011": "MKS011",
            "012.*required": "MKS013", "012.*research/ filename": "MKS014", "012": "MKS012",
        },
        UNREADABLE,
    ),
)  # fmt: skip


# -- our side ----------------------------------------------------------------------------------------------------------


def judge_ours(validator: Validator, copy: Path) -> Verdicts:
    """The codes of the errors that `lint` finds in each skill with our configuration."""
    config = load_config(str(copy), str(HERE / "validators" / f"{validator.name}.toml"))
    discovery = discover((str(copy),), config, str(copy))
    result = run(discovery, config, date(2026, 1, 1), use_cache=False)
    verdicts: Verdicts = {path: set() for path in list_skills(validator, copy)}
    for finding in result.findings:
        if finding.severity is Severity.ERROR and finding.skill in verdicts:
            verdicts[finding.skill].add(YAML if finding.code in YAML_CODES else finding.code)
    for entry in result.entries:
        for other in entry.copies:
            if other in verdicts:
                verdicts[other] |= verdicts.get(entry.path, set())
    return verdicts


# -- both --------------------------------------------------------------------------------------------------------------


def list_skills(validator: Validator, copy: Path) -> list[str]:
    """The skills that the validator judges, sorted; a link is the skill that it leads to."""
    found = {path for glob in validator.skills for path in copy.glob(glob) if not path.parent.is_symlink()}
    return sorted(path.relative_to(copy).as_posix() for path in found)


def compare(validator: Validator, checkout: Path, rounds: int, pairs: bool = False) -> Iterator[Case]:
    """Each skill as it is, and then with one mutation in each round, or with two at once."""
    with tempfile.TemporaryDirectory(prefix="validators-") as folder:
        copy, mutations = Path(folder) / "repo", [each for each in MUTATIONS if each not in validator.skips]
        for folder_ in validator.folders:
            shutil.copytree(checkout / folder_, copy / folder_, symlinks=True)
        (copy / ".git").mkdir()
        skills = list_skills(validator, copy)
        rounds = rounds or max(3, min(len(mutations), USUAL_MUTANTS // len(skills)))
        for number in range(rounds + 1):
            done = {}
            for at, path in enumerate(skills if number else ()):
                wanted = mutations[(at * 7 + (number - 1)) % len(mutations)]
                if not mutate((copy / path).parent, wanted):
                    continue
                done[path] = wanted
                second = mutations[(at * 11 + number * 13 + 5) % len(mutations)]
                # A second one may have nothing left to change.
                if pairs and (copy / path).is_file() and mutate((copy / path).parent, second):
                    done[path] += f" + {second}"
            theirs, ours = validator.judge(validator, copy), judge_ours(validator, copy)
            for path in done if number else skills:
                yield Case(path, done.get(path, ""), frozenset(theirs[path]), frozenset(ours[path]))
            for path in done:
                place = (copy / path).parent
                shutil.rmtree(place)
                shutil.copytree(checkout / place.relative_to(copy), place, symlinks=True)


def describe(cases: Sequence[Case]) -> str:
    """Agreement as a share with its interval."""
    agreed = sum(case.agrees for case in cases)
    low, high = wilson(agreed, len(cases))
    return f"{agreed} of {len(cases)} ({agreed / len(cases):.1%}, {low:.1%} to {high:.1%})"


def main(arguments: Sequence[str]) -> int:
    """Print the table, then what disagrees."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkouts", type=Path)
    parser.add_argument("--only", action="append", choices=[each.name for each in VALIDATORS])
    parser.add_argument("--rounds", type=int, default=0, help=f"0: until about {USUAL_MUTANTS:,} mutations are made")
    parser.add_argument("--pairs", action="store_true", help="two mutations of a skill at once")
    parser.add_argument("--run-theirs", action="store_true", help="run their validators, in a sandbox")
    options = parser.parse_args(arguments)
    if not options.run_theirs:
        print(
            "nothing is compared without --run-theirs: it runs code of the four repositories in a sandbox",
            file=sys.stderr,
        )
        return 2
    print(
        "| validator | skills | as they are | mutants | of them fail there | same verdict | same reasons |\n|"
        + "---|" * 7
    )
    every: dict[str, list[Case]] = {}
    for validator in VALIDATORS:
        if options.only and validator.name not in options.only:
            continue
        cases = list(compare(validator, options.checkouts / validator.repository, options.rounds, options.pairs))
        every[validator.name] = cases
        plain, mutants = [c for c in cases if not c.mutation], [c for c in cases if c.mutation]
        fail, same = sum(bool(c.theirs) for c in mutants), sum(c.theirs == c.ours for c in mutants)
        row = (
            validator.name,
            len(plain),
            describe(plain),
            len(mutants),
            fail,
            describe(mutants),
            f"{same / len(mutants):.1%}",
        )
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
    for name, cases in every.items():
        kinds = Counter((c.mutation, c.theirs, c.ours) for c in cases if not c.agrees)
        others = Counter((c.mutation, c.theirs, c.ours) for c in cases if c.agrees and c.theirs != c.ours)
        for title, counted in (("verdict", kinds), ("reasons", others)):
            for (mutation, theirs, ours), number in sorted(counted.items(), key=lambda item: (-item[1], str(item))):
                said = f"theirs {sorted(theirs) or 'pass'}, ours {sorted(ours) or 'pass'}"
                print(f"{name}: other {title}, {number} x after {mutation or 'nothing'}: {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

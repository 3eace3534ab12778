"""Task 011: prompt sets that measure, split so that nothing leaks, and sets that nearly do."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Edit = Callable[[Path], None]
Prompt = dict[str, Any]
SKILLS = Path(__file__).resolve().parents[3] / "fixtures" / "skills"
SAME = "import sys\n\nsys.stdout.write(open(sys.argv[1], encoding='utf-8').read())\n"


def read(workspace: Path) -> list[Prompt]:
    return [json.loads(line) for line in (workspace / "prompts.jsonl").read_text(encoding="utf-8").splitlines()]


def write(workspace: Path, prompts: list[Prompt]) -> None:
    text = "".join(json.dumps(prompt, ensure_ascii=False) + "\n" for prompt in prompts)
    (workspace / "prompts.jsonl").write_text(text, encoding="utf-8")


def split_again(workspace: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-B", "splits.py", "prompts.jsonl"],
        cwd=workspace,
        capture_output=True,
        timeout=600,
        check=True,
    )
    (workspace / "prompts.jsonl").write_bytes(done.stdout)


def prompts(change: Callable[[dict[str, Prompt]], None], again: bool = True) -> Edit:
    """Change the oracle's prompts, given by id, and split them again."""

    def edit(workspace: Path) -> None:
        found = {prompt["prompt_id"]: prompt for prompt in read(workspace)}
        change(found)
        write(workspace, list(found.values()))
        if again:
            split_again(workspace)

    return edit


def one(key: str, **fields: object) -> Edit:
    return prompts(lambda found: found[key].update(fields))


def script(text: str, again: bool = True) -> Edit:
    """Another splits.py; the prompts are split with it."""

    def edit(workspace: Path) -> None:
        (workspace / "splits.py").write_text(text, encoding="utf-8")
        if again:
            split_again(workspace)

    return edit


def with_the_skill(workspace: Path) -> None:
    """The bundled script of the skill as splits.py, with a seed that leaves prompts without a skill in each part."""
    audit = (SKILLS / "router-prompt-sets" / "scripts" / "audit_prompts.py").read_text(encoding="utf-8")
    for seed in range(1, 50):
        text = audit.replace(
            "sys.exit(main())", f"sys.exit(main([sys.argv[1], '--assign-splits', '--seed', '{seed}']))"
        )
        script(text)(workspace)
        if {p["split"] for p in read(workspace) if p["expected_primary_skill"] is None} == {
            "train",
            "validation",
            "test",
        }:
            return


def by_hand_and_in_a_table(workspace: Path) -> None:
    """Parts that are drawn once are kept in a file; new matters are drawn by a checksum."""
    table = {p["family"]: p["split"] for p in read(workspace)}
    (workspace / "drawn.json").write_text(json.dumps(table), encoding="utf-8")
    text = """import json, pathlib, sys, zlib
drawn = json.loads(pathlib.Path(__file__).with_name("drawn.json").read_text(encoding="utf-8"))
for line in open(sys.argv[1], encoding="utf-8"):
    prompt = json.loads(line)
    family = prompt.get("family") or prompt["prompt_id"]
    prompt["split"] = drawn.get(family) or ("train", "train", "validation", "test")[zlib.crc32(family.encode()) >> 8 & 3]
    print(json.dumps(prompt))
"""
    script(text)(workspace)


def other_choices(found: dict[str, Prompt]) -> None:
    """Fewer rewordings, one disputed request left out, the copied ones reworded, other names of families."""
    del found["m327"], found["m308"]
    found["m204"] = found["m284"] | {
        "prompt_id": "m204",
        "prompt": "Please work out a round for these parcels, and by when each is there.",
        "family": "fm204",
        "acceptable_secondary_skills": [],
    }
    found["m152"] |= {"expected_primary_skill": "delivery-rounds", "acceptable_secondary_skills": ["job-quotes"]}
    found["own-8"] = found["own-3"] | {
        "prompt_id": "own-8",
        "prompt": "is the customer in the shop now the one who complained last year",
        "rejected_skills": ["complaint-replies"],
        "family": "x8",
    }


def without_most_nulls(found: dict[str, Prompt]) -> None:
    nulls = [key for key, prompt in found.items() if prompt["expected_primary_skill"] is None]
    for key in nulls[4:]:
        del found[key]


def only_strange_nulls(found: dict[str, Prompt]) -> None:
    texts = iter("zebra river tunnel violin copper walnut lantern meadow pepper saddle".split())
    for key, prompt in list(found.items()):
        if prompt["expected_primary_skill"] is None:
            del found[key]
            name = f"own-{next(texts)}"
            found[name] = prompt | {"prompt_id": name, "prompt": f"tell me a story about a {name[4:]}", "family": name}


def reject_all_others(found: dict[str, Prompt]) -> None:
    names = {"artwork-check", "job-quotes", "delivery-rounds", "complaint-replies"}
    for prompt in found.values():
        prompt["rejected_skills"] = sorted(
            names - {prompt["expected_primary_skill"]} - set(prompt["acceptable_secondary_skills"])
        )


def reject_nothing(found: dict[str, Prompt]) -> None:
    for prompt in found.values():
        prompt["rejected_skills"] = []


def threads_as_families(found: dict[str, Prompt]) -> None:
    found["m294"]["family"], found["m227"]["family"] = "t11", "t05"


def prompts_as_families(found: dict[str, Prompt]) -> None:
    for key, prompt in found.items():
        prompt["family"] = key


def few_deliveries(found: dict[str, Prompt]) -> None:
    for key in ("own-1", "own-2", "m284"):
        del found[key]


def too_few(found: dict[str, Prompt]) -> None:
    for key in [key for key in found if key.startswith("m")][::4]:
        del found[key]


def copied(found: dict[str, Prompt]) -> None:
    found["m200"] = found["m243"] | {
        "prompt_id": "m200",
        "prompt": "I have a customer who is unhappy with what was printed or delivered, please draft something.",
        "family": "fm200",
        "expected_primary_skill": "complaint-replies",
    }


def twice(found: dict[str, Prompt]) -> None:
    found["m185"] = found["m167"] | {"prompt_id": "m185", "prompt": "What does CMYK stand for?"}


def disputed(found: dict[str, Prompt]) -> None:
    found["m164"] = found["m230"] | {
        "prompt_id": "m164",
        "prompt": "is the proof on the server the last one?",
        "family": "f",
    }


def randomly(workspace: Path) -> None:
    script(
        """import json, random, sys
prompts = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
families = sorted({p.get("family") or p["prompt_id"] for p in prompts})
random.Random(3).shuffle(families)
part = {f: ("train", "train", "validation", "test")[4 * i // len(families)] for i, f in enumerate(families)}
for p in prompts:
    print(json.dumps(p | {"split": part[p.get("family") or p["prompt_id"]]}))
"""
    )(workspace)


def by_hash(workspace: Path) -> None:
    script(
        """import json, sys
for line in open(sys.argv[1], encoding="utf-8"):
    p = json.loads(line)
    p["split"] = ("train", "train", "validation", "test")[hash(p.get("family") or p["prompt_id"]) % 4]
    print(json.dumps(p))
"""
    )(workspace)


def by_prompt(workspace: Path) -> None:
    script(
        """import json, sys, zlib
for line in open(sys.argv[1], encoding="utf-8"):
    p = json.loads(line)
    p["split"] = ("train", "train", "validation", "test")[zlib.crc32(p["prompt_id"].encode()) >> 8 & 3]
    print(json.dumps(p))
"""
    )(workspace)


def in_thirds(workspace: Path) -> None:
    script(
        """import json, sys, zlib
for line in open(sys.argv[1], encoding="utf-8"):
    p = json.loads(line)
    family = (p.get("family") or p["prompt_id"]).encode()
    p["split"] = ("train", "validation", "test")[(zlib.crc32(family) >> 8) % 3]
    print(json.dumps(p))
"""
    )(workspace)


def shuffled_parts(workspace: Path) -> None:
    found = read(workspace)
    parts = [prompt["split"] for prompt in found]
    random.Random(2).shuffle(parts)
    write(workspace, [prompt | {"split": part} for prompt, part in zip(found, parts, strict=True)])


NAMED = (
    "Mrs Oyelaran writes that the blue of her business cards is purple and she wants her money back. What do I write?"
)
RIGHT = {"011": [with_the_skill, by_hand_and_in_a_table, prompts(other_choices)]}
WRONG = {
    "011": [
        ("form", one("m340", expected_primary_skill="job-quote")),
        ("form", prompts(lambda found: found["m340"].pop("reason"))),
        ("nothing given away", one("m260", prompt="run artwork-check on the new label please")),
        ("nothing given away", prompts(copied)),
        ("nobody named", one("m308", prompt=NAMED)),
        (
            "nobody named",
            one("m252", prompt="call me on 0170 5550143 when you know whether the cover photo is big enough"),
        ),
        ("labels", one("m171", acceptable_secondary_skills=[], rejected_skills=["delivery-rounds"])),
        ("labels", one("m152", acceptable_secondary_skills=[])),
        ("labels", one("m167", acceptable_secondary_skills=["artwork-check"], rejected_skills=[])),
        ("labels", prompts(disputed)),
        ("wording kept", one("m340", prompt="how many calendars do you get for a small sum of money, roughly")),
        ("no duplicates", prompts(twice)),
        ("useful requests kept", prompts(too_few)),
        ("families", prompts(threads_as_families)),
        ("families", prompts(prompts_as_families)),
        ("no leak between parts", by_prompt),
        ("no leak between parts", shuffled_parts),
        ("five prompts for each skill", prompts(few_deliveries)),
        ("three tempting mistakes for each skill", prompts(reject_nothing)),
        ("only tempting skills are rejected", prompts(reject_all_others)),
        ("enough prompts without a skill", prompts(without_most_nulls)),
        ("tempting prompts without a skill", prompts(only_strange_nulls)),
        ("splits.py gives the parts", shuffled_parts),
        ("parts stay when the set grows", randomly),
        ("parts stay when the set grows", by_hash),
        ("parts stay when the set grows", script(SAME, again=False)),
        ("sizes of the parts", in_thirds),
    ]
}

"""`skill-health effectiveness controls`: negative-control tasks in number, from templates."""

from __future__ import annotations

import click

from skill_health.core.errors import CLEAN


@click.command(short_help="Write negative-control tasks: small work that no skill should help with.")
@click.argument("target", metavar="FOLDER")
@click.option("--count", default=60, metavar="N", help="How many tasks (60).")
@click.option("--seed", default=1, metavar="N", help="The same seed writes the same tasks (1).")
@click.option(
    "--irrelevant",
    multiple=True,
    metavar="SKILL",
    help="A skill for something else, staged by the arm negative; of several each task names one in turn.",
)
def command(target: str, count: int, seed: int, irrelevant: tuple[str, ...]) -> int:
    """Write negative-control tasks into FOLDER, which is made.

    Small work with tables, dates, JSON, lists and texts, of three difficulties, each with its own numbers, a
    deterministic verifier and an oracle. Done without a skill, with an irrelevant one and with the whole collection,
    they say whether a run is biased; about a hundred are needed to show that it is not. Nothing is run, and nothing
    that is there is replaced.
    """
    from skill_health.core.files import here
    from skill_health.effectiveness.controls.generate import generate_controls
    from skill_health.text.numbers import count as counted
    from skill_health.text.terminal import clean, echo

    ids = generate_controls(target, count, seed, irrelevant)
    said = [f"{here(target)}: {counted(len(ids), 'negative-control task')} written ({ids[0]} to {ids[-1]})"]
    if not irrelevant:
        said.append("without --irrelevant SKILL they have no arm negative, only control and full")
    echo("".join(f"{clean(line)}\n" for line in said))
    return CLEAN

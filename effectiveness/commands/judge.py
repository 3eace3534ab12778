"""`skill-health effectiveness judge`: have models judge the kept trials of a run by the criteria of its tasks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from skill_health.bench.command_line import amount, executor_option, finish, listed, print_lines, shard_option
from skill_health.core.errors import CLEAN, UsageError
from skill_health.core.files import here
from skill_health.core.times import time_option

if TYPE_CHECKING:
    from skill_health.bench.run.conduct import RunTerms
    from skill_health.config.settings import RouterSettings
    from skill_health.effectiveness.judge.prepare import JudgeChoices, PreparedJudging
    from skill_health.effectiveness.judge.run import WrittenReport
    from skill_health.effectiveness.rubric.model import Rubric
    from skill_health.effectiveness.run.runs import EffectRun
    from skill_health.effectiveness.tasks._api import Task


@click.command(short_help="Have models or agents judge kept trials by the criteria of their tasks.")
@click.argument("run", metavar="RUN")
@click.option(
    "--judges",
    multiple=True,
    callback=listed,
    metavar="LIST",
    help="Judges: models, PROVIDER:MODEL each, or agents, AGENT:PROVIDER:MODEL.",
)
@click.option(
    "--family",
    "families",
    multiple=True,
    metavar="MODEL=FAMILY",
    help="Of which family a model is, where its name does not say it.",
)
@click.option(
    "--votes", type=click.IntRange(1, 25), metavar="N", help="How often each judge judges each trial or pair (1)."
)
@click.option(
    "--repeat-share",
    type=click.FloatRange(0, 1),
    callback=amount,
    metavar="X",
    help="Share of trials or pairs judged once more, to see whether a verdict holds (0.1).",
)
@click.option(
    "--pairwise",
    nargs=2,
    metavar="ARM ARM",
    help="Ask which of two arms did each task better instead, in both orders and without names.",
)
@click.option(
    "--shorter-wins-ties",
    is_flag=True,
    help="With --pairwise: a tie goes to the shorter work instead of being half a win.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=1,
    metavar="N",
    help="Seed of that choice, the order of calls and resampling (1).",
)
@click.option(
    "--calibration",
    metavar="FILE",
    help="calibration.json of another judging: it is shown where the same models judged by the same rules.",
)
@click.option("--tasks", "task_paths", multiple=True, metavar="PATH", help="The tasks (those of the configuration).")
@click.option("--config", "config_file", metavar="FILE", help="Configuration file instead of the one found.")
@click.option("--out", metavar="DIR", help="Folder of the reports (from the configuration, else reports).")
@click.option("--max-runs", type=click.IntRange(0), metavar="N", help="At most N calls, retries included.")
@click.option(
    "--max-budget-usd",
    type=click.FloatRange(0),
    callback=amount,
    metavar="X",
    help="Cap in US dollars, calls in flight included.",
)
@click.option("--unsafe-no-cost-cap", is_flag=True, help="Ask paid models without a cap.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Concurrent calls (64; each server's own limit holds too, and 4 for agents).",
)
@click.option(
    "--sandbox", metavar="NAME", help="Where agents judge: bubblewrap, docker or podman (the first that works)."
)
@shard_option
@executor_option("starts judges that are agents")
@click.option("--batch", is_flag=True, help="Ask judges in their providers' batches: cheaper, within a day.")
@click.option("--cancel-batches", is_flag=True, help="Cancel the batches of a judging, and keep what is done of them.")
@click.option("--dry-run", is_flag=True, help="Say what would be asked and what it would cost; ask and write nothing.")
@click.option("--quiet", is_flag=True, help="Show no progress.")
@click.option("--resume", "named", metavar="JUDGING", default="", help="Resume this judging and no other.")
@click.option("--no-resume", is_flag=True, help="Start over, even if the same judging is unfinished.")
@click.option("--time", callback=time_option, metavar="ISO", help="Time to record for the judging (now).")
@click.option("--format", "format_", type=click.Choice(["md", "json"]), default="md", help="How to print the report.")
def command(run: str, judges: tuple[str, ...], families: tuple[str, ...], **options: Any) -> int:
    """Have models judge the trials of RUN, the id or folder of a finished run or `last`, by the criteria of its tasks.

    Judges see what was kept: the final message, the changes and the transcript, and not which arm it was; a judge that
    is an agent sees the workspace as well, read-only in a sandbox. None of them may be of the family of a model of the
    run. A judging that was stopped resumes when the same command is given again; exit 3 where calls are
    left. Judgings by other judges stay beside it.
    """
    from skill_health.core.extras import STATISTICS, require_modules

    require_modules("effectiveness judge", (*STATISTICS, "httpx"))
    from skill_health.bench.run_folder import find_run
    from skill_health.discovery.roots import reports_folder
    from skill_health.effectiveness.judge.by_agent import AgentSurroundings
    from skill_health.effectiveness.judge.prepare import JudgeChoices
    from skill_health.effectiveness.run.runs import KIND, load_run
    from skill_health.lint.pipeline import configure

    if options["named"] and options["no_resume"]:
        raise click.UsageError("--resume and --no-resume exclude each other")
    if options["shorter_wins_ties"] and not options["pairwise"]:
        raise click.UsageError("--shorter-wins-ties is about pairs: give --pairwise ARM ARM")
    if options["calibration"] and options["pairwise"]:
        raise click.UsageError("--calibration is about criteria: nobody has labelled pairs")
    root, config = configure((os.curdir,), options["config_file"], {})
    found = load_run(find_run(run, reports_folder(options["out"], root, config), KIND))
    tasks = load_tasks_of(options["task_paths"], root, options["config_file"])
    frozen = {task.id: task.digest for task in found.manifest.tasks}
    changed = sorted(task.id for task in tasks if frozen.get(task.id, task.digest) != task.digest)
    if changed:
        print_lines([f"edited since the run: {', '.join(changed)}; their trials are judged by today's criteria"])
    mine = config.effectiveness.judge
    choices = JudgeChoices(
        judges=judges or mine.models,
        families=families,
        votes=options["votes"] or mine.votes,
        repeat_share=mine.repeat_share if options["repeat_share"] is None else options["repeat_share"],
        seed=options["seed"],
        surroundings=AgentSurroundings(
            options["sandbox"] or config.effectiveness.sandbox,
            config.effectiveness.image,
            {"acp-command": config.effectiveness.acp_command, "acp-env": dict(config.effectiveness.acp_env)},
        ),
        batch=options["batch"] or options["cancel_batches"],
    )
    rubrics = rubrics_of(tasks)
    if options["pairwise"]:
        return _judge_pairs(found, rubrics, choices, config.router, options)
    return _judge_trials(found, rubrics, choices, config.router, options)


def _judge_trials(
    run: EffectRun,
    rubrics: Mapping[str, Rubric],
    choices: JudgeChoices,
    routing: RouterSettings,
    options: dict[str, Any],
) -> int:
    from skill_health.effectiveness.judge.prepare import prepare_judging
    from skill_health.effectiveness.judge.run import write_judged
    from skill_health.effectiveness.judge.scores.markdown import to_markdown
    from skill_health.effectiveness.judge.scores.report import borrow_calibration, read_calibration

    borrowed = read_calibration(options["calibration"]) if options["calibration"] else None
    prepared = prepare_judging(run, rubrics, choices, routing, **_place_of(options))

    def write(run_folder: str, folder: str) -> WrittenReport:
        if borrowed and (why := borrow_calibration(folder, borrowed)):
            print_lines([f"{here(options['calibration'])} is not taken: {why}"])
        return write_judged(run_folder, folder)

    return _conduct(prepared, options, write, to_markdown)


def _judge_pairs(
    run: EffectRun,
    rubrics: Mapping[str, Rubric],
    choices: JudgeChoices,
    routing: RouterSettings,
    options: dict[str, Any],
) -> int:
    from skill_health.effectiveness.judge.pairs.markdown import pairs_to_markdown
    from skill_health.effectiveness.judge.pairs.prepare import PairChoice, prepare_pairs
    from skill_health.effectiveness.judge.pairs.report import write_pair_report

    arm, against = options["pairwise"]
    pair = PairChoice(arm, against, "shorter" if options["shorter_wins_ties"] else "half")
    prepared = prepare_pairs(run, rubrics, pair, choices, routing, **_place_of(options))
    return _conduct(prepared, options, write_pair_report, pairs_to_markdown)


def _place_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options about the folder of a judging and when it is made."""
    return {
        "time": options["time"] or datetime.now(UTC),
        "named": options["named"],
        "anew": options["no_resume"],
        "keyless": options["dry_run"],
        "shard": options["shard"],
    }


def _conduct(
    prepared: PreparedJudging[Any, Any],
    options: Mapping[str, Any],
    write: Callable[[str, str], WrittenReport],
    to_text: Callable[[Any], str],
) -> int:
    """Ask what was prepared, unless the user only wants to know what that is; the exit code."""
    from skill_health.bench.run.conduct import AT_ONCE, RunTerms
    from skill_health.effectiveness.judge.by_agent import ask_agent
    from skill_health.effectiveness.judge.run import conduct_judging
    from skill_health.effectiveness.run.workers import AgentWorkers
    from skill_health.executors._load import open_executor

    cancelling = options["cancel_batches"]
    if cancelling and prepared.place.stored is None:
        raise UsageError("there is no unfinished judging like this one, so there are no batches of it to cancel")
    print_lines(prepared.forecast.lines())
    if options["dry_run"]:
        print_lines(["dry run: nothing was asked, nothing was written"])
        return CLEAN
    at_once = options["concurrency"] or AT_ONCE
    terms = RunTerms(
        options["max_runs"], options["max_budget_usd"], at_once, quiet=options["quiet"], shard=options["shard"]
    )
    _refuse(prepared, terms, options["unsafe_no_cost_cap"] or cancelling)
    if prepared.place.stored is not None:
        print_lines([f"resuming {here(prepared.place.folder)}: {len(prepared.place.done)} results are there"])
    with open_executor(options["executor"]) as executor:
        ask = AgentWorkers(executor).ask_judge if executor.host else ask_agent
        ended = conduct_judging(prepared, terms, sys.stderr, write, cancelling, ask)
    text = ""
    if ended.report is not None:
        from skill_health.documents._record import encode_record

        text = to_text(ended.report) if options["format_"] == "md" else encode_record(ended.report)
    return finish(ended, text, False)


def load_tasks_of(paths: tuple[str, ...], root: str, config_file: str | None) -> tuple[Task, ...]:
    """The tasks that a user names, else those of the configuration."""
    if paths:
        from skill_health.effectiveness.tasks._load import load_tasks

        return load_tasks(paths, root).tasks
    from skill_health.effectiveness.plan.inputs import load_inputs

    return load_inputs((), (), config_file, skip_namesakes=True).tasks


def rubrics_of(tasks: Iterable[Task]) -> dict[str, Rubric]:
    """The rubrics of tasks by their ids, of those that have one."""
    found = ((task.id, task.rubric) for task in tasks)
    return {name: rubric for name, rubric in found if rubric is not None}


def _refuse(prepared: PreparedJudging[Any, Any], terms: RunTerms, anyway: bool) -> None:
    """Raise UsageError where a judge could spend without a cap or at no known price; warn of a cap that is too low."""
    from skill_health.bench.budget import beyond_caps
    from skill_health.bench.prices import refuse_spending

    capped = terms.max_runs is not None or terms.max_usd is not None
    if not anyway:
        refuse_spending([(judge.spec, judge.price) for judge in prepared.plan.judges], capped, prepared.prices)
    told = prepared.forecast
    print_lines(beyond_caps(told.calls, told.usd_low, terms.max_runs, terms.max_usd))

"""Whether the models pick the same: Fleiss' kappa over the prompts that all of them answered."""

from __future__ import annotations

from collections import Counter, defaultdict

from skill_health import stats
from skill_health.router.scores.judge import ModelScores, RunScores
from skill_health.router.scores.numbers import Number, left_out, not_testable, number


def agreement(sheet: RunScores) -> Number:
    """Fleiss' kappa, a model's rating of a prompt being its most frequent first answer (of equals, the earliest).

    Models without any scored call are left out; an answer without a valid ranking is a class of its own.
    """
    ratings = [rating for column in sheet.columns if (rating := _ratings(column))]
    if len(ratings) < 2:
        return not_testable("there is only one model" if len(sheet.columns) < 2 else "fewer than two models answered")
    prompts = [prompt for prompt in sheet.facts.prompts if all(prompt in rating for rating in ratings)]
    if not prompts:
        return not_testable("no prompt was answered by all models")
    if not stats.installed():
        return left_out()
    from skill_health.stats.agreement import fleiss_kappa

    given = dict.fromkeys(rating[prompt] for prompt in prompts for rating in ratings)
    column_of = {name: at for at, name in enumerate(given)}
    counts = [[0] * len(given) for _ in prompts]
    for row, prompt in zip(counts, prompts, strict=True):
        for rating in ratings:
            row[column_of[rating[prompt]]] += 1
    clusters = [sheet.facts.clusters[prompt] for prompt in prompts]
    return number(fleiss_kappa(counts, seed=sheet.facts.seed, clusters=clusters))


def _ratings(column: ModelScores) -> dict[str, str | None]:
    answers: defaultdict[str, list[str | None]] = defaultdict(list)
    for row in column.scored:
        answers[row.prompt.prompt_id].append(row.picked)
    return {prompt: Counter(each).most_common(1)[0][0] for prompt, each in answers.items()}

"""Questions that do not fit into their model are refused before money is spoken of."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from skill_health.commands.router import command as group
from skill_health.core.errors import UsageError

Run = Callable[..., int]


@pytest.fixture
def run(write: Callable[[Mapping[str, str]], Path], monkeypatch: pytest.MonkeyPatch) -> Run:
    """A dry run over two skills whose descriptions have 40,000 bytes together."""
    long = "Sorts the post by sender and day. " * 600
    prompt = {"prompt_id": "p", "prompt": "sort it", "expected_primary_skill": "post-0", "acceptable_secondary_skills": [],
              "rejected_skills": [], "reason": "It is post."}  # fmt: skip
    root = write({
        **{f"skills/post-{n}/SKILL.md": f"---\nname: post-{n}\ndescription: {long}\n---\n# Post\n" for n in (0, 1)},
        "prompts.jsonl": json.dumps(prompt) + "\n",
    })  # fmt: skip
    monkeypatch.chdir(root)

    def call(context: int | None, models: str = "local:m", *given: str) -> int:
        told = "" if context is None else f"context = {context}\n"
        (root / "own.toml").write_text(
            f'[router.providers.local]\nprotocol = "openai"\nbase-url = "http://127.0.0.1:9"\n{told}', "utf-8"
        )
        arguments = ["run", "--dry-run", "--config", "own.toml", "--models", models, *given]
        code: int = group.main(arguments, standalone_mode=False)
        return code

    return call


def test_a_question_that_does_not_fit_is_refused_before_any_forecast(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    said = r"local:m takes 8,000 tokens, but the longest question has about 10,\d{3}, and"
    with pytest.raises(UsageError, match=said):
        run(8000)
    assert "$" not in capsys.readouterr().err


def test_the_answer_has_to_fit_too(run: Run) -> None:
    with pytest.raises(UsageError, match="its answer may have 1,024"):
        run(11_000)
    assert run(12_000) == 0


def test_an_unknown_context_is_said_and_refuses_nothing(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(None) == 0
    assert ": local:m (providers.NAME.context)" in capsys.readouterr().err


def test_the_price_data_knows_contexts_of_vendors(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(None, "openai:gpt-5-mini") == 0
    assert "providers.NAME.context" not in capsys.readouterr().err
    with pytest.raises(UsageError, match=r"openai:gpt-4 takes 8,\d{3} tokens"):
        run(None, "openai:gpt-4")


def test_a_listing_that_is_cut_may_fit(run: Run) -> None:
    assert run(8000, "local:m", "--listing", "claude-code") == 0


def test_what_is_computed_here_has_no_context(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(None, "lexical:tfidf") == 0
    assert "context" not in capsys.readouterr().err


def many(root: Path) -> None:
    for n in range(60):
        folder = root / "skills" / f"small-{n}"
        folder.mkdir(parents=True)
        text = f"---\nname: small-{n}\ndescription: {'Sorts small post by day. ' * 20}\n---\n# Post\n"
        (folder / "SKILL.md").write_text(text, "utf-8")


@pytest.mark.slow
def test_a_refusal_says_what_hosts_list_and_what_two_stages_cost(run: Run) -> None:
    many(Path.cwd())
    for n in (0, 1):
        Path(f"skills/post-{n}/SKILL.md").write_text("---\nname: post-0\ndescription: P.\n---\n", "utf-8")
    told = "claude-code lists .* whole, .* by name only; codex lists .*; copilot-cli lists .* not at all"
    with pytest.raises(UsageError) as caught:
        run(8000)
    message = str(caught.value)
    assert re.search(r"--retrieve 30: about [45],\d{3} tokens a question, .* for 3 calls\)", message)
    assert re.search(told, message) and message.endswith("or take another model") and "\n" not in message
    # No number of skills that two stages show would fit.
    with pytest.raises(UsageError, match="list fewer skills"):
        run(3000)


@pytest.mark.slow
def test_two_stages_fit_where_one_does_not(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    many(Path.cwd())
    assert run(24_000, "local:m", "--retrieve", "3", "--retriever", "lexical") == 0
    err = capsys.readouterr().err
    assert "two stages: lexical (content) leaves 3 of 62 skills for each prompt" in err
    with pytest.raises(UsageError, match="show fewer skills than --retrieve 30"):
        run(5000, "local:m", "--retrieve", "30", "--retriever", "lexical")

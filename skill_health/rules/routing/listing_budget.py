"""A host would not show the whole collection

## What
Simulates, for each host with a known listing budget (Claude Code, Codex, Copilot CLI; a dated table that the
configuration overrides under `listing`), how much of the skills of one folder a model is shown: in full, cut, by name
only, or not at all. Reports one finding for each host that would cut or drop some, with the counts, the first names,
the budget and the context window that it was worked out for, and the estimated tokens that the listing adds to every
request. Budgets and entries are estimates, so a listing is reported only if it is over by 10 %. A single description
over a host's cap is reported where the cap is below the 1,024 characters of the specification; above that it is left to
`description-length`. Skills with `disable-model-invocation: true` are not listed. Whatever else a user has installed is
not known, but shares the same budget.

## Why
What is not listed is not chosen. Users report 36 of 92 skills shown, and descriptions cut before the clause that
set them apart.

## Bad
```markdown
90 skills with descriptions of 900 characters in one folder
```

## Good
```markdown
90 skills in plugins of a dozen, with descriptions of 200 to 400 characters
```

## Fix
Shorten the longest descriptions, put the deciding words first, split the collection into plugins, or take rarely
used skills out of the listing with `disable-model-invocation: true`. There is no automatic fix.

## Source
evidence · hosts' documentation and source, and reports of their users; the table gives the source of each number
(2026-11).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from skill_health.discovery.hosts import FULL, NAME_ONLY, OMITTED, TRUNCATED, Catalog, Host, hosts, simulate
from skill_health.rules._api import Corpus, CorpusContext, Hit, Severity
from skill_health.rules.routing._groups import collections

CODE = "RT004"
SEVERITY = Severity.INFO
SINCE = "0.1.0"
DEFAULT = True

# The factor by which a listing must exceed an estimated budget.
_OVER = 1.1
# Longer descriptions are an error by the specification, whatever a host does with them.
_ALLOWED = 1024
_SAYS = {TRUNCATED: "cut", NAME_ONLY: "by name only", OMITTED: "left out"}
_HELP = "Shorten the longest descriptions with the deciding words first, or split the collection into plugins."


def check_corpus(corpus: Corpus, context: CorpusContext) -> Iterator[Hit]:
    """Report each collection once for each host that would not show all of it."""
    for folder, group in collections(corpus.skills).items():
        if not any(corpus.shows(skill.path) for skill in group):
            continue
        places, paths, pairs = array("I"), [], []
        for at, skill in enumerate(group):
            if not skill.hidden:
                places.append(at)
                paths.append(skill.path)
                pairs.append((skill.name, skill.description))
        for host in hosts(context.config.listing):
            listing = simulate(pairs, host)
            capped = 0 < host.skill_chars < _ALLOWED and listing.wanted <= host.limit
            if listing.count(FULL) < len(pairs) and (capped or _is_over(listing)):
                affected = [at for at, shown in enumerate(listing.skills) if shown.state != FULL]
                first = affected[0]
                also = (*paths[:first], *paths[first + 1 :])
                span = group[places[first]].description_span
                yield Hit(span, _message(folder, listing, affected), _HELP, paths[first], also=also)


def _is_over(listing: Catalog) -> bool:
    return 0 < listing.host.limit * _OVER <= listing.wanted


def _message(folder: str, listing: Catalog, affected: Sequence[int]) -> str:
    parts = [f"{listing.count(state)} {says}" for state, says in _SAYS.items() if listing.count(state)]
    names = ", ".join(listing.skills[at].name for at in affected[:3])
    more = f" and {len(affected) - 3} more" if len(affected) > 3 else ""
    host = listing.host
    if _is_over(listing):
        why = f"the listing wants {listing.wanted:,} {host.unit}, the budget is {_budget(host)}"
    else:
        why = f"a description may have {host.skill_chars:,.0f} characters"
    return (
        f"{host.title} would show {listing.count(FULL)} of the {len(listing.skills)} skills of {folder or '.'}/ in full, "
        f"{', '.join(parts)}: {names}{more} ({why}; "
        f"what is shown takes about {listing.tokens:,} tokens of every request)"
    )


def _budget(host: Host) -> str:
    """The budget, with the context window assumed where it is a share of one."""
    if host.budget > 0:
        return f"{host.limit:,}"
    share = f"{host.limit:,}, {host.budget_percent:g} % of a {host.context_tokens:,.0f} token window"
    return share if host.unit == "tokens" else f"{share} at {host.chars_per_token:g} characters a token"

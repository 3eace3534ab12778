"""Times on the command line."""

from __future__ import annotations

from datetime import UTC, datetime

import click


def time_option(_: click.Context, __: click.Parameter, value: str | None) -> datetime | None:
    """The callback of an option that takes a time, such as 2026-01-31T04:00:00Z; without a zone it is UTC."""
    try:
        found = datetime.fromisoformat(value) if value else None
        if found is None:
            return None
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise click.BadParameter(f"{value!r} is not a time like 2026-01-31T04:00:00Z") from error

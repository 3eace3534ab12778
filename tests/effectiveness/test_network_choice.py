"""Who is granted a network: what the command line says goes before the configuration."""

from __future__ import annotations

import pytest

from skill_health.config.settings import Effectiveness
from skill_health.core.errors import UsageError
from skill_health.effectiveness.workspace.images import network_choice

HOSTS = ("a.example",)


@pytest.mark.parametrize(
    ("whom", "hosts", "configured", "said"),
    [
        (None, (), {}, "gateway"),
        ("scripts", (), {}, "scripts"),
        (None, (), {"network": "all"}, "all"),
        ("scripts", (), {"network": "all"}, "scripts"),
        (None, (), {"network": "all", "allow_host": HOSTS}, "all: a.example"),
        (None, ("b.example",), {"network": "all", "allow_host": HOSTS}, "all: b.example"),
        ("gateway", (), {"network": "all", "allow_host": HOSTS}, "gateway"),
    ],
)
def test_what_is_granted(whom: str | None, hosts: tuple[str, ...], configured: dict[str, object], said: str) -> None:
    assert str(network_choice(whom, hosts, Effectiveness()._replace(**configured))) == said


@pytest.mark.parametrize(
    ("whom", "hosts", "configured", "said"),
    [
        (None, HOSTS, {}, "--allow-host names hosts for somebody: give --network scripts, or all"),
        ("gateway", HOSTS, {"network": "all"}, "--allow-host names"),
        (None, (), {"allow_host": HOSTS}, "effectiveness.allow-host of the configuration names hosts for somebody"),
    ],
)
def test_hosts_for_nobody(whom: str | None, hosts: tuple[str, ...], configured: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        network_choice(whom, hosts, Effectiveness()._replace(**configured))

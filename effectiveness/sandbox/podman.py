"""The command line of podman."""

from __future__ import annotations

from skill_health.effectiveness.sandbox._container import ContainerClient

TITLE = "Podman: a container of a task's own image, or of one that is named with it, without a daemon"
NEEDS_IMAGE = True
ISOLATES = ("files", "network", "processes")

CLIENT = ContainerClient("podman", ("info", "--format", "{{.Version.Version}}"), ("--userns", "keep-id"), direct=True)
found, missing, proved = CLIENT.found, CLIENT.missing, CLIENT.proved
layout, wrap, opened = CLIENT.layout, CLIENT.wrap, CLIENT.opened

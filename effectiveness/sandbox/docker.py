"""The command line of docker."""

from __future__ import annotations

from skill_health.effectiveness.sandbox._container import ContainerClient

TITLE = "Docker: a container of a task's own image, or of one that is named with it"
NEEDS_IMAGE = True
ISOLATES = ("files", "network", "processes")

CLIENT = ContainerClient("docker", ("version", "--format", "{{.Server.Version}}"))
found, missing, proved = CLIENT.found, CLIENT.missing, CLIENT.proved
layout, wrap, opened = CLIENT.layout, CLIENT.wrap, CLIENT.opened

"""The subcommands of `skill-health router`: one command is one module here; nothing else knows its name."""

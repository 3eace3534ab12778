"""The subcommands. One command is one module here; nothing else knows its name."""

"""The subcommands of `skill-health activation`, one module each."""

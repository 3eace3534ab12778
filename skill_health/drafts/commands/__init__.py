"""One module per subcommand of `skill-health draft`."""

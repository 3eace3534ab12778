"""What the texts of a skill say, and how much each place counts: commands, statements, code, scripts, declarations."""

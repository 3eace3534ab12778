"""Rules about the inline comments that silence rules."""

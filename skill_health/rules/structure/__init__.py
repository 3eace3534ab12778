"""Structure: length, sections, examples, fences, placeholders, references and time-bound text."""

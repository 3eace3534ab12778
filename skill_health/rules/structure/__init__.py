"""Structure: length, sections, examples, fences, placeholders, references and what will not stay true."""

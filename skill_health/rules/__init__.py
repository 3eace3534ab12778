"""One rule is one file, in the folder of its family; nothing else knows its name."""

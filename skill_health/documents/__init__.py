"""The files that one room writes and another reads: typed records and their readers."""

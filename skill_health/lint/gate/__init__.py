"""What a change makes worse: the findings of two states of a repository, and those of the later that are new."""

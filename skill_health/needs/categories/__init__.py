"""One module a category of needs, found by its name: `git_state` is the category git-state."""

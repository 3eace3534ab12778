"""Questions to a model, within caps and through a journal: what drafts of every kind have in common."""

"""Two runs of the same prompts -> what an edit of descriptions did."""

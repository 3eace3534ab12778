"""Setting up a repository: a survey of what it holds, the texts of its files, and the plan that writes them."""
